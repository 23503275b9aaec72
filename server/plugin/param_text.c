/* Writes parameters as YAML flow text that binds to the same bits. [loop] */
#include <locale.h>
#include <math.h>

#include "base/json.h"
#include "params.h"

/* Text with a limit. `used` counts beyond it, so that a cut is detected. */
struct writer {
    char *text;
    size_t bytes, used;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format, ...)
{
    const size_t at = writer->used < writer->bytes ? writer->used : writer->bytes;
    va_list arguments;
    va_start(arguments, format);
    const int written = vsnprintf(writer->text + at, writer->bytes - at, format, arguments);
    va_end(arguments);
    writer->used += written > 0 ? (size_t)written : 0;
}

static bool put_name(struct writer *writer, const struct oto_param *param, double value)
{
    for (uint32_t i = 0; i < param->name_count; i++) {
        if (param->names[i].value == value) {
            put(writer, "%s", param->names[i].name);
            return true;
        }
    }
    return false;
}

static void put_f64(struct writer *writer, const struct oto_param *param, const uint8_t *at)
{
    double value;
    char text[OTO_DECIMAL_BYTES];
    memcpy(&value, at, sizeof value);
    if (put_name(writer, param, value)) {
        return;
    }
    if (!isfinite(value)) {
        put(writer, "null"); /* required and not set */
        return;
    }
    put(writer, "%s", oto_shortest_decimal(value, text));
}

static void put_i64(struct writer *writer, const struct oto_param *param, const uint8_t *at)
{
    int64_t value;
    memcpy(&value, at, sizeof value);
    if (value == INT64_MIN) {
        put(writer, "null");
    } else if (param->type == OTO_PARAM_BOOL) {
        put(writer, "%s", value != 0 ? "true" : "false");
    } else if (!put_name(writer, param, (double)value)) {
        put(writer, "%lld", (long long)value);
    }
}

static void put_text(struct writer *writer, const struct oto_param *param, const uint8_t *at)
{
    put(writer, "\"");
    for (uint32_t i = 0; i < param->count && at[i] != '\0'; i++) {
        if (at[i] == '"' || at[i] == '\\') {
            put(writer, "\\%c", at[i]);
        } else if (at[i] < 0x20 || at[i] == 0x7f) {
            put(writer, "\\x%02x", at[i]);
        } else {
            put(writer, "%c", at[i]);
        }
    }
    put(writer, "\"");
}

static void put_value(struct writer *writer, const struct oto_param *param, const uint8_t *block);

static void put_list(struct writer *writer, const struct oto_param *param, const uint8_t *at)
{
    uint64_t length;
    memcpy(&length, at, sizeof length);
    put(writer, "[");
    for (uint64_t i = 0; i < length && i < param->count; i++) {
        put(writer, "%s{", i > 0 ? ", " : "");
        for (uint32_t k = 0; k < param->item_count; k++) {
            if (param->items[k].type != OTO_PARAM_IGNORED) {
                put(writer, "%s%s: ", k > 0 ? ", " : "", param->items[k].key);
                put_value(writer, &param->items[k], at + 8 + i * param->item_bytes);
            }
        }
        put(writer, "}");
    }
    put(writer, "]");
}

static void put_element(struct writer *writer, const struct oto_param *param, const uint8_t *at)
{
    if (param->type == OTO_PARAM_F64) {
        put_f64(writer, param, at);
    } else {
        put_i64(writer, param, at);
    }
}

static void put_value(struct writer *writer, const struct oto_param *param, const uint8_t *block)
{
    const uint8_t *at = block + param->offset;
    if (param->type == OTO_PARAM_LIST) {
        put_list(writer, param, at);
    } else if (param->type == OTO_PARAM_TEXT || param->type == OTO_PARAM_PATH) {
        put_text(writer, param, at);
    } else if (param->count == 1) {
        put_element(writer, param, at);
    } else {
        for (uint32_t i = 0; i < param->count; i++) {
            put(writer, "%s", i > 0 ? ", " : "[");
            put_element(writer, param, at + 8 * (size_t)i);
        }
        put(writer, "]");
    }
}

static enum oto_status no_such(const struct oto_plugin_descriptor *descriptor, const char *key, struct oto_error *error)
{
    static const struct param_path root = {"", ""};
    const struct param_table table = {descriptor->params, descriptor->param_count};
    struct param_path path = {"", ""};
    char suggestion[200];
    (void)param_path_join(&root, key, &path);
    param_suggest(table, param_is_section(table, &path) ? &path : &root, &path, suggestion, sizeof suggestion);
    return oto_fail(error, OTO_NOT_FOUND, "plugin '%s' has no parameter '%.96s'%s", descriptor->id, key, suggestion);
}

enum oto_status oto_params_get(const struct oto_plugin_descriptor *descriptor, const char *key,
                               const struct oto_params *params, char *text, size_t text_bytes, struct oto_error *error)
{
    struct writer writer = {text, text_bytes, 0};
    int64_t element = -1;
    const struct oto_param *param =
        param_lookup((struct param_table){descriptor->params, descriptor->param_count}, key, &element);
    if (param == NULL || (element >= 0 && (param->type > OTO_PARAM_BOOL || element >= param->count))) {
        return no_such(descriptor, key, error);
    }
    /*
     * The decimal point must not depend on the locale of the program. glibc's "C" locale is static: nothing needs to be
     * freed.
     */
    const locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    if (element >= 0) {
        put_element(&writer, param, (const uint8_t *)params->block + param->offset + 8 * element);
    } else {
        put_value(&writer, param, params->block);
    }
    (void)uselocale(before);
    if (writer.used < text_bytes) {
        return OTO_OK;
    }
    if (text_bytes >= 4) {
        memcpy(text + text_bytes - 4, "...", 4);
    }
    return oto_fail(error, OTO_LIMIT, "the value of '%s' has %zu bytes of text, there is room for %zu", key, writer.used,
                    text_bytes);
}
