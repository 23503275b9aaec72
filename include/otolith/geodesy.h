/* WGS-84 geodesy and normal gravity (NGA.STND.0036, 2014). Pure functions, callable from any thread. Latitudes are
 * geodetic, angles in radians, heights in metres over the ellipsoid, ENU = east, north, up at the place. */
#ifndef OTOLITH_GEODESY_H
#define OTOLITH_GEODESY_H

#include "otolith/vecmath.h"

#define OTO_WGS84_A_M 6378137.0                  /* semi-major axis */
#define OTO_WGS84_F (1.0 / 298.257223563)        /* flattening */
#define OTO_WGS84_B_M 6356752.314245179          /* semi-minor axis a(1 - f) */
#define OTO_WGS84_E2 6.694379990141317e-3        /* first eccentricity squared f(2 - f) */
#define OTO_WGS84_EP2 6.739496742276435e-3       /* second eccentricity squared e²/(1 - e²) */
#define OTO_WGS84_GM_M3_S2 3.986004418e14        /* gravitational constant, atmosphere included */
#define OTO_WGS84_EARTH_RATE_RAD_S 7.292115e-5   /* rotation of the Earth */
#define OTO_WGS84_GAMMA_E_M_S2 9.7803253359      /* normal gravity at the equator */
#define OTO_WGS84_GAMMA_P_M_S2 9.8321849379      /* normal gravity at the poles */
#define OTO_WGS84_SOMIGLIANA_K 1.931852652458e-3 /* b γp / (a γe) - 1 */
#define OTO_WGS84_M 3.449786506841e-3            /* ω² a² b / GM */
#define OTO_STANDARD_GRAVITY_M_S2 9.80665        /* 3rd CGPM, 1901 */

typedef struct {
    double lat_rad, lon_rad, alt_m;
} oto_geodetic;

static inline oto_vec3 oto_ecef_from_geodetic(oto_geodetic place)
{
    double s_lat, c_lat, s_lon, c_lon, n;
    oto_sincos(place.lat_rad, &s_lat, &c_lat);
    oto_sincos(place.lon_rad, &s_lon, &c_lon);
    n = OTO_WGS84_A_M / oto_sqrt(1.0 - OTO_WGS84_E2 * s_lat * s_lat);
    return oto_vec3_make((n + place.alt_m) * c_lat * c_lon, (n + place.alt_m) * c_lat * s_lon,
                         (n * (1.0 - OTO_WGS84_E2) + place.alt_m) * s_lat);
}

/*
 * Bowring's iteration on the reduced latitude (Bowring 1976), four rounds: exact to the rounding of its argument from
 * 10 km below the ground to geostationary orbit. At the centre of the Earth, where latitude is undefined, the result is
 * finite.
 */
static inline oto_geodetic oto_geodetic_from_ecef(oto_vec3 ecef_m)
{
    double p = oto_hypot(ecef_m.x, ecef_m.y);
    double ratio = OTO_WGS84_B_M / OTO_WGS84_A_M;
    double ty = ecef_m.z, tx = ratio * p; /* tan of the reduced latitude as a fraction */
    double ny = ecef_m.z, nx = p, norm, s, c;
    oto_geodetic place;
    for (int i = 0; i < 4; i++) {
        norm = oto_hypot(ty, tx);
        s = norm > 0.0 ? ty / norm : 0.0;
        c = norm > 0.0 ? tx / norm : 1.0;
        ny = ecef_m.z + OTO_WGS84_EP2 * OTO_WGS84_B_M * s * s * s;
        nx = p - OTO_WGS84_E2 * OTO_WGS84_A_M * c * c * c;
        ty = ratio * ny;
        tx = nx;
    }
    place.lat_rad = oto_atan2(ny, nx);
    place.lon_rad = oto_atan2(ecef_m.y, ecef_m.x);
    norm = oto_hypot(ny, nx);
    s = norm > 0.0 ? ny / norm : 0.0;
    c = norm > 0.0 ? nx / norm : 1.0;
    place.alt_m = p * c + ecef_m.z * s - OTO_WGS84_A_M * oto_sqrt(1.0 - OTO_WGS84_E2 * s * s);
    return place;
}

/* Takes ECEF vectors to ENU at the place. */
static inline oto_quat oto_q_enu_from_ecef(double lat_rad, double lon_rad)
{
    double s, c, sl, cl;
    oto_sincos(0.25 * OTO_PI - 0.5 * lat_rad, &s, &c);
    oto_sincos(0.25 * OTO_PI + 0.5 * lon_rad, &sl, &cl);
    return oto_quat_make(c * cl, -s * cl, -s * sl, -c * sl);
}

/* Position of a point in the ENU frame of an origin, and back. */
static inline oto_vec3 oto_enu_from_geodetic(oto_geodetic origin, oto_geodetic place)
{
    oto_vec3 d_ecef_m = oto_vec3_sub(oto_ecef_from_geodetic(place), oto_ecef_from_geodetic(origin));
    return oto_quat_rotate(oto_q_enu_from_ecef(origin.lat_rad, origin.lon_rad), d_ecef_m);
}

static inline oto_geodetic oto_geodetic_from_enu(oto_geodetic origin, oto_vec3 position_enu_m)
{
    oto_quat q_enu_from_ecef = oto_q_enu_from_ecef(origin.lat_rad, origin.lon_rad);
    oto_vec3 d_ecef_m = oto_quat_rotate_inv(q_enu_from_ecef, position_enu_m);
    return oto_geodetic_from_ecef(oto_vec3_add(oto_ecef_from_geodetic(origin), d_ecef_m));
}

/* Magnitude of normal gravity, m/s²: Somigliana's closed formula on the ellipsoid, then the second-order Taylor series
 * in height (NGA.STND.0036 eq. 4-1 and 4-3). Centrifugal acceleration is included. */
static inline double oto_gravity_wgs84(double lat_rad, double alt_m)
{
    double s = oto_sin(lat_rad), s2 = s * s, h = alt_m / OTO_WGS84_A_M;
    double gamma_0 = OTO_WGS84_GAMMA_E_M_S2 * (1.0 + OTO_WGS84_SOMIGLIANA_K * s2) / oto_sqrt(1.0 - OTO_WGS84_E2 * s2);
    return gamma_0 * (1.0 - 2.0 * (1.0 + OTO_WGS84_F + OTO_WGS84_M - 2.0 * OTO_WGS84_F * s2) * h + 3.0 * h * h);
}

#endif
