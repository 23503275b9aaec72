/*
 * otolith-ros2: reads the segment of a world as any client does, and publishes its channels as ROS 2 topics over DDS. The main thread
 * reads the rings and writes; /clock and the services have threads of their own.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "drive.h"
#include "services.h"
#include "topics.h"
#include "otolith/version.h"

enum { EXIT_BAD_USAGE = 2, MOST_DOMAIN = 232, MOST_WAIT_S = 1000000, TICK_WAIT_MS = 100 };
enum { GID_BYTES = 16, HUMBLE_GID_BYTES = 24 };
#define REPORT_EVERY_NS INT64_C(1000000000)

struct options {
    const char *world, *name_space, *drive;
    struct ros2_topics_options topics;
    int64_t domain, wait_s; /* domain -1: that of ROS_DOMAIN_ID */
    bool is_humble, has_services;
};

struct bridge {
    struct options options;
    struct oto_client *client;
    char world[OTO_WORLD_NAME_BYTES];
    struct ros2_node *node;
    struct ros2_topics *topics;
    struct ros2_clock *clock;
    struct ros2_services *services;
    struct ros2_drive *drive;
    int signal_fd;
    int64_t report_due_ns;
    struct ros2_topics_counts reported;
};

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- reports ---- */

static void report(struct bridge *bridge)
{
    struct ros2_topics_counts now;
    const struct ros2_topics_counts *before = &bridge->reported;
    ros2_topics_count(bridge->topics, &now);
    if (now.dropped > before->dropped) {
        (void)fprintf(stderr, "otolith-ros2: a reader does not acknowledge: %" PRIu64 " messages dropped, %" PRIu64 " in all\n",
                      now.dropped - before->dropped, now.dropped);
    }
    if (now.lost > before->lost) {
        (void)fprintf(stderr, "otolith-ros2: %" PRIu64 " records lost in the rings, %" PRIu64 " in all\n", now.lost - before->lost, now.lost);
    }
    if (now.out_of_range > before->out_of_range) {
        (void)fprintf(stderr, "otolith-ros2: %" PRIu64 " records with a time beyond the 32 bits of a ROS stamp, not sent\n",
                      now.out_of_range - before->out_of_range);
    }
    bridge->reported = now;
}

static void report_end(struct bridge *bridge)
{
    report(bridge);
    (void)fprintf(stderr, "otolith-ros2: %" PRIu64 " messages sent, %" PRIu64 " dropped, %" PRIu64 " records lost in the rings\n",
                  bridge->reported.sent, bridge->reported.dropped, bridge->reported.lost);
}

/* ---- running ---- */

static bool is_told_to_end(const struct bridge *bridge)
{
    struct signalfd_siginfo facts;
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
        if (status != OTO_OK && is_told_to_end(bridge)) {
            return OTO_OK;
        }
    }
    if (status != OTO_OK) {
        return OTO_OK;
    }
    *more = true;
    (void)fprintf(stderr, "otolith-ros2: world '%s' restarted\n", oto_client_header(bridge->client)->world);
    return ros2_topics_open(bridge->topics, bridge->client, error);
}

static uint64_t tick_of(const struct oto_client *client)
{
    struct oto_clock clock = {0};
    (void)oto_client_clock(client, &clock);
    return clock.tick;
}

static enum oto_status run(struct bridge *bridge, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    bool more = true;
    while (status == OTO_OK && more) {
        const bool is_over = oto_client_run_is_over(bridge->client); /* read before the pass, so that the last pass is complete */
        const uint64_t tick = tick_of(bridge->client);
        ros2_topics_pass(bridge->topics);
        if (now_ns() >= bridge->report_due_ns) {
            bridge->report_due_ns = now_ns() + REPORT_EVERY_NS;
            report(bridge);
        }
        if (is_told_to_end(bridge)) {
            more = false;
        } else if (is_over) {
            status = follow(bridge, &more, error);
        } else {
            (void)oto_client_wait_tick(bridge->client, tick, TICK_WAIT_MS);
        }
    }
    return status;
}

/* ---- the command line ---- */

enum { KEY_ONLY = 1000, KEY_WAIT, KEY_HUMBLE, KEY_DRIVE, KEY_CONTROL };

static const struct argp_option option_table[] = {
    {"world", 'w', "NAME", 0, "name of the world (default: $OTOLITH_WORLD, else the only running world)", 0},
    {"domain", 'd', "ID", 0, "DDS domain, 0 to 232 (default: $ROS_DOMAIN_ID, else 0)", 0},
    {"namespace", 'n', "NAME", 0, "namespace of the topics and services, as /sim (default: none); /clock, /tf and /tf_static have none", 0},
    {"only", KEY_ONLY, "PATTERN", 0, "topics that are sent, with shell wildcards: /car/imu, /car*/*; may be repeated (default: all)", 0},
    {"control", KEY_CONTROL, NULL, 0, "serve /otolith/pause, /otolith/step and /otolith/set to everybody in the DDS domain", 0},
    {"drive", KEY_DRIVE, "PARTICIPANT", 0, "drive the vehicles of this participant of the world file by /VEHICLE/cmd_vel (TwistStamped)", 0},
    {"wait", KEY_WAIT, "SECONDS", 0, "time to wait for the next run of the world after one has ended (default: 10)", 0},
    {"humble", KEY_HUMBLE, NULL, 0, "discovery messages as of ROS 2 Humble (default: Iron and later)", 0},
    {0}};

static const char doc[] =
    "Publishes the sensors of a running world as ROS 2 topics, without ROS: /VEHICLE/NODE as sensor_msgs or nav_msgs where there is such a "
    "message, other records as otolith_msgs, /tf and /clock.\v"
    "The transport is Cyclone DDS, with the names, QoS, type hashes and discovery messages of rmw_cyclonedds_cpp; its configuration is "
    "$CYCLONEDDS_URI. `otolith export ros2-msgs` writes the package otolith_msgs.\n\n"
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

/* As ROS accepts it: "/sim" or "/a/b", of letters, digits and "_", no part beginning with a digit. */
static bool is_namespace(const char *text)
{
    bool good = text[0] == '/' && strlen(text) <= 64;
    for (const char *c = text; good && *c != '\0'; c++) {
        const bool begins = c > text && c[-1] == '/';
        good = *c == '/' ? !begins && c[1] != '\0' : strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", *c) != NULL;
        good = good && !(begins && *c >= '0' && *c <= '9');
    }
    return good;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'w': options->world = value; return 0;
    case 'd': options->domain = number_of(state, "--domain", value, 0, MOST_DOMAIN); return 0;
    case 'n':
        if (!is_namespace(value)) {
            argp_error(state, "--namespace %s: a name as /sim is accepted", value);
        }
        options->name_space = value;
        return 0;
    case KEY_ONLY:
        if (options->topics.only_count == ROS2_MOST_PATTERNS) {
            argp_error(state, "--only at most %d times", ROS2_MOST_PATTERNS);
        }
        options->topics.only[options->topics.only_count++] = value;
        return 0;
    case KEY_WAIT: options->wait_s = number_of(state, "--wait", value, 0, MOST_WAIT_S); return 0;
    case KEY_CONTROL: options->has_services = true; return 0;
    case KEY_DRIVE: options->drive = value; return 0;
    case KEY_HUMBLE: options->is_humble = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", value); return 0;
    case ARGP_KEY_END:
        if (options->domain < 0) {
            const char *of_ros = getenv("ROS_DOMAIN_ID");
            options->domain = of_ros != NULL && *of_ros != '\0' ? number_of(state, "ROS_DOMAIN_ID", of_ros, 0, MOST_DOMAIN) : 0;
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Signals are read from a descriptor. They are blocked before Cyclone starts its threads, which inherit the mask. */
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
    const struct options *options = &bridge->options;
    const struct oto_client_options client = {.size = sizeof client, .world = options->world, .name = "otolith-ros2", .role = "observe"};
    struct ros2_node_options node = {.domain = (uint32_t)options->domain,
                                     .name_space = options->name_space[0] != '\0' ? options->name_space : "/",
                                     .name = "otolith",
                                     .gid_bytes = options->is_humble ? HUMBLE_GID_BYTES : GID_BYTES};
    enum oto_status status = oto_client_open(&client, &bridge->client, error);
    if (status != OTO_OK) {
        return status;
    }
    const char *world = bridge->world;
    (void)snprintf(bridge->world, sizeof bridge->world, "%s", oto_client_header(bridge->client)->world);
    status = ros2_node_open(&node, &bridge->node, error);
    bridge->topics = ros2_topics_create(&options->topics, bridge->node);
    if (status == OTO_OK && bridge->topics == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for the topics");
    }
    if (status == OTO_OK) {
        status = ros2_topics_open(bridge->topics, bridge->client, error);
    }
    if (status == OTO_OK) {
        node.name = "otolith_clock";
        status = ros2_clock_start(&node, world, &bridge->clock, error);
    }
    if (status == OTO_OK && options->has_services) {
        node.name = "otolith_control";
        status = ros2_services_start(&node, options->name_space, world, &bridge->services, error);
    }
    if (status == OTO_OK && options->drive != NULL) {
        const struct ros2_drive_options drive = {.world = world, .participant = options->drive, .name_space = options->name_space};
        node.name = "otolith_drive";
        status = ros2_drive_start(&node, &drive, &bridge->drive, error);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct bridge bridge = {.options = {.name_space = "", .domain = -1, .wait_s = 10}};
    const struct argp argp = {option_table, parse, NULL, doc, NULL, NULL, NULL};
    struct oto_error error = {0};
    argp_program_version = "otolith-ros2 " OTO_VERSION_STRING;
    argp_err_exit_status = EXIT_BAD_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &bridge.options) != 0 || !take_signals(&bridge)) {
        return EXIT_FAILURE;
    }
    bridge.options.topics.name_space = bridge.options.name_space;
    enum oto_status status = open_bridge(&bridge, &error);
    if (status == OTO_OK) {
        status = run(&bridge, &error);
        report_end(&bridge);
    }
    if (status != OTO_OK) {
        (void)fprintf(stderr, "otolith-ros2: %s\n", error.text);
    }
    ros2_drive_stop(bridge.drive);
    ros2_services_stop(bridge.services);
    ros2_clock_stop(bridge.clock);
    ros2_topics_destroy(bridge.topics);
    ros2_node_close(bridge.node);
    oto_client_close(bridge.client);
    return status == OTO_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
