/*
 * A barometric pressure sensor. Input: the air at the sensor and the motion in it; output: a record. Pure numbers: no host.
 * Prepare and init belong to the loop, measure to the tick.
 */
#ifndef BAROMETER_MODEL_H
#define BAROMETER_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/records.h"
#include "otolith/rng.h"

struct barometer_params {
    double sample_rate_hz;
    double range_pa[2];
    double resolution_pa;
    double noise_density_pa_rthz;
    double constant_bias_pa, unit_bias_pa, turn_on_bias_pa;
    double scale_error_percent;
    double temperature_bias_pa_degc, unit_temperature_bias_pa_degc;
    double iir_coefficient;
    double weather_sigma_pa, weather_tau_s;
    double static_coefficient, ram_coefficient;
    double wind_enu_m_s[3];
    double self_heating_degc;
    double temperature_noise_degc, temperature_resolution_degc;
    double delay_ms;
};

struct barometer_plan {
    struct barometer_params params;
    double bias_pa; /* constant error: of the unit plus of this start */
    double slope_pa_degc;
    double noise_pa; /* sigma of one sample, before the filter */
    double weight;   /* weight of a new sample in the filter */
    double variance_pa2;
    double weather_decay, weather_drive;
    int64_t delay_ns;
    struct oto_rng_key noise_key, weather_key;
};

struct barometer_state {
    double filtered_pa;
    uint64_t started;
    uint64_t weather_minute; /* minute of weather[0]; weather[1] is one minute later */
    double weather[2];       /* of unit variance */
};

/* The exposure of the sensor at sample n. */
struct barometer_truth {
    uint64_t n;
    double t_s; /* time of the measured instant */
    double pressure_pa, temperature_degc;
    double draught_pa;
    oto_vec3 velocity_enu_m_s; /* of the sensor */
    oto_quat q_enu_from_sensor;
};

void barometer_prepare(const struct barometer_params *params, double rate_hz, struct oto_rng_key noise_key,
                       struct oto_rng_key unit_key, struct barometer_plan *plan);
void barometer_init(const struct barometer_plan *plan, struct barometer_state *state);

/*
 * Makes one sample in a zeroed record. *saturated: 1 if the value is at an end of the range. If a truth is not finite:
 * false, and there is no sample.
 */
bool barometer_measure(const struct barometer_plan *plan, struct barometer_state *state, const struct barometer_truth *truth,
                       struct oto_pressure_record *record, uint32_t *saturated);

#endif
