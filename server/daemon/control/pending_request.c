#include "daemon/control/node_list.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_BYTES 4096

struct srv_pending_request *srv_pending_request_open(struct srv_request *request, const char *format, ...)
{
    struct srv_connection *connection = request->connection;
    if (connection->in_flight >= SRV_MAX_IN_FLIGHT) {
        srv_reply_text(request, OTO_LIMIT, "16 requests of this client are under way: wait for their replies");
        return NULL;
    }
    struct srv_pending_request *pending = calloc(1, sizeof *pending);
    if (pending == NULL) {
        srv_reply_text(request, OTO_NO_MEMORY, "the server is out of memory");
        return NULL;
    }
    pending->connection = connection;
    pending->command_queue = request->command_queue;
    pending->id = request->message->id;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(pending->what, sizeof pending->what, format, arguments);
    va_end(arguments);
    srv_connection_hold(connection);
    return pending;
}

/* Writes the event of a request: the client, the request and the result. */
static void record(const struct srv_pending_request *pending, enum oto_status status, uint64_t tick, const char *text)
{
    char who[64], sentence[152];
    srv_connection_who(pending->connection, who, sizeof who);
    if (status == OTO_OK) {
        (void)snprintf(sentence, sizeof sentence, "%s", pending->what);
    } else {
        (void)snprintf(sentence, sizeof sentence, "%.60s: refused: %.80s", pending->what, text);
    }
    srv_command_queue_event(pending->command_queue, OTO_EVENT_CLIENT, status == OTO_OK ? 0 : 1, (int64_t)tick, who,
                            sentence);
}

struct reply {
    enum oto_status status;
    uint64_t tick;
    const char *text;
    const struct srv_pending_request_number *numbers;
    uint32_t number_count;
    int passed_fd;
};

static size_t encode(uint64_t id, const struct reply *reply, unsigned char *data, size_t bytes)
{
    struct oto_message_writer writer;
    oto_message_begin(&writer, data, bytes, id, "reply");
    oto_message_add_u64(&writer, "status", (uint64_t)reply->status);
    oto_message_add_u64(&writer, "tick", reply->tick);
    oto_message_add_text(&writer, "text", reply->text);
    for (uint32_t i = 0; i < reply->number_count; i++) {
        oto_message_add_u64(&writer, reply->numbers[i].key, reply->numbers[i].value);
    }
    return oto_message_finish(&writer);
}

static void free_pending(struct srv_pending_request *pending)
{
    srv_connection_release(pending->connection);
    free(pending);
}

static void answer(struct srv_pending_request *pending, const struct reply *reply)
{
    unsigned char data[REPLY_BYTES];
    srv_connection_send(pending->connection, data, encode(pending->id, reply, data, sizeof data), reply->passed_fd);
    record(pending, reply->status, reply->tick, reply->text);
    free_pending(pending);
}

struct srv_late_reply srv_pending_request_postpone(struct srv_pending_request *pending)
{
    const bool waits = !pending->connection->closed;
    const struct srv_late_reply late = {.fd = waits ? fcntl(pending->connection->fd, F_DUPFD_CLOEXEC, 0) : -1,
                                        .id = pending->id,
                                        .by_gate = pending->connection->remote};
    record(pending, OTO_OK, 0, "");
    free_pending(pending);
    return late;
}

void srv_late_reply_send(struct srv_late_reply *late, enum oto_status status, uint64_t tick, const char *text)
{
    unsigned char data[REPLY_BYTES];
    const struct reply reply = {.status = status, .tick = tick, .text = text};
    if (late->fd >= 0) {
        (void)send(late->fd, data, encode(late->id, &reply, data, sizeof data), MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)close(late->fd);
        late->fd = -1;
    }
}

void srv_pending_request_finish(struct srv_pending_request *pending, enum oto_status status, uint64_t tick,
                                const char *text)
{
    if (pending->list != NULL) {
        srv_node_list_take(pending->list, pending->node, status, tick, text);
        free(pending);
        return;
    }
    answer(pending, &(struct reply){status, tick, text, NULL, 0, -1});
}

void srv_pending_request_take(void *pending, const struct srv_reply *reply)
{
    srv_pending_request_finish(pending, reply->status, reply->tick, srv_reply_reason(reply));
}

bool srv_pending_request_send(struct srv_pending_request *pending, struct srv_command_queue *command_queue,
                              const struct srv_command *command, srv_reply_function done)
{
    const bool sent = srv_command_queue_send(command_queue, command, done, pending);
    if (!sent) {
        srv_pending_request_finish(pending, OTO_LIMIT, 0, "too many commands are waiting for the tick");
    }
    return sent;
}

void srv_pending_request_finish_with(struct srv_pending_request *pending, enum oto_status status, uint64_t tick,
                                     const char *text, const struct srv_pending_request_number *numbers, uint32_t count)
{
    answer(pending, &(struct reply){status, tick, text, numbers, count, -1});
}

void srv_pending_request_finish_with_fd(struct srv_pending_request *pending, uint64_t tick, uint64_t bytes,
                                        int passed_fd)
{
    const struct srv_pending_request_number numbers[] = {{"bytes", bytes}};
    answer(pending, &(struct reply){OTO_OK, tick, "", numbers, passed_fd >= 0 ? 1 : 0, passed_fd});
}
