/* Repeats the actions of a log. The tick thread waits at the tick of an action until the action is applied. */
#include <string.h>

#include "sim/fault.h"
#include "sim/logged_swap.h"
#include "sim/sim.h"
#include "daemon/log/replay_private.h"

typedef enum oto_status act_function(struct srv_replay *replay, uint32_t node, struct oto_error *error);

static enum oto_status missing(const struct srv_replay *replay, const char *what, struct oto_error *error)
{
    return oto_run_log_wrong(replay->reader, error, OTO_CORRUPT, "'%s' of '%s' is missing, or is of another kind", what,
                         replay->line.entry);
}

/* Sends a command; the replay waits until the tick thread has applied it. */
static enum oto_status post(struct srv_replay *replay, const struct srv_command *command, srv_reply_function done,
                            struct oto_error *error)
{
    if (!srv_command_queue_send(replay->command_queue, command, done, replay)) {
        return oto_fail(error, OTO_LIMIT, "too many commands wait for the tick");
    }
    replay->awaits = true;
    return OTO_OK;
}

static void on_done(void *context, const struct srv_reply *reply)
{
    (void)context;
    srv_fault_free(reply->faults);
    (void)srv_change_free(reply->change);
}

/* ---- parameters and faults ---- */

static enum oto_status act_set(struct srv_replay *replay, uint32_t node, struct oto_error *error)
{
    const char *key = oto_run_log_text(&replay->line, "key"), *value = oto_run_log_text(&replay->line, "value");
    struct srv_command command = {.kind = SRV_COMMAND_PARAMS, .key = key, .text = value};
    if (key == NULL || value == NULL) {
        return missing(replay, key == NULL ? "key" : "value", error);
    }
    enum oto_status status = srv_sim_change_parameter(srv_engine_sim(replay->engine), node, key, value, &command.change, error);
    if (status == OTO_OK && (status = post(replay, &command, on_done, error)) != OTO_OK) {
        (void)srv_change_free(command.change);
    }
    return status;
}

static enum oto_status act_fault(struct srv_replay *replay, uint32_t node, struct oto_error *error)
{
    const char *yaml = oto_run_log_text(&replay->line, "spec");
    struct srv_fault_spec spec;
    uint64_t id = 0;
    if (yaml == NULL || !oto_run_log_number(&replay->line, "fault", &id)) {
        return missing(replay, yaml == NULL ? "spec" : "fault", error);
    }
    enum oto_status status = srv_fault_spec_parse(srv_engine_node_config(replay->engine, node), yaml, &spec, error);
    if (status != OTO_OK) {
        return status;
    }
    spec.id = id;
    const struct srv_command command = {
        .kind = SRV_COMMAND_FAULT, .fault = srv_engine_fault_make(replay->engine, node, &spec), .text = yaml};
    if (command.fault == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a fault");
    }
    if ((status = post(replay, &command, on_done, error)) != OTO_OK) {
        srv_fault_free(command.fault);
    }
    return status;
}

static enum oto_status act_clear(struct srv_replay *replay, uint32_t node, struct oto_error *error)
{
    struct srv_command command = {.kind = SRV_COMMAND_CLEAR_FAULTS, .node = node};
    if (!oto_run_log_number(&replay->line, "fault", &command.fault_id)) {
        return missing(replay, "fault", error);
    }
    return post(replay, &command, on_done, error);
}

static enum oto_status act_cancel(struct srv_replay *replay, uint32_t node, struct oto_error *error)
{
    const struct srv_command command = {.kind = SRV_COMMAND_CANCEL, .node = node};
    return post(replay, &command, on_done, error);
}

static enum oto_status act_undo(struct srv_replay *replay, uint32_t node, struct oto_error *error)
{
    const struct srv_command command = {.kind = SRV_COMMAND_UNDO, .node = node};
    return post(replay, &command, on_done, error);
}

/* ---- swaps ---- */

/* Sends SETTLE after a swap: the engine keeps the change of the swap until this command. */
static void on_swapped(void *context, const struct srv_reply *reply)
{
    struct srv_replay *replay = context;
    const struct srv_command settle = {.kind = SRV_COMMAND_SETTLE, .change = reply->change};
    if (!reply->settling || reply->change == NULL) {
        (void)srv_change_free(reply->change);
    } else {
        (void)srv_command_queue_send(replay->command_queue, &settle, on_done,
                                     replay); /* if this fails, the engine keeps the change until it ends */
    }
}

static enum oto_status act_swap(struct srv_replay *replay, uint32_t node, struct oto_error *error)
{
    struct srv_previous as;
    struct srv_swap_options options;
    struct srv_command command = {.kind = SRV_COMMAND_SWAP};
    enum oto_status status =
        srv_logged_swap_read(srv_engine_sim(replay->engine), node, replay->reader, &replay->line, NULL,
                             replay->anyway ? NULL : "; --replay-anyway takes it", &as, &options, error);
    if (status == OTO_OK) {
        status = srv_sim_swap_load(srv_engine_sim(replay->engine), node, &options, &command.change, error);
    }
    if (status == OTO_OK) {
        status = srv_sim_swap_ready(srv_engine_sim(replay->engine), command.change, error);
    }
    if (status == OTO_OK) {
        status = post(replay, &command, on_swapped, error);
    }
    if (status != OTO_OK) {
        (void)srv_change_free(command.change);
    }
    srv_previous_finish(&as);
    return status;
}

/* ---- the table ---- */

static const struct {
    const char *entry;
    act_function *act;
} actions[] = {{"set", act_set},           {"swap", act_swap},     {"fault", act_fault},
               {"clear_faults", act_clear}, {"cancel", act_cancel}, {"undo", act_undo},
               {"slow", act_undo}};

static act_function *find(const struct oto_run_log_line *line)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(actions[i].entry, line->entry) == 0) {
            return actions[i].act;
        }
    }
    return NULL;
}

bool srv_replay_is_action(const struct oto_run_log_line *line)
{
    return find(line) != NULL && line->has_tick;
}

enum oto_status srv_replay_act(struct srv_replay *replay, struct oto_error *error)
{
    const char *name = oto_run_log_text(&replay->line, "node");
    const uint32_t node = name != NULL ? srv_engine_node_find(replay->engine, name, error) : UINT32_MAX;
    if (node == UINT32_MAX) {
        return name != NULL ? error->status : missing(replay, "node", error);
    }
    return find(&replay->line)(replay, node, error);
}
