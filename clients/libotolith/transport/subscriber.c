#include <nng/nng.h>
#include <nng/protocol/pubsub0/sub.h>

#include <stdlib.h>
#include <time.h>

#include "transport/stream.h"

#define RECONNECT_MIN_MS 100
#define RECONNECT_MAX_MS 1000
#define RECEIVE_MESSAGES 256

/*
 * Everything is subscribed to until the first schema frame has told the world's name and topics; then only what was
 * asked for and the schema itself.
 */
struct oto_subscriber {
    nng_socket socket;
    nng_msg *message; /* whose samples are being taken */
    uint32_t pipes;   /* connected ones; written by nng's threads */
    bool open, narrowed;
    char url[256];
    struct oto_stream stream;
};

static void count_pipe(nng_pipe pipe, nng_pipe_ev event, void *context)
{
    struct oto_subscriber *subscriber = context;
    (void)pipe;
    if (event == NNG_PIPE_EV_ADD_POST) {
        (void)__atomic_add_fetch(&subscriber->pipes, 1, __ATOMIC_RELAXED);
    } else {
        (void)__atomic_sub_fetch(&subscriber->pipes, 1, __ATOMIC_RELAXED);
    }
}

static int set_options(struct oto_subscriber *subscriber)
{
    const nng_socket socket = subscriber->socket;
    const int results[] = {
        nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, OTO_FRAME_MAX_BYTES),
        nng_socket_set_int(socket, NNG_OPT_RECVBUF, RECEIVE_MESSAGES),
        nng_socket_set_ms(socket, NNG_OPT_RECONNMINT, RECONNECT_MIN_MS),
        nng_socket_set_ms(socket, NNG_OPT_RECONNMAXT, RECONNECT_MAX_MS),
        nng_socket_set(socket, NNG_OPT_SUB_SUBSCRIBE, "", 0),
        nng_pipe_notify(socket, NNG_PIPE_EV_ADD_POST, count_pipe, subscriber),
        nng_pipe_notify(socket, NNG_PIPE_EV_REM_POST, count_pipe, subscriber),
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        if (results[i] != 0) {
            return results[i];
        }
    }
    return 0;
}

static enum oto_status open_socket(struct oto_subscriber *subscriber, const char *url, struct oto_error *error)
{
    int result = nng_sub0_open(&subscriber->socket);
    if (result != 0) {
        return oto_fail(error, OTO_IO, "nng cannot open a socket: %s", nng_strerror(result));
    }
    subscriber->open = true;
    result = set_options(subscriber);
    if (result == 0) {
        result = nng_dial(subscriber->socket, url, NULL, NNG_FLAG_NONBLOCK);
    }
    if (result != 0) {
        return oto_fail(error, OTO_INVALID,
                        "cannot subscribe at '%.250s': %s; tcp://host:port or ipc:///path is accepted", url,
                        nng_strerror(result));
    }
    return OTO_OK;
}

enum oto_status oto_subscriber_open(const char *url, const char *topic, struct oto_subscriber **subscriber,
                                    struct oto_error *error)
{
    *subscriber = NULL;
    struct oto_subscriber *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a subscriber");
    }
    (void)snprintf(made->url, sizeof made->url, "%s", url);
    enum oto_status status = oto_stream_init(&made->stream, topic, error);
    if (status == OTO_OK) {
        status = open_socket(made, url, error);
    }
    if (status != OTO_OK) {
        oto_subscriber_close(made);
        return status;
    }
    *subscriber = made;
    return OTO_OK;
}

void oto_subscriber_close(struct oto_subscriber *subscriber)
{
    if (subscriber == NULL) {
        return;
    }
    if (subscriber->open) {
        (void)nng_close(subscriber->socket);
    }
    nng_msg_free(subscriber->message);
    oto_stream_finish(&subscriber->stream);
    free(subscriber);
}

/* With its NUL a topic is matched as a whole, without it as a prefix. */
static int subscribe_to(const struct oto_subscriber *subscriber, const char *world, const char *topic)
{
    char text[2 * OTO_TOPIC_BYTES + 2];
    const size_t asked = strlen(topic);
    const bool prefix = asked > 0 && topic[asked - 1] == '/';
    const int length = snprintf(text, sizeof text, "%s%s%s", world, world[0] != '\0' ? "/" : "", topic);
    return nng_socket_set(subscriber->socket, NNG_OPT_SUB_SUBSCRIBE, text, (size_t)length + (prefix ? 0 : 1));
}

static void narrow(struct oto_subscriber *subscriber)
{
    const struct oto_stream *stream = &subscriber->stream;
    if (subscriber->narrowed || stream->schema == NULL) {
        return;
    }
    subscriber->narrowed = true;
    if (stream->asked[0] == '\0') {
        return;
    }
    if (subscribe_to(subscriber, stream->world, "@schema") == 0 && subscribe_to(subscriber, "", stream->asked) == 0 &&
        subscribe_to(subscriber, stream->world, stream->asked) == 0) {
        (void)nng_socket_set(subscriber->socket, NNG_OPT_SUB_UNSUBSCRIBE, "", 0);
    }
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Why nothing came. */
static enum oto_status explain(const struct oto_subscriber *subscriber, int32_t timeout_ms, struct oto_error *error)
{
    const struct oto_stream *stream = &subscriber->stream;
    if (__atomic_load_n(&subscriber->pipes, __ATOMIC_RELAXED) == 0) {
        return oto_fail(error, OTO_TIMEOUT, "nobody answers at %s", subscriber->url);
    }
    if (stream->schema == NULL) {
        return oto_fail(error, OTO_TIMEOUT, "%s has sent no schema within %d ms", subscriber->url, timeout_ms);
    }
    if (stream->wanted_count > 0) {
        return oto_fail(error, OTO_TIMEOUT, "no sample of '%s' within %d ms", stream->asked, timeout_ms);
    }
    const char *near = oto_stream_nearest(stream);
    return oto_fail(error, OTO_NOT_FOUND, "world '%s' publishes no topic '%s'%s%s%s", stream->world, stream->asked,
                    near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* The next message; AGAIN when there is none for `left` ms. */
static enum oto_status receive(struct oto_subscriber *subscriber, int64_t left, struct oto_error *error)
{
    nng_msg_free(subscriber->message);
    subscriber->message = NULL;
    (void)nng_socket_set_ms(subscriber->socket, NNG_OPT_RECVTIMEO, left > 0 ? (nng_duration)left : 0);
    const int result = nng_recvmsg(subscriber->socket, &subscriber->message, left > 0 ? 0 : NNG_FLAG_NONBLOCK);
    if (result == 0) {
        return OTO_OK;
    }
    subscriber->message = NULL;
    return result == NNG_ETIMEDOUT || result == NNG_EAGAIN ? OTO_AGAIN
                                                           : oto_fail(error, OTO_IO, "nng: %s", nng_strerror(result));
}

enum oto_status oto_subscriber_next(struct oto_subscriber *subscriber, int32_t timeout_ms,
                                    struct oto_wire_sample *sample, struct oto_error *error)
{
    const int64_t deadline_ms = now_ms() + timeout_ms;
    for (int64_t left = timeout_ms;; left = deadline_ms - now_ms()) {
        enum oto_status status = oto_stream_take(&subscriber->stream, sample);
        if (status == OTO_OK) {
            return OTO_OK;
        }
        if (status == OTO_AGAIN) {
            status = left < 0 ? OTO_AGAIN : receive(subscriber, left, error);
            if (status != OTO_OK) {
                return status == OTO_AGAIN ? explain(subscriber, timeout_ms, error) : status;
            }
            status = oto_stream_give(&subscriber->stream, nng_msg_body(subscriber->message),
                                     nng_msg_len(subscriber->message));
            narrow(subscriber);
        }
        if (status != OTO_OK && status != OTO_AGAIN) {
            return oto_fail(error, status == OTO_NO_MEMORY ? OTO_NO_MEMORY : OTO_CORRUPT,
                            "a frame from %s cannot be decoded: %s", subscriber->url, oto_status_text(status));
        }
    }
}
