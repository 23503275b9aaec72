#include "drive.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "otolith/participant.h"
#include "twist.h"
#include "wire/cdr.h"
#include "wire/ros_text.h"

enum { DEPTH = 10, WAIT_MS = 100, MOST_COMMAND_BYTES = 1024 };
#define COMMAND_HOLDS_NS INT64_C(500000000)

static const struct ros2_type command_type = {
    "geometry_msgs/msg/TwistStamped",
    "std_msgs/Header header\ngeometry_msgs/Twist twist\n" OTO_ROS_HEADER OTO_ROS_BLOCK_
    "geometry_msgs/Twist\ngeometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular\n" OTO_ROS_VECTOR3};

struct vehicle {
    int32_t commands; /* subscription */
    struct ros2_motion motion;
    struct ros2_twist command;
    int64_t until_ns; /* end of the command in simulated time */
};

struct ros2_drive {
    struct ros2_drive_options options;
    struct ros2_node *node;
    struct oto_participant *participant;
    struct vehicle *vehicles;
    uint32_t count;
    bool has_motion; /* of this run */
    pthread_t thread;
    bool is_started;
    atomic_bool ends;
};

/* ---- commands ---- */

static bool read_command(const void *data, size_t bytes, struct ros2_twist *command)
{
    struct oto_cdr_reader from;
    uint32_t stamp[2], length;
    const char *frame_id;
    double numbers[6];
    if (!oto_cdr_open(&from, data, bytes) || !oto_cdr_get(&from, 4, stamp, sizeof stamp) || !oto_cdr_get_text(&from, &frame_id, &length) ||
        !oto_cdr_get(&from, 8, numbers, sizeof numbers)) {
        return false;
    }
    *command = (struct ros2_twist){numbers[0], numbers[1], numbers[5]};
    return isfinite(command->forward_m_s) && isfinite(command->left_m_s) && isfinite(command->yaw_rate_rad_s);
}

/* Takes the newest command. A command that is too old is replaced by a command to stop. */
static void take_commands(struct vehicle *vehicle, int64_t t_ns)
{
    unsigned char data[MOST_COMMAND_BYTES];
    size_t bytes;
    uint64_t writer;
    while (ros2_take(vehicle->commands, data, sizeof data, &bytes, &writer)) {
        if (read_command(data, bytes, &vehicle->command)) {
            vehicle->until_ns = t_ns + COMMAND_HOLDS_NS;
        }
    }
    if (t_ns >= vehicle->until_ns) {
        vehicle->command = (struct ros2_twist){0};
    }
}

/* ---- a run ---- */

static enum oto_status declare(struct ros2_drive *drive, struct oto_error *error)
{
    const uint32_t count = oto_participant_vehicle_count(drive->participant);
    struct vehicle *vehicles = calloc(count + 1, sizeof *vehicles);
    enum oto_status status = vehicles != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for %u vehicles", count);
    free(drive->vehicles);
    drive->vehicles = vehicles;
    drive->count = count;
    drive->has_motion = false;
    ros2_node_begin(drive->node);
    for (uint32_t i = 0; i < count && status == OTO_OK; i++) {
        char topic[ROS2_NAME_BYTES];
        (void)snprintf(topic, sizeof topic, "%.64s/%.64s/cmd_vel", drive->options.name_space, oto_participant_vehicle(drive->participant, i));
        status = ros2_node_declare(drive->node, ROS2_SUBSCRIPTION, topic, &command_type, DEPTH, false, &vehicles[i].commands, error);
    }
    return status == OTO_OK ? ros2_node_end(drive->node, error) : status;
}

static enum oto_status join(struct ros2_drive *drive, struct oto_error *error)
{
    const struct oto_participant_options options = {
        .size = sizeof options, .world = drive->options.world, .name = drive->options.participant, .role = "physics", .answer_ms = -1};
    oto_participant_leave(drive->participant);
    drive->participant = NULL;
    const enum oto_status status = oto_participant_join(&options, &drive->participant, error);
    return status == OTO_OK ? declare(drive, error) : status;
}

static void answer(struct ros2_drive *drive, const struct oto_grant *grant)
{
    struct oto_truth_record truth;
    for (uint32_t i = 0; i < drive->count; i++) {
        struct vehicle *vehicle = &drive->vehicles[i];
        if (!drive->has_motion) {
            vehicle->motion = ros2_motion_from(oto_participant_truth(drive->participant, i));
        }
        take_commands(vehicle, grant->t_ns);
        ros2_motion_step(&vehicle->motion, &vehicle->command, (double)(grant->until_ns - grant->t_ns) * 1e-9, &truth);
        (void)oto_participant_set(drive->participant, i, &truth, OTO_TRUTH_HAS_ACCEL | OTO_TRUTH_HAS_ANGULAR_ACCEL | OTO_TRUTH_HAS_SPEED);
    }
    drive->has_motion = true;
    (void)oto_participant_done(drive->participant, grant->until);
}

static void wait_for_run(void)
{
    const struct timespec pause = {.tv_nsec = WAIT_MS * 1000000L};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void *run(void *context)
{
    struct ros2_drive *drive = context;
    struct oto_error error;
    struct oto_grant grant;
    while (!atomic_load(&drive->ends)) {
        const enum oto_status status =
            drive->participant != NULL ? oto_participant_wait(drive->participant, WAIT_MS, &grant, &error) : OTO_CLOSED;
        if (status == OTO_OK) {
            answer(drive, &grant);
        } else if (status != OTO_TIMEOUT && join(drive, &error) != OTO_OK) {
            wait_for_run();
        }
    }
    return NULL;
}

/* ---- starting and stopping ---- */

enum oto_status ros2_drive_start(const struct ros2_node_options *node, const struct ros2_drive_options *options, struct ros2_drive **out,
                                 struct oto_error *error)
{
    struct ros2_drive *drive = calloc(1, sizeof *drive);
    *out = drive;
    if (drive == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the drive");
    }
    drive->options = *options;
    enum oto_status status = ros2_node_open(node, &drive->node, error);
    status = status == OTO_OK ? join(drive, error) : status;
    if (status == OTO_OK) {
        drive->is_started = pthread_create(&drive->thread, NULL, run, drive) == 0;
        status = drive->is_started ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "the thread of the drive does not start");
    }
    return status;
}

void ros2_drive_stop(struct ros2_drive *drive)
{
    if (drive == NULL) {
        return;
    }
    atomic_store(&drive->ends, true);
    if (drive->is_started) {
        (void)pthread_join(drive->thread, NULL);
    }
    oto_participant_leave(drive->participant);
    ros2_node_close(drive->node);
    free(drive->vehicles);
    free(drive);
}
