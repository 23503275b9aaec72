/*
 * Makes the inputs of a probe: for a sensor or a motion the last truths of its vehicle, for an estimator the last samples
 * of its inputs. They are read from the rings while the world ticks.
 */
#ifndef SRV_SIM_PROBE_FEED_H
#define SRV_SIM_PROBE_FEED_H

#include "sim/probe.h"

struct srv_sim;

struct srv_probe_feed {
    struct srv_probe_input *inputs; /* SRV_PROBE_INPUTS */
    struct oto_input_sample *samples;
    uint32_t sample_count;
    unsigned char *payloads;
};

/*
 * [loop], also from a worker thread. `from` is the instant of the state with which the probe begins. An estimator gets its
 * last samples again with times and numbers after `from`, because a filter may refuse samples that are older than its
 * state.
 */
enum oto_status srv_probe_feed_make(const struct srv_sim *sim, uint32_t node, struct oto_instant from,
                                    struct srv_probe_feed *feed, struct oto_error *error);
void srv_probe_feed_free(struct srv_probe_feed *feed);

#endif
