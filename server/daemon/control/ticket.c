#include "daemon/control/request.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

/* The event of a mutation: who asked for what, and what came of it. */
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

static void answer(struct srv_ticket *ticket, enum oto_status status, uint64_t tick, const char *text,
                   const struct srv_ticket_number *numbers, uint32_t count, int passed_fd)
{
    unsigned char data[4096];
    struct oto_message_writer writer;
    oto_message_begin(&writer, data, sizeof data, ticket->id, "reply");
    oto_message_add_u64(&writer, "status", (uint64_t)status);
    oto_message_add_u64(&writer, "tick", tick);
    oto_message_add_text(&writer, "text", text);
    for (uint32_t i = 0; i < count; i++) {
        oto_message_add_u64(&writer, numbers[i].key, numbers[i].value);
    }
    srv_connection_send(ticket->connection, data, oto_message_finish(&writer), passed_fd);
    record(ticket, status, tick, text);
    srv_connection_release(ticket->connection);
    free(ticket);
}

void srv_ticket_close(struct srv_ticket *ticket, enum oto_status status, uint64_t tick, const char *text)
{
    answer(ticket, status, tick, text, NULL, 0, -1);
}

void srv_ticket_close_with(struct srv_ticket *ticket, enum oto_status status, uint64_t tick, const char *text,
                           const struct srv_ticket_number *numbers, uint32_t count)
{
    answer(ticket, status, tick, text, numbers, count, -1);
}

void srv_ticket_close_passing(struct srv_ticket *ticket, uint64_t tick, uint64_t bytes, int passed_fd)
{
    const struct srv_ticket_number numbers[] = {{"bytes", bytes}};
    answer(ticket, OTO_OK, tick, "", numbers, passed_fd >= 0 ? 1 : 0, passed_fd);
}
