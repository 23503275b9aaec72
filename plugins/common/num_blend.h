/*
 * How a motion that is a function of its own time (a script, a spline, a replay) goes on from another motion's truth:
 * its time zero is laid at that instant, its place and yaw by a rigid move, and what is then left of velocity,
 * acceleration, attitude and angular rate goes away smoothly. Plain data; pure functions, callable from any thread.
 */
#ifndef NUM_BLEND_H
#define NUM_BLEND_H

#include <stdint.h>

#include "otolith/instant.h"
#include "otolith/records.h"
#include "otolith/status.h"

/* Zero bytes: the motion is as it is, from time zero of the world on. */
struct num_blend {
    int64_t active;
    struct oto_instant epoch;
    double duration_s;
    oto_vec3 source_position_enu_m; /* at the source's time zero */
    oto_quat q_enu_from_source;     /* a yaw */
    oto_vec3 velocity_left_enu_m_s, accel_left_enu_m_s2;
    oto_quat attitude_left, attitude_rate_left; /* at the epoch, right of the source's attitude */
    struct oto_truth_record adopted;
};

/* `source` is the motion's own truth at its time zero. INVALID, and nothing changed, where a number is not finite. */
enum oto_status num_blend_begin(struct num_blend *blend, const struct oto_truth_record *source,
                                const struct oto_truth_record *adopted, struct oto_instant at);

/* The source's own time, from 0 on. */
struct oto_instant num_blend_source_time(const struct num_blend *blend, struct oto_instant at);

/* From the source's truth at its own time to that of the vehicle. Before the epoch: as the adopted motion was. */
void num_blend_apply(const struct num_blend *blend, struct oto_instant at, struct oto_truth_record *truth);

/* A motion as a function of its own time alone, t_ns >= 0. */
typedef void num_blend_source(const void *motion, struct oto_instant at, struct oto_truth_record *truth);

/* Its truth in the world; and its going on from another truth, from its own time zero on. */
void num_blend_truth(const struct num_blend *blend, num_blend_source *source, const void *motion,
                     struct oto_instant at, struct oto_truth_record *truth);
enum oto_status num_blend_adopt(struct num_blend *blend, num_blend_source *source, const void *motion,
                                const struct oto_truth_record *adopted, struct oto_instant at);

#endif
