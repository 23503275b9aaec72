/*
 * The timing of a sensor: band limit or boxcar, transport delay, sensor clock, and the integrals between two samples
 * with coning and sculling. For adapters only: it requests earlier inputs from the host. Prepare belongs to the loop,
 * the rest to the tick.
 */
#ifndef NUM_TIMING_H
#define NUM_TIMING_H

#include <stdbool.h>

#include "num_band.h"
#include "otolith/plugin.h"

/*
 * A member of a parameter block. All zero (with any subsamples) means a sensor without delay and with a perfect clock.
 */
struct num_timing_params {
    double transport_delay_s;
    double boxcar_s; /* width of the average before sampling */
    int64_t boxcar_subsamples;
    double clock_error_ppm;
    double clock_unit_error_ppm;      /* standard deviation from unit to unit */
    double clock_drift_ppm_s;
    double clock_jitter_s;            /* standard deviation of one reading */
    double output_rate_tolerance_percent; /* half width of the tolerance; the rate is drawn once for each unit */
    struct num_band_params band;
};

struct num_timing {
    bool looks_back, has_clock;
    int64_t subsamples;
    double delay_ns, boxcar_ns;
    double period_ns;
    double clock_error, clock_drift_1_s, clock_jitter_ns; /* as fractions */
    struct oto_rng_key noise_key;
    struct num_band band;
};

/* Prepares the timing. `delta`: the integrals between samples are needed. Errors: RANGE. */
enum oto_status num_timing_prepare(const struct num_timing_params *params, const struct oto_setup *setup, bool delta,
                                   struct num_timing *timing, struct oto_error *error);

/*
 * Writes the reading of the sensor's clock to the first `outputs` outputs of the step, if the sensor has a clock of its
 * own.
 */
void num_timing_stamp(const struct num_timing *timing, const struct oto_step *step, uint32_t outputs);

/*
 * The exposure at a sample after delay and band limit or boxcar: specific force, rate, field and temperature; all other
 * members are the input of the sample. `own_field_enu_ut`, unless NULL, replaces the field at each instant. The state of
 * the band limit continues from sample n - 1; without it the band limit restarts in steady state. Returns the worst status.
 */
enum oto_step_status num_timing_feel(const struct num_timing *timing, const struct oto_step *step,
                                     const oto_vec3 *own_field_enu_ut, struct num_band_state *band,
                                     struct oto_sensor_input *felt);

/* Increments from the previous sample to this one, in the sensor axes at the previous sample. */
struct num_delta {
    oto_vec3 angle_rad; /* rotation vector */
    oto_vec3 velocity_m_s;
    double dt_s;
};

enum oto_step_status num_timing_delta(const struct num_timing *timing, const struct oto_step *step, int64_t subsamples,
                                      struct num_delta *delta);

/* clang-format off */
#define NUM_TIMING_ROW_(BLOCK, MEMBER, KEY, MINIMUM, MAXIMUM, UNIT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER), .flags = OTO_PARAM_RUNTIME, \
     .minimum = (MINIMUM), .maximum = (MAXIMUM), .unit = UNIT, .text = TEXT}
#define NUM_TIMING_ROWS(BLOCK, MEMBER) \
    NUM_TIMING_ROW_(BLOCK, MEMBER.transport_delay_s, "transport_delay_s", 0, 1, "s", \
                    "how long before t_ns the reported input was"), \
    NUM_TIMING_ROW_(BLOCK, MEMBER.boxcar_s, "boxcar_s", 0, 1, "s", \
                    "width of the average before sampling; 0: none"), \
    NUM_TIMING_ROW_(BLOCK, MEMBER.band.limit_hz, "band_limit_hz", 0, 1e6, "Hz", \
                    "low-pass before sampling, instead of the boxcar: -3 dB of order 1, natural frequency of order 2; 0: none"), \
    {.key = "band_limit_order", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER.band.order), \
     .flags = OTO_PARAM_RUNTIME, .minimum = 1, .maximum = 2, .default_value = 2, .unit = "", .text = "of the low-pass"}, \
    {.key = "band_limit_damping", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER.band.damping), \
     .flags = OTO_PARAM_RUNTIME, .minimum = 0.05, .maximum = 10, .default_value = 0.70710678118654752, .unit = "1", \
     .text = "of order 2; 0.7071 is Butterworth's: -3 dB at the natural frequency"}, \
    {.key = "band_limit_substeps", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER.band.substeps), \
     .flags = OTO_PARAM_RUNTIME, .minimum = 1, .maximum = 64, .default_value = 8, .unit = "", \
     .text = "inputs of the low-pass in a period: frequencies above half of their rate alias"}, \
    {.key = "boxcar_subsamples", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER.boxcar_subsamples), \
     .flags = OTO_PARAM_RUNTIME, .minimum = 1, .maximum = 64, .default_value = 8, .unit = "", \
     .text = "equally spaced inputs that the boxcar averages"}, \
    NUM_TIMING_ROW_(BLOCK, MEMBER.clock_error_ppm, "clock.error_ppm", -1e5, 1e5, "ppm", \
                    "rate error of the sensor's clock"), \
    NUM_TIMING_ROW_(BLOCK, MEMBER.clock_unit_error_ppm, "clock.unit_error_ppm", 0, 1e4, "ppm", \
                    "standard deviation of a rate error that the unit has in every world"), \
    NUM_TIMING_ROW_(BLOCK, MEMBER.clock_drift_ppm_s, "clock.drift_ppm_s", -100, 100, "ppm/s", \
                    "change of the rate error with time"), \
    NUM_TIMING_ROW_(BLOCK, MEMBER.clock_jitter_s, "clock.jitter_s", 0, 1, "s", \
                    "standard deviation of one reading of the clock"), \
    NUM_TIMING_ROW_(BLOCK, MEMBER.output_rate_tolerance_percent, "clock.output_rate_tolerance_percent", 0, 10, "%", \
                    "half width of the unit's deviation from its nominal output rate, in terms of its clock")
/* clang-format on */

#endif
