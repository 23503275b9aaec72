/* Writes commands as entries of a log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log/writer.h"
#include "sim/run_log.h"

#define VALUE_BYTES 65536

/* Writes the members of a command's log entry. False: out of memory. */
typedef bool describe_function(const struct srv_engine *engine, const struct srv_command *command, struct oto_json *to);

void srv_log_put_path(struct oto_json *to, const char *key, const char *path)
{
    char *absolute = realpath(path, NULL);
    oto_json_text(to, key, absolute != NULL ? absolute : path);
    free(absolute);
}

static void put_node(const struct srv_engine *engine, uint32_t node, struct oto_json *to)
{
    oto_json_text(to, "node", srv_engine_node_setup(engine, node)->node);
}

static bool describe_nothing(const struct srv_engine *engine, const struct srv_command *command, struct oto_json *to)
{
    (void)engine;
    (void)command;
    (void)to;
    return true;
}

static bool describe_step(const struct srv_engine *engine, const struct srv_command *command, struct oto_json *to)
{
    (void)engine;
    oto_json_u64(to, "ticks", command->ticks);
    return true;
}

static bool describe_scale(const struct srv_engine *engine, const struct srv_command *command, struct oto_json *to)
{
    char text[40];
    (void)engine;
    (void)snprintf(text, sizeof text, "%.17g", command->scale);
    oto_json_text(to, "scale", text);
    return true;
}

static bool describe_mode(const struct srv_engine *engine, const struct srv_command *command, struct oto_json *to)
{
    (void)engine;
    oto_json_text(to, "mode", oto_mode_name((uint32_t)command->mode));
    return true;
}

static bool describe_set(const struct srv_engine *engine, const struct srv_command *command, struct oto_json *to)
{
    put_node(engine, command->change->node, to);
    oto_json_text(to, "key", command->key != NULL ? command->key : "");
    oto_json_text(to, "value", command->text != NULL ? command->text : "");
    return true;
}

/* Writes all parameters, one in each line, so that a replay needs neither the part library nor a parameter file. */
static bool put_params(const struct srv_swap_facts *facts, struct oto_json *to)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(facts->plugin);
    char *value = malloc(VALUE_BYTES), *text = NULL;
    size_t bytes = 0;
    FILE *lines = open_memstream(&text, &bytes);
    bool whole = lines != NULL && value != NULL;
    for (uint32_t i = 0; whole && i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        if (param->type != OTO_PARAM_IGNORED && param->key != NULL) {
            whole = oto_params_get(descriptor, param->key, facts->params, value, VALUE_BYTES, NULL) == OTO_OK &&
                    fprintf(lines, "%s: %s\n", param->key, value) > 0;
        }
    }
    if (lines != NULL) {
        whole = fclose(lines) == 0 && whole;
    }
    if (whole) {
        oto_json_text(to, "params", text);
    }
    free(text);
    free(value);
    return whole;
}

static bool describe_swap(const struct srv_engine *engine, const struct srv_command *command, struct oto_json *to)
{
    struct srv_swap_facts facts;
    srv_swap_tell(command->change, &facts);
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(facts.plugin);
    const uint64_t hash = oto_plugin_content_hash(facts.plugin);
    char tolerance[40];
    put_node(engine, command->change->node, to);
    oto_json_text(to, "plugin", descriptor->id);
    oto_json_text(to, "plugin_version", descriptor->version);
    srv_log_put_path(to, "file", oto_plugin_path(facts.plugin));
    oto_run_log_put_words(to, "file_hash", &hash, 1);
    oto_json_flag(to, "begins_anew", facts.begins_anew);
    oto_json_u64(to, "probation_ticks", facts.probation_ticks);
    oto_json_u64(to, "shadow_ticks", facts.shadow_ticks);
    (void)snprintf(tolerance, sizeof tolerance, "%.17g", facts.shadow_tolerance);
    oto_json_text(to, "shadow_tolerance", tolerance);
    if (facts.setup != NULL) {
        const uint64_t unit[] = {facts.setup->unit_key.seed, facts.setup->unit_key.stream};
        oto_run_log_put_words(to, "unit", unit, 2);
    }
    return put_params(&facts, to);
}

static bool describe_fault(const struct srv_engine *engine, const struct srv_command *command, struct oto_json *to)
{
    put_node(engine, command->fault->node, to);
    oto_json_u64(to, "fault", command->fault->spec.id);
    oto_json_text(to, "spec", command->text != NULL ? command->text : "");
    return true;
}

static bool describe_clear(const struct srv_engine *engine, const struct srv_command *command, struct oto_json *to)
{
    put_node(engine, command->node, to);
    oto_json_u64(to, "fault", command->fault_id);
    return true;
}

static bool describe_node(const struct srv_engine *engine, const struct srv_command *command, struct oto_json *to)
{
    put_node(engine, command->node, to);
    return true;
}

static bool describe_participant(const struct srv_engine *engine, const struct srv_command *command, struct oto_json *to)
{
    const struct srv_participant_config *config =
        srv_engine_participant_config(engine, command->mailbox->participant);
    oto_json_text(to, "participant", config != NULL ? config->name : "");
    return true;
}

static const struct {
    const char *name;
    describe_function *describe;
} entries[] = {[SRV_COMMAND_PAUSE] = {"pause", describe_nothing},
               [SRV_COMMAND_RESUME] = {"resume", describe_nothing},
               [SRV_COMMAND_STEP] = {"step", describe_step},
               [SRV_COMMAND_SCALE] = {"scale", describe_scale},
               [SRV_COMMAND_MODE] = {"mode", describe_mode},
               [SRV_COMMAND_PARAMS] = {"set", describe_set},
               [SRV_COMMAND_SWAP] = {"swap", describe_swap},
               [SRV_COMMAND_STOP] = {"stop", describe_nothing},
               [SRV_COMMAND_FAULT] = {"fault", describe_fault},
               [SRV_COMMAND_CLEAR_FAULTS] = {"clear_faults", describe_clear},
               [SRV_COMMAND_JOIN] = {"join", describe_participant},
               [SRV_COMMAND_LEAVE] = {"leave", describe_participant},
               [SRV_COMMAND_CANCEL] = {"cancel", describe_node},
               [SRV_COMMAND_UNDO] = {"undo", describe_node}};

const char *srv_log_entry_name(enum srv_command_kind kind)
{
    return (size_t)kind < sizeof entries / sizeof *entries ? entries[kind].name : NULL;
}

char *srv_log_describe(const struct srv_engine *engine, const struct srv_command *command)
{
    struct oto_json members = {.depth = 1};
    if (srv_log_entry_name(command->kind) == NULL) {
        return NULL;
    }
    if (!entries[command->kind].describe(engine, command, &members) || members.failed) {
        oto_json_free(&members);
        return NULL;
    }
    return members.text != NULL ? members.text : strdup("");
}
