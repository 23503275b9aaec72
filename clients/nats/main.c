/*
 * otolith-nats: reads the segment of a world as any client does, and puts its frames on NATS. The main thread reads the rings into
 * a queue and never waits for the network; the thread of link.c sends.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/bridge.h"
#include "link.h"
#include "subject.h"
#include "publish/feed.h"

enum { MOST_PATTERNS = 64, DRAIN_MS = 10000, MOST_MIB = 65536 };

struct options {
    struct nats_link_options link;
    enum srv_feed_format format;
    const char *only[MOST_PATTERNS];
    uint32_t only_count;
    int64_t coalesce_ns;
    uint64_t queue_mib;
};

/* The subject of the frames of one topic. */
struct route {
    const char *topic; /* belongs to the client's channel */
    char subject[NATS_SUBJECT_BYTES]; /* "": the topic is not sent */
};

struct sender {
    struct bridge bridge;
    struct options options;
    struct srv_feed *feed;
    struct nats_queue *queue;
    struct nats_link *link;
    struct route *routes;
    uint32_t route_count, last_route;
    char world[NATS_SUBJECT_BYTES]; /* token */
    bool hurry;           /* the last pass left records in the rings */
    uint64_t lost_before; /* of earlier runs */
    struct report {
        uint64_t lost, dropped, refused, resent, reconnects;
        bool is_connected, has_stream;
    } reported;
};

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

static enum oto_status make_routes(struct sender *sender, struct oto_error *error)
{
    const uint32_t count = oto_client_channel_count(sender->bridge.client);
    struct route *routes = realloc(sender->routes, (count + 1) * sizeof *routes);
    if (routes == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %" PRIu32 " channels", count);
    }
    sender->routes = routes;
    sender->route_count = count;
    sender->last_route = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct oto_channel *channel = oto_client_channel(sender->bridge.client, i);
        bool is_first = true;
        for (uint32_t k = 0; k < i; k++) {
            is_first = is_first && strcmp(oto_client_channel(sender->bridge.client, k)->node, channel->node) != 0;
        }
        routes[i] = (struct route){.topic = channel->topic};
        if (is_wanted(&sender->options, channel->topic) && !nats_subject(channel, is_first, routes[i].subject, sizeof routes[i].subject)) {
            return oto_fail(error, OTO_LIMIT, "topic '%.96s' makes a subject of more than %d characters", channel->topic, NATS_SUBJECT_BYTES - 1);
        }
    }
    return OTO_OK;
}

/* Finds a route from the last one on: frames of one topic follow each other, and the topics have the order of the routes. */
static const struct route *find_route(struct sender *sender, const char *topic)
{
    for (uint32_t i = 0; i < sender->route_count; i++) {
        const uint32_t at = (sender->last_route + i) % sender->route_count;
        if (strcmp(sender->routes[at].topic, topic) == 0) {
            sender->last_route = at;
            return &sender->routes[at];
        }
    }
    return NULL;
}

/* A frame is the topic, a NUL and a map; the subject replaces the topic. */
static void sink(void *context, const void *data, size_t bytes)
{
    struct sender *sender = context;
    const char *topic = data;
    const size_t head = strnlen(topic, bytes) + 1;
    const struct route *route = find_route(sender, topic);
    if (route == NULL) { /* the schema */
        (void)nats_link_add_schema(sender->link, topic + head, bytes - head);
    } else if (route->subject[0] != '\0') {
        (void)nats_queue_put(sender->queue, route->subject, topic + head, bytes - head);
    }
}

static enum oto_status open_feed(void *context, struct oto_error *error)
{
    struct sender *sender = context;
    const char *world = oto_client_header(sender->bridge.client)->world;
    sender->lost_before += sender->feed != NULL ? srv_feed_lost(sender->feed) : 0;
    srv_feed_destroy(sender->feed);
    sender->feed = NULL;
    enum oto_status status = make_routes(sender, error);
    if (status == OTO_OK && !nats_token(world, strlen(world), sender->world, sizeof sender->world)) {
        status = oto_fail(error, OTO_LIMIT, "the name of world '%.96s' is too long", world);
    }
    if (status == OTO_OK) {
        status = srv_feed_create(sender->bridge.client, sender->options.format, "", sink, sender, &sender->feed, error);
    }
    if (status == OTO_OK) {
        nats_link_begin_schema(sender->link, sender->world);
        srv_feed_schema(sender->feed);
        nats_link_publish_schema(sender->link);
    }
    return status;
}

/* ---- reports ---- */

static struct report make_report(struct sender *sender, struct nats_link_counts *sent, struct nats_queue_counts *queued)
{
    nats_link_count(sender->link, sent);
    nats_queue_count(sender->queue, queued);
    return (struct report){.lost = sender->lost_before + (sender->feed != NULL ? srv_feed_lost(sender->feed) : 0),
                           .dropped = queued->dropped + sent->refused,
                           .refused = sent->refused,
                           .resent = sent->resent,
                           .reconnects = sent->reconnects,
                           .is_connected = sent->is_connected,
                           .has_stream = sent->has_stream};
}

static void print_changes(const struct srv_program *program, const struct report *now, const struct report *before)
{
    if (!now->is_connected && before->is_connected) {
        srv_program_print(program, "the connection broke; reconnecting");
    }
    if (now->reconnects > before->reconnects) {
        srv_program_print(program, "reconnected, %" PRIu64 " times in all", now->reconnects);
    }
    if (now->has_stream && !before->has_stream) {
        srv_program_print(program, "the schema is in the stream " NATS_SCHEMA_STREAM);
    }
    const uint64_t refused = now->refused - before->refused, full = now->dropped - before->dropped - refused;
    if (full > 0) {
        srv_program_print(program, "the queue is full: %" PRIu64 " frames dropped, %" PRIu64 " in all", full, now->dropped);
    }
    if (refused > 0) {
        srv_program_print(program, "%" PRIu64 " frames are larger than the server's max_payload: dropped, %" PRIu64 " in all", refused, now->dropped);
    }
    if (now->lost > before->lost) {
        srv_program_print(program, "%" PRIu64 " records lost in the rings, %" PRIu64 " in all", now->lost - before->lost, now->lost);
    }
    if (now->resent > before->resent) {
        srv_program_print(program, "%" PRIu64 " frames sent again, which the server had not confirmed at the break", now->resent - before->resent);
    }
}

/* Reports changes on standard error, and publishes all counters on otolith.WORLD.@status. */
static void report(void *context)
{
    struct sender *sender = context;
    char subject[NATS_SUBJECT_BYTES + 32], text[512];
    struct nats_link_counts sent;
    struct nats_queue_counts queued;
    const struct report now = make_report(sender, &sent, &queued);
    print_changes(&sender->bridge.program, &now, &sender->reported);
    sender->reported = now;
    (void)snprintf(subject, sizeof subject, "otolith.%s.@status", sender->world);
    const int length = snprintf(text, sizeof text,
                                "{\"sent\": %" PRIu64 ", \"dropped\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"resent\": %" PRIu64
                                ", \"reconnects\": %" PRIu64 ", \"queue_bytes\": %zu, \"queue_most_bytes\": %zu}",
                                sent.sent, now.dropped, now.lost, now.resent, now.reconnects, queued.bytes, queued.most_bytes);
    (void)nats_queue_put(sender->queue, subject, text, (size_t)length);
}

static void report_end(struct sender *sender)
{
    struct nats_link_counts sent;
    struct nats_queue_counts queued;
    const struct report now = make_report(sender, &sent, &queued);
    print_changes(&sender->bridge.program, &now, &sender->reported);
    srv_program_print(&sender->bridge.program,
                      "%" PRIu64 " frames sent, %" PRIu64 " dropped, %" PRIu64 " sent again after a break, %" PRIu64
                      " records lost in the rings, %" PRIu64 " reconnects, at most %zu bytes queued",
                      sent.sent, now.dropped, now.resent, now.lost, now.reconnects, queued.most_bytes);
}

/* ---- running ---- */

static void pass(void *context)
{
    struct sender *sender = context;
    sender->hurry = srv_feed_pass(sender->feed);
}

static void wait_for_more(void *context)
{
    struct sender *sender = context;
    (void)srv_program_wait(&sender->bridge.program, -1, sender->hurry ? 0 : sender->options.coalesce_ns);
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
    struct sender *sender = state->input;
    struct options *options = &sender->options;
    switch (key) {
    case 'w': sender->bridge.world = value; return 0;
    case KEY_ONLY: srv_program_add(state, "--only", options->only, &options->only_count, MOST_PATTERNS, value); return 0;
    case KEY_FORMAT:
        options->format = strcmp(value, "packed") == 0 ? SRV_FEED_PACKED : SRV_FEED_MAP;
        if (options->format == SRV_FEED_MAP && strcmp(value, "map") != 0) {
            argp_error(state, "--format %s: map or packed is accepted", value);
        }
        return 0;
    case KEY_COALESCE: options->coalesce_ns = srv_program_number(state, "--coalesce", value, 1, 1000) * 1000000; return 0;
    case KEY_QUEUE: options->queue_mib = (uint64_t)srv_program_number(state, "--queue", value, 1, MOST_MIB); return 0;
    case KEY_WAIT: sender->bridge.wait_s = srv_program_number(state, "--wait", value, 0, BRIDGE_MOST_WAIT_S); return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", value); return 0;
    case ARGP_KEY_END: require(state, options); return 0;
    default: return parse_link(key, value, &options->link);
    }
}

static enum oto_status open_sender(struct sender *sender, struct oto_error *error)
{
    enum oto_status status = bridge_attach(&sender->bridge, error);
    sender->queue = nats_queue_create((size_t)sender->options.queue_mib << 20);
    if (status == OTO_OK && sender->queue == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for the queue");
    }
    if (status == OTO_OK) {
        status = nats_link_open(&sender->options.link, sender->queue, &sender->link, error);
    }
    return status == OTO_OK ? open_feed(sender, error) : status;
}

int main(int argc, char **argv)
{
    struct sender sender = {.bridge = {.program.name = "otolith-nats", .wait_s = 10, .context = &sender, .open = open_feed, .pass = pass, .wait = wait_for_more, .report = report},
                            .options = {.link = {.servers = "nats://127.0.0.1:4222"}, .coalesce_ns = 5000000, .queue_mib = 64},
                            .reported = {.is_connected = true}};
    const struct argp argp = {option_table, parse, NULL, doc, NULL, NULL, NULL};
    struct oto_error error = {0};
    srv_program_options(&argp, "otolith-nats " OTO_VERSION_STRING, argc, argv, &sender);
    if (!srv_program_begin(&sender.bridge.program)) {
        return EXIT_FAILURE;
    }
    enum oto_status status = open_sender(&sender, &error);
    if (status == OTO_OK) {
        status = bridge_run(&sender.bridge, &error);
    }
    if (status != OTO_OK) {
        srv_program_print(&sender.bridge.program, "%s", error.text);
    }
    const bool is_drained = sender.link == NULL || nats_link_drain(sender.link, DRAIN_MS);
    if (sender.link != NULL) {
        report_end(&sender);
    }
    if (!is_drained) { /* the sending thread may wait for a server that does not read */
        srv_program_print(&sender.bridge.program, "the server did not take all frames within %d ms", DRAIN_MS);
        _exit(EXIT_FAILURE);
    }
    const int exit_code = status == OTO_OK ? EXIT_SUCCESS : EXIT_FAILURE;
    if (!nats_link_close(sender.link)) {
        _exit(exit_code);
    }
    nats_queue_destroy(sender.queue);
    srv_feed_destroy(sender.feed);
    oto_client_close(sender.bridge.client);
    free(sender.routes);
    return exit_code;
}
