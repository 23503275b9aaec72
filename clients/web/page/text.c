#include "page/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/utf8.h"

#define ROOM_FIRST 4096u

void web_text_clear(struct web_text *text)
{
    text->bytes = 0;
    text->failed = false;
}

void web_text_free(struct web_text *text)
{
    free(text->text);
    *text = (struct web_text){0};
}

static bool reserve(struct web_text *text, size_t more)
{
    size_t room = text->room > 0 ? text->room : ROOM_FIRST;
    while (room < text->bytes + more + 1) {
        room *= 2;
    }
    char *grown = text->failed || room == text->room ? text->text : realloc(text->text, room);
    if (grown == NULL || text->failed) {
        text->failed = true;
        return false;
    }
    text->text = grown;
    text->room = room;
    return true;
}

void web_text_add(struct web_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !reserve(text, (size_t)length)) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(text->text + text->bytes, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->bytes += (size_t)length;
}

static void add_bytes(struct web_text *text, const char *bytes, size_t count)
{
    if (reserve(text, count)) {
        memcpy(text->text + text->bytes, bytes, count);
        text->bytes += count;
        text->text[text->bytes] = 0;
    }
}

static void add_valid(struct web_text *text, const char *value, size_t bytes)
{
    char form[OTO_JSON_CHARACTER_BYTES];
    for (const char *end = value + bytes; value < end;) {
        const size_t length = oto_json_character(&value, form);
        add_bytes(text, form, length);
    }
}

void web_text_string(struct web_text *text, const char *value)
{
    size_t left = strlen(value);
    add_bytes(text, "\"", 1);
    while (left > 0) {
        const size_t valid = oto_utf8_valid_bytes(value, left);
        add_valid(text, value, valid);
        value += valid;
        left -= valid;
        if (left > 0) {
            add_bytes(text, "?", 1);
            value++;
            left--;
        }
    }
    add_bytes(text, "\"", 1);
}

void web_text_member(struct web_text *text, const char *key, const char *value)
{
    web_text_add(text, "\"%s\":", key);
    web_text_string(text, value);
    add_bytes(text, ",", 1);
}

void web_text_number(struct web_text *text, double value)
{
    if (isfinite(value)) {
        web_text_add(text, "%.17g", value);
    } else {
        add_bytes(text, "null", 4);
    }
}

void web_text_trim(struct web_text *text)
{
    if (text->bytes > 0 && text->text[text->bytes - 1] == ',') {
        text->text[--text->bytes] = 0;
    }
}
