/*
 * otolith-ardupilot: the physics backend of ArduPilot's SITL over its JSON interface. Each servo packet gives the vehicle's controls
 * and asks for one step; the reply is the state after it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ardupilot_wire.h"
#include "base/monotonic.h"
#include "frames.h"
#include "listen_address.h"
#include "lockstep.h"
#include "otolith/version.h"

enum { PACKETS_AT_ONCE = 64, MOST_WAIT_S = 1000000 };
#define IDLE_NS INT64_C(200000000) /* longest time until the end of the world is noticed if no packets come */

struct options {
    const char *world, *participant, *imu, *listen;
    int64_t wait_s;
    uint32_t outputs[OTO_CONTROLS], output_count; /* output channel, from 1, of each control */
};

struct bridge {
    struct options options;
    struct srv_program program;
    struct lockstep lockstep;
    int socket;
    struct sockaddr_in peer;
    struct frames frames;
    uint64_t bad_packets, unsent;
    struct oto_reader imu, truth;
    struct ardupilot_state state;
    char line[ARDUPILOT_LINE_BYTES];
    size_t line_bytes;
    uint16_t rate_hz;        /* rate in the last frame */
    uint64_t first_tick, n;  /* n: frames at this rate since first_tick */
};

/* ---- the world ---- */

static enum oto_status find_channels(struct bridge *bridge, struct oto_error *error)
{
    const struct oto_channel *imu = lockstep_channel(&bridge->lockstep, bridge->options.imu, &oto_imu_type, error);
    const struct oto_channel *truth = lockstep_channel(&bridge->lockstep, "motion", &oto_truth_type, error);
    if (imu == NULL || truth == NULL) {
        return bridge->options.imu != NULL ? error->status
                                           : oto_fail(error, OTO_NOT_FOUND, "vehicle '%s' has no IMU: ArduPilot needs one", bridge->lockstep.vehicle);
    }
    bridge->imu = oto_reader_make(imu, OTO_READ_FROM_NOW);
    bridge->truth = oto_reader_make(truth, OTO_READ_FROM_NOW);
    bridge->rate_hz = 0;
    bridge->line_bytes = 0;
    srv_program_print(&bridge->program, "vehicle '%s' of world '%s', IMU '%s'; %s", bridge->lockstep.vehicle, bridge->lockstep.world_name, imu->topic,
                lockstep_drives(&bridge->lockstep) ? "lockstep: the world waits for the autopilot" : "no lockstep: the world runs by itself");
    return OTO_OK;
}

/* Called after the end of a run: joins the next run. *more: joined; false: the program ends. */
static enum oto_status follow(struct bridge *bridge, bool *more, struct oto_error *error)
{
    srv_program_print(&bridge->program, "the world ended; waiting %" PRId64 " s for its next run", bridge->options.wait_s);
    const enum oto_status status = lockstep_follow(&bridge->lockstep, &bridge->program, bridge->options.wait_s, error);
    *more = status == OTO_OK;
    if (status == OTO_OK) {
        return find_channels(bridge, error);
    }
    return status == OTO_CLOSED || status == OTO_TIMEOUT ? OTO_OK : status;
}

/* Takes the newest sample of a channel into `record`, if there is one. */
static void take_newest(struct oto_reader *reader, void *record, struct oto_sample_head *head)
{
    while (oto_reader_next(reader, head, record, reader->channel->type.bytes) == OTO_OK) {
    }
}

static void read_state(struct bridge *bridge)
{
    struct oto_imu_record imu;
    struct oto_sample_head head = {0}, truth_head = {0};
    struct ardupilot_state *state = &bridge->state;
    imu.angular_velocity_rad_s = state->gyro_flu_rad_s;
    imu.linear_acceleration_m_s2 = state->specific_force_flu_m_s2;
    truth_head.t_ns = state->t_ns;
    take_newest(&bridge->imu, &imu, &head);
    take_newest(&bridge->truth, &state->truth, &truth_head);
    state->gyro_flu_rad_s = imu.angular_velocity_rad_s;
    state->specific_force_flu_m_s2 = imu.linear_acceleration_m_s2;
    state->t_ns = truth_head.t_ns;
}

/* ---- frames ---- */

/* The tick at which frame n of the autopilot's rate ends. It does not drift, even if the rates are not multiples. */
static uint64_t tick_of_frame(struct bridge *bridge, uint16_t rate_hz)
{
    const uint64_t now = lockstep_tick(&bridge->lockstep);
    if (rate_hz != bridge->rate_hz) {
        bridge->rate_hz = rate_hz;
        bridge->first_tick = now;
        bridge->n = 0;
    }
    bridge->n++;
    uint64_t tick = bridge->first_tick + lockstep_tick_of(&bridge->lockstep, bridge->n, rate_hz, 1);
    if (tick <= now) { /* a slower base rate, or a world that runs by itself: never the same instant twice */
        tick = now + 1;
        bridge->first_tick = tick;
        bridge->n = 0;
    }
    return tick;
}

static enum oto_status step(struct bridge *bridge, const struct ardupilot_servos *servos, struct oto_error *error)
{
    double controls[OTO_CONTROLS] = {0.0};
    for (uint32_t i = 0; i < bridge->options.output_count; i++) {
        const uint32_t channel = bridge->options.outputs[i];
        controls[i] = channel <= servos->channel_count ? ardupilot_control_of(servos->pwm_us[channel - 1]) : 0.0;
    }
    (void)oto_participant_control(bridge->lockstep.participant, controls, bridge->options.output_count);
    const enum oto_status status =
        lockstep_run(&bridge->lockstep, &bridge->program, tick_of_frame(bridge, servos->frame_rate_hz), error);
    if (status == OTO_OK) {
        read_state(bridge);
        bridge->line_bytes = ardupilot_state_encode(&bridge->state, bridge->line);
    }
    return status;
}

static void reply(struct bridge *bridge)
{
    const ssize_t sent = sendto(bridge->socket, bridge->line, bridge->line_bytes, MSG_DONTWAIT, (const struct sockaddr *)&bridge->peer, sizeof bridge->peer);
    bridge->unsent += sent != (ssize_t)bridge->line_bytes;
}

static enum oto_status take_frame(struct bridge *bridge, const struct ardupilot_servos *servos, const struct sockaddr_in *from,
                                  struct oto_error *error)
{
    const uint64_t peer = (uint64_t)ntohl(from->sin_addr.s_addr) << 16 | ntohs(from->sin_port);
    const bool is_first = !bridge->frames.has_frame;
    const enum frame_kind kind = frames_take(&bridge->frames, peer, servos->frame_count, srv_now_ns());
    enum oto_status status = OTO_OK;
    if (kind == FRAME_LATE) {
        return OTO_OK;
    }
    if (is_first || kind == FRAME_RESTARTED) {
        srv_program_print(&bridge->program, "autopilot %s at port %u: %u channels, %u frames a second", is_first ? "found" : "restarted",
                    ntohs(from->sin_port), servos->channel_count, servos->frame_rate_hz);
    }
    bridge->peer = *from;
    if (kind != FRAME_RESENT || bridge->line_bytes == 0) {
        status = step(bridge, servos, error);
    }
    if (status == OTO_OK) {
        reply(bridge);
    }
    bridge->frames.last_ns = srv_now_ns(); /* a step may take long; packets that waited during it do not count as silence */
    return status;
}

static enum oto_status take_packets(struct bridge *bridge, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (int i = 0; i < PACKETS_AT_ONCE && status == OTO_OK; i++) {
        unsigned char packet[ARDUPILOT_PACKET_BYTES + 1];
        struct ardupilot_servos servos;
        struct sockaddr_in from = {0};
        socklen_t bytes = sizeof from;
        const ssize_t got = recvfrom(bridge->socket, packet, sizeof packet, MSG_DONTWAIT, (struct sockaddr *)&from, &bytes);
        if (got < 0) {
            return OTO_OK;
        }
        if (ardupilot_servos_decode(packet, (size_t)got, &servos)) {
            status = take_frame(bridge, &servos, &from, error);
        } else {
            bridge->bad_packets++;
        }
    }
    return status;
}

static enum oto_status run(struct bridge *bridge, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    bool more = true;
    while (more && status == OTO_OK && !bridge->program.is_ending) {
        if (srv_program_wait(&bridge->program, bridge->socket, IDLE_NS)) {
            status = take_packets(bridge, error);
        }
        if (status == OTO_CLOSED || (status == OTO_OK && oto_client_run_is_over(bridge->lockstep.client))) {
            status = follow(bridge, &more, error);
        }
    }
    return bridge->program.is_ending ? OTO_OK : status;
}

static void report_end(const struct bridge *bridge)
{
    const struct frames *frames = &bridge->frames;
    srv_program_print(&bridge->program, "%" PRIu64 " frames, %" PRIu64 " lost, %" PRIu64 " late, %" PRIu64 " resent, %" PRIu64
                " packets of another format, %" PRIu64 " replies not sent, %" PRIu64 " restarts of the autopilot",
                frames->taken, frames->lost, frames->late, frames->resent, bridge->bad_packets, bridge->unsent, frames->restarts);
}

/* ---- the command line ---- */

enum { KEY_IMU = 1000, KEY_LISTEN, KEY_OUTPUTS, KEY_WAIT };

static const struct argp_option option_table[] = {
    {"world", 'w', "NAME", 0, "name of the world (default: $OTOLITH_WORLD, else the only running world)", 0},
    {"participant", 'p', "NAME", 0, "participant of the world file that controls the vehicle (default: autopilot)", 0},
    {"imu", KEY_IMU, "NODE", 0, "IMU of the vehicle (default: its first)", 0},
    {"listen", KEY_LISTEN, "[ADDRESS:]PORT", 0, "UDP address for the autopilot's packets (default: 127.0.0.1:9002)", 0},
    {"outputs", KEY_OUTPUTS, "N,...", 0, "servo output of each control, in order (default: 1,2,...,16)", 0},
    {"wait", KEY_WAIT, "SECONDS", 0, "time to wait for the next run of the world after one has ended (default: 10)", 0},
    {0}};

static const char doc[] =
    "Lets ArduPilot's SITL (--model JSON:127.0.0.1) fly a vehicle of a running world.\v"
    "In a world of clock mode external each frame of the autopilot is one step of the world (lockstep); in other modes the world runs by "
    "itself. A frame that is repeated gets the same reply and no step; one that was overtaken is ignored. Losses are counted and printed at "
    "the end.\n\n"
    "Exit codes: 0 the world ended, or SIGINT or SIGTERM; 1 an error; 2 an error in the command line.";

static void parse_outputs(const struct argp_state *state, const char *text, struct options *options)
{
    const char *at = text;
    char *end = NULL;
    options->output_count = 0;
    for (bool more = true; more; at = end + 1) {
        const unsigned long channel = strtoul(at, &end, 10);
        if (end == at || channel == 0 || channel > ARDUPILOT_CHANNELS || (*end != ',' && *end != '\0') || options->output_count == OTO_CONTROLS) {
            argp_error(state, "--outputs %s: up to %d numbers from 1 to %d are accepted, as 1,2,3,4", text, OTO_CONTROLS, ARDUPILOT_CHANNELS);
            return;
        }
        options->outputs[options->output_count++] = (uint32_t)channel;
        more = *end == ',';
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'w': options->world = value; return 0;
    case 'p': options->participant = value; return 0;
    case KEY_IMU: options->imu = value; return 0;
    case KEY_LISTEN: options->listen = value; return 0;
    case KEY_OUTPUTS: parse_outputs(state, value, options); return 0;
    case KEY_WAIT: options->wait_s = srv_program_number(state, "--wait", value, 0, MOST_WAIT_S); return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", value); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static enum oto_status open_socket(struct bridge *bridge, struct oto_error *error)
{
    struct sockaddr_in address;
    if (!listen_address(bridge->options.listen, &address)) {
        return oto_fail(error, OTO_INVALID, "--listen %s: an IPv4 address and a port are accepted, as 127.0.0.1:9002", bridge->options.listen);
    }
    bridge->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bridge->socket < 0 || bind(bridge->socket, (const struct sockaddr *)&address, sizeof address) != 0) {
        return oto_fail(error, OTO_IO, "cannot listen on UDP %s (%s)", bridge->options.listen, strerror(errno));
    }
    socklen_t bytes = sizeof address;
    (void)getsockname(bridge->socket, (struct sockaddr *)&address, &bytes);
    srv_program_print(&bridge->program, "listening on UDP port %u", ntohs(address.sin_port));
    return OTO_OK;
}

static void set_defaults(struct bridge *bridge)
{
    bridge->socket = -1;
    bridge->options = (struct options){.participant = "autopilot", .listen = "127.0.0.1:9002", .wait_s = 10, .output_count = OTO_CONTROLS};
    for (uint32_t i = 0; i < OTO_CONTROLS; i++) {
        bridge->options.outputs[i] = i + 1;
    }
}

int main(int argc, char **argv)
{
    static struct bridge bridge;
    const struct argp argp = {option_table, parse, NULL, doc, NULL, NULL, NULL};
    struct oto_error error = {0};
    set_defaults(&bridge);
    srv_program_options(&argp, "otolith-ardupilot " OTO_VERSION_STRING, argc, argv, &bridge.options);
    bridge.program.name = "otolith-ardupilot";
    if (!srv_program_begin(&bridge.program)) {
        return EXIT_FAILURE;
    }
    bridge.lockstep.world = bridge.options.world;
    bridge.lockstep.name = bridge.options.participant;
    enum oto_status status = lockstep_join(&bridge.lockstep, &bridge.program, &error);
    if (status == OTO_OK) {
        status = find_channels(&bridge, &error);
    }
    if (status == OTO_OK) {
        status = open_socket(&bridge, &error);
    }
    if (status == OTO_OK) {
        status = run(&bridge, &error);
        report_end(&bridge);
    }
    if (status != OTO_OK) {
        srv_program_print(&bridge.program, "%s", error.text);
    }
    lockstep_leave(&bridge.lockstep);
    if (bridge.socket >= 0) {
        (void)close(bridge.socket);
    }
    return status == OTO_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
