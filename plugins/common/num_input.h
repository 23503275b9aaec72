/* Reads numbers from the records of an estimator's inputs by name. Finding is [loop], reading [tick]. */
#ifndef NUM_INPUT_H
#define NUM_INPUT_H

#include <string.h>

#include "otolith/estimator.h"

/* A number of a record: a field, or an element of one. */
struct num_number {
    struct oto_field field;
    uint32_t element;
};

/* Finds "name", or "name.3" as element 3 of an array. False if the record has no such number. */
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

/* Times beyond this are refused, so that the difference of two times fits int64_t. The range is 1843 … 2096. */
#define NUM_INPUT_MOST_NS INT64_C(4000000000000000000)
#define NUM_INPUT_MOST_AGE_NS 3.6e12

/*
 * The measurement time of a sample: its time stamp minus the age in its record. False if the time is out of range or
 * after `now_ns`.
 */
static inline bool num_input_time(const struct oto_input_sample *sample, const struct num_number *age, int64_t now_ns,
                                  int64_t *t_ns)
{
    *t_ns = sample->t_ns;
    if (sample->t_ns > now_ns || sample->t_ns > NUM_INPUT_MOST_NS || sample->t_ns < -NUM_INPUT_MOST_NS)
        return false;
    if (age == NULL)
        return true;
    const double age_ns = num_number_of(age, sample->payload);
    if (!(age_ns >= 0.0 && age_ns <= NUM_INPUT_MOST_AGE_NS))
        return false;
    *t_ns -= (int64_t)age_ns;
    return true;
}

#endif
