#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "otolith/client.h"
#include "wire/ros.h"

enum { DEPTH = 10, WAIT_MS = 100, MOST_RATE_HZ = 250 };
#define PERIOD_NS (1000000000 / MOST_RATE_HZ)

struct ros2_clock {
    struct ros2_node *node;
    struct oto_client *client;
    int32_t writer;
    pthread_t thread;
    bool is_started;
    atomic_bool ends;
    struct oto_buffer message;
};

/* A message is sent if this reading has changed: another time, or another state at the same time. */
struct reading {
    int64_t t_ns;
    uint64_t epoch;
    uint32_t state;
};

static struct reading read_clock(const struct oto_client *client, uint64_t *tick)
{
    const struct oto_segment_header *header = oto_client_header(client);
    struct oto_clock clock = {0};
    (void)oto_client_clock(client, &clock);
    *tick = clock.tick;
    return (struct reading){.t_ns = clock.sim_time_ns, .epoch = header->epoch, .state = __atomic_load_n(&header->state, __ATOMIC_ACQUIRE)};
}

static void send(struct ros2_clock *clock, int64_t t_ns)
{
    const struct oto_sample_head head = {.t_ns = t_ns};
    if (oto_ros_view_encode(OTO_ROS_CLOCK, NULL, "", &head, NULL, &clock->message) == OTO_OK) {
        (void)ros2_write(clock->writer, clock->message.data, clock->message.bytes);
    }
}

/* Waits a period after a message. Of the changes in this period only the newest is sent. */
static void wait_period(void)
{
    const struct timespec period = {.tv_nsec = PERIOD_NS};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &period, NULL);
}

static void *run(void *context)
{
    struct ros2_clock *clock = context;
    struct reading sent = {.t_ns = -1};
    struct oto_error error;
    while (!atomic_load(&clock->ends)) {
        uint64_t tick;
        const struct reading now = read_clock(clock->client, &tick);
        if (now.t_ns != sent.t_ns || now.state != sent.state || now.epoch != sent.epoch) {
            send(clock, now.t_ns);
            sent = now;
            wait_period();
        } else if (oto_client_run_is_over(clock->client)) {
            (void)oto_client_reattach(clock->client, WAIT_MS, &error);
        } else {
            (void)oto_client_wait_tick(clock->client, tick, WAIT_MS);
        }
    }
    return NULL;
}

static enum oto_status open_topic(struct ros2_clock *clock, struct oto_error *error)
{
    const struct ros2_type type = {oto_ros_view_name(OTO_ROS_CLOCK), oto_ros_view_definition(OTO_ROS_CLOCK)};
    ros2_node_begin(clock->node);
    const enum oto_status status = ros2_node_declare(clock->node, ROS2_PUBLISHER, "/clock", &type, DEPTH, false, &clock->writer, error);
    return status == OTO_OK ? ros2_node_end(clock->node, error) : status;
}

enum oto_status ros2_clock_start(const struct ros2_node_options *node, const char *world, struct ros2_clock **out, struct oto_error *error)
{
    const struct oto_client_options options = {.size = sizeof options, .world = world, .name = "otolith-ros2 clock", .role = "observe"};
    struct ros2_clock *clock = calloc(1, sizeof *clock);
    *out = clock;
    if (clock == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the clock");
    }
    enum oto_status status = oto_client_open(&options, &clock->client, error);
    status = status == OTO_OK ? ros2_node_open(node, &clock->node, error) : status;
    status = status == OTO_OK ? open_topic(clock, error) : status;
    if (status == OTO_OK) {
        clock->is_started = pthread_create(&clock->thread, NULL, run, clock) == 0;
        status = clock->is_started ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "the thread of the clock does not start");
    }
    return status;
}

void ros2_clock_stop(struct ros2_clock *clock)
{
    if (clock == NULL) {
        return;
    }
    atomic_store(&clock->ends, true);
    if (clock->is_started) {
        (void)pthread_join(clock->thread, NULL);
    }
    ros2_node_close(clock->node);
    oto_client_close(clock->client);
    oto_buffer_free(&clock->message);
    free(clock);
}
