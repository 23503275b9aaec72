/* From blocks to a verdict: what was driven, whether the result holds together, and whether it is accepted. */
#ifndef MOUNT_CALIBRATION_VERDICT_H
#define MOUNT_CALIBRATION_VERDICT_H

#include "calibrator.h"

/* The method's estimate. */
struct mountcal_estimate {
    oto_quat q_body_from_sensor;
    double rpy_rad[3];
    double variance[3];
};

void mountcal_verdict_begin(const struct mountcal_plan *plan, struct mountcal_verdict *verdict);
void mountcal_take_block(const struct mountcal_plan *plan, struct mountcal_state *state,
                         const struct joint_block *block);
/* Where samples are dropped there are no blocks: monitors go on all the same. */
void mountcal_review_dropped(const struct mountcal_plan *plan, struct mountcal_state *state);
/* estimate.c */
void mountcal_rpy(oto_quat q, double rpy_rad[3]);
void mountcal_estimate_by(const struct joint_filter *filter, struct mountcal_estimate *estimate);
/* Without what is from before. */
void mountcal_estimate_alone(const struct mountcal_plan *plan, const struct mountcal_state *state,
                             struct mountcal_estimate *estimate);
void mountcal_estimate_now(const struct mountcal_plan *plan, const struct mountcal_state *state,
                           struct mountcal_estimate *estimate);
/* What is shown is judged by these. */
const struct mountcal_marks *mountcal_marks(const struct mountcal_plan *plan, const struct mountcal_state *state);
/* 3-sigma bound, widened by what the marks say; a half turn, which is any angle, while nothing is known. */
void mountcal_bound(const struct mountcal_plan *plan, const struct mountcal_state *state,
                    const struct mountcal_estimate *estimate, double bound_rad[3]);
/* driven.c */
void mountcal_note_driven(struct mountcal_driven *driven, const struct joint_filter *filter,
                          const struct joint_block *block);
double mountcal_manoeuvre_progress(const struct mountcal_state *state, uint32_t manoeuvre);

#endif
