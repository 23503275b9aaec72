/* Preparing, the record, and the odometry that the encoders' controller integrates. */
#include "encoder_model.h"

#include <string.h>

#include "num_draws.h"
#include "otolith/detmath.h"

void encoder_prepare(const struct encoder_params *params, double rate_hz, struct oto_rng_key noise_key,
                     struct oto_rng_key unit_key, struct encoder_plan *plan)
{
    double unit[ENCODER_WHEELS + 1];
    memset(plan, 0, sizeof *plan);
    oto_normals(unit_key, 0, NUM_DRAW_UNIT_WHEELS, OTO_RNG_DOMAIN_UNIT, unit, ENCODER_WHEELS + 1);
    plan->params = *params;
    plan->period_s = 1.0 / rate_hz;
    plan->metres_per_tick = 2.0 * OTO_PI * params->radius_m / (double)params->ticks_per_turn;
    const double track_percent = params->track_error_percent + params->unit_track_percent * unit[ENCODER_WHEELS];
    plan->true_half_track_m = 0.5 * params->track_width_m * (1.0 + track_percent / 100.0);
    for (int i = 0; i < ENCODER_WHEELS; i++) {
        const bool is_front = i == ENCODER_FRONT_LEFT || i == ENCODER_FRONT_RIGHT;
        const double radius_percent = params->radius_error_percent[i] + params->unit_radius_percent * unit[i];
        plan->true_ticks_per_m[i] = 1.0 / (plan->metres_per_tick * (1.0 + radius_percent / 100.0));
        plan->is_fitted[i] = params->fitted == ENCODER_FITTED_ALL || !is_front;
        plan->is_driven[i] = params->driven == ENCODER_DRIVEN_ALL || is_front == (params->driven == ENCODER_DRIVEN_FRONT);
    }
    plan->slip_s2_m = params->slip_percent_m_s2 / 100.0;
    plan->side_slip_rad_s2_m = params->side_slip_deg_m_s2 * (OTO_PI / 180.0);
    plan->log_kept = oto_log(1.0 - params->missed_tick_probability);
    plan->counter_mask = params->counter_bits >= 32 ? UINT32_MAX : (UINT32_C(1) << params->counter_bits) - 1u;
    plan->delay_ns = (int64_t)oto_round_half_away(params->delay_ms * 1e6);
    plan->noise_key = noise_key;
}

void encoder_init(const struct encoder_plan *plan, struct encoder_state *state)
{
    memset(state, 0, sizeof *state);
    for (int i = 0; i < ENCODER_WHEELS; i++) {
        state->wheels[i].heading = 1;
        state->wheels[i].silent_s = state->wheels[i].since_edge_s = plan->params.standstill_s;
    }
}

/* ---- direction ---- */

/* Updates the last known direction of a wheel. Returns the direction for the record; 0: unknown. */
static int8_t direction_of(const struct encoder_plan *plan, struct encoder_wheel *wheel, double tread_m_s, int64_t seen)
{
    if (plan->params.direction == ENCODER_UNSIGNED) {
        return 0;
    }
    if (plan->params.direction == ENCODER_QUADRATURE) {
        wheel->heading = seen > 0 ? 1 : seen < 0 ? -1 : wheel->heading;
        return (int8_t)wheel->heading;
    }
    if (oto_fabs(tread_m_s) < plan->params.direction_threshold_m_s || tread_m_s == 0.0) {
        return 0;
    }
    wheel->heading = tread_m_s < 0.0 ? -1 : 1;
    return (int8_t)wheel->heading;
}

/* Turns a wheel, fills its members of the record, and returns the signed distance that the controller sees. */
static double measure_wheel(const struct encoder_plan *plan, struct encoder_wheel *wheel, uint32_t index, double tread_m_s,
                            struct oto_wheels_record *record)
{
    const struct encoder_edges edges = encoder_turn(plan, wheel, index, tread_m_s);
    const int64_t magnitude = edges.seen < 0 ? -edges.seen : edges.seen;
    record->direction[index] = direction_of(plan, wheel, tread_m_s, edges.seen);
    wheel->counted += plan->params.direction == ENCODER_QUADRATURE ? edges.seen : magnitude;
    record->ticks[index] = (uint32_t)(uint64_t)wheel->counted & plan->counter_mask;
    record->wheel_speed_m_s[index] = (double)wheel->heading * encoder_speed(plan, wheel, &edges);
    record->fitted |= UINT32_C(1) << index;
    return (double)(wheel->heading * magnitude) * plan->metres_per_tick;
}

/* ---- odometry ---- */

/*
 * Propagates the covariance of (x, y, yaw): P := F P Fᵀ + G Q Gᵀ. The inputs are the distances of the rear wheels, whose
 * errors are independent and grow with the distance: Q = s² diag(|left|, |right|) (Chong and Kleeman 1997).
 */
static void grow_covariance(const struct encoder_plan *plan, double left_m, double right_m, double c, double s,
                            double distance_m, double *p)
{
    const double track_m = plan->params.track_width_m;
    const double variance_m = plan->params.distance_sigma_m_rtm * plan->params.distance_sigma_m_rtm;
    const double q[2] = {variance_m * oto_fabs(left_m), variance_m * oto_fabs(right_m)};
    const double turn = 0.5 * distance_m / track_m;
    const double f[2] = {-distance_m * s, distance_m * c}; /* d(x, y)/d(yaw) */
    const double g[3][2] = {
        {0.5 * c + turn * s, 0.5 * c - turn * s}, {0.5 * s - turn * c, 0.5 * s + turn * c}, {-1.0 / track_m, 1.0 / track_m}};
    double fp[9];
    for (int j = 0; j < 3; j++) {
        fp[j] = p[j] + f[0] * p[6 + j];
        fp[3 + j] = p[3 + j] + f[1] * p[6 + j];
        fp[6 + j] = p[6 + j];
    }
    for (int i = 0; i < 3; i++) {
        p[3 * i] = fp[3 * i] + f[0] * fp[3 * i + 2];
        p[3 * i + 1] = fp[3 * i + 1] + f[1] * fp[3 * i + 2];
        p[3 * i + 2] = fp[3 * i + 2];
        for (int j = 0; j < 3; j++) {
            p[3 * i + j] += g[i][0] * q[0] * g[j][0] + g[i][1] * q[1] * g[j][1];
        }
    }
}

/* Moves the pose along an arc: half of the turn before the distance, half after it. */
static void integrate(const struct encoder_plan *plan, struct encoder_state *state, double left_m, double right_m)
{
    const double distance_m = 0.5 * (left_m + right_m), turn_rad = (right_m - left_m) / plan->params.track_width_m;
    double s, c;
    oto_sincos(state->yaw_rad + 0.5 * turn_rad, &s, &c);
    state->position_m[0] += distance_m * c;
    state->position_m[1] += distance_m * s;
    state->yaw_rad += turn_rad;
    state->distance_m += distance_m;
    grow_covariance(plan, left_m, right_m, c, s, distance_m, state->covariance);
}

/* Variance of a wheel's speed: the resolution of its counting, and the error that grows with the distance. */
static double speed_variance(const struct encoder_plan *plan, double speed_m_s)
{
    const double sigma = plan->params.distance_sigma_m_rtm;
    const double span_s = plan->params.timing == ENCODER_WINDOW ? plan->period_s : 0.0;
    const double step_m_s = span_s > 0.0 ? plan->metres_per_tick / span_s : 0.0;
    return step_m_s * step_m_s / 6.0 + sigma * sigma * oto_fabs(speed_m_s) / plan->period_s;
}

static void fill_odometry(const struct encoder_plan *plan, const struct encoder_state *state,
                          struct oto_wheels_record *record)
{
    const double track_m = plan->params.track_width_m;
    const double left_m_s = record->wheel_speed_m_s[ENCODER_REAR_LEFT];
    const double right_m_s = record->wheel_speed_m_s[ENCODER_REAR_RIGHT];
    const double left = speed_variance(plan, left_m_s), right = speed_variance(plan, right_m_s);
    record->speed_m_s = 0.5 * (left_m_s + right_m_s);
    record->yaw_rate_rad_s = (right_m_s - left_m_s) / track_m;
    record->twist_covariance[0] = 0.25 * (left + right);
    record->twist_covariance[1] = record->twist_covariance[2] = 0.5 * (right - left) / track_m;
    record->twist_covariance[3] = (left + right) / (track_m * track_m);
    memcpy(record->position_odom_m, state->position_m, sizeof record->position_odom_m);
    record->yaw_odom_rad = state->yaw_rad;
    record->distance_m = state->distance_m;
    memcpy(record->pose_covariance, state->covariance, sizeof record->pose_covariance);
}

bool encoder_measure(const struct encoder_plan *plan, struct encoder_state *state, const struct encoder_truth *truth,
                     struct oto_wheels_record *record)
{
    double tread_m_s[ENCODER_WHEELS], seen_m[ENCODER_WHEELS] = {0.0};
    const double sum = truth->velocity_body_m_s.x + truth->velocity_body_m_s.y + truth->yaw_rate_rad_s +
                       truth->longitudinal_m_s2 + truth->lateral_m_s2;
    if (!(sum - sum == 0.0)) {
        return false;
    }
    encoder_tread_speeds(plan, truth, tread_m_s);
    for (uint32_t i = 0; i < ENCODER_WHEELS; i++) {
        if (state->started == 0) { /* in the first period the speed is constant, that of its end */
            state->wheels[i].speed_ticks_s = tread_m_s[i] * plan->true_ticks_per_m[i];
        }
        if (plan->is_fitted[i]) {
            seen_m[i] = measure_wheel(plan, &state->wheels[i], i, tread_m_s[i], record);
        }
    }
    state->started = 1;
    integrate(plan, state, seen_m[ENCODER_REAR_LEFT], seen_m[ENCODER_REAR_RIGHT]);
    record->counter_bits = (uint32_t)plan->params.counter_bits;
    record->ticks_per_turn = (uint32_t)plan->params.ticks_per_turn;
    fill_odometry(plan, state, record);
    return true;
}
