/* The verbs that the main loop answers without the tick thread; the table of all verbs is libotolith/wire/control_verbs.c. */
#include "daemon/control/request.h"

#include <stdlib.h>
#include <string.h>

/* Keeps printable characters only: the name is printed in events and on terminals. */
static void take_name(struct srv_connection *connection, const char *name)
{
    size_t length = 0;
    for (; *name != 0 && length + 1 < sizeof connection->name; name++) {
        connection->name[length++] = *name > ' ' && *name < 0x7f ? *name : '_';
    }
    connection->name[length] = 0;
    if (length == 0) {
        (void)snprintf(connection->name, sizeof connection->name, "client");
    }
}

/* A client may ask for a lower role than its own, never for a higher one. */
static enum oto_status lower_role(struct srv_connection *connection, const struct oto_message *message,
                                  struct oto_error *error)
{
    const char *asked = oto_message_text_or(message, "role", NULL);
    if (asked == NULL) {
        return OTO_OK;
    }
    const enum srv_role role = srv_role_named(asked);
    if (role == SRV_ROLE_NONE) {
        return oto_fail(error, OTO_INVALID, "attach: 'role' must be observe, operate or admin, not %.40s", asked);
    }
    if (role > connection->rights.most) {
        return oto_fail(error, OTO_DENIED, "attach: the role %s was asked for, and this user has the role %s",
                        srv_role_text(role), srv_role_text(connection->rights.most));
    }
    srv_rights_lower(&connection->rights, role);
    return OTO_OK;
}

/*
 * The gate sends `attach` with `remote`, the common name of a certificate, for a client on another machine. The connection
 * then has the rights of the certificate, and cannot change this later.
 */
static enum oto_status take_remote(struct srv_request *request, struct oto_error *error)
{
    struct srv_connection *connection = request->connection;
    const char *name = oto_message_text_or(request->message, "remote", NULL);
    if (name == NULL) {
        return OTO_OK;
    }
    const struct srv_rights rights = srv_rights_of_certificate(srv_control_get_hooks(request->control)->access, name);
    if (connection->rights.role != SRV_ROLE_ADMIN || rights.role == SRV_ROLE_NONE) {
        return oto_fail(error, OTO_DENIED, "attach: the certificate '%.96s' has no role, or this user is not the gate's", name);
    }
    connection->remote = true;
    connection->rights = rights;
    return OTO_OK;
}

/* Accepted once for each connection, because each reply holds a descriptor in flight until the client reads it. */
void srv_verb_attach(struct srv_request *request)
{
    struct oto_error error = {0};
    if (request->connection->attached) {
        srv_reply_text(request, OTO_EXISTS, "this connection is attached already");
        return;
    }
    if (take_remote(request, &error) != OTO_OK || lower_role(request->connection, request->message, &error) != OTO_OK) {
        srv_reply_error(request, &error);
        return;
    }
    request->connection->attached = true;
    take_name(request->connection, oto_message_text_or(request->message, "name", ""));
    const struct oto_segment_header *header = srv_engine_segment(request->engine);
    struct oto_message_writer writer;
    srv_reply_begin(request, &writer, OTO_OK, "");
    oto_message_add_text(&writer, "world", header->world);
    oto_message_add_u64(&writer, "bytes", header->segment_bytes);
    oto_message_add_u64(&writer, "epoch", header->epoch);
    oto_message_add_text(&writer, "role", srv_role_text(request->connection->rights.role));
    oto_message_add_u64(&writer, "rate_num", header->rate_num);
    oto_message_add_u64(&writer, "rate_den", header->rate_den);
    srv_reply_send(request, &writer, request->connection->remote ? -1 : srv_engine_segment_fd(request->engine));
}

void srv_verb_wake(struct srv_request *request)
{
    srv_control_set_wake(request->connection, oto_message_flag(request->message, "on"));
    srv_reply_text(request, OTO_OK, "");
}

void srv_verb_info(struct srv_request *request)
{
    char text[4000];
    const struct srv_control_hooks *hooks = srv_control_get_hooks(request->control);
    if (hooks->info(hooks->context, text, sizeof text)) {
        srv_reply_text(request, OTO_OK, text);
    } else {
        srv_reply_text(request, OTO_LIMIT, "the server's facts are too long for a message");
    }
}

void srv_verb_shutdown(struct srv_request *request)
{
    struct srv_pending_request *pending = srv_pending_request_open(request, "shutdown");
    if (pending == NULL) {
        return;
    }
    char who[64];
    srv_connection_who(request->connection, who, sizeof who);
    struct oto_clock clock = {0};
    (void)oto_segment_clock(srv_engine_segment(request->engine), &clock);
    const struct srv_control_hooks *hooks = srv_control_get_hooks(request->control);
    hooks->shutdown(hooks->context, who); /* before the reply: the client may start the next server at once, which waits for this one */
    srv_pending_request_finish(pending, OTO_OK, clock.tick, "the run ends");
}

/* ---- lossless readers -------------------------------------------------------------------------------------------- */

static void end_lossless(struct srv_request *request)
{
    struct srv_lossless *lossless = &request->connection->lossless;
    if (lossless->slot >= 0) {
        srv_engine_lossless_end(request->engine, lossless->slot);
    }
    free(lossless->channels);
    free(lossless->next);
    *lossless = (struct srv_lossless){.slot = -1};
}

/* Adds channels to those of a reader; its cursor in each channel is after the newest record. */
static bool take_channels(struct srv_lossless *lossless, const struct oto_argument *list,
                          const struct oto_segment_header *header)
{
    const size_t total = (size_t)lossless->count + list->count;
    uint32_t *channels = realloc(lossless->channels, total * sizeof *channels);
    lossless->channels = channels != NULL ? channels : lossless->channels;
    uint64_t *next = realloc(lossless->next, total * sizeof *next);
    lossless->next = next != NULL ? next : lossless->next;
    if (channels == NULL || next == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < list->count; i++, lossless->count++) {
        channels[lossless->count] = (uint32_t)list->u64_list[i];
        const unsigned char *entry = (const unsigned char *)header + header->directory_offset +
                                     (size_t)list->u64_list[i] * header->channel_stride;
        const struct oto_ring_view view = oto_ring_view_make(header, (const void *)entry);
        next[lossless->count] = oto_ring_newest(&view) + 1;
    }
    return true;
}

/* The index of the first channel of a request: a list that is too long for one comes in parts. */
static uint64_t first_of(const struct srv_request *request)
{
    const struct oto_argument *first = oto_message_find(request->message, "first");
    return first != NULL ? first->u64 : 0;
}

/* Adds the channels of a further part. Replies if that fails. */
static bool extend_lossless(struct srv_request *request, const struct oto_argument *list, const struct oto_segment_header *header)
{
    struct srv_lossless *lossless = &request->connection->lossless;
    const uint32_t before = lossless->count;
    if (lossless->slot < 0 || first_of(request) != before || list->count > header->channel_count - before) {
        srv_reply_text(request, OTO_INVALID, "lossless: 'first' is the number of the channels before this part");
        return false;
    }
    if (!take_channels(lossless, list, header) ||
        !srv_engine_lossless_extend(request->engine, lossless->slot, lossless->channels + before, list->count)) {
        end_lossless(request);
        srv_reply_text(request, OTO_NO_MEMORY, "the server is out of memory");
        return false;
    }
    return true;
}

static const struct oto_argument *channel_list(struct srv_request *request, const struct oto_segment_header *header,
                                               struct oto_error *error)
{
    const struct oto_argument *list = oto_message_find(request->message, "channels");
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->u64_list[i] >= header->channel_count) {
            (void)oto_fail(error, OTO_RANGE, "lossless: there is no channel %llu, the world has %u",
                           (unsigned long long)list->u64_list[i], header->channel_count);
            return NULL;
        }
    }
    return list;
}

void srv_verb_lossless(struct srv_request *request)
{
    struct oto_error error = {0};
    const struct oto_segment_header *header = srv_engine_segment(request->engine);
    const struct oto_argument *list = channel_list(request, header, &error);
    if (list == NULL) {
        srv_reply_error(request, &error);
        return;
    }
    struct srv_lossless *lossless = &request->connection->lossless;
    if (first_of(request) > 0) {
        if (extend_lossless(request, list, header)) {
            srv_reply_text(request, OTO_OK, "");
        }
        return;
    }
    end_lossless(request);
    if (list->count == 0) {
        srv_reply_text(request, OTO_OK, "");
        return;
    }
    if (!take_channels(lossless, list, header)) {
        end_lossless(request);
        srv_reply_text(request, OTO_NO_MEMORY, "the server is out of memory");
        return;
    }
    lossless->slot = srv_engine_lossless_begin(request->engine, lossless->channels, lossless->count);
    if (lossless->slot < 0) {
        end_lossless(request);
        srv_reply_text(request, OTO_LIMIT, "all places of lossless readers are taken: end one, or read without it");
        return;
    }
    struct oto_message_writer writer;
    srv_reply_begin(request, &writer, OTO_OK, "");
    oto_message_add_u64(&writer, "slot", (uint64_t)lossless->slot);
    srv_reply_send(request, &writer, -1);
}

/* This request gets no reply, also when it is invalid. */
void srv_verb_acknowledge(struct srv_request *request)
{
    struct srv_lossless *lossless = &request->connection->lossless;
    const struct oto_argument *list = oto_message_find(request->message, "next");
    const uint64_t first = first_of(request);
    if (lossless->slot < 0 || first > lossless->count || list->count > lossless->count - first) {
        return;
    }
    memcpy(lossless->next + first, list->u64_list, list->count * sizeof *lossless->next);
    srv_engine_lossless_acknowledge(request->engine, lossless->slot, (uint32_t)first, lossless->next + first, list->count);
}
