#include "daemon/control/request.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_BYTES 4096

struct srv_ticket *srv_ticket_open(struct srv_request *request, const char *format, ...)
{
    struct srv_connection *connection = request->connection;
    if (connection->in_flight >= SRV_MAX_IN_FLIGHT) {
        srv_reply_text(request, OTO_LIMIT, "16 requests of this client are under way: wait for their replies");
        return NULL;
    }
    struct srv_ticket *ticket = calloc(1, sizeof *ticket);
    if (ticket == NULL) {
        srv_reply_text(request, OTO_NO_MEMORY, "the server is out of memory");
        return NULL;
    }
    ticket->connection = connection;
    ticket->courier = request->courier;
    ticket->id = request->message->id;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(ticket->what, sizeof ticket->what, format, arguments);
    va_end(arguments);
    srv_connection_hold(connection);
    return ticket;
}

/* The event of a change: the client, its request, and the result. */
static void record(const struct srv_ticket *ticket, enum oto_status status, uint64_t tick, const char *text)
{
    char who[64], sentence[152];
    srv_connection_who(ticket->connection, who, sizeof who);
    if (status == OTO_OK) {
        (void)snprintf(sentence, sizeof sentence, "%s", ticket->what);
    } else {
        (void)snprintf(sentence, sizeof sentence, "%.60s: refused: %.80s", ticket->what, text);
    }
    srv_courier_event(ticket->courier, OTO_EVENT_CLIENT, status == OTO_OK ? 0 : 1, (int64_t)tick, who, sentence);
}

struct reply {
    enum oto_status status;
    uint64_t tick;
    const char *text;
    const struct srv_ticket_number *numbers;
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

static void free_ticket(struct srv_ticket *ticket)
{
    srv_connection_release(ticket->connection);
    free(ticket);
}

static void answer(struct srv_ticket *ticket, const struct reply *reply)
{
    unsigned char data[REPLY_BYTES];
    srv_connection_send(ticket->connection, data, encode(ticket->id, reply, data, sizeof data), reply->passed_fd);
    record(ticket, reply->status, reply->tick, reply->text);
    free_ticket(ticket);
}

struct srv_late_reply srv_ticket_postpone(struct srv_ticket *ticket)
{
    const bool waits = !ticket->connection->closed;
    const struct srv_late_reply late = {waits ? fcntl(ticket->connection->fd, F_DUPFD_CLOEXEC, 0) : -1, ticket->id};
    record(ticket, OTO_OK, 0, "");
    free_ticket(ticket);
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

void srv_ticket_close(struct srv_ticket *ticket, enum oto_status status, uint64_t tick, const char *text)
{
    answer(ticket, &(struct reply){status, tick, text, NULL, 0, -1});
}

void srv_ticket_close_with(struct srv_ticket *ticket, enum oto_status status, uint64_t tick, const char *text,
                           const struct srv_ticket_number *numbers, uint32_t count)
{
    answer(ticket, &(struct reply){status, tick, text, numbers, count, -1});
}

void srv_ticket_close_passing(struct srv_ticket *ticket, uint64_t tick, uint64_t bytes, int passed_fd)
{
    const struct srv_ticket_number numbers[] = {{"bytes", bytes}};
    answer(ticket, &(struct reply){OTO_OK, tick, "", numbers, passed_fd >= 0 ? 1 : 0, passed_fd});
}
