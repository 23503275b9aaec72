#include <unistd.h>

#include "daemon/thread/engine_private.h"
#include "daemon/thread/journal.h"
#include "base/text.h"

/* ---- the main thread's ends of the two queues ---- */

bool srv_engine_post(struct srv_engine *engine, const struct srv_command *command)
{
    const bool answered = !srv_command_is_unanswered(command);
    if ((answered && engine->outstanding >= SRV_COMMAND_CAPACITY) || !srv_queue_push(&engine->commands, command)) {
        return false;
    }
    engine->outstanding += answered ? 1 : 0;
    srv_waiter_wake(&engine->waiter);
    srv_participants_wake(engine);
    return true;
}

void srv_views_update(struct srv_engine *engine, const struct srv_reply *reply)
{
    if (reply->plugin == NULL || reply->change == NULL) {
        return;
    }
    struct srv_node_view *view = &engine->views[reply->change->node];
    (void)pthread_mutex_lock(&engine->views_lock);
    view->plugin = reply->plugin;
    view->params = reply->params;
    view->own_setup = reply->own_setup;
    view->revision = reply->revision;
    (void)pthread_mutex_unlock(&engine->views_lock);
}

void srv_views_fill_base(void *context, struct srv_change_base *base)
{
    struct srv_engine *engine = context;
    (void)pthread_mutex_lock(&engine->views_lock);
    const struct srv_node_view *view = &engine->views[base->node];
    srv_change_base_fill(base, view->plugin, &view->params, view->own_setup, view->revision);
    (void)pthread_mutex_unlock(&engine->views_lock);
}

bool srv_engine_take_reply(struct srv_engine *engine, struct srv_reply *reply)
{
    if (!srv_queue_pop(&engine->replies, reply)) {
        /* Clears the notification and then checks the queue again, so that a reply between the two is not missed. */
        uint64_t count;
        (void)!read(engine->notify_fd, &count, sizeof count);
        if (!srv_queue_pop(&engine->replies, reply)) {
            return false;
        }
        srv_notify_main(engine);
    }
    engine->outstanding--;
    srv_views_update(engine, reply);
    return true;
}

/* ---- the tick thread's ends ---- */

/* Applies a command at a boundary and fills status and reason of the reply. False: the reply is sent later. */
typedef bool apply_function(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply);

void srv_reply_send_now(struct srv_engine *engine, const struct srv_reply *reply)
{
    srv_state_show(engine); /* the segment shows the effect before the client gets the reply */
    /* The push cannot fail: the commands without a taken reply are never more than the queue has room for. */
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
        engine->step_reply.tick = engine->sim->tick;
        srv_reply_send_now(engine, &engine->step_reply);
    }
}

static void say_mode(struct srv_engine *engine, const char *text, const char *more)
{
    char sentence[96];
    struct srv_text words = srv_text_begin(sentence, sizeof sentence);
    srv_text_add(&words, text);
    srv_text_add(&words, more);
    srv_event_write(engine->sim, OTO_EVENT_MODE, 0, (int64_t)engine->mode, "clock", sentence);
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
        return srv_reply_refuse(reply, OTO_INVALID, "mode step advances by step only; set mode realtime or asap first");
    }
    if (engine->step_pending) {
        return srv_reply_refuse(reply, OTO_CONFLICT, "a step is not done yet");
    }
    engine->paused = false;
    engine->anchored = false;
    say_mode(engine, "resumed", "");
    return true;
}

static bool apply_step(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    if (engine->step_pending) {
        return srv_reply_refuse(reply, OTO_CONFLICT, "another step is not done yet");
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
        return srv_reply_refuse(reply, OTO_RANGE, "a scale from 0.001 to 1000000 is accepted");
    }
    srv_pacer_set_scale(&engine->pacer, command->scale, srv_now_ns());
    struct srv_text words = srv_text_begin(number, sizeof number);
    srv_text_add_milli(&words, command->scale);
    say_mode(engine, "scale ", number);
    return true;
}

static bool apply_mode(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    const uint32_t mode = (uint32_t)command->mode;
    if (oto_mode_name(mode)[0] == '\0') {
        return srv_reply_refuse(reply, OTO_UNSUPPORTED, "modes realtime, asap, step, lockstep and external are accepted");
    }
    const char *reason = engine->inputs->refuse_mode(engine, command->mode);
    if (reason != NULL) {
        return srv_reply_refuse(reply, OTO_UNSUPPORTED, reason);
    }
    engine->mode = command->mode;
    engine->anchored = false;
    srv_rights_set_thread(&engine->rights, command->mode == OTO_MODE_REALTIME);
    __atomic_store_n(&engine->sim->store.header->mode, mode, __ATOMIC_RELAXED);
    say_mode(engine, "mode ", oto_mode_name(mode));
    return true;
}

static bool apply_stop(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    (void)command;
    (void)reply;
    srv_commands_finish_step(engine, OTO_CLOSED, "the run was stopped");
    if (!engine->ended) {
        engine->ended = true;
        srv_event_write(engine->sim, OTO_EVENT_STOPPED, 0, (int64_t)engine->sim->tick, "clock", "stopped");
    }
    return true;
}

static bool apply_join(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    reply->status = engine->inputs->join(engine, command->mailbox, &reply->reason);
    return true;
}

static bool apply_leave(struct srv_engine *engine, const struct srv_command *command, struct srv_reply *reply)
{
    (void)reply;
    srv_participant_leave(engine, command->mailbox);
    return true;
}

struct verb {
    apply_function *apply; /* NULL: the simulator applies the command */
    bool when_over;        /* accepted also after the run has ended or faulted */
};

static const struct verb verbs[SRV_COMMAND_END_] = {
    [SRV_COMMAND_PAUSE] = {.apply = apply_pause},   [SRV_COMMAND_RESUME] = {.apply = apply_resume},
    [SRV_COMMAND_STEP] = {.apply = apply_step},     [SRV_COMMAND_SCALE] = {.apply = apply_scale},
    [SRV_COMMAND_MODE] = {.apply = apply_mode},     [SRV_COMMAND_STOP] = {apply_stop, true},
    [SRV_COMMAND_JOIN] = {.apply = apply_join},     [SRV_COMMAND_LEAVE] = {apply_leave, true},
    [SRV_COMMAND_EVENT] = {.when_over = true},      [SRV_COMMAND_SETTLE] = {.when_over = true},
    [SRV_COMMAND_SAVE] = {.when_over = true},
};

static void apply_one(struct srv_engine *engine, const struct srv_command *command)
{
    struct srv_reply reply = {.id = command->id,
                              .kind = command->kind,
                              .status = OTO_OK,
                              .tick = engine->sim->tick,
                              .change = command->change,
                              .faults = command->fault,
                              .mailbox = command->mailbox};
    const bool known = command->kind > 0 && command->kind < SRV_COMMAND_END_;
    bool now = true;
    srv_count(engine->sim, OTO_COUNTER_COMMANDS, 1);
    if (!known) {
        now = srv_reply_refuse(&reply, OTO_UNSUPPORTED, "there is no such command");
    } else if ((engine->ended || engine->faulted) && !verbs[command->kind].when_over) {
        now = srv_reply_refuse(&reply, OTO_CLOSED, engine->faulted ? "the run has stopped by a fault" : "the run has ended");
    } else if (srv_command_is_of_sim(command->kind)) {
        now = srv_sim_apply(engine->sim, command, &reply);
    } else {
        now = verbs[command->kind].apply(engine, command, &reply);
    }
    srv_pace_show(engine);
    if (!srv_command_is_of_sim(command->kind)) {
        srv_journal_command(engine, command, &reply);
    }
    if (now && !srv_command_is_unanswered(command)) {
        srv_reply_send_now(engine, &reply);
    }
    /* A command of the simulator is logged after its reply: a replay prepares the next change as soon as it has this record,
     * from the plugin and parameters in the reply. */
    if (srv_command_is_of_sim(command->kind)) {
        srv_journal_command(engine, command, &reply);
    }
}

void srv_commands_apply(struct srv_engine *engine)
{
    struct srv_command command;
    while (srv_queue_pop(&engine->commands, &command)) {
        apply_one(engine, &command);
    }
}
