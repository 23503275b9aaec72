#include "calibrator.h"

#include <string.h>

#include "verdict.h"

#define LEVEL_DEG 0.1 /* sigma of the slope of a garage floor */
#define GARAGE_BOUND_DEG 2.0
#define SLOPE_DEG 2.0 /* sigma of the slope of a floor that need not be level */
#define SINCE_DEG 0.03 /* sigma of the movement of a mount since a previous result */
#define FAST_M_S 30.0 /* speed of speed_pitch_deg */
#define STILL_M_S 0.06
#define STILL_BLOCKS 3
#define STEP_LEAST_M_S 1e-5 /* a smaller change is the rounding of a decimal number */
#define STEP_MOST_M_S 0.3
#define SIGNED_M_S 0.2 /* a smaller negative speed may be noise about zero */
#define STILL_FELT_M_S2 0.5 /* largest deviation of |specific force| from gravity at rest */
#define CALM_S 0.5
#define CALM_LEAST_M_S2 0.06 /* allowed distance of a block's mean from the mean of the last half second */
#define CALM_RATIO 12.0

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static bool is_box(const double box_deg[3])
{
    return box_deg[0] > 0.0 && box_deg[1] > 0.0 && box_deg[2] > 0.0 && box_deg[0] <= 45.0 && box_deg[1] <= 45.0 &&
           box_deg[2] <= 45.0;
}

static oto_quat quat_of_deg(const double rpy_deg[3])
{
    return oto_quat_from_rpy(rpy_deg[0] * OTO_DEG, rpy_deg[1] * OTO_DEG, rpy_deg[2] * OTO_DEG);
}

/* A lane is inclined towards the side of the traffic; that side may be unknown. */
static void plan_crown(const struct mountcal_params *params, struct joint_plan *joint)
{
    const double crown_rad = params->crown_deg * OTO_DEG, sigma_rad = params->crown_sigma_deg * OTO_DEG;
    if (params->garage) {
        joint->crown_sigma_rad = LEVEL_DEG * OTO_DEG;
    } else if (params->traffic_side == 0) {
        joint->crown_sigma_rad = oto_hypot(crown_rad, sigma_rad);
    } else {
        joint->crown_rad = (double)params->traffic_side * crown_rad;
        joint->crown_sigma_rad = sigma_rad;
    }
}

static void plan_joint(const struct mountcal_params *params, struct joint_plan *joint)
{
    memset(joint, 0, sizeof *joint);
    joint->q_nominal = quat_of_deg(params->nominal_rpy_deg);
    joint->q_prior = joint->q_nominal;
    for (int i = 0; i < 3; i++) {
        joint->box_rad[i] = params->box_deg[i] * OTO_DEG;
        joint->prior_sigma_rad[i] = joint->box_rad[i];
    }
    for (int i = 0; i < 2; i++) {
        joint->compliance_rad_s2_m[i] = params->compliance_deg_s2_m[i] * OTO_DEG;
        joint->compliance_sigma_rad_s2_m[i] = params->compliance_sigma_deg_s2_m[i] * OTO_DEG;
    }
    joint->level = params->garage && !params->opposite;
    joint->bank_rad = (joint->level ? LEVEL_DEG : params->garage ? SLOPE_DEG : params->bank_deg) * OTO_DEG;
    joint->road_length_m = params->road_length_m;
    joint->path = (uint32_t)params->path;
    joint->position_m = oto_vec3_from_array(params->position_body_m);
    joint->position_sigma_m = oto_vec3_from_array(params->position_sigma_m);
    joint->axes_sigma = params->axes_sigma;
    joint->scale_sigma = params->scale_sigma;
    plan_crown(params, joint);
    joint->vibration_rad = params->vibration_deg * OTO_DEG;
    joint->speed_pitch_rad_s2_m2 = params->speed_pitch_deg * OTO_DEG / (FAST_M_S * FAST_M_S);
    joint->speed_pitch_sigma_rad_s2_m2 = params->speed_pitch_sigma_deg * OTO_DEG / (FAST_M_S * FAST_M_S);
    joint->gyro_bias_range_rad_s = params->gyro_bias_range_rad_s;
    joint->gyro_noise = params->gyro_noise_rad_s_rthz;
    joint->accel_bias_sigma_m_s2 = params->accel_bias_sigma_m_s2;
    joint->accel_noise = params->accel_noise_m_s2_rthz;
    joint->speed_noise_m_s = params->speed_noise_m_s;
    joint->speed_scale_sigma = params->speed_scale_sigma;
}

static void plan_histogram(const struct mountcal_params *params, const struct joint_plan *joint,
                           struct histogram_plan *histogram)
{
    histogram->q_nominal = joint->q_nominal;
    for (int i = 0; i < HISTOGRAM_COUNT; i++) {
        histogram->range_rad[i] = params->histogram_range_deg[i] * OTO_DEG;
    }
    histogram->min_votes = params->histogram_min_votes;
    histogram->noise_votes = params->histogram_noise_votes;
    histogram->sigma_rad = params->histogram_sigma_deg * OTO_DEG;
    histogram->decay = params->histogram_decay;
    histogram->short_decay = 1.0 - (1.0 - params->histogram_decay) / params->histogram_short_scale;
    histogram->pitch_compliance_rad_s2_m = joint->compliance_rad_s2_m[0];
    histogram->roll_compliance_rad_s2_m = joint->compliance_rad_s2_m[1];
}

/* On a level path and in a garage the roll relative to gravity is observable: the two rolls have one bound. */
static void plan_acceptance(const struct mountcal_params *params, struct mountcal_plan *plan)
{
    const bool garage = params->garage != 0, one_roll = garage || params->path == JOINT_STAYS_LEVEL;
    const double *bound_deg = params->accept_bound_deg;
    const double accept_deg[OTO_CALIBRATION_AXES] = {
        [OTO_CALIBRATION_PITCH] = bound_deg[1],
        [OTO_CALIBRATION_YAW] = bound_deg[2],
        [OTO_CALIBRATION_ROLL_REPEATABLE] = bound_deg[0],
        [OTO_CALIBRATION_ROLL_ABSOLUTE] = one_roll ? bound_deg[0] : params->accept_absolute_roll_deg};
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        const bool is_absolute = i == OTO_CALIBRATION_ROLL_ABSOLUTE && !one_roll;
        const bool is_rough = garage && (!params->opposite || i == OTO_CALIBRATION_YAW);
        plan->accept_rad[i] = (is_rough ? GARAGE_BOUND_DEG : accept_deg[i]) * OTO_DEG;
        plan->accept_sigmas[i] = is_absolute ? params->accept_absolute_roll_sigmas : params->accept_sigmas;
    }
}

static void plan_previous(const struct mountcal_params *params, struct mountcal_plan *plan)
{
    static const int axis_of[3] = {OTO_CALIBRATION_ROLL_ABSOLUTE, OTO_CALIBRATION_PITCH, OTO_CALIBRATION_YAW};
    const double *bound_deg = params->previous_bound_deg;
    plan->has_previous = bound_deg[0] > 0.0 && bound_deg[1] > 0.0 && bound_deg[2] > 0.0;
    plan->q_previous = quat_of_deg(params->previous_rpy_deg);
    for (int i = 0; i < 3; i++) {
        const double sigma_rad = bound_deg[i] * OTO_DEG / 3.0, since_rad = SINCE_DEG * OTO_DEG;
        plan->previous_variance[axis_of[i]] = sigma_rad * sigma_rad + since_rad * since_rad;
    }
}

enum oto_status mountcal_prepare(const struct mountcal_params *params, struct mountcal_plan *plan,
                                 struct oto_error *error)
{
    if (!is_box(params->box_deg)) {
        return oto_fail(error, OTO_RANGE, "box_deg: [%g, %g, %g] is no box; give three angles above 0 and up to 45 deg",
                        params->box_deg[0], params->box_deg[1], params->box_deg[2]);
    }
    if (!(params->histogram_decay > 0.0 && params->histogram_decay < 1.0 && params->histogram_short_scale > 0.0 &&
          1.0 - params->histogram_decay < params->histogram_short_scale)) {
        return oto_fail(
            error, OTO_RANGE,
            "histogram.decay %g with histogram.short_scale %g leaves no memory; give a decay below 1 and a scale "
            "above 1 - decay",
            params->histogram_decay, params->histogram_short_scale);
    }
    if (params->opposite && !params->garage) {
        return oto_fail(error, OTO_INVALID, "opposite: true is given without garage: true; it is a part of the static mode");
    }
    plan->params = *params;
    plan_joint(params, &plan->joint);
    plan_histogram(params, &plan->joint, &plan->histogram);
    plan->monitors.gyro_bias_range_rad_s = params->gyro_bias_range_rad_s;
    plan->least_s = params->garage ? 15.0 : 90.0; /* a calibration in a garage lasts about a minute */
    plan_acceptance(params, plan);
    plan_previous(params, plan);
    return OTO_OK;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void begin_anew(const struct mountcal_plan *plan, struct mountcal_state *state)
{
    memset(&state->gather, 0, sizeof state->gather);
    memset(&state->driven, 0, sizeof state->driven);
    state->gather.q_start_from_now = oto_quat_identity();
    state->gather.breaks = 1;
    monitors_init(&state->monitors);
    histogram_init(&state->histogram);
    opposite_init(&state->opposite);
    joint_init(&plan->joint, &state->joint);
    mountcal_verdict_begin(plan, &state->verdict);
    state->verdict.running = plan->params.running != 0;
}

void mountcal_init(const struct mountcal_plan *plan, struct mountcal_state *state)
{
    memset(state, 0, sizeof *state);
    begin_anew(plan, state);
}

void mountcal_adapt(const struct mountcal_plan *plan, const struct mountcal_params *old, struct mountcal_state *state)
{
    const struct mountcal_params *now = &plan->params;
    const bool anew = now->reset != old->reset || now->method != old->method ||
                      memcmp(now->nominal_rpy_deg, old->nominal_rpy_deg, sizeof now->nominal_rpy_deg) != 0 ||
                      memcmp(now->box_deg, old->box_deg, sizeof now->box_deg) != 0 ||
                      memcmp(now->previous_rpy_deg, old->previous_rpy_deg, sizeof now->previous_rpy_deg) != 0 ||
                      memcmp(now->previous_bound_deg, old->previous_bound_deg, sizeof now->previous_bound_deg) != 0;
    if (anew) {
        const uint32_t changes = state->verdict.changes, resets = state->verdict.resets;
        begin_anew(plan, state);
        state->verdict.changes = changes + 1;
        state->verdict.resets = resets + 1;
    }
    if ((now->running != 0) != (state->verdict.running != 0)) {
        state->verdict.running = now->running != 0;
        state->gather.breaks = 1;
        state->gather.has_sample = 0;
    }
}

/* ---- samples to blocks ------------------------------------------------------------------------------------------- */

static void open_block(struct mountcal_state *state, int64_t t_ns)
{
    struct mountcal_gather *gather = &state->gather;
    gather->start_ns = t_ns;
    gather->velocity_gain_m_s = oto_vec3_zero();
    gather->q_start_from_now = oto_quat_identity();
    gather->gyro_bias_rad_s = state->joint.filter.gyro_bias_rad_s;
    gather->speed_sum_m_s = 0.0;
    gather->speed_time_sum_s = 0.0;
    gather->speeds = 0;
}

/* Integrates the mean of this sample and the previous one over the time between them. */
static void gather_sample(struct mountcal_gather *gather, int64_t t_ns, oto_vec3 felt, oto_vec3 rate)
{
    const double dt = (double)(t_ns - gather->last_ns) * 1e-9;
    oto_vec3 mean_rate = oto_vec3_scale(oto_vec3_add(rate, gather->angular_rate_rad_s), 0.5);
    oto_vec3 turn = oto_vec3_scale(oto_vec3_sub(mean_rate, gather->gyro_bias_rad_s), dt);
    oto_vec3 gain = oto_vec3_scale(oto_vec3_add(felt, gather->specific_force_m_s2), 0.5 * dt);
    const double eighth = 0.125 * oto_vec3_norm_sq(turn);
    oto_quat q = oto_quat_make(1.0 - eighth, 0.5 * turn.x, 0.5 * turn.y, 0.5 * turn.z);
    gain = oto_vec3_add(gain, oto_vec3_scale(oto_vec3_cross(turn, gain), 0.5));
    gather->velocity_gain_m_s =
        oto_vec3_add(gather->velocity_gain_m_s, oto_quat_rotate(gather->q_start_from_now, gain));
    gather->q_start_from_now = oto_quat_mul(gather->q_start_from_now, q);
}

/*
 * True if the specific force varies only by noise. A late speed report still reads zero after the vehicle has started; the
 * IMU shows the start immediately.
 */
static bool is_calm(struct mountcal_gather *gather, oto_vec3 felt_m_s2, double duration_s)
{
    const bool first = oto_vec3_norm_sq(gather->calm_m_s2) == 0.0;
    const oto_vec3 off_m_s2 = first ? oto_vec3_zero() : oto_vec3_sub(felt_m_s2, gather->calm_m_s2);
    const double off_sq = oto_vec3_norm_sq(off_m_s2), by = duration_s / (CALM_S + duration_s);
    const double most_sq = CALM_LEAST_M_S2 * CALM_LEAST_M_S2 + CALM_RATIO * gather->calm_sq_m2_s4;
    const double counted_sq = off_sq < most_sq ? off_sq : most_sq;
    gather->calm_m_s2 = oto_vec3_lerp(gather->calm_m_s2, felt_m_s2, first ? 1.0 : by);
    gather->calm_sq_m2_s4 += 0.1 * by * (counted_sq - gather->calm_sq_m2_s4);
    return off_sq < most_sq;
}

static bool is_still(struct mountcal_gather *gather, const struct joint_block *block, double gravity_m_s2)
{
    const oto_vec3 felt_m_s2 = oto_vec3_scale(block->velocity_gain_m_s, 1.0 / block->duration_s);
    const bool calm = is_calm(gather, felt_m_s2, block->duration_s);
    if (block->speeds > 0) {
        gather->slow_blocks = oto_fabs(block->speed_m_s) < STILL_M_S ? gather->slow_blocks + 1 : 0;
    }
    return gather->slow_blocks >= STILL_BLOCKS && calm &&
           oto_fabs(oto_vec3_norm(felt_m_s2) - gravity_m_s2) < STILL_FELT_M_S2;
}

static void close_block(const struct mountcal_plan *plan, struct mountcal_state *state, int64_t t_ns)
{
    struct mountcal_gather *gather = &state->gather;
    struct joint_block block = {.velocity_gain_m_s = gather->velocity_gain_m_s,
                                .turn_rad = oto_quat_to_rotvec(gather->q_start_from_now),
                                .gyro_bias_rad_s = gather->gyro_bias_rad_s,
                                .end_rate_rad_s = gather->angular_rate_rad_s,
                                .duration_s = (double)(t_ns - gather->start_ns) * 1e-9,
                                .speeds = gather->speeds,
                                .breaks = gather->breaks,
                                .speed_step_m_s = gather->speed_step_m_s < STEP_MOST_M_S ? gather->speed_step_m_s : STEP_MOST_M_S,
                                .speed_is_signed = gather->speed_is_signed};
    if (gather->speeds > 0) {
        block.speed_m_s = gather->speed_sum_m_s / gather->speeds;
        block.speed_age_s = block.duration_s - gather->speed_time_sum_s / gather->speeds;
    }
    block.still = is_still(gather, &block, state->monitors.felt_m_s2);
    gather->breaks = 0;
    open_block(state, t_ns);
    if (plan->params.opposite) {
        opposite_push_block(&plan->joint, &state->opposite, &block);
    }
    mountcal_take_block(plan, state, &block);
}

void mountcal_push_imu(const struct mountcal_plan *plan, struct mountcal_state *state, int64_t t_ns,
                       const double specific_force_m_s2[3], const double angular_rate_rad_s[3])
{
    const int64_t block_ns = (int64_t)(JOINT_BLOCK_S * 1e9);
    struct mountcal_gather *gather = &state->gather;
    oto_vec3 felt = oto_vec3_from_array(specific_force_m_s2), rate = oto_vec3_from_array(angular_rate_rad_s);
    enum monitors_answer answer;
    if (!state->verdict.running) {
        return;
    }
    answer = monitors_imu(&state->monitors, t_ns, felt, rate);
    if (answer == MONITORS_DROP) {
        mountcal_review_dropped(plan, state);
        return;
    }
    joint_work(&plan->joint, &state->joint);
    if (answer == MONITORS_BREAK || !gather->has_sample) {
        gather->breaks = 1;
        gather->has_sample = 1;
        gather->slow_blocks = 0;
        open_block(state, t_ns);
    } else {
        gather_sample(gather, t_ns, felt, rate);
    }
    gather->last_ns = t_ns;
    gather->specific_force_m_s2 = felt;
    gather->angular_rate_rad_s = rate;
    if (t_ns - gather->start_ns >= block_ns) {
        close_block(plan, state, t_ns);
    }
}

static void note_step(struct mountcal_gather *gather, double speed_m_s)
{
    const double step_m_s = oto_fabs(speed_m_s - gather->last_speed_m_s);
    if (step_m_s > STEP_LEAST_M_S && (gather->speed_step_m_s == 0.0 || step_m_s < gather->speed_step_m_s)) {
        gather->speed_step_m_s = step_m_s;
    }
    gather->last_speed_m_s = speed_m_s;
}

void mountcal_push_speed(struct mountcal_state *state, int64_t t_ns, double speed_m_s)
{
    struct mountcal_gather *gather = &state->gather;
    if (!state->verdict.running || monitors_speed(&state->monitors, t_ns, speed_m_s) == MONITORS_DROP) {
        return;
    }
    gather->speed_is_signed |= speed_m_s < -SIGNED_M_S;
    note_step(gather, speed_m_s);
    if (gather->has_sample) {
        gather->speed_sum_m_s += speed_m_s;
        gather->speed_time_sum_s += (double)(t_ns - gather->start_ns) * 1e-9;
        gather->speeds++;
    }
}
