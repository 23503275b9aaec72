/*
 * The FIFO of a part: its samples wait, and N of them are handed out at once, with the times at which each was measured.
 * Made with the node [loop]; filled and emptied by the tick thread [tick].
 */
#ifndef SRV_HOST_FIFO_H
#define SRV_HOST_FIFO_H

#include "sim/node.h"

/* Records of one channel that wait. */
struct srv_fifo_lane {
    uint32_t channel; /* in the directory */
    uint32_t held;
    uint32_t payload_bytes;
    struct oto_sample_head *heads; /* room for `samples` */
    unsigned char *payloads;
};

struct srv_fifo {
    uint32_t samples; /* N */
    uint32_t taken;   /* samples since it was last empty */
    uint32_t lane_count;
    struct srv_fifo_lane *lanes; /* one for each channel of the node, the labels' last */
};

/* For a node whose channels are attached; NULL where its records do not wait. */
enum oto_status srv_fifo_make(struct srv_node *node, struct oto_error *error);
void srv_fifo_free(struct srv_fifo *fifo); /* NULL is allowed */
/* Drops the records that wait. */
void srv_fifo_rewind(struct srv_fifo *fifo);

/* The seq of the newest record of a channel, those that wait included. */
uint64_t srv_fifo_newest(const struct srv_node *node, const struct srv_ring *ring, uint32_t channel);
/* Publishes a record, or lets it wait; fills head->seq and head->bytes either way. */
void srv_fifo_push(struct srv_node *node, struct srv_ring *ring, uint32_t channel, struct oto_sample_head *head,
                   const void *payload);
/* A sample is complete: when it is the N-th, everything that waits is published. */
void srv_fifo_end_sample(struct srv_node *node);

#endif
