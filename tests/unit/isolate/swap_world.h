/* The world in which swaps of isolated nodes are tried. */
#ifndef PLUGIN_HOST_SWAP_WORLD_H
#define PLUGIN_HOST_SWAP_WORLD_H

#include "fixture.h"

#define MS INT64_C(1000000)
#define TICKS 600
#define STAMP 77777.125 /* added by `stamped` to the sum that it publishes */

enum { COUNT = 1, WITNESS, HARM };

/* A counter (100 Hz) and a witness that looks back (1 kHz) in the host `lab`, one that can be made to do harm (200 Hz) in `alone`. */
void swap_world_begin(struct fixture *fixture, bool isolated, bool async);
/* The same world, not started. */
void swap_world_make(struct fixture *fixture, bool isolated, bool async);
uint64_t swap_world_hash(struct fixture *fixture);
/* The hash of TICKS ticks without a swap. */
uint64_t swap_world_undisturbed(bool async);
/* Steps until an event of a plugin host holds the words. */
void swap_world_wait_told(struct fixture *fixture, const char *words);
/* A swap of COUNT to `counter_by_ten` with these parameters, ready to be posted. */
struct srv_node_change *swap_world_with_params(struct fixture *fixture, const char *yaml, struct srv_swap_options options);
/* After TICKS ticks: no sample is missing or stale, and no node is quarantined. */
void swap_world_assert_whole(struct fixture *fixture);

#endif
