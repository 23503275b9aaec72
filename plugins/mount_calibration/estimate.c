/* The methods' estimates, alone and with a result from before, and the bounds of them. */
#include "verdict.h"

#define SYSTEMATIC_RAD (0.015 * OTO_DEG) /* what no model has, in pitch and yaw */

void mountcal_rpy(oto_quat q, double rpy_rad[3])
{
    oto_vec3_to_array(oto_rpy_from_quat(q), rpy_rad);
}

/* Of roll, pitch, yaw from those of a rotation about the vehicle's axes: rpy' = E(rpy) turn. */
static void to_rpy_variance(const struct joint_filter *filter, const double rpy_rad[3], double variance[3])
{
    double sp, cp, sy, cy, by[3][3];
    oto_sincos(rpy_rad[1], &sp, &cp);
    oto_sincos(rpy_rad[2], &sy, &cy);
    cp = oto_fabs(cp) < 0.01 ? 0.01 : cp;
    oto_vec3_to_array(oto_vec3_make(cy / cp, sy / cp, 0.0), by[0]);
    oto_vec3_to_array(oto_vec3_make(-sy, cy, 0.0), by[1]);
    oto_vec3_to_array(oto_vec3_make(cy * sp / cp, sy * sp / cp, 1.0), by[2]);
    for (int i = 0; i < 3; i++) {
        variance[i] = 0.0;
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 3; k++) {
                variance[i] += by[i][j] * by[i][k] * filter->covariance[JOINT_MOUNT + j][JOINT_MOUNT + k];
            }
        }
    }
}

void mountcal_estimate_by(const struct joint_filter *filter, struct mountcal_estimate *estimate)
{
    estimate->q_body_from_sensor = filter->q_body_from_sensor;
    mountcal_rpy(estimate->q_body_from_sensor, estimate->rpy_rad);
    to_rpy_variance(filter, estimate->rpy_rad, estimate->variance);
    for (int i = 0; i < 3; i++) {
        estimate->variance[i] += SYSTEMATIC_RAD * SYSTEMATIC_RAD;
    }
}

/* With a result from before that fits, the two are taken together, each by its variance. */
static void join_previous(const struct mountcal_plan *plan, struct mountcal_estimate *estimate)
{
    double previous_rad[3], by[3];
    mountcal_rpy(plan->q_previous, previous_rad);
    for (int i = 0; i < 3; i++) {
        const double total = estimate->variance[i] + plan->previous_variance[i];
        by[i] = estimate->variance[i] / total;
        estimate->rpy_rad[i] += by[i] * oto_wrap_pi(previous_rad[i] - estimate->rpy_rad[i]);
        estimate->variance[i] *= 1.0 - by[i];
    }
    estimate->q_body_from_sensor = oto_quat_from_rpy(estimate->rpy_rad[0], estimate->rpy_rad[1], estimate->rpy_rad[2]);
}

static void estimate_histogram(const struct mountcal_plan *plan, const struct mountcal_state *state,
                               struct mountcal_estimate *estimate)
{
    double bound_rad[3], progress;
    histogram_result(&plan->histogram, &state->histogram, &estimate->q_body_from_sensor, bound_rad, &progress);
    mountcal_rpy(estimate->q_body_from_sensor, estimate->rpy_rad);
    for (int i = 0; i < 3; i++) {
        estimate->variance[i] = bound_rad[i] * bound_rad[i] / 9.0;
    }
}

void mountcal_estimate_alone(const struct mountcal_plan *plan, const struct mountcal_state *state,
                             struct mountcal_estimate *estimate)
{
    if (plan->params.method == OTO_CALIBRATION_HISTOGRAM) {
        estimate_histogram(plan, state, estimate);
    } else {
        mountcal_estimate_by(joint_shown(&state->joint), estimate);
    }
}

void mountcal_estimate_now(const struct mountcal_plan *plan, const struct mountcal_state *state,
                           struct mountcal_estimate *estimate)
{
    mountcal_estimate_alone(plan, state, estimate);
    if (state->verdict.previous == MOUNTCAL_PREVIOUS_TAKEN) {
        join_previous(plan, estimate);
    }
}

const struct mountcal_marks *mountcal_marks(const struct mountcal_plan *plan, const struct mountcal_state *state)
{
    return &state->verdict.marks[plan->params.method == OTO_CALIBRATION_JOINT ? state->joint.path : 0];
}

/* While it is not clear which path it is, the bound holds for either. */
static void widen_if_torn(const struct mountcal_state *state, double bound_rad[3])
{
    struct mountcal_estimate road, level;
    if (!joint_is_torn(&state->joint)) {
        return;
    }
    mountcal_estimate_by(&state->joint.filters[JOINT_FOLLOWS], &road);
    mountcal_estimate_by(&state->joint.filters[JOINT_STAYS_LEVEL], &level);
    for (int i = 0; i < 3; i++) {
        bound_rad[i] += oto_fabs(oto_wrap_pi(level.rpy_rad[i] - road.rpy_rad[i]));
    }
}

void mountcal_bound(const struct mountcal_plan *plan, const struct mountcal_state *state,
                    const struct mountcal_estimate *estimate, double bound_rad[3])
{
    const bool is_joint = plan->params.method == OTO_CALIBRATION_JOINT;
    const struct mountcal_marks *marks = mountcal_marks(plan, state);
    for (int i = 0; i < 3; i++) {
        bound_rad[i] = 3.0 * oto_sqrt(estimate->variance[i]) * marks->widening[i];
    }
    if (is_joint) {
        widen_if_torn(state, bound_rad);
    }
    for (int i = 0; i < 3; i++) {
        const bool says_nothing = is_joint && !joint_shown(&state->joint)->begun;
        bound_rad[i] = says_nothing || !(bound_rad[i] < OTO_PI) ? OTO_PI : bound_rad[i];
    }
}
