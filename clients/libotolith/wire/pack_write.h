/*
 * Writes text with msgpack-c's packer as valid UTF-8: an invalid byte becomes '?'. Invalid bytes occur because texts
 * are cut at fixed sizes and plugins write any bytes. Pure: any thread.
 */
#ifndef OTO_PACK_WRITE_H
#define OTO_PACK_WRITE_H

#include <msgpack/pack.h>
#include <string.h>

#include "base/utf8.h"

static inline void oto_pack_text_bytes(msgpack_packer *packer, const char *text, size_t bytes)
{
    (void)msgpack_pack_str(packer, bytes);
    while (bytes > 0) {
        const size_t valid = oto_utf8_valid_bytes(text, bytes);
        (void)msgpack_pack_str_body(packer, text, valid);
        text += valid;
        bytes -= valid;
        if (bytes > 0) {
            (void)msgpack_pack_str_body(packer, "?", 1);
            text++;
            bytes--;
        }
    }
}

static inline void oto_pack_text(msgpack_packer *packer, const char *text)
{
    oto_pack_text_bytes(packer, text, strlen(text));
}

#endif
