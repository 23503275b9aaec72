/* Verb join: a connection becomes a participant and gets its mailbox; the connection's end is its leave. */
#include "daemon/control/request.h"

#include <string.h>

static const struct {
    const char *name;
    uint32_t policy;
} policies[] = {
#define OTO_X(name, text) {text, OTO_TIMEOUT_##name},
    OTO_TIMEOUT_POLICY_TABLE(OTO_X)
#undef OTO_X
};

static enum oto_status read_policy(const struct oto_argument *given, uint32_t *policy, struct oto_error *error)
{
    for (size_t i = 0; given->kind == OTO_ARGUMENT_TEXT && i < sizeof policies / sizeof *policies; i++) {
        if (strcmp(given->text, policies[i].name) == 0) {
            *policy = policies[i].policy;
            return OTO_OK;
        }
    }
    return oto_fail(error, OTO_INVALID, "join: on_timeout '%.32s': wait, hold, drop or fault",
                    given->kind == OTO_ARGUMENT_TEXT ? given->text : "(not a text)");
}

static enum oto_status check_role(const struct srv_participant_config *config, const struct oto_argument *given,
                                  struct oto_error *error)
{
    const char *role = oto_participant_role_text((uint32_t)config->role);
    if (given == NULL || (given->kind == OTO_ARGUMENT_TEXT && strcmp(given->text, role) == 0)) {
        return OTO_OK;
    }
    return oto_fail(error, OTO_INVALID, "participant '%s' has the role %s in this world, not '%.32s'", config->name, role,
                    given->kind == OTO_ARGUMENT_TEXT ? given->text : "(not a text)");
}

/* Reads the options of a join from the message. An option that the message lacks is 0, or -1 for the timeout. */
static enum oto_status read_join(const struct srv_request *request, struct srv_join *join, struct oto_error *error)
{
    const char *name;
    const struct oto_message *message = request->message;
    const struct oto_argument *policy = oto_message_find(message, "on_timeout");
    enum oto_status status = oto_message_text(message, "name", &name, error);
    *join = (struct srv_join){.timeout_ns = -1};
    if (status == OTO_OK) {
        join->participant = srv_engine_participant_find(request->engine, name, error);
        status = join->participant == UINT32_MAX ? OTO_NOT_FOUND : OTO_OK;
    }
    if (status == OTO_OK) {
        status = check_role(srv_engine_participant_config(request->engine, join->participant),
                            oto_message_find(message, "role"), error);
    }
    if (status == OTO_OK && policy != NULL) {
        status = read_policy(policy, &join->on_timeout, error);
    }
    const uint64_t step_n = oto_message_u64_or(message, "step_n", 0);
    join->step_n = step_n > OTO_MAILBOX_MAX_STEP_N ? UINT32_MAX : (uint32_t)step_n;
    if (status == OTO_OK && oto_message_find(message, "timeout_ms") != NULL) {
        const double timeout_ms = oto_message_f64_or(message, "timeout_ms", 0.0);
        if (!(timeout_ms >= 0.0 && timeout_ms <= 1e9)) {
            return oto_fail(error, OTO_RANGE, "join: timeout_ms %g: a number from 0 is needed", timeout_ms);
        }
        join->timeout_ns = (int64_t)(timeout_ms * 1e6);
    }
    return status;
}

static void on_left(void *context, const struct srv_reply *reply)
{
    (void)context;
    srv_mailbox_close(reply->mailbox);
}

void srv_connection_leave(struct srv_connection *connection, struct srv_command_queue *command_queue)
{
    const struct srv_command command = {.kind = SRV_COMMAND_LEAVE, .mailbox = connection->mailbox};
    if (connection->mailbox != NULL) {
        connection->mailbox = NULL;
        (void)srv_command_queue_send(command_queue, &command, on_left,
                                     NULL); /* if this fails, the engine keeps the mailbox until it ends */
    }
}

static void on_joined(void *context, const struct srv_reply *reply)
{
    struct srv_pending_request *pending = context;
    struct srv_connection *connection = pending->connection;
    struct srv_command_queue *command_queue = pending->command_queue;
    if (reply->status != OTO_OK) {
        connection->joining = false;
        srv_mailbox_close(reply->mailbox);
        srv_pending_request_take(pending, reply);
        return;
    }
    connection->mailbox = reply->mailbox;
    if (connection->closed) { /* the client disconnected during the join */
        srv_connection_leave(connection, command_queue);
        srv_pending_request_finish(pending, OTO_CLOSED, reply->tick, "the client went");
        return;
    }
    srv_pending_request_finish_with_fd(pending, reply->tick, reply->mailbox->bytes, reply->mailbox->fd);
}

void srv_verb_join(struct srv_request *request)
{
    struct oto_error error = {0};
    struct srv_join join;
    struct srv_command command = {.kind = SRV_COMMAND_JOIN};
    enum oto_status status = read_join(request, &join, &error);
    if (status == OTO_OK && request->connection->joining) {
        status = oto_fail(&error, OTO_EXISTS, "this connection is a participant already: each needs its own");
    }
    if (status == OTO_OK) {
        status = srv_engine_mailbox_create(request->engine, &join, &command.mailbox, &error);
    }
    if (status != OTO_OK) {
        srv_reply_error(request, &error);
        return;
    }
    struct srv_pending_request *pending = srv_pending_request_open(
        request, "join %s", srv_engine_participant_config(request->engine, join.participant)->name);
    if (pending == NULL) {
        srv_mailbox_close(command.mailbox);
        return;
    }
    request->connection->joining = true;
    if (!srv_pending_request_send(pending, request->command_queue, &command, on_joined)) {
        request->connection->joining = false;
        srv_mailbox_close(command.mailbox);
    }
}
