#include "sdf_reference.h"

#include <string.h>

#define HALF_SQRT2 0x1.6a09e667f3bcdp-1 /* sqrt(1/2) */

/* sin² of the smallest angle between grav_dir_x and gravity that still defines a direction. */
#define PARALLEL_SIN_SQ 1e-18

/*
 * Makes the reference from gravity: its x axis is the horizontal component of grav_dir_x (if that is 0: of the x axis of
 * its frame), its z axis is up or down.
 */
static bool make_from_gravity(const struct sdf_imu_params *params, oto_vec3 up_enu, oto_quat q_enu_from_sensor,
                              oto_quat *q_enu_from_reference)
{
    const oto_vec3 given = oto_vec3_from_array(params->grav_dir_x);
    const oto_vec3 asked = oto_vec3_norm_sq(given) > 0.0 ? given : oto_vec3_make(1, 0, 0);
    const oto_vec3 wanted =
        params->grav_dir_x_parent_frame == SDF_PARENT_WORLD ? asked : oto_quat_rotate(q_enu_from_sensor, asked);
    if (!(oto_vec3_norm_sq(up_enu) > 0.0)) {
        return false;
    }
    const oto_vec3 up = oto_vec3_normalize(up_enu);
    const oto_vec3 z = params->localization == SDF_GRAV_UP ? up : oto_vec3_neg(up);
    const oto_vec3 direction = oto_vec3_normalize(wanted);
    const oto_vec3 level = oto_vec3_add_scaled(direction, z, -oto_vec3_dot(direction, z));
    if (!(oto_vec3_norm_sq(level) > PARALLEL_SIN_SQ)) {
        return false;
    }
    const oto_vec3 x = oto_vec3_normalize(level), y = oto_vec3_cross(z, x);
    *q_enu_from_reference = oto_quat_normalize(oto_quat_from_mat3(oto_mat3_transpose(oto_mat3_from_rows(x, y, z))));
    return true;
}

static oto_quat make_custom(const struct sdf_imu_params *params, oto_quat q_enu_from_sensor)
{
    const double *rpy_rad = params->custom_rpy_rad;
    const oto_quat q_parent_from_reference = oto_quat_from_rpy(rpy_rad[0], rpy_rad[1], rpy_rad[2]);
    return params->custom_rpy_parent_frame == SDF_PARENT_WORLD
               ? q_parent_from_reference
               : oto_quat_mul(q_enu_from_sensor, q_parent_from_reference);
}

bool sdf_reference_make(const struct sdf_imu_params *params, oto_vec3 up_enu_m_s2, oto_quat q_enu_from_sensor,
                        oto_quat *q_enu_from_reference)
{
    /* Axes of the reference: ENU; north-east-down: x north, y east; north-west-up: x north, y west. */
    static const oto_quat fixed[] = {[SDF_ENU] = {1, 0, 0, 0},
                                     [SDF_NED] = {0, HALF_SQRT2, HALF_SQRT2, 0},
                                     [SDF_NWU] = {HALF_SQRT2, 0, 0, HALF_SQRT2}};
    if (params->localization == SDF_CUSTOM) {
        *q_enu_from_reference = make_custom(params, q_enu_from_sensor);
        return true;
    }
    if (params->localization == SDF_GRAV_UP || params->localization == SDF_GRAV_DOWN) {
        return make_from_gravity(params, up_enu_m_s2, q_enu_from_sensor, q_enu_from_reference);
    }
    *q_enu_from_reference = fixed[params->localization];
    return true;
}

enum oto_status sdf_reference_check(const struct sdf_imu_params *params, oto_vec3 up_enu_m_s2, struct oto_error *error)
{
    const bool by_gravity = params->localization == SDF_GRAV_UP || params->localization == SDF_GRAV_DOWN;
    const double *x = params->grav_dir_x;
    oto_quat unused;
    if (params->orientation_enable == 0 || !by_gravity) {
        return OTO_OK;
    }
    if (!(oto_vec3_norm_sq(up_enu_m_s2) > 0.0)) {
        return oto_fail(
            error, OTO_INVALID,
            "orientation.localization is GRAV_UP or GRAV_DOWN, but there is no gravity; CUSTOM, ENU, NED and "
            "NWU are accepted without");
    }
    if (params->grav_dir_x_parent_frame == SDF_PARENT_WORLD &&
        !make_from_gravity(params, up_enu_m_s2, oto_quat_identity(), &unused)) {
        return oto_fail(error, OTO_INVALID,
                        "orientation.grav_dir_x [%g, %g, %g] is parallel to gravity, expected another direction",
                        x[0], x[1], x[2]);
    }
    return OTO_OK;
}

bool sdf_reference_is_same(const struct sdf_imu_params *a, const struct sdf_imu_params *b)
{
    return a->orientation_enable == b->orientation_enable && a->localization == b->localization &&
           a->custom_rpy_parent_frame == b->custom_rpy_parent_frame &&
           a->grav_dir_x_parent_frame == b->grav_dir_x_parent_frame && a->gravity_m_s2 == b->gravity_m_s2 &&
           memcmp(a->custom_rpy_rad, b->custom_rpy_rad, sizeof a->custom_rpy_rad) == 0 &&
           memcmp(a->grav_dir_x, b->grav_dir_x, sizeof a->grav_dir_x) == 0;
}
