/*
 * The inputs of an estimator: its bindings, a cursor in each ring, and the samples of its next step. Samples point into the
 * rings: the thread that steps the estimator is the one that writes the rings.
 */
#ifndef SRV_HOST_INPUTS_H
#define SRV_HOST_INPUTS_H

#include <stdint.h>

#include "world/world_config.h"
#include "sim/ring_writer.h"

#define SRV_ESTIMATOR_MIN_HZ 1.0 /* because a ring holds one second */

struct srv_inputs {
    uint32_t count;
    uint32_t capacity;                 /* of `samples` */
    struct oto_input_binding *bindings; /* with copies of the record types */
    struct srv_ring **rings;
    uint64_t *cursors; /* seq of the newest record that was taken from each ring; part of the estimator's state */
    struct oto_input_sample *samples;
    uint64_t lost; /* records that were overwritten before they were taken */
};

/*
 * [loop] Makes the bindings from the configuration, checks them against the plugin, and allocates room for the most samples
 * of a step.
 */
enum oto_status srv_inputs_init(const struct srv_world_config *world, const struct srv_node_config *node,
                                struct srv_inputs *inputs, struct oto_error *error);
void srv_inputs_finish(struct srv_inputs *inputs);

/*
 * [tick] Fills `samples` with the new records, sorted by time, input and seq, and moves the cursors. Returns their number.
 */
uint32_t srv_inputs_take(struct srv_inputs *inputs);
/*
 * [tick] As srv_inputs_take, but starts at `cursors` and does not move them: `after` gets the moved cursors. For steps in a
 * plugin host, which may fail: the caller moves the cursors when the step's result is part of the state.
 */
uint32_t srv_inputs_look(struct srv_inputs *inputs, uint64_t *cursors, uint64_t *after);
/* [tick] Moves the cursors to the newest records without taking these. */
void srv_inputs_skip(struct srv_inputs *inputs);

#endif
