#include "sim/answer.h"

#include <stdbool.h>
#include <string.h>

#define EXACT 1e-9 /* tolerance of the squared norm: within it, a quaternion keeps its bits */

/* True if the vector's norm is at most `most`; false for NaN. */
static bool is_within(oto_vec3 v, double most)
{
    return oto_vec3_norm_sq(v) <= most * most;
}

static const char *check_limits(const struct oto_mailbox_record *record)
{
    const struct oto_truth_record *truth = &record->truth;
    const bool accel = (record->flags & OTO_TRUTH_HAS_ACCEL) != 0;
    const bool angular_accel = (record->flags & OTO_TRUTH_HAS_ANGULAR_ACCEL) != 0;
    const bool speed = (record->flags & OTO_TRUTH_HAS_SPEED) != 0;
    const struct {
        bool good;
        const char *text;
    } checks[] = {
        {is_within(truth->position_enu_m, OTO_MAILBOX_MAX_POSITION_M), "the position is not finite or beyond 1e7 m"},
        {is_within(truth->velocity_enu_m_s, OTO_MAILBOX_MAX_SPEED_M_S), "the velocity is not finite or above 1e4 m/s"},
        {is_within(truth->angular_rate_body_rad_s, OTO_MAILBOX_MAX_RATE_RAD_S),
         "the angular rate is not finite or above 1e4 rad/s"},
        {!accel || is_within(truth->accel_enu_m_s2, OTO_MAILBOX_MAX_ACCEL_M_S2),
         "the acceleration is not finite or above 1e6 m/s^2"},
        {!angular_accel || is_within(truth->angular_accel_body_rad_s2, OTO_MAILBOX_MAX_ANGULAR_ACCEL_RAD_S2),
         "the angular acceleration is not finite or above 1e7 rad/s^2"},
        {!speed || is_within(oto_vec3_make(truth->longitudinal_speed_m_s, 0.0, 0.0), OTO_MAILBOX_MAX_SPEED_M_S),
         "the longitudinal speed is not finite or above 1e4 m/s"},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (!checks[i].good) {
            return checks[i].text;
        }
    }
    return NULL;
}

static const char *check_attitude(oto_quat *q)
{
    const double norm_sq = oto_quat_dot(*q, *q);
    const double most = 1.0 + OTO_MAILBOX_QUATERNION_TOLERANCE, least = 1.0 - OTO_MAILBOX_QUATERNION_TOLERANCE;
    if (!(norm_sq <= most * most && norm_sq >= least * least)) {
        return "the quaternion's norm is not 1 within 0.001";
    }
    if (norm_sq > 1.0 + EXACT || norm_sq < 1.0 - EXACT) {
        *q = oto_quat_normalize(*q);
    }
    return NULL;
}

static const char *check_path(const struct srv_answer_frame *frame, const struct oto_truth_record *truth)
{
    if (frame->before == NULL) {
        return NULL;
    }
    const oto_vec3 moved = oto_vec3_sub(truth->position_enu_m, frame->before->position_enu_m);
    return is_within(moved, OTO_MAILBOX_MAX_SPEED_M_S * frame->span_s)
               ? NULL
               : "the position moved faster than 1e4 m/s since the record before; flag a jump if it is one";
}

static void clear_what_is_open(struct oto_mailbox_record *record)
{
    struct oto_truth_record *truth = &record->truth;
    if ((record->flags & OTO_TRUTH_HAS_ACCEL) == 0) {
        truth->accel_enu_m_s2 = oto_vec3_zero();
    }
    if ((record->flags & OTO_TRUTH_HAS_ANGULAR_ACCEL) == 0) {
        truth->angular_accel_body_rad_s2 = oto_vec3_zero();
    }
    if ((record->flags & OTO_TRUTH_HAS_SPEED) == 0) {
        truth->longitudinal_speed_m_s = 0.0;
    }
    memset(truth->spare, 0, sizeof truth->spare);
}

const char *srv_answer_check(const struct srv_answer_frame *frame, struct oto_mailbox_record *record)
{
    if (record->tick != frame->tick) {
        return "a record is of another tick than the answer";
    }
    if ((record->flags & ~OTO_TRUTH_KNOWN_FLAGS) != 0) {
        return "a record has flags that this server does not know";
    }
    const char *wrong = check_limits(record);
    if (wrong == NULL) {
        wrong = check_attitude(&record->truth.q_enu_from_body);
    }
    if (wrong == NULL) {
        wrong = check_path(frame, &record->truth);
    }
    if (wrong == NULL) {
        clear_what_is_open(record);
    }
    return wrong;
}
