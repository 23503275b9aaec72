/*
 * Frames that wait to be sent: first in, first out, with a limit in bytes. One thread puts, one takes. A frame that does not
 * fit is dropped and counted, so that a NATS server that does not read cannot delay the reading of the rings.
 */
#ifndef NATS_QUEUE_H
#define NATS_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nats_message {
    struct nats_message *next;
    size_t subject_bytes, bytes; /* subject_bytes: with its NUL */
    char data[];                 /* subject, then payload */
};

static inline const char *nats_message_payload(const struct nats_message *message)
{
    return message->data + message->subject_bytes;
}

struct nats_queue;

struct nats_queue_counts {
    uint64_t put, dropped; /* frames */
    size_t bytes, most_bytes;
};

struct nats_queue *nats_queue_create(size_t limit_bytes);
void nats_queue_destroy(struct nats_queue *queue); /* NULL is allowed */
/* False: the frame was dropped. */
bool nats_queue_put(struct nats_queue *queue, const char *subject, const void *payload, size_t bytes);
/* The oldest frame, which the caller frees; NULL: none within timeout_ms. */
struct nats_message *nats_queue_take(struct nats_queue *queue, int timeout_ms);
/* Ends a wait of nats_queue_take. */
void nats_queue_wake(struct nats_queue *queue);
void nats_queue_count(struct nats_queue *queue, struct nats_queue_counts *counts);

#endif
