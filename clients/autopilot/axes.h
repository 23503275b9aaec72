/* Converts otolith's axes (ENU; body forward, left, up) to those of autopilots (NED; body forward, right, down). Pure. */
#ifndef AUTOPILOT_AXES_H
#define AUTOPILOT_AXES_H

#include "otolith/vecmath.h"

static inline oto_vec3 axes_ned_from_enu(oto_vec3 v)
{
    return oto_vec3_make(v.y, v.x, -v.z);
}

static inline oto_vec3 axes_frd_from_flu(oto_vec3 v)
{
    return oto_vec3_make(v.x, -v.y, -v.z);
}

/* q_ned_from_enu * q_enu_from_flu * q_flu_from_frd: half turns about (1, 1, 0) and about x. */
static inline oto_quat axes_q_ned_from_frd(oto_quat q_enu_from_flu)
{
    const double half = 0.70710678118654752440;
    const oto_quat q_ned_from_enu = oto_quat_make(0.0, half, half, 0.0), q_flu_from_frd = oto_quat_make(0.0, 1.0, 0.0, 0.0);
    const oto_quat product = oto_quat_mul(oto_quat_mul(q_ned_from_enu, q_enu_from_flu), q_flu_from_frd);
    const oto_quat q = product.w < 0.0 ? oto_quat_neg(product) : product;
    return oto_quat_make(q.w + 0.0, q.x + 0.0, q.y + 0.0, q.z + 0.0); /* no -0 */
}

#endif
