/*
 * Taps: the contribution of each term to one axis of one sample, from the truth to the output. Added in the order of
 * enum num_tap they give the output exactly, to the last bit except the sign of a zero: the last tap, rounding,
 * contains the remainder of floating-point arithmetic. Pure; from any thread.
 */
#ifndef NUM_TAPS_H
#define NUM_TAPS_H

#include "num_suite.h"
#include "otolith/channel.h"
#include "otolith/vecmath.h"

enum num_tap {
    NUM_TAP_TRUTH,    /* at the sample's instant */
    NUM_TAP_SAMPLING, /* band limit, boxcar and transport delay */
    NUM_TAP_SOFT_IRON,
    NUM_TAP_HARD_IRON,
    NUM_TAP_MOTOR_CURRENT,
    NUM_TAP_SCALE_FACTOR,
    NUM_TAP_MISALIGNMENT, /* with cross-axis */
    NUM_TAP_NONLINEARITY,
    NUM_TAP_G_SENSITIVITY,
    NUM_TAP_G_CROSS,
    NUM_TAP_G2_SENSITIVITY,
    NUM_TAP_CONSTANT_BIAS,
    NUM_TAP_TURN_ON_BIAS,
    NUM_TAP_UNIT_BIAS,
    NUM_TAP_BIAS_INSTABILITY,
    NUM_TAP_WHITE_NOISE,
    NUM_TAP_RANDOM_WALK,
    NUM_TAP_THERMAL_BIAS,
    NUM_TAP_THERMAL_SCALE,
    NUM_TAP_SATURATION,
    NUM_TAP_QUANTISATION,
    NUM_TAP_ROUNDING,
    NUM_TAPS
};

/* One row for each tap, with the lanes of the suite. */
typedef double num_tap_row[NUM_LANES];

/* Number of doubles of one triad in a record; their index is 3 tap + axis. */
#define NUM_TAPS_DOUBLES (3 * NUM_TAPS)

/*
 * Writes the taps of a triad in the unit of its output (`unit`: factor from the suite's unit), and makes their sum equal
 * the output.
 */
void num_taps_close(const num_tap_row *taps, uint32_t slot, double unit, oto_vec3 output, double *record);

/* clang-format off */
#define NUM_TAP_AXIS_(T, I, TAP, NAME, AXIS, K, U, TEXT) \
    {T "." NAME "." AXIS, OTO_FIELD_F64, 1, 8 * ((I) * NUM_TAPS_DOUBLES + 3 * NUM_TAP_##TAP + (K)), U, "sensor", TEXT}
#define NUM_TAP_FIELD_(T, I, TAP, NAME, U, TEXT) \
    NUM_TAP_AXIS_(T, I, TAP, NAME, "x", 0, U, TEXT), NUM_TAP_AXIS_(T, I, TAP, NAME, "y", 1, U, TEXT), \
    NUM_TAP_AXIS_(T, I, TAP, NAME, "z", 2, U, TEXT)

/* The fields of triad T, which has index I in its record, in three parts. The middle part differs between triads. */
#define NUM_TAP_FIELDS_HEAD(T, I, U) \
    NUM_TAP_FIELD_(T, I, TRUTH, "truth", U, "true input at the sample's instant"), \
    NUM_TAP_FIELD_(T, I, SAMPLING, "sampling", U, "added by band limit, boxcar and transport delay")
#define NUM_TAP_FIELDS_IRON(T, I, U) \
    NUM_TAP_FIELD_(T, I, SOFT_IRON, "soft_iron", U, "added by soft iron"), \
    NUM_TAP_FIELD_(T, I, HARD_IRON, "hard_iron", U, "added by hard iron"), \
    NUM_TAP_FIELD_(T, I, MOTOR_CURRENT, "motor_current", U, "added by the motor's current")
#define NUM_TAP_FIELDS_MATRIX(T, I, U) \
    NUM_TAP_FIELD_(T, I, SCALE_FACTOR, "scale_factor", U, "added by the scale factor error"), \
    NUM_TAP_FIELD_(T, I, MISALIGNMENT, "misalignment", U, "added by misalignment and cross-axis"), \
    NUM_TAP_FIELD_(T, I, NONLINEARITY, "nonlinearity", U, "added by non-linearity")
#define NUM_TAP_FIELDS_G(T, I, U) \
    NUM_TAP_FIELD_(T, I, G_SENSITIVITY, "g_sensitivity", U, "added by specific force along the axis"), \
    NUM_TAP_FIELD_(T, I, G_CROSS, "g_cross_sensitivity", U, "added by specific force along the other axes")
#define NUM_TAP_FIELDS_G2(T, I, U) \
    NUM_TAP_FIELD_(T, I, G2_SENSITIVITY, "g2_sensitivity", U, "added by the square of specific force")
#define NUM_TAP_FIELDS_TAIL(T, I, U) \
    NUM_TAP_FIELD_(T, I, CONSTANT_BIAS, "constant_bias", U, "constant bias"), \
    NUM_TAP_FIELD_(T, I, TURN_ON_BIAS, "turn_on_bias", U, "bias of this run"), \
    NUM_TAP_FIELD_(T, I, UNIT_BIAS, "unit_bias", U, "bias of this unit"), \
    NUM_TAP_FIELD_(T, I, BIAS_INSTABILITY, "bias_instability", U, "bias instability"), \
    NUM_TAP_FIELD_(T, I, WHITE_NOISE, "white_noise", U, "white noise"), \
    NUM_TAP_FIELD_(T, I, RANDOM_WALK, "random_walk", U, "random walk of the bias"), \
    NUM_TAP_FIELD_(T, I, THERMAL_BIAS, "thermal_bias", U, "bias from temperature"), \
    NUM_TAP_FIELD_(T, I, THERMAL_SCALE, "thermal_scale", U, "added by the scale's change with temperature"), \
    NUM_TAP_FIELD_(T, I, SATURATION, "saturation", U, "taken away by the range"), \
    NUM_TAP_FIELD_(T, I, QUANTISATION, "quantisation", U, "added by rounding to digits"), \
    NUM_TAP_FIELD_(T, I, ROUNDING, "rounding", U, "what floating-point arithmetic left over")
/* clang-format on */

#endif
