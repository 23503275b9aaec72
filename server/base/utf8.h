/* UTF-8 of RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Pure: any thread. */
#ifndef OTO_UTF8_H
#define OTO_UTF8_H

#include <stddef.h>

/* The number of leading bytes that are complete, valid characters; `bytes` for valid text. */
size_t oto_utf8_valid_bytes(const char *text, size_t bytes);

#endif
