#include "sim/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t numbers_of(const struct oto_field *field)
{
    return field->type == OTO_FIELD_TEXT ? 0 : field->count;
}

enum oto_status srv_comparison_init(const struct oto_record_type *type, struct srv_comparison *comparison,
                                    struct oto_error *error)
{
    *comparison = (struct srv_comparison){.type = type};
    for (uint32_t i = 0; i < type->field_count; i++) {
        comparison->element_count += numbers_of(&type->fields[i]);
    }
    comparison->elements = calloc((size_t)comparison->element_count + 1, sizeof *comparison->elements);
    return comparison->elements != NULL ? OTO_OK
                                        : oto_fail(error, OTO_NO_MEMORY, "no memory to compare %u numbers",
                                                   comparison->element_count);
}

void srv_comparison_finish(struct srv_comparison *comparison)
{
    free(comparison->elements);
    *comparison = (struct srv_comparison){.type = NULL};
}

#define NUMBER(kind)                                                                                                   \
    {                                                                                                                  \
        kind number;                                                                                                   \
        memcpy(&number, at, sizeof number);                                                                            \
        return (double)number;                                                                                         \
    }

static double number_at(uint32_t type, const unsigned char *at)
{
    switch (type) {
    case OTO_FIELD_U8: NUMBER(uint8_t)
    case OTO_FIELD_I8: NUMBER(int8_t)
    case OTO_FIELD_U16: NUMBER(uint16_t)
    case OTO_FIELD_I16: NUMBER(int16_t)
    case OTO_FIELD_U32: NUMBER(uint32_t)
    case OTO_FIELD_I32: NUMBER(int32_t)
    case OTO_FIELD_U64: NUMBER(uint64_t)
    case OTO_FIELD_I64: NUMBER(int64_t)
    case OTO_FIELD_F32: NUMBER(float)
    default: NUMBER(double)
    }
}

void srv_comparison_add(struct srv_comparison *comparison, const void *a, const void *b)
{
    struct srv_difference *at = comparison->elements;
    for (uint32_t i = 0; i < comparison->type->field_count; i++) {
        const struct oto_field *field = &comparison->type->fields[i];
        const uint32_t bytes = oto_field_type_bytes(field->type);
        for (uint32_t k = 0; k < numbers_of(field); k++, at++) {
            const size_t offset = field->offset + (size_t)k * bytes;
            const double x = number_at(field->type, (const unsigned char *)a + offset);
            const double y = number_at(field->type, (const unsigned char *)b + offset);
            const double apart = x > y ? x - y : y - x;
            at->largest = apart > at->largest ? apart : at->largest;
            at->sum_sq += apart * apart;
        }
    }
    comparison->samples++;
}

const struct oto_field *srv_comparison_worst(const struct srv_comparison *comparison, uint32_t *element,
                                             struct srv_difference *difference)
{
    const struct oto_field *worst = NULL;
    uint32_t place = 0;
    for (uint32_t i = 0; comparison->samples > 0 && i < comparison->type->field_count; i++) {
        const struct oto_field *field = &comparison->type->fields[i];
        for (uint32_t k = 0; k < numbers_of(field); k++, place++) {
            if (worst == NULL || comparison->elements[place].largest > difference->largest) {
                worst = field;
                *element = k;
                *difference = comparison->elements[place];
            }
        }
    }
    return worst;
}

void srv_comparison_text(const struct srv_comparison *comparison, char *text, size_t bytes)
{
    const struct srv_difference *at = comparison->elements;
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; comparison->samples > 0 && i < comparison->type->field_count; i++) {
        const struct oto_field *field = &comparison->type->fields[i];
        for (uint32_t k = 0; k < numbers_of(field); k++, at++) {
            char one[160], place[16] = "";
            if (at->largest == 0.0) {
                continue;
            }
            if (field->count > 1) {
                (void)snprintf(place, sizeof place, ".%u", k);
            }
            const int length =
                snprintf(one, sizeof one, "%s%s%s max %.3g rms %.3g%s%s", used > 0 ? "; " : "", field->name, place,
                         at->largest, sqrt(at->sum_sq / (double)comparison->samples), field->unit[0] != '\0' ? " " : "",
                         field->unit);
            if (length > 0 && used + (size_t)length < bytes) {
                memcpy(text + used, one, (size_t)length + 1);
                used += (size_t)length;
            }
        }
    }
    if (used == 0) {
        (void)snprintf(text, bytes, "%s", comparison->samples > 0 ? "no difference" : "no sample was compared");
    }
}
