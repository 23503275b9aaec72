/*
 * Makes text from files, servers and plugins safe for a terminal: valid UTF-8 without control characters. Everything
 * else (C0 and C1 controls, line separators, marks that change the writing direction, bytes that are not UTF-8) is
 * written as \xNN, byte by byte, so that foreign text can neither move the cursor nor hide text. Pure. [any]
 */
#ifndef OTO_BASE_PLAIN_TEXT_H
#define OTO_BASE_PLAIN_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Writes the safe text, cut to whole characters if `bytes` are too few, always NUL-terminated. Returns `plain`. */
const char *oto_plain_text(const char *text, char *plain, size_t bytes);
void oto_plain_text_put(FILE *to, const char *text);

#endif
