#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define ROOM_FIRST 4096u

static bool reserve(struct oto_json *json, size_t more)
{
    size_t room = json->room > 0 ? json->room : ROOM_FIRST;
    while (room < json->bytes + more + 1) {
        room *= 2;
    }
    char *grown = json->failed || room == json->room ? json->text : realloc(json->text, room);
    if (grown == NULL || json->failed) {
        json->failed = true;
        return false;
    }
    json->text = grown;
    json->room = room;
    return true;
}

void oto_json_more(struct oto_json *json, const char *bytes, size_t count)
{
    if (json->to != NULL) {
        (void)fwrite(bytes, 1, count, json->to);
    } else if (reserve(json, count)) {
        memcpy(json->text + json->bytes, bytes, count);
        json->bytes += count;
        json->text[json->bytes] = '\0';
    }
}

static void put_line(struct oto_json *json)
{
    if (json->layout == OTO_JSON_INDENTED) {
        oto_json_more(json, "\n", 1);
        for (int i = 0; i < json->depth; i++) {
            oto_json_more(json, "  ", 2);
        }
    }
}

/* Characters that need no escape are written at once. */
static void put_escaped(struct oto_json *json, const char *text, size_t bytes)
{
    char form[OTO_JSON_CHARACTER_BYTES];
    for (const char *end = text + bytes; text < end;) {
        size_t plain = 0;
        while (text + plain < end && text[plain] >= ' ' && text[plain] < 0x7f && text[plain] != '"' &&
               text[plain] != '\\') {
            plain++;
        }
        oto_json_more(json, text, plain);
        text += plain;
        if (text == end) {
            return;
        }
        const size_t length = oto_json_character(&text, form);
        oto_json_more(json, form, length);
    }
}

/* Writes the separator from the previous member, and the key. */
static void put_key(struct oto_json *json, const char *key)
{
    if (json->started) {
        oto_json_more(json, ", ", json->layout == OTO_JSON_LINE ? 2 : 1);
    }
    if (json->depth > 0) {
        put_line(json);
        json->started = true;
    }
    if (key != NULL) {
        oto_json_more(json, "\"", 1);
        put_escaped(json, key, strlen(key));
        oto_json_more(json, "\": ", json->layout == OTO_JSON_COMPACT ? 2 : 3);
    }
}

void oto_json_clear(struct oto_json *json)
{
    json->bytes = 0;
    json->depth = 0;
    json->started = json->failed = false;
}

void oto_json_free(struct oto_json *json)
{
    free(json->text);
    json->text = NULL;
    json->room = 0;
    oto_json_clear(json);
}

void oto_json_open(struct oto_json *json, const char *key, char bracket)
{
    put_key(json, key);
    oto_json_more(json, &bracket, 1);
    json->depth++;
    json->started = false;
}

void oto_json_close(struct oto_json *json, char bracket)
{
    json->depth--;
    put_line(json);
    oto_json_more(json, &bracket, 1);
    json->started = json->depth > 0;
}

void oto_json_text(struct oto_json *json, const char *key, const char *text)
{
    if (text == NULL) {
        oto_json_format(json, key, "null");
        return;
    }
    size_t left = strlen(text);
    put_key(json, key);
    oto_json_more(json, "\"", 1);
    while (left > 0) {
        const size_t valid = json->layout == OTO_JSON_COMPACT ? oto_utf8_valid_bytes(text, left) : left;
        put_escaped(json, text, valid);
        text += valid;
        left -= valid;
        if (left > 0) {
            oto_json_more(json, "?", 1);
            text++;
            left--;
        }
    }
    oto_json_more(json, "\"", 1);
}

void oto_json_number(struct oto_json *json, const char *key, double number)
{
    char text[OTO_DECIMAL_BYTES] = "null";
    put_key(json, key);
    if (isfinite(number)) {
        (void)oto_shortest_decimal(number, text);
    }
    oto_json_more(json, text, strlen(text));
}

void oto_json_numbers(struct oto_json *json, const char *key, const double *numbers, uint32_t count)
{
    oto_json_open(json, key, '[');
    for (uint32_t i = 0; i < count; i++) {
        oto_json_number(json, NULL, numbers[i]);
    }
    oto_json_close(json, ']');
}

void oto_json_u64(struct oto_json *json, const char *key, uint64_t number)
{
    oto_json_format(json, key, "%" PRIu64, number);
}

void oto_json_i64(struct oto_json *json, const char *key, int64_t number)
{
    oto_json_format(json, key, "%" PRId64, number);
}

void oto_json_flag(struct oto_json *json, const char *key, bool flag)
{
    put_key(json, key);
    oto_json_more(json, flag ? "true" : "false", flag ? 4 : 5);
}

void oto_json_format(struct oto_json *json, const char *key, const char *format, ...)
{
    va_list arguments;
    put_key(json, key);
    va_start(arguments, format);
    const int length = json->to != NULL ? vfprintf(json->to, format, arguments) : vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (json->to == NULL && length >= 0 && reserve(json, (size_t)length)) {
        va_start(arguments, format);
        (void)vsnprintf(json->text + json->bytes, (size_t)length + 1, format, arguments);
        va_end(arguments);
        json->bytes += (size_t)length;
    }
}

void oto_json_put_text(FILE *to, const char *text)
{
    oto_json_text(&(struct oto_json){.to = to}, NULL, text);
}

void oto_json_put_number(FILE *to, double number)
{
    oto_json_number(&(struct oto_json){.to = to}, NULL, number);
}

size_t oto_json_character(const char **text, char form[OTO_JSON_CHARACTER_BYTES])
{
    const unsigned char *at = (const unsigned char *)*text;
    const bool is_high = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0; /* U+0080 to U+009f */
    const unsigned char c = is_high ? at[1] : at[0];
    *text += is_high ? 2 : 1;
    if (is_high || c < 0x20 || c == 0x7f) {
        return (size_t)(c == '\n' ? snprintf(form, OTO_JSON_CHARACTER_BYTES, "\\n") : snprintf(form, OTO_JSON_CHARACTER_BYTES, "\\u%04x", c));
    }
    size_t length = 0;
    if (c == '"' || c == '\\') {
        form[length++] = '\\';
    }
    form[length++] = (char)c;
    form[length] = '\0';
    return length;
}

const char *oto_shortest_decimal(double number, char text[OTO_DECIMAL_BYTES])
{
    for (int digits = 15; digits <= 17; digits++) { /* a decimal of at most 15 digits is found by the first turn */
        (void)snprintf(text, OTO_DECIMAL_BYTES, "%.*g", digits, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    return text;
}
