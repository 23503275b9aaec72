/*
 * The truth between two truths: position by the quintic that has position, velocity and acceleration of both ends, attitude
 * along the shortest arc, rates linearly. Pure. [tick]
 */
#ifndef SRV_HOST_INTERPOLATE_H
#define SRV_HOST_INTERPOLATE_H

#include "otolith/records.h"

/* The truth between a (s = 0) and b (s = 1), which are dt_s apart. */
void srv_truth_interpolate(const struct oto_truth_record *a, const struct oto_truth_record *b, double dt_s, double s,
                           struct oto_truth_record *truth);

#endif
