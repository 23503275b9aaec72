/*
 * Reads untrusted msgpack. A reader walks over bytes in place. It allocates nothing, does not recurse, and refuses a
 * count that the remaining bytes cannot hold. (A five-byte array header may claim 2^32 items; msgpack-c's unpacker
 * reserves gigabytes for it.) Pure: any thread, one reader each.
 */
#ifndef OTO_PACK_READ_H
#define OTO_PACK_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oto_pack_kind {
    OTO_PACK_NIL,
    OTO_PACK_BOOL,
    OTO_PACK_UNSIGNED, /* any integer >= 0, in any encoding */
    OTO_PACK_NEGATIVE,
    OTO_PACK_FLOAT, /* 32 or 64 bits */
    OTO_PACK_TEXT,
    OTO_PACK_BINARY,
    OTO_PACK_EXTENSION,
    OTO_PACK_ARRAY,
    OTO_PACK_MAP
};

/* One item: a scalar with its value, or the header of an array or map; the members follow as items. */
struct oto_pack_item {
    enum oto_pack_kind kind;
    uint32_t count;   /* bytes of TEXT, BINARY, EXTENSION; members of ARRAY; pairs of MAP */
    uint64_t number;  /* UNSIGNED, BOOL */
    int64_t negative; /* NEGATIVE */
    double real;      /* FLOAT */
    const char *data; /* TEXT, BINARY, EXTENSION: points into the bytes read; not NUL-terminated */
};

struct oto_pack_reader {
    const unsigned char *at, *end;
};

static inline struct oto_pack_reader oto_pack_reader_make(const void *data, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    return (struct oto_pack_reader){at, bytes == 0 ? at : at + bytes};
}

/* Reads the next item; false if the bytes are cut, claim too much, or are not msgpack. */
bool oto_pack_next(struct oto_pack_reader *reader, struct oto_pack_item *item);
/* Skips one whole value. */
bool oto_pack_skip(struct oto_pack_reader *reader);
/* Reads the next item; false unless it is of `kind`. */
bool oto_pack_expect(struct oto_pack_reader *reader, enum oto_pack_kind kind, struct oto_pack_item *item);
bool oto_pack_is_text(const struct oto_pack_item *item, const char *text);
/* The value of UNSIGNED, NEGATIVE or FLOAT as a double. */
bool oto_pack_real(const struct oto_pack_item *item, double *real);
/* Copies a TEXT that contains no NUL and fits into `bytes` with its terminating NUL. */
bool oto_pack_copy_text(const struct oto_pack_item *item, char *text, size_t bytes);

#endif
