#include <stdbool.h>

#include "descriptor_check.h"
#include "base/record_check.h"

static bool is_field_name(const char *name)
{
    const size_t length = name != NULL ? strnlen(name, OTO_FIELD_NAME_BYTES) : 0;
    return length > 0 && length < OTO_FIELD_NAME_BYTES && name[0] != '.' && name[length - 1] != '.' &&
           strstr(name, "..") == NULL &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == length;
}

/* "a" and "a.b" would make `a` both a number and a map. */
static bool names_clash(const char *a, const char *b)
{
    const size_t a_length = strlen(a), b_length = strlen(b);
    const size_t shorter = a_length < b_length ? a_length : b_length;
    if (memcmp(a, b, shorter) != 0) {
        return false;
    }
    return a_length == b_length || (a_length < b_length ? b : a)[shorter] == '.';
}

static bool fits(const char *text, size_t bytes)
{
    return text != NULL && strnlen(text, bytes) < bytes;
}

static enum oto_status check_field(const struct oto_record_type *type, uint32_t index, uint8_t *used, const char *where,
                                   struct oto_error *error)
{
    const struct oto_field *field = &type->fields[index];
    const uint32_t unit = oto_field_type_bytes(field->type);
    if (!is_field_name(field->name)) {
        return oto_fail(error, OTO_PLUGIN, "%s: field %u is called '%.60s', which is not 1 to 47 characters of "
                        "[A-Za-z0-9_] and single dots", where, index, field->name != NULL ? field->name : "(NULL)");
    }
    if (unit == 0 || field->count == 0 || field->count > OTO_RECORD_MAX_BYTES || field->offset % unit != 0 ||
        (uint64_t)field->offset + (uint64_t)field->count * unit > type->bytes) {
        return oto_fail(error, OTO_PLUGIN, "%s: field '%s' (type %u, count %u, offset %u) does not lie aligned within the "
                        "record's %u bytes", where, field->name, field->type, field->count, field->offset, type->bytes);
    }
    if (!fits(field->unit, OTO_FIELD_UNIT_BYTES) || !fits(field->frame, OTO_FIELD_FRAME_BYTES) || field->text == NULL) {
        return oto_fail(error, OTO_PLUGIN, "%s: field '%s' has a unit or frame that is absent or longer than 15 bytes, or no "
                        "text", where, field->name);
    }
    for (uint32_t i = 0; i < index; i++) {
        if (names_clash(type->fields[i].name, field->name)) {
            return oto_fail(error, OTO_PLUGIN, "%s: fields '%s' and '%s' clash", where, type->fields[i].name, field->name);
        }
    }
    for (uint32_t i = field->offset; i < field->offset + field->count * unit; i++) {
        if (used[i]++ != 0) {
            return oto_fail(error, OTO_PLUGIN, "%s: field '%s' overlaps another at byte %u", where, field->name, i);
        }
    }
    return OTO_OK;
}

enum oto_status oto_record_type_check(const struct oto_record_type *type, const char *where, struct oto_error *error)
{
    uint8_t used[OTO_RECORD_MAX_BYTES] = {0};
    if (type == NULL || type->fields == NULL || !fits(type->name, OTO_RECORD_NAME_BYTES) || type->name[0] == '\0') {
        return oto_fail(error, OTO_PLUGIN, "%s: its record type, its fields or a name of 1 to 31 bytes is missing", where);
    }
    if (type->bytes == 0 || type->bytes % 8 != 0 || type->bytes > OTO_RECORD_MAX_BYTES) {
        return oto_fail(error, OTO_PLUGIN, "%s: record '%s' has %u bytes; a multiple of 8 up to %d is accepted", where,
                        type->name, type->bytes, OTO_RECORD_MAX_BYTES);
    }
    if (type->field_count == 0 || type->field_count > OTO_RECORD_MAX_FIELDS) {
        return oto_fail(error, OTO_PLUGIN, "%s: record '%s' has %u fields; 1 to %d are accepted", where, type->name,
                        type->field_count, OTO_RECORD_MAX_FIELDS);
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        const enum oto_status status = check_field(type, i, used, where, error);
        if (status != OTO_OK) {
            return status;
        }
    }
    /* Types that have no frame are refused here rather than by every client later. */
    struct oto_error why;
    if (oto_wire_type_check(type, &why) != OTO_OK) {
        return oto_fail(error, OTO_PLUGIN, "%s: %.400s", where, why.text);
    }
    return OTO_OK;
}
