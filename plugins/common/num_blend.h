/*
 * Continues another motion's truth with a motion that is a function of its own time (a script, a spline, a replay). The
 * source's time zero is set to the instant of the change, and its place and yaw are moved rigidly. The remaining
 * differences of velocity, acceleration, attitude and angular rate are blended out smoothly. Plain data; pure
 * functions, callable from any thread.
 */
#ifndef NUM_BLEND_H
#define NUM_BLEND_H

#include <stdint.h>

#include "otolith/instant.h"
#include "otolith/records.h"
#include "otolith/status.h"

/* All zero: no change, the motion runs from time zero of the world. */
struct num_blend {
    int64_t active;
    struct oto_instant epoch;
    double duration_s;
    oto_vec3 source_position_enu_m; /* at the source's time zero */
    oto_quat q_enu_from_source;     /* a yaw */
    oto_vec3 velocity_left_enu_m_s, accel_left_enu_m_s2;
    oto_quat attitude_left, attitude_rate_left; /* at the epoch, multiplied to the right of the attitude of the source */
    struct oto_truth_record adopted;
};

/* `source` is the motion's own truth at its time zero. INVALID, with nothing changed, if a number is not finite. */
enum oto_status num_blend_begin(struct num_blend *blend, const struct oto_truth_record *source,
                                const struct oto_truth_record *adopted, struct oto_instant at);

/* Converts world time to the source's own time, which is at least 0. */
struct oto_instant num_blend_source_time(const struct num_blend *blend, struct oto_instant at);

/*
 * Converts the source's truth at its own time to the vehicle's truth. Before the epoch: the truth of the previous
 * motion.
 */
void num_blend_apply(const struct num_blend *blend, struct oto_instant at, struct oto_truth_record *truth);

/* A motion that is a function of its own time t_ns >= 0 only. */
typedef void num_blend_source(const void *motion, struct oto_instant at, struct oto_truth_record *truth);

/*
 * The truth of such a motion in the world; and the start of a blend from another motion's truth `adopted` to this motion at
 * its own time zero.
 */
void num_blend_truth(const struct num_blend *blend, num_blend_source *source, const void *motion,
                     struct oto_instant at, struct oto_truth_record *truth);
enum oto_status num_blend_adopt(struct num_blend *blend, num_blend_source *source, const void *motion,
                                const struct oto_truth_record *adopted, struct oto_instant at);

#endif
