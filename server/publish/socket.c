#include "publish/socket.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>

#include "base/file_kind.h"
#include "publish/listener_check.h"
#include "publish/places.h"
#include "publish/queue_depth.h"

#if defined(__SANITIZE_THREAD__)
/* nng counts its references with atomics that ThreadSanitizer cannot see, because nng was built without it. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:libnng.so\n";
}
#endif

#define LISTENERS_MAX 8
#define RECEIVE_MAX_BYTES 1024 /* a subscriber sends nothing */
#define CANARY_PERIOD_NS 1000000000
#define CANARY_PATIENCE_NS 1000000000
#define SUPERVISE_GAP_NS 250000000 /* after a pause of this process (stopped, starved) a test subscriber's failure does
                               * not count */

struct listener {
    char url[256];      /* the URL of the world file */
    char dial_url[256]; /* the URL for a local subscriber */
    nng_listener id;
    struct srv_listener_check check;
    bool open, complained;
    int64_t next_ns;     /* time of the next test subscriber, or of the next attempt to open */
    int64_t deadline_ns; /* deadline of the current test subscriber */
    struct srv_peer self; /* address of the test subscriber */
};

struct srv_pub {
    struct srv_pub_options options;
    nng_socket socket;
    struct srv_queue_depth queue;
    uint32_t count;
    struct listener listeners[LISTENERS_MAX];
    int64_t last_supervise_ns;
    pthread_mutex_t lock; /* protects the places */
    struct srv_places places;
    uint32_t connected; /* atomic */
};

static struct srv_peer peer_at(const nng_sockaddr *address)
{
    return address->s_family == NNG_AF_INET    ? srv_peer_v4(address->s_in.sa_addr)
           : address->s_family == NNG_AF_INET6 ? srv_peer_v6(address->s_in6.sa_addr)
                                               : (struct srv_peer){SRV_PEER_IPC, 0};
}

/* [any: nng's threads] */
static bool take_place(struct srv_pub *pub, nng_pipe pipe)
{
    nng_sockaddr address = {.s_family = NNG_AF_UNSPEC};
    (void)nng_pipe_get_addr(pipe, NNG_OPT_REMADDR, &address);
    const struct srv_peer peer = peer_at(&address);
    (void)pthread_mutex_lock(&pub->lock);
    const bool taken = srv_places_take(&pub->places, (uint32_t)nng_pipe_id(pipe), &peer);
    (void)pthread_mutex_unlock(&pub->lock);
    return taken;
}

static void leave_place(struct srv_pub *pub, nng_pipe pipe)
{
    (void)pthread_mutex_lock(&pub->lock);
    srv_places_leave(&pub->places, (uint32_t)nng_pipe_id(pipe));
    (void)pthread_mutex_unlock(&pub->lock);
}

static void on_pipe(nng_pipe pipe, nng_pipe_ev event, void *context)
{
    struct srv_pub *pub = context;
    if (event == NNG_PIPE_EV_ADD_PRE) {
        if (!take_place(pub, pipe)) {
            (void)nng_pipe_close(pipe);
        }
    } else if (event == NNG_PIPE_EV_ADD_POST) {
        __atomic_store_n(&pub->connected, 1, __ATOMIC_RELEASE);
    } else {
        leave_place(pub, pipe);
    }
}

uint32_t srv_pub_subscribers(struct srv_pub *pub)
{
    (void)pthread_mutex_lock(&pub->lock);
    const uint32_t count = pub->places.count;
    (void)pthread_mutex_unlock(&pub->lock);
    return count;
}

static int open_socket(struct srv_pub *pub)
{
    const int failed = nng_pub0_open(&pub->socket);
    if (failed != 0) {
        return failed;
    }
    srv_queue_depth_init(&pub->queue, pub->options.queue_depth);
    (void)nng_socket_set_int(pub->socket, NNG_OPT_SENDBUF, (int)pub->queue.depth);
    (void)nng_socket_set_size(pub->socket, NNG_OPT_RECVMAXSZ, RECEIVE_MAX_BYTES);
    (void)nng_pipe_notify(pub->socket, NNG_PIPE_EV_ADD_PRE, on_pipe, pub);
    (void)nng_pipe_notify(pub->socket, NNG_PIPE_EV_ADD_POST, on_pipe, pub);
    (void)nng_pipe_notify(pub->socket, NNG_PIPE_EV_REM_POST, on_pipe, pub);
    return 0;
}

enum oto_status srv_pub_open(const struct srv_pub_options *options, struct srv_pub **pub, struct oto_error *error)
{
    struct srv_pub *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for the publisher's socket");
    }
    made->options = *options;
    (void)pthread_mutex_init(&made->lock, NULL); /* cannot fail on Linux */
    const int failed = open_socket(made);
    if (failed != 0) {
        free(made);
        return oto_fail(error, OTO_IO, "the publisher's socket cannot be opened: %s", nng_strerror(failed));
    }
    *pub = made;
    return OTO_OK;
}

/* ---- listeners --------------------------------------------------------------------------------------------------- */

/* Gets the actual address of a tcp listener: the port may have been 0, and "any address" cannot be dialled. */
static void learn_address(struct srv_pub *pub, struct listener *listener)
{
    char shown[256];
    (void)snprintf(shown, sizeof shown, "%s", listener->url);
    (void)snprintf(listener->dial_url, sizeof listener->dial_url, "%s", listener->url);
    nng_sockaddr address;
    if (nng_listener_get_addr(listener->id, NNG_OPT_LOCADDR, &address) == 0) {
        listener->self = peer_at(&address);
        char text[INET6_ADDRSTRLEN];
        if (address.s_family == NNG_AF_INET) {
            const uint32_t any = address.s_in.sa_addr;
            const unsigned port = ntohs(address.s_in.sa_port);
            (void)inet_ntop(AF_INET, &any, text, sizeof text);
            (void)snprintf(shown, sizeof shown, "tcp://%s:%u", text, port);
            (void)snprintf(listener->dial_url, sizeof listener->dial_url, "tcp://%s:%u", any == 0 ? "127.0.0.1" : text,
                           port);
        } else if (address.s_family == NNG_AF_INET6) {
            static const unsigned char any[16];
            const unsigned port = ntohs(address.s_in6.sa_port);
            (void)inet_ntop(AF_INET6, address.s_in6.sa_addr, text, sizeof text);
            (void)snprintf(shown, sizeof shown, "tcp://[%s]:%u", text, port);
            (void)snprintf(listener->dial_url, sizeof listener->dial_url, "tcp://[%s]:%u",
                           memcmp(address.s_in6.sa_addr, any, 16) == 0 ? "::1" : text, port);
        }
    }
    pub->options.endpoint(pub->options.context, (uint32_t)(listener - pub->listeners), shown);
}

/* Returns NULL, or the reason why it cannot listen. */
static const char *start_listener(struct srv_pub *pub, struct listener *listener)
{
    /* A reopened listener keeps the port that the kernel chose before. */
    const char *url = listener->dial_url[0] != 0 && strstr(listener->url, ":0") != NULL ? listener->dial_url : listener->url;
    if (strncmp(url, "ipc://", 6) == 0 && !srv_path_accepts_socket(url + 6)) {
        return "a file that is not a socket has this path"; /* nng would remove a file that is not a socket */
    }
    int failed = nng_listener_create(&listener->id, pub->socket, url);
    if (failed != 0) {
        return nng_strerror(failed);
    }
    (void)nng_listener_set_size(listener->id, NNG_OPT_RECVMAXSZ, RECEIVE_MAX_BYTES);
    (void)nng_listener_set_bool(listener->id, NNG_OPT_TCP_NODELAY, true); /* only tcp has this option */
    (void)nng_listener_set_int(listener->id, NNG_OPT_IPC_PERMISSIONS, 0600); /* only ipc has this option */
    failed = nng_listener_start(listener->id, 0);
    if (failed != 0) {
        (void)nng_listener_close(listener->id);
        return nng_strerror(failed);
    }
    listener->open = true;
    listener->complained = false;
    learn_address(pub, listener);
    return NULL;
}

static void try_listener(struct srv_pub *pub, struct listener *listener, int64_t now_ns)
{
    const char *failure = start_listener(pub, listener);
    listener->next_ns = now_ns + CANARY_PERIOD_NS;
    if (failure != NULL && !listener->complained) {
        char sentence[400];
        listener->complained = true;
        pub->options.closed(pub->options.context, (uint32_t)(listener - pub->listeners));
        (void)snprintf(sentence, sizeof sentence, "the publisher cannot listen on %s: %s; it retries every second",
                       listener->url, failure);
        pub->options.event(pub->options.context, sentence);
    }
}

enum oto_status srv_pub_listen(struct srv_pub *pub, const char *url, struct oto_error *error)
{
    if (strncmp(url, "ipc://", 6) != 0 && strncmp(url, "tcp://", 6) != 0) {
        return oto_fail(error, OTO_INVALID, "cannot listen on '%s': ipc://PATH or tcp://ADDRESS:PORT is needed", url);
    }
    if (pub->count >= LISTENERS_MAX || strlen(url) >= sizeof pub->listeners[0].url) {
        return oto_fail(error, OTO_LIMIT, "cannot listen on '%.300s': at most %d addresses of 255 characters", url,
                        LISTENERS_MAX);
    }
    struct listener *listener = &pub->listeners[pub->count++];
    (void)snprintf(listener->url, sizeof listener->url, "%s", url);
    listener->check.fd = -1;
    try_listener(pub, listener, pub->last_supervise_ns);
    return OTO_OK;
}

/*
 * ---- test subscribers ----------------------------------------------------------------------------------------------
 */

static void end_check(struct listener *listener, int64_t now_ns)
{
    srv_listener_check_end(&listener->check);
    listener->next_ns = now_ns + CANARY_PERIOD_NS;
}

/* A full listener also refuses the test subscriber, so its failure does not count. */
static bool is_full(struct srv_pub *pub, const struct listener *listener)
{
    (void)pthread_mutex_lock(&pub->lock);
    const bool full = srv_places_are_full(&pub->places, &listener->self);
    (void)pthread_mutex_unlock(&pub->lock);
    return full;
}

static void start_check(struct srv_pub *pub, struct listener *listener, int64_t now_ns)
{
    listener->next_ns = now_ns + CANARY_PERIOD_NS;
    listener->deadline_ns = now_ns + CANARY_PATIENCE_NS;
    if (!is_full(pub, listener)) {
        (void)srv_listener_check_start(&listener->check, listener->dial_url);
    }
}

static void heal(struct srv_pub *pub, struct listener *listener, int64_t now_ns)
{
    char sentence[400];
    end_check(listener, now_ns);
    (void)nng_listener_close(listener->id);
    listener->open = false;
    (void)snprintf(sentence, sizeof sentence, "the listener %s did not serve a new subscriber and was reopened",
                   listener->url);
    pub->options.event(pub->options.context, sentence);
    try_listener(pub, listener, now_ns);
}

/* A test subscriber that is refused at once still has until its deadline: nng may be closing what it just accepted. */
static void poll_check(struct srv_pub *pub, struct listener *listener, int64_t now_ns)
{
    const enum srv_listener_check_state state = srv_listener_check_poll(&listener->check);
    if (state == SRV_LISTENER_CHECK_SERVED || is_full(pub, listener)) {
        end_check(listener, now_ns);
    } else if (now_ns > listener->deadline_ns) {
        heal(pub, listener, now_ns);
    } else if (state == SRV_LISTENER_CHECK_REFUSED) {
        const int64_t deadline_ns = listener->deadline_ns;
        srv_listener_check_end(&listener->check);
        start_check(pub, listener, now_ns);
        listener->deadline_ns = deadline_ns;
    }
}

void srv_pub_supervise(struct srv_pub *pub, int64_t now_ns)
{
    const int64_t gap_ns = now_ns - pub->last_supervise_ns;
    pub->last_supervise_ns = now_ns;
    for (uint32_t i = 0; i < pub->count; i++) {
        struct listener *listener = &pub->listeners[i];
        listener->deadline_ns += gap_ns > SUPERVISE_GAP_NS ? gap_ns : 0;
        if (listener->check.fd >= 0) {
            poll_check(pub, listener, now_ns);
        } else if (now_ns >= listener->next_ns && listener->open) {
            start_check(pub, listener, now_ns);
        } else if (now_ns >= listener->next_ns) {
            try_listener(pub, listener, now_ns);
        }
    }
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

void srv_pub_send(struct srv_pub *pub, const void *data, size_t bytes)
{
    if (srv_queue_depth_count(&pub->queue, bytes)) {
        (void)nng_socket_set_int(pub->socket, NNG_OPT_SENDBUF, (int)pub->queue.depth);
    }
    (void)nng_send(pub->socket, (void *)(uintptr_t)data, bytes, NNG_FLAG_NONBLOCK);
}

bool srv_pub_take_connected(struct srv_pub *pub)
{
    return __atomic_exchange_n(&pub->connected, 0, __ATOMIC_ACQUIRE) != 0;
}

void srv_pub_close(struct srv_pub *pub)
{
    if (pub != NULL) {
        for (uint32_t i = 0; i < pub->count; i++) {
            srv_listener_check_end(&pub->listeners[i].check);
        }
        (void)nng_close(pub->socket);
        (void)pthread_mutex_destroy(&pub->lock);
        free(pub);
    }
}
