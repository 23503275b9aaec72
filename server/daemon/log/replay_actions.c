/* Repeats the actions of a log. The tick thread waits at the tick of an action until the action is applied. */
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "sim/fault.h"
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
    enum oto_status status = srv_change_parameter(replay->engine, node, key, value, &command.change, error);
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

static int64_t ns_of_ticks(const struct srv_replay *replay, uint64_t ticks)
{
    const struct oto_segment_header *header = srv_engine_segment(replay->engine);
    const double ns = (double)ticks * 1e9 * (double)header->rate_den / (double)header->rate_num;
    return ns < 4e18 ? (int64_t)(ns + 0.5) : INT64_MAX / 2;
}

static enum oto_status open_plugin(struct srv_replay *replay, uint32_t node, struct oto_plugin **plugin,
                                   struct oto_error *error)
{
    const char *file = oto_run_log_text(&replay->line, "file");
    uint64_t hash;
    if (file == NULL || !oto_run_log_word(&replay->line, "file_hash", &hash)) {
        return missing(replay, file == NULL ? "file" : "file_hash", error);
    }
    const struct srv_world_config *config = srv_engine_sim(replay->engine)->config;
    const enum oto_status status = config->open_plugin(file, config->nodes[node].isolation.process, plugin, error);
    if (status == OTO_OK && oto_plugin_content_hash(*plugin) != hash && !replay->anyway) {
        return oto_fail(error, OTO_CONFLICT, "'%.300s' is not the build that was swapped in; --replay-anyway takes it", file);
    }
    return status;
}

static enum oto_status bind_params(struct srv_replay *replay, uint32_t node, struct srv_previous *as,
                                   struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(as->plugin);
    const char *text = oto_run_log_text(&replay->line, "params");
    struct oto_document *document = NULL;
    if (text == NULL) {
        return missing(replay, "params", error);
    }
    enum oto_status status = oto_params_default(descriptor, &as->params, error);
    if (status == OTO_OK && text[0] != '\0') {
        status = oto_document_parse("params", text, strlen(text), NULL, &document, error);
    }
    if (status == OTO_OK && document != NULL) {
        status = oto_params_apply(descriptor, oto_document_root(document), &as->params, error);
    }
    oto_document_close(document);
    as->params.rate_hz = srv_engine_node_params(replay->engine, node)->rate_hz;
    return status;
}

/* Reads a swap from the log with its plugin file, parameters and unit as they were resolved; nothing is searched for. */
static enum oto_status make_previous(struct srv_replay *replay, uint32_t node, struct srv_previous *as,
                                     struct oto_error *error)
{
    uint64_t unit[2];
    enum oto_status status = open_plugin(replay, node, &as->plugin, error);
    if (status == OTO_OK) {
        status = bind_params(replay, node, as, error);
    }
    as->has_setup = oto_run_log_words(&replay->line, "unit", unit, 2);
    as->setup = *srv_engine_node_setup(replay->engine, node);
    if (as->has_setup) {
        as->setup.unit_key = (struct oto_rng_key){unit[0], unit[1]};
    }
    return status;
}

static enum oto_status read_wishes(struct srv_replay *replay, struct srv_swap_options *options, struct oto_error *error)
{
    uint64_t probation = 0, shadow = 0;
    const char *tolerance = oto_run_log_text(&replay->line, "shadow_tolerance");
    if (!oto_run_log_number(&replay->line, "probation_ticks", &probation) ||
        !oto_run_log_number(&replay->line, "shadow_ticks", &shadow)) {
        return missing(replay, "probation_ticks or shadow_ticks", error);
    }
    options->probation_ns = ns_of_ticks(replay, probation);
    options->shadow_ns = ns_of_ticks(replay, shadow);
    options->shadow_tolerance = tolerance != NULL ? strtod(tolerance, NULL) : 0.0;
    options->reset_state = oto_run_log_truth(&replay->line, "begins_anew");
    options->pace = oto_run_log_truth(&replay->line, "paced") ? SRV_SWAP_PACED : SRV_SWAP_AT_ONCE;
    return OTO_OK;
}

static enum oto_status act_swap(struct srv_replay *replay, uint32_t node, struct oto_error *error)
{
    struct srv_previous as = {0};
    struct srv_swap_options options = {.previous = &as};
    struct srv_command command = {.kind = SRV_COMMAND_SWAP};
    enum oto_status status = make_previous(replay, node, &as, error);
    if (status == OTO_OK) {
        status = read_wishes(replay, &options, error);
    }
    if (status == OTO_OK) {
        status = srv_swap_load(replay->engine, node, &options, &command.change, error);
    }
    if (status == OTO_OK) {
        status = srv_swap_ready(replay->engine, command.change, error);
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
