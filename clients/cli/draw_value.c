#include "draw_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "otolith/rng.h"

enum law { UNIFORM, LOG_UNIFORM, NORMAL };

struct drawing {
    struct oto_rng_key key;
    uint64_t element;
    char *text;
    size_t bytes, used;
};

static double uniform(struct drawing *drawing)
{
    return oto_u01(oto_rng_block(drawing->key, drawing->element++, 0, 0, OTO_RNG_DOMAIN_WORLD).v[0]);
}

static double normal(struct drawing *drawing)
{
    return oto_normal_from_bits(oto_rng_block(drawing->key, drawing->element++, 0, 0, OTO_RNG_DOMAIN_WORLD).v[0]);
}

static void put(struct drawing *drawing, const char *text)
{
    const int length = snprintf(drawing->text + drawing->used, drawing->bytes - drawing->used, "%s", text);
    drawing->used += length > 0 ? (size_t)length : 0;
    drawing->used = drawing->used < drawing->bytes ? drawing->used : drawing->bytes - 1;
}

static double draw_number(struct drawing *drawing, enum law law, const double ends[2])
{
    switch (law) {
    case NORMAL: return ends[0] + ends[1] * normal(drawing);
    case LOG_UNIFORM: return ends[0] * oto_exp(oto_log(ends[1] / ends[0]) * uniform(drawing));
    case UNIFORM: break;
    }
    return ends[0] + (ends[1] - ends[0]) * uniform(drawing);
}

static enum oto_status draw_pair(struct drawing *drawing, const struct oto_value *range, enum law law, struct oto_error *error)
{
    double ends[2];
    char number[40];
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && i < 2; i++) {
        status = oto_value_f64(range->items[i], &ends[i], error);
    }
    if (status == OTO_OK && law == LOG_UNIFORM && (ends[0] <= 0.0 || ends[1] <= 0.0)) {
        status = oto_value_fail(range, error, OTO_RANGE, "log_uniform draws between two positive numbers");
    }
    if (status == OTO_OK) {
        (void)snprintf(number, sizeof number, "%.12g", draw_number(drawing, law, ends));
        put(drawing, number);
    }
    return status;
}

/* Draws a number for [a, b], or a list of one number for each pair of [[a, b], [c, d], …]. */
static enum oto_status draw_numbers(struct drawing *drawing, const struct oto_value *range, enum law law, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    if (range->kind == OTO_VALUE_LIST && range->count > 0 && range->count <= 16 && range->items[0]->kind == OTO_VALUE_LIST) {
        for (uint32_t i = 0; status == OTO_OK && i < range->count; i++) {
            put(drawing, i == 0 ? "[" : ", ");
            status = draw_numbers(drawing, range->items[i], law, error);
        }
        put(drawing, "]");
        return status;
    }
    if (range->kind != OTO_VALUE_LIST || range->count != 2) {
        return oto_value_expected(range, error, law == NORMAL ? "[mean, sigma], or a list of such" : "[low, high], or a list of such");
    }
    return draw_pair(drawing, range, law, error);
}

static enum oto_status draw_word(struct drawing *drawing, const struct oto_value *words, struct oto_error *error)
{
    const char *word;
    if (words->kind != OTO_VALUE_LIST || words->count == 0) {
        return oto_value_expected(words, error, "a list of words");
    }
    const uint32_t index = (uint32_t)(uniform(drawing) * words->count);
    const enum oto_status status = oto_value_text(words->items[index], &word, error);
    if (status == OTO_OK) {
        put(drawing, word);
    }
    return status;
}

enum oto_status cli_draw_value(const struct oto_value *law, uint64_t seed, char *text, size_t bytes, struct oto_error *error)
{
    static const char *const names[] = {"uniform", "log_uniform", "normal"};
    const struct oto_value *kind = law->kind == OTO_VALUE_MAP && law->count == 1 ? law->items[0] : NULL;
    struct drawing drawing = {.key = oto_rng_key_make(seed, law->key), .text = text, .bytes = bytes};
    text[0] = '\0';
    for (uint32_t i = 0; kind != NULL && i < sizeof names / sizeof *names; i++) {
        if (strcmp(kind->key, names[i]) == 0) {
            return draw_numbers(&drawing, kind, (enum law)i, error);
        }
    }
    if (kind != NULL && strcmp(kind->key, "choose") == 0) {
        return draw_word(&drawing, kind, error);
    }
    return oto_value_expected(law, error,
                              "{uniform: [low, high]}, {log_uniform: [low, high]}, {normal: [mean, sigma]} or {choose: [word, …]}");
}

/* ---- YAML ---- */

/* Writes a text in single quotes, or with the escapes of JSON if it has control characters. */
static void write_quoted(FILE *to, const char *text)
{
    if (strpbrk(text, "\n\r\t") != NULL) {
        oto_json_put_text(to, text);
        return;
    }
    (void)fputc('\'', to);
    for (const char *c = text; *c != '\0'; c++) {
        (void)fputs(*c == '\'' ? "''" : (const char[]){*c, '\0'}, to);
    }
    (void)fputc('\'', to);
}

static void write_text(FILE *to, const char *text, bool quoted)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
    if (!quoted && text[strspn(text, plain)] == '\0') {
        (void)fputs(text, to);
    } else {
        write_quoted(to, text);
    }
}

void cli_value_yaml(FILE *to, const struct oto_value *value)
{
    const bool is_map = value->kind == OTO_VALUE_MAP;
    if (value->kind == OTO_VALUE_SCALAR) {
        write_text(to, oto_value_is_null(value) ? "null" : value->text, value->quoted);
        return;
    }
    (void)fputc(is_map ? '{' : '[', to);
    for (uint32_t i = 0; i < value->count; i++) {
        (void)fputs(i > 0 ? ", " : "", to);
        if (is_map) {
            write_text(to, value->items[i]->key, false);
            (void)fputs(": ", to);
        }
        cli_value_yaml(to, value->items[i]);
    }
    (void)fputc(is_map ? '}' : ']', to);
}

static void scalar_json(struct oto_json *json, const char *key, const struct oto_value *value)
{
    char *end;
    const double number = strtod(value->text, &end);
    if (!value->quoted && end != value->text && *end == '\0' && isfinite(number)) {
        oto_json_number(json, key, number);
    } else if (!value->quoted && (strcmp(value->text, "true") == 0 || strcmp(value->text, "false") == 0)) {
        oto_json_flag(json, key, value->text[0] == 't');
    } else {
        oto_json_text(json, key, value->text);
    }
}

void cli_value_json(struct oto_json *json, const char *key, const struct oto_value *value)
{
    const bool is_map = value->kind == OTO_VALUE_MAP;
    if (value->kind == OTO_VALUE_SCALAR) {
        scalar_json(json, key, value);
        return;
    }
    oto_json_open(json, key, is_map ? '{' : '[');
    for (uint32_t i = 0; i < value->count; i++) {
        cli_value_json(json, is_map ? value->items[i]->key : NULL, value->items[i]);
    }
    oto_json_close(json, is_map ? '}' : ']');
}
