#include "verdict.h"

#include <string.h>

#define RECORD_EVERY_S 20.0 /* least interval between marks */
#define DOUBT_S 8.0         /* after contradictions for this time the mount is taken to have moved */
#define DOUBT_MOST_S 12.0
#define MOVED_SHOWN_S 20.0
#define GARAGE_REST_S 5.0
#define LOSS_MEMORY_S 300.0
#define LOSSES_MOST 1.5
#define UNREPORTED_MOST_S 2.0 /* after a longer gap between speeds the distance is not known */
#define LEVEL_JOLT_MOST 0.02 /* m/s² per Hz^½: with larger jolts the path is not level */
#define WIDENED 1.5          /* factor on the bounds above which parts of the drive disagree */
#define REFUTED 12.0         /* squared difference over variance that refutes a previous result */

/* ---- marks: how far the result has moved since ------------------------------------------------------------------- */

static void clear_marks(struct mountcal_marks *marks)
{
    marks->count = 0;
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        marks->widening[i] = 1.0;
    }
}

static void set_previous(const struct mountcal_plan *plan, struct mountcal_verdict *verdict)
{
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        const bool has = plan->has_previous && i != OTO_CALIBRATION_ROLL_REPEATABLE;
        verdict->previous[i] = has ? OTO_CALIBRATION_PREVIOUS_CARRIED : OTO_CALIBRATION_PREVIOUS_NONE;
    }
}

void mountcal_verdict_begin(const struct mountcal_plan *plan, struct mountcal_verdict *verdict)
{
    memset(verdict, 0, sizeof *verdict);
    verdict->since_moved_s = -1.0;
    set_previous(plan, verdict);
    clear_marks(&verdict->marks);
}

static void thin_marks(struct mountcal_marks *marks)
{
    for (uint32_t i = 0; 2 * i + 1 < MOUNTCAL_MARKS; i++) {
        marks->marks[i] = marks->marks[2 * i + 1];
    }
    marks->count = MOUNTCAL_MARKS / 2;
}

/*
 * The change of an optimal estimate has the difference of its variances as variance. If the result has moved by more than
 * about 2.5 sigma of this change since a mark, its bounds are widened in proportion.
 */
static void compare_marks(struct mountcal_marks *marks, const struct mountcal_estimate *now)
{
    double most[OTO_CALIBRATION_AXES] = {1.0, 1.0, 1.0, 1.0};
    for (uint64_t i = 0; i < marks->count; i++) {
        const struct mountcal_mark *mark = &marks->marks[i];
        double moved[OTO_CALIBRATION_AXES];
        mountcal_apart(now, mark->q_body_from_sensor, mark->crown_rad, moved);
        for (int axis = 0; axis < OTO_CALIBRATION_AXES; axis++) {
            const double allowed = 6.25 * (mark->variance[axis] - 0.5 * now->variance[axis]);
            const double ratio = allowed > 0.0 ? moved[axis] * moved[axis] / allowed : 1.0;
            most[axis] = ratio > most[axis] ? ratio : most[axis];
        }
    }
    for (int axis = 0; axis < OTO_CALIBRATION_AXES; axis++) {
        marks->widening[axis] = oto_sqrt(most[axis]);
    }
}

static void mark(struct mountcal_marks *marks, double seconds, const struct mountcal_estimate *now)
{
    const double since_s = marks->count > 0 ? seconds - marks->marks[marks->count - 1].seconds : seconds;
    struct mountcal_mark *next;
    if (marks->count == MOUNTCAL_MARKS) {
        thin_marks(marks);
    }
    if (since_s < RECORD_EVERY_S || (seconds > 600.0 && since_s < 60.0)) {
        return;
    }
    next = &marks->marks[marks->count++];
    next->q_body_from_sensor = now->q_body_from_sensor;
    next->crown_rad = now->crown_rad;
    memcpy(next->variance, now->variance, sizeof next->variance);
    next->seconds = seconds;
}

/* ---- the state --------------------------------------------------------------------------------------------------- */

static void become(struct mountcal_verdict *verdict, uint32_t state, uint32_t reason)
{
    verdict->changes += verdict->state != state;
    verdict->state = state;
    verdict->reason = reason;
}

static uint32_t input_reason(const struct mountcal_state *state)
{
    const uint32_t bits = state->monitors.debounced;
    return (bits & MONITORS_INPUT_UNITS) != 0 ? OTO_CALIBRATION_REASON_INPUT_UNITS
           : (bits & MONITORS_NO_IMU) != 0    ? OTO_CALIBRATION_REASON_NO_IMU
           : (bits & MONITORS_NO_SPEED) != 0  ? OTO_CALIBRATION_REASON_NO_SPEED
           : (bits & MONITORS_CONFLICT) != 0  ? OTO_CALIBRATION_REASON_INPUT_CONFLICT
                                              : OTO_CALIBRATION_REASON_COLLECTING;
}

/* True if the rotation from the nominal mount exceeds the box about a vehicle axis by more than its 3-sigma uncertainty. */
static bool is_outside(const struct mountcal_plan *plan, const struct mountcal_estimate *now)
{
    static const int axis_of[3] = {OTO_CALIBRATION_ROLL_ABSOLUTE, OTO_CALIBRATION_PITCH, OTO_CALIBRATION_YAW};
    double apart_rad[3];
    oto_vec3_to_array(oto_rpy_from_quat(oto_quat_mul(now->q_body_from_sensor, oto_quat_conj(plan->joint.q_nominal))),
                      apart_rad);
    for (int i = 0; i < 3; i++) {
        const double unsure = 3.0 * oto_sqrt(now->variance[axis_of[i]]), box = plan->joint.box_rad[i];
        if (unsure < 0.3 * box && oto_fabs(apart_rad[i]) > box + unsure) {
            return true;
        }
    }
    return false;
}

bool mountcal_is_wanted(const struct mountcal_plan *plan, int axis)
{
    const int other = plan->params.roll == OTO_CALIBRATION_ROLL_ABSOLUTE ? OTO_CALIBRATION_ROLL_REPEATABLE
                                                                         : OTO_CALIBRATION_ROLL_ABSOLUTE;
    return axis != other;
}

static double progress_of(const struct mountcal_plan *plan, const struct mountcal_state *state,
                          const double sigma_rad[OTO_CALIBRATION_AXES])
{
    static const int box_of[OTO_CALIBRATION_AXES] = {1, 2, 0, 0};
    double least = 1.0;
    if (plan->params.method == OTO_CALIBRATION_HISTOGRAM) { /* the published rule must hold in addition to the bounds */
        oto_quat q;
        double unused_rad[3];
        const bool accepted = histogram_result(&plan->histogram, &state->histogram, &q, unused_rad, &least);
        least = accepted ? 1.0 : least < 0.99 ? least : 0.99;
    }
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        const double first = 3.0 * plan->joint.box_rad[box_of[i]], bound = plan->accept_sigmas[i] * sigma_rad[i];
        const double part = oto_log(first / bound) / oto_log(first / plan->accept_rad[i]);
        least = mountcal_is_wanted(plan, i) && part < least ? part : least;
    }
    return least > 0.0 ? least : 0.0;
}

static bool has_driven_enough(const struct mountcal_plan *plan, const struct mountcal_state *state)
{
    const struct mountcal_verdict *verdict = &state->verdict;
    const struct joint_filter *filter = &state->joint.filter;
    const bool rested = !plan->params.garage || verdict->rest_s >= GARAGE_REST_S;
    const bool is_calm =
        plan->joint.path == JOINT_FOLLOWS || filter->jolt_power < LEVEL_JOLT_MOST * LEVEL_JOLT_MOST;
    return verdict->seconds > plan->least_s && rested && state->driven.starts >= 1 && verdict->losses < LOSSES_MOST &&
           verdict->doubt_s <= 0.0 && !joint_is_replaying(&state->joint) && is_calm && mountcal_is_direction_sure(plan, state);
}

/*
 * A previous result joins an axis as soon as the new data alone, which could have refuted it, show that it is within the
 * acceptance bound. Until then it is carried and has no effect.
 */
static void judge_previous(const struct mountcal_plan *plan, struct mountcal_state *state)
{
    struct mountcal_estimate alone;
    double apart_rad[OTO_CALIBRATION_AXES], sigma_rad[OTO_CALIBRATION_AXES];
    mountcal_estimate_alone(plan, state, &alone);
    mountcal_sigma(plan, state, &alone, sigma_rad);
    mountcal_apart(&alone, plan->q_previous, 0.0, apart_rad);
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        uint32_t *previous = &state->verdict.previous[i];
        const double apart = oto_fabs(apart_rad[i]);
        const double variance = sigma_rad[i] * sigma_rad[i] + plan->previous_variance[i];
        if (*previous == OTO_CALIBRATION_PREVIOUS_NONE || *previous == OTO_CALIBRATION_PREVIOUS_REFUTED) {
            continue;
        }
        *previous = apart * apart > REFUTED * variance ? OTO_CALIBRATION_PREVIOUS_REFUTED
                    : apart + plan->accept_sigmas[i] * sigma_rad[i] < plan->accept_rad[i]
                        ? OTO_CALIBRATION_PREVIOUS_JOINED
                        : OTO_CALIBRATION_PREVIOUS_CARRIED;
    }
}

static uint32_t reason_to_wait(const struct mountcal_verdict *verdict)
{
    uint32_t reason = OTO_CALIBRATION_REASON_COLLECTING;
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        if (verdict->previous[i] == OTO_CALIBRATION_PREVIOUS_REFUTED) {
            return OTO_CALIBRATION_REASON_WRONG_PRIOR;
        }
        reason = verdict->marks.widening[i] > WIDENED ? OTO_CALIBRATION_REASON_PARTS_DISAGREE : reason;
    }
    return reason;
}

static void accept_axes(const struct mountcal_plan *plan, struct mountcal_state *state,
                        const double sigma_rad[OTO_CALIBRATION_AXES], bool may)
{
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        state->verdict.accepted[i] = may && plan->accept_sigmas[i] * sigma_rad[i] <= plan->accept_rad[i];
    }
}

static void accept_or_not(const struct mountcal_plan *plan, struct mountcal_state *state,
                          const struct mountcal_estimate *now)
{
    struct mountcal_verdict *verdict = &state->verdict;
    double sigma_rad[OTO_CALIBRATION_AXES], progress;
    const bool is_out = is_outside(plan, now), may = !is_out && has_driven_enough(plan, state);
    mountcal_sigma(plan, state, now, sigma_rad);
    accept_axes(plan, state, sigma_rad, may);
    if (verdict->accepted[OTO_CALIBRATION_PITCH] && verdict->accepted[OTO_CALIBRATION_YAW]) {
        verdict->has_been_accepted = 1;
    }
    progress = progress_of(plan, state, sigma_rad);
    if (is_out) {
        become(verdict, OTO_CALIBRATION_FAILED, OTO_CALIBRATION_REASON_OUTSIDE_BOX);
        return;
    }
    if (verdict->state != OTO_CALIBRATION_ACCEPTED) {
        become(verdict, OTO_CALIBRATION_NOT_ACCEPTED, reason_to_wait(verdict));
        if (progress >= 1.0 && may) {
            become(verdict, OTO_CALIBRATION_ACCEPTED, OTO_CALIBRATION_REASON_CONSISTENT);
        }
    }
    if (verdict->state == OTO_CALIBRATION_ACCEPTED) {
        verdict->percent = 100.0;
    } else {
        progress = 100.0 * (progress > 0.99 ? 0.99 : progress);
        verdict->percent = progress > verdict->percent ? progress : verdict->percent;
    }
}

/* ---- a mount that moved, and inputs that contradict each other --------------------------------------------------- */

static void begin_estimate(const struct mountcal_plan *plan, struct mountcal_state *state)
{
    struct mountcal_verdict *verdict = &state->verdict;
    joint_init(&plan->joint, &state->joint);
    histogram_init(&state->histogram);
    state->gather.breaks = 1;
    clear_marks(&verdict->marks);
    memset(verdict->accepted, 0, sizeof verdict->accepted);
    memset(verdict->previous, 0, sizeof verdict->previous);
    verdict->percent = 0.0;
    verdict->seconds = 0.0;
    verdict->doubt_s = 0.0;
    verdict->resets++;
    verdict->has_been_accepted = 0;
}

static bool has_wandered(const struct mountcal_plan *plan, const struct mountcal_state *state)
{
    struct mountcal_estimate now;
    double sigma_rad[OTO_CALIBRATION_AXES];
    if (plan->params.method != OTO_CALIBRATION_JOINT) {
        return false;
    }
    mountcal_estimate_now(plan, state, &now);
    mountcal_sigma(plan, state, &now, sigma_rad);
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        const bool was_accepted = i == OTO_CALIBRATION_PITCH || i == OTO_CALIBRATION_YAW ||
                                  (state->verdict.state == OTO_CALIBRATION_ACCEPTED && mountcal_is_wanted(plan, i));
        if (was_accepted && plan->accept_sigmas[i] * sigma_rad[i] > 2.0 * plan->accept_rad[i]) {
            return true;
        }
    }
    return false;
}

/* Counts resets of the velocity. Each is a contradiction that the share of refused blocks does not show. */
static void count_losses(struct mountcal_state *state, double dt)
{
    struct mountcal_verdict *verdict = &state->verdict;
    const uint64_t lost = state->joint.filter.lost;
    verdict->losses -= verdict->losses * dt / LOSS_MEMORY_S;
    if (lost > verdict->lost) {
        verdict->losses += 1.0;
        state->monitors.conflict += 0.3 * (1.0 - state->monitors.conflict);
    }
    verdict->lost = lost;
}

/* Counts the time in which the filter rejects its inputs. After enough of it the calibration restarts. */
static void doubt(const struct mountcal_plan *plan, struct mountcal_state *state, double dt)
{
    struct mountcal_verdict *verdict = &state->verdict;
    const bool accepted = verdict->has_been_accepted != 0;
    const bool surprised = accepted && joint_is_surprised(&state->joint) && !joint_is_replaying(&state->joint);
    const bool moving = oto_fabs(state->joint.filter.speed_m_s) > 1.0;
    const double change = state->monitors.conflict > 0.3 || (surprised && moving) ? dt : surprised ? 0.0 : -dt;
    verdict->doubt_s += change;
    verdict->doubt_s = verdict->doubt_s < 0.0 ? 0.0 : verdict->doubt_s;
    verdict->since_moved_s += verdict->since_moved_s >= 0.0 ? dt : 0.0;
    if (accepted && has_wandered(plan, state)) {
        verdict->doubt_s = DOUBT_S;
    }
    if (verdict->doubt_s < (accepted ? DOUBT_S : DOUBT_MOST_S)) {
        return;
    }
    begin_estimate(plan, state);
    state->monitors.conflict = accepted ? 0.0 : state->monitors.conflict;
    if (accepted) {
        become(verdict, OTO_CALIBRATION_FAILED, OTO_CALIBRATION_REASON_MOVED);
        verdict->since_moved_s = 0.0;
    }
}

/* Checks the mean over four seconds of specific force minus acceleration minus reaction to gravity, in body axes. */
static void check_gravity(struct mountcal_state *state, const struct joint_block *block)
{
    const struct joint_filter *filter = &state->joint.filter;
    const double by = 2.0 / 41.0;
    oto_vec3 felt = oto_vec3_add_scaled(oto_vec3_scale(block->velocity_gain_m_s, 1.0 / block->duration_s),
                                        filter->accel_bias_m_s2, -1.0);
    oto_vec3 motion = oto_vec3_make(filter->accel_ahead_m_s2, filter->accel_left_m_s2, 9.80665);
    oto_vec3 rest = oto_vec3_sub(oto_quat_rotate(filter->q_body_from_sensor, felt), motion);
    if (block->still) {
        rest = oto_vec3_add(rest, oto_vec3_make(motion.x, motion.y, 0.0));
    }
    state->verdict.gravity_residual_m_s2 = oto_vec3_lerp(state->verdict.gravity_residual_m_s2, rest, by);
    if (oto_fabs(state->verdict.gravity_residual_m_s2.z) > 0.6) {
        state->monitors.once |= 1u << OTO_CALIBRATION_MONITOR_GRAVITY;
    }
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* A speed counts for the time since the previous one, so that the distance does not depend on the rate of the speeds. */
static void add_distance(struct mountcal_verdict *verdict, const struct joint_block *block)
{
    const double unreported_s = verdict->unreported_s + block->duration_s;
    verdict->unreported_s = block->speeds > 0 ? 0.0 : unreported_s;
    if (block->speeds > 0 && !block->still && unreported_s < UNREPORTED_MOST_S) {
        verdict->distance_m += oto_fabs(block->speed_m_s) * unreported_s;
    }
}

static void work_on(const struct mountcal_plan *plan, struct mountcal_state *state, const struct joint_block *block)
{
    struct mountcal_verdict *verdict = &state->verdict;
    const struct joint_filter *filter;
    verdict->seconds += block->duration_s;
    add_distance(verdict, block);
    joint_push_block(&plan->joint, &state->joint, block);
    filter = &state->joint.filter;
    if (plan->params.method == OTO_CALIBRATION_HISTOGRAM) {
        histogram_push_block(&plan->histogram, &state->histogram, block);
    }
    if (joint_is_replaying(&state->joint)) {
        return;
    }
    mountcal_note_driven(&state->driven, filter, block);
    verdict->rest_s = state->driven.rest_s > verdict->rest_s ? state->driven.rest_s : verdict->rest_s;
    check_gravity(state, block);
}

void mountcal_take_block(const struct mountcal_plan *plan, struct mountcal_state *state,
                         const struct joint_block *block)
{
    struct mountcal_verdict *verdict = &state->verdict;
    struct mountcal_estimate now;
    bool refused;
    work_on(plan, state, block);
    refused = !joint_is_replaying(&state->joint) && state->joint.filter.refused > 0;
    monitors_review(&plan->monitors, &state->monitors, block->still != 0, oto_fabs(block->speed_m_s) > 1.0, refused);
    count_losses(state, block->duration_s);
    doubt(plan, state, block->duration_s);
    if (!joint_is_replaying(&state->joint)) {
        mountcal_estimate_alone(plan, state, &now);
        compare_marks(&verdict->marks, &now);
        mark(&verdict->marks, verdict->seconds, &now);
        if (plan->params.method == OTO_CALIBRATION_JOINT) {
            judge_previous(plan, state);
        }
    }
    if (verdict->since_moved_s >= 0.0 && verdict->since_moved_s < MOVED_SHOWN_S) {
        return;
    }
    if (input_reason(state) != OTO_CALIBRATION_REASON_COLLECTING) {
        become(verdict, OTO_CALIBRATION_INVALID, input_reason(state));
        memset(verdict->accepted, 0, sizeof verdict->accepted);
        return;
    }
    mountcal_estimate_now(plan, state, &now);
    accept_or_not(plan, state, &now);
}

void mountcal_review_dropped(const struct mountcal_plan *plan, struct mountcal_state *state)
{
    const uint64_t dropped = state->monitors.imu_dropped;
    if (dropped % 10 != 0) {
        return;
    }
    monitors_review(&plan->monitors, &state->monitors, false, false, false);
    if (input_reason(state) != OTO_CALIBRATION_REASON_COLLECTING) {
        become(&state->verdict, OTO_CALIBRATION_INVALID, input_reason(state));
        memset(state->verdict.accepted, 0, sizeof state->verdict.accepted);
    }
}
