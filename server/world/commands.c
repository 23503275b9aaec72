#include <string.h>

#include "world/checkpoint.h"
#include "world/engine_private.h"
#include "world/journal.h"
#include "world/text.h"

/* A command at a boundary: fills status and reason of the reply. False: the reply comes later. */
typedef bool apply_function(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply);

static bool refuse(struct srv_reply *reply, enum oto_status status, const char *reason)
{
    reply->status = status;
    reply->reason = reason;
    return true;
}

void srv_reply_send_now(struct srv_engine *engine, const struct srv_reply *reply)
{
    srv_state_show(engine); /* who has the reply sees its effect */
    /* There is room: no more than a queue of commands is ever without a taken reply. */
    (void)srv_queue_push(&engine->replies, reply);
    srv_notify_main(engine);
}

void srv_commands_finish_step(struct srv_engine *engine, enum oto_status status, const char *reason)
{
    engine->steps_left = 0;
    if (engine->step_pending) {
        engine->step_pending = false;
        engine->step_reply.status = status;
        engine->step_reply.reason = reason;
        engine->step_reply.tick = engine->tick;
        srv_reply_send_now(engine, &engine->step_reply);
    }
}

static void say_mode(struct srv_engine *engine, const char *text, const char *more)
{
    char sentence[96];
    struct srv_text words = srv_text_begin(sentence, sizeof sentence);
    srv_text_add(&words, text);
    srv_text_add(&words, more);
    srv_event_write(engine, OTO_EVENT_MODE, 0, (int64_t)engine->mode, "clock", sentence);
}

static bool apply_pause(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    (void)command;
    (void)reply;
    srv_commands_finish_step(engine, OTO_CONFLICT, "a pause came before the steps were done");
    engine->paused = true;
    say_mode(engine, "paused", "");
    return true;
}

static bool apply_resume(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    (void)command;
    if (engine->mode == OTO_MODE_STEP) {
        return refuse(reply, OTO_INVALID, "mode step goes on by step only; set mode realtime or asap first");
    }
    if (engine->step_pending) {
        return refuse(reply, OTO_CONFLICT, "a step is not done yet");
    }
    engine->paused = false;
    engine->anchored = false;
    say_mode(engine, "resumed", "");
    return true;
}

static bool apply_step(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    if (engine->step_pending) {
        return refuse(reply, OTO_CONFLICT, "another step is not done yet");
    }
    if (command->ticks == 0) {
        return true;
    }
    engine->paused = true;
    engine->steps_left = command->ticks;
    engine->step_pending = true;
    engine->step_reply = *reply;
    return false;
}

static bool apply_scale(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    char number[32];
    if (!(command->scale >= SRV_SCALE_MIN && command->scale <= SRV_SCALE_MAX)) {
        return refuse(reply, OTO_RANGE, "a scale from 0.001 to 1000000 is accepted");
    }
    srv_pacer_set_scale(&engine->pacer, command->scale, srv_now_ns());
    struct srv_text words = srv_text_begin(number, sizeof number);
    srv_text_add_milli(&words, command->scale);
    say_mode(engine, "scale ", number);
    return true;
}

static bool apply_mode(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    static const char *const names[] = {[OTO_MODE_REALTIME] = "realtime", [OTO_MODE_ASAP] = "asap",
                                        [OTO_MODE_STEP] = "step", [OTO_MODE_LOCKSTEP] = "lockstep",
                                        [OTO_MODE_EXTERNAL] = "external"};
    const uint32_t mode = (uint32_t)command->mode;
    if (mode >= sizeof names / sizeof *names || names[mode] == NULL) {
        return refuse(reply, OTO_UNSUPPORTED, "modes realtime, asap, step, lockstep and external are accepted");
    }
    if (engine->feed != NULL && (mode == OTO_MODE_LOCKSTEP || mode == OTO_MODE_EXTERNAL)) {
        return refuse(reply, OTO_UNSUPPORTED, "a replay follows its log: modes realtime, asap and step are accepted");
    }
    if (mode == OTO_MODE_LOCKSTEP && !srv_participants_any_waited_for(engine)) {
        return refuse(reply, OTO_UNSUPPORTED, "mode lockstep needs a participant, and the world has none");
    }
    if (mode == OTO_MODE_EXTERNAL && engine->participants.master == NULL) {
        return refuse(reply, OTO_UNSUPPORTED, "mode external needs a clock.master, and the world has none");
    }
    engine->mode = command->mode;
    engine->anchored = false;
    srv_rights_set_thread(&engine->rights, command->mode == OTO_MODE_REALTIME);
    __atomic_store_n(&engine->segment.header->mode, mode, __ATOMIC_RELAXED);
    say_mode(engine, "mode ", names[mode]);
    return true;
}

/* The change, when it is one of this kind; else *reply refuses. */
static struct srv_change *change_of(struct srv_engine *engine, const struct srv_command *command, bool swap,
                                    struct srv_reply *reply)
{
    struct srv_change *change = (struct srv_change *)(void *)command->change;
    if (change == NULL || change->open.node >= engine->node_count || change->open.swap != swap) {
        (void)refuse(reply, OTO_INVALID, "the change is not one of a node of this world");
        return NULL;
    }
    return change;
}

void srv_reply_show_node(const struct srv_node *node, struct srv_reply *reply)
{
    reply->plugin = node->plugin;
    reply->params = node->params;
    reply->own_setup = node->own_setup;
    reply->revision = node->revision;
}

static bool apply_params(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    struct srv_change *change = change_of(engine, command, false, reply);
    if (change == NULL) {
        return true;
    }
    struct srv_node *node = &engine->nodes[change->open.node];
    srv_assert_tick_thread(engine);
    if (node->trial != NULL) {
        return refuse(reply, OTO_CONFLICT,
                      "a swap of this node is on probation or in its shadow: set it when that is over, or undo the swap");
    }
    reply->status = node->member != NULL ? srv_member_apply(engine, node->member, change, &reply->reason)
                                         : srv_change_apply(node, change, &reply->reason);
    if (reply->status != OTO_OK) {
        return true;
    }
    srv_node_update_ports(node, engine->segment.directory);
    srv_reply_show_node(node, reply);
    srv_count(engine, OTO_COUNTER_PARAMETER_CHANGES, 1);
    srv_event_write(engine, OTO_EVENT_PARAMETER, 0, (int64_t)node->revision, node->topic, change->text);
    return true;
}

static bool apply_swap(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    struct srv_change *change = change_of(engine, command, true, reply);
    return change == NULL || srv_trial_begin(engine, &engine->nodes[change->open.node], change, reply);
}

static bool apply_snapshot(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    struct srv_change *change = change_of(engine, command, true, reply);
    if (change == NULL) {
        return true;
    }
    const struct srv_node *node = &engine->nodes[change->open.node];
    if (change->revision != node->revision || change->snapshot == NULL) {
        return refuse(reply, OTO_CONFLICT, "another change of this node was applied meanwhile; ask again");
    }
    memcpy(change->snapshot, node->instance.state, node->state_bytes);
    change->truth = engine->vehicles[node->config->vehicle].truth;
    change->at = srv_beat_at(&engine->beat);
    return true;
}

static bool apply_settle(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    struct srv_change *change = change_of(engine, command, true, reply);
    return change == NULL || srv_trial_settle(engine, change, reply);
}

static bool apply_cancel(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    if (command->node >= engine->node_count) {
        return refuse(reply, OTO_INVALID, "there is no such node");
    }
    srv_trial_cancel(engine, &engine->nodes[command->node], reply);
    return true;
}

static bool apply_undo(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    if (command->node >= engine->node_count) {
        return refuse(reply, OTO_INVALID, "there is no such node");
    }
    srv_trial_undo(engine, &engine->nodes[command->node], reply);
    return true;
}

static void take_retired(struct srv_engine *engine, struct srv_reply *reply)
{
    reply->faults = engine->retired_faults;
    engine->retired_faults = NULL;
}

static bool apply_fault(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    take_retired(engine, reply);
    reply->status = srv_fault_begin(engine, command->fault, &reply->reason);
    if (reply->status != OTO_OK) {
        command->fault->next = reply->faults;
        reply->faults = command->fault;
    }
    return true;
}

static bool apply_clear_faults(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    reply->status = srv_fault_clear(engine, command->node, command->fault_id, &reply->reason);
    take_retired(engine, reply);
    return true;
}

static bool apply_save(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    struct srv_snapshot *snapshot = command->snapshot;
    const char *reason = NULL;
    srv_groups_collect(engine); /* what hosts of mode async still owe is of this boundary */
    const enum oto_status refusal = srv_checkpoint_refusal(engine, &reason);
    if (refusal != OTO_OK) {
        return refuse(reply, refusal, reason);
    }
    const int64_t start_ns = srv_now_ns();
    snapshot->tick = engine->tick;
    snapshot->chain = engine->chain;
    snapshot->bytes = srv_checkpoint_save(engine, snapshot->data, snapshot->capacity);
    snapshot->stall_ns = srv_now_ns() - start_ns;
    return snapshot->bytes <= snapshot->capacity ? true : refuse(reply, OTO_LIMIT, "the world's state takes more room");
}

static bool apply_event(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    struct oto_event_record event = command->event;
    (void)reply;
    event.source[sizeof event.source - 1] = '\0';
    event.text[sizeof event.text - 1] = '\0';
    srv_event_push(engine, &event);
    return true;
}

static bool apply_stop(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    (void)command;
    (void)reply;
    srv_commands_finish_step(engine, OTO_CLOSED, "the run was stopped");
    if (!engine->ended) {
        engine->ended = true;
        srv_event_write(engine, OTO_EVENT_STOPPED, 0, (int64_t)engine->tick, "clock", "stopped");
    }
    return true;
}

static bool apply_join(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    if (engine->feed != NULL) {
        return refuse(reply, OTO_UNSUPPORTED, "this is a replay: what participants gave comes from its log");
    }
    const char *reason = srv_participant_join(engine, command->mailbox);
    return reason == NULL || refuse(reply, OTO_EXISTS, reason);
}

static bool apply_leave(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    (void)reply;
    srv_participant_leave(engine, command->mailbox);
    return true;
}

struct verb {
    apply_function *apply;
    bool when_over; /* also after the run has ended or faulted */
};

static const struct verb verbs[] = {
    [SRV_COMMAND_PAUSE] = {apply_pause, false},   [SRV_COMMAND_RESUME] = {apply_resume, false},
    [SRV_COMMAND_STEP] = {apply_step, false},     [SRV_COMMAND_SCALE] = {apply_scale, false},
    [SRV_COMMAND_MODE] = {apply_mode, false},     [SRV_COMMAND_PARAMS] = {apply_params, false},
    [SRV_COMMAND_SWAP] = {apply_swap, false},     [SRV_COMMAND_EVENT] = {apply_event, true},
    [SRV_COMMAND_STOP] = {apply_stop, true},      [SRV_COMMAND_FAULT] = {apply_fault, false},
    [SRV_COMMAND_CLEAR_FAULTS] = {apply_clear_faults, false},
    [SRV_COMMAND_JOIN] = {apply_join, false},
    [SRV_COMMAND_LEAVE] = {apply_leave, true},
    [SRV_COMMAND_SNAPSHOT] = {apply_snapshot, false},
    [SRV_COMMAND_SETTLE] = {apply_settle, true},
    [SRV_COMMAND_CANCEL] = {apply_cancel, false},
    [SRV_COMMAND_UNDO] = {apply_undo, false},
    [SRV_COMMAND_SAVE] = {apply_save, true},
};

static void apply_one(struct srv_engine *engine, const struct srv_command *command)
{
    struct srv_reply reply = {.id = command->id,
                              .kind = command->kind,
                              .status = OTO_OK,
                              .tick = engine->tick,
                              .change = command->change,
                              .faults = command->fault,
                              .mailbox = command->mailbox};
    const bool known = command->kind >= SRV_COMMAND_PAUSE && (size_t)command->kind < sizeof verbs / sizeof *verbs;
    bool now = true;
    srv_count(engine, OTO_COUNTER_COMMANDS, 1);
    if (!known) {
        now = refuse(&reply, OTO_UNSUPPORTED, "there is no such command");
    } else if ((engine->ended || engine->faulted) && !verbs[command->kind].when_over) {
        now = refuse(&reply, OTO_CLOSED, engine->faulted ? "the run has stopped by a fault" : "the run has ended");
    } else {
        now = verbs[command->kind].apply(engine, command, &reply);
    }
    srv_journal_command(engine, command, &reply);
    if (now && !srv_command_is_unanswered(command)) {
        srv_reply_send_now(engine, &reply);
    }
}

void srv_commands_apply(struct srv_engine *engine)
{
    struct srv_command command;
    while (srv_queue_pop(&engine->commands, &command)) {
        apply_one(engine, &command);
    }
}
