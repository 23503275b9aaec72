/*
 * Text from files, servers and plugins for a terminal: valid UTF-8 without control characters. Everything else (C0 and C1
 * controls, line separators, marks that change the writing direction, bytes that are not UTF-8) is written as \xNN, byte
 * by byte, so that foreign text can neither move the cursor nor hide what follows. Pure. [any]
 */
#ifndef OTO_BASE_PLAIN_TEXT_H
#define OTO_BASE_PLAIN_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Cut to whole characters where `bytes` are too few; always ended by NUL. Returns `plain`. */
const char *oto_plain_text(const char *text, char *plain, size_t bytes);
void oto_plain_text_put(FILE *to, const char *text);

#endif
