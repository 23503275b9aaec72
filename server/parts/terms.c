#include "terms.h"

#include <string.h>

#define RT2 1.41421356237309504880

/* clang-format off */
const struct part_term part_terms[] = {
    {"range", PART_PLAIN, PART_USE_RANGE, PART_MUST_BE_POSITIVE, "measurement_range_%s", 1,
     "full scale, ±"},
    {"resolution", PART_PLAIN | PART_DIGIT | PART_PER_UNIT, PART_USE_VALUE, PART_MUST_BE_POSITIVE, "resolution_%s", 1,
     "resolution of the output, one LSB"},
    {"noise_density", PART_DENSITY, PART_USE_WHITE, 0, "noise_density_%s_rthz", 1,
     "white noise, single-sided, as data sheets print it"},
    {"angle_random_walk", PART_INTEGRATED, PART_USE_WHITE, 0, "noise_density_%s_rthz", RT2,
     "white noise of a gyroscope as Allan's N (IEEE Std 952)"},
    {"velocity_random_walk", PART_INTEGRATED, PART_USE_WHITE, 0, "noise_density_%s_rthz", RT2,
     "white noise of an accelerometer as Allan's N (IEEE Std 1293)"},
    {"allan_n", PART_DENSITY | PART_INTEGRATED, PART_USE_WHITE, 0, "noise_density_%s_rthz", RT2,
     "white noise, two-sided, as in Kalibr and in measured Allan deviations"},
    {"noise_rms", PART_RMS, PART_USE_WHITE, 0, "noise_rms_%s", 1,
     "white noise of one sample, at every output rate"},
    {"in_run_bias_stability", PART_PLAIN, PART_USE_INSTABILITY, 0, "bias_instability_%s", 1 / OTO_PART_ALLAN_FLOOR,
     "the lowest point of the Allan deviation"},
    {"bias_instability", PART_PLAIN, PART_USE_INSTABILITY, 0, "bias_instability_%s", 1,
     "the coefficient B of IEEE Std 952"},
    {"rate_random_walk", PART_WALK, PART_USE_VALUE, 0, "random_walk_%s_rthz", 1,
     "walk of the bias: Allan's K"},
    {"zero_offset", PART_PLAIN | PART_COUNTS, PART_USE_SPREAD, 0, "unit_bias_%s", 1,
     "offset from unit to unit at 25 °C"},
    {"turn_on_bias", PART_PLAIN, PART_USE_SPREAD, 0, "turn_on_bias_%s", 1,
     "offset from one power-on to the next"},
    {"constant_bias", PART_PLAIN, PART_USE_BIAS, PART_MAY_BE_NEGATIVE, "constant_bias_%s", 1,
     "a known offset"},
    {"zero_offset_slope", PART_SLOPE, PART_USE_SPREAD, 0, "unit_temperature_bias_%s_degc", 1,
     "offset for each degree, ±, from unit to unit"},
    {"constant_slope", PART_SLOPE, PART_USE_VALUE, PART_MAY_BE_NEGATIVE, "temperature_bias_%s_degc", 1,
     "a known offset for each degree"},
    {"zero_offset_total", PART_PLAIN, PART_USE_INFORMATION, PART_IS_TOTAL, NULL, 1,
     "offset over a temperature range: a total, no slope"},
    {"scale_tolerance", PART_PERCENT, PART_USE_SPREAD, 0, "unit_scale_factor_percent", 1,
     "scale error from unit to unit"},
    {"scale_slope", PART_PERCENT_SLOPE, PART_USE_SPREAD, 0, "unit_temperature_scale_factor_percent_degc", 1,
     "scale error for each degree, ±, from unit to unit"},
    {"constant_scale_slope", PART_PERCENT_SLOPE, PART_USE_VALUE, PART_MAY_BE_NEGATIVE,
     "temperature_scale_factor_percent_degc", 1, "a known scale error for each degree"},
    {"constant_scale", PART_PERCENT, PART_USE_VALUE, PART_MAY_BE_NEGATIVE, "scale_factor_error_percent", 1,
     "a known scale error"},
    {"scale_total", PART_PERCENT, PART_USE_INFORMATION, PART_IS_TOTAL, NULL, 1,
     "scale error over a temperature range: a total, no slope"},
    {"misalignment", PART_PERCENT, PART_USE_VALUE, PART_MAY_BE_NEGATIVE, "axis_misalignment_percent", 1,
     "sensitivity to each of the two other axes"},
    {"cross_axis", PART_PERCENT, PART_USE_SPREAD, 0, "unit_cross_axis_percent", 1,
     "the same as a spread from unit to unit, with unknown sign"},
    {"nonlinearity", PART_PERCENT, PART_USE_INFORMATION, 0, NULL, 1,
     "of full scale, best straight line"},
    {"g_sensitivity", PART_G_SENSITIVITY, PART_USE_SPREAD, 0, "unit_acceleration_bias_%s_m_s2", 1,
     "offset of a gyroscope for each unit of specific force, ±, from unit to unit"},
    {"constant_g_sensitivity", PART_G_SENSITIVITY, PART_USE_VALUE, PART_MAY_BE_NEGATIVE, "acceleration_bias_%s_m_s2", 1,
     "a known offset of a gyroscope for each unit of specific force"},
    {"bandwidth", PART_FREQUENCY, PART_USE_INFORMATION, 0, NULL, 1,
     "-3 dB"},
};
/* clang-format on */
const size_t part_term_count = sizeof part_terms / sizeof *part_terms;

const struct part_term *part_term_find(const char *name)
{
    for (size_t i = 0; i < part_term_count; i++) {
        if (strcmp(part_terms[i].name, name) == 0) {
            return &part_terms[i];
        }
    }
    return NULL;
}

const char *part_term_nearest(const char *name)
{
    const char *names[sizeof part_terms / sizeof *part_terms];
    for (size_t i = 0; i < part_term_count; i++) {
        names[i] = part_terms[i].name;
    }
    return oto_nearest_word(name, names, part_term_count);
}

static const struct {
    const char *name, *unit, *key;
} triads[OTO_PART_TRIADS] = {
    {"accelerometer", "m/s²", "m_s2"}, {"gyroscope", "rad/s", "rad_s"}, {"magnetometer", "µT", "ut"}};

const char *oto_part_triad_name(enum oto_part_triad triad)
{
    return triads[triad].name;
}

const char *oto_part_triad_unit(enum oto_part_triad triad)
{
    return triads[triad].unit;
}

const char *part_triad_key(enum oto_part_triad triad)
{
    return triads[triad].key;
}
