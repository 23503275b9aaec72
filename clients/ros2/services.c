#include "services.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "otolith/client.h"
#include "wire/cdr.h"
#include "wire/ros_service.h"

enum { DEPTH = 10, WAIT_MS = 100, MOST_REQUEST_BYTES = 8192, MOST_TEXT_BYTES = 1024, REPLY_WAIT_MS = 100, REPLY_POLL_MS = 5 };
enum { SERVICES = 3 };

struct request {
    uint64_t client;
    int64_t number;
};

struct ros2_services {
    struct ros2_node *node;
    struct oto_client *client;
    int32_t requests[SERVICES], replies[SERVICES];
    pthread_t thread;
    bool is_started;
    atomic_bool ends;
    struct oto_buffer message;
};

/* ---- services: each reads its request and controls the world ---- */

typedef enum oto_status handler(struct oto_client *client, struct oto_cdr_reader *from, struct oto_reply *reply, struct oto_error *error);

static enum oto_status fail_request(struct oto_error *error)
{
    return oto_fail(error, OTO_CORRUPT, "the request is not a message of this service");
}

static enum oto_status handle_pause(struct oto_client *client, struct oto_cdr_reader *from, struct oto_reply *reply, struct oto_error *error)
{
    uint8_t pauses = 0;
    if (!oto_cdr_get(from, 1, &pauses, sizeof pauses)) {
        return fail_request(error);
    }
    return pauses != 0 ? oto_control_pause(client, reply, error) : oto_control_resume(client, reply, error);
}

static enum oto_status handle_step(struct oto_client *client, struct oto_cdr_reader *from, struct oto_reply *reply, struct oto_error *error)
{
    uint64_t ticks = 0;
    return oto_cdr_get(from, 8, &ticks, sizeof ticks) ? oto_control_step(client, ticks, reply, error) : fail_request(error);
}

static enum oto_status handle_set(struct oto_client *client, struct oto_cdr_reader *from, struct oto_reply *reply, struct oto_error *error)
{
    const char *texts[3];
    uint32_t length;
    for (int i = 0; i < 3; i++) {
        if (!oto_cdr_get_text(from, &texts[i], &length)) {
            return fail_request(error);
        }
    }
    return oto_control_set(client, texts[0], texts[1], texts[2], reply, error);
}

static const struct {
    const char *name;
    struct ros2_type request, reply;
    handler *handle;
    bool has_tick; /* the reply ends with a tick */
} table[SERVICES] = {
    {"pause", {"std_srvs/srv/SetBool_Request", "bool data\n"}, {"std_srvs/srv/SetBool_Response", "bool success\nstring message\n"}, handle_pause, false},
    {"step", {"otolith_msgs/srv/Step_Request", OTO_ROS_STEP_REQUEST}, {"otolith_msgs/srv/Step_Response", OTO_ROS_CONTROL_REPLY}, handle_step, true},
    {"set", {"otolith_msgs/srv/Set_Request", OTO_ROS_SET_REQUEST}, {"otolith_msgs/srv/Set_Response", OTO_ROS_CONTROL_REPLY}, handle_set, true},
};

/* ---- requests ---- */

static void reply_to(struct ros2_services *services, int service, const struct request *request, enum oto_status status, const char *text, uint64_t tick)
{
    const size_t bytes = strnlen(text, MOST_TEXT_BYTES);
    struct oto_cdr_writer writer;
    if (oto_cdr_begin(&writer, &services->message, bytes + 64) != OTO_OK) {
        return;
    }
    oto_cdr_put(&writer, 8, &request->client, sizeof request->client);
    oto_cdr_put(&writer, 8, &request->number, sizeof request->number);
    oto_cdr_put_u8(&writer, status == OTO_OK);
    oto_cdr_put_text(&writer, text, bytes);
    if (table[service].has_tick) {
        oto_cdr_put(&writer, 8, &tick, sizeof tick);
    }
    (void)ros2_write(services->replies[service], services->message.data, writer.at);
}

/* Waits until the service has found the client's reader; otherwise the reader could miss the reply. */
static void wait_for_client(const struct ros2_services *services, int service, uint64_t writer)
{
    const struct timespec pause = {.tv_nsec = REPLY_POLL_MS * 1000000L};
    for (int i = 0; i < REPLY_WAIT_MS / REPLY_POLL_MS && !ros2_is_reply_read(services->replies[service], services->requests[service], writer); i++) {
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
}

static void serve(struct ros2_services *services, int service, uint64_t writer, const void *data, size_t bytes)
{
    struct oto_cdr_reader from;
    struct request request;
    struct oto_reply reply = {0};
    struct oto_error error = {0};
    if (!oto_cdr_open(&from, data, bytes) || !oto_cdr_get(&from, 8, &request.client, sizeof request.client) ||
        !oto_cdr_get(&from, 8, &request.number, sizeof request.number)) {
        return; /* without the header there is no client to reply to */
    }
    const enum oto_status status = table[service].handle(services->client, &from, &reply, &error);
    wait_for_client(services, service, writer);
    reply_to(services, service, &request, status, status == OTO_OK ? reply.text : error.text, reply.tick);
}

static void *run(void *context)
{
    struct ros2_services *services = context;
    unsigned char data[MOST_REQUEST_BYTES];
    struct oto_error error;
    size_t bytes;
    uint64_t writer;
    while (!atomic_load(&services->ends)) {
        if (oto_client_run_is_over(services->client)) {
            (void)oto_client_reattach(services->client, WAIT_MS, &error);
        } else {
            ros2_node_wait(services->node, WAIT_MS * INT64_C(1000000));
        }
        for (int i = 0; i < SERVICES; i++) {
            while (ros2_take(services->requests[i], data, sizeof data, &bytes, &writer)) {
                serve(services, i, writer, data, bytes);
            }
        }
    }
    return NULL;
}

/* ---- starting and stopping ---- */

static enum oto_status declare(struct ros2_services *services, const char *name_space, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    ros2_node_begin(services->node);
    for (int i = 0; i < SERVICES && status == OTO_OK; i++) {
        char name[ROS2_NAME_BYTES];
        (void)snprintf(name, sizeof name, "%s/otolith/%s", name_space, table[i].name);
        status = ros2_node_declare(services->node, ROS2_REQUESTS, name, &table[i].request, DEPTH, false, &services->requests[i], error);
        status = status == OTO_OK
                     ? ros2_node_declare(services->node, ROS2_REPLIES, name, &table[i].reply, DEPTH, false, &services->replies[i], error)
                     : status;
    }
    return status == OTO_OK ? ros2_node_end(services->node, error) : status;
}

enum oto_status ros2_services_start(const struct ros2_node_options *node, const char *name_space, const char *world, struct ros2_services **out,
                                    struct oto_error *error)
{
    const struct oto_client_options options = {.size = sizeof options, .world = world, .name = "otolith-ros2 services", .role = "operate"};
    struct ros2_services *services = calloc(1, sizeof *services);
    *out = services;
    if (services == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the services");
    }
    enum oto_status status = oto_client_open(&options, &services->client, error);
    status = status == OTO_OK ? ros2_node_open(node, &services->node, error) : status;
    status = status == OTO_OK ? declare(services, name_space, error) : status;
    if (status == OTO_OK) {
        services->is_started = pthread_create(&services->thread, NULL, run, services) == 0;
        status = services->is_started ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "the thread of the services does not start");
    }
    return status;
}

void ros2_services_stop(struct ros2_services *services)
{
    if (services == NULL) {
        return;
    }
    atomic_store(&services->ends, true);
    if (services->is_started) {
        (void)pthread_join(services->thread, NULL);
    }
    ros2_node_close(services->node);
    oto_client_close(services->client);
    oto_buffer_free(&services->message);
    free(services);
}
