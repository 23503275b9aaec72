/*
 * FNV-1a-64 (Fowler, Noll, Vo), which identifies names and layouts: noise keys, record types, libraries. Not for
 * hostile input. Any thread.
 */
#ifndef OTOLITH_HASH_H
#define OTOLITH_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One step of FNV-1a-64 over bytes; start with OTO_FNV1A64_START. */
#define OTO_FNV1A64_START UINT64_C(0xcbf29ce484222325)
static inline uint64_t oto_fnv1a64_more(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *byte = (const unsigned char *)data;
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static inline uint64_t oto_fnv1a64_text(uint64_t hash, const char *text)
{
    size_t bytes = 0;
    while (text != NULL && text[bytes] != '\0') {
        bytes++;
    }
    return oto_fnv1a64_more(hash, text, bytes);
}

#ifdef __cplusplus
}
#endif

#endif
