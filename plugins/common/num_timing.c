#include "num_timing.h"

#include <string.h>

#include "num_draws.h"

#define NS_PER_S 1e9
/*
 * Limit of the jitter in periods. Two normal deviates differ by less than 18.3, so with this limit the sensor clock never
 * goes back.
 */
#define JITTER_PERIODS_MAX 0.05

static enum oto_status check(const struct num_timing_params *params, double rate_hz, bool delta,
                             struct oto_error *error)
{
    const double back_s = params->transport_delay_s + params->boxcar_s;
    if (params->boxcar_s > 0.0 && params->band.limit_hz > 0.0) {
        return oto_fail(error, OTO_INVALID, "boxcar_s = %g and band_limit_hz = %g: one of them is accepted", params->boxcar_s,
                        params->band.limit_hz);
    }
    if (params->band.limit_hz > 0.0 && params->transport_delay_s + 1.0 / rate_hz > 1.0) {
        return oto_fail(error, OTO_RANGE,
                        "band_limit_hz: a sample each %g s with transport_delay_s = %g reaches more than 1 s back; raise "
                        "rate_hz", 1.0 / rate_hz, params->transport_delay_s);
    }
    if (back_s > 1.0) {
        return oto_fail(error, OTO_RANGE,
                        "transport_delay_s = %g and boxcar_s = %g reach %g s back: a sensor may look back 1 s",
                        params->transport_delay_s, params->boxcar_s, back_s);
    }
    if (delta && !(params->transport_delay_s + 1.0 / rate_hz <= 1.0)) {
        return oto_fail(error, OTO_RANGE,
                        "delta: a sample each %g s with transport_delay_s = %g reaches more than 1 s back; raise rate_hz",
                        1.0 / rate_hz, params->transport_delay_s);
    }
    if (params->clock_jitter_s * rate_hz > JITTER_PERIODS_MAX) {
        return oto_fail(error, OTO_RANGE, "clock.jitter_s = %g at %g Hz: expected at most a twentieth of the period, %g",
                        params->clock_jitter_s, rate_hz, JITTER_PERIODS_MAX / rate_hz);
    }
    return OTO_OK;
}

enum oto_status num_timing_prepare(const struct num_timing_params *params, const struct oto_setup *setup, bool delta,
                                   struct num_timing *timing, struct oto_error *error)
{
    const oto_philox_block unit = oto_rng_block(setup->unit_key, 0, 0, NUM_DRAW_UNIT_CLOCK, OTO_RNG_DOMAIN_UNIT);
    memset(timing, 0, sizeof *timing);
    timing->delay_ns = params->transport_delay_s * NS_PER_S;
    timing->boxcar_ns = params->boxcar_s * NS_PER_S;
    timing->subsamples = params->boxcar_s > 0.0 ? params->boxcar_subsamples : 1;
    timing->looks_back =
        params->transport_delay_s > 0.0 || params->boxcar_s > 0.0 || params->band.limit_hz > 0.0;
    timing->period_ns = NS_PER_S / setup->rate_hz;
    timing->clock_error =
        1e-6 * (params->clock_error_ppm + params->clock_unit_error_ppm * oto_normal_from_bits(unit.v[0])) +
        0.01 * params->output_rate_tolerance_percent * oto_u11(unit.v[1]);
    timing->clock_drift_1_s = 1e-6 * params->clock_drift_ppm_s;
    timing->clock_jitter_ns = params->clock_jitter_s * NS_PER_S;
    timing->has_clock =
        timing->clock_error != 0.0 || timing->clock_drift_1_s != 0.0 || timing->clock_jitter_ns != 0.0;
    timing->noise_key = setup->noise_key;
    const enum oto_status status = check(params, setup->rate_hz, delta, error);
    return status == OTO_OK ? num_band_prepare(&params->band, 1.0 / setup->rate_hz, &timing->band, error) : status;
}

static int64_t clock_ns(const struct num_timing *timing, uint64_t n, int64_t t_ns)
{
    const double t = (double)t_ns;
    double ahead_ns = t * (timing->clock_error + 0.5 * timing->clock_drift_1_s * (t / NS_PER_S));
    if (timing->clock_jitter_ns > 0.0) {
        ahead_ns += timing->clock_jitter_ns *
                    oto_normal_at(timing->noise_key, n, NUM_DRAW_CLOCK_JITTER, OTO_RNG_DOMAIN_SAMPLE, 0);
    }
    return t_ns + (int64_t)oto_round_half_away(ahead_ns);
}

void num_timing_stamp(const struct num_timing *timing, const struct oto_step *step, uint32_t outputs)
{
    if (timing->has_clock) {
        const int64_t sensor_time_ns = clock_ns(timing, step->n, step->at.t_ns);
        for (uint32_t i = 0; i < outputs; i++) {
            step->outputs[i].sensor_time_ns = sensor_time_ns;
        }
    }
}

/* Reads the input at `back_ns` before the sample. */
static enum oto_step_status input_before(const struct oto_step *step, double back_ns, struct oto_sensor_input *input)
{
    const double off_ns = step->at.sub_ns - back_ns;
    int64_t whole_ns = (int64_t)off_ns;
    whole_ns -= (double)whole_ns > off_ns;
    const struct oto_instant past = {step->at.t_ns + whole_ns, off_ns - (double)whole_ns};
    return step->sensor.input_at(step->sensor.input_context, past, input);
}

/* Reads the input of the low-pass at `back_ns` before the sample. */
static enum oto_step_status band_input(const struct oto_step *step, double back_ns, const oto_vec3 *own_field_enu_ut,
                                       double input[NUM_BAND_CHANNELS], double *temperature_degc)
{
    struct oto_sensor_input past;
    const enum oto_step_status status = input_before(step, back_ns, &past);
    if (status >= OTO_STEP_DISCARD) {
        return status;
    }
    oto_vec3_to_array(past.specific_force_sensor_m_s2, &input[0]);
    oto_vec3_to_array(past.angular_rate_sensor_rad_s, &input[3]);
    oto_vec3_to_array(own_field_enu_ut != NULL ? oto_quat_rotate_inv(past.q_enu_from_sensor, *own_field_enu_ut)
                                               : past.mag_field_sensor_ut,
                      &input[6]);
    *temperature_degc = past.temperature_degc;
    return status;
}

static enum oto_step_status feel_filtered(const struct num_timing *timing, const struct oto_step *step,
                                          const oto_vec3 *own_field_enu_ut, struct num_band_state *state,
                                          struct oto_sensor_input *felt)
{
    const struct num_band *band = &timing->band;
    const bool begins = state->n == 0 || state->n + 1 != step->n;
    enum oto_step_status worst = OTO_STEP_OK;
    *felt = *step->sensor.input;
    for (int64_t i = begins ? 0 : 1; i <= band->substeps; i++) {
        double input[NUM_BAND_CHANNELS];
        const double back_ns =
            timing->delay_ns + timing->period_ns * ((double)(band->substeps - i) / (double)band->substeps);
        const enum oto_step_status status =
            band_input(step, back_ns, own_field_enu_ut, input, &felt->temperature_degc);
        worst = status > worst ? status : worst;
        if (status >= OTO_STEP_DISCARD) {
            return worst;
        }
        if (i == 0) {
            num_band_start(state, input);
            num_band_start_colour(band, timing->noise_key, step->n, state);
        } else {
            num_band_advance(band, state, input);
        }
    }
    state->n = step->n;
    felt->specific_force_sensor_m_s2 = oto_vec3_make(state->z[0][0], state->z[1][0], state->z[2][0]);
    felt->angular_rate_sensor_rad_s = oto_vec3_make(state->z[3][0], state->z[4][0], state->z[5][0]);
    felt->mag_field_sensor_ut = oto_vec3_make(state->z[6][0], state->z[7][0], state->z[8][0]);
    return worst;
}

enum oto_step_status num_timing_feel(const struct num_timing *timing, const struct oto_step *step,
                                     const oto_vec3 *own_field_enu_ut, struct num_band_state *band,
                                     struct oto_sensor_input *felt)
{
    if (timing->band.substeps > 0) {
        return feel_filtered(timing, step, own_field_enu_ut, band, felt);
    }
    const double share = 1.0 / (double)timing->subsamples;
    *felt = *step->sensor.input;
    felt->specific_force_sensor_m_s2 = felt->angular_rate_sensor_rad_s = felt->mag_field_sensor_ut = oto_vec3_zero();
    felt->temperature_degc = 0.0;
    enum oto_step_status worst = OTO_STEP_OK;
    for (int64_t i = 0; i < timing->subsamples; i++) {
        struct oto_sensor_input past;
        const double back_ns = timing->delay_ns + timing->boxcar_ns * (((double)i + 0.5) * share);
        const enum oto_step_status status = input_before(step, back_ns, &past);
        worst = status > worst ? status : worst;
        if (status >= OTO_STEP_DISCARD) {
            return worst;
        }
        const oto_vec3 field_ut = own_field_enu_ut != NULL
                                      ? oto_quat_rotate_inv(past.q_enu_from_sensor, *own_field_enu_ut)
                                      : past.mag_field_sensor_ut;
        felt->specific_force_sensor_m_s2 =
            oto_vec3_add_scaled(felt->specific_force_sensor_m_s2, past.specific_force_sensor_m_s2, share);
        felt->angular_rate_sensor_rad_s =
            oto_vec3_add_scaled(felt->angular_rate_sensor_rad_s, past.angular_rate_sensor_rad_s, share);
        felt->mag_field_sensor_ut = oto_vec3_add_scaled(felt->mag_field_sensor_ut, field_ut, share);
        felt->temperature_degc += share * past.temperature_degc;
    }
    return worst;
}

/* ---- coning and sculling ----------------------------------------------------------------------------------------- */

#define NODE_1 0.21132486540518712 /* of two-point Gauss-Legendre on [0, 1]: (1 -+ 1/sqrt 3)/2 */
#define NODE_2 0.78867513459481288
#define CONING 0.14433756729740644 /* sqrt(3)/12 */

/*
 * The rotation from the start of a substep to its fraction c, with the rate linear through the two nodes: the
 * fourth-order Magnus expansion, whose cross product is the coning term.
 */
static oto_vec3 turned(const oto_vec3 rate_rad_s[2], double h_s, double c)
{
    const double second = (0.5 * c * c - NODE_1 * c) / (NODE_2 - NODE_1);
    const oto_vec3 plain_rad =
        oto_vec3_add_scaled(oto_vec3_scale(rate_rad_s[0], h_s * (c - second)), rate_rad_s[1], h_s * second);
    return oto_vec3_add_scaled(plain_rad, oto_vec3_cross(rate_rad_s[0], rate_rad_s[1]), CONING * h_s * h_s * (c * c * c));
}

/*
 * Advances by one substep. The force is rotated back to the start, which includes rotation compensation and sculling.
 */
static void advance(const struct oto_sensor_input node[2], double h_s, oto_quat *q, oto_vec3 *velocity_m_s)
{
    const oto_vec3 rate_rad_s[2] = {node[0].angular_rate_sensor_rad_s, node[1].angular_rate_sensor_rad_s};
    const double at[2] = {NODE_1, NODE_2};
    for (int i = 0; i < 2; i++) {
        const oto_quat q_here = oto_quat_mul(*q, oto_quat_from_rotvec(turned(rate_rad_s, h_s, at[i])));
        *velocity_m_s = oto_vec3_add_scaled(*velocity_m_s, oto_quat_rotate(q_here, node[i].specific_force_sensor_m_s2),
                                            0.5 * h_s);
    }
    *q = oto_quat_mul(*q, oto_quat_from_rotvec(turned(rate_rad_s, h_s, 1.0)));
}

enum oto_step_status num_timing_delta(const struct num_timing *timing, const struct oto_step *step, int64_t subsamples,
                                      struct num_delta *delta)
{
    const double h_ns = timing->period_ns / (double)subsamples;
    oto_quat q = oto_quat_identity();
    memset(delta, 0, sizeof *delta);
    delta->dt_s = timing->period_ns / NS_PER_S;
    for (int64_t i = 0; i < subsamples; i++) {
        struct oto_sensor_input node[2];
        const double start_ns = timing->delay_ns + timing->period_ns - (double)i * h_ns;
        const enum oto_step_status first = input_before(step, start_ns - NODE_1 * h_ns, &node[0]);
        const enum oto_step_status second = input_before(step, start_ns - NODE_2 * h_ns, &node[1]);
        if (first >= OTO_STEP_DISCARD || second >= OTO_STEP_DISCARD) {
            return first > second ? first : second;
        }
        advance(node, h_ns / NS_PER_S, &q, &delta->velocity_m_s);
    }
    delta->angle_rad = oto_quat_to_rotvec(q);
    return OTO_STEP_OK;
}
