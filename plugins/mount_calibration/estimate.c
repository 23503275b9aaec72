/* The estimates of the two methods, with and without a previous result, and their bounds. */
#include "verdict.h"

#define SHOWS_PITCH_M_S 6.0
#define FORWARD_S 4.0        /* time above the speed of a reversing car after which the forward direction is known */
#define SIGNED_S 5.0         /* time after which a speed with a sign would have contradicted a mount that is turned round */
#define OVERHANG_M 0.8       /* no sensor of a car is further behind its unsteered axle */
#define SHOWN_SHARE 0.2      /* of the sigma of the given position */
#define SIGN_UNSURE 1.6      /* factor on sigma: the sign of the speed may be wrong */
#define ABSOLUTE_TAILS 1.35  /* factor on the variance: corners and crowns differ from the assumptions, and springs answer the crown */
#define REPEATABLE_TAILS 1.5 /* factor on the variance: a road's bank may persist for longer than assumed */
#define PITCH_TAILS 1.3 /* factor on the variance: springs differ from the assumptions */
#define UNUSUAL_TAILS 0.6 /* added to the factor 1 of the yaw, for a gyroscope whose bias wanders ten times more than assumed */
/*
 * Springs pitch the body about another point than the road does, and late: they lift the no-slip point by the
 * difference of the points times the pitch that they give. All starts of a car, each about a second long, have this in
 * common.
 */
#define SPRINGS_CENTRE_M 0.25
#define START_S 1.0
#define HARD_START_M_S2 1.0              /* typical acceleration, until starts were seen */
#define SYSTEMATIC_RAD (0.015 * OTO_DEG) /* errors that the models do not contain */

static double springs_variance(const struct joint_filter *filter)
{
    const double speed_m_s = filter->distance_m > 0.0 ? filter->speed_square_m2_s / filter->distance_m : 0.0;
    const double accel_m_s2 = filter->gained_m_s > 0.0 ? filter->starts_m2_s3 / filter->gained_m_s : HARD_START_M_S2;
    const double compliance =
        oto_hypot(filter->extra[0], oto_sqrt(filter->covariance[JOINT_PITCH_COMPLIANCE][JOINT_PITCH_COMPLIANCE]));
    const double slope_rad = speed_m_s > 0.0 ? SPRINGS_CENTRE_M * compliance * accel_m_s2 / (START_S * speed_m_s) : 0.0;
    return slope_rad * slope_rad;
}

static void estimate_filter(const struct mountcal_plan *plan, const struct joint_filter *filter,
                            struct mountcal_estimate *estimate)
{
    const int roll = JOINT_MOUNT, pitch = JOINT_MOUNT + 1, yaw = JOINT_MOUNT + 2, crown = JOINT_CROWN;
    const double axes = plan->joint.axes_sigma * plan->joint.axes_sigma + SYSTEMATIC_RAD * SYSTEMATIC_RAD;
    const bool has_crown = plan->joint.path == JOINT_FOLLOWS;
    const double rolled = filter->covariance[roll][roll] + axes;
    const bool on_road = has_crown && !plan->params.garage;
    const double repeatable = rolled + (has_crown ? 2.0 * filter->covariance[roll][crown] + filter->covariance[crown][crown] : 0.0);
    estimate->q_body_from_sensor = filter->q_body_from_sensor;
    estimate->crown_rad = has_crown ? filter->extra[JOINT_CROWN - JOINT_PITCH_COMPLIANCE] : 0.0;
    estimate->variance[OTO_CALIBRATION_PITCH] =
        plan->params.opposite ? filter->covariance[pitch][pitch] + axes
                              : PITCH_TAILS * (filter->covariance[pitch][pitch] + axes) + springs_variance(filter);
    estimate->variance[OTO_CALIBRATION_YAW] = filter->covariance[yaw][yaw] + axes;
    estimate->variance[OTO_CALIBRATION_ROLL_ABSOLUTE] = (on_road ? ABSOLUTE_TAILS : 1.0) * rolled;
    estimate->variance[OTO_CALIBRATION_ROLL_REPEATABLE] = (on_road ? REPEATABLE_TAILS : 1.0) * repeatable;
}

static void estimate_histogram(const struct mountcal_plan *plan, const struct mountcal_state *state,
                               struct mountcal_estimate *estimate)
{
    static const int axis_of[3] = {OTO_CALIBRATION_ROLL_REPEATABLE, OTO_CALIBRATION_PITCH, OTO_CALIBRATION_YAW};
    const double crown_sigma = plan->joint.crown_sigma_rad;
    double bound_rad[3], progress;
    oto_quat q_level;
    histogram_result(&plan->histogram, &state->histogram, &q_level, bound_rad, &progress);
    estimate->crown_rad = plan->joint.crown_rad;
    estimate->q_body_from_sensor = oto_quat_mul(oto_quat_from_rpy(-estimate->crown_rad, 0.0, 0.0), q_level);
    for (int i = 0; i < 3; i++) {
        estimate->variance[axis_of[i]] = bound_rad[i] * bound_rad[i] / 9.0;
    }
    estimate->variance[OTO_CALIBRATION_ROLL_ABSOLUTE] =
        estimate->variance[OTO_CALIBRATION_ROLL_REPEATABLE] + crown_sigma * crown_sigma;
}

void mountcal_estimate_alone(const struct mountcal_plan *plan, const struct mountcal_state *state,
                             struct mountcal_estimate *estimate)
{
    if (plan->params.method == OTO_CALIBRATION_HISTOGRAM) {
        estimate_histogram(plan, state, estimate);
    } else {
        estimate_filter(plan, joint_shown(&state->joint), estimate);
    }
}

void mountcal_apart(const struct mountcal_estimate *estimate, oto_quat q_from, double crown_from_rad,
                    double apart_rad[OTO_CALIBRATION_AXES])
{
    const oto_vec3 turn = oto_quat_to_rotvec(oto_quat_mul(estimate->q_body_from_sensor, oto_quat_conj(q_from)));
    apart_rad[OTO_CALIBRATION_PITCH] = turn.y;
    apart_rad[OTO_CALIBRATION_YAW] = turn.z;
    apart_rad[OTO_CALIBRATION_ROLL_ABSOLUTE] = turn.x;
    apart_rad[OTO_CALIBRATION_ROLL_REPEATABLE] = turn.x + estimate->crown_rad - crown_from_rad;
}

/* Combines the estimate with the previous result, weighted by their variances, on the axes that the previous result has joined. */
static void join_previous(const struct mountcal_plan *plan, const struct mountcal_verdict *verdict,
                          struct mountcal_estimate *estimate)
{
    static const int axis_of[3] = {OTO_CALIBRATION_ROLL_ABSOLUTE, OTO_CALIBRATION_PITCH, OTO_CALIBRATION_YAW};
    double apart_rad[OTO_CALIBRATION_AXES], turn_rad[3] = {0.0};
    mountcal_apart(estimate, plan->q_previous, 0.0, apart_rad);
    for (int i = 0; i < 3; i++) {
        const int axis = axis_of[i];
        if (verdict->previous[axis] == OTO_CALIBRATION_PREVIOUS_JOINED) {
            const double by = estimate->variance[axis] / (estimate->variance[axis] + plan->previous_variance[axis]);
            turn_rad[i] = -by * apart_rad[axis];
            estimate->variance[axis] *= 1.0 - by;
        }
    }
    estimate->q_body_from_sensor =
        oto_quat_mul(oto_quat_from_rotvec(oto_vec3_from_array(turn_rad)), estimate->q_body_from_sensor);
    estimate->crown_rad -= turn_rad[0]; /* leaves the repeatable roll unchanged */
}

void mountcal_estimate_now(const struct mountcal_plan *plan, const struct mountcal_state *state,
                           struct mountcal_estimate *estimate)
{
    mountcal_estimate_alone(plan, state, estimate);
    if (plan->has_previous) {
        join_previous(plan, &state->verdict, estimate);
    }
}

oto_quat mountcal_repeatable(const struct mountcal_estimate *estimate)
{
    return oto_quat_mul(oto_quat_from_rpy(estimate->crown_rad, 0.0, 0.0), estimate->q_body_from_sensor);
}

/* At constant speed the data do not show the pitch; a small variance in the filter is then an effect of linearisation. */
static bool shows_pitch(const struct mountcal_plan *plan, const struct mountcal_state *state)
{
    return plan->params.method != OTO_CALIBRATION_JOINT || plan->params.opposite ||
           joint_shown(&state->joint)->gained_m_s > SHOWS_PITCH_M_S;
}

/*
 * Whether the sensor is so far ahead of the unsteered axle that it would be behind the car if forward were backward.
 * Turns show the position; the one that is given counts only as far as they have made it several times more exact.
 */
static bool is_ahead_of_axle(const struct mountcal_plan *plan, const struct joint_filter *filter)
{
    const double ahead_m = filter->extra[JOINT_LEVER - JOINT_PITCH_COMPLIANCE],
                 sigma_m = joint_sigma(filter, JOINT_LEVER);
    return sigma_m < SHOWN_SHARE * plan->joint.position_sigma_m.x && ahead_m - 3.0 * sigma_m > OVERHANG_M;
}

/*
 * A speed that has never been negative may be unsigned. Until it is negative, a mount that is turned round looks like a car
 * that reverses, so the sign must have had the time to contradict the mount. Otherwise driving faster than a car reverses, a
 * sensor far ahead of the unsteered axle, or in a garage a first start forward, shows the forward direction.
 */
bool mountcal_is_direction_sure(const struct mountcal_plan *plan, const struct mountcal_state *state)
{
    const struct joint_filter *filter = &state->joint.filter;
    return filter->signed_s > SIGNED_S || filter->forward_s > FORWARD_S || is_ahead_of_axle(plan, filter) ||
           (plan->params.garage && state->driven.begins_forward);
}

/*
 * Factor on the variance. The rise shows the pitch, the sideways velocity the yaw. A bias that wanders much, which turns the
 * yaw away, is no random walk, as which the filter takes it. What the roads' bank adds to the roll is in the filter.
 */
static double excess_of(const struct mountcal_plan *plan, const struct mountcal_state *state, int axis)
{
    const struct joint_filter *filter = joint_shown(&state->joint);
    if (plan->params.method != OTO_CALIBRATION_JOINT || plan->joint.path != JOINT_FOLLOWS) {
        return 1.0;
    }
    return axis == OTO_CALIBRATION_PITCH ? joint_excess(filter, JOINT_UPWARD)
           : axis == OTO_CALIBRATION_YAW
               ? (1.0 + UNUSUAL_TAILS * joint_gyro_unusual(&filter->gyro)) * joint_excess(filter, JOINT_SIDEWAYS)
               : 1.0;
}

void mountcal_sigma(const struct mountcal_plan *plan, const struct mountcal_state *state,
                    const struct mountcal_estimate *estimate, double sigma_rad[OTO_CALIBRATION_AXES])
{
    const double unsure = mountcal_is_direction_sure(plan, state) ? 1.0 : SIGN_UNSURE;
    const bool says_nothing = plan->params.method == OTO_CALIBRATION_JOINT && !joint_shown(&state->joint)->begun;
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        double sigma = oto_sqrt(estimate->variance[i] * excess_of(plan, state, i)) * state->verdict.marks.widening[i] * unsure;
        if (i == OTO_CALIBRATION_PITCH && !shows_pitch(plan, state) && sigma < plan->joint.box_rad[1]) {
            sigma = plan->joint.box_rad[1];
        }
        sigma_rad[i] = says_nothing || !(3.0 * sigma < OTO_PI) ? OTO_PI / 3.0 : sigma;
    }
}
