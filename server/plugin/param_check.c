#include <math.h>
#include <stdbool.h>

#include "descriptor_check.h"

#define KNOWN_FLAGS (OTO_PARAM_RUNTIME | OTO_PARAM_SCALAR_FILLS | OTO_PARAM_RATE | OTO_PARAM_REQUIRED | OTO_PARAM_OPEN_MIN)

/* The table under check: the parameters of the block, or the items of the list `list`. */
struct table {
    const struct oto_param *params;
    uint32_t count;
    uint64_t bytes;
    const char *list;
};

static enum oto_status check_table(const struct table *table, struct oto_error *error);

uint64_t oto_param_bytes(const struct oto_param *param)
{
    switch (param->type) {
    case OTO_PARAM_F64:
    case OTO_PARAM_I64:
    case OTO_PARAM_BOOL: return 8 * (uint64_t)param->count;
    case OTO_PARAM_TEXT:
    case OTO_PARAM_PATH: return param->count;
    case OTO_PARAM_LIST: return 8 + param->count * param->item_bytes;
    default: return 0;
    }
}

static bool is_key(const char *key)
{
    const size_t length = key != NULL ? strnlen(key, PLUGIN_KEY_BYTES) : 0;
    return length > 0 && length < PLUGIN_KEY_BYTES && key[0] != '.' && key[length - 1] != '.' &&
           strstr(key, "..") == NULL &&
           strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == length;
}

/* True if `a` equals `b`, or if one is a section of the other along `separator`. */
static bool paths_clash(const char *a, const char *b, char separator)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b || (*a == '\0' && *b == separator) || (*b == '\0' && *a == separator);
}

static enum oto_status fail(const struct table *table, const struct oto_param *param, struct oto_error *error,
                            const char *sentence)
{
    const char *key = param->key != NULL ? param->key : param->alias != NULL ? param->alias : "(NULL)";
    return oto_fail(error, OTO_PLUGIN, "parameter '%s%s%.96s': %s", table->list, table->list[0] != '\0' ? "[]." : "", key,
                    sentence);
}

static bool is_named(const struct oto_param *param, double value)
{
    for (uint32_t i = 0; i < param->name_count; i++) {
        if (param->names[i].value == value) {
            return true;
        }
    }
    return false;
}

static const char *check_names(const struct oto_param *param)
{
    if (param->name_count > 64 || (param->name_count > 0 && param->names == NULL)) {
        return "it has more than 64 named values or no table of them";
    }
    if (param->name_count > 0 && param->type != OTO_PARAM_F64 && param->type != OTO_PARAM_I64) {
        return "only F64 and I64 have named values";
    }
    for (uint32_t i = 0; i < param->name_count; i++) {
        const struct oto_named_value *named = &param->names[i];
        if (named->name == NULL || named->name[0] == '\0' || !isfinite(named->value)) {
            return "a named value has no name or is not finite";
        }
        if (param->type == OTO_PARAM_I64 && named->value != trunc(named->value)) {
            return "a named value of an I64 is not a whole number";
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(param->names[k].name, named->name) == 0) {
                return "two of its named values have the same name";
            }
        }
    }
    return NULL;
}

static const char *check_default(const struct oto_param *param)
{
    const double value = param->default_value;
    const bool text = param->type == OTO_PARAM_TEXT || param->type == OTO_PARAM_PATH;
    if (text) {
        const bool fits = param->default_text == NULL || strnlen(param->default_text, param->count) < param->count;
        return fits ? NULL : "its default text is longer than it may be";
    }
    if ((param->flags & OTO_PARAM_REQUIRED) != 0 || param->type == OTO_PARAM_LIST) {
        return NULL;
    }
    if (!isfinite(value) || (param->type != OTO_PARAM_F64 && value != trunc(value))) {
        return "its default is not finite, or not whole where it must be";
    }
    if (param->type == OTO_PARAM_BOOL) {
        return value == 0 || value == 1 ? NULL : "its default is neither 0 nor 1";
    }
    if (is_named(param, value)) {
        return NULL;
    }
    if (param->type == OTO_PARAM_I64 && param->name_count > 0) {
        return "its default is none of its named values";
    }
    const bool bounded = param->minimum != 0 || param->maximum != 0;
    if (bounded && (value < param->minimum || value > param->maximum ||
                    (value == param->minimum && (param->flags & OTO_PARAM_OPEN_MIN) != 0))) {
        return "its default is out of its range";
    }
    return NULL;
}

static const char *check_shape(const struct oto_param *param)
{
    if (param->type < OTO_PARAM_F64 || param->type > OTO_PARAM_IGNORED) {
        return "its type is unknown";
    }
    if (param->type == OTO_PARAM_IGNORED) {
        return param->alias != NULL ? NULL : "an IGNORED parameter is an alias and has none";
    }
    if (!is_key(param->key)) {
        return "its key is not 1 to 95 characters of [A-Za-z0-9_] and single dots";
    }
    if (param->count == 0 || (param->flags & ~KNOWN_FLAGS) != 0 || param->unit == NULL || param->text == NULL) {
        return "it has no count, an unknown flag, or no unit or text (an empty string stands for none)";
    }
    if ((param->flags & OTO_PARAM_RATE) != 0 && (param->type != OTO_PARAM_F64 || param->count != 1)) {
        return "a rate is one F64";
    }
    if (!isfinite(param->minimum) || !isfinite(param->maximum) || param->minimum > param->maximum) {
        return "its range is not finite, or its minimum exceeds its maximum";
    }
    const char *names = check_names(param);
    return names != NULL ? names : check_default(param);
}

static const char *check_place(const struct table *table, uint32_t index)
{
    const struct oto_param *param = &table->params[index];
    if (param->count > PLUGIN_MAX_PARAMS_BYTES || param->item_bytes > PLUGIN_MAX_PARAMS_BYTES ||
        param->offset % 8 != 0 || param->offset + oto_param_bytes(param) > table->bytes) {
        return "it is not aligned to 8 or exceeds its block";
    }
    for (uint32_t i = 0; i < index; i++) {
        const struct oto_param *other = &table->params[i];
        if (other->type == OTO_PARAM_IGNORED) {
            continue;
        }
        if (param->offset < other->offset + oto_param_bytes(other) &&
            other->offset < param->offset + oto_param_bytes(param)) {
            return "it overlaps another parameter in its block";
        }
        if (paths_clash(other->key, param->key, '.')) {
            return "its key equals another key or is a section of it";
        }
    }
    return NULL;
}

static const char *check_alias(const struct table *table, uint32_t index)
{
    const char *alias = table->params[index].alias;
    for (uint32_t i = 0; alias != NULL && i < index; i++) {
        if (table->params[i].alias != NULL && paths_clash(table->params[i].alias, alias, '/')) {
            return "its alias equals another alias or is a section of it";
        }
    }
    return alias == NULL || alias[0] != '\0' ? NULL : "its alias is empty";
}

static enum oto_status check_list(const struct table *table, const struct oto_param *param, struct oto_error *error)
{
    if (table->list[0] != '\0') {
        return fail(table, param, error, "a list within a list is not supported");
    }
    if (param->item_count == 0 || param->item_count > PLUGIN_MAX_PARAMS || param->items == NULL ||
        param->item_bytes == 0 || param->item_bytes % 8 != 0) {
        return fail(table, param, error, "a list has a table of items and a multiple of 8 bytes for each");
    }
    const struct table items = {param->items, param->item_count, param->item_bytes, param->key};
    return check_table(&items, error);
}

static enum oto_status check_table(const struct table *table, struct oto_error *error)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct oto_param *param = &table->params[i];
        const char *wrong = check_shape(param);
        if (wrong == NULL && param->type != OTO_PARAM_IGNORED) {
            wrong = check_place(table, i);
        }
        if (wrong == NULL) {
            wrong = check_alias(table, i);
        }
        if (wrong != NULL) {
            return fail(table, param, error, wrong);
        }
        if (param->type == OTO_PARAM_LIST) {
            const enum oto_status status = check_list(table, param, error);
            if (status != OTO_OK) {
                return status;
            }
        }
    }
    return OTO_OK;
}

enum oto_status oto_param_table_check(const struct oto_param *params, uint32_t count, uint64_t block_bytes,
                                      struct oto_error *error)
{
    const struct table table = {params, count, block_bytes, ""};
    return check_table(&table, error);
}
