#include "verdict.h"

#include <string.h>

#define RECORD_EVERY_S 20.0 /* of marks, doubled when they are full */
#define DOUBT_S 8.0         /* of contradiction, until the mount is said to have moved */
#define DOUBT_MOST_S 12.0
#define MOVED_SHOWN_S 20.0
#define GARAGE_REST_S 5.0
#define LOSS_MEMORY_S 300.0
#define LOSSES_MOST 1.5
#define LEVEL_WIDENING_MOST 1.5
#define LEVEL_JOLT_MOST 0.02 /* m/s² for 1 Hz^½: more, and it is no level path either */

/* ---- marks: how far the result has moved since ------------------------------------------------------------------- */

static void clear_marks(struct mountcal_verdict *verdict)
{
    for (int path = 0; path < JOINT_PATHS; path++) {
        verdict->marks[path].count = 0;
        for (int i = 0; i < 3; i++) {
            verdict->marks[path].widening[i] = 1.0;
        }
    }
}

void mountcal_verdict_begin(const struct mountcal_plan *plan, struct mountcal_verdict *verdict)
{
    memset(verdict, 0, sizeof *verdict);
    verdict->since_moved_s = -1.0;
    verdict->previous = plan->has_previous ? MOUNTCAL_PREVIOUS_OPEN : MOUNTCAL_NO_PREVIOUS;
    clear_marks(verdict);
}

static void thin_marks(struct mountcal_marks *marks)
{
    for (uint32_t i = 0; 2 * i + 1 < MOUNTCAL_MARKS; i++) {
        marks->marks[i] = marks->marks[2 * i + 1];
    }
    marks->count = MOUNTCAL_MARKS / 2;
}

/*
 * An optimal estimate moves from one time to a later one by the difference of its variances. Where it moves more than
 * three times that, bounds are widened by as much.
 */
static void compare_marks(struct mountcal_marks *marks, const struct mountcal_estimate *now)
{
    for (int axis = 0; axis < 3; axis++) {
        double most = 1.0;
        for (uint64_t i = 0; i < marks->count; i++) {
            const struct mountcal_mark *mark = &marks->marks[i];
            double moved = oto_wrap_pi(now->rpy_rad[axis] - mark->rpy_rad[axis]);
            double allowed = 6.25 * (mark->variance[axis] - 0.5 * now->variance[axis]);
            double ratio = allowed > 0.0 ? moved * moved / allowed : 1.0;
            most = ratio > most ? ratio : most;
        }
        marks->widening[axis] = oto_sqrt(most);
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
    memcpy(next->rpy_rad, now->rpy_rad, sizeof next->rpy_rad);
    memcpy(next->variance, now->variance, sizeof next->variance);
    next->seconds = seconds;
}

static void watch_filters(const struct mountcal_state *state, struct mountcal_verdict *verdict)
{
    for (int path = 0; path < JOINT_PATHS; path++) {
        struct mountcal_estimate now;
        mountcal_estimate_by(&state->joint.filters[path], &now);
        compare_marks(&verdict->marks[path], &now);
        mark(&verdict->marks[path], verdict->seconds, &now);
    }
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

/* Of the correction to the nominal mount, beyond the box by more than it is unsure. */
static bool is_outside(const struct mountcal_plan *plan, const struct mountcal_estimate *now, double more)
{
    double apart_rad[3];
    mountcal_rpy(oto_quat_mul(oto_quat_conj(plan->joint.q_nominal), now->q_body_from_sensor), apart_rad);
    for (int i = 0; i < 3; i++) {
        const double unsure = 3.0 * oto_sqrt(now->variance[i]);
        if (unsure < 0.3 * plan->joint.box_rad[i] && oto_fabs(apart_rad[i]) > plan->joint.box_rad[i] + more * unsure) {
            return true;
        }
    }
    return false;
}

static double progress_of(const struct mountcal_plan *plan, const struct mountcal_state *state,
                          const double bound_rad[3])
{
    double least = 1.0;
    if (plan->params.method == OTO_CALIBRATION_HISTOGRAM) { /* the published rule, and then the bounds as well */
        oto_quat q;
        double unused_rad[3];
        const bool accepted = histogram_result(&plan->histogram, &state->histogram, &q, unused_rad, &least);
        least = accepted ? 1.0 : least < 0.99 ? least : 0.99;
    }
    for (int i = 0; i < 3; i++) {
        const double first = 3.0 * plan->joint.box_rad[i];
        const double part = oto_log(first / bound_rad[i]) / oto_log(first / plan->accept_rad[i]);
        least = part < least ? part : least;
    }
    return least > 0.0 ? least : 0.0;
}

/* Under a level path the roll has never moved more than it should, and is within its bound that holds on a road. */
static bool is_path_sure(const struct mountcal_state *state)
{
    const struct joint_filter *road = &state->joint.filters[JOINT_FOLLOWS], *level = joint_live(&state->joint);
    double road_rad[3], level_rad[3], apart, bound;
    if (state->joint.path == JOINT_FOLLOWS) {
        return true;
    }
    mountcal_rpy(road->q_body_from_sensor, road_rad);
    mountcal_rpy(level->q_body_from_sensor, level_rad);
    apart = oto_fabs(oto_wrap_pi(level_rad[0] - road_rad[0]));
    bound = 3.0 * joint_sigma(road, JOINT_MOUNT);
    return state->verdict.marks[JOINT_STAYS_LEVEL].widening[0] < LEVEL_WIDENING_MOST && apart < bound &&
           level->jolt_power < LEVEL_JOLT_MOST * LEVEL_JOLT_MOST;
}

static bool has_driven_enough(const struct mountcal_plan *plan, const struct mountcal_state *state)
{
    const struct mountcal_verdict *verdict = &state->verdict;
    const bool rested = !plan->joint.level || verdict->rest_s >= GARAGE_REST_S;
    return verdict->seconds > plan->least_s && rested && state->driven.starts >= 1 && verdict->losses < LOSSES_MOST &&
           !joint_is_replaying(&state->joint) && is_path_sure(state);
}

/*
 * A result from before is taken once the new data alone agree with it well enough to have shown a difference that
 * matters, and is wrong once they disagree.
 */
static void judge_previous(const struct mountcal_plan *plan, struct mountcal_state *state)
{
    static const double sharp_rad[3] = {0.5 * OTO_DEG, 0.1 * OTO_DEG, 0.1 * OTO_DEG};
    struct mountcal_estimate alone;
    double previous_rad[3];
    bool sharp = true;
    mountcal_estimate_alone(plan, state, &alone);
    mountcal_rpy(plan->q_previous, previous_rad);
    for (int i = 0; i < 3; i++) {
        const double apart = oto_wrap_pi(alone.rpy_rad[i] - previous_rad[i]);
        if (apart * apart > 12.0 * (alone.variance[i] + plan->previous_variance[i])) {
            state->verdict.previous = MOUNTCAL_PREVIOUS_WRONG;
            return;
        }
        sharp = sharp && alone.variance[i] < sharp_rad[i] * sharp_rad[i];
    }
    if (sharp) {
        state->verdict.previous = MOUNTCAL_PREVIOUS_TAKEN;
    }
}

static uint32_t reason_to_wait(const struct mountcal_verdict *verdict, const double widening[3])
{
    return verdict->previous == MOUNTCAL_PREVIOUS_WRONG ? OTO_CALIBRATION_REASON_WRONG_PRIOR
           : widening[0] > 1.5 || widening[1] > 1.5 || widening[2] > 1.5
               ? OTO_CALIBRATION_REASON_PARTS_DISAGREE
               : OTO_CALIBRATION_REASON_COLLECTING;
}

/* What was accepted was another path's result. */
static void unaccept_other_path(const struct mountcal_state *state, struct mountcal_verdict *verdict)
{
    if (verdict->has_been_accepted && verdict->accepted_path != state->joint.path) {
        verdict->has_been_accepted = 0;
        if (verdict->state == OTO_CALIBRATION_ACCEPTED) {
            become(verdict, OTO_CALIBRATION_NOT_ACCEPTED, OTO_CALIBRATION_REASON_PARTS_DISAGREE);
            verdict->percent = 0.0;
        }
    }
}

static void accept_or_not(const struct mountcal_plan *plan, struct mountcal_state *state,
                          const struct mountcal_estimate *now)
{
    struct mountcal_verdict *verdict = &state->verdict;
    double bound_rad[3], progress;
    mountcal_bound(plan, state, now, bound_rad);
    progress = progress_of(plan, state, bound_rad);
    if (is_outside(plan, now, 1.0)) {
        become(verdict, OTO_CALIBRATION_FAILED, OTO_CALIBRATION_REASON_OUTSIDE_BOX);
        return;
    }
    if (verdict->state != OTO_CALIBRATION_ACCEPTED) {
        become(verdict, OTO_CALIBRATION_NOT_ACCEPTED, reason_to_wait(verdict, mountcal_marks(plan, state)->widening));
        if (progress >= 1.0 && verdict->doubt_s <= 0.0 && has_driven_enough(plan, state) &&
            !is_outside(plan, now, 0.0)) {
            become(verdict, OTO_CALIBRATION_ACCEPTED, OTO_CALIBRATION_REASON_CONSISTENT);
            verdict->has_been_accepted = 1;
            verdict->accepted_path = state->joint.path;
        }
    }
    if (verdict->state == OTO_CALIBRATION_ACCEPTED) {
        verdict->percent = 100.0;
    } else {
        progress = 100.0 * (progress > 0.99 ? 0.99 : progress);
        verdict->percent = progress > verdict->percent ? progress : verdict->percent;
    }
}

/* ---- a mount that moved, and inputs that contradict each other ----------------------------------------------------
 */

static void begin_estimate(const struct mountcal_plan *plan, struct mountcal_state *state)
{
    struct mountcal_verdict *verdict = &state->verdict;
    joint_init(&plan->joint, &state->joint);
    histogram_init(&state->histogram);
    state->gather.breaks = 1;
    clear_marks(verdict);
    verdict->percent = 0.0;
    verdict->seconds = 0.0;
    verdict->doubt_s = 0.0;
    verdict->resets++;
    verdict->has_been_accepted = 0;
    verdict->previous = MOUNTCAL_NO_PREVIOUS;
}

static bool has_wandered(const struct mountcal_plan *plan, const struct mountcal_state *state)
{
    struct mountcal_estimate now;
    double bound_rad[3];
    mountcal_estimate_now(plan, state, &now);
    mountcal_bound(plan, state, &now, bound_rad);
    for (int i = 0; i < 3 && plan->params.method == OTO_CALIBRATION_JOINT; i++) {
        if (bound_rad[i] > 2.0 * plan->accept_rad[i]) {
            return true;
        }
    }
    return false;
}

/* A velocity that had to be set anew is a contradiction that a share of refused blocks does not show. */
static void count_losses(struct mountcal_state *state, double dt)
{
    struct mountcal_verdict *verdict = &state->verdict;
    const uint64_t lost = joint_live(&state->joint)->lost;
    verdict->losses -= verdict->losses * dt / LOSS_MEMORY_S;
    if (lost > verdict->lost) {
        verdict->losses += 1.0;
        state->monitors.conflict += 0.3 * (1.0 - state->monitors.conflict);
    }
    verdict->lost = lost;
}

/* Doubt grows while the filter refuses what comes in. Enough of it, and all begins anew. */
static void doubt(const struct mountcal_plan *plan, struct mountcal_state *state, double dt)
{
    struct mountcal_verdict *verdict = &state->verdict;
    const bool accepted = verdict->has_been_accepted != 0;
    const double change = state->monitors.conflict > 0.3 ? dt : -dt;
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

/* What is felt less motion and gravity, over four seconds; in the result's axes. */
static void check_gravity(struct mountcal_state *state, const struct joint_block *block)
{
    const struct joint_filter *filter = joint_live(&state->joint);
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

static void work_on(const struct mountcal_plan *plan, struct mountcal_state *state, const struct joint_block *block)
{
    struct mountcal_verdict *verdict = &state->verdict;
    const struct joint_filter *filter;
    verdict->seconds += block->duration_s;
    verdict->distance_m += block->speeds > 0 && !block->still ? oto_fabs(block->speed_m_s) * block->duration_s : 0.0;
    joint_push_block(&plan->joint, &state->joint, block);
    filter = joint_live(&state->joint);
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
    refused = !joint_is_replaying(&state->joint) && joint_live(&state->joint)->refused > 0;
    monitors_review(&plan->monitors, &state->monitors, block->still != 0, oto_fabs(block->speed_m_s) > 1.0, refused);
    count_losses(state, block->duration_s);
    unaccept_other_path(state, verdict);
    doubt(plan, state, block->duration_s);
    if (!joint_is_replaying(&state->joint)) {
        if (plan->params.method == OTO_CALIBRATION_HISTOGRAM) {
            mountcal_estimate_alone(plan, state, &now);
            compare_marks(&verdict->marks[0], &now);
            mark(&verdict->marks[0], verdict->seconds, &now);
        } else {
            watch_filters(state, verdict);
        }
        if (verdict->previous == MOUNTCAL_PREVIOUS_OPEN && plan->params.method == OTO_CALIBRATION_JOINT) {
            judge_previous(plan, state);
        }
    }
    if (verdict->since_moved_s >= 0.0 && verdict->since_moved_s < MOVED_SHOWN_S) {
        return;
    }
    if (input_reason(state) != OTO_CALIBRATION_REASON_COLLECTING) {
        become(verdict, OTO_CALIBRATION_INVALID, input_reason(state));
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
    }
}
