/* Evaluates blocks: counts manoeuvres, checks whether the result is consistent, and decides whether it is accepted. */
#ifndef MOUNT_CALIBRATION_VERDICT_H
#define MOUNT_CALIBRATION_VERDICT_H

#include "calibrator.h"

/* The estimate of the method in use; variances are those of a small rotation about the vehicle's axes. */
struct mountcal_estimate {
    oto_quat q_body_from_sensor; /* the mount relative to gravity */
    double crown_rad;            /* roll of the vehicle on the mean road */
    double variance[OTO_CALIBRATION_AXES];
};

void mountcal_verdict_begin(const struct mountcal_plan *plan, struct mountcal_verdict *verdict);
void mountcal_take_block(const struct mountcal_plan *plan, struct mountcal_state *state,
                         const struct joint_block *block);
/* Runs the monitors when a sample is dropped, because dropped samples complete no block. */
void mountcal_review_dropped(const struct mountcal_plan *plan, struct mountcal_state *state);
/* True for the axes that acceptance requires: pitch, yaw, and the roll that the parameter `roll` selects. */
bool mountcal_is_wanted(const struct mountcal_plan *plan, int axis);
/* estimate.c */
/* The estimate from the new data, without the previous result. */
void mountcal_estimate_alone(const struct mountcal_plan *plan, const struct mountcal_state *state,
                             struct mountcal_estimate *estimate);
void mountcal_estimate_now(const struct mountcal_plan *plan, const struct mountcal_state *state,
                           struct mountcal_estimate *estimate);
/* The mount relative to the mean road instead of gravity. */
oto_quat mountcal_repeatable(const struct mountcal_estimate *estimate);
/* Rotation from another estimate (q_from, crown_from_rad) to this one, about the vehicle's axes. */
void mountcal_apart(const struct mountcal_estimate *estimate, oto_quat q_from, double crown_from_rad,
                    double apart_rad[OTO_CALIBRATION_AXES]);
/* Sigmas, widened by the factors of the marks. While nothing is known they are π/3: the 3-sigma bound is 180 deg. */
void mountcal_sigma(const struct mountcal_plan *plan, const struct mountcal_state *state,
                    const struct mountcal_estimate *estimate, double sigma_rad[OTO_CALIBRATION_AXES]);
/* True if the forward direction is known. Until then bounds are wider and nothing is accepted. */
bool mountcal_is_direction_sure(const struct mountcal_plan *plan, const struct mountcal_state *state);
/* driven.c */
void mountcal_note_driven(struct mountcal_driven *driven, const struct joint_filter *filter,
                          const struct joint_block *block);
double mountcal_manoeuvre_progress(const struct mountcal_state *state, uint32_t manoeuvre);

#endif
