#include "described.h"

#include <stdbool.h>

#define DEPTH_MAX 8u
#define ONE UINT32_MAX

/* What the members of a struct refer to. */
struct shape;
struct link {
    uint32_t offset;       /* of the pointer */
    uint32_t count_offset; /* of the uint32_t that counts the rows; ONE: there is one */
    const struct shape *rows; /* NULL: a text */
};
struct shape {
    uint32_t bytes;
    uint32_t link_count;
    const struct link *links;
};

#define TEXT(type, member) {(uint32_t)offsetof(struct type, member), ONE, NULL}
#define ROWS(type, member, count, shape) {(uint32_t)offsetof(struct type, member), (uint32_t)offsetof(struct type, count), shape}
#define SHAPE(type, links) {(uint32_t)sizeof(struct type), (uint32_t)(sizeof(links) / sizeof *(links)), links}

static const struct link field_links[] = {TEXT(oto_field, name), TEXT(oto_field, unit), TEXT(oto_field, frame),
                                          TEXT(oto_field, text)};
static const struct shape field_shape = SHAPE(oto_field, field_links);
static const struct link record_links[] = {TEXT(oto_record_type, name),
                                           ROWS(oto_record_type, fields, field_count, &field_shape)};
static const struct shape record_shape = SHAPE(oto_record_type, record_links);
static const struct link port_links[] = {TEXT(oto_port, name),
                                         {(uint32_t)offsetof(struct oto_port, type), ONE, &record_shape}};
static const struct shape port_shape = SHAPE(oto_port, port_links);
static const struct link named_links[] = {TEXT(oto_named_value, name)};
static const struct shape named_shape = SHAPE(oto_named_value, named_links);
static const struct shape param_shape;
static const struct link param_links[] = {TEXT(oto_param, key),
                                          TEXT(oto_param, default_text),
                                          TEXT(oto_param, unit),
                                          TEXT(oto_param, text),
                                          TEXT(oto_param, alias),
                                          ROWS(oto_param, names, name_count, &named_shape),
                                          ROWS(oto_param, items, item_count, &param_shape)};
static const struct shape param_shape = SHAPE(oto_param, param_links);
static const struct link descriptor_links[] = {
    TEXT(oto_plugin_descriptor, id),      TEXT(oto_plugin_descriptor, kind),
    TEXT(oto_plugin_descriptor, version), TEXT(oto_plugin_descriptor, text),
    ROWS(oto_plugin_descriptor, outputs, output_count, &port_shape),
    ROWS(oto_plugin_descriptor, params, param_count, &param_shape)};
static const struct shape descriptor_shape = SHAPE(oto_plugin_descriptor, descriptor_links);

static uint32_t rows_of(const struct link *link, const unsigned char *row)
{
    uint32_t count = 1;
    if (link->count_offset != ONE) {
        memcpy(&count, row + link->count_offset, sizeof count);
    }
    return count;
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

struct packer {
    unsigned char *room;
    size_t bytes, used;
};

/* Copies bytes behind what is there; 0 when there is no room. */
static uint64_t append(struct packer *packer, const void *from, uint64_t bytes)
{
    const size_t start = (packer->used + 7) / 8 * 8;
    if (start > packer->bytes || bytes > packer->bytes - start) {
        return 0;
    }
    memcpy(packer->room + start, from, bytes);
    packer->used = start + (size_t)bytes;
    return start;
}

static bool pack(struct packer *packer, const struct shape *shape, const void *rows, uint32_t count, uint32_t depth,
                 uint64_t *offset);

static bool pack_link(struct packer *packer, const struct link *link, const unsigned char *row, uint32_t depth,
                      uint64_t *offset)
{
    const void *to = NULL;
    memcpy(&to, row + link->offset, sizeof to);
    *offset = 0;
    if (to == NULL) {
        return true;
    }
    if (link->rows == NULL) {
        *offset = append(packer, to, strlen(to) + 1);
        return *offset != 0;
    }
    const uint32_t count = rows_of(link, row);
    return count == 0 || pack(packer, link->rows, to, count, depth + 1, offset);
}

static bool pack(struct packer *packer, const struct shape *shape, const void *rows, uint32_t count, uint32_t depth,
                 uint64_t *offset)
{
    *offset = append(packer, rows, (uint64_t)shape->bytes * count);
    if (*offset == 0 || depth > DEPTH_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *row = (const unsigned char *)rows + (size_t)i * shape->bytes;
        unsigned char *copy = packer->room + *offset + (size_t)i * shape->bytes;
        for (uint32_t k = 0; k < shape->link_count; k++) {
            uint64_t to = 0;
            if (!pack_link(packer, &shape->links[k], row, depth, &to)) {
                return false;
            }
            memcpy(copy + shape->links[k].offset, &to, sizeof to);
        }
    }
    return true;
}

enum oto_status oto_descriptor_pack(const struct oto_plugin_descriptor *descriptor, void *room, size_t room_bytes,
                                    size_t *used, struct oto_error *error)
{
    struct packer packer = {room, room_bytes, 8}; /* nothing stands at 0, which says NULL */
    uint64_t offset = 0;
    if (!pack(&packer, &descriptor_shape, descriptor, 1, 0, &offset)) {
        return oto_fail(error, OTO_LIMIT, "the tables of plugin '%.40s' take more than %zu bytes", descriptor->id, room_bytes);
    }
    *used = packer.used;
    return OTO_OK;
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

/* Everything stands where packing would have put it: nothing is shared, nothing overlaps, every reference goes forward. */
struct unpacker {
    unsigned char *bytes;
    uint64_t count;
    uint64_t next; /* where the next thing begins, before it is aligned */
};

/* Takes the next `bytes`, which must be at `offset`. */
static bool advance(struct unpacker *unpacker, uint64_t offset, uint64_t bytes)
{
    if (offset != (unpacker->next + 7) / 8 * 8 || offset > unpacker->count || bytes > unpacker->count - offset) {
        return false;
    }
    unpacker->next = offset + bytes;
    return true;
}

static bool unpack(struct unpacker *unpacker, const struct shape *shape, uint64_t offset, uint32_t count, uint32_t depth);

static bool unpack_link(struct unpacker *unpacker, const struct link *link, unsigned char *row, uint32_t depth)
{
    uint64_t offset = 0;
    const uint32_t count = rows_of(link, row);
    memcpy(&offset, row + link->offset, sizeof offset);
    if (offset == 0) {
        return link->rows == NULL || (link->count_offset != ONE && count == 0);
    }
    if (offset >= unpacker->count) {
        return false;
    }
    const void *to = unpacker->bytes + offset;
    memcpy(row + link->offset, &to, sizeof to);
    if (link->rows == NULL) {
        const size_t room = (size_t)(unpacker->count - offset), length = strnlen(to, room);
        return length < room && advance(unpacker, offset, length + 1);
    }
    return unpack(unpacker, link->rows, offset, count, depth + 1);
}

static bool unpack(struct unpacker *unpacker, const struct shape *shape, uint64_t offset, uint32_t count, uint32_t depth)
{
    if (depth > DEPTH_MAX || !advance(unpacker, offset, (uint64_t)shape->bytes * count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < shape->link_count; k++) {
            if (!unpack_link(unpacker, &shape->links[k], unpacker->bytes + offset + (uint64_t)i * shape->bytes, depth)) {
                return false;
            }
        }
    }
    return true;
}

enum oto_status oto_descriptor_unpack(void *packed, size_t bytes, const struct oto_plugin_descriptor **descriptor,
                                      struct oto_error *error)
{
    struct unpacker unpacker = {packed, bytes, 8};
    if (!unpack(&unpacker, &descriptor_shape, 8, 1, 0)) {
        return oto_fail(error, OTO_CORRUPT, "the description of a plugin refers to what it does not hold");
    }
    *descriptor = (const void *)((const unsigned char *)packed + 8);
    return OTO_OK;
}
