/*
 * The normal gravity of WGS-84 as a vector; its magnitude by Somigliana's formula is in otolith/geodesy.h. Pure, callable
 * from any thread.
 */
#ifndef ENVIRONMENT_GRAVITY_H
#define ENVIRONMENT_GRAVITY_H

#include "otolith/geodesy.h"

/* Gradient of the normal potential, zonal harmonics to degree 6 and the centrifugal part, at a place in ECEF axes. */
oto_vec3 srv_gravity_ecef_m_s2(oto_vec3 place_ecef_m);

/*
 * Normal gravity in the ENU axes of the place. On the ellipsoid it is vertical. Above it, it turns away from the normal of
 * the ellipsoid, towards the equator: by 8 µg at 45° and 10 km.
 */
oto_vec3 srv_gravity_enu_at(oto_geodetic place);

#endif
