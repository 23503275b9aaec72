#include "base/utf8.h"

/* The length of a character and the allowed range of its second byte (RFC 3629, section 4); 0: invalid first byte. */
static size_t character_bytes(unsigned char lead, unsigned char *low, unsigned char *high)
{
    *low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    *high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4) {
        return 0;
    }
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

size_t oto_utf8_valid_bytes(const char *text, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t done = 0;
    while (done < bytes) {
        unsigned char low, high;
        const size_t length = character_bytes(at[done], &low, &high);
        if (length == 0 || length > bytes - done) {
            return done;
        }
        for (size_t i = 1; i < length; i++) {
            if (at[done + i] < low || at[done + i] > high) {
                return done;
            }
            low = 0x80;
            high = 0xbf;
        }
        done += length;
    }
    return done;
}
