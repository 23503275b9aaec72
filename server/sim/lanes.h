/*
 * Lanes: ranges of vehicles that a tick advances in parallel, each in a thread of the shell. A lane sees the world through
 * a copy of struct srv_sim with its own events, counters, number of the stepped node, and fault label. Vehicles, nodes,
 * rings and hashes are shared, because no two lanes have a vehicle in common. When all lanes are done, their events and
 * counters are joined in the order of the lanes. Samples, events and the hash chain are therefore the same as with one
 * lane. [tick] unless marked.
 */
#ifndef SRV_SIM_LANES_H
#define SRV_SIM_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/status.h"

struct srv_sim;
struct srv_lanes;

#define SRV_LANES_MAX 64u
#define SRV_BLOCK 32u /* vehicles that move before the first of their sensors is stepped; each lane begins with a whole block */

/* The work of a lane: advances vehicles or estimators from index `first` to before `end`. */
typedef void srv_lane_work(struct srv_sim *lane, uint32_t first, uint32_t end, uint64_t tick);

/* [loop] *lanes is NULL if fewer than two lanes would have work, or the shell has no run_lanes. */
enum oto_status srv_lanes_make(struct srv_sim *sim, uint32_t wanted, struct srv_lanes **lanes, struct oto_error *error);
void srv_lanes_free(struct srv_lanes *lanes); /* [loop] NULL is allowed */

/* True if this tick can advance vehicles and estimators in lanes. */
bool srv_lanes_apply(const struct srv_sim *sim);
void srv_lanes_advance(struct srv_sim *sim, srv_lane_work *vehicles, srv_lane_work *estimators, uint64_t tick);
/* [any] 1 + index of the node that lane `lane` steps; 0: none. */
uint32_t srv_lanes_stepping_node(const struct srv_lanes *lanes, uint32_t lane);
uint32_t srv_lanes_count(const struct srv_lanes *lanes); /* NULL: 1 */

#endif
