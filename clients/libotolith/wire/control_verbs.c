#include "wire/control_verbs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT OTO_ARGUMENT_TEXT
#define U64 OTO_ARGUMENT_U64
#define F64 OTO_ARGUMENT_F64
#define BOOL OTO_ARGUMENT_BOOL
#define LIST OTO_ARGUMENT_U64_LIST
#define OBSERVE SRV_ROLE_OBSERVE
#define OPERATE SRV_ROLE_OPERATE
#define ADMIN SRV_ROLE_ADMIN
#define CHANGES OTO_VERB_CHANGES
#define LOCAL OTO_VERB_LOCAL
#define OF_NODE OTO_VERB_OF_NODE
#define PAGE OTO_VERB_PAGE

const struct oto_verb oto_verbs[OTO_VERB_COUNT] = {
    [OTO_VERB_ATTACH] = {"attach", OBSERVE, 0, OTO_WAIT_REPLY,
                         {{"name", TEXT, true}, {"role", TEXT, false}, {"remote", TEXT, false}}},
    [OTO_VERB_WAKE] = {"wake", OBSERVE, LOCAL, OTO_WAIT_REPLY, {{"on", BOOL, true}}},
    [OTO_VERB_INFO] = {"info", OBSERVE, 0, OTO_WAIT_REPLY, {{0}}},
    [OTO_VERB_PAUSE] = {"pause", OPERATE, PAGE, OTO_WAIT_REPLY, {{0}}},
    [OTO_VERB_RESUME] = {"resume", OPERATE, PAGE, OTO_WAIT_REPLY, {{0}}},
    [OTO_VERB_STEP] = {"step", OPERATE, PAGE, OTO_WAIT_TICKS, {{"ticks", U64, true}}},
    [OTO_VERB_SCALE] = {"scale", OPERATE, PAGE, OTO_WAIT_REPLY, {{"scale", F64, true}}},
    [OTO_VERB_MODE] = {"mode", OPERATE, 0, OTO_WAIT_REPLY, {{"mode", TEXT, true}}},
    [OTO_VERB_SEEK] = {"seek", OPERATE, PAGE, OTO_WAIT_REPLY, {{"t_s", F64, true}}},
    [OTO_VERB_GET] = {"get", OBSERVE, PAGE, OTO_WAIT_REPLY,
                      {{"node", TEXT, true}, {"param", TEXT, false}, {"first", U64, false}}},
    [OTO_VERB_SET] = {"set", OPERATE, CHANGES | OF_NODE | PAGE, OTO_WAIT_NODES,
                      {{"node", TEXT, true}, {"param", TEXT, true}, {"value", TEXT, true}}},
    [OTO_VERB_SWAP] = {"swap", ADMIN, CHANGES | OF_NODE | PAGE, OTO_WAIT_TICKS,
                       {{"node", TEXT, true},
                        {"plugin", TEXT, false},
                        {"part", TEXT, false},
                        {"params", TEXT, false},
                        {"mode", TEXT, false},
                        {"unit", U64, false},
                        {"probation_ns", U64, false},
                        {"shadow_ns", U64, false},
                        {"shadow_tolerance", F64, false},
                        {"budget_ns", U64, false},
                        {"reset_state", BOOL, false},
                        {"no_probe", BOOL, false},
                        {"wait", BOOL, false},
                        {"undo", BOOL, false},
                        {"cancel", BOOL, false}}},
    [OTO_VERB_FAULT] = {"fault", OPERATE, CHANGES | OF_NODE | PAGE, OTO_WAIT_NODES,
                        {{"node", TEXT, true}, {"spec", TEXT, true}}},
    [OTO_VERB_CLEAR_FAULTS] = {"clear_faults", OPERATE, CHANGES | OF_NODE | PAGE, OTO_WAIT_NODES,
                               {{"node", TEXT, true}, {"fault", U64, false}}},
    [OTO_VERB_CHECKPOINT] = {"checkpoint", ADMIN, PAGE, OTO_WAIT_DISK, {{"path", TEXT, true}}},
    [OTO_VERB_RESTORE] = {"restore", ADMIN, CHANGES, OTO_WAIT_DISK, {{"path", TEXT, true}}},
    [OTO_VERB_LOSSLESS] = {"lossless", OBSERVE, LOCAL, OTO_WAIT_REPLY, {{"channels", LIST, true}, {"first", U64, false}}},
    [OTO_VERB_ACK] = {"ack", OBSERVE, LOCAL, OTO_WAIT_NONE, {{"next", LIST, true}, {"first", U64, false}}},
    [OTO_VERB_JOIN] = {"join", OPERATE, CHANGES | LOCAL, OTO_WAIT_REPLY,
                       {{"name", TEXT, true},
                        {"role", TEXT, false},
                        {"on_timeout", TEXT, false},
                        {"step_n", U64, false},
                        {"timeout_ms", F64, false}}},
    [OTO_VERB_SHUTDOWN] = {"shutdown", ADMIN, 0, OTO_WAIT_REPLY, {{0}}},
};

enum oto_verb_id oto_verb_find(const char *op)
{
    int id = 0;
    while (id < OTO_VERB_COUNT && strcmp(oto_verbs[id].op, op) != 0) {
        id++;
    }
    return (enum oto_verb_id)id;
}

uint32_t oto_verb_argument_count(const struct oto_verb *verb)
{
    uint32_t count = 0;
    while (count < OTO_VERB_ARGUMENTS && verb->arguments[count].key != NULL) {
        count++;
    }
    return count;
}

/* The keys of a verb, for messages: "node, param, value". */
static const char *list_keys(const struct oto_verb *verb, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "%s", verb->arguments[0].key != NULL ? "" : "none");
    for (uint32_t i = 0; i < oto_verb_argument_count(verb) && used < bytes; i++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "", verb->arguments[i].key);
    }
    return text;
}

enum oto_status oto_verb_check(const struct oto_verb *verb, const struct oto_message *message, struct oto_error *error)
{
    const uint32_t count = oto_verb_argument_count(verb);
    uint32_t known = 0;
    char keys[256];
    for (uint32_t i = 0; i < count; i++) {
        const struct oto_verb_argument *argument = &verb->arguments[i];
        const struct oto_argument *found = oto_message_find(message, argument->key);
        known += found != NULL;
        const enum oto_status status = found != NULL || argument->required ? oto_message_check(message, argument->key, argument->kind, error) : OTO_OK;
        if (status != OTO_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < message->argument_count && known < message->argument_count; i++) {
        uint32_t k = 0;
        while (k < count && strcmp(verb->arguments[k].key, message->arguments[i].key) != 0) {
            k++;
        }
        if (k == count) {
            return oto_fail(error, OTO_INVALID, "'%s' has no argument '%s'; its arguments: %s", verb->op, message->arguments[i].key,
                            list_keys(verb, keys, sizeof keys));
        }
    }
    return OTO_OK;
}

void oto_verb_write(const struct oto_verb *verb, const struct oto_verb_value *values, struct oto_message_writer *writer)
{
    for (uint32_t i = 0; i < oto_verb_argument_count(verb); i++) {
        const struct oto_verb_argument *argument = &verb->arguments[i];
        if (values[i].absent || (argument->kind == TEXT && values[i].text == NULL)) {
            continue;
        }
        switch (argument->kind) {
        case TEXT: oto_message_add_text(writer, argument->key, values[i].text); break;
        case U64: oto_message_add_u64(writer, argument->key, values[i].u64); break;
        case F64: oto_message_add_f64(writer, argument->key, values[i].f64); break;
        case BOOL: oto_message_add_bool(writer, argument->key, values[i].flag); break;
        default: break;
        }
    }
}

static bool read_value(enum oto_argument_kind kind, const char *text, struct oto_verb_value *value)
{
    char *end = NULL;
    errno = 0;
    switch (kind) {
    case TEXT: value->text = text; return true;
    case U64: value->u64 = strtoull(text, &end, 10); return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
    case F64: value->f64 = strtod(text, &end); return end != text && *end == '\0' && isfinite(value->f64);
    case BOOL: value->flag = strcmp(text, "true") == 0; return value->flag || strcmp(text, "false") == 0;
    default: return false;
    }
}

enum oto_status oto_verb_read(const struct oto_verb *verb, const char *const *texts, uint32_t count, struct oto_verb_value *values,
                              struct oto_error *error)
{
    static const char *const kinds[] = {
        [TEXT] = "a text", [U64] = "a whole number", [F64] = "a finite number", [BOOL] = "true or false", [LIST] = "a list"};
    const uint32_t most = oto_verb_argument_count(verb);
    char keys[256];
    if (count > most) {
        return oto_fail(error, OTO_INVALID, "'%s' got %u arguments; its arguments: %s", verb->op, count,
                        list_keys(verb, keys, sizeof keys));
    }
    for (uint32_t i = 0; i < most; i++) {
        const struct oto_verb_argument *argument = &verb->arguments[i];
        values[i] = (struct oto_verb_value){.absent = i >= count || (texts[i][0] == '\0' && !(argument->kind == TEXT && argument->required))};
        if (values[i].absent && argument->required) {
            return oto_fail(error, OTO_INVALID, "'%s': the argument '%s' is missing; its arguments: %s", verb->op, argument->key,
                            list_keys(verb, keys, sizeof keys));
        }
        if (!values[i].absent && !read_value(argument->kind, texts[i], &values[i])) {
            return oto_fail(error, OTO_INVALID, "'%s': %s '%.40s' is not %s", verb->op, argument->key, texts[i], kinds[argument->kind]);
        }
    }
    return OTO_OK;
}
