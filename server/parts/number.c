/* One number of a part file: {value, unit, is, source}, or {min, max, unit, source}. [loop] */
#include <string.h>

#include "private.h"

static const char *const entry_keys[] = {"value", "min", "max", "unit", "is", "source", "over_degc",
                                         "sigma", "known_s", "note"};

enum oto_status part_check_keys(const struct oto_value *map, const char *const *keys, size_t count,
                                struct oto_error *error)
{
    if (map->kind != OTO_VALUE_MAP) {
        return oto_value_expected(map, error, "a map");
    }
    for (uint32_t i = 0; i < map->count; i++) {
        const struct oto_value *item = map->items[i];
        size_t k = 0;
        while (k < count && strcmp(keys[k], item->key) != 0) {
            k++;
        }
        if (k == count) {
            const char *near = oto_nearest_word(item->key, keys, count);
            return oto_value_fail_key(item, error, OTO_NOT_FOUND, "a part file has no key '%.64s' here%s%s%s",
                                      item->key, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                                      near != NULL ? "'?" : "");
        }
    }
    return OTO_OK;
}

enum oto_status part_require(const struct oto_value *map, const char *key, const struct oto_value **value,
                             struct oto_error *error)
{
    *value = oto_value_get(map, key);
    if (*value != NULL && !oto_value_is_null(*value)) {
        return OTO_OK;
    }
    return oto_value_fail(map, error, OTO_INVALID, "'%s' is missing%s%s", key, map->key != NULL ? " of " : "",
                          map->key != NULL ? map->key : "");
}

enum oto_status part_source_read(const struct oto_part *part, const struct oto_value *map, const char **source,
                                 struct oto_error *error)
{
    const struct oto_value *value;
    enum oto_status status = part_require(map, "source", &value, error);
    if (status == OTO_OK) {
        status = oto_value_text(value, source, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    const size_t length = strcspn(*source, " ");
    if ((*source)[length] == '\0' || (*source)[length + 1] == '\0') {
        return oto_value_fail(value, error, OTO_INVALID,
                              "source '%.80s' has no place: expected a document's id, then page, table or section",
                              *source);
    }
    for (uint32_t i = 0; i < part->document_count; i++) {
        if (strlen(part->documents[i].id) == length && strncmp(part->documents[i].id, *source, length) == 0) {
            return OTO_OK;
        }
    }
    return oto_value_fail(value, error, OTO_NOT_FOUND, "source '%.80s' names no document: '%.*s' is not in `documents`",
                          *source, (int)(length < 64 ? length : 64), *source);
}

static enum oto_status read_axes(const struct oto_value *value, struct oto_part_number *number, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    number->count = value->kind == OTO_VALUE_LIST ? value->count : 1;
    if (number->count != 1 && number->count != 3) {
        return oto_value_expected(value, error, "a number, or three, one for each axis");
    }
    for (uint32_t i = 0; i < number->count && status == OTO_OK; i++) {
        const struct oto_value *item = value->kind == OTO_VALUE_LIST ? value->items[i] : value;
        status = oto_value_f64(item, &number->printed[i], error);
    }
    return status;
}

/* Reads {min, max}, the limits of production. The larger magnitude is the maximum. */
static enum oto_status read_limits(const struct oto_value *map, const struct oto_value *low,
                                   const struct oto_value *high, struct oto_part_number *number,
                                   struct oto_error *error)
{
    double minimum = 0, maximum = 0;
    if (low == NULL || high == NULL || oto_value_get(map, "value") != NULL || oto_value_get(map, "is") != NULL) {
        return oto_value_fail(map, error, OTO_CONFLICT,
                              "expected either `value` and `is`, or `min` and `max`, not a mixture of them");
    }
    enum oto_status status = oto_value_f64(low, &minimum, error);
    if (status == OTO_OK) {
        status = oto_value_f64(high, &maximum, error);
    }
    if (status == OTO_OK && minimum > maximum) {
        return oto_value_fail(low, error, OTO_RANGE, "min %g is more than max %g", minimum, maximum);
    }
    number->count = 1;
    number->is_max = true;
    number->printed[0] = -minimum > maximum ? -minimum : maximum;
    return status;
}

static enum oto_status read_kind(const struct oto_value *map, struct oto_part_number *number, struct oto_error *error)
{
    const struct oto_value *value;
    const enum oto_status status = part_require(map, "is", &value, error);
    if (status != OTO_OK) {
        return status;
    }
    number->is_max = value->kind == OTO_VALUE_SCALAR && strcmp(value->text, "max") == 0;
    number->is_derived = value->kind == OTO_VALUE_SCALAR && strcmp(value->text, "derived") == 0;
    if (number->is_max || number->is_derived || (value->kind == OTO_VALUE_SCALAR && strcmp(value->text, "typ") == 0)) {
        return OTO_OK;
    }
    return oto_value_expected(value, error, "typ, max or derived");
}

static enum oto_status check_sign(const struct oto_value *map, const struct part_term *term,
                                  const struct oto_part_number *number, struct oto_error *error)
{
    const struct oto_value *given = oto_value_get(map, "value");
    for (uint32_t i = 0; i < number->count; i++) {
        const double printed = number->printed[i];
        if ((printed < 0 && (term->flags & PART_MAY_BE_NEGATIVE) == 0) ||
            (printed == 0 && (term->flags & PART_MUST_BE_POSITIVE) != 0)) {
            return oto_value_fail(given != NULL ? given : map, error, OTO_RANGE, "%s is %g; %s is accepted%s", term->name,
                                  printed, (term->flags & PART_MUST_BE_POSITIVE) != 0 ? "more than 0" : "0 or more",
                                  term->use == PART_USE_SPREAD ? ", a spread of unknown sign; a known value is a "
                                                                 "`constant_` term" : "");
        }
    }
    return OTO_OK;
}

static enum oto_status read_total(const struct oto_value *map, const struct part_term *term, struct oto_error *error)
{
    const struct oto_value *over = oto_value_get(map, "over_degc");
    double from = 0, to = 0;
    if ((term->flags & PART_IS_TOTAL) == 0) {
        return over == NULL ? OTO_OK
                            : oto_value_fail_key(over, error, OTO_CONFLICT,
                                                 "%s is no total over a temperature range: remove `over_degc`",
                                                 term->name);
    }
    if (over == NULL || over->kind != OTO_VALUE_LIST || over->count != 2 ||
        oto_value_f64(over->items[0], &from, NULL) != OTO_OK || oto_value_f64(over->items[1], &to, NULL) != OTO_OK ||
        from >= to) {
        return oto_value_fail(over != NULL ? over : map, error, OTO_INVALID,
                              "%s is a total: expected `over_degc: [from, to]`, the range it was taken over",
                              term->name);
    }
    return OTO_OK;
}

static enum oto_status read_unit(const struct oto_value *map, const struct part_term *term,
                                 struct oto_part_number *number, struct oto_error *error)
{
    const struct oto_value *value;
    enum oto_status status = part_require(map, "unit", &value, error);
    if (status == OTO_OK) {
        status = oto_value_text(value, &number->unit, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    const struct part_unit *unit = part_unit_find(number->unit, number->triad, term->quantities);
    if (unit == NULL) {
        char accepted[200];
        part_unit_list(number->triad, term->quantities, accepted, sizeof accepted);
        return oto_value_fail(value, error, OTO_INVALID, "%s of a %s is not measured in '%.32s'; accepted are %s",
                              term->name, oto_part_triad_name(number->triad), number->unit,
                              accepted[0] != '\0' ? accepted : "none: it has no such term");
    }
    for (uint32_t i = 0; i < 3; i++) {
        number->value_u[i] = part_unit_convert(unit, number->printed[number->count == 3 ? i : 0]);
    }
    return OTO_OK;
}

/* How many standard deviations a spread is: `sigma` of the file, else 1 for a typical value and 3 for a maximum. */
static enum oto_status read_sigma(const struct oto_value *map, const struct part_term *term,
                                  struct oto_part_number *number, struct oto_error *error)
{
    const struct oto_value *sigma = oto_value_get(map, "sigma");
    number->is_spread = term->use == PART_USE_SPREAD;
    number->sigma = number->is_max ? 3.0 : 1.0;
    if (sigma == NULL) {
        return OTO_OK;
    }
    if (!number->is_spread) {
        return oto_value_fail_key(sigma, error, OTO_CONFLICT, "%s is no spread: remove `sigma`", term->name);
    }
    const enum oto_status status = oto_value_f64(sigma, &number->sigma, error);
    if (status == OTO_OK && !(number->sigma >= 1.0 && number->sigma <= 6.0)) {
        return oto_value_fail(sigma, error, OTO_RANGE, "sigma is %g; from 1 to 6 standard deviations are accepted",
                              number->sigma);
    }
    return status;
}

static enum oto_status read_known(const struct oto_value *map, const struct part_term *term,
                                  struct oto_part_number *number, struct oto_error *error)
{
    const struct oto_value *known = oto_value_get(map, "known_s");
    if (known == NULL) {
        return OTO_OK;
    }
    if (term->use != PART_USE_INSTABILITY && term->use != PART_USE_WHITE) {
        return oto_value_fail_key(known, error, OTO_CONFLICT, "%s has no averaging times: remove `known_s`", term->name);
    }
    if (known->kind != OTO_VALUE_LIST || known->count != 2 ||
        oto_value_f64(known->items[0], &number->known_s[0], NULL) != OTO_OK ||
        oto_value_f64(known->items[1], &number->known_s[1], NULL) != OTO_OK ||
        !(number->known_s[0] > 0.0 && number->known_s[1] >= number->known_s[0])) {
        return oto_value_expected(known, error, "[from, to] in seconds, the averaging times to which the curve is known");
    }
    return OTO_OK;
}

enum oto_status part_number_read(const struct oto_part *part, enum oto_part_triad triad, const struct oto_value *map,
                                 struct oto_part_number *number, struct oto_error *error)
{
    const struct part_term *term = part_term_find(map->key);
    if (term == NULL) {
        const char *near = part_term_nearest(map->key);
        return oto_value_fail_key(map, error, OTO_NOT_FOUND, "there is no term '%.64s'%s%s%s", map->key,
                                  near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                                  near != NULL ? "'?" : "");
    }
    *number = (struct oto_part_number){.triad = triad, .term = term->name, .place = map};
    number->is_applied = term->key != NULL;
    enum oto_status status = part_check_keys(map, entry_keys, sizeof entry_keys / sizeof *entry_keys, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_value *low = oto_value_get(map, "min"), *high = oto_value_get(map, "max"), *value;
    if (low != NULL || high != NULL) {
        status = read_limits(map, low, high, number, error);
    } else if ((status = part_require(map, "value", &value, error)) == OTO_OK &&
               (status = read_axes(value, number, error)) == OTO_OK) {
        status = read_kind(map, number, error);
    }
    if (status == OTO_OK) {
        status = check_sign(map, term, number, error);
    }
    if (status == OTO_OK) {
        status = read_unit(map, term, number, error);
    }
    if (status == OTO_OK) {
        status = read_total(map, term, error);
    }
    if (status == OTO_OK) {
        status = read_sigma(map, term, number, error);
    }
    if (status == OTO_OK) {
        status = read_known(map, term, number, error);
    }
    return status == OTO_OK ? part_source_read(part, map, &number->source, error) : status;
}
