#include "sim/fifo.h"

#include <stdlib.h>
#include <string.h>

static enum oto_status make_lane(struct srv_fifo_lane *lane, uint32_t samples, uint32_t channel, uint32_t payload_bytes,
                                 struct oto_error *error)
{
    lane->channel = channel;
    lane->payload_bytes = payload_bytes;
    lane->heads = calloc(samples, sizeof *lane->heads);
    lane->payloads = calloc(samples, payload_bytes);
    return lane->heads != NULL && lane->payloads != NULL ? OTO_OK
                                                         : oto_fail(error, OTO_NO_MEMORY, "no memory for a FIFO");
}

enum oto_status srv_fifo_make(struct srv_node *node, struct oto_error *error)
{
    const uint32_t samples = node->config->fifo_samples;
    if (samples < 2 || node->live.evaluate != NULL) {
        return OTO_OK;
    }
    struct srv_fifo *fifo = calloc(1, sizeof *fifo);
    node->fifo = fifo;
    if (fifo == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a FIFO");
    }
    fifo->samples = samples;
    const struct oto_plugin_descriptor *channels = oto_plugin_descriptor(node->config->plugin);
    fifo->lane_count = node->channel_count + node->labelled;
    fifo->lanes = calloc(fifo->lane_count, sizeof *fifo->lanes);
    enum oto_status status = fifo->lanes != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for a FIFO");
    for (uint32_t i = 0; status == OTO_OK && i < node->channel_count; i++) {
        status = make_lane(&fifo->lanes[i], samples, node->first_channel + i, channels->outputs[i].type->bytes, error);
    }
    if (status == OTO_OK && node->labelled) {
        status = make_lane(&fifo->lanes[node->channel_count], samples, node->label_channel, node->label_ring.payload_bytes,
                           error);
    }
    return status;
}

void srv_fifo_free(struct srv_fifo *fifo)
{
    if (fifo == NULL) {
        return;
    }
    for (uint32_t i = 0; fifo->lanes != NULL && i < fifo->lane_count; i++) {
        free(fifo->lanes[i].heads);
        free(fifo->lanes[i].payloads);
    }
    free(fifo->lanes);
    free(fifo);
}

void srv_fifo_rewind(struct srv_fifo *fifo)
{
    fifo->taken = 0;
    for (uint32_t i = 0; i < fifo->lane_count; i++) {
        fifo->lanes[i].held = 0;
    }
}

static struct srv_fifo_lane *lane_of(const struct srv_node *node, uint32_t channel)
{
    for (uint32_t i = 0; node->fifo != NULL && i < node->fifo->lane_count; i++) {
        if (node->fifo->lanes[i].channel == channel) {
            return &node->fifo->lanes[i];
        }
    }
    return NULL;
}

uint64_t srv_fifo_newest(const struct srv_node *node, const struct srv_ring *ring, uint32_t channel)
{
    const struct srv_fifo_lane *lane = lane_of(node, channel);
    return ring->head + (lane != NULL ? lane->held : 0);
}

void srv_fifo_push(struct srv_node *node, struct srv_ring *ring, uint32_t channel, struct oto_sample_head *head,
                   const void *payload)
{
    struct srv_fifo_lane *lane = lane_of(node, channel);
    if (lane == NULL || lane->held == node->fifo->samples) {
        srv_ring_push(ring, head, payload);
        return;
    }
    head->seq = ring->head + lane->held + 1;
    head->bytes = lane->payload_bytes;
    lane->heads[lane->held] = *head;
    memcpy(lane->payloads + (size_t)lane->held * lane->payload_bytes, payload, lane->payload_bytes);
    lane->held++;
}

/* The ring of a channel: a swap may change the port that fills it. NULL: no port fills it now. */
static struct srv_ring *ring_of(struct srv_node *node, uint32_t channel)
{
    if (node->labelled && channel == node->label_channel) {
        return &node->label_ring;
    }
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        if (node->live.ports[i].channel == channel) {
            return &node->live.ports[i].ring;
        }
    }
    return NULL;
}

void srv_fifo_end_sample(struct srv_node *node)
{
    struct srv_fifo *fifo = node->fifo;
    if (fifo == NULL || ++fifo->taken < fifo->samples) {
        return;
    }
    fifo->taken = 0;
    for (uint32_t i = 0; i < fifo->lane_count; i++) {
        struct srv_fifo_lane *lane = &fifo->lanes[i];
        struct srv_ring *ring = ring_of(node, lane->channel);
        for (uint32_t k = 0; ring != NULL && k < lane->held; k++) {
            srv_ring_push(ring, &lane->heads[k], lane->payloads + (size_t)k * lane->payload_bytes);
        }
        lane->held = 0;
    }
}
