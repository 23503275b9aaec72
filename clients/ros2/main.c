/*
 * otolith-ros2: reads the segment of a world as any client does, and publishes its channels as ROS 2 topics over DDS. The main thread
 * reads the rings and writes; /clock and the services have threads of their own.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/bridge.h"
#include "clock.h"
#include "drive.h"
#include "services.h"
#include "topics.h"
#include "otolith/version.h"

enum { MOST_DOMAIN = 232, TICK_WAIT_MS = 100 };
enum { GID_BYTES = 16, HUMBLE_GID_BYTES = 24 };

struct options {
    const char *name_space, *drive;
    struct ros2_topics_options topics;
    int64_t domain; /* -1: that of ROS_DOMAIN_ID */
    bool is_humble, has_services;
};

struct sender {
    struct bridge bridge;
    struct options options;
    char world[OTO_WORLD_NAME_BYTES];
    struct ros2_node *node;
    struct ros2_topics *topics;
    struct ros2_clock *clock;
    struct ros2_services *services;
    struct ros2_drive *drive;
    uint64_t tick; /* before the last pass */
    struct ros2_topics_counts reported;
};

/* ---- reports ---- */

static void report(void *context)
{
    struct sender *sender = context;
    struct ros2_topics_counts now;
    const struct srv_program *program = &sender->bridge.program;
    const struct ros2_topics_counts *before = &sender->reported;
    ros2_topics_count(sender->topics, &now);
    if (now.dropped > before->dropped) {
        srv_program_print(program, "a reader does not acknowledge: %" PRIu64 " messages dropped, %" PRIu64 " in all", now.dropped - before->dropped,
                          now.dropped);
    }
    if (now.resent_bytes > before->resent_bytes) {
        srv_program_print(program, "a reader missed messages: %" PRIu64 " bytes sent again; older ones are lost to it",
                          now.resent_bytes - before->resent_bytes);
    }
    if (now.lost > before->lost) {
        srv_program_print(program, "%" PRIu64 " records lost in the rings, %" PRIu64 " in all", now.lost - before->lost, now.lost);
    }
    if (now.out_of_range > before->out_of_range) {
        srv_program_print(program, "%" PRIu64 " records with a time beyond the 32 bits of a ROS stamp, not sent", now.out_of_range - before->out_of_range);
    }
    sender->reported = now;
}

static void report_end(struct sender *sender)
{
    report(sender);
    srv_program_print(&sender->bridge.program, "%" PRIu64 " messages sent, %" PRIu64 " dropped, %" PRIu64 " records lost in the rings",
                      sender->reported.sent, sender->reported.dropped, sender->reported.lost);
}

/* ---- running ---- */

static enum oto_status open_run(void *context, struct oto_error *error)
{
    struct sender *sender = context;
    return ros2_topics_open(sender->topics, sender->bridge.client, error);
}

static uint64_t tick_of(const struct oto_client *client)
{
    struct oto_clock clock = {0};
    (void)oto_client_clock(client, &clock);
    return clock.tick;
}

static void pass(void *context)
{
    struct sender *sender = context;
    sender->tick = tick_of(sender->bridge.client);
    ros2_topics_pass(sender->topics);
}

static void wait_for_more(void *context)
{
    struct sender *sender = context;
    (void)oto_client_wait_tick(sender->bridge.client, sender->tick, TICK_WAIT_MS);
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
    struct sender *sender = state->input;
    struct options *options = &sender->options;
    switch (key) {
    case 'w': sender->bridge.world = value; return 0;
    case 'd': options->domain = srv_program_number(state, "--domain", value, 0, MOST_DOMAIN); return 0;
    case 'n':
        if (!is_namespace(value)) {
            argp_error(state, "--namespace %s: a name as /sim is accepted", value);
        }
        options->name_space = value;
        return 0;
    case KEY_ONLY: srv_program_add(state, "--only", options->topics.only, &options->topics.only_count, ROS2_MOST_PATTERNS, value); return 0;
    case KEY_WAIT: sender->bridge.wait_s = srv_program_number(state, "--wait", value, 0, BRIDGE_MOST_WAIT_S); return 0;
    case KEY_CONTROL: options->has_services = true; return 0;
    case KEY_DRIVE: options->drive = value; return 0;
    case KEY_HUMBLE: options->is_humble = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", value); return 0;
    case ARGP_KEY_END:
        if (options->domain < 0) {
            const char *of_ros = getenv("ROS_DOMAIN_ID");
            options->domain = of_ros != NULL && *of_ros != '\0' ? srv_program_number(state, "ROS_DOMAIN_ID", of_ros, 0, MOST_DOMAIN) : 0;
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static enum oto_status open_sender(struct sender *sender, struct oto_error *error)
{
    const struct options *options = &sender->options;
    struct ros2_node_options node = {.domain = (uint32_t)options->domain,
                                     .name_space = options->name_space[0] != '\0' ? options->name_space : "/",
                                     .name = "otolith",
                                     .gid_bytes = options->is_humble ? HUMBLE_GID_BYTES : GID_BYTES};
    enum oto_status status = bridge_attach(&sender->bridge, error);
    if (status != OTO_OK) {
        return status;
    }
    const char *world = sender->world;
    (void)snprintf(sender->world, sizeof sender->world, "%s", oto_client_header(sender->bridge.client)->world);
    status = ros2_node_open(&node, &sender->node, error);
    sender->topics = ros2_topics_create(&options->topics, sender->node);
    if (status == OTO_OK && sender->topics == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for the topics");
    }
    if (status == OTO_OK) {
        status = ros2_topics_open(sender->topics, sender->bridge.client, error);
    }
    if (status == OTO_OK) {
        node.name = "otolith_clock";
        status = ros2_clock_start(&node, world, &sender->clock, error);
    }
    if (status == OTO_OK && options->has_services) {
        node.name = "otolith_control";
        status = ros2_services_start(&node, options->name_space, world, &sender->services, error);
    }
    if (status == OTO_OK && options->drive != NULL) {
        const struct ros2_drive_options drive = {.world = world, .participant = options->drive, .name_space = options->name_space};
        node.name = "otolith_drive";
        status = ros2_drive_start(&node, &drive, &sender->drive, error);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct sender sender = {
        .bridge = {.program.name = "otolith-ros2", .wait_s = 10, .context = &sender, .open = open_run, .pass = pass, .wait = wait_for_more, .report = report},
        .options = {.name_space = "", .domain = -1}};
    const struct argp argp = {option_table, parse, NULL, doc, NULL, NULL, NULL};
    struct oto_error error = {0};
    srv_program_options(&argp, "otolith-ros2 " OTO_VERSION_STRING, argc, argv, &sender);
    if (!srv_program_begin(&sender.bridge.program)) {
        return EXIT_FAILURE;
    }
    sender.options.topics.name_space = sender.options.name_space;
    enum oto_status status = open_sender(&sender, &error);
    if (status == OTO_OK) {
        status = bridge_run(&sender.bridge, &error);
        report_end(&sender);
    }
    if (status != OTO_OK) {
        srv_program_print(&sender.bridge.program, "%s", error.text);
    }
    ros2_drive_stop(sender.drive);
    ros2_services_stop(sender.services);
    ros2_clock_stop(sender.clock);
    ros2_topics_destroy(sender.topics);
    ros2_node_close(sender.node);
    oto_client_close(sender.bridge.client);
    return status == OTO_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
