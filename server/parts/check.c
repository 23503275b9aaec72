/*
 * Checks a mode as a whole: each quantity is given once, counts have a resolution, and nothing required is missing.
 * Pure.
 */
#include <string.h>

#include "private.h"

const struct oto_part_number *oto_part_number(const struct oto_part_mode *mode, enum oto_part_triad triad,
                                              const char *term)
{
    for (uint32_t i = 0; i < mode->number_count; i++) {
        if (mode->numbers[i].triad == triad && strcmp(mode->numbers[i].term, term) == 0) {
            return &mode->numbers[i];
        }
    }
    return NULL;
}

bool oto_part_has_triad(const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    for (uint32_t i = 0; i < mode->number_count; i++) {
        if (mode->numbers[i].triad == triad) {
            return true;
        }
    }
    return false;
}

static const struct oto_part_number *of_use(const struct oto_part_mode *mode, enum oto_part_triad triad,
                                            enum part_use use)
{
    for (uint32_t i = 0; i < mode->number_count; i++) {
        if (mode->numbers[i].triad == triad && part_term_find(mode->numbers[i].term)->use == use) {
            return &mode->numbers[i];
        }
    }
    return NULL;
}

/* Refuses two numbers that set the same parameter: the same term twice, or a density in two conventions. */
static enum oto_status check_once(const struct oto_part_mode *mode, struct oto_error *error)
{
    for (uint32_t i = 0; i < mode->number_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const struct oto_part_number *first = &mode->numbers[k], *second = &mode->numbers[i];
            const struct part_term *one = part_term_find(first->term), *two = part_term_find(second->term);
            if (first->triad != second->triad || (one != two && (one->use != two->use || one->use < PART_USE_WHITE))) {
                continue;
            }
            return oto_value_fail_key(second->place, error, OTO_CONFLICT,
                                      "mode '%.48s': %s.%s is given %s, first as %s in line %u: remove one of them",
                                      mode->name, oto_part_triad_name(second->triad), second->term,
                                      one == two ? "twice" : "in a second way", first->term, first->place->line);
        }
    }
    return OTO_OK;
}

static enum oto_status convert_counts(struct oto_part_mode *mode, struct oto_error *error)
{
    for (uint32_t i = 0; i < mode->number_count; i++) {
        struct oto_part_number *number = &mode->numbers[i];
        const struct part_term *term = part_term_find(number->term);
        const struct part_unit *unit = part_unit_find(number->unit, number->triad, term->quantities);
        if (unit->quantity != PART_COUNTS) {
            continue;
        }
        const struct oto_part_number *digit = oto_part_number(mode, number->triad, "resolution");
        if (digit == NULL) {
            return oto_value_fail(number->place, error, OTO_INVALID, "%s is in LSB, but mode '%.48s' has no resolution",
                                  number->term, mode->name);
        }
        for (int axis = 0; axis < 3; axis++) {
            number->value_u[axis] *= digit->value_u[axis];
        }
    }
    return OTO_OK;
}

static bool is_said_missing(const struct oto_part *part, enum oto_part_triad triad, const char *term)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s.%s", oto_part_triad_name(triad), term);
    for (uint32_t i = 0; i < part->missing_count; i++) {
        if (strcmp(part->missing[i], name) == 0) {
            return true;
        }
    }
    return false;
}

const struct oto_part_series *part_markov(const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    for (uint32_t i = 0; i < mode->series_count; i++) {
        if (mode->series[i].triad == triad && !mode->series[i].is_sine) {
            return &mode->series[i];
        }
    }
    return NULL;
}

bool oto_part_is_noiseless(const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    struct oto_part_curve curve;
    oto_part_curve(mode, triad, &curve);
    return oto_part_has_triad(mode, triad) && of_use(mode, triad, PART_USE_WHITE) == NULL && part_markov(mode, triad) == NULL &&
           !curve.default_white;
}

/* Requires each triad with noise to state the averaging times of its documents, or `missing` to list them. */
static enum oto_status check_known(const struct oto_part *part, const struct oto_part_mode *mode, enum oto_part_triad triad,
                                   struct oto_error *error)
{
    struct oto_part_curve curve;
    oto_part_curve(mode, triad, &curve);
    const bool has_noise =
        of_use(mode, triad, PART_USE_WHITE) != NULL || of_use(mode, triad, PART_USE_INSTABILITY) != NULL;
    const bool is_missing = is_said_missing(part, triad, "known_s");
    if (has_noise && curve.known_s == 0.0 && !is_missing && part_markov(mode, triad) == NULL) {
        return oto_value_fail(mode->place, error, OTO_INVALID,
                              "mode '%.48s' has no known_s, the averaging times that the document shows, in a number of the %s, "
                              "and `missing` does not list %s.known_s",
                              mode->name, oto_part_triad_name(triad), oto_part_triad_name(triad));
    }
    if (curve.known_s > 0.0 && is_missing) {
        return oto_value_fail(mode->place, error, OTO_CONFLICT, "mode '%.48s': known_s of the %s is given and listed in `missing`",
                              mode->name, oto_part_triad_name(triad));
    }
    return OTO_OK;
}

/* Requires range and noise of each triad, or an entry in `missing`, so that no term is zero by omission. */
static enum oto_status check_complete(const struct oto_part *part, const struct oto_part_mode *mode,
                                      enum oto_part_triad triad, struct oto_error *error)
{
    static const struct {
        enum part_use use;
        const char *term;
    } needed[] = {
        {PART_USE_RANGE, "range"}, {PART_USE_WHITE, "noise_density"}, {PART_USE_INSTABILITY, "in_run_bias_stability"}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        const bool is_fitted = needed[i].use == PART_USE_INSTABILITY && part_markov(mode, triad) != NULL;
        if (of_use(mode, triad, needed[i].use) == NULL && !is_fitted && !is_said_missing(part, triad, needed[i].term)) {
            return oto_value_fail(
                mode->place, error, OTO_INVALID,
                "mode '%.48s' has no %s.%s, and `missing` does not list it", mode->name,
                oto_part_triad_name(triad), needed[i].term);
        }
    }
    return OTO_OK;
}

static enum oto_status check_triad(const struct oto_part *part, const struct oto_part_mode *mode,
                                   enum oto_part_triad triad, struct oto_error *error)
{
    const struct oto_part_number *range = oto_part_number(mode, triad, "range");
    const struct oto_part_number *digit = oto_part_number(mode, triad, "resolution");
    if (range != NULL && digit != NULL && digit->value_u[0] > range->value_u[0]) {
        return oto_value_fail(
            digit->place, error, OTO_RANGE, "mode '%.48s': the resolution is %g %s, more than the range of %g %s",
            mode->name, digit->value_u[0], oto_part_triad_unit(triad), range->value_u[0], oto_part_triad_unit(triad));
    }
    const enum oto_status status = check_complete(part, mode, triad, error);
    return status == OTO_OK ? check_known(part, mode, triad, error) : status;
}

/* Refuses a number for a term that `missing` lists. */
static enum oto_status check_missing(const struct oto_part *part, const struct oto_part_mode *mode,
                                     struct oto_error *error)
{
    for (uint32_t i = 0; i < mode->number_count; i++) {
        if (is_said_missing(part, mode->numbers[i].triad, mode->numbers[i].term)) {
            return oto_value_fail_key(mode->numbers[i].place, error, OTO_CONFLICT,
                                      "%s.%s is given here and listed in `missing`",
                                      oto_part_triad_name(mode->numbers[i].triad), mode->numbers[i].term);
        }
    }
    return OTO_OK;
}

enum oto_status part_mode_check(const struct oto_part *part, struct oto_part_mode *mode, struct oto_error *error)
{
    enum oto_status status = check_once(mode, error);
    if (status == OTO_OK) {
        status = check_missing(part, mode, error);
    }
    if (status == OTO_OK) {
        status = convert_counts(mode, error);
    }
    for (uint32_t i = 0; i < mode->series_count && status == OTO_OK; i++) {
        const struct oto_part_series *series = &mode->series[i];
        const struct oto_part_number *floor = of_use(mode, series->triad, PART_USE_INSTABILITY);
        if (!series->is_sine && floor != NULL) {
            status = oto_value_fail_key(series->place, error, OTO_CONFLICT, "%s.gauss_markov and %s: one of them is accepted",
                                        oto_part_triad_name(series->triad), floor->term);
        }
    }
    for (int triad = 0; triad < OTO_PART_TRIADS && status == OTO_OK; triad++) {
        const bool needed = part->is_imu ? triad != OTO_PART_MAGNETOMETER : triad == OTO_PART_MAGNETOMETER;
        if (needed || oto_part_has_triad(mode, (enum oto_part_triad)triad)) {
            status = check_triad(part, mode, (enum oto_part_triad)triad, error);
        }
    }
    return status;
}
