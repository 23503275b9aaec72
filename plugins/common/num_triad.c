#include "num_triad.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

#include "num_draws.h"
#include "otolith/detmath.h"

const char *num_triad_name(enum num_triad_id id)
{
    static const char *const names[NUM_TRIAD_IDS] = {"accelerometer", "gyroscope", "magnetometer"};
    return names[id];
}

/* ---- prepare ----------------------------------------------------------------------------------------------------- */

static bool any_of(const double *values, int count)
{
    for (int i = 0; i < count; i++) {
        if (values[i] != 0.0) {
            return true;
        }
    }
    return false;
}

static enum oto_status check_instability(const struct num_triad_params *params, enum num_triad_id id,
                                         struct oto_error *error)
{
    const double tau_min_s = params->bias_instability_tau_min_s;
    const double tau_max_s = params->bias_instability_tau_max_s;
    if (params->bias_instability_tau_s > 0.0) {
        return OTO_OK;
    }
    if (!(tau_min_s > 0.0 && tau_max_s >= tau_min_s && tau_max_s <= 1e6 * tau_min_s)) {
        return oto_fail(error, OTO_RANGE,
                        "%s.bias_instability_tau_min_s = %g and bias_instability_tau_max_s = %g: the floor needs "
                        "0 < tau_min <= tau_max <= 1e6 tau_min",
                        num_triad_name(id), tau_min_s, tau_max_s);
    }
    return OTO_OK;
}

/*
 * The largest multiple of the resolution within the range: law mems never exceeds the range. The factor 1 + 1e-9 is for
 * decimal ratios that rounding made too small.
 */
static double last_code_u(double range_u, double resolution_u)
{
    const double codes = range_u / resolution_u * (1.0 + 1e-9);
    return codes < 0x1p52 ? resolution_u * (double)(int64_t)codes : range_u;
}

static enum oto_status check_markov(const struct num_triad_params *params, enum num_triad_id id,
                                    struct oto_error *error)
{
    bool any = false;
    for (int k = 0; k < NUM_INSTABILITY_POLES; k++) {
        for (int i = 0; i < 3; i++) {
            any |= params->gauss_markov_u[i][k] != 0.0;
            if (params->gauss_markov_u[i][k] != 0.0 && !(params->gauss_markov_tau_s[k] > 0.0)) {
                return oto_fail(error, OTO_RANGE, "%s.gauss_markov_%c[%d] = %g has no correlation time: expected "
                                "gauss_markov_tau_s[%d] above 0", num_triad_name(id), "xyz"[i], k,
                                params->gauss_markov_u[i][k], k);
            }
        }
    }
    for (int k = 0; k < NUM_SINES; k++) {
        for (int i = 0; i < 3; i++) {
            if (params->sine_u[i][k] != 0.0 && !(params->sine_hz[k] > 0.0)) {
                return oto_fail(error, OTO_RANGE, "%s.sine_%c[%d] = %g has no frequency: expected sine_hz[%d] above 0",
                                num_triad_name(id), "xyz"[i], k, params->sine_u[i][k], k);
            }
        }
    }
    if (any && any_of(params->bias_instability_u, 3)) {
        return oto_fail(error, OTO_INVALID, "%s.bias_instability and %s.gauss_markov: one of them is accepted, the floor "
                        "or the processes", num_triad_name(id), num_triad_name(id));
    }
    return OTO_OK;
}

static enum oto_status plan_output(const struct num_triad_params *params, enum num_law law, enum num_triad_id id,
                                   struct num_triad_plan *plan, struct oto_error *error)
{
    const double range_u = params->measurement_range_u;
    plan->resolution_u = params->resolution_u;
    plan->terms |= params->resolution_u > 0.0 ? NUM_HAS_RESOLUTION : 0;
    plan->range_u = range_u > 0.0 ? range_u : DBL_MAX;
    plan->limit_u = plan->range_u;
    if (law == NUM_LAW_MAVS || !(range_u > 0.0) || !(params->resolution_u > 0.0)) {
        return OTO_OK;
    }
    if (params->resolution_u > range_u) {
        return oto_fail(error, OTO_RANGE,
                        "%s.resolution = %g is coarser than its measurement_range = %g: every sample would be 0; make it smaller, or the range 0 for unlimited",
                        num_triad_name(id), params->resolution_u, range_u);
    }
    plan->limit_u = last_code_u(range_u, params->resolution_u);
    return OTO_OK;
}

static void plan_mavs(const struct num_triad_params *params, const struct num_law_params *law, double rate_hz,
                      struct num_triad_plan *plan)
{
    const double w_variance = law->w == NUM_W_DOCUMENT || law->w == NUM_W_CODE ? 1.0 / 3.0 : 0.0;
    plan->terms |= (any_of(params->bias_instability_u, 3) ? NUM_HAS_INSTABILITY : 0) |
                   (any_of(params->random_walk_u_rthz, 3) ? NUM_HAS_WALK : 0);
    for (int i = 0; i < 3; i++) {
        const double density = params->noise_density_u_rthz[i];
        plan->bias_u[i] = params->constant_bias_u[i];
        plan->misalignment[i] = params->axis_misalignment_percent[i] / 100.0;
        plan->white_u[i] = density;
        plan->instability_u[i] = params->bias_instability_u[i];
        plan->walk_u[i] = params->random_walk_u_rthz[i];
        plan->white_variance_u2[i] = w_variance * (0.5 * rate_hz) * density * density;
    }
}

/* A deviate that is constant during a run: with the key of a node it differs at each start, with the key of a unit never. */
static double once(struct oto_rng_key key, uint64_t term, uint64_t domain, enum num_triad_id id, int axis)
{
    return oto_normal_at(key, 0, term, domain, 3 * (uint64_t)id + (uint64_t)axis);
}

/* The sensitivity of each axis to the two others, in the order of the parameter: the parameter plus the deviation of the unit. */
static void plan_cross_axis(const struct num_triad_params *params, const struct num_triad_place *place,
                            double cross_percent[6])
{
    for (int i = 0; i < 6; i++) {
        cross_percent[i] = params->cross_axis_percent[i];
        if (params->unit_cross_axis_percent[i / 2] != 0.0) {
            cross_percent[i] += params->unit_cross_axis_percent[i / 2] *
                                oto_normal_at(place->unit_key, 0, NUM_DRAW_UNIT_CROSS, OTO_RNG_DOMAIN_UNIT,
                                              6 * (uint64_t)place->id + (uint64_t)i);
        }
    }
}

static void plan_matrix(const struct num_triad_params *params, const struct num_triad_place *place,
                        struct num_triad_plan *plan)
{
    double cross[6];
    plan_cross_axis(params, place, cross);
    const double off[3][3] = {{0, cross[0], cross[1]}, {cross[2], 0, cross[3]}, {cross[4], cross[5], 0}};
    for (int i = 0; i < 3; i++) {
        const double unit_percent = params->unit_scale_factor_percent[i] *
                                    once(place->unit_key, NUM_DRAW_UNIT_SCALE, OTO_RNG_DOMAIN_UNIT, place->id, i);
        for (int j = 0; j < 3; j++) {
            plan->matrix[i][j] = i == j ? 1.0 + (params->scale_factor_error_percent[i] + unit_percent) / 100.0
                                        : (params->axis_misalignment_percent[i] + off[i][j]) / 100.0;
            if (plan->matrix[i][j] != (i == j ? 1.0 : 0.0)) {
                plan->terms |= NUM_HAS_MATRIX;
            }
        }
    }
}

/* Variance of the white noise. If density or rms is zero, the result depends on the other one only, to the bit. */
static double white_variance(double density, double rms, double bandwidth_hz)
{
    return bandwidth_hz * density * density + rms * rms;
}

static void plan_white(const struct num_triad_params *params, const struct num_law_params *law, double rate_hz,
                       struct num_triad_plan *plan)
{
    const double bandwidth_hz = law->psd == NUM_PSD_DOUBLE ? rate_hz : 0.5 * rate_hz;
    const double root_bandwidth = oto_sqrt(bandwidth_hz);
    for (int i = 0; i < 3; i++) {
        const double density = params->noise_density_u_rthz[i], rms = params->noise_rms_u[i];
        plan->white_variance_u2[i] = white_variance(density, rms, bandwidth_hz);
        plan->white_u[i] = rms > 0.0 ? oto_sqrt(plan->white_variance_u2[i]) : root_bandwidth * density;
    }
}

static void start_axis(const struct num_instability *fit, const struct num_triad_place *place, int axis, double *state)
{
    double deviates[NUM_INSTABILITY_POLES];
    for (uint64_t i = 0; i < NUM_INSTABILITY_POLES; i++) {
        deviates[i] = oto_normal_at(place->noise_key, 0, NUM_DRAW_INSTABILITY_START, OTO_RNG_DOMAIN_TURN_ON,
                                    (3 * (uint64_t)place->id + (uint64_t)axis) * NUM_INSTABILITY_POLES + i);
    }
    num_instability_start(fit, deviates, state);
}

static void plan_markov(const struct num_triad_params *params, const struct num_triad_place *place, int axis,
                        struct num_markov *markov)
{
    struct num_instability fit;
    num_instability_fit_given(&fit, params->gauss_markov_tau_s, params->gauss_markov_u[axis], NUM_INSTABILITY_POLES,
                              1.0 / place->rate_hz);
    memcpy(markov->decay, fit.decay, sizeof markov->decay);
    memcpy(markov->drive, fit.drive, sizeof markov->drive);
    start_axis(&fit, place, axis, markov->start);
}

static void plan_instability(const struct num_triad_params *params, const struct num_triad_place *place,
                             struct num_triad_plan *plan)
{
    const double dt_s = 1.0 / place->rate_hz;
    if ((plan->terms & NUM_HAS_MARKOV) != 0) {
        for (int i = 0; i < 3; i++) {
            plan_markov(params, place, i, &plan->markov[i]);
            plan->instability_u[i] = 1.0;
        }
    } else if (params->bias_instability_tau_s > 0.0) {
        num_instability_fit_single(&plan->instability, params->bias_instability_tau_s, dt_s);
    } else {
        num_instability_fit_floor(&plan->instability, params->bias_instability_tau_min_s,
                                  params->bias_instability_tau_max_s, dt_s);
    }
}

static void plan_noise(const struct num_triad_params *params, const struct num_law_params *law,
                       const struct num_triad_place *place, struct num_triad_plan *plan)
{
    const double root_period = oto_sqrt(1.0 / place->rate_hz);
    plan_white(params, law, place->rate_hz, plan);
    for (int i = 0; i < 3; i++) {
        plan->instability_u[i] = params->bias_instability_u[i];
        plan->walk_u[i] = params->random_walk_u_rthz[i] * root_period;
    }
    plan->terms |= (any_of(plan->white_u, 3) ? NUM_HAS_WHITE : 0) |
                   (any_of(plan->instability_u, 3) ? NUM_HAS_INSTABILITY : 0) |
                   (any_of(plan->walk_u, 3) ? NUM_HAS_WALK : 0);
    if (any_of(params->gauss_markov_u[0], 3 * NUM_INSTABILITY_POLES)) {
        plan->terms |= NUM_HAS_INSTABILITY | NUM_HAS_MARKOV;
    }
    if ((plan->terms & NUM_HAS_INSTABILITY) != 0) {
        plan_instability(params, place, plan);
    }
}

/* Prepares the sines. The phase is drawn for each axis and each run. */
static void plan_sines(const struct num_triad_params *params, const struct num_triad_place *place,
                       struct num_triad_plan *plan)
{
    for (int k = 0; k < NUM_SINES; k++) {
        const uint32_t at = plan->sine_count;
        if (params->sine_u[0][k] == 0.0 && params->sine_u[1][k] == 0.0 && params->sine_u[2][k] == 0.0) {
            continue;
        }
        plan->sine_turns[at] = params->sine_hz[k] / place->rate_hz;
        for (int i = 0; i < 3; i++) {
            const uint64_t draw = (3 * (uint64_t)place->id + (uint64_t)i) * NUM_SINES + (uint64_t)k;
            const oto_philox_block block =
                oto_rng_block(place->noise_key, 0, draw, NUM_DRAW_SINE_PHASE, OTO_RNG_DOMAIN_TURN_ON);
            plan->sine_phase_turns[i][at] = oto_u01(block.v[0]);
            plan->sine_u[i][at] = params->sine_u[i][k];
        }
        plan->sine_count++;
    }
    plan->terms |= plan->sine_count > 0 ? NUM_HAS_SINE : 0;
}

/* Converts the non-linearity FS 1e-6 (q (x/FS)^2 + c (x/FS)^3) to factors of x^2 and x^3. */
static enum oto_status plan_nonlinearity(const struct num_triad_params *params, enum num_triad_id id,
                                         struct num_triad_plan *plan, struct oto_error *error)
{
    const double range_u = params->measurement_range_u;
    if (!any_of(params->nonlinearity_quadratic_ppm, 3) && !any_of(params->nonlinearity_cubic_ppm, 3)) {
        return OTO_OK;
    }
    if (!(range_u > 0.0)) {
        return oto_fail(error, OTO_RANGE,
                        "%s.nonlinearity is in ppm of the full scale, but measurement_range is 0 (unlimited): give the range",
                        num_triad_name(id));
    }
    for (int i = 0; i < 3; i++) {
        plan->quadratic_1_u[i] = 1e-6 * params->nonlinearity_quadratic_ppm[i] / range_u;
        plan->cubic_1_u2[i] = 1e-6 * params->nonlinearity_cubic_ppm[i] / (range_u * range_u);
    }
    plan->terms |= NUM_HAS_NONLINEARITY;
    return OTO_OK;
}

static void plan_curves(const struct num_triad_params *params, const struct num_law_params *law,
                        struct num_triad_plan *plan)
{
    for (int i = 0; i < 3; i++) {
        plan->g2_sensitivity_u_m2_s4[i] = params->g2_sensitivity_u_m2_s4[i];
        plan->g_cross_u_m_s2[i][0] = params->acceleration_cross_u_m_s2[2 * i];
        plan->g_cross_u_m_s2[i][1] = params->acceleration_cross_u_m_s2[2 * i + 1];
        plan->thermal_bias2_u_degc2[i] = params->temperature_bias_quadratic_u_degc2[i];
        plan->thermal_bias3_u_degc3[i] = params->temperature_bias_cubic_u_degc3[i];
        plan->thermal_scale2_percent_degc2[i] = params->temperature_scale_factor_quadratic_percent_degc2[i];
        plan->thermal_scale3_percent_degc3[i] = params->temperature_scale_factor_cubic_percent_degc3[i];
    }
    const bool curved = any_of(plan->thermal_bias2_u_degc2, 3) || any_of(plan->thermal_bias3_u_degc3, 3) ||
                        any_of(plan->thermal_scale2_percent_degc2, 3) || any_of(plan->thermal_scale3_percent_degc3, 3);
    plan->terms |= (any_of(plan->g2_sensitivity_u_m2_s4, 3) ? NUM_HAS_G2_SENSITIVITY : 0) |
                   (any_of(params->acceleration_cross_u_m_s2, 6) ? NUM_HAS_G_CROSS : 0) |
                   (curved ? NUM_HAS_THERMAL_CURVE : 0) | (law->self_heating_degc != 0.0 ? NUM_HAS_SELF_HEATING : 0);
}

/* The error of a unit for a given standard deviation. For zero nothing is drawn and the error is zero. */
static double spread(double deviation, const struct num_triad_place *place, uint64_t term, int axis)
{
    return deviation != 0.0 ? deviation * once(place->unit_key, term, OTO_RNG_DOMAIN_UNIT, place->id, axis) : 0.0;
}

static void plan_mems(const struct num_triad_params *params, const struct num_law_params *law,
                      const struct num_triad_place *place, struct num_triad_plan *plan)
{
    plan_matrix(params, place, plan);
    plan_noise(params, law, place, plan);
    for (int i = 0; i < 3; i++) {
        const double turn_on = once(place->noise_key, NUM_DRAW_TURN_ON_BIAS, OTO_RNG_DOMAIN_TURN_ON, place->id, i);
        const double unit = once(place->unit_key, NUM_DRAW_UNIT_BIAS, OTO_RNG_DOMAIN_UNIT, place->id, i);
        plan->bias_u[i] =
            params->constant_bias_u[i] + params->turn_on_bias_u[i] * turn_on + params->unit_bias_u[i] * unit;
        plan->turn_on_bias_u[i] = params->turn_on_bias_u[i] * turn_on;
        plan->unit_bias_u[i] = params->unit_bias_u[i] * unit;
        plan->g_sensitivity_u_m_s2[i] =
            params->acceleration_bias_u_m_s2[i] +
            spread(params->unit_acceleration_bias_u_m_s2[i], place, NUM_DRAW_UNIT_G_SENSITIVITY, i);
        plan->thermal_bias_u_degc[i] +=
            spread(params->unit_temperature_bias_u_degc[i], place, NUM_DRAW_UNIT_SLOPE, i);
        plan->thermal_scale_percent_degc[i] +=
            spread(params->unit_temperature_scale_factor_percent_degc[i], place, NUM_DRAW_UNIT_SCALE_SLOPE, i);
    }
    plan->terms |= (any_of(plan->g_sensitivity_u_m_s2, 3) ? NUM_HAS_G_SENSITIVITY : 0) |
                   (any_of(plan->thermal_bias_u_degc, 3) ? NUM_HAS_THERMAL : 0) |
                   (any_of(plan->thermal_scale_percent_degc, 3) ? NUM_HAS_THERMAL : 0);
}

enum oto_status num_triad_prepare(const struct num_triad_params *params, const struct num_law_params *law,
                                  const struct num_triad_place *place, struct num_triad_plan *plan,
                                  struct oto_error *error)
{
    memset(plan, 0, sizeof *plan);
    enum oto_status status = plan_output(params, (enum num_law)law->law, place->id, plan, error);
    if (status == OTO_OK) {
        status = check_instability(params, place->id, error);
    }
    if (status == OTO_OK) {
        status = check_markov(params, place->id, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    for (int i = 0; i < 3; i++) {
        plan->thermal_bias_u_degc[i] = params->temperature_bias_u_degc[i];
        plan->thermal_scale_percent_degc[i] = params->temperature_scale_factor_percent_degc[i];
    }
    if (law->law == NUM_LAW_MAVS) {
        plan_mavs(params, law, place->rate_hz, plan);
    } else {
        plan_mems(params, law, place, plan);
        plan_curves(params, law, plan);
        plan_sines(params, place, plan);
        status = plan_nonlinearity(params, place->id, plan, error);
    }
    return status;
}

void num_triad_start(const struct num_triad_plan *plan, const struct num_triad_place *place,
                     double (*instability)[NUM_INSTABILITY_POLES])
{
    for (int axis = 0; axis < 3; axis++) {
        if ((plan->terms & NUM_HAS_MARKOV) != 0) {
            memcpy(instability[axis], plan->markov[axis].start, sizeof plan->markov[axis].start);
        } else {
            start_axis(&plan->instability, place, axis, instability[axis]);
        }
    }
}
