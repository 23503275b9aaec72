/*
 * What an estimator listens to: its bindings, how far it has read each ring, and the samples of its step. They are read
 * from the rings where they lie, since the thread that steps it is the one that writes them.
 */
#ifndef SRV_HOST_INPUTS_H
#define SRV_HOST_INPUTS_H

#include <stdint.h>

#include "world/world_config.h"
#include "sim/writer.h"

#define SRV_ESTIMATOR_MIN_HZ 1.0 /* a ring holds one second */

struct srv_inputs {
    uint32_t count;
    uint32_t capacity;                 /* of `samples` */
    struct oto_input_binding *bindings; /* with record types of our own */
    struct srv_ring **rings;
    uint64_t *cursors; /* seq of the newest record taken of each: all that an estimator knows beside its state */
    struct oto_input_sample *samples;
    uint64_t lost; /* overwritten before they were taken */
};

/* Bindings from the configuration, checked against the plugin; buffers for the most that one step can be given. [loop] */
enum oto_status srv_inputs_init(const struct srv_world_config *world, const struct srv_node_config *node,
                                struct srv_inputs *inputs, struct oto_error *error);
void srv_inputs_finish(struct srv_inputs *inputs);

/* [tick] Fills `samples` with what is new, by time, then input, then seq, and moves the cursors; returns how many. */
uint32_t srv_inputs_take(struct srv_inputs *inputs);
/*
 * [tick] The same from other cursors, or its own, which stay: `after` gets where they would stand. For who steps elsewhere
 * and may fail: they move once what was given has become part of the state.
 */
uint32_t srv_inputs_look(struct srv_inputs *inputs, uint64_t *cursors, uint64_t *after);
/* [tick] Moves the cursors past what is there. */
void srv_inputs_skip(struct srv_inputs *inputs);

#endif
