/* From blocks to a verdict: what was driven, whether the result holds together, and whether it is accepted. */
#ifndef MOUNT_CALIBRATION_VERDICT_H
#define MOUNT_CALIBRATION_VERDICT_H

#include "calibrator.h"

/* The method's estimate; variances are those of a small rotation about the vehicle's axes. */
struct mountcal_estimate {
    oto_quat q_body_from_sensor; /* the absolute one */
    double crown_rad;            /* the mean road rolls the vehicle by this */
    double variance[OTO_CALIBRATION_AXES];
};

void mountcal_verdict_begin(const struct mountcal_plan *plan, struct mountcal_verdict *verdict);
void mountcal_take_block(const struct mountcal_plan *plan, struct mountcal_state *state,
                         const struct joint_block *block);
/* Where samples are dropped there are no blocks: monitors go on all the same. */
void mountcal_review_dropped(const struct mountcal_plan *plan, struct mountcal_state *state);
/* The axes that a result needs: pitch, yaw, and the roll that was asked for. */
bool mountcal_is_wanted(const struct mountcal_plan *plan, int axis);
/* estimate.c */
/* Without the previous result. */
void mountcal_estimate_alone(const struct mountcal_plan *plan, const struct mountcal_state *state,
                             struct mountcal_estimate *estimate);
void mountcal_estimate_now(const struct mountcal_plan *plan, const struct mountcal_state *state,
                           struct mountcal_estimate *estimate);
/* The mount where the mean road is taken as level. */
oto_quat mountcal_repeatable(const struct mountcal_estimate *estimate);
/* By how much the estimate is turned against another one, about the vehicle's axes. */
void mountcal_apart(const struct mountcal_estimate *estimate, oto_quat q_from, double crown_from_rad,
                    double apart_rad[OTO_CALIBRATION_AXES]);
/* Widened by what the marks say; a third of a half turn, so that the bound is any angle, while nothing is known. */
void mountcal_sigma(const struct mountcal_plan *plan, const struct mountcal_state *state,
                    const struct mountcal_estimate *estimate, double sigma_rad[OTO_CALIBRATION_AXES]);
/* Which way is ahead: while that is not known, bounds are wider and nothing is accepted. */
bool mountcal_is_direction_sure(const struct mountcal_plan *plan, const struct mountcal_state *state);
/* driven.c */
void mountcal_note_driven(struct mountcal_driven *driven, const struct joint_filter *filter,
                          const struct joint_block *block);
double mountcal_manoeuvre_progress(const struct mountcal_state *state, uint32_t manoeuvre);

#endif
