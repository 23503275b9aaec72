/*
 * otolith-nats: reads the segment of a world as any client does, and puts its frames on NATS. The main thread reads the rings into
 * a queue and never waits for the network; the thread of link.c sends.
 */
#include <argp.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "link.h"
#include "subject.h"
#include "otolith/version.h"
#include "publish/feed.h"

enum { EXIT_BAD_USAGE = 2, MOST_PATTERNS = 64, DRAIN_MS = 3000, MOST_MIB = 65536, MOST_WAIT_S = 1000000 };
#define REPORT_EVERY_NS INT64_C(1000000000)

struct options {
    struct nats_link_options link;
    const char *world;
    enum srv_feed_format format;
    const char *only[MOST_PATTERNS];
    uint32_t only_count;
    int64_t coalesce_ns, wait_s;
    uint64_t queue_mib;
};

/* The subject of the frames of one topic. */
struct route {
    const char *topic; /* belongs to the client's channel */
    char subject[NATS_SUBJECT_BYTES]; /* "": the topic is not sent */
};

struct bridge {
    struct options options;
    struct oto_client *client;
    struct srv_feed *feed;
    struct nats_queue *queue;
    struct nats_link *link;
    struct route *routes;
    uint32_t route_count, last_route;
    char world[NATS_SUBJECT_BYTES]; /* token */
    int signal_fd;
    int64_t report_due_ns;
    uint64_t lost_before; /* of earlier runs */
    struct report {
        uint64_t lost, dropped, resent, reconnects;
        bool is_connected, has_stream;
    } reported;
};

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- frames to subjects ---- */

static bool is_wanted(const struct options *options, const char *topic)
{
    bool is = options->only_count == 0;
    const char *slash = strchr(topic, '/');
    for (uint32_t i = 0; i < options->only_count; i++) {
        is = is || fnmatch(options->only[i], topic, 0) == 0 || (slash != NULL && fnmatch(options->only[i], slash + 1, 0) == 0);
    }
    return is;
}

static enum oto_status make_routes(struct bridge *bridge, struct oto_error *error)
{
    const uint32_t count = oto_client_channel_count(bridge->client);
    struct route *routes = realloc(bridge->routes, (count + 1) * sizeof *routes);
    if (routes == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %" PRIu32 " channels", count);
    }
    bridge->routes = routes;
    bridge->route_count = count;
    bridge->last_route = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct oto_channel *channel = oto_client_channel(bridge->client, i);
        bool is_first = true;
        for (uint32_t k = 0; k < i; k++) {
            is_first = is_first && strcmp(oto_client_channel(bridge->client, k)->node, channel->node) != 0;
        }
        routes[i] = (struct route){.topic = channel->topic};
        if (is_wanted(&bridge->options, channel->topic) && !nats_subject(channel, is_first, routes[i].subject, sizeof routes[i].subject)) {
            return oto_fail(error, OTO_LIMIT, "topic '%.96s' makes a subject of more than %d characters", channel->topic, NATS_SUBJECT_BYTES - 1);
        }
    }
    return OTO_OK;
}

/* Finds a route from the last one on: frames of one topic follow each other, and the topics have the order of the routes. */
static const struct route *find_route(struct bridge *bridge, const char *topic)
{
    for (uint32_t i = 0; i < bridge->route_count; i++) {
        const uint32_t at = (bridge->last_route + i) % bridge->route_count;
        if (strcmp(bridge->routes[at].topic, topic) == 0) {
            bridge->last_route = at;
            return &bridge->routes[at];
        }
    }
    return NULL;
}

/* A frame is the topic, a NUL and a map; the subject replaces the topic. */
static void sink(void *context, const void *data, size_t bytes)
{
    struct bridge *bridge = context;
    const char *topic = data;
    const size_t head = strnlen(topic, bytes) + 1;
    const struct route *route = find_route(bridge, topic);
    if (route == NULL) { /* the schema */
        (void)nats_link_add_schema(bridge->link, topic + head, bytes - head);
    } else if (route->subject[0] != '\0') {
        (void)nats_queue_put(bridge->queue, route->subject, topic + head, bytes - head);
    }
}

static enum oto_status open_feed(struct bridge *bridge, struct oto_error *error)
{
    const char *world = oto_client_header(bridge->client)->world;
    bridge->lost_before += bridge->feed != NULL ? srv_feed_lost(bridge->feed) : 0;
    srv_feed_destroy(bridge->feed);
    bridge->feed = NULL;
    enum oto_status status = make_routes(bridge, error);
    if (status == OTO_OK && !nats_token(world, strlen(world), bridge->world, sizeof bridge->world)) {
        status = oto_fail(error, OTO_LIMIT, "the name of world '%.96s' is too long", world);
    }
    if (status == OTO_OK) {
        status = srv_feed_create(bridge->client, bridge->options.format, "", sink, bridge, &bridge->feed, error);
    }
    if (status == OTO_OK) {
        nats_link_begin_schema(bridge->link, bridge->world);
        srv_feed_schema(bridge->feed);
        nats_link_publish_schema(bridge->link);
    }
    return status;
}

/* ---- reports ---- */

static struct report make_report(struct bridge *bridge, struct nats_link_counts *sent, struct nats_queue_counts *queued)
{
    nats_link_count(bridge->link, sent);
    nats_queue_count(bridge->queue, queued);
    return (struct report){.lost = bridge->lost_before + (bridge->feed != NULL ? srv_feed_lost(bridge->feed) : 0),
                           .dropped = queued->dropped,
                           .resent = sent->resent,
                           .reconnects = sent->reconnects,
                           .is_connected = sent->is_connected,
                           .has_stream = sent->has_stream};
}

static void print_changes(const struct report *now, const struct report *before)
{
    if (!now->is_connected && before->is_connected) {
        (void)fprintf(stderr, "otolith-nats: the connection broke; reconnecting\n");
    }
    if (now->reconnects > before->reconnects) {
        (void)fprintf(stderr, "otolith-nats: reconnected, %" PRIu64 " times in all\n", now->reconnects);
    }
    if (now->has_stream && !before->has_stream) {
        (void)fprintf(stderr, "otolith-nats: the schema is in the stream " NATS_SCHEMA_STREAM "\n");
    }
    if (now->dropped > before->dropped) {
        (void)fprintf(stderr, "otolith-nats: the queue is full: %" PRIu64 " frames dropped, %" PRIu64 " in all\n", now->dropped - before->dropped,
                      now->dropped);
    }
    if (now->lost > before->lost) {
        (void)fprintf(stderr, "otolith-nats: %" PRIu64 " records lost in the rings, %" PRIu64 " in all\n", now->lost - before->lost, now->lost);
    }
    if (now->resent > before->resent) {
        (void)fprintf(stderr, "otolith-nats: %" PRIu64 " frames sent again, which the server had not confirmed at the break\n",
                      now->resent - before->resent);
    }
}

/* Reports changes on standard error, and publishes all counters on otolith.WORLD.@status. */
static void report(struct bridge *bridge)
{
    char subject[NATS_SUBJECT_BYTES + 32], text[512];
    struct nats_link_counts sent;
    struct nats_queue_counts queued;
    const struct report now = make_report(bridge, &sent, &queued);
    print_changes(&now, &bridge->reported);
    bridge->reported = now;
    (void)snprintf(subject, sizeof subject, "otolith.%s.@status", bridge->world);
    const int length = snprintf(text, sizeof text,
                                "{\"sent\": %" PRIu64 ", \"dropped\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"resent\": %" PRIu64
                                ", \"reconnects\": %" PRIu64 ", \"queue_bytes\": %zu, \"queue_most_bytes\": %zu}",
                                sent.sent, now.dropped, now.lost, now.resent, now.reconnects, queued.bytes, queued.most_bytes);
    (void)nats_queue_put(bridge->queue, subject, text, (size_t)length);
}

static void report_end(struct bridge *bridge)
{
    struct nats_link_counts sent;
    struct nats_queue_counts queued;
    const struct report now = make_report(bridge, &sent, &queued);
    print_changes(&now, &bridge->reported);
    (void)fprintf(stderr, "otolith-nats: %" PRIu64 " frames sent, %" PRIu64 " dropped, %" PRIu64 " sent again after a break, %" PRIu64
                          " records lost in the rings, %" PRIu64 " reconnects, at most %zu bytes queued\n",
                  sent.sent, now.dropped, now.resent, now.lost, now.reconnects, queued.most_bytes);
}

/* ---- running ---- */

static bool is_told_to_end(const struct bridge *bridge, int64_t wait_ns)
{
    struct signalfd_siginfo facts;
    struct pollfd signals = {.fd = bridge->signal_fd, .events = POLLIN};
    const struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    (void)ppoll(&signals, 1, &wait, NULL);
    return read(bridge->signal_fd, &facts, sizeof facts) == (ssize_t)sizeof facts;
}

/* Waits for the next run after the end of a run. *more: attached to the next run; false: the program ends. */
static enum oto_status follow(struct bridge *bridge, bool *more, struct oto_error *error)
{
    const int64_t until_ns = now_ns() + bridge->options.wait_s * 1000000000;
    struct oto_error why = {0};
    enum oto_status status = OTO_TIMEOUT;
    *more = false;
    while (status != OTO_OK && now_ns() < until_ns) {
        status = oto_client_reattach(bridge->client, 200, &why);
        if (status != OTO_OK && is_told_to_end(bridge, 0)) {
            return OTO_OK;
        }
    }
    if (status != OTO_OK) {
        return OTO_OK;
    }
    *more = true;
    (void)fprintf(stderr, "otolith-nats: world '%s' restarted\n", oto_client_header(bridge->client)->world);
    return open_feed(bridge, error);
}

static enum oto_status run(struct bridge *bridge, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    bool more = true;
    while (status == OTO_OK && more) {
        const bool is_over = oto_client_run_is_over(bridge->client); /* read before the pass, so that the last pass is complete */
        const bool hurry = srv_feed_pass(bridge->feed);
        if (now_ns() >= bridge->report_due_ns) {
            bridge->report_due_ns = now_ns() + REPORT_EVERY_NS;
            report(bridge);
        }
        if (is_told_to_end(bridge, hurry || is_over ? 0 : bridge->options.coalesce_ns)) {
            more = false;
        } else if (is_over) {
            status = follow(bridge, &more, error);
        }
    }
    return status;
}

/* ---- the command line ---- */

enum { KEY_CREDENTIALS = 1000, KEY_TOKEN, KEY_USER, KEY_PASSWORD, KEY_TLS, KEY_CA, KEY_CERTIFICATE, KEY_KEY, KEY_FORMAT, KEY_COALESCE, KEY_QUEUE,
       KEY_ONLY, KEY_WAIT };

static const struct argp_option option_table[] = {
    {"world", 'w', "NAME", 0, "name of the world (default: $OTOLITH_WORLD, else the only running world)", 0},
    {"server", 's', "URL,...", 0, "NATS servers (default: nats://127.0.0.1:4222)", 0},
    {"only", KEY_ONLY, "PATTERN", 0, "topics that are sent, with shell wildcards: car/imu, car*/*; may be repeated (default: all)", 0},
    {"format", KEY_FORMAT, "map|packed", 0, "encoding of samples (default: map)", 0},
    {"coalesce", KEY_COALESCE, "MS", 0, "time whose samples share a frame, 1 to 1000 (default: 5)", 0},
    {"queue", KEY_QUEUE, "MIB", 0, "memory for frames that wait for the server; beyond it they are dropped and counted (default: 64)", 0},
    {"wait", KEY_WAIT, "SECONDS", 0, "time to wait for the next run of the world after one has ended (default: 10)", 0},
    {"credentials", KEY_CREDENTIALS, "FILE", 0, "JWT and seed of a user (.creds)", 1},
    {"token-file", KEY_TOKEN, "FILE", 0, "token, the file's first line", 1},
    {"user", KEY_USER, "NAME", 0, "user, with --password-file", 1},
    {"password-file", KEY_PASSWORD, "FILE", 0, "password, the file's first line", 1},
    {"tls", KEY_TLS, NULL, 0, "require TLS", 2},
    {"ca", KEY_CA, "FILE", 0, "certificates that sign the server's; implies --tls", 2},
    {"cert", KEY_CERTIFICATE, "FILE", 0, "certificate of this client, with --key; implies --tls", 2},
    {"key", KEY_KEY, "FILE", 0, "its key", 2},
    {0}};

static const char doc[] =
    "Puts the frames of a running world on NATS, on the subjects otolith.WORLD.VEHICLE.NODE.CHANNEL (CHANNEL is main for the first one of a "
    "node).\v"
    "The payload is the msgpack map of a frame, as over nng, without the topic before it. The schema is in the JetStream stream "
    NATS_SCHEMA_STREAM ", subjects otolith.WORLD.@schema.PART, one message each; without JetStream it is sent once a second. Counters are sent "
    "once a second on otolith.WORLD.@status as JSON. In a name, bytes other than A-Z, a-z, 0-9, _, - and @ are written %XX.\n\n"
    "Exit codes: 0 the world ended, or SIGINT or SIGTERM; 1 an error; 2 an error in the command line.";

static int64_t number_of(const struct argp_state *state, const char *option, const char *text, int64_t least, int64_t most)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < least || number > most) {
        argp_error(state, "%s %s: %" PRId64 " to %" PRId64 " is accepted", option, text, least, most);
    }
    return number;
}

static void require(const struct argp_state *state, const struct options *options)
{
    const struct nats_link_options *link = &options->link;
    if ((link->user != NULL) != (link->password_file != NULL)) {
        argp_error(state, "--user and --password-file belong together");
    }
    if ((link->certificate != NULL) != (link->key != NULL)) {
        argp_error(state, "--cert and --key belong together");
    }
    if ((link->user != NULL) + (link->token_file != NULL) + (link->credentials != NULL) > 1) {
        argp_error(state, "--credentials, --token-file and --user exclude each other");
    }
}

static error_t parse_link(int key, char *value, struct nats_link_options *link)
{
    switch (key) {
    case 's': link->servers = value; return 0;
    case KEY_CREDENTIALS: link->credentials = value; return 0;
    case KEY_TOKEN: link->token_file = value; return 0;
    case KEY_USER: link->user = value; return 0;
    case KEY_PASSWORD: link->password_file = value; return 0;
    case KEY_TLS: link->tls = true; return 0;
    case KEY_CA: link->ca = value; return 0;
    case KEY_CERTIFICATE: link->certificate = value; return 0;
    case KEY_KEY: link->key = value; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'w': options->world = value; return 0;
    case KEY_ONLY:
        if (options->only_count == MOST_PATTERNS) {
            argp_error(state, "--only at most %d times", MOST_PATTERNS);
        }
        options->only[options->only_count++] = value;
        return 0;
    case KEY_FORMAT:
        options->format = strcmp(value, "packed") == 0 ? SRV_FEED_PACKED : SRV_FEED_MAP;
        if (options->format == SRV_FEED_MAP && strcmp(value, "map") != 0) {
            argp_error(state, "--format %s: map or packed is accepted", value);
        }
        return 0;
    case KEY_COALESCE: options->coalesce_ns = number_of(state, "--coalesce", value, 1, 1000) * 1000000; return 0;
    case KEY_QUEUE: options->queue_mib = (uint64_t)number_of(state, "--queue", value, 1, MOST_MIB); return 0;
    case KEY_WAIT: options->wait_s = number_of(state, "--wait", value, 0, MOST_WAIT_S); return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", value); return 0;
    case ARGP_KEY_END: require(state, options); return 0;
    default: return parse_link(key, value, &options->link);
    }
}

/* Signals are read from a descriptor. They are blocked before libnats starts its threads, which inherit the mask. */
static bool take_signals(struct bridge *bridge)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    bridge->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return bridge->signal_fd >= 0;
}

static enum oto_status open_bridge(struct bridge *bridge, struct oto_error *error)
{
    const struct oto_client_options options = {.size = sizeof options, .world = bridge->options.world, .name = "otolith-nats", .role = "observe"};
    enum oto_status status = oto_client_open(&options, &bridge->client, error);
    bridge->queue = nats_queue_create((size_t)bridge->options.queue_mib << 20);
    if (status == OTO_OK && bridge->queue == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for the queue");
    }
    if (status == OTO_OK) {
        status = nats_link_open(&bridge->options.link, bridge->queue, &bridge->link, error);
    }
    return status == OTO_OK ? open_feed(bridge, error) : status;
}

int main(int argc, char **argv)
{
    struct bridge bridge = {.options = {.link = {.servers = "nats://127.0.0.1:4222"}, .coalesce_ns = 5000000, .wait_s = 10, .queue_mib = 64},
                            .reported = {.is_connected = true}};
    const struct argp argp = {option_table, parse, NULL, doc, NULL, NULL, NULL};
    struct oto_error error = {0};
    argp_program_version = "otolith-nats " OTO_VERSION_STRING;
    argp_err_exit_status = EXIT_BAD_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &bridge.options) != 0 || !take_signals(&bridge)) {
        return EXIT_FAILURE;
    }
    enum oto_status status = open_bridge(&bridge, &error);
    if (status == OTO_OK) {
        status = run(&bridge, &error);
    }
    if (status != OTO_OK) {
        (void)fprintf(stderr, "otolith-nats: %s\n", error.text);
    }
    const bool is_drained = bridge.link == NULL || nats_link_drain(bridge.link, DRAIN_MS);
    if (bridge.link != NULL) {
        report_end(&bridge);
    }
    if (!is_drained) { /* the sending thread may wait for a server that does not read */
        (void)fprintf(stderr, "otolith-nats: the server did not take all frames within %d ms\n", DRAIN_MS);
        _exit(EXIT_FAILURE);
    }
    const int exit_code = status == OTO_OK ? EXIT_SUCCESS : EXIT_FAILURE;
    if (!nats_link_close(bridge.link)) {
        _exit(exit_code);
    }
    nats_queue_destroy(bridge.queue);
    srv_feed_destroy(bridge.feed);
    oto_client_close(bridge.client);
    free(bridge.routes);
    return exit_code;
}
