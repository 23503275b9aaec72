/*
 * otolith-publisher: reads the segment of a world as any client does, and sends its channels over nng. otolithd starts
 * and restarts it. A failure here cannot affect the simulation (A1, A5).
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "otolith/client.h"
#include "program/program.h"
#include "publish/datagram.h"
#include "publish/feed.h"
#include "publish/queue_depth.h"
#include "publish/socket.h"

#define LISTEN_MAX 8
#define DESCRIPTORS_MAX 4096 /* requested limit: high enough to detect a leak before no descriptor is left */
#define QUEUE_MIN 64
#define ALIVE_PERIOD_NS 200000000
#define REPORT_PERIOD_NS 1000000000
#define WAIT_TICK_MS 20
#define DRAIN_MS 50
#define CLOSE_LIMIT_S 1

enum { EXIT_LEAK = 3 };
enum { KEY_COALESCE = 1000, KEY_FORMAT, KEY_ONLY, KEY_PARENT };

struct options {
    const char *socket_path;
    const char *listen[LISTEN_MAX];
    uint32_t listen_count;
    int64_t coalesce_ns;
    enum srv_feed_format format;
    const char *only; /* "": all topics */
};

struct publisher {
    struct srv_program program;
    struct options options;
    struct oto_client *client;
    struct srv_pub *pub;
    struct srv_datagram datagram; /* targets of the format plotjuggler */
    struct srv_feed *feed;
    int64_t next_alive_ns, next_report_ns, next_count_ns;
    uint32_t descriptors; /* number of open descriptors at the start */
    uint32_t descriptor_limit; /* limit of open descriptors at the start */
    bool leaks;
};

static const struct argp_option option_table[] = {
    {"socket", 's', "PATH", 0, "the world's control socket", 0},
    {"listen", 'l', "URL", 0, "ipc://PATH or tcp://ADDRESS:PORT, with the format plotjuggler udp://ADDRESS:PORT; at most 8 times", 0},
    {"coalesce-ns", KEY_COALESCE, "NS", 0, "time whose samples share a frame; 0: a frame for each tick", 0},
    {"format", KEY_FORMAT, "map|packed|plotjuggler", 0, "encoding of samples", 0},
    {"only", KEY_ONLY, "PATTERNS", 0, "send the topics that match, for example 'car_00*/imu,truck/*'", 0},
    {"parent", KEY_PARENT, "PID", 0, "pid of the parent: end when it ends", 0},
    {0}};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct publisher *publisher = state->input;
    struct options *options = &publisher->options;
    switch (key) {
    case 's':
        options->socket_path = value;
        return 0;
    case 'l':
        srv_program_add(state, "--listen", options->listen, &options->listen_count, LISTEN_MAX, value);
        return 0;
    case KEY_COALESCE:
        options->coalesce_ns = srv_program_number(state, "--coalesce-ns", value, 0, 1000000000);
        return 0;
    case KEY_FORMAT:
        options->format = strcmp(value, "packed") == 0        ? SRV_FEED_PACKED
                          : strcmp(value, "plotjuggler") == 0 ? SRV_FEED_PLOTJUGGLER
                                                              : SRV_FEED_MAP;
        if (options->format == SRV_FEED_MAP && strcmp(value, "map") != 0) {
            argp_error(state, "--format %s: map, packed or plotjuggler is accepted", value);
        }
        return 0;
    case KEY_ONLY:
        options->only = value;
        return 0;
    case KEY_PARENT:
        publisher->program.parent = (pid_t)srv_program_number(state, "--parent", value, 1, INT32_MAX);
        return 0;
    case ARGP_KEY_END:
        if (options->socket_path == NULL || options->listen_count == 0) {
            argp_error(state, "--socket and at least one --listen are needed");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- reports to the server --------------------------------------------------------------------------------------- */

static void report_event(void *context, const char *sentence)
{
    const struct publisher *publisher = context;
    srv_program_event(&publisher->program, sentence);
}

/* The supervisor takes silence as a hang in nng. */
static void report_alive(struct publisher *publisher, int64_t now)
{
    if (publisher->program.parent != 0 && now >= publisher->next_report_ns) {
        publisher->next_report_ns = now + REPORT_PERIOD_NS;
        srv_program_report("alive");
    }
}

/* ---- descriptors: connections that are closed at once make nng 1.5.2 keep theirs for ever ------------------------ */

static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS_MAX) {
        limit.rlim_cur = limit.rlim_max < DESCRIPTORS_MAX ? limit.rlim_max : DESCRIPTORS_MAX;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static uint32_t descriptor_limit(void)
{
    struct rlimit limit = {.rlim_cur = DESCRIPTORS_MAX};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur < DESCRIPTORS_MAX ? (uint32_t)limit.rlim_cur : DESCRIPTORS_MAX;
}

/* Returns the number of open descriptors; if no descriptor is free for the count, returns the limit. */
static uint32_t count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint32_t count = 0;
    if (folder == NULL) {
        return errno == EMFILE ? descriptor_limit() : 0;
    }
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

/*
 * True if more than a quarter of the descriptor limit is open without a known use: then a new process replaces this one before
 * the descriptors run out. The limit is that of the start: with a limit that is lowered later, connections that nng is about
 * to close would look like a leak.
 */
static bool leaks_descriptors(struct publisher *publisher, int64_t now)
{
    if (now < publisher->next_count_ns) {
        return false;
    }
    publisher->next_count_ns = now + REPORT_PERIOD_NS;
    const uint32_t known = publisher->descriptors + srv_pub_subscribers(publisher->pub), open = count_descriptors();
    publisher->leaks = open > known && open - known > publisher->descriptor_limit / 4;
    return publisher->leaks;
}

/*
 * ---- start and end -------------------------------------------------------------------------------------------------
 */

static void sink(void *context, const void *data, size_t bytes)
{
    struct publisher *publisher = context;
    if (publisher->options.format == SRV_FEED_PLOTJUGGLER) {
        srv_datagram_send(&publisher->datagram, data, bytes);
    } else {
        srv_pub_send(publisher->pub, data, bytes);
    }
    report_alive(publisher, srv_now_ns()); /* a pass over 10 000 vehicles takes seconds on a busy machine */
}

/* The queue holds the frames of one second, so that a subscriber may be busy that long before frames are dropped. */
static uint32_t queue_depth(const struct publisher *publisher)
{
    const double passes_hz = publisher->options.coalesce_ns > 0 ? 1e9 / (double)publisher->options.coalesce_ns : 1e9;
    double frames_hz = 0.0;
    for (uint32_t i = 0; i < oto_client_channel_count(publisher->client); i++) {
        const struct oto_channel *channel = oto_client_channel(publisher->client, i);
        const double rate_hz = channel->rate_num > 0 ? (double)channel->rate_num / (double)channel->rate_den : 10.0;
        frames_hz += rate_hz < passes_hz ? rate_hz : passes_hz;
    }
    return frames_hz < QUEUE_MIN ? QUEUE_MIN : frames_hz > SRV_QUEUE_DEPTH_MAX ? SRV_QUEUE_DEPTH_MAX : (uint32_t)frames_hz;
}

/* PlotJuggler listens, and the publisher sends. */
static enum oto_status open_target(struct publisher *publisher, uint32_t index, struct oto_error *error)
{
    const char *url = publisher->options.listen[index];
    if (publisher->options.format != SRV_FEED_PLOTJUGGLER) {
        return srv_pub_listen(publisher->pub, url, error);
    }
    const enum oto_status status = srv_datagram_open(&publisher->datagram, url, error);
    if (status == OTO_OK) {
        srv_program_report_endpoint(NULL, index, url);
    }
    return status;
}

static enum oto_status open_socket(struct publisher *publisher, struct oto_error *error)
{
    const struct srv_pub_options options = {
        .queue_depth = queue_depth(publisher),
        .context = publisher,
        .endpoint = srv_program_report_endpoint,
        .closed = srv_program_report_closed,
        .event = report_event,
    };
    enum oto_status status = srv_pub_open(&options, &publisher->pub, error);
    for (uint32_t i = 0; i < publisher->options.listen_count && status == OTO_OK; i++) {
        status = open_target(publisher, i, error);
    }
    return status;
}

static enum oto_status open_publisher(struct publisher *publisher, struct oto_error *error)
{
    const struct oto_client_options options = {
        .size = sizeof options, .socket_path = publisher->options.socket_path, .name = publisher->program.name, .role = "observe"};
    enum oto_status status = oto_client_open(&options, &publisher->client, error);
    if (status == OTO_OK) {
        status = open_socket(publisher, error);
    }
    if (status == OTO_OK) {
        status = srv_feed_create(publisher->client, publisher->options.format, publisher->options.only, sink, publisher,
                                 &publisher->feed, error);
    }
    if (status == OTO_OK && srv_feed_topic_count(publisher->feed) == 0) {
        char sentence[320];
        (void)snprintf(sentence, sizeof sentence, "no topic matches '%.240s': nothing is published", publisher->options.only);
        report_event(publisher, sentence);
    }
    return status;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool world_is_open(struct publisher *publisher, int64_t now)
{
    if (now < publisher->next_alive_ns) {
        return true;
    }
    publisher->next_alive_ns = now + ALIVE_PERIOD_NS;
    const uint32_t state = __atomic_load_n(&oto_client_header(publisher->client)->state, __ATOMIC_ACQUIRE);
    return state != OTO_SERVER_CLOSING && oto_client_server_alive(publisher->client);
}

/* Sleeps for the coalescing time, or waits for the tick after the last one sent. */
static void wait_for_more(struct publisher *publisher, uint64_t seen_tick, int64_t *due_ns)
{
    if (publisher->options.coalesce_ns > 0) {
        *due_ns += publisher->options.coalesce_ns;
        if (*due_ns < srv_now_ns()) {
            *due_ns = srv_now_ns();
        }
        (void)srv_program_wait(&publisher->program, -1, *due_ns - srv_now_ns());
        return;
    }
    if (oto_client_wait_tick(publisher->client, seen_tick, WAIT_TICK_MS) == OTO_CLOSED) {
        (void)srv_program_wait(&publisher->program, -1, WAIT_TICK_MS * 1000000);
    }
}

/* Datagrams are sent without knowledge of the listeners. */
static bool has_subscribers(const struct publisher *publisher)
{
    return publisher->options.format == SRV_FEED_PLOTJUGGLER || srv_pub_subscribers(publisher->pub) > 0;
}

static void run(struct publisher *publisher)
{
    int64_t due_ns = srv_now_ns();
    for (;;) {
        struct oto_clock clock = {.tick = 0};
        (void)oto_client_clock(publisher->client, &clock);
        const bool hurry = srv_feed_serve(publisher->feed, srv_now_ns(), has_subscribers(publisher), srv_pub_take_connected(publisher->pub));
        const int64_t now = srv_now_ns();
        srv_pub_supervise(publisher->pub, now);
        report_alive(publisher, now);
        if (!world_is_open(publisher, now) || srv_program_must_end(&publisher->program) || leaks_descriptors(publisher, now)) {
            break;
        }
        if (!hurry) {
            wait_for_more(publisher, clock.tick, &due_ns);
        }
    }
    if (has_subscribers(publisher) && srv_feed_pass(publisher->feed)) {
        (void)srv_feed_pass(publisher->feed);
    }
    (void)srv_program_wait(&publisher->program, -1, DRAIN_MS * 1000000); /* time for nng to send its queue */
}

/* nng's close can hang; SIGALRM, which is not caught, then ends the process. */
static void close_publisher(struct publisher *publisher)
{
    (void)alarm(CLOSE_LIMIT_S);
    srv_pub_close(publisher->pub);
    srv_datagram_close(&publisher->datagram);
    srv_feed_destroy(publisher->feed);
    oto_client_close(publisher->client);
}

int main(int argc, char **argv)
{
    struct publisher publisher = {.program.name = "otolith-publisher", .options = {.coalesce_ns = 5000000, .only = ""}};
    const struct argp argp = {option_table, parse_option, NULL, "Publishes a world over nng; started by otolithd.",
                              NULL, NULL, NULL};
    srv_program_options(&argp, NULL, argc, argv, &publisher);
    if (!srv_program_begin(&publisher.program)) {
        return EXIT_FAILURE;
    }
    raise_limit();
    struct oto_error error = {0};
    const enum oto_status status = open_publisher(&publisher, &error);
    if (status == OTO_OK) {
        publisher.descriptors = count_descriptors();
        publisher.descriptor_limit = descriptor_limit();
        run(&publisher);
    } else {
        srv_program_print(&publisher.program, "%s", error.text);
    }
    if (publisher.leaks) { /* the end of nng would wait for the connections that it leaked */
        report_event(&publisher, "the publisher restarts: connections that were closed at once left its descriptors open");
        _exit(EXIT_LEAK);
    }
    close_publisher(&publisher);
    _exit(status == OTO_OK ? EXIT_SUCCESS : status == OTO_INVALID ? SRV_EXIT_USAGE : EXIT_FAILURE);
}
