#include "record_check.h"

#include <stdbool.h>

static const char *const type_texts[] = {"",    "u8",  "i8",  "u16", "i16", "u32",
                                         "i32", "u64", "i64", "f32", "f64", "text"};
#define TYPE_COUNT (sizeof type_texts / sizeof *type_texts)

const char *oto_field_type_text(uint32_t type)
{
    return type < TYPE_COUNT ? type_texts[type] : "";
}

uint32_t oto_field_type_by_text(const char *name, size_t bytes)
{
    for (uint32_t type = 1; type < TYPE_COUNT; type++) {
        if (strlen(type_texts[type]) == bytes && memcmp(type_texts[type], name, bytes) == 0) {
            return type;
        }
    }
    return 0;
}

static bool is_text(const char *text, size_t capacity)
{
    return text != NULL && strnlen(text, capacity) < capacity;
}

static bool is_name(const char *name)
{
    bool in_segment = false;
    for (const char *at = name; *at != '\0'; at++) {
        const bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
                            *at == '_';
        if (!letter && (*at != '.' || !in_segment)) {
            return false;
        }
        in_segment = letter;
    }
    return in_segment;
}

static bool is_under(const char *name, const char *group)
{
    const size_t bytes = strlen(group);
    return strncmp(name, group, bytes) == 0 && (name[bytes] == '\0' || name[bytes] == '.');
}

static enum oto_status check_field(const struct oto_record_type *type, const struct oto_field *field,
                                   struct oto_error *error)
{
    if (!is_text(field->name, OTO_FIELD_NAME_BYTES) || !is_name(field->name)) {
        return oto_fail(error, OTO_INVALID,
                        "record '%s': field %u has no name of letters, digits and '_' joined by dots, at most %d bytes",
                        type->name, (unsigned)(field - type->fields), OTO_FIELD_NAME_BYTES - 1);
    }
    if (is_under(field->name, "header") || is_under(field->name, "otolith")) {
        return oto_fail(error, OTO_INVALID, "record '%s': the name of field '%s' is reserved for the wire frame",
                        type->name, field->name);
    }
    const uint32_t bytes = oto_field_type_bytes(field->type);
    if (bytes == 0) {
        return oto_fail(error, OTO_INVALID, "record '%s': field '%s' is of the unknown type %u; known are 1 to 11",
                        type->name, field->name, field->type);
    }
    if (field->count == 0 || field->offset > type->bytes || field->offset % bytes != 0 ||
        field->count > (type->bytes - field->offset) / bytes) {
        return oto_fail(error, OTO_INVALID,
                        "record '%s': field '%s' (%u × %u bytes at %u) is not aligned within the record's %u bytes",
                        type->name, field->name, field->count, bytes, field->offset, type->bytes);
    }
    if (!is_text(field->unit, OTO_FIELD_UNIT_BYTES) || !is_text(field->frame, OTO_FIELD_FRAME_BYTES) ||
        !is_text(field->text, SIZE_MAX)) {
        return oto_fail(error, OTO_INVALID, "record '%s': the unit, frame or text of field '%s' is missing or too long",
                        type->name, field->name);
    }
    return OTO_OK;
}

/*
 * Number of bytes in the leading segments that two names share, each segment with its dot. The end of a name counts like a
 * dot, as one byte.
 */
static size_t shared_segments(const char *a, const char *b)
{
    size_t shared = 0;
    for (size_t i = 0;; i++) {
        const bool a_ends = a[i] == '\0' || a[i] == '.', b_ends = b[i] == '\0' || b[i] == '.';
        if (a_ends && b_ends) {
            shared = i + 1;
        }
        if (a[i] != b[i] || a[i] == '\0') {
            return shared;
        }
    }
}

/* Refuses a name that equals another or is the map of another, and members of one map that are not adjacent. */
static enum oto_status check_names(const struct oto_record_type *type, struct oto_error *error)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const char *name = type->fields[i].name;
        const size_t bytes = strlen(name);
        size_t shared_before = SIZE_MAX;
        for (uint32_t k = i + 1; k < type->field_count; k++) {
            const char *other = type->fields[k].name;
            const size_t shared = shared_segments(name, other);
            if (shared > bytes || (shared > 0 && other[shared - 1] == '\0')) {
                return oto_fail(error, OTO_INVALID, "record '%s': fields '%s' and '%s' exclude each other", type->name,
                                name, other);
            }
            if (shared > shared_before) {
                return oto_fail(error, OTO_INVALID, "record '%s': field '%s' must be adjacent to '%s', in one map",
                                type->name, other, name);
            }
            shared_before = shared;
        }
    }
    return OTO_OK;
}

enum oto_status oto_wire_type_check(const struct oto_record_type *type, struct oto_error *error)
{
    if (!is_text(type->name, OTO_RECORD_NAME_BYTES) || type->name[0] == '\0') {
        return oto_fail(error, OTO_INVALID, "a record type has no name of 1 to %d bytes", OTO_RECORD_NAME_BYTES - 1);
    }
    if (type->bytes == 0 || type->bytes % 8 != 0 || type->bytes > OTO_RECORD_MAX_BYTES) {
        return oto_fail(error, OTO_LIMIT, "record '%s' has %u bytes; a multiple of 8 up to %d is accepted", type->name,
                        type->bytes, OTO_RECORD_MAX_BYTES);
    }
    if (type->field_count == 0 || type->field_count > OTO_RECORD_MAX_FIELDS || type->fields == NULL) {
        return oto_fail(error, OTO_LIMIT, "record '%s' has %u fields; 1 to %d are accepted", type->name,
                        type->field_count, OTO_RECORD_MAX_FIELDS);
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        const enum oto_status status = check_field(type, &type->fields[i], error);
        if (status != OTO_OK) {
            return status;
        }
    }
    return check_names(type, error);
}
