#include "plugin/record_copy.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 256 };

static size_t text_bytes(const char *text)
{
    return (text != NULL ? strnlen(text, MOST_TEXT) : 0) + 1;
}

static const char *keep(char **at, const char *text)
{
    char *kept = *at;
    const size_t bytes = text_bytes(text) - 1;
    if (bytes > 0) {
        memcpy(kept, text, bytes);
    }
    kept[bytes] = '\0';
    *at += bytes + 1;
    return kept;
}

struct oto_record_type *oto_record_type_copy(const struct oto_record_type *type)
{
    size_t bytes = text_bytes(type->name);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        bytes += text_bytes(field->name) + text_bytes(field->unit) + text_bytes(field->frame) + text_bytes(field->text);
    }
    struct oto_record_type *copy = malloc(sizeof *copy + type->field_count * sizeof(struct oto_field) + bytes);
    if (copy == NULL) {
        return NULL;
    }
    struct oto_field *fields = (struct oto_field *)(void *)(copy + 1);
    char *at = (char *)(fields + type->field_count);
    *copy = (struct oto_record_type){keep(&at, type->name), type->bytes, type->field_count, fields};
    for (uint32_t i = 0; i < type->field_count; i++) {
        fields[i] = type->fields[i];
        fields[i].name = keep(&at, type->fields[i].name);
        fields[i].unit = keep(&at, type->fields[i].unit);
        fields[i].frame = keep(&at, type->fields[i].frame);
        fields[i].text = keep(&at, type->fields[i].text);
    }
    return copy;
}
