/*
 * The environment at a place and date: the World Magnetic Model, the standard atmosphere, the Earth's rate. Gravity is
 * in geodesy.h. Pure functions of their arguments, callable from any thread, no allocation; the same bits on every
 * machine (A19). Only reading a file has side effects. Heights are over the WGS-84 ellipsoid.
 */
#ifndef OTOLITH_ENVIRONMENT_H
#define OTOLITH_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#include "otolith/geodesy.h"
#include "otolith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- dates ---- */

/* Days since 1970-01-01 of "YYYY-MM-DD", years 1600 to 9999 of the Gregorian calendar. INVALID: no such day. */
OTO_API enum oto_status oto_date_parse(const char *text, int64_t *days, struct oto_error *error);
/* The year and its elapsed fraction at the start of the day: 2025-07-02 is 2025 + 182/365. */
OTO_API double oto_decimal_year(int64_t days);

/* ---- the World Magnetic Model ---- */

#define OTO_WMM_DEGREE 12
#define OTO_WMM_TERMS 91               /* the term (n, m) has the index n (n + 1) / 2 + m; the term (0, 0) is zero */
#define OTO_WMM_VALID_YEARS 5.0        /* years of validity from the epoch, both ends included */
#define OTO_WMM_MIN_ALTITUDE_M -1000.0 /* limit of the technical report */
#define OTO_WMM_MAX_ALTITUDE_M 850000.0

/* Coefficients, Schmidt semi-normalised, as a .COF file lists them. */
struct oto_wmm {
    char name[16]; /* name in the file, in lower case letters and digits: wmm2025 */
    double epoch_year;
    double g_nt[OTO_WMM_TERMS], h_nt[OTO_WMM_TERMS];       /* at the epoch */
    double g_nt_yr[OTO_WMM_TERMS], h_nt_yr[OTO_WMM_TERMS]; /* secular variation */
};

/* The field and its change in a year. An undefined angle (no horizontal field, no field) is 0. */
struct oto_magnetic_field {
    double x_nt, y_nt, z_nt;                 /* north, east, down */
    double h_nt, f_nt;                       /* horizontal and total intensity */
    double inclination_deg, declination_deg; /* down positive; east of north positive */
    double x_nt_yr, y_nt_yr, z_nt_yr, h_nt_yr, f_nt_yr;
    double inclination_deg_yr, declination_deg_yr;
};

/* The built-in models: wmm2020, wmm2025. The error NOT_FOUND lists them. */
OTO_API enum oto_status oto_wmm_find(const char *name, const struct oto_wmm **model, struct oto_error *error);
/* The newest built-in model that is valid in `year`. The error RANGE gives the covered years. */
OTO_API enum oto_status oto_wmm_for_year(double year, const struct oto_wmm **model, struct oto_error *error);

/*
 * Reads a coefficient file in NOAA's format: a line with epoch and name, a line for each of the 90 terms, a line of
 * nines. At most 64 KiB. Errors: IO, SYNTAX, RANGE, LIMIT, as "file:line:column: error: ...". *model is written on
 * success only.
 */
OTO_API enum oto_status oto_wmm_read(const char *path, struct oto_wmm *model, struct oto_error *error);
/* As oto_wmm_read, from memory; `file` is the name in messages. */
OTO_API enum oto_status oto_wmm_parse(const char *file, const char *text, size_t bytes, struct oto_wmm *model,
                                      struct oto_error *error);

/*
 * The field at a place in a decimal year. At a pole, where north is undefined, x_nt points along the meridian of the
 * given longitude. RANGE: outside the model's years or altitudes, which the error gives.
 */
OTO_API enum oto_status oto_wmm_field(const struct oto_wmm *model, oto_geodetic place, double year,
                                      struct oto_magnetic_field *field, struct oto_error *error);

static inline oto_vec3 oto_magnetic_field_enu_ut(const struct oto_magnetic_field *field)
{
    return oto_vec3_make(field->y_nt * 1e-3, field->x_nt * 1e-3, field->z_nt * -1e-3);
}

/*
 * True if a field that is declared as ENU is probably NED: with exchanged components it is nearer to the field of the
 * place, or it is the default of MAVS, which is the NED field at latitude 0, longitude 0.
 */
static inline bool oto_field_looks_like_ned(oto_vec3 given_enu_ut, oto_vec3 field_there_enu_ut)
{
    const oto_vec3 mavs = oto_vec3_make(27.5550, -2.4169, -16.0849);
    const oto_vec3 as_ned = oto_vec3_make(given_enu_ut.y, given_enu_ut.x, -given_enu_ut.z);
    const double norm = oto_vec3_norm(field_there_enu_ut);
    return oto_vec3_norm(oto_vec3_sub(given_enu_ut, mavs)) < 1e-3 ||
           (oto_vec3_norm(oto_vec3_sub(as_ned, field_there_enu_ut)) < 0.25 * norm &&
            oto_vec3_norm(oto_vec3_sub(given_enu_ut, field_there_enu_ut)) > 0.5 * norm);
}

/* ---- the air ---- */

struct oto_air {
    double temperature_degc, pressure_pa;
};

/* Altitudes, m, between which the standard atmosphere is defined: geopotential -5000 and 80000. */
#define OTO_ISA_MIN_ALTITUDE_M -4996.0
#define OTO_ISA_MAX_ALTITUDE_M 81019.0

/*
 * The ICAO standard atmosphere (Doc 7488/3, 1993; equal to ISO 2533, and within 1e-6 to the U.S. Standard Atmosphere
 * 1976). The altitude counts as height over mean sea level: the geoid, at most 110 m away, is not modelled. RANGE.
 */
OTO_API enum oto_status oto_isa(double altitude_m, struct oto_air *air, struct oto_error *error);

/*
 * The air above or below a place with known air: the temperature changes with altitude as in the standard atmosphere,
 * the pressure by the hydrostatic equation. From standard air the result is standard air. Altitudes beyond the limits
 * above count as the limits.
 */
OTO_API struct oto_air oto_isa_from(double known_altitude_m, struct oto_air known, double altitude_m);

/* ---- the turning Earth ---- */

static inline oto_vec3 oto_earth_rate_enu_rad_s(double lat_rad)
{
    double s, c;
    oto_sincos(lat_rad, &s, &c);
    return oto_vec3_make(0.0, OTO_WGS84_EARTH_RATE_RAD_S * c, OTO_WGS84_EARTH_RATE_RAD_S * s);
}

#ifdef __cplusplus
}
#endif

#endif
