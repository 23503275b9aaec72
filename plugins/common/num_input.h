/* Numbers of the records that an estimator's inputs bring, found by name. Finding is [loop], reading [tick]. */
#ifndef NUM_INPUT_H
#define NUM_INPUT_H

#include <string.h>

#include "otolith/estimator.h"

/* A number of a record: a field, or an element of one. */
struct num_number {
    struct oto_field field;
    uint32_t element;
};

/* "name", or "name.3" as element 3 of an array. False where the record has no such number. */
static inline bool num_number_find(const struct oto_record_type *type, const char *name, struct num_number *number)
{
    char stem[2 * OTO_FIELD_NAME_BYTES];
    const struct oto_field *field = oto_record_field(type, name);
    const char *dot = strrchr(name, '.');
    number->element = 0;
    if (field == NULL && dot != NULL && dot[1] != '\0' && strspn(dot + 1, "0123456789") == strlen(dot + 1) &&
        strlen(dot) < 5 && (size_t)(dot - name) < sizeof stem) {
        memcpy(stem, name, (size_t)(dot - name));
        stem[dot - name] = '\0';
        field = oto_record_field(type, stem);
        for (const char *digit = dot + 1; *digit != '\0'; digit++)
            number->element = number->element * 10 + (uint32_t)(*digit - '0');
    }
    if (field == NULL || field->type == OTO_FIELD_TEXT || number->element >= field->count)
        return false;
    number->field = *field;
    return true;
}

static inline double num_number_of(const struct num_number *number, const void *payload)
{
    return oto_input_number(&number->field, number->element, payload);
}

#endif
