/*
 * The FIFO of a part: N samples wait and are then published at once, each with its own measurement time. Made with the node
 * [loop]; filled and emptied by the tick thread [tick].
 */
#ifndef SRV_HOST_FIFO_H
#define SRV_HOST_FIFO_H

#include "sim/node.h"

/* The waiting records of one channel. */
struct srv_fifo_lane {
    uint32_t channel; /* in the directory */
    uint32_t held;
    uint32_t payload_bytes;
    struct oto_sample_head *heads; /* room for N records */
    unsigned char *payloads;
};

struct srv_fifo {
    uint32_t samples; /* N: samples that are published at once */
    uint32_t taken;   /* samples that wait */
    uint32_t lane_count;
    struct srv_fifo_lane *lanes; /* one for each channel of the node; the last is that of the labels */
};

/* Makes the FIFO of a node whose channels are attached; node->fifo stays NULL if its records do not wait. */
enum oto_status srv_fifo_make(struct srv_node *node, struct oto_error *error);
void srv_fifo_free(struct srv_fifo *fifo); /* NULL is allowed */
/* Drops the waiting records. */
void srv_fifo_rewind(struct srv_fifo *fifo);

/* The seq of the newest record of a channel, including waiting records. */
uint64_t srv_fifo_newest(const struct srv_node *node, const struct srv_ring *ring, uint32_t channel);
/* Publishes a record, or adds it to the waiting records; fills head->seq and head->bytes in both cases. */
void srv_fifo_push(struct srv_node *node, struct srv_ring *ring, uint32_t channel, struct oto_sample_head *head,
                   const void *payload);
/* Ends a sample. The N-th sample publishes all waiting records. */
void srv_fifo_end_sample(struct srv_node *node);

#endif
