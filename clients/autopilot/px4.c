/*
 * otolith-px4: the simulator that PX4's SITL expects on TCP port 4560. Each sample of the first IMU is one step: its HIL_SENSOR sets
 * PX4's clock, and HIL_ACTUATOR_CONTROLS is the answer.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "document/document.h"
#include "lockstep.h"
#include "otolith/version.h"
#include "px4_link.h"
#include "px4_messages.h"

enum { MOST_IMUS = 4, MOST_WAIT_S = 1000000, MOST_ANSWER_MS = 600000, LOCKSTEP = 1 };
#define IDLE_NS INT64_C(200000000)
#define HEARTBEAT_NS INT64_C(1000000000)
#define STATE_INTERVAL_NS INT64_C(20000000) /* interval of HIL_STATE_QUATERNION until PX4 requests another one */

struct options {
    const char *world, *participant, *listen, *imus[MOST_IMUS];
    uint32_t imu_count;
    int64_t wait_s, answer_ns;
    bool hitl;
};

struct imu {
    struct oto_reader reader;
    struct oto_imu_record record;
    int64_t t_ns, sent_ns; /* times of the newest sample and of the newest message */
};

struct bridge {
    struct options options;
    struct srv_program program;
    struct lockstep lockstep;
    struct px4_link link;
    struct imu imus[MOST_IMUS];
    uint32_t imu_count;
    struct oto_reader mag, pressure, navsat, truth; /* channel NULL: the vehicle has none */
    struct px4_place origin;
    bool answers, waits;   /* answers: PX4 has sent controls; waits: PX4 reports that it runs in lockstep */
    bool asked;            /* PX4 has not answered the newest sample yet */
    int64_t state_interval_ns, state_due_ns, heartbeat_due_ns; /* simulated */
    int64_t pace_ns;       /* before the first answer: real time of the next step */
    uint64_t steps, unanswered, repeated;
    uint64_t lost; /* samples of IMU 0 that were overwritten unread: without lockstep only */
};

/* ---- the world ---- */

static enum oto_status find_imus(struct bridge *bridge, struct oto_error *error)
{
    const struct options *options = &bridge->options;
    bridge->imu_count = options->imu_count > 0 ? options->imu_count : 1;
    for (uint32_t i = 0; i < bridge->imu_count; i++) {
        const struct oto_channel *channel = lockstep_channel(&bridge->lockstep, options->imus[i], &oto_imu_type, error);
        if (channel == NULL) {
            return options->imu_count > 0 ? error->status
                                          : oto_fail(error, OTO_NOT_FOUND, "vehicle '%s' has no IMU: PX4 needs one", bridge->lockstep.vehicle);
        }
        bridge->imus[i] = (struct imu){.reader = {.channel = channel}, .sent_ns = -1};
    }
    return OTO_OK;
}

static enum oto_status read_origin(struct bridge *bridge, struct oto_error *error)
{
    static const char *const keys[] = {"latitude_rad", "longitude_rad", "altitude_m"};
    double *const numbers[] = {&bridge->origin.latitude_rad, &bridge->origin.longitude_rad, &bridge->origin.altitude_m};
    struct oto_reply reply;
    struct oto_document *document = NULL;
    enum oto_status status = oto_control_info(bridge->lockstep.client, &reply, error);
    if (status == OTO_OK) {
        status = oto_document_parse("info", reply.text, strlen(reply.text), NULL, &document, error);
    }
    const struct oto_value *origin = status == OTO_OK ? oto_value_get(oto_document_root(document), "origin") : NULL;
    for (int i = 0; i < 3 && status == OTO_OK; i++) {
        const struct oto_value *number = origin != NULL ? oto_value_get(origin, keys[i]) : NULL;
        status = number != NULL ? oto_value_f64(number, numbers[i], error)
                                : oto_fail(error, OTO_VERSION, "the server does not report the world's origin");
    }
    oto_document_close(document);
    return status;
}

static enum oto_status find_channels(struct bridge *bridge, struct oto_error *error)
{
    enum oto_status status = find_imus(bridge, error);
    if (status == OTO_OK) {
        status = read_origin(bridge, error);
    }
    bridge->mag = (struct oto_reader){.channel = lockstep_channel(&bridge->lockstep, NULL, &oto_mag_type, error)};
    bridge->pressure = (struct oto_reader){.channel = lockstep_channel(&bridge->lockstep, NULL, &oto_pressure_type, error)};
    bridge->navsat = (struct oto_reader){.channel = lockstep_channel(&bridge->lockstep, NULL, &oto_navsat_type, error)};
    bridge->truth = (struct oto_reader){.channel = lockstep_channel(&bridge->lockstep, NULL, &oto_truth_type, error)};
    if (status == OTO_OK) {
        srv_program_print(&bridge->program, "vehicle '%s' of world '%s', %" PRIu32 " IMU%s, magnetometer %s, barometer %s, receiver %s; %s",
                    bridge->lockstep.vehicle, bridge->lockstep.world_name, bridge->imu_count, bridge->imu_count > 1 ? "s" : "",
                    bridge->mag.channel != NULL ? "yes" : "no", bridge->pressure.channel != NULL ? "yes" : "no",
                    bridge->navsat.channel != NULL ? "yes" : "no",
                    lockstep_drives(&bridge->lockstep) ? "lockstep: the world waits for the autopilot" : "no lockstep: the world runs by itself");
    }
    return status;
}

static void start_reading(struct oto_reader *reader)
{
    if (reader->channel != NULL) {
        *reader = oto_reader_make(reader->channel, OTO_READ_FROM_NOW);
    }
}

/* The newest unread record of a channel. False: there is none. */
static bool take_newest(struct oto_reader *reader, void *record, int64_t *t_ns)
{
    struct oto_sample_head head;
    bool is_new = false;
    while (reader->channel != NULL && oto_reader_next(reader, &head, record, reader->channel->type.bytes) == OTO_OK) {
        *t_ns = head.t_ns;
        is_new = true;
    }
    return is_new;
}

/* ---- messages ---- */

static void send_sensor(struct bridge *bridge, uint32_t id, const struct oto_mag_record *mag, const struct oto_pressure_record *pressure)
{
    struct imu *imu = &bridge->imus[id];
    struct mavlink_message message;
    if (imu->t_ns / 1000 <= imu->sent_ns / 1000 && imu->sent_ns >= 0) { /* PX4 refuses two samples with one time */
        bridge->repeated++;
        return;
    }
    imu->sent_ns = imu->t_ns;
    const struct px4_sensor sensor = {.t_ns = imu->t_ns, .id = (uint8_t)id, .imu = &imu->record, .mag = mag, .pressure = pressure};
    px4_hil_sensor(&sensor, &message);
    px4_link_send(&bridge->link, &message);
}

static void send_state(struct bridge *bridge, int64_t t_ns)
{
    struct oto_truth_record truth;
    struct mavlink_message message;
    int64_t truth_ns = t_ns;
    const bool is_new = take_newest(&bridge->truth, &truth, &truth_ns);
    if (is_new && !bridge->options.hitl && bridge->state_interval_ns > 0 && t_ns >= bridge->state_due_ns) {
        bridge->state_due_ns = t_ns + bridge->state_interval_ns;
        px4_hil_state(truth_ns, &truth, &bridge->imus[0].record.linear_acceleration_m_s2, &bridge->origin, &message);
        px4_link_send(&bridge->link, &message);
    }
}

static void send_heartbeat(struct bridge *bridge, int64_t t_ns)
{
    struct mavlink_message message;
    if (t_ns >= bridge->heartbeat_due_ns) {
        bridge->heartbeat_due_ns = t_ns + HEARTBEAT_NS;
        px4_heartbeat(&message);
        px4_link_send(&bridge->link, &message);
    }
}

static void send_fix(struct bridge *bridge)
{
    struct oto_navsat_record fix;
    struct mavlink_message message;
    int64_t t_ns = 0;
    if (take_newest(&bridge->navsat, &fix, &t_ns)) {
        px4_hil_gps(t_ns, &fix, &message);
        px4_link_send(&bridge->link, &message);
    }
}

/* Sends the messages of a tick. The message of IMU 0 is the last, because it sets PX4's clock. */
static void send_samples(struct bridge *bridge)
{
    struct oto_mag_record mag;
    struct oto_pressure_record pressure;
    struct oto_sample_head head;
    int64_t t_ns = 0;
    struct imu *first = &bridge->imus[0];
    const struct oto_mag_record *new_mag = take_newest(&bridge->mag, &mag, &t_ns) ? &mag : NULL;
    const struct oto_pressure_record *new_pressure = take_newest(&bridge->pressure, &pressure, &t_ns) ? &pressure : NULL;
    while (oto_reader_next(&first->reader, &head, &first->record, sizeof first->record) == OTO_OK) {
        first->t_ns = head.t_ns;
        send_heartbeat(bridge, head.t_ns);
        send_fix(bridge);
        send_state(bridge, head.t_ns);
        for (uint32_t i = 1; i < bridge->imu_count; i++) {
            if (take_newest(&bridge->imus[i].reader, &bridge->imus[i].record, &bridge->imus[i].t_ns)) {
                send_sensor(bridge, i, NULL, NULL);
            }
        }
        send_sensor(bridge, 0, new_mag, new_pressure);
        new_mag = NULL;
        new_pressure = NULL;
        bridge->steps++;
        bridge->asked = true;
    }
    bridge->lost += first->reader.cursor.lost;
    first->reader.cursor.lost = 0;
    px4_link_flush(&bridge->link);
}

static void take_message(struct bridge *bridge, const struct mavlink_message *message)
{
    double controls[PX4_CONTROLS], interval_us;
    uint32_t id;
    if (message->id == MAVLINK_HIL_ACTUATOR_CONTROLS) {
        if (!bridge->answers) {
            srv_program_print(&bridge->program, "first controls of the autopilot after %" PRIu64 " steps", bridge->steps);
        }
        px4_controls(message, controls);
        (void)oto_participant_control(bridge->lockstep.participant, controls, PX4_CONTROLS);
        bridge->answers = true;
        bridge->waits = (mavlink_u64(message, 8) & LOCKSTEP) != 0;
        bridge->asked = false;
    } else if (message->id == MAVLINK_COMMAND_LONG && px4_message_interval(message, &id, &interval_us) && id == MAVLINK_HIL_STATE_QUATERNION) {
        bridge->state_interval_ns = interval_us < 0.0 ? 0 : interval_us == 0.0 ? STATE_INTERVAL_NS : (int64_t)(interval_us * 1000.0);
    }
}

/* ---- steps ---- */

static void take_messages_until(struct bridge *bridge, int64_t until_ns, bool only_answer)
{
    struct mavlink_message message;
    int64_t left_ns = until_ns - srv_now_ns();
    do {
        if (px4_link_receive(&bridge->link, &bridge->program, left_ns, &message)) {
            take_message(bridge, &message);
        }
        left_ns = until_ns - srv_now_ns();
    } while (px4_link_is_up(&bridge->link) && !bridge->program.is_ending && left_ns > 0 && !(only_answer && !bridge->asked));
}

static void take_waiting_messages(struct bridge *bridge)
{
    struct mavlink_message message;
    while (px4_link_receive(&bridge->link, &bridge->program, 0, &message)) {
        take_message(bridge, &message);
    }
}

/*
 * Waits for the answer after a step. PX4 answers each sample as soon as it has outputs. Before that, and without lockstep, the
 * steps follow real time. After a timeout the missing answer is counted and the next step is made, so that neither side is stuck.
 */
static void wait_for_answer(struct bridge *bridge, int64_t step_ns)
{
    const int64_t now_ns = srv_now_ns();
    if (!lockstep_drives(&bridge->lockstep)) {
        take_waiting_messages(bridge);
        return;
    }
    if (!bridge->answers || !bridge->waits || bridge->options.hitl) {
        bridge->pace_ns = bridge->pace_ns + step_ns < now_ns ? now_ns : bridge->pace_ns + step_ns;
        take_messages_until(bridge, bridge->pace_ns, false);
        return;
    }
    take_messages_until(bridge, now_ns + bridge->options.answer_ns, true);
    if (bridge->asked && px4_link_is_up(&bridge->link) && !bridge->program.is_ending) {
        if (bridge->unanswered++ == 0) {
            srv_program_print(&bridge->program, "no answer within %" PRId64 " ms; the world goes on without it (counted, reported at the end)",
                        bridge->options.answer_ns / 1000000);
        }
    }
}

static enum oto_status step(struct bridge *bridge, struct oto_error *error)
{
    const struct oto_channel *first = bridge->imus[0].reader.channel;
    const uint64_t now = lockstep_tick(&bridge->lockstep);
    const uint64_t n = 1 + lockstep_events_by(&bridge->lockstep, now, first->rate_num, first->rate_den);
    take_waiting_messages(bridge);
    if (!px4_link_is_up(&bridge->link)) {
        return OTO_OK;
    }
    const enum oto_status status =
        lockstep_run(&bridge->lockstep, &bridge->program, lockstep_tick_of(&bridge->lockstep, n, first->rate_num, first->rate_den), error);
    if (status == OTO_OK) {
        send_samples(bridge);
        wait_for_answer(bridge, (int64_t)(1e9 * (double)first->rate_den / (double)first->rate_num));
    }
    return status == OTO_TIMEOUT ? OTO_OK : status; /* OTO_TIMEOUT: the program must end */
}

static void begin_autopilot(struct bridge *bridge)
{
    srv_program_print(&bridge->program, "autopilot connected");
    bridge->answers = bridge->waits = bridge->asked = false;
    bridge->state_interval_ns = STATE_INTERVAL_NS;
    bridge->state_due_ns = bridge->heartbeat_due_ns = INT64_MIN;
    bridge->pace_ns = srv_now_ns();
    for (uint32_t i = 0; i < bridge->imu_count; i++) {
        start_reading(&bridge->imus[i].reader);
        bridge->imus[i].sent_ns = -1;
    }
    start_reading(&bridge->mag);
    start_reading(&bridge->pressure);
    start_reading(&bridge->navsat);
    start_reading(&bridge->truth);
}

/* Called after the end of a run. The next run starts at time zero and PX4's clock cannot go back, so the connection is closed. */
static enum oto_status follow(struct bridge *bridge, bool *more, struct oto_error *error)
{
    srv_program_print(&bridge->program, "the world ended; waiting %" PRId64 " s for its next run%s", bridge->options.wait_s,
                px4_link_is_up(&bridge->link) ? ", the autopilot is disconnected" : "");
    px4_link_disconnect(&bridge->link);
    const enum oto_status status = lockstep_follow(&bridge->lockstep, &bridge->program, bridge->options.wait_s, error);
    *more = status == OTO_OK;
    if (status == OTO_OK) {
        return find_channels(bridge, error);
    }
    return status == OTO_CLOSED || status == OTO_TIMEOUT ? OTO_OK : status;
}

static enum oto_status run(struct bridge *bridge, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    bool more = true;
    while (more && status == OTO_OK && !bridge->program.is_ending) {
        const bool was_up = px4_link_is_up(&bridge->link);
        if (was_up) {
            status = step(bridge, error);
        } else if (px4_link_accept(&bridge->link, &bridge->program, IDLE_NS)) {
            begin_autopilot(bridge);
        }
        if (was_up && !px4_link_is_up(&bridge->link)) {
            srv_program_print(&bridge->program, "the autopilot left; waiting for another");
        }
        if (status == OTO_CLOSED || (status == OTO_OK && oto_client_run_is_over(bridge->lockstep.client))) {
            status = follow(bridge, &more, error);
        }
    }
    return status;
}

static void report_end(const struct bridge *bridge)
{
    srv_program_print(&bridge->program, "%" PRIu64 " steps, %" PRIu64 " not answered in time, %" PRIu64 " messages sent, %" PRIu64 " dropped, %" PRIu64
                " samples lost in the ring, %" PRIu64 " not sent because their time was known, %" PRIu64 " damaged frames, %" PRIu64 " connections",
                bridge->steps, bridge->unanswered, bridge->link.sent, bridge->link.dropped, bridge->lost, bridge->repeated, bridge->link.in.damaged,
                bridge->link.connections);
}

/* ---- the command line ---- */

enum { KEY_IMU = 1000, KEY_LISTEN, KEY_HITL, KEY_WAIT, KEY_ANSWER };

static const struct argp_option option_table[] = {
    {"world", 'w', "NAME", 0, "name of the world (default: $OTOLITH_WORLD, else the only running world)", 0},
    {"participant", 'p', "NAME", 0, "participant of the world file that controls the vehicle (default: autopilot)", 0},
    {"imu", KEY_IMU, "NODE", 0, "IMU of the vehicle; repeated: IMU 0, 1, ... of PX4, at most 4 (default: the vehicle's first)", 0},
    {"listen", KEY_LISTEN, "[ADDRESS:]PORT", 0, "TCP address for the autopilot (default: 127.0.0.1:4560)", 0},
    {"hitl", KEY_HITL, NULL, 0, "the autopilot is real hardware: no HIL_STATE_QUATERNION, no waiting for answers", 0},
    {"answer-timeout", KEY_ANSWER, "MS", 0, "real time to wait for the controls after a sample; then the world goes on (default: 1000)", 0},
    {"wait", KEY_WAIT, "SECONDS", 0, "time to wait for the next run of the world after one has ended (default: 10)", 0},
    {0}};

static const char doc[] =
    "Lets PX4's SITL fly a vehicle of a running world, as the simulator that it connects to.\v"
    "In a world of clock mode external the world makes one sample of IMU 0 and waits for the autopilot's controls (lockstep); until the first "
    "controls it runs at the pace of real time. In other modes the world runs by itself.\n\n"
    "Exit codes: 0 the world ended, or SIGINT or SIGTERM; 1 an error; 2 an error in the command line.";

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'w': options->world = value; return 0;
    case 'p': options->participant = value; return 0;
    case KEY_IMU: srv_program_add(state, "--imu", options->imus, &options->imu_count, MOST_IMUS, value); return 0;
    case KEY_LISTEN: options->listen = value; return 0;
    case KEY_HITL: options->hitl = true; return 0;
    case KEY_ANSWER: options->answer_ns = srv_program_number(state, "--answer-timeout", value, 1, MOST_ANSWER_MS) * 1000000; return 0;
    case KEY_WAIT: options->wait_s = srv_program_number(state, "--wait", value, 0, MOST_WAIT_S); return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", value); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static struct bridge bridge = {.options = {.participant = "autopilot", .listen = "127.0.0.1:4560", .wait_s = 10, .answer_ns = 1000000000},
                                   .link = {.listener = -1, .fd = -1}};
    const struct argp argp = {option_table, parse, NULL, doc, NULL, NULL, NULL};
    struct oto_error error = {0};
    srv_program_options(&argp, "otolith-px4 " OTO_VERSION_STRING, argc, argv, &bridge.options);
    bridge.program.name = "otolith-px4";
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
        status = px4_link_open(&bridge.link, &bridge.program, bridge.options.listen, &error);
    }
    if (status == OTO_OK) {
        status = run(&bridge, &error);
        report_end(&bridge);
    }
    if (status != OTO_OK) {
        srv_program_print(&bridge.program, "%s", error.text);
    }
    px4_link_close(&bridge.link);
    lockstep_leave(&bridge.lockstep);
    return status == OTO_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
