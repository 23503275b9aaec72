/* Fills the published records from plan and state. */
#include <string.h>

#include "verdict.h"

static const uint32_t all_signals = OTO_CALIBRATION_SIGNAL_SENSOR_TO_RIG | OTO_CALIBRATION_SIGNAL_ROLL |
                                    OTO_CALIBRATION_SIGNAL_PITCH | OTO_CALIBRATION_SIGNAL_YAW;

static bool is_absolute(const struct mountcal_plan *plan)
{
    return plan->params.roll == OTO_CALIBRATION_ROLL_ABSOLUTE;
}

static void put_rotation(const struct mountcal_plan *plan, oto_quat q, struct oto_mount_calibration_record *record)
{
    oto_mat3 m = oto_mat3_from_quat(q);
    oto_vec3 correction = oto_rpy_from_quat(oto_quat_mul(oto_quat_conj(plan->joint.q_nominal), q));
    record->q_body_from_sensor = q.w < 0.0 ? oto_quat_neg(q) : q;
    memcpy(record->rotation_body_from_sensor, m.m, sizeof record->rotation_body_from_sensor);
    oto_vec3_to_array(oto_vec3_scale(correction, 1.0 / OTO_DEG), record->correction_rpy_deg);
    oto_vec3_to_array(oto_vec3_scale(oto_rpy_from_quat(q), 1.0 / OTO_DEG), record->rpy_deg);
    memcpy(record->nominal_rpy_deg, plan->params.nominal_rpy_deg, sizeof record->nominal_rpy_deg);
    record->position_body_m = oto_vec3_from_array(plan->params.position_body_m);
}

/* The values are roll, pitch and yaw angles; a bound is that of a rotation about the vehicle's axis. */
static void put_axes(const struct mountcal_plan *plan, const struct mountcal_state *state,
                     const struct mountcal_estimate *now, struct oto_mount_calibration_record *record)
{
    const oto_vec3 absolute = oto_rpy_from_quat(now->q_body_from_sensor);
    const oto_vec3 repeatable = oto_rpy_from_quat(mountcal_repeatable(now));
    const oto_vec3 shown = is_absolute(plan) ? absolute : repeatable;
    const double value_rad[OTO_CALIBRATION_AXES] = {[OTO_CALIBRATION_PITCH] = shown.y,
                                                    [OTO_CALIBRATION_YAW] = shown.z,
                                                    [OTO_CALIBRATION_ROLL_REPEATABLE] = repeatable.x,
                                                    [OTO_CALIBRATION_ROLL_ABSOLUTE] = absolute.x};
    double sigma_rad[OTO_CALIBRATION_AXES];
    mountcal_sigma(plan, state, now, sigma_rad);
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        const double bound = plan->accept_sigmas[i] * sigma_rad[i];
        record->axis_value_deg[i] = value_rad[i] / OTO_DEG;
        record->axis_bound_deg[i] = (bound < OTO_PI ? bound : OTO_PI) / OTO_DEG;
        record->axis_accepted[i] = state->verdict.accepted[i];
        record->axis_previous[i] = state->verdict.previous[i];
    }
    record->bound_3sigma_deg[0] = 3.0 * sigma_rad[plan->params.roll] / OTO_DEG;
    record->bound_3sigma_deg[1] = 3.0 * sigma_rad[OTO_CALIBRATION_PITCH] / OTO_DEG;
    record->bound_3sigma_deg[2] = 3.0 * sigma_rad[OTO_CALIBRATION_YAW] / OTO_DEG;
}

static void put_nuisances(const struct mountcal_state *state, struct oto_mount_calibration_record *record)
{
    const struct joint_filter *filter = joint_shown(&state->joint);
    record->gyro_bias_rad_s = filter->gyro_bias_rad_s;
    record->accel_bias_m_s2 = filter->accel_bias_m_s2;
    record->compliance_deg_s2_m[0] = filter->extra[JOINT_PITCH_COMPLIANCE - JOINT_PITCH_COMPLIANCE] / OTO_DEG;
    record->compliance_deg_s2_m[1] = filter->extra[JOINT_ROLL_COMPLIANCE - JOINT_PITCH_COMPLIANCE] / OTO_DEG;
    record->speed_scale = 1.0 + filter->extra[JOINT_SPEED_SCALE - JOINT_PITCH_COMPLIANCE];
    record->speed_lag_s = filter->extra[JOINT_SPEED_LAG - JOINT_PITCH_COMPLIANCE];
}

static void put_needed(const struct mountcal_state *state, struct oto_mount_calibration_record *record)
{
    for (uint32_t i = 0; i < OTO_CALIBRATION_MANOEUVRES; i++) {
        record->manoeuvre_progress[i] = mountcal_manoeuvre_progress(state, i);
        if (record->manoeuvre_progress[i] < 1.0) {
            record->manoeuvres_needed |= 1u << i;
        }
    }
}

void mountcal_result(const struct mountcal_plan *plan, const struct mountcal_state *state,
                     struct oto_mount_calibration_record *record)
{
    const struct mountcal_verdict *verdict = &state->verdict;
    struct mountcal_estimate now;
    memset(record, 0, sizeof *record);
    mountcal_estimate_now(plan, state, &now);
    record->state = verdict->state;
    record->reason = verdict->running ? verdict->reason : (uint32_t)OTO_CALIBRATION_REASON_STOPPED;
    record->method = (uint32_t)plan->params.method;
    record->running = verdict->running;
    record->percent = verdict->percent;
    put_rotation(plan, is_absolute(plan) ? now.q_body_from_sensor : mountcal_repeatable(&now), record);
    put_axes(plan, state, &now, record);
    put_nuisances(state, record);
    put_needed(state, record);
    record->seconds = verdict->seconds;
    record->distance_m = verdict->distance_m;
    record->signals = verdict->running ? all_signals : 0;
    record->monitors_raw = state->monitors.raw;
    record->monitors = state->monitors.debounced;
    record->changes = verdict->changes;
    record->resets = verdict->resets;
}

/* ---- diagnostics ------------------------------------------------------------------------------------------------- */

static void put_votes(const struct mountcal_state *state, struct oto_mount_calibration_diagnostics_record *record)
{
    const struct histogram_votes *up = &state->histogram.of[HISTOGRAM_UP_INCLINATION];
    const struct histogram_votes *forward = &state->histogram.of[HISTOGRAM_FORWARD_INCLINATION];
    record->up_votes = up->total;
    record->forward_votes = forward->total;
    record->up_max_votes = up->max_votes;
    record->forward_max_votes = forward->max_votes;
    record->up_outliers = up->outliers;
    record->forward_outliers = forward->outliers;
    record->short_up_votes = up->recent_total;
    record->short_forward_votes = forward->recent_total;
    for (int i = 0; i < HISTOGRAM_COUNT; i++) {
        record->inclination_azimuth_deg[i] = state->histogram.of[i].peak_rad / OTO_DEG;
    }
}

static void put_inputs(const struct mountcal_state *state, struct oto_mount_calibration_diagnostics_record *record)
{
    const struct monitors *monitors = &state->monitors;
    const struct mountcal_driven *driven = &state->driven;
    record->imu_used = monitors->imu_used;
    record->imu_dropped = monitors->imu_dropped;
    record->speed_used = monitors->speed_used;
    record->speed_dropped = monitors->speed_dropped;
    record->turns_left = driven->turns_left;
    record->turns_right = driven->turns_right;
    record->starts = driven->starts;
    record->stops = driven->stops;
    record->reverses = driven->reverses;
}

void mountcal_diagnostics(const struct mountcal_plan *plan, const struct mountcal_state *state,
                          struct oto_mount_calibration_diagnostics_record *record)
{
    const struct joint_filter *filter = joint_shown(&state->joint);
    const double *widening = state->verdict.marks.widening;
    memset(record, 0, sizeof *record);
    put_inputs(state, record);
    put_votes(state, record);
    record->cycles = plan->params.method == OTO_CALIBRATION_HISTOGRAM ? state->histogram.votes : filter->blocks;
    record->gated = filter->gated;
    for (int i = 0; i < JOINT_CHANNELS; i++) {
        record->residual_ratio[i] = oto_sqrt(filter->channels[i].scale);
    }
    record->widening[0] = widening[plan->params.roll];
    record->widening[1] = widening[OTO_CALIBRATION_PITCH];
    record->widening[2] = widening[OTO_CALIBRATION_YAW];
    record->gravity_residual_m_s2 = state->verdict.gravity_residual_m_s2;
    record->bank_deg = oto_sqrt(filter->bank_power) / OTO_DEG;
    record->heave_deg = oto_sqrt(filter->heave_power) / OTO_DEG;
}

/* ---- histograms -------------------------------------------------------------------------------------------------- */

void mountcal_histogram(const struct mountcal_plan *plan, const struct mountcal_state *state,
                        struct oto_mount_calibration_histogram_record *record)
{
    memset(record, 0, sizeof *record);
    for (int h = 0; h < HISTOGRAM_COUNT; h++) {
        const struct histogram_votes *votes = &state->histogram.of[h];
        double most = 0.0;
        for (int i = 0; i < HISTOGRAM_BINS; i++) {
            most = votes->votes[i] > most ? votes->votes[i] : most;
        }
        record->range_deg[h] = plan->histogram.range_rad[h] / OTO_DEG;
        record->votes_per_count[h] = most > 0.0 ? most / 65535.0 : 0.0;
        record->peak_deg[h] = votes->peak_rad / OTO_DEG;
        record->accepted[h] = votes->accepted;
        for (int i = 0; most > 0.0 && i < HISTOGRAM_BINS; i++) {
            record->counts[h][i] = (uint16_t)oto_round_half_away(votes->votes[i] / most * 65535.0);
        }
    }
}

/* ---- soundness --------------------------------------------------------------------------------------------------- */

/* Differences of two times must fit into 64 bits. */
static bool times_are_valid(const struct mountcal_state *state)
{
    const struct monitors *monitors = &state->monitors;
    const int64_t times_ns[] = {monitors->imu_t_ns,       monitors->speed_t_ns,       monitors->begun_ns,
                                monitors->imu_changed_ns, monitors->speed_changed_ns, state->gather.start_ns,
                                state->gather.last_ns};
    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        if (times_ns[i] > INT64_MAX / 2 || times_ns[i] < -(INT64_MAX / 2)) {
            return false;
        }
    }
    return true;
}

bool mountcal_state_is_valid(const struct mountcal_state *state)
{
    const struct joint_filter *filter = &state->joint.filter;
    double sum = 0.0;
    if (state->verdict.marks.count > MOUNTCAL_MARKS || !times_are_valid(state)) {
        return false;
    }
    for (int i = 0; i < JOINT_STATES; i++) {
        if (!(filter->covariance[i][i] >= 0.0)) {
            return false;
        }
        sum += filter->covariance[i][i];
    }
    return sum - sum == 0.0 && oto_vec3_is_finite(filter->velocity_m_s) && oto_vec3_is_finite(filter->gravity_m_s2) &&
           oto_quat_is_unit(filter->q_body_from_sensor, 1e-6) && state->joint.kept_count <= JOINT_KEPT_BLOCKS &&
           state->joint.replayed <= state->joint.kept_count;
}
