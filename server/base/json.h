/*
 * Writes JSON, to a file or into memory. Separators are written as they are needed; the caller opens and closes objects and
 * lists, and passes the key of each member (NULL in a list). Texts are also safe for a terminal: control characters are
 * escaped, those beyond ASCII too. [any]
 */
#ifndef OTO_BASE_JSON_H
#define OTO_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OTO_JSON_CHARACTER_BYTES 8
#define OTO_DECIMAL_BYTES 32

enum oto_json_layout {
    OTO_JSON_LINE,    /* {"a": 1, "b": 2} */
    OTO_JSON_COMPACT, /* {"a":1,"b":2}, for messages: bytes of texts that are not UTF-8 become '?' */
    OTO_JSON_INDENTED /* a line for each member */
};

struct oto_json {
    FILE *to; /* NULL: the text is written into memory */
    enum oto_json_layout layout;
    int depth;
    bool started; /* the open object or list has a member */
    char *text; /* in memory, with a NUL; NULL: nothing was written yet */
    size_t bytes, room;
    bool failed; /* no memory: further calls do nothing */
};

/* Empties the text in memory, keeps its room, and begins again. */
void oto_json_clear(struct oto_json *json);
void oto_json_free(struct oto_json *json);

void oto_json_open(struct oto_json *json, const char *key, char bracket); /* '{' or '[' */
void oto_json_close(struct oto_json *json, char bracket);                 /* '}' or ']' */
void oto_json_text(struct oto_json *json, const char *key, const char *text); /* null if `text` is NULL */
void oto_json_number(struct oto_json *json, const char *key, double number); /* shortest form that reads back; null if not finite */
void oto_json_numbers(struct oto_json *json, const char *key, const double *numbers, uint32_t count); /* a list */
void oto_json_u64(struct oto_json *json, const char *key, uint64_t number);
void oto_json_i64(struct oto_json *json, const char *key, int64_t number);
void oto_json_flag(struct oto_json *json, const char *key, bool flag);
/* A value that the caller formats; a text of the format's own has its quotes in it. */
__attribute__((format(printf, 3, 4))) void oto_json_format(struct oto_json *json, const char *key, const char *format, ...);

/* Bytes after what was written last: the rest of a value that was begun by oto_json_format, or a line break. */
void oto_json_more(struct oto_json *json, const char *bytes, size_t count);

/* One value alone. */
void oto_json_put_text(FILE *to, const char *text);
void oto_json_put_number(FILE *to, double number);

/* Writes the form of the next byte or control character, with a NUL, and advances `text`. Returns its length. */
size_t oto_json_character(const char **text, char form[OTO_JSON_CHARACTER_BYTES]);
/* Writes a finite number in the shortest decimal form that reads back. Returns `text`. */
const char *oto_shortest_decimal(double number, char text[OTO_DECIMAL_BYTES]);

#endif
