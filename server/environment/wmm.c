/*
 * The World Magnetic Model at a place and date: equations of Chulliat et al. (2025), "The US/UK World Magnetic Model
 * for 2025-2030: Technical Report", section 1, with the report's equation numbers.
 *
 * The sums of the report divide by the cosine of the latitude. Each Legendre function P of order m >= 1 has that cosine
 * as a factor, so this file computes Q with P = cos Q. No formula then divides by zero at the poles.
 */
#include "environment/internal.h"

#define MODEL_RADIUS_M 6371200.0 /* geomagnetic reference radius */

/* Terms of the sums that depend on the place but not on the coefficients. */
struct basis {
    double sin_lat, cos_lat;                                     /* geocentric */
    double ratio[OTO_WMM_DEGREE + 1];                            /* (a/r)^(n+2) */
    double sin_m[OTO_WMM_DEGREE + 1], cos_m[OTO_WMM_DEGREE + 1]; /* sine and cosine of m times the longitude */
    double q[OTO_WMM_TERMS];                                     /* P for m = 0, P / cos for m >= 1 */
};

static int term(int n, int m)
{
    return n * (n + 1) / 2 + m;
}

/* sqrt(n² - m²) */
static double root(int n, int m)
{
    return oto_sqrt((double)(n * n - m * m));
}

/*
 * Fills the Schmidt semi-normalised functions of sin(latitude): first along the diagonal, then upwards in degree at a
 * fixed order, which is the stable direction of the recursion (Holmes & Featherstone 2002, eq. 11, with Schmidt's
 * normalisation).
 */
static void fill_legendre(struct basis *basis)
{
    double *q = basis->q;
    const double s = basis->sin_lat, c = basis->cos_lat;
    q[term(0, 0)] = 1.0;
    q[term(1, 1)] = 1.0;
    for (int m = 2; m <= OTO_WMM_DEGREE; m++) {
        q[term(m, m)] = oto_sqrt((double)(2 * m - 1) / (double)(2 * m)) * c * q[term(m - 1, m - 1)];
    }
    for (int m = 0; m < OTO_WMM_DEGREE; m++) {
        for (int n = m + 1; n <= OTO_WMM_DEGREE; n++) {
            const double two_below = n >= m + 2 ? root(n - 1, m) * q[term(n - 2, m)] : 0.0;
            q[term(n, m)] = ((double)(2 * n - 1) * s * q[term(n - 1, m)] - two_below) / root(n, m);
        }
    }
}

/* Eq. 7 and 8; also sine and cosine of the angle between geodetic and geocentric latitude. */
static void fill_basis(struct basis *basis, oto_geodetic place, double *sin_psi, double *cos_psi)
{
    double s, c;
    oto_sincos(place.lat_rad, &s, &c);
    const double n_m = OTO_WGS84_A_M / oto_sqrt(1.0 - OTO_WGS84_E2 * s * s);
    const double p_m = (n_m + place.alt_m) * c;
    const double z_m = (n_m * (1.0 - OTO_WGS84_E2) + place.alt_m) * s;
    const double r_m = oto_hypot(p_m, z_m);
    basis->sin_lat = z_m / r_m;
    basis->cos_lat = p_m / r_m;
    *sin_psi = basis->sin_lat * c - basis->cos_lat * s;
    *cos_psi = basis->cos_lat * c + basis->sin_lat * s;
    const double a_r = MODEL_RADIUS_M / r_m;
    basis->ratio[0] = a_r * a_r;
    for (int i = 0; i <= OTO_WMM_DEGREE; i++) {
        oto_sincos((double)i * place.lon_rad, &basis->sin_m[i], &basis->cos_m[i]);
        if (i > 0) {
            basis->ratio[i] = basis->ratio[i - 1] * a_r;
        }
    }
    fill_legendre(basis);
}

/* dP/d(latitude) from Q (eq. 16, in degrees n and n - 1): d P(n,0) = sqrt(n (n+1) / 2) P(n,1), else
 * -n sin Q(n,m) + sqrt(n² - m²) Q(n-1,m). */
static double legendre_slope(const struct basis *basis, int n, int m)
{
    if (m == 0) {
        return oto_sqrt(0.5 * (double)(n * (n + 1))) * basis->cos_lat * basis->q[term(n, 1)];
    }
    const double below = n > m ? root(n, m) * basis->q[term(n - 1, m)] : 0.0;
    return below - (double)n * basis->sin_lat * basis->q[term(n, m)];
}

/* Eq. 10 to 12: north, east and down in geocentric axes, from coefficients g + years · g_yr. */
static oto_vec3 sum_terms(const struct basis *basis, const double *g, const double *h, const double *g_yr,
                          const double *h_yr, double years)
{
    oto_vec3 sum = oto_vec3_zero();
    for (int n = 1; n <= OTO_WMM_DEGREE; n++) {
        oto_vec3 degree = oto_vec3_zero();
        for (int m = 0; m <= n; m++) {
            const int i = term(n, m);
            const double gt = g[i] + years * g_yr[i], ht = h[i] + years * h_yr[i];
            const double along = gt * basis->cos_m[m] + ht * basis->sin_m[m];
            const double across = gt * basis->sin_m[m] - ht * basis->cos_m[m];
            const double p = m == 0 ? basis->q[i] : basis->cos_lat * basis->q[i];
            degree.x -= along * legendre_slope(basis, n, m);
            degree.y += (double)m * across * basis->q[i];
            degree.z -= (double)(n + 1) * along * p;
        }
        sum = oto_vec3_add_scaled(sum, degree, basis->ratio[n]);
    }
    return sum;
}

/* Eq. 17: from geocentric to geodetic north, east and down. */
static oto_vec3 to_geodetic(oto_vec3 v, double sin_psi, double cos_psi)
{
    return oto_vec3_make(v.x * cos_psi - v.z * sin_psi, v.y, v.x * sin_psi + v.z * cos_psi);
}

/* Eq. 19 and their time derivatives. */
static void fill_elements(struct oto_magnetic_field *field, oto_vec3 b, oto_vec3 b_yr)
{
    const double h = oto_hypot(b.x, b.y), f = oto_hypot(h, b.z);
    const double h_yr = h > 0.0 ? (b.x * b_yr.x + b.y * b_yr.y) / h : 0.0;
    *field = (struct oto_magnetic_field){
        .x_nt = b.x,
        .y_nt = b.y,
        .z_nt = b.z,
        .h_nt = h,
        .f_nt = f,
        .inclination_deg = oto_atan2(b.z, h) / OTO_DEG,
        .declination_deg = oto_atan2(b.y, b.x) / OTO_DEG,
        .x_nt_yr = b_yr.x,
        .y_nt_yr = b_yr.y,
        .z_nt_yr = b_yr.z,
        .h_nt_yr = h_yr,
        .f_nt_yr = f > 0.0 ? oto_vec3_dot(b, b_yr) / f : 0.0,
        .inclination_deg_yr = f > 0.0 ? (h * b_yr.z - b.z * h_yr) / (f * f) / OTO_DEG : 0.0,
        .declination_deg_yr = h > 0.0 ? (b.x * b_yr.y - b.y * b_yr.x) / (h * h) / OTO_DEG : 0.0,
    };
}

static enum oto_status check(const struct oto_wmm *model, oto_geodetic place, double year, struct oto_error *error)
{
    const double last_year = model->epoch_year + OTO_WMM_VALID_YEARS;
    if (!(year >= model->epoch_year && year <= last_year)) {
        return oto_fail(error, OTO_RANGE, "%s is not valid in %.6g: expected a date from %.1f to %.1f", model->name,
                        year, model->epoch_year, last_year);
    }
    if (!(place.alt_m >= OTO_WMM_MIN_ALTITUDE_M && place.alt_m <= OTO_WMM_MAX_ALTITUDE_M)) {
        return oto_fail(error, OTO_RANGE, "%s is not valid at an altitude of %.10g m: expected %.10g to %.10g m",
                        model->name, place.alt_m, OTO_WMM_MIN_ALTITUDE_M, OTO_WMM_MAX_ALTITUDE_M);
    }
    /* 90 degrees in radians may be larger than OTO_HALF_PI by rounding */
    if (!(oto_fabs(place.lat_rad) <= OTO_HALF_PI + 0x1p-50) || !(oto_fabs(place.lon_rad) <= OTO_TWO_PI + 0x1p-48)) {
        return oto_fail(error, OTO_RANGE,
                        "there is no place at latitude %.10g, longitude %.10g: expected -90 to 90 and -360 to 360 deg",
                        place.lat_rad / OTO_DEG, place.lon_rad / OTO_DEG);
    }
    return OTO_OK;
}

enum oto_status oto_wmm_field(const struct oto_wmm *model, oto_geodetic place, double year,
                              struct oto_magnetic_field *field, struct oto_error *error)
{
    static const double none[OTO_WMM_TERMS];
    const enum oto_status status = check(model, place, year, error);
    if (status != OTO_OK) {
        return status;
    }
    struct basis basis;
    double sin_psi, cos_psi;
    fill_basis(&basis, place, &sin_psi, &cos_psi);
    const oto_vec3 b =
        sum_terms(&basis, model->g_nt, model->h_nt, model->g_nt_yr, model->h_nt_yr, year - model->epoch_year);
    const oto_vec3 b_yr = sum_terms(&basis, model->g_nt_yr, model->h_nt_yr, none, none, 0.0);
    fill_elements(field, to_geodetic(b, sin_psi, cos_psi), to_geodetic(b_yr, sin_psi, cos_psi));
    return OTO_OK;
}

enum oto_status oto_wmm_find(const char *name, const struct oto_wmm **model, struct oto_error *error)
{
    for (size_t i = 0; i < WMM_MODELS; i++) {
        if (strcmp(wmm_models[i].name, name) == 0) {
            *model = &wmm_models[i];
            return OTO_OK;
        }
    }
    return oto_fail(error, OTO_NOT_FOUND, "there is no magnetic model '%.40s': expected wmm2020 or wmm2025", name);
}

enum oto_status oto_wmm_for_year(double year, const struct oto_wmm **model, struct oto_error *error)
{
    for (size_t i = WMM_MODELS; i-- > 0;) {
        if (year >= wmm_models[i].epoch_year && year <= wmm_models[i].epoch_year + OTO_WMM_VALID_YEARS) {
            *model = &wmm_models[i];
            return OTO_OK;
        }
    }
    return oto_fail(error, OTO_RANGE, "no magnetic model is valid in %.6g: expected a date from %.1f to %.1f", year,
                    wmm_models[0].epoch_year, wmm_models[WMM_MODELS - 1].epoch_year + OTO_WMM_VALID_YEARS);
}
