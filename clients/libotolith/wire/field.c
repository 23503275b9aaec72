#include "otolith/client.h"

#include <inttypes.h>
#include <math.h>

static size_t text_bytes(const struct oto_field *field, const unsigned char *at)
{
    const unsigned char *end = memchr(at, '\0', field->count);
    return end == NULL ? field->count : (size_t)(end - at);
}

static const unsigned char *element_at(const struct oto_field *field, const void *payload, uint32_t element)
{
    return (const unsigned char *)payload + field->offset + (size_t)element * oto_field_type_bytes(field->type);
}

/* Reads an element as the widest type of its kind. Little-endian, as in the segment. */
static uint64_t unsigned_at(const unsigned char *at, uint32_t bytes)
{
    uint64_t number = 0;
    memcpy(&number, at, bytes);
    return number;
}

static int64_t signed_at(const unsigned char *at, uint32_t bytes)
{
    const uint32_t unused_bits = 64u - 8u * bytes;
    return (int64_t)(unsigned_at(at, bytes) << unused_bits) >> unused_bits;
}

double oto_field_number(const struct oto_field *field, const void *payload, uint32_t element)
{
    const unsigned char *at = element_at(field, payload, element);
    const uint32_t bytes = oto_field_type_bytes(field->type);
    if (element >= field->count) {
        return (double)NAN;
    }
    switch (field->type) {
    case OTO_FIELD_U8:
    case OTO_FIELD_U16:
    case OTO_FIELD_U32:
    case OTO_FIELD_U64:
        return (double)unsigned_at(at, bytes);
    case OTO_FIELD_I8:
    case OTO_FIELD_I16:
    case OTO_FIELD_I32:
    case OTO_FIELD_I64:
        return (double)signed_at(at, bytes);
    case OTO_FIELD_F32: {
        float number;
        memcpy(&number, at, sizeof number);
        return (double)number;
    }
    case OTO_FIELD_F64: {
        double number;
        memcpy(&number, at, sizeof number);
        return number;
    }
    default:
        return (double)NAN;
    }
}

size_t oto_field_format(const struct oto_field *field, const void *payload, uint32_t element, char *text, size_t bytes)
{
    const unsigned char *at = element_at(field, payload, element);
    const uint32_t width = oto_field_type_bytes(field->type);
    int length = 0;
    if (bytes > 0) {
        text[0] = '\0';
    }
    if (element >= field->count) {
        return 0;
    }
    switch (field->type) {
    case OTO_FIELD_U8:
    case OTO_FIELD_U16:
    case OTO_FIELD_U32:
    case OTO_FIELD_U64:
        length = snprintf(text, bytes, "%" PRIu64, unsigned_at(at, width));
        break;
    case OTO_FIELD_I8:
    case OTO_FIELD_I16:
    case OTO_FIELD_I32:
    case OTO_FIELD_I64:
        length = snprintf(text, bytes, "%" PRId64, signed_at(at, width));
        break;
    case OTO_FIELD_F32: /* nine digits identify a float */
        length = snprintf(text, bytes, "%.9g", oto_field_number(field, payload, element));
        break;
    case OTO_FIELD_F64:
        length = snprintf(text, bytes, "%.17g", oto_field_number(field, payload, element));
        break;
    case OTO_FIELD_TEXT:
        length = snprintf(text, bytes, "%.*s", (int)text_bytes(field, at), (const char *)at);
        break;
    default:
        break;
    }
    return length < 0 ? 0 : (size_t)length;
}

size_t oto_field_column(const struct oto_field *field, uint32_t element, char *text, size_t bytes)
{
    const int length = field->count == 1 || field->type == OTO_FIELD_TEXT
                           ? snprintf(text, bytes, "%s", field->name)
                           : snprintf(text, bytes, "%s.%" PRIu32, field->name, element);
    return length < 0 ? 0 : (size_t)length;
}
