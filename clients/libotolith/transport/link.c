#include "transport/link.h"

#include <nng/nng.h>

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "otolith/frame.h"

#if defined(__SANITIZE_THREAD__)
/* nng counts its references with atomics that ThreadSanitizer cannot see, because nng was built without it. */
OTO_API const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:libnng.so\n";
}
#endif

#define DIAL_MS 5000
#define GREETING_MS 5000
#define RETRY_MIN_MS 100
#define RETRY_MAX_MS 1000
#define GREETING_BYTES 8
#define MAX_HEADER_BYTES 9
#define START_BYTES 65536
#define MAX_BYTES (OTO_FRAME_MAX_BYTES + MAX_HEADER_BYTES)

static const unsigned char our_greeting[GREETING_BYTES] = {0, 'S', 'P', 0, 0, 0x21, 0, 0};       /* the protocol
                                                                                                  * number of a
                                                                                                  * subscriber */
static const unsigned char publisher_greeting[GREETING_BYTES] = {0, 'S', 'P', 0, 0, 0x20, 0, 0};

/* What precedes each message: over ipc a byte 1, then in all cases the length in eight bytes, big-endian. */
static const struct {
    const char *prefix;
    size_t header_bytes;
} schemes[] = {{"ipc://", 9}, {"unix://", 9}, {"abstract://", 9}, {"tcp://", 8}, {"tcp4://", 8}, {"tcp6://", 8}};

enum link_state { LINK_IDLE, LINK_DIALING, LINK_GREETING, LINK_RECEIVING };

struct oto_link {
    nng_stream_dialer *dialer;
    nng_stream *stream;
    nng_aio *aio; /* the only nng operation, which may continue between calls */
    bool pending;
    enum link_state state;
    bool greeted; /* the publisher has sent its greeting */
    int reason;   /* nng's error number of the last failure */
    int64_t retry_at_ms;
    int32_t retry_ms;
    size_t header_bytes;
    unsigned char *buffer;
    size_t capacity, begin, end; /* received bytes that have not been returned yet */
    size_t given;                /* of these, bytes that the caller is reading */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool done; /* set by nng's thread under the mutex */
};

int64_t oto_link_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- one operation ---- */

static void operation_done(void *context)
{
    struct oto_link *link = context;
    (void)pthread_mutex_lock(&link->mutex);
    link->done = true;
    (void)pthread_cond_signal(&link->changed);
    (void)pthread_mutex_unlock(&link->mutex);
}

/* Waits for the current operation; if there is none, waits until the deadline. */
static bool wait_done(struct oto_link *link, int64_t deadline_ms)
{
    const struct timespec until = {.tv_sec = deadline_ms / 1000, .tv_nsec = deadline_ms % 1000 * 1000000};
    (void)pthread_mutex_lock(&link->mutex);
    int result = 0;
    while (!link->done && result == 0) {
        result = pthread_cond_timedwait(&link->changed, &link->mutex, &until);
    }
    const bool done = link->done;
    (void)pthread_mutex_unlock(&link->mutex);
    return done;
}

static void start(struct oto_link *link, enum link_state state, nng_duration timeout_ms)
{
    link->state = state;
    link->pending = true;
    nng_aio_set_timeout(link->aio, timeout_ms);
}

static void start_dial(struct oto_link *link)
{
    start(link, LINK_DIALING, DIAL_MS);
    nng_stream_dialer_dial(link->dialer, link->aio);
}

static void start_greeting(struct oto_link *link)
{
    /* nng does not write to the bytes it sends. */
    const nng_iov bytes = {.iov_buf = (void *)(uintptr_t)our_greeting, .iov_len = GREETING_BYTES};
    start(link, LINK_GREETING, GREETING_MS);
    (void)nng_aio_set_iov(link->aio, 1, &bytes);
    nng_stream_send(link->stream, link->aio);
}

static void start_receive(struct oto_link *link)
{
    const nng_iov room = {.iov_buf = link->buffer + link->end, .iov_len = link->capacity - link->end};
    start(link, LINK_RECEIVING, link->greeted ? NNG_DURATION_INFINITE : GREETING_MS);
    (void)nng_aio_set_iov(link->aio, 1, &room);
    nng_stream_recv(link->stream, link->aio);
}

/* ---- states ---- */

static void hang_up(struct oto_link *link, int reason)
{
    if (link->stream != NULL) {
        nng_stream_close(link->stream);
        nng_stream_free(link->stream);
        link->stream = NULL;
    }
    link->state = LINK_IDLE;
    link->greeted = false;
    link->begin = link->end = link->given = 0;
    link->reason = reason;
    link->retry_at_ms = oto_link_now_ms() + link->retry_ms;
    link->retry_ms = 2 * link->retry_ms < RETRY_MAX_MS ? 2 * link->retry_ms : RETRY_MAX_MS;
}

static void take_result(struct oto_link *link)
{
    const int result = nng_aio_result(link->aio);
    link->pending = false;
    link->done = false; /* nng's thread has finished with the operation; the next wait is for the retry time only */
    if (link->state == LINK_DIALING && result == 0) {
        link->stream = nng_aio_get_output(link->aio, 0);
        start_greeting(link);
    } else if (result != 0 || nng_aio_count(link->aio) == 0) {
        hang_up(link, result != 0 ? result : NNG_ECONNSHUT);
    } else if (link->state == LINK_GREETING) {
        link->state = LINK_RECEIVING;
    } else {
        link->end += nng_aio_count(link->aio);
    }
}

/*
 * Makes room: moves the received bytes to the front, then doubles the buffer. It grows with received bytes, not with
 * announced ones.
 */
static enum oto_status make_room(struct oto_link *link)
{
    if (link->begin > 0) {
        memmove(link->buffer, link->buffer + link->begin, link->end - link->begin);
        link->end -= link->begin;
        link->begin = 0;
    }
    if (link->end < link->capacity) {
        return OTO_OK;
    }
    const size_t wanted = 2 * link->capacity < MAX_BYTES ? 2 * link->capacity : MAX_BYTES;
    unsigned char *buffer = realloc(link->buffer, wanted);
    if (buffer == NULL) {
        return OTO_NO_MEMORY;
    }
    link->buffer = buffer;
    link->capacity = wanted;
    return OTO_OK;
}

static uint64_t announced_bytes(const struct oto_link *link)
{
    uint64_t bytes = 0;
    for (size_t i = link->header_bytes - 8; i < link->header_bytes; i++) {
        bytes = bytes << 8 | link->buffer[link->begin + i];
    }
    return bytes;
}

/* Gets the next complete message. AGAIN: more bytes are needed; CORRUPT: the peer is not our publisher. */
static enum oto_status cut(struct oto_link *link, const unsigned char **data, size_t *bytes)
{
    if (!link->greeted) {
        if (link->end < GREETING_BYTES) {
            return OTO_AGAIN;
        }
        if (memcmp(link->buffer, publisher_greeting, GREETING_BYTES) != 0) {
            return OTO_CORRUPT;
        }
        link->greeted = true;
        link->retry_ms = RETRY_MIN_MS;
        link->begin = GREETING_BYTES;
    }
    const size_t have = link->end - link->begin;
    if (have < link->header_bytes) {
        return OTO_AGAIN;
    }
    const uint64_t length = announced_bytes(link);
    if (length > OTO_FRAME_MAX_BYTES || (link->header_bytes == 9 && link->buffer[link->begin] != 1)) {
        return OTO_CORRUPT;
    }
    if (have - link->header_bytes < length) {
        return OTO_AGAIN;
    }
    *data = link->buffer + link->begin + link->header_bytes;
    *bytes = (size_t)length;
    link->given = link->header_bytes + (size_t)length;
    return OTO_OK;
}

/* Starts the next operation if none is running. AGAIN: an operation runs, or the deadline comes first. */
static enum oto_status advance(struct oto_link *link, int64_t deadline_ms, const unsigned char **data, size_t *bytes)
{
    if (link->state == LINK_IDLE) {
        const int64_t until_ms = link->retry_at_ms < deadline_ms ? link->retry_at_ms : deadline_ms;
        (void)wait_done(link, until_ms);
        if (oto_link_now_ms() >= link->retry_at_ms) {
            start_dial(link);
        }
        return OTO_AGAIN;
    }
    enum oto_status status = cut(link, data, bytes);
    if (status == OTO_CORRUPT) {
        hang_up(link, NNG_EPROTO);
        return OTO_AGAIN;
    }
    if (status == OTO_AGAIN) {
        status = make_room(link);
        if (status == OTO_OK) {
            start_receive(link);
            status = OTO_AGAIN;
        }
    }
    return status;
}

enum oto_status oto_link_receive(struct oto_link *link, int64_t deadline_ms, const unsigned char **data, size_t *bytes)
{
    link->begin += link->given;
    link->given = 0;
    for (;;) {
        if (link->pending) {
            if (!wait_done(link, deadline_ms)) {
                return OTO_AGAIN;
            }
            take_result(link);
            continue;
        }
        const enum oto_status status = advance(link, deadline_ms, data, bytes);
        if (status != OTO_AGAIN || (!link->pending && oto_link_now_ms() >= deadline_ms)) {
            return status;
        }
    }
}

bool oto_link_is_up(const struct oto_link *link)
{
    return link->greeted;
}

const char *oto_link_reason(const struct oto_link *link)
{
    return link->reason == 0 ? "no answer yet" : nng_strerror(link->reason);
}

/* ---- opening and closing ---- */

static size_t header_bytes_of(const char *url)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (strncmp(url, schemes[i].prefix, strlen(schemes[i].prefix)) == 0) {
            return schemes[i].header_bytes;
        }
    }
    return 0;
}

static void make_condition(struct oto_link *link)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&link->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_init(&link->mutex, NULL);
}

enum oto_status oto_link_open(const char *url, struct oto_link **link, struct oto_error *error)
{
    *link = NULL;
    struct oto_link *made = calloc(1, sizeof *made);
    if (made == NULL || (made->buffer = malloc(START_BYTES)) == NULL) {
        free(made);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a subscriber");
    }
    made->capacity = START_BYTES;
    made->retry_ms = RETRY_MIN_MS;
    made->header_bytes = header_bytes_of(url);
    make_condition(made);
    int result = made->header_bytes == 0 ? NNG_EADDRINVAL : nng_stream_dialer_alloc(&made->dialer, url);
    if (result == 0) {
        /* Keepalive detects a host that has vanished; ipc has no such option. */
        (void)nng_stream_dialer_set_bool(made->dialer, NNG_OPT_TCP_KEEPALIVE, true);
        result = nng_aio_alloc(&made->aio, operation_done, made);
    }
    if (result != 0) {
        oto_link_close(made);
        return oto_fail(error, OTO_INVALID,
                        "cannot subscribe at '%.250s': %s; tcp://host:port or ipc:///path is accepted", url,
                        nng_strerror(result));
    }
    *link = made;
    return OTO_OK;
}

void oto_link_close(struct oto_link *link)
{
    if (link == NULL) {
        return;
    }
    if (link->aio != NULL) {
        nng_aio_stop(link->aio); /* cancels and waits, so that no operation runs afterwards */
        if (link->pending && link->state == LINK_DIALING && nng_aio_result(link->aio) == 0) {
            link->stream = nng_aio_get_output(link->aio, 0);
        }
    }
    if (link->stream != NULL) {
        nng_stream_close(link->stream);
        nng_stream_free(link->stream);
    }
    if (link->dialer != NULL) {
        nng_stream_dialer_close(link->dialer);
        nng_stream_dialer_free(link->dialer);
    }
    nng_aio_free(link->aio);
    (void)pthread_cond_destroy(&link->changed);
    (void)pthread_mutex_destroy(&link->mutex);
    free(link->buffer);
    free(link);
}
