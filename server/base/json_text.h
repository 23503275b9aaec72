/*
 * The two forms of JSON that need care: texts and numbers. Texts are also safe for a terminal: control characters are escaped, those
 * beyond ASCII too. [any]
 */
#ifndef OTO_BASE_JSON_TEXT_H
#define OTO_BASE_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

#define OTO_JSON_CHARACTER_BYTES 8
#define OTO_DECIMAL_BYTES 32

/* Writes the form of the next byte or control character, with a NUL, and advances `text`. Returns its length. */
size_t oto_json_character(const char **text, char form[OTO_JSON_CHARACTER_BYTES]);
/* Writes a text with its quotes. */
void oto_json_text(FILE *to, const char *text);
/* Writes a finite number in the shortest decimal form that reads back. Returns `text`. */
const char *oto_shortest_decimal(double number, char text[OTO_DECIMAL_BYTES]);

#endif
