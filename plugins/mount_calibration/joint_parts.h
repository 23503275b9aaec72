/* Declarations that the steps and the measurements of the joint filter share. */
#ifndef MOUNT_CALIBRATION_JOINT_PARTS_H
#define MOUNT_CALIBRATION_JOINT_PARTS_H

#include "joint.h"

#define GRAVITY_M_S2 9.80665
#define GRAVITY_SIGMA_M_S2 0.03 /* variation of gravity with place, and scale error of the accelerometer */
#define HEAVE_LEAST_RAD (0.01 * OTO_DEG)
#define JOLT_LEAST 0.001 /* m/s² per Hz^½ */

/* Motion of the body in a block, in body axes. */
struct joint_body {
    oto_mat3 from_sensor;
    oto_vec3 velocity_m_s;    /* of the no-slip point */
    oto_vec3 rate_rad_s;      /* at the end of the block */
    oto_vec3 mean_rate_rad_s; /* mean over the block */
    double ahead_m_s2, left_m_s2;
};

static inline double *joint_extra(struct joint_filter *filter, int state)
{
    return &filter->extra[state - JOINT_PITCH_COMPLIANCE];
}

static inline double joint_squared(double x)
{
    return x * x;
}

/* joint_linear.c: sets the covariances of the states from `first` to `end` - 1 to zero, so that new variances can be set. */
void joint_forget(struct joint_filter *filter, int first, int end);

/* joint_filter.c */
double joint_downhill(const struct joint_filter *filter, const struct joint_body *body);
struct joint_body joint_look(const struct joint_filter *filter, const struct joint_block *block,
                             double speed_before_m_s);

static inline oto_vec3 joint_row_of(const oto_mat3 *m, int row)
{
    return oto_vec3_from_array(m->m[row]);
}

/* joint_road.c */
void joint_measure_bank(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_body *body,
                        double way_m);
void joint_measure_road(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                        const struct joint_body *body, double way_m);

/* joint_measure.c */
/*
 * Updates the filter with a measurement unless its gate refuses it, and adapts the scale of the noise. The scale multiplies
 * `variance` but not `fixed`. Returns whether the measurement was used.
 */
bool joint_measure_row(const struct joint_plan *plan, struct joint_filter *filter, int kind, const struct joint_row *row,
                       double innovation, double variance, double fixed);
/* Updates the filter with the known magnitude of gravity. */
void joint_measure_gravity(struct joint_filter *filter, double sigma_m_s2);
void joint_measure_rest(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                        const struct joint_body *body);
void joint_measure_up(struct joint_filter *filter, const struct joint_block *block);
void joint_measure_moving(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                          struct joint_body *body, double speed_before_m_s);

#endif
