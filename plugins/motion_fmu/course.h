/*
 * The truth between the communication points of an FMU: a polynomial through four consecutive points, with derivatives of the quantities that the FMU does not give. Pure: any thread.
 */
#ifndef MOTION_FMU_COURSE_H
#define MOTION_FMU_COURSE_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/records.h"
#include "quantities.h"

/* The values at one communication point; of the attitude only the quaternion. */
struct course_point {
    double values[QUANTITIES];
};

/* Makes the quaternion of a point from roll, pitch and yaw, or normalises it. False: a value is not finite, or the quaternion zero. */
bool course_complete(struct course_point *point, bool has_rpy);

/*
 * The truth between points[1] and points[2], which are step_s apart; s from 0 to 1. `given` has bit i for each quantity that the
 * FMU gives. Velocity, acceleration and angular rate that are not given are central differences.
 */
void course_truth(const struct course_point points[4], uint32_t given, double step_s, double s, struct oto_truth_record *truth);

#endif
