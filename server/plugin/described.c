#include "described.h"

#include <stdbool.h>

#define DEPTH_MAX 8u
#define ONE UINT32_MAX
#define ENDED (UINT32_MAX - 1) /* count_offset of rows that are pointers: a NULL pointer ends them */
#define FIRST 8u               /* offset of the outermost rows; offset 0 stands for NULL, so nothing is stored there */

/* Lists what the pointers of a struct refer to. */
struct shape;
struct link {
    uint32_t offset;       /* offset of the pointer */
    uint32_t count_offset; /* offset of the uint32_t that counts the rows; or ONE row; or ENDED */
    const struct shape *rows; /* NULL: the pointer refers to a text */
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

struct text {
    const char *text;
};
static const struct link text_links[] = {TEXT(text, text)};
static const struct shape text_shape = SHAPE(text, text_links);
static const struct link input_links[] = {TEXT(oto_input_port, name), TEXT(oto_input_port, text),
                                          {(uint32_t)offsetof(struct oto_input_port, fields), ENDED, &text_shape}};
static const struct shape input_shape = SHAPE(oto_input_port, input_links);
static const struct link estimator_links[] = {ROWS(oto_estimator_extension, inputs, input_count, &input_shape)};
static const struct shape estimator_shape = SHAPE(oto_estimator_extension, estimator_links);
static const struct link description_links[] = {
    {(uint32_t)offsetof(struct oto_description, descriptor), ONE, &descriptor_shape},
    ROWS(oto_description, estimator, estimators, &estimator_shape)};
static const struct shape description_shape = SHAPE(oto_description, description_links);
static const struct link binding_links[] = {TEXT(oto_input_binding, name),
                                            {(uint32_t)offsetof(struct oto_input_binding, type), ONE, &record_shape},
                                            TEXT(oto_input_binding, topic), TEXT(oto_input_binding, frame_id)};
static const struct shape binding_shape = SHAPE(oto_input_binding, binding_links);

/* Counts the rows at `to`; at most `room` bytes may be read there. */
static uint32_t rows_of(const struct link *link, const unsigned char *row, const unsigned char *to, uint64_t room)
{
    uint32_t count = 1;
    if (link->count_offset == ENDED) {
        uint64_t word = 1;
        for (count = 0; word != 0 && (count + 1) * sizeof word <= room; count++) {
            memcpy(&word, to + count * sizeof word, sizeof word);
        }
        count = word == 0 || room == 0 ? count : UINT32_MAX; /* UINT32_MAX: the rows do not end within `room` */
    } else if (link->count_offset != ONE) {
        memcpy(&count, row + link->count_offset, sizeof count);
    }
    return count;
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

struct packer {
    unsigned char *room; /* NULL: only the size is computed */
    size_t bytes, used;
};

/* Appends bytes; returns their offset, or 0 if there is no room. */
static uint64_t append(struct packer *packer, const void *from, uint64_t bytes)
{
    const size_t start = (packer->used + 7) / 8 * 8;
    if (start > packer->bytes || bytes > packer->bytes - start) {
        return 0;
    }
    if (packer->room != NULL) {
        memcpy(packer->room + start, from, bytes);
    }
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
    const uint32_t count = rows_of(link, row, to, UINT64_MAX);
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
        for (uint32_t k = 0; k < shape->link_count; k++) {
            uint64_t to = 0;
            if (!pack_link(packer, &shape->links[k], row, depth, &to)) {
                return false;
            }
            if (packer->room != NULL) {
                memcpy(packer->room + *offset + (size_t)i * shape->bytes + shape->links[k].offset, &to, sizeof to);
            }
        }
    }
    return true;
}

enum oto_status oto_description_pack(const struct oto_description *description, void *room, size_t room_bytes,
                                     size_t *used, struct oto_error *error)
{
    struct packer packer = {room, room_bytes, FIRST};
    struct oto_description plain = *description;
    struct oto_estimator_extension tables = {0};
    uint64_t offset = 0;
    if (description->estimator != NULL) { /* the functions of the extension are left out */
        tables = *description->estimator;
        tables.states = NULL;
        plain.estimator = &tables;
    }
    if (!pack(&packer, &description_shape, &plain, 1, 0, &offset)) {
        return oto_fail(error, OTO_LIMIT, "the tables of plugin '%.40s' take more than %zu bytes",
                        description->descriptor->id, room_bytes);
    }
    *used = packer.used;
    return OTO_OK;
}

size_t oto_bindings_pack(const struct oto_input_binding *bindings, uint32_t count, void *room)
{
    struct packer packer = {room, SIZE_MAX, FIRST};
    uint64_t offset = 0;
    (void)pack(&packer, &binding_shape, bindings, count, 0, &offset);
    return packer.used;
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

/*
 * Refuses bytes that packing cannot have written: every reference must point forward to the next free offset, so that
 * nothing is shared and nothing overlaps.
 */
struct unpacker {
    unsigned char *bytes;
    uint64_t count;
    uint64_t next; /* offset of the next object before alignment */
};

/* Consumes the next `bytes`, which must begin at `offset`. */
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
    memcpy(&offset, row + link->offset, sizeof offset);
    if (offset >= unpacker->count) {
        return false;
    }
    const unsigned char *to = unpacker->bytes + offset;
    const uint32_t count = rows_of(link, row, to, offset != 0 ? unpacker->count - offset : 0);
    if (offset == 0) {
        return link->rows == NULL || (link->count_offset != ONE && count == 0);
    }
    memcpy(row + link->offset, &to, sizeof to);
    if (link->rows == NULL) {
        const size_t room = (size_t)(unpacker->count - offset), length = strnlen((const char *)to, room);
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

enum oto_status oto_description_unpack(void *packed, size_t bytes, const struct oto_description **description,
                                       struct oto_error *error)
{
    struct unpacker unpacker = {packed, bytes, FIRST};
    if (!unpack(&unpacker, &description_shape, FIRST, 1, 0)) {
        return oto_fail(error, OTO_CORRUPT, "the description of a plugin has an invalid reference");
    }
    *description = (const void *)((const unsigned char *)packed + FIRST);
    return OTO_OK;
}

const struct oto_input_binding *oto_bindings_unpack(void *packed, size_t bytes, uint32_t count)
{
    struct unpacker unpacker = {packed, bytes, FIRST};
    return unpack(&unpacker, &binding_shape, FIRST, count, 0) ? (const void *)((const unsigned char *)packed + FIRST)
                                                              : NULL;
}
