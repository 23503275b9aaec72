/*
 * The series of a part file: `gauss_markov: {tau_s: […], x: […], y: […], z: […], unit, source}` and `sine: {frequency_hz:
 * […], …}`, as otolith fit writes them. [loop]
 */
#include <string.h>

#include "private.h"

static enum oto_status read_list(const struct oto_value *map, const char *key, uint32_t *count, double *values,
                                 struct oto_error *error)
{
    const struct oto_value *list;
    enum oto_status status = part_require(map, key, &list, error);
    if (status != OTO_OK) {
        return status;
    }
    if (list->kind != OTO_VALUE_LIST || list->count == 0 || list->count > OTO_PART_SERIES ||
        (*count != 0 && list->count != *count)) {
        char expected[96];
        (void)snprintf(expected, sizeof expected, "a list of %s%d numbers", *count != 0 ? "" : "1 to ",
                       *count != 0 ? (int)*count : OTO_PART_SERIES);
        return oto_value_expected(list, error, expected);
    }
    *count = list->count;
    for (uint32_t i = 0; i < list->count && status == OTO_OK; i++) {
        status = oto_value_f64(list->items[i], &values[i], error);
        if (status == OTO_OK && !(values[i] >= 0.0)) {
            status = oto_value_fail(list->items[i], error, OTO_RANGE, "%s is %g; 0 or more is accepted", key, values[i]);
        }
    }
    return status;
}

static enum oto_status read_series_unit(const struct oto_value *map, struct oto_part_series *series,
                                        struct oto_error *error)
{
    const struct oto_value *value;
    const enum oto_status status = part_require(map, "unit", &value, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct part_unit *unit =
        value->kind == OTO_VALUE_SCALAR ? part_unit_find(value->text, series->triad, PART_PLAIN) : NULL;
    if (unit == NULL) {
        char accepted[200];
        part_unit_list(series->triad, PART_PLAIN, accepted, sizeof accepted);
        return oto_value_expected(value, error, accepted);
    }
    for (uint32_t i = 0; i < 3 * OTO_PART_SERIES; i++) {
        double *element = &series->value_u[i / OTO_PART_SERIES][i % OTO_PART_SERIES];
        *element = part_unit_convert(unit, *element);
    }
    return OTO_OK;
}

bool part_is_series(const char *term)
{
    return strcmp(term, "gauss_markov") == 0 || strcmp(term, "sine") == 0;
}

enum oto_status part_series_read(const struct oto_part *part, enum oto_part_triad triad, const struct oto_value *map,
                                 struct oto_part_series *series, struct oto_error *error)
{
    static const char *const keys[] = {"tau_s", "frequency_hz", "x", "y", "z", "unit", "is", "source", "note"};
    static const char *const axes[] = {"x", "y", "z"};
    *series = (struct oto_part_series){.triad = triad, .is_sine = strcmp(map->key, "sine") == 0, .place = map};
    enum oto_status status = part_check_keys(map, keys, sizeof keys / sizeof *keys, error);
    if (status == OTO_OK) {
        status = read_list(map, series->is_sine ? "frequency_hz" : "tau_s", &series->count, series->at, error);
    }
    for (int i = 0; i < 3 && status == OTO_OK; i++) {
        status = read_list(map, axes[i], &series->count, series->value_u[i], error);
    }
    if (status == OTO_OK && series->is_sine && series->count > 4) {
        status = oto_value_fail(map, error, OTO_LIMIT, "a part has at most 4 sines, not %u", series->count);
    }
    if (status == OTO_OK) {
        status = read_series_unit(map, series, error);
    }
    return status == OTO_OK ? part_source_read(part, map, &series->source, error) : status;
}
