#include "base/plain_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { ESCAPE_BYTES = 4, ROOM = 8 };

static bool is_continuation(unsigned char c)
{
    return (c & 0xc0u) == 0x80u;
}

/* Length and code point of the UTF-8 character at `c`; length 0 if it is invalid (RFC 3629). */
static size_t decode(const unsigned char *c, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t bytes = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
    *code = bytes <= 1 ? c[0] : c[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (!is_continuation(c[i])) {
            return 0;
        }
        *code = *code << 6 | (c[i] & 0x3fu);
    }
    const bool valid = *code >= least[bytes] && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff);
    return valid ? bytes : 0;
}

static bool is_plain(uint32_t code)
{
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const bool separator = code == 0x2028 || code == 0x2029;
    const bool direction = code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                           (code >= 0x2066 && code <= 0x2069);
    return !control && !separator && !direction;
}

/* Writes the next character, or the escape of the next byte, to `out`; returns its length and advances `text`. */
static size_t next(const char **text, char out[ROOM])
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *c = (const unsigned char *)*text;
    uint32_t code = 0;
    const size_t bytes = decode(c, &code);
    if (bytes > 0 && is_plain(code)) {
        memcpy(out, c, bytes);
        *text += bytes;
        return bytes;
    }
    out[0] = '\\';
    out[1] = 'x';
    out[2] = digits[c[0] >> 4];
    out[3] = digits[c[0] & 15u];
    *text += 1;
    return ESCAPE_BYTES;
}

const char *oto_plain_text(const char *text, char *plain, size_t bytes)
{
    size_t used = 0;
    while (*text != '\0') {
        char character[ROOM];
        const size_t length = next(&text, character);
        if (used + length >= bytes) {
            break;
        }
        memcpy(plain + used, character, length);
        used += length;
    }
    plain[used] = '\0';
    return plain;
}

void oto_plain_text_put(FILE *to, const char *text)
{
    while (*text != '\0') {
        char character[ROOM];
        (void)fwrite(character, 1, next(&text, character), to);
    }
}
