/*
 * The memory of a mailbox. It is made for each join, its size is sealed, and both sides map it. The server keeps its own
 * copies of sizes and options in the struct, because the participant can write the shared memory. [loop], except the members
 * that participants.c reads.
 */
#ifndef SRV_WORLD_MAILBOX_H
#define SRV_WORLD_MAILBOX_H

#include "world/world_config.h"
#include "otolith/mailbox.h"

struct srv_mailbox {
    int fd;
    struct oto_mailbox_header *header;
    struct oto_mailbox_vehicle *vehicles;
    uint64_t bytes;
    uint64_t output_offset;
    uint32_t participant;
    uint32_t vehicle_count;
    enum oto_timeout_policy on_timeout;
    int64_t timeout_ns;
    uint32_t step_n;
};

/* The options of a joining process. on_timeout 0, timeout_ns below 0: the value of the world file; step_n 0: 1 tick. */
struct srv_join {
    uint32_t participant;
    uint32_t step_n;
    int64_t timeout_ns;
    uint32_t on_timeout;
};

enum oto_status srv_mailbox_create(const struct srv_world_config *config, uint64_t epoch, const struct srv_join *join,
                                   struct srv_mailbox **mailbox, struct oto_error *error);
void srv_mailbox_close(struct srv_mailbox *mailbox); /* NULL is allowed */

#endif
