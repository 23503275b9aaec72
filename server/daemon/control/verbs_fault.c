/* Verbs about faults: inject one, clear some. */
#include "daemon/control/node_list.h"

#include "world/fault_spec.h"
#include "sim/fault.h"

/* Passes the tick thread's reply to the pending request. */
static void on_reply(void *context, const struct srv_reply *reply)
{
    srv_fault_free(reply->faults);
    srv_pending_request_take(context, reply);
}

static void on_begun(void *context, const struct srv_reply *reply)
{
    struct srv_pending_request *pending = context;
    char text[64];
    (void)snprintf(text, sizeof text, "fault %llu", (unsigned long long)pending->value);
    srv_fault_free(reply->faults);
    srv_pending_request_finish(pending, reply->status, reply->tick, reply->reason != NULL ? reply->reason : text);
}

static void begin_fault(const struct srv_node_work *work, struct srv_pending_request *pending, uint32_t node)
{
    struct oto_error error = {0};
    struct srv_fault_spec spec;
    const enum oto_status status = srv_fault_spec_parse(srv_engine_node_config(work->engine, node), work->text, &spec, &error);
    if (status != OTO_OK) {
        srv_pending_request_finish(pending, status, 0, error.text);
        return;
    }
    struct srv_command command = {.kind = SRV_COMMAND_FAULT,
                                  .fault = srv_engine_fault_make(work->engine, node, &spec),
                                  .text = work->text};
    if (command.fault == NULL) {
        srv_pending_request_finish(pending, OTO_NO_MEMORY, 0, "the server is out of memory");
        return;
    }
    pending->value = command.fault->spec.id;
    if (!srv_pending_request_send(pending, work->command_queue, &command, on_begun)) {
        srv_fault_free(command.fault);
    }
}

void srv_verb_fault(struct srv_request *request)
{
    const struct srv_node_work work = {.begin = begin_fault, .text = oto_message_text_or(request->message, "spec", "")};
    char what[152];
    (void)snprintf(what, sizeof what, "fault %s %.100s", oto_message_text_or(request->message, "node", ""), work.text);
    srv_nodes_do(request, &work, what);
}

static void begin_clearing(const struct srv_node_work *work, struct srv_pending_request *pending, uint32_t node)
{
    const struct srv_command command = {.kind = SRV_COMMAND_CLEAR_FAULTS, .node = node, .fault_id = work->number};
    (void)srv_pending_request_send(pending, work->command_queue, &command, on_reply);
}

void srv_verb_clear_faults(struct srv_request *request)
{
    const struct srv_node_work work = {.begin = begin_clearing, .number = oto_message_u64_or(request->message, "fault", 0)};
    char what[152];
    (void)snprintf(what, sizeof what, "clear the faults of %s", oto_message_text_or(request->message, "node", ""));
    srv_nodes_do(request, &work, what);
}
