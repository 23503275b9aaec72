/* Converts values of a document to a parameter block. [loop] */
#include <unistd.h>

#include "descriptor_check.h"
#include "params.h"

/* "a number for 'gyroscope.range_rad_s' (rad/s)" */
static enum oto_status expected(const struct param_binding *binding, const struct oto_param *param,
                                const struct oto_value *value, const char *what)
{
    char text[256];
    const char *unit = param->unit != NULL ? param->unit : "";
    (void)snprintf(text, sizeof text, "%s for '%s'%s%s%s", what, param->key, unit[0] != '\0' ? " (" : "", unit,
                   unit[0] != '\0' ? ")" : "");
    return oto_value_expected(value, binding->error, text);
}

/* "mems, mavs" */
static void list_names(const struct oto_param *param, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < param->name_count && used + 1 < bytes; i++) {
        const int written = snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "", param->names[i].name);
        used += written > 0 ? (size_t)written : 0;
    }
}

static const struct oto_named_value *named_value(const struct oto_param *param, const struct oto_value *value)
{
    for (uint32_t i = 0; value->kind == OTO_VALUE_SCALAR && i < param->name_count; i++) {
        if (strcmp(param->names[i].name, value->text) == 0) {
            return &param->names[i];
        }
    }
    return NULL;
}

static enum oto_status check_range(const struct param_binding *binding, const struct oto_param *param,
                                   const struct oto_value *value, double number)
{
    const bool open = (param->flags & OTO_PARAM_OPEN_MIN) != 0;
    const bool unbounded = param->minimum == 0 && param->maximum == 0;
    if (unbounded || (number <= param->maximum && (open ? number > param->minimum : number >= param->minimum))) {
        return OTO_OK;
    }
    return oto_value_fail(value, binding->error, OTO_RANGE, "'%s' is %s; %s %g to %g%s%s is accepted", param->key,
                          value->text, open ? "more than" : "from", param->minimum, param->maximum,
                          param->unit != NULL && param->unit[0] != '\0' ? " " : "",
                          param->unit != NULL ? param->unit : "");
}

static enum oto_status bind_f64(const struct param_binding *binding, const struct oto_param *param,
                                const struct oto_value *value, uint8_t *at)
{
    const struct oto_named_value *named = named_value(param, value);
    double number = named != NULL ? named->value : 0;
    if (named == NULL) {
        if (oto_value_f64(value, &number, NULL) != OTO_OK) {
            char what[160] = "a finite number", names[96];
            list_names(param, names, sizeof names);
            if (param->name_count > 0) {
                (void)snprintf(what, sizeof what, "a finite number or one of %s", names);
            }
            return expected(binding, param, value, what);
        }
        if (check_range(binding, param, value, number) != OTO_OK) {
            return OTO_RANGE;
        }
    }
    memcpy(at, &number, sizeof number);
    return OTO_OK;
}

static enum oto_status bind_i64(const struct param_binding *binding, const struct oto_param *param,
                                const struct oto_value *value, uint8_t *at)
{
    const struct oto_named_value *named = named_value(param, value);
    int64_t number = named != NULL ? (int64_t)named->value : 0;
    if (named == NULL && param->name_count > 0) {
        char what[160], names[128];
        list_names(param, names, sizeof names);
        (void)snprintf(what, sizeof what, "one of %s", names);
        return expected(binding, param, value, what);
    }
    /* In a required parameter the smallest number means "not set", so it is no valid value. */
    if (named == NULL && (oto_value_i64(value, &number, NULL) != OTO_OK || number == INT64_MIN)) {
        return expected(binding, param, value, "a whole number");
    }
    if (named == NULL && check_range(binding, param, value, (double)number) != OTO_OK) {
        return OTO_RANGE;
    }
    memcpy(at, &number, sizeof number);
    return OTO_OK;
}

static enum oto_status bind_bool(const struct param_binding *binding, const struct oto_param *param,
                                 const struct oto_value *value, uint8_t *at)
{
    bool flag = false;
    if (oto_value_bool(value, &flag, NULL) != OTO_OK) {
        return expected(binding, param, value, "true or false");
    }
    const int64_t number = flag ? 1 : 0;
    memcpy(at, &number, sizeof number);
    return OTO_OK;
}

static enum oto_status store_text(const struct param_binding *binding, const struct oto_param *param,
                                  const struct oto_value *value, const char *text, uint8_t *at)
{
    const size_t length = strlen(text);
    if (length >= param->count) {
        return oto_value_fail(value, binding->error, OTO_LIMIT, "'%s' has %zu bytes; at most %u are accepted", param->key,
                              length, param->count - 1);
    }
    if (length == 0 && (param->flags & OTO_PARAM_REQUIRED) != 0) {
        return expected(binding, param, value, "a text that is not empty");
    }
    memset(at, 0, param->count);
    memcpy(at, text, length);
    return OTO_OK;
}

static enum oto_status bind_text(const struct param_binding *binding, const struct oto_param *param,
                                 const struct oto_value *value, uint8_t *at)
{
    const char *text = NULL;
    if (oto_value_text(value, &text, NULL) != OTO_OK) {
        return expected(binding, param, value, "a text");
    }
    return store_text(binding, param, value, text, at);
}

/* Values of the command line ("--set …") have no file: their relative paths start at the working directory. */
static size_t directory_length(const struct param_binding *binding, const struct oto_value *value)
{
    const char *slash = strrchr(value->file, '/');
    const bool in_file = !binding->from_directory && strncmp(value->file, "--", 2) != 0;
    return in_file && slash != NULL ? (size_t)(slash - value->file) + 1 : 0;
}

static enum oto_status bind_path(const struct param_binding *binding, const struct oto_param *param,
                                 const struct oto_value *value, uint8_t *at)
{
    const char *text = NULL;
    if (oto_value_text(value, &text, NULL) != OTO_OK) {
        return expected(binding, param, value, "a path");
    }
    if (text[0] == '/' || text[0] == '\0') {
        return store_text(binding, param, value, text, at);
    }
    while (text[0] == '.' && text[1] == '/') {
        text += 2 + strspn(text + 2, "/");
    }
    const size_t base = directory_length(binding, value);
    char cwd[4096] = "", whole[8192];
    if ((base == 0 || value->file[0] != '/') && getcwd(cwd, sizeof cwd) == NULL) {
        return oto_value_fail(value, binding->error, OTO_IO, "'%s' is a relative path, and the working directory has been removed",
                              param->key);
    }
    const int written = snprintf(whole, sizeof whole, "%s%s%.*s%s", cwd, cwd[0] != '\0' && cwd[1] != '\0' ? "/" : "",
                                 (int)base, value->file, text);
    if (written < 0 || (size_t)written >= sizeof whole) {
        return oto_value_fail(value, binding->error, OTO_LIMIT, "the path of '%s' is too long", param->key);
    }
    return store_text(binding, param, value, whole, at);
}

static enum oto_status bind_item(const struct param_binding *binding, const struct oto_param *param,
                                 const struct oto_value *value, uint8_t *item)
{
    static const struct param_path root = {"", ""};
    const struct param_table items = {param->items, param->item_count};
    if (value->kind != OTO_VALUE_MAP) {
        return expected(binding, param, value, "a map in the list");
    }
    memset(item, 0, param->item_bytes);
    param_fill_defaults(items, item);
    const enum oto_status status = param_bind_map(binding, items, &root, value, item);
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_param *missing = param_missing(items, item);
    return missing == NULL ? OTO_OK : oto_value_fail(value, binding->error, OTO_INVALID, "an item of '%s' needs '%s': %s",
                                                     param->key, missing->key, missing->text);
}

static enum oto_status bind_list(const struct param_binding *binding, const struct oto_param *param,
                                 const struct oto_value *value, uint8_t *at)
{
    if (value->kind != OTO_VALUE_LIST) {
        return expected(binding, param, value, "a list of maps");
    }
    if (value->count > param->count) {
        return oto_value_fail(value, binding->error, OTO_LIMIT, "'%s' has %u items; at most %u are accepted", param->key,
                              value->count, param->count);
    }
    memset(at, 0, oto_param_bytes(param));
    for (uint32_t i = 0; i < value->count; i++) {
        const enum oto_status status = bind_item(binding, param, value->items[i], at + 8 + i * param->item_bytes);
        if (status != OTO_OK) {
            return status;
        }
    }
    const uint64_t length = value->count;
    memcpy(at, &length, sizeof length);
    return OTO_OK;
}

/* The binding function of each type, and whether the type has elements. */
static const struct {
    enum oto_status (*bind)(const struct param_binding *binding, const struct oto_param *param,
                            const struct oto_value *value, uint8_t *at);
    bool elements;
    const char *plural;
} types[] = {
    [OTO_PARAM_F64] = {bind_f64, true, "numbers"},      [OTO_PARAM_I64] = {bind_i64, true, "whole numbers"},
    [OTO_PARAM_BOOL] = {bind_bool, true, "true or false"}, [OTO_PARAM_TEXT] = {bind_text, false, ""},
    [OTO_PARAM_PATH] = {bind_path, false, ""},          [OTO_PARAM_LIST] = {bind_list, false, ""},
};

static enum oto_status bind_elements(const struct param_binding *binding, const struct oto_param *param,
                                     const struct oto_value *value, uint8_t *at)
{
    const bool fills = value->kind == OTO_VALUE_SCALAR && (param->flags & OTO_PARAM_SCALAR_FILLS) != 0;
    if (!fills && (value->kind != OTO_VALUE_LIST || value->count != param->count)) {
        char what[96], count[32] = "";
        if (value->kind == OTO_VALUE_LIST) {
            (void)snprintf(count, sizeof count, ", not %u,", value->count);
        }
        (void)snprintf(what, sizeof what, "%sa list of %u%s %s",
                       (param->flags & OTO_PARAM_SCALAR_FILLS) != 0 ? "one value or " : "", param->count, count,
                       types[param->type].plural);
        return expected(binding, param, value, what);
    }
    for (uint32_t i = 0; i < param->count; i++) {
        const struct oto_value *element = fills ? value : value->items[i];
        const enum oto_status status = types[param->type].bind(binding, param, element, at + 8 * (size_t)i);
        if (status != OTO_OK) {
            return status;
        }
    }
    return OTO_OK;
}

enum oto_status param_bind_value(const struct param_binding *binding, const struct oto_param *param,
                                 const struct oto_value *value, int64_t element, uint8_t *block)
{
    uint8_t *at = block + param->offset;
    if (binding->running && (param->flags & OTO_PARAM_RUNTIME) == 0) {
        return oto_fail(binding->error, OTO_DENIED, "'%s' of plugin '%s' cannot change while the world runs; set it in the "
                        "world's file", param->key, binding->plugin);
    }
    if (element >= 0) {
        if (!types[param->type].elements || element >= param->count || param->count == 1) {
            return oto_fail(binding->error, OTO_RANGE, "'%s.%lld' does not exist: '%s' has %s", param->key,
                            (long long)element, param->key,
                            types[param->type].elements && param->count > 1 ? "fewer elements" : "no elements");
        }
        return types[param->type].bind(binding, param, value, at + 8 * (size_t)element);
    }
    if (types[param->type].elements && param->count > 1) {
        return bind_elements(binding, param, value, at);
    }
    return types[param->type].bind(binding, param, value, at);
}
