#include "queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct nats_queue {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t filled;
    struct nats_message *first, **last;
    size_t limit_bytes;
    struct nats_queue_counts counts;
    bool is_woken;
};

static size_t size_of(const struct nats_message *message)
{
    return sizeof *message + message->subject_bytes + message->bytes;
}

struct nats_queue *nats_queue_create(size_t limit_bytes)
{
    struct nats_queue *queue = calloc(1, sizeof *queue);
    pthread_condattr_t attributes;
    if (queue == NULL || pthread_condattr_init(&attributes) != 0) {
        free(queue);
        return NULL;
    }
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    queue->limit_bytes = limit_bytes;
    queue->last = &queue->first;
    const bool made = pthread_mutex_init(&queue->lock, NULL) == 0 && pthread_cond_init(&queue->filled, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    if (!made) {
        free(queue);
        return NULL;
    }
    return queue;
}

void nats_queue_destroy(struct nats_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    while (queue->first != NULL) {
        struct nats_message *next = queue->first->next;
        free(queue->first);
        queue->first = next;
    }
    (void)pthread_cond_destroy(&queue->filled);
    (void)pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static struct nats_message *make_message(const char *subject, const void *payload, size_t bytes)
{
    const size_t subject_bytes = strlen(subject) + 1;
    struct nats_message *message = malloc(sizeof *message + subject_bytes + bytes);
    if (message != NULL) {
        *message = (struct nats_message){.subject_bytes = subject_bytes, .bytes = bytes};
        memcpy(message->data, subject, subject_bytes);
        memcpy(message->data + subject_bytes, payload, bytes);
    }
    return message;
}

bool nats_queue_put(struct nats_queue *queue, const char *subject, const void *payload, size_t bytes)
{
    struct nats_message *message = make_message(subject, payload, bytes);
    (void)pthread_mutex_lock(&queue->lock);
    const bool fits = message != NULL && size_of(message) <= queue->limit_bytes - queue->counts.bytes;
    if (fits) {
        *queue->last = message;
        queue->last = &message->next;
        queue->counts.bytes += size_of(message);
        queue->counts.most_bytes = queue->counts.bytes > queue->counts.most_bytes ? queue->counts.bytes : queue->counts.most_bytes;
        (void)pthread_cond_signal(&queue->filled);
    }
    queue->counts.put += fits;
    queue->counts.dropped += !fits;
    (void)pthread_mutex_unlock(&queue->lock);
    if (!fits) {
        free(message);
    }
    return fits;
}

struct nats_message *nats_queue_take(struct nats_queue *queue, int timeout_ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_mutex_lock(&queue->lock);
    while (queue->first == NULL && !queue->is_woken && pthread_cond_timedwait(&queue->filled, &queue->lock, &until) != ETIMEDOUT) {
    }
    struct nats_message *message = queue->first;
    if (message != NULL) {
        queue->first = message->next;
        queue->last = queue->first == NULL ? &queue->first : queue->last;
        queue->counts.bytes -= size_of(message);
    }
    queue->is_woken = false;
    (void)pthread_mutex_unlock(&queue->lock);
    return message;
}

void nats_queue_wake(struct nats_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    queue->is_woken = true;
    (void)pthread_cond_signal(&queue->filled);
    (void)pthread_mutex_unlock(&queue->lock);
}

void nats_queue_count(struct nats_queue *queue, struct nats_queue_counts *counts)
{
    (void)pthread_mutex_lock(&queue->lock);
    *counts = queue->counts;
    (void)pthread_mutex_unlock(&queue->lock);
}
