/* The frame to which an orientation is relative: SDF's <orientation_reference_frame>. Pure. */
#ifndef SDF_REFERENCE_H
#define SDF_REFERENCE_H

#include "sdf_imu_model.h"

/* Errors: INVALID if no sample could have a reference. */
enum oto_status sdf_reference_check(const struct sdf_imu_params *params, oto_vec3 up_enu_m_s2, struct oto_error *error);

/*
 * Makes the reference from the attitude of the first sample. False: grav_dir_x is parallel to gravity, or there is no
 * gravity.
 */
bool sdf_reference_make(const struct sdf_imu_params *params, oto_vec3 up_enu_m_s2, oto_quat q_enu_from_sensor,
                        oto_quat *q_enu_from_reference);

bool sdf_reference_is_same(const struct sdf_imu_params *a, const struct sdf_imu_params *b);

#endif
