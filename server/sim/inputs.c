#include "sim/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "plugin/record_copy.h"

/* ---- making [loop] ---- */

static bool is_motion(const struct srv_world_config *world, uint32_t node)
{
    return world->vehicles[world->nodes[node].vehicle].motion == node;
}

static double rate_hz(const struct srv_world_config *world, uint32_t node)
{
    const struct srv_node_config *config = &world->nodes[node];
    return is_motion(world, node) ? (double)world->clock.rate_num / (double)world->clock.rate_den
                                  : (double)config->rate_num / (double)config->rate_den;
}

/* "vehicle/node.port"; "vehicle/node" for the first port. */
static char *topic_of(const struct srv_world_config *world, const struct srv_input_config *input, const char *port)
{
    const struct srv_node_config *node = &world->nodes[input->node];
    char topic[OTO_TOPIC_BYTES];
    (void)snprintf(topic, sizeof topic, "%s/%s%s%s", world->vehicles[node->vehicle].name, node->name,
                   port[0] != '\0' ? "." : "", port);
    return strdup(topic);
}

static enum oto_status make_binding(const struct srv_world_config *world, const struct srv_input_config *input,
                                    struct oto_input_binding *binding, struct oto_error *error)
{
    const bool known = input->node < world->node_count;
    const struct srv_node_config *node = known ? &world->nodes[input->node] : NULL;
    const struct oto_plugin_descriptor *descriptor = known ? oto_plugin_descriptor(node->plugin) : NULL;
    const bool motion = known && is_motion(world, input->node);
    if (!known || input->port >= (motion ? 1 : descriptor->output_count)) {
        return oto_fail(error, OTO_INVALID, "its input '%s' is bound to node %u, channel %u, which does not exist",
                        input->name, input->node, input->port);
    }
    const char *port = motion ? "" : descriptor->outputs[input->port].name;
    *binding = (struct oto_input_binding){
        .name = input->name,
        .type = oto_record_type_copy(motion ? &oto_truth_type : descriptor->outputs[input->port].type),
        .topic = topic_of(world, input, port),
        .frame_id = node->frame_id,
        .rate_hz = rate_hz(world, input->node),
        .mount_position_body_m = node->mount_position_body_m,
        .q_body_from_sensor = oto_quat_normalize(node->q_body_from_sensor)};
    return binding->type != NULL && binding->topic != NULL
               ? OTO_OK
               : oto_fail(error, OTO_NO_MEMORY, "no memory for its input '%s'", input->name);
}

/*
 * The largest number of samples of one step. It covers the ticks between two steps of the slowest accepted estimator (1
 * Hz), and the samples that a FIFO publishes at once. An estimator in a plugin host that misses many steps then gets the
 * missed samples up to this number.
 */
static uint32_t most_samples(const struct srv_world_config *world, const struct srv_node_config *node,
                             const struct srv_inputs *inputs)
{
    const double tick_hz = (double)world->clock.rate_num / (double)world->clock.rate_den;
    double most = 0.0;
    for (uint32_t i = 0; i < inputs->count; i++) {
        const uint32_t fifo_samples = world->nodes[node->inputs[i].node].fifo_samples;
        most += inputs->bindings[i].rate_hz * (1.0 / SRV_ESTIMATOR_MIN_HZ + 1.0 / tick_hz) + 2.0 + (double)fifo_samples;
    }
    return (uint32_t)most;
}

enum oto_status srv_inputs_init(const struct srv_world_config *world, const struct srv_node_config *node,
                                struct srv_inputs *inputs, struct oto_error *error)
{
    const double step_hz = (double)node->rate_num / (double)node->rate_den;
    if (!(step_hz >= SRV_ESTIMATOR_MIN_HZ)) {
        return oto_fail(error, OTO_RANGE, "an estimator's rate is %.9g Hz; from %g Hz on is accepted", step_hz,
                        SRV_ESTIMATOR_MIN_HZ);
    }
    if (node->input_count > OTO_ESTIMATOR_MAX_INPUTS) {
        return oto_fail(error, OTO_LIMIT, "%u inputs; at most %d are accepted", node->input_count,
                        OTO_ESTIMATOR_MAX_INPUTS);
    }
    inputs->bindings = calloc(node->input_count + 1, sizeof *inputs->bindings);
    inputs->rings = calloc(node->input_count + 1, sizeof *inputs->rings);
    inputs->cursors = calloc(node->input_count + 1, sizeof *inputs->cursors);
    if (inputs->bindings == NULL || inputs->rings == NULL || inputs->cursors == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u inputs", node->input_count);
    }
    enum oto_status status = OTO_OK;
    for (; status == OTO_OK && inputs->count < node->input_count; inputs->count++) {
        status = make_binding(world, &node->inputs[inputs->count], &inputs->bindings[inputs->count], error);
    }
    if (status == OTO_OK) {
        status = oto_inputs_check(oto_plugin_estimator(node->plugin), inputs->bindings, inputs->count, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    inputs->capacity = most_samples(world, node, inputs);
    inputs->samples = calloc(inputs->capacity + 1, sizeof *inputs->samples);
    return inputs->samples != NULL ? OTO_OK
                                   : oto_fail(error, OTO_NO_MEMORY, "no memory for %u samples", inputs->capacity);
}

void srv_inputs_finish(struct srv_inputs *inputs)
{
    for (uint32_t i = 0; i < inputs->count; i++) {
        free((void *)(uintptr_t)inputs->bindings[i].type);
        free((void *)(uintptr_t)inputs->bindings[i].topic);
    }
    free(inputs->bindings);
    free(inputs->rings);
    free(inputs->cursors);
    free(inputs->samples);
    memset(inputs, 0, sizeof *inputs);
}

/* ---- taking [tick] ---- */

static const struct oto_ring_slot *slot_of(const struct srv_ring *ring, uint64_t seq)
{
    return (const struct oto_ring_slot *)(const void *)(ring->slots + ((seq - 1) & ring->mask) * ring->stride);
}

/*
 * Moves the cursors past overwritten records and counts these as lost. With at least one step a second none is overwritten.
 */
static void skip_overwritten(struct srv_inputs *inputs, uint64_t *cursors)
{
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct srv_ring *ring = inputs->rings[i];
        const uint64_t oldest = ring->head > ring->mask ? ring->head - ring->mask : 1;
        if (cursors[i] + 1 < oldest) {
            inputs->lost += oldest - 1 - cursors[i];
            cursors[i] = oldest - 1;
        }
    }
}

/* Finds the input with the earliest next record; of equal times, the first input. False if there is no new record. */
static bool earliest(const struct srv_inputs *inputs, const uint64_t *cursors, uint32_t *input)
{
    int64_t t_ns = 0;
    bool found = false;
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct srv_ring *ring = inputs->rings[i];
        if (cursors[i] == ring->head) {
            continue;
        }
        const int64_t next_ns = slot_of(ring, cursors[i] + 1)->head.t_ns;
        if (!found || next_ns < t_ns) {
            t_ns = next_ns;
            *input = i;
            found = true;
        }
    }
    return found;
}

static bool is_before(const struct oto_input_sample *a, const struct oto_input_sample *b)
{
    if (a->t_ns != b->t_ns) {
        return a->t_ns < b->t_ns;
    }
    return a->input != b->input ? a->input < b->input : a->seq < b->seq;
}

/* Moves the newest sample to its place: times within one channel may be out of order, so the merge alone does not sort. */
static void settle(struct oto_input_sample *samples, uint32_t at)
{
    const struct oto_input_sample sample = samples[at];
    for (; at > 0 && is_before(&sample, &samples[at - 1]); at--) {
        samples[at] = samples[at - 1];
    }
    samples[at] = sample;
}

/* Fills `samples` and moves the cursors. */
static uint32_t gather(struct srv_inputs *inputs, uint64_t *cursors)
{
    uint32_t input = 0, count = 0;
    while (count < inputs->capacity && earliest(inputs, cursors, &input)) {
        const struct oto_ring_slot *slot = slot_of(inputs->rings[input], ++cursors[input]);
        inputs->samples[count] = (struct oto_input_sample){.input = input,
                                                           .flags = slot->head.flags,
                                                           .seq = slot->head.seq,
                                                           .t_ns = slot->head.t_ns,
                                                           .sensor_time_ns = slot->head.sensor_time_ns,
                                                           .payload = slot + 1};
        settle(inputs->samples, count++);
    }
    return count;
}

uint32_t srv_inputs_take(struct srv_inputs *inputs)
{
    skip_overwritten(inputs, inputs->cursors);
    return gather(inputs, inputs->cursors);
}

uint32_t srv_inputs_look(struct srv_inputs *inputs, uint64_t *cursors, uint64_t *after)
{
    skip_overwritten(inputs, cursors);
    memcpy(after, cursors, inputs->count * sizeof *after);
    return gather(inputs, after);
}

void srv_inputs_skip(struct srv_inputs *inputs)
{
    for (uint32_t i = 0; i < inputs->count; i++) {
        inputs->cursors[i] = inputs->rings[i]->head;
    }
}
