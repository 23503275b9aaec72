/* Verbs about faults: inject one, clear some. */
#include "daemon/control/request.h"

#include "world/fault_spec.h"
#include "sim/fault.h"

/* What waits for the tick's answer. */
static void on_reply(void *context, const struct srv_reply *reply)
{
    srv_fault_free(reply->faults);
    srv_pending_request_finish(context, reply->status, reply->tick,
                               reply->reason != NULL ? reply->reason : oto_status_text(reply->status));
}

static void on_begun(void *context, const struct srv_reply *reply)
{
    struct srv_pending_request *pending = context;
    char text[64];
    (void)snprintf(text, sizeof text, "fault %llu", (unsigned long long)pending->value);
    srv_fault_free(reply->faults);
    srv_pending_request_finish(pending, reply->status, reply->tick, reply->reason != NULL ? reply->reason : text);
}

void srv_verb_fault(struct srv_request *request)
{
    struct oto_error error = {0};
    struct srv_fault_spec spec;
    const char *yaml;
    const uint32_t node = srv_request_node(request);
    if (node == UINT32_MAX) {
        return;
    }
    if (oto_message_text(request->message, "spec", &yaml, &error) != OTO_OK ||
        srv_fault_spec_parse(srv_engine_node_config(request->engine, node), yaml, &spec, &error) != OTO_OK) {
        srv_reply_error(request, &error);
        return;
    }
    struct srv_command command = {.kind = SRV_COMMAND_FAULT,
                                  .fault = srv_engine_fault_make(request->engine, node, &spec),
                                  .text = yaml};
    if (command.fault == NULL) {
        srv_reply_text(request, OTO_NO_MEMORY, "the server is out of memory");
        return;
    }
    struct srv_pending_request *pending =
        srv_pending_request_open(request, "fault %s %.100s", oto_message_find(request->message, "node")->text, yaml);
    if (pending == NULL) {
        srv_fault_free(command.fault);
        return;
    }
    pending->value = command.fault->spec.id;
    if (!srv_command_queue_send(request->command_queue, &command, on_begun, pending)) {
        srv_fault_free(command.fault);
        srv_pending_request_finish(pending, OTO_LIMIT, 0, "too many commands are waiting for the tick");
    }
}

void srv_verb_clear_faults(struct srv_request *request)
{
    const struct oto_argument *id = oto_message_find(request->message, "id_of_fault");
    struct srv_command command = {.kind = SRV_COMMAND_CLEAR_FAULTS, .node = srv_request_node(request)};
    if (command.node == UINT32_MAX) {
        return;
    }
    command.fault_id = id != NULL && id->kind == OTO_ARGUMENT_U64 ? id->u64 : 0;
    struct srv_pending_request *pending =
        srv_pending_request_open(request, "clear the faults of %s", oto_message_find(request->message, "node")->text);
    if (pending != NULL && !srv_command_queue_send(request->command_queue, &command, on_reply, pending)) {
        srv_pending_request_finish(pending, OTO_LIMIT, 0, "too many commands are waiting for the tick");
    }
}
