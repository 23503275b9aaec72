#include "sim/probe_feed.h"

#include <stdlib.h>

#include "sim/sim.h"

enum { MOST_SAMPLES = 4096 }; /* most samples of one input */

/* ---- sensors and motions ---- */

/* Makes exposures from the last published truths, as a sensor at the node's mount would get them. */
static void make_exposures(const struct srv_sim *sim, const struct srv_node *node, struct srv_probe_input *inputs)
{
    const struct srv_vehicle *vehicle = &sim->vehicles[node->config->vehicle];
    const uint32_t channel = sim->first_channels[vehicle->motion->index];
    const struct oto_ring_view view = oto_ring_view_make(sim->store.header, &sim->store.directory[channel]);
    const uint64_t newest = oto_ring_newest(&view);
    const uint64_t oldest = newest > SRV_PROBE_INPUTS ? newest - SRV_PROBE_INPUTS + 1 : 1;
    const struct srv_clock_config *clock = &sim->config->clock;
    for (uint64_t i = 0; i < SRV_PROBE_INPUTS; i++) {
        struct srv_probe_input *input = &inputs[i];
        struct oto_sample_head head;
        const uint64_t seq = oldest + i;
        if (oto_ring_read_at(&view, seq <= newest ? seq : newest, &head, &input->input.truth) != OTO_OK) {
            input->input.truth = vehicle->truth_zero;
        }
        uint64_t rest;
        input->tick = seq - 1;
        input->at.t_ns = srv_instant_ns(seq, clock->rate_num, clock->rate_den, &rest);
        input->at.sub_ns = (double)rest / (double)clock->rate_num;
        input->n = seq;
        const struct srv_exposure exposure = {
            .vibration = vehicle->vibration, .at = input->at, .is_turned = true};
        srv_environment_fill(&sim->environment, node->setup, &exposure, &input->input);
    }
}

/* ---- estimators ---- */

static struct oto_ring_view ring_of_input(const struct srv_sim *sim, const struct srv_input_config *input)
{
    const uint32_t channel = sim->first_channels[input->node] + input->port;
    return oto_ring_view_make(sim->store.header, &sim->store.directory[channel]);
}

/* The time of the newest sample of all inputs; INT64_MIN if there is none. */
static int64_t newest_ns(const struct srv_sim *sim, const struct srv_node *node, unsigned char *payload)
{
    int64_t newest = INT64_MIN;
    for (uint32_t i = 0; i < node->inputs.count; i++) {
        struct oto_sample_head head;
        const struct oto_ring_view view = ring_of_input(sim, &node->config->inputs[i]);
        const uint64_t seq = oto_ring_newest(&view);
        if (seq > 0 && oto_ring_read_at(&view, seq, &head, payload) == OTO_OK && head.t_ns > newest) {
            newest = head.t_ns;
        }
    }
    return newest;
}

/* Copies the samples of an input that are later than `after_ns`, newest first, and adds `shift_ns` to their times. */
static void copy_input(const struct srv_sim *sim, const struct srv_node *node, uint32_t input, int64_t after_ns, int64_t shift_ns,
                       uint32_t stride, struct srv_probe_feed *feed)
{
    const struct oto_ring_view view = ring_of_input(sim, &node->config->inputs[input]);
    const uint64_t newest = oto_ring_newest(&view);
    for (uint64_t back = 0; back < MOST_SAMPLES && back < newest; back++) {
        unsigned char *payload = feed->payloads + (size_t)feed->sample_count * stride;
        struct oto_sample_head head;
        if (oto_ring_read_at(&view, newest - back, &head, payload) != OTO_OK || head.t_ns <= after_ns) {
            break;
        }
        feed->samples[feed->sample_count++] = (struct oto_input_sample){.input = input,
                                                                        .flags = head.flags,
                                                                        .seq = head.seq + newest,
                                                                        .t_ns = head.t_ns + shift_ns,
                                                                        .sensor_time_ns = head.sensor_time_ns + shift_ns,
                                                                        .payload = payload};
    }
}

static int by_time(const void *a, const void *b)
{
    const struct oto_input_sample *first = a, *second = b;
    if (first->t_ns != second->t_ns) {
        return first->t_ns < second->t_ns ? -1 : 1;
    }
    if (first->input != second->input) {
        return first->input < second->input ? -1 : 1;
    }
    return (first->seq > second->seq) - (first->seq < second->seq);
}

/* Makes one step for each period of the node after `from`; each step gets the samples up to its instant. */
static void make_steps(const struct srv_sim *sim, const struct srv_node *node, struct oto_instant from, int64_t period_ns,
                       struct srv_probe_feed *feed)
{
    const struct srv_clock_config *clock = &sim->config->clock;
    const uint64_t ticks = (uint64_t)((double)period_ns * 1e-9 * (double)clock->rate_num / (double)clock->rate_den + 0.5);
    const uint64_t tick = (uint64_t)((double)from.t_ns * 1e-9 * (double)clock->rate_num / (double)clock->rate_den);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < SRV_PROBE_INPUTS; i++) {
        struct srv_probe_input *input = &feed->inputs[i];
        input->at.t_ns = from.t_ns + (int64_t)(i + 1) * period_ns;
        input->tick = tick + (i + 1) * ticks;
        input->n = input->tick + 1;
        while (taken < feed->sample_count && feed->samples[taken].t_ns <= input->at.t_ns &&
               input->sample_count < node->inputs.capacity) {
            taken++;
            input->sample_count++;
        }
    }
    feed->sample_count = taken;
}

static enum oto_status make_batches(const struct srv_sim *sim, const struct srv_node *node, struct oto_instant from,
                                    struct srv_probe_feed *feed, struct oto_error *error)
{
    const int64_t period_ns = (int64_t)(1e9 * (double)node->config->rate_den / (double)node->config->rate_num + 0.5);
    const int64_t span_ns = period_ns * SRV_PROBE_INPUTS;
    const size_t most = (size_t)node->inputs.count * MOST_SAMPLES;
    uint32_t stride = 8;
    for (uint32_t i = 0; i < node->inputs.count; i++) {
        const uint32_t bytes = ring_of_input(sim, &node->config->inputs[i]).payload_bytes;
        stride = bytes > stride ? (bytes + 7) / 8 * 8 : stride;
    }
    feed->samples = calloc(most + 1, sizeof *feed->samples);
    feed->payloads = malloc((most + 1) * stride);
    if (feed->samples == NULL || feed->payloads == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the samples of a probe of '%s'", node->topic);
    }
    const int64_t newest = newest_ns(sim, node, feed->payloads);
    for (uint32_t i = 0; i < node->inputs.count && newest != INT64_MIN; i++) {
        copy_input(sim, node, i, newest - span_ns, from.t_ns + span_ns - newest, stride, feed);
    }
    qsort(feed->samples, feed->sample_count, sizeof *feed->samples, by_time);
    make_steps(sim, node, from, period_ns, feed);
    return OTO_OK;
}

/* ---- both ---- */

enum oto_status srv_probe_feed_make(const struct srv_sim *sim, uint32_t node, struct oto_instant from,
                                    struct srv_probe_feed *feed, struct oto_error *error)
{
    *feed = (struct srv_probe_feed){.inputs = calloc(SRV_PROBE_INPUTS, sizeof *feed->inputs)};
    if (feed->inputs == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the probe of '%s'", sim->nodes[node].topic);
    }
    if (sim->nodes[node].is_estimator) {
        return make_batches(sim, &sim->nodes[node], from, feed, error);
    }
    make_exposures(sim, &sim->nodes[node], feed->inputs);
    return OTO_OK;
}

void srv_probe_feed_free(struct srv_probe_feed *feed)
{
    free(feed->inputs);
    free(feed->samples);
    free(feed->payloads);
    *feed = (struct srv_probe_feed){0};
}
