#include "barometer_model.h"

#include <string.h>

#include "num_draws.h"
#include "otolith/detmath.h"

#define GAS_CONSTANT_J_KG_K 287.05287 /* gas constant of dry air, ICAO Doc 7488 */
#define KELVIN 273.15
#define REFERENCE_DEGC 25.0
#define WEATHER_STEP_S 60.0

enum { PRESSURE, TEMPERATURE, DEVIATES };

static double draw_once(struct oto_rng_key key, uint64_t term, uint64_t domain, uint64_t deviate)
{
    return oto_normal_at(key, 0, term, domain, deviate);
}

void barometer_prepare(const struct barometer_params *params, double rate_hz, struct oto_rng_key noise_key,
                       struct oto_rng_key unit_key, struct barometer_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->params = *params;
    plan->bias_pa = params->constant_bias_pa +
                    params->unit_bias_pa * draw_once(unit_key, NUM_DRAW_UNIT_BAROMETER, OTO_RNG_DOMAIN_UNIT, 0) +
                    params->turn_on_bias_pa *
                        draw_once(noise_key, NUM_DRAW_BAROMETER_START, OTO_RNG_DOMAIN_TURN_ON, 0);
    plan->slope_pa_degc =
        params->temperature_bias_pa_degc +
        params->unit_temperature_bias_pa_degc * draw_once(unit_key, NUM_DRAW_UNIT_BAROMETER, OTO_RNG_DOMAIN_UNIT, 1);
    plan->noise_pa = params->noise_density_pa_rthz * oto_sqrt(0.5 * rate_hz);
    plan->weight = 1.0 / (1.0 + params->iir_coefficient);
    plan->variance_pa2 = plan->noise_pa * plan->noise_pa * plan->weight / (2.0 - plan->weight);
    plan->weather_decay = params->weather_tau_s > 0.0 ? oto_exp(-WEATHER_STEP_S / params->weather_tau_s) : 0.0;
    plan->weather_drive = oto_sqrt(1.0 - plan->weather_decay * plan->weather_decay);
    plan->delay_ns = (int64_t)oto_round_half_away(params->delay_ms * 1e6);
    plan->noise_key = noise_key;
    plan->weather_key = oto_rng_key_make(noise_key.seed, "weather");
}

/* ---- weather: the same for all barometers of a world, at any rate ---- */

static double weather_at(const struct barometer_plan *plan, uint64_t minute)
{
    return oto_normal_at(plan->weather_key, minute, NUM_DRAW_WEATHER, OTO_RNG_DOMAIN_WORLD, 0);
}

static double weather_after(const struct barometer_plan *plan, double value, uint64_t minute)
{
    return plan->weather_decay * value + plan->weather_drive * weather_at(plan, minute);
}

void barometer_init(const struct barometer_plan *plan, struct barometer_state *state)
{
    memset(state, 0, sizeof *state);
    state->weather[0] = weather_at(plan, 0);
    state->weather[1] = weather_after(plan, state->weather[0], 1);
}

/* Pressure change by weather: a Gauss-Markov process at whole minutes, interpolated linearly. */
static double weather_pa(const struct barometer_plan *plan, struct barometer_state *state, double t_s)
{
    while ((double)(state->weather_minute + 1) * WEATHER_STEP_S <= t_s) {
        state->weather_minute++;
        state->weather[0] = state->weather[1];
        state->weather[1] = weather_after(plan, state->weather[0], state->weather_minute + 1);
    }
    const double part = t_s / WEATHER_STEP_S - (double)state->weather_minute;
    return plan->params.weather_sigma_pa * (state->weather[0] + part * (state->weather[1] - state->weather[0]));
}

/* ---- the sample ---- */

/*
 * Pressure error by the flow around the sensor: rho/2 (static |u|² + ram u_x |u_x|), u the velocity of the sensor relative
 * to the air.
 */
static double dynamic_pa(const struct barometer_plan *plan, const struct barometer_truth *truth)
{
    const struct barometer_params *p = &plan->params;
    const oto_vec3 relative_enu_m_s = oto_vec3_sub(truth->velocity_enu_m_s, oto_vec3_from_array(p->wind_enu_m_s));
    const double density_kg_m3 = truth->pressure_pa / (GAS_CONSTANT_J_KG_K * (truth->temperature_degc + KELVIN));
    const double forward_m_s = oto_quat_rotate_inv(truth->q_enu_from_sensor, relative_enu_m_s).x;
    return 0.5 * density_kg_m3 *
           (p->static_coefficient * oto_vec3_norm_sq(relative_enu_m_s) +
            p->ram_coefficient * forward_m_s * oto_fabs(forward_m_s));
}

static double rounded(double value, double resolution)
{
    return resolution > 0.0 ? resolution * oto_round_half_away(value / resolution) : value;
}

static double limited(double pressure_pa, const double range_pa[2], uint32_t *saturated)
{
    const bool has_range = range_pa[1] > range_pa[0];
    *saturated = has_range && (pressure_pa <= range_pa[0] || pressure_pa >= range_pa[1]);
    if (*saturated == 0) {
        return pressure_pa;
    }
    return pressure_pa <= range_pa[0] ? range_pa[0] : range_pa[1];
}

bool barometer_measure(const struct barometer_plan *plan, struct barometer_state *state, const struct barometer_truth *truth,
                       struct oto_pressure_record *record, uint32_t *saturated)
{
    const struct barometer_params *p = &plan->params;
    const double sum = truth->pressure_pa + truth->temperature_degc + oto_vec3_norm_sq(truth->velocity_enu_m_s);
    if (!(sum - sum == 0.0)) {
        return false;
    }
    double deviates[DEVIATES];
    oto_normals(plan->noise_key, truth->n, NUM_DRAW_BAROMETER, OTO_RNG_DOMAIN_SAMPLE, deviates, DEVIATES);
    const double part_degc = truth->temperature_degc + p->self_heating_degc;
    const double felt_pa = truth->pressure_pa + truth->draught_pa + dynamic_pa(plan, truth) +
                           weather_pa(plan, state, truth->t_s);
    const double raw_pa = felt_pa * (1.0 + p->scale_error_percent / 100.0) + plan->bias_pa +
                          plan->slope_pa_degc * (part_degc - REFERENCE_DEGC) + plan->noise_pa * deviates[PRESSURE];
    state->filtered_pa = state->started != 0 ? state->filtered_pa + plan->weight * (raw_pa - state->filtered_pa) : raw_pa;
    state->started = 1;
    record->fluid_pressure_pa = rounded(limited(state->filtered_pa, p->range_pa, saturated), p->resolution_pa);
    record->variance_pa2 = plan->variance_pa2;
    record->temperature_degc =
        rounded(part_degc + p->temperature_noise_degc * deviates[TEMPERATURE], p->temperature_resolution_degc);
    record->temperature_variance_degc2 = p->temperature_noise_degc * p->temperature_noise_degc;
    return true;
}
