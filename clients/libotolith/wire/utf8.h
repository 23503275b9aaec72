/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing over U+10FFFF. Pure: any thread. */
#ifndef OTO_UTF8_H
#define OTO_UTF8_H

#include <stddef.h>

/* How many of `bytes` bytes from the start are whole, valid characters; all of them in valid text. */
size_t oto_utf8_valid_bytes(const char *text, size_t bytes);

#endif
