/*
 * The parameter table of the MEMS sensors: rows for a plugin's table of `struct oto_param`, and checks and warnings
 * that several plugins share. For adapters only: this file includes the plugin ABI, the models do not.
 *
 *   BLOCK, MEMBER   the plugin's parameter block and its struct num_triad_params
 *   TRIAD, U, UNIT  "gyroscope", the unit as in keys ("rad_s") and for people ("rad/s")
 *   SECTION         of a MAVS document: "Gyroscope"
 */
#ifndef NUM_PARAMS_H
#define NUM_PARAMS_H

#include <stdbool.h>

#include "num_iron.h"
#include "num_suite.h"
#include "otolith/plugin.h"

#define NUM_RUNTIME_VECTOR (OTO_PARAM_RUNTIME | OTO_PARAM_SCALAR_FILLS)
#define NUM_LARGE 1e9

/* clang-format off */
#define NUM_ROW(BLOCK, MEMBER, KEY, COUNT, FLAGS, MINIMUM, DEFAULT, UNIT, ALIAS, TEXT) \
    {.key = KEY, .type = OTO_PARAM_F64, .count = (COUNT), .offset = OTO_PARAM_AT(BLOCK, MEMBER), .flags = (FLAGS), \
     .minimum = (MINIMUM), .maximum = NUM_LARGE, .default_value = (DEFAULT), .unit = UNIT, .text = TEXT, .alias = ALIAS}

#define NUM_TRIAD_ROWS(BLOCK, MEMBER, TRIAD, U, UNIT, SECTION) \
    NUM_ROW(BLOCK, MEMBER.measurement_range_u, TRIAD ".measurement_range_" U, 1, OTO_PARAM_RUNTIME, 0, 0, UNIT, \
            SECTION "/Measurement Range", "largest magnitude an axis reports; 0: unlimited"), \
    NUM_ROW(BLOCK, MEMBER.resolution_u, TRIAD ".resolution_" U, 1, OTO_PARAM_RUNTIME, 0, 0, UNIT, \
            SECTION "/Resolution", "resolution of the output; 0: no rounding"), \
    NUM_ROW(BLOCK, MEMBER.constant_bias_u, TRIAD ".constant_bias_" U, 3, NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, UNIT, \
            SECTION "/Constant Bias", "added to every sample"), \
    NUM_ROW(BLOCK, MEMBER.noise_density_u_rthz, TRIAD ".noise_density_" U "_rthz", 3, NUM_RUNTIME_VECTOR, 0, 0, \
            UNIT "/sqrt(Hz)", SECTION "/Noise Density", "white noise density, as `psd` defines it"), \
    NUM_ROW(BLOCK, MEMBER.bias_instability_u, TRIAD ".bias_instability_" U, 3, NUM_RUNTIME_VECTOR, 0, 0, UNIT, \
            SECTION "/Bias Instability", "B: the Allan floor is 0.664 B (IEEE Std 952)"), \
    NUM_ROW(BLOCK, MEMBER.axis_misalignment_percent, TRIAD ".axis_misalignment_percent", 3, NUM_RUNTIME_VECTOR, \
            -100, 0, "%", SECTION "/Axis Misalignment", "sensitivity of an axis to each of the two others"), \
    NUM_ROW(BLOCK, MEMBER.random_walk_u_rthz, TRIAD ".random_walk_" U "_rthz", 3, NUM_RUNTIME_VECTOR, 0, 0, \
            UNIT "/sqrt(s)", SECTION "/Random Walk", "K of the walk of the bias: K sqrt(t) after t seconds"), \
    NUM_ROW(BLOCK, MEMBER.temperature_bias_u_degc, TRIAD ".temperature_bias_" U "_degc", 3, NUM_RUNTIME_VECTOR, \
            -NUM_LARGE, 0, UNIT "/degC", SECTION "/Temperature Bias", "bias for each degree above 25 degC"), \
    NUM_ROW(BLOCK, MEMBER.temperature_scale_factor_percent_degc, TRIAD ".temperature_scale_factor_percent_degc", 3, \
            NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, "%/degC", SECTION "/Temperature Scale Factor", \
            "scale error for each degree above 25 degC"), \
    NUM_ROW(BLOCK, MEMBER.bias_instability_tau_s, TRIAD ".bias_instability_tau_s", 1, OTO_PARAM_RUNTIME, 0, 0, "s", \
            NULL, "law mems: > 0: one Gauss-Markov process of this correlation time; 0: a flat floor"), \
    NUM_ROW(BLOCK, MEMBER.bias_instability_tau_min_s, TRIAD ".bias_instability_tau_min_s", 1, \
            OTO_PARAM_RUNTIME | OTO_PARAM_OPEN_MIN, 0, 1, "s", NULL, "law mems: averaging time at which the flat floor begins"), \
    NUM_ROW(BLOCK, MEMBER.bias_instability_tau_max_s, TRIAD ".bias_instability_tau_max_s", 1, \
            OTO_PARAM_RUNTIME | OTO_PARAM_OPEN_MIN, 0, 1000, "s", NULL, "law mems: averaging time at which it ends"), \
    NUM_ROW(BLOCK, MEMBER.scale_factor_error_percent, TRIAD ".scale_factor_error_percent", 3, NUM_RUNTIME_VECTOR, \
            -100, 0, "%", NULL, "law mems: error of each axis' scale"), \
    NUM_ROW(BLOCK, MEMBER.cross_axis_percent, TRIAD ".cross_axis_percent", 6, NUM_RUNTIME_VECTOR, -100, 0, "%", NULL, \
            "law mems: xy xz yx yz zx zy, sensitivity of the first axis to the second"), \
    NUM_ROW(BLOCK, MEMBER.turn_on_bias_u, TRIAD ".turn_on_bias_" U, 3, NUM_RUNTIME_VECTOR, 0, 0, UNIT, NULL, \
            "law mems: standard deviation of a bias that is drawn once in each run"), \
    NUM_ROW(BLOCK, MEMBER.unit_bias_u, TRIAD ".unit_bias_" U, 3, NUM_RUNTIME_VECTOR, 0, 0, UNIT, NULL, \
            "law mems: standard deviation of a bias that the unit has in every world"), \
    NUM_ROW(BLOCK, MEMBER.unit_scale_factor_percent, TRIAD ".unit_scale_factor_percent", 3, NUM_RUNTIME_VECTOR, 0, 0, \
            "%", NULL, "law mems: standard deviation of a scale error that the unit has in every world"), \
    NUM_ROW(BLOCK, MEMBER.unit_cross_axis_percent, TRIAD ".unit_cross_axis_percent", 3, NUM_RUNTIME_VECTOR, 0, 0, "%", \
            NULL, "law mems: standard deviation of the cross-axis sensitivity that is drawn once for a unit"), \
    NUM_ROW(BLOCK, MEMBER.nonlinearity_quadratic_ppm, TRIAD ".nonlinearity_quadratic_ppm", 3, NUM_RUNTIME_VECTOR, \
            -NUM_LARGE, 0, "ppm", NULL, "law mems: of the measurement range, at the range; grows with the square"), \
    NUM_ROW(BLOCK, MEMBER.nonlinearity_cubic_ppm, TRIAD ".nonlinearity_cubic_ppm", 3, NUM_RUNTIME_VECTOR, \
            -NUM_LARGE, 0, "ppm", NULL, "law mems: of the measurement range, at the range; grows with the cube"), \
    NUM_ROW(BLOCK, MEMBER.temperature_bias_quadratic_u_degc2, TRIAD ".temperature_bias_quadratic_" U "_degc2", 3, \
            NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, UNIT "/degC^2", NULL, "law mems: bias, times the square of T - 25 degC"), \
    NUM_ROW(BLOCK, MEMBER.temperature_bias_cubic_u_degc3, TRIAD ".temperature_bias_cubic_" U "_degc3", 3, \
            NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, UNIT "/degC^3", NULL, "law mems: bias, times the cube of T - 25 degC"), \
    NUM_ROW(BLOCK, MEMBER.temperature_scale_factor_quadratic_percent_degc2, \
            TRIAD ".temperature_scale_factor_quadratic_percent_degc2", 3, NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, "%/degC^2", \
            NULL, "law mems: scale error, times the square of T - 25 degC"), \
    NUM_ROW(BLOCK, MEMBER.temperature_scale_factor_cubic_percent_degc3, \
            TRIAD ".temperature_scale_factor_cubic_percent_degc3", 3, NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, "%/degC^3", \
            NULL, "law mems: scale error, times the cube of T - 25 degC"), \
    NUM_ROW(BLOCK, MEMBER.noise_rms_u, TRIAD ".noise_rms_" U, 3, NUM_RUNTIME_VECTOR, 0, 0, UNIT, NULL, \
            "law mems: white noise of one sample at every rate, beside that of noise_density"), \
    NUM_ROW(BLOCK, MEMBER.unit_temperature_bias_u_degc, TRIAD ".unit_temperature_bias_" U "_degc", 3, NUM_RUNTIME_VECTOR, \
            0, 0, UNIT "/degC", NULL, "law mems: standard deviation of a slope that the unit has in every world"), \
    NUM_ROW(BLOCK, MEMBER.unit_temperature_scale_factor_percent_degc, \
            TRIAD ".unit_temperature_scale_factor_percent_degc", 3, NUM_RUNTIME_VECTOR, 0, 0, "%/degC", NULL, \
            "law mems: standard deviation of a slope of the scale that the unit has in every world"), \
    NUM_ROW(BLOCK, MEMBER.gauss_markov_tau_s, TRIAD ".gauss_markov_tau_s", NUM_INSTABILITY_POLES, OTO_PARAM_RUNTIME, 0, \
            0, "s", NULL, "law mems: correlation times of Gauss-Markov processes, in place of bias_instability; 0: none"), \
    NUM_ROW(BLOCK, MEMBER.gauss_markov_u[0], TRIAD ".gauss_markov_x_" U, NUM_INSTABILITY_POLES, OTO_PARAM_RUNTIME, 0, 0, \
            UNIT, NULL, "law mems: their standard deviations on axis x"), \
    NUM_ROW(BLOCK, MEMBER.gauss_markov_u[1], TRIAD ".gauss_markov_y_" U, NUM_INSTABILITY_POLES, OTO_PARAM_RUNTIME, 0, 0, \
            UNIT, NULL, "law mems: their standard deviations on axis y"), \
    NUM_ROW(BLOCK, MEMBER.gauss_markov_u[2], TRIAD ".gauss_markov_z_" U, NUM_INSTABILITY_POLES, OTO_PARAM_RUNTIME, 0, 0, \
            UNIT, NULL, "law mems: their standard deviations on axis z"), \
    NUM_ROW(BLOCK, MEMBER.sine_hz, TRIAD ".sine_hz", NUM_SINES, OTO_PARAM_RUNTIME, 0, 0, "Hz", NULL, \
            "law mems: frequencies of periodic noise, of a phase that is drawn for each axis and run; 0: none"), \
    NUM_ROW(BLOCK, MEMBER.sine_u[0], TRIAD ".sine_x_" U, NUM_SINES, OTO_PARAM_RUNTIME, 0, 0, UNIT, NULL, \
            "law mems: their amplitudes on axis x"), \
    NUM_ROW(BLOCK, MEMBER.sine_u[1], TRIAD ".sine_y_" U, NUM_SINES, OTO_PARAM_RUNTIME, 0, 0, UNIT, NULL, \
            "law mems: their amplitudes on axis y"), \
    NUM_ROW(BLOCK, MEMBER.sine_u[2], TRIAD ".sine_z_" U, NUM_SINES, OTO_PARAM_RUNTIME, 0, 0, UNIT, NULL, \
            "law mems: their amplitudes on axis z")

#define NUM_IRON_ROWS(BLOCK, MEMBER) \
    NUM_ROW(BLOCK, MEMBER.hard_iron_ut, "magnetometer.hard_iron_ut", 3, NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, "uT", NULL, \
            "field of magnetised parts near the sensor"), \
    NUM_ROW(BLOCK, MEMBER.soft_iron_percent, "magnetometer.soft_iron_percent", 9, NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, "%", \
            NULL, "3x3, row by row: effect of soft iron, added to the identity"), \
    NUM_ROW(BLOCK, MEMBER.motor_field_ut_a, "magnetometer.motor_field_ut_a", 3, NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, \
            "uT/A", NULL, "field for each ampere of motor_current_a"), \
    NUM_ROW(BLOCK, MEMBER.motor_current_a, "magnetometer.motor_current_a", 1, OTO_PARAM_RUNTIME, -NUM_LARGE, 0, "A", \
            NULL, "current of the motor")

#define NUM_G2_ROW(BLOCK, MEMBER, TRIAD, U, UNIT) \
    NUM_ROW(BLOCK, MEMBER.g2_sensitivity_u_m2_s4, TRIAD ".g2_sensitivity_" U "_m2_s4", 3, NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, \
            "(" UNIT ")/(m/s^2)^2", NULL, "law mems: vibration rectification, times the axis' specific force squared")

#define NUM_SWITCH_ROW(BLOCK, MEMBER, KEY, TEXT) \
    {.key = KEY, .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER), .flags = OTO_PARAM_RUNTIME, \
     .maximum = 1, .unit = "", .text = TEXT}

/* A row for a key that is known in other documents but has no meaning in otolith. */
#define NUM_IGNORED_ROW(ALIAS) {.key = "", .type = OTO_PARAM_IGNORED, .alias = ALIAS, \
                                .unit = "", .text = "known in MAVS documents, not used here"}

#define NUM_LAW_ROWS(BLOCK, MEMBER, RATE) \
    {.key = "law", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER.law), \
     .flags = OTO_PARAM_RUNTIME, .maximum = 1, .unit = "", .names = num_law_names, .name_count = 2, \
     .text = "mems: errors as processes in time; mavs: the update law of the MAVS document"}, \
    {.key = "w", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER.w), \
     .flags = OTO_PARAM_RUNTIME, .minimum = -NUM_W_NUMBER_MAX, .maximum = NUM_W_NUMBER_MAX, \
     .default_value = NUM_W_DOCUMENT, .unit = "", .names = num_w_names, .name_count = 2, \
     .text = "law mavs: document: uniform in (-1, 1); code: in (1, 3), as its C++; or a number"}, \
    {.key = "psd", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER.psd), \
     .flags = OTO_PARAM_RUNTIME, .maximum = 1, .unit = "", .names = num_psd_names, .name_count = 2, \
     .text = "law mems: noise densities are single-sided (data sheets, MAVS) or double-sided (Allan's N, Kalibr)"}, \
    {.key = "sample_rate_hz", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, RATE), \
     .flags = OTO_PARAM_RATE, .maximum = 1e6, .unit = "Hz", .alias = "Sample Rate", \
     .text = "the node's rate if the world sets none"}, \
    {.key = "temperature_degc", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER.temperature_degc), \
     .flags = OTO_PARAM_RUNTIME, .minimum = -273.15, .maximum = 1000, \
     .default_value = NUM_TEMPERATURE_WORLD, .unit = "degC", .names = num_temperature_names, .name_count = 1, \
     .alias = "Temperature", .text = "temperature of the sensor; world: that of the environment"}, \
    {.key = "self_heating.rise_degc", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER.self_heating_degc), \
     .flags = OTO_PARAM_RUNTIME, .minimum = -1000, .maximum = 1000, .unit = "degC", \
     .text = "law mems: final temperature rise by self-heating"}, \
    {.key = "self_heating.tau_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER.self_heating_tau_s), \
     .flags = OTO_PARAM_RUNTIME, .maximum = NUM_LARGE, .unit = "s", \
     .text = "law mems: its time constant from time zero; 0: immediate"}

#define NUM_FIELD_ROW(BLOCK, MEMBER) \
    {.key = "magnetic_field_enu_ut", .type = OTO_PARAM_F64, .count = 3, .offset = OTO_PARAM_AT(BLOCK, MEMBER), \
     .flags = NUM_RUNTIME_VECTOR, .minimum = -NUM_FIELD_MAX_UT, .maximum = NUM_FIELD_MAX_UT, .default_value = NUM_FIELD_WORLD, \
     .unit = "uT", .names = num_field_names, .name_count = 1, .alias = "Magnetic Field", \
     .text = "true field in local ENU axes; world: that of the environment"}
/* clang-format on */

/* The value of magnetic_field_enu_ut that means "the field of the world". */
#define NUM_FIELD_WORLD 1e9
#define NUM_FIELD_MAX_UT 1e6

extern const struct oto_named_value num_law_names[2];
extern const struct oto_named_value num_w_names[2];
extern const struct oto_named_value num_psd_names[2];
extern const struct oto_named_value num_temperature_names[1];
extern const struct oto_named_value num_field_names[1];

/*
 * Warns about a triad's parameters: temperature slopes that seem to be totals over a range, and terms that the law does not
 * use. [loop]
 */
void num_params_warn(const struct oto_host *host, const struct num_law_params *law, enum num_triad_id id,
                     const struct num_triad_params *params);

/*
 * Determines whether the node has its own magnetic field. INVALID if only some components are `world`. Warns about a field
 * in NED axes. [loop]
 */
enum oto_status num_field_prepare(const struct oto_host *host, const struct oto_setup *setup,
                                  const double field_enu_ut[3], bool *own, struct oto_error *error);

#endif
