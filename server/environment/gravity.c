#include "environment/gravity.h"

/* Zonal harmonics of the WGS-84 normal field: J2 defined, J4 and J6 from it by Heiskanen & Moritz (1967), eq. 2-92:
 * J2n = (-1)^(n+1) 3 e^2n / ((2n+1)(2n+3)) (1 - n + 5 n J2 / e²). */
#define J2 1.0826298213133048e-3
#define J4 -2.3709112005345e-6
#define J6 6.0834706264e-9

/*
 * Gradient of the normal potential at an ECEF place: GM/r Σ -J_n (a/r)^n P_n(z/r), and ω²/2 (x² + y²). With u = z/r,
 * the gradient of r^-(n+1) P_n(u) is r^-(n+2) (P_n' ẑ - ((n+1) P_n + u P_n') r̂).
 */
oto_vec3 srv_gravity_ecef_m_s2(oto_vec3 p)
{
    const double r_sq = oto_vec3_norm_sq(p);
    const double r = oto_sqrt(r_sq);
    const double u = p.z / r, u2 = u * u;
    const double q = OTO_WGS84_A_M * OTO_WGS84_A_M / r_sq;
    const double p2 = 0.5 * (3.0 * u2 - 1.0), d2 = 3.0 * u;
    const double p4 = 0.125 * (35.0 * u2 * u2 - 30.0 * u2 + 3.0), d4 = 0.5 * u * (35.0 * u2 - 15.0);
    const double p6 = 0.0625 * (231.0 * u2 * u2 * u2 - 315.0 * u2 * u2 + 105.0 * u2 - 5.0);
    const double d6 = 0.125 * u * (693.0 * u2 * u2 - 630.0 * u2 + 105.0);
    const double j2 = -J2 * q, j4 = -J4 * q * q, j6 = -J6 * q * q * q;
    const double along_z = j2 * d2 + j4 * d4 + j6 * d6;
    const double along_r = -1.0 - (j2 * (3.0 * p2 + u * d2) + j4 * (5.0 * p4 + u * d4) + j6 * (7.0 * p6 + u * d6));
    const double k = OTO_WGS84_GM_M3_S2 / r_sq;
    const double spin = OTO_WGS84_EARTH_RATE_RAD_S * OTO_WGS84_EARTH_RATE_RAD_S;
    oto_vec3 g = oto_vec3_scale(p, k * along_r / r);
    g.z += k * along_z;
    g.x += spin * p.x;
    g.y += spin * p.y;
    return g;
}

oto_vec3 srv_gravity_enu_at(oto_geodetic place)
{
    const oto_geodetic foot = {place.lat_rad, place.lon_rad, 0.0};
    const oto_vec3 change_ecef = oto_vec3_sub(srv_gravity_ecef_m_s2(oto_ecef_from_geodetic(place)),
                                              srv_gravity_ecef_m_s2(oto_ecef_from_geodetic(foot)));
    const oto_vec3 change = oto_quat_rotate(oto_q_enu_from_ecef(place.lat_rad, place.lon_rad), change_ecef);
    return oto_vec3_make(0.0, change.y, -oto_gravity_wgs84(place.lat_rad, place.alt_m));
}
