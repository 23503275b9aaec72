#include "num_catr.h"

#include <string.h>

#include "otolith/detmath.h"

/* With alpha = turn rate × dt: cosine[k] = ∫₀¹ sᵏ cos(alpha s) ds and sine[k] = ∫₀¹ sᵏ sin(alpha s) ds. */
struct moments {
    double cosine[3], sine[3];
};

/* The moments turned by the heading: a[k] = ∫ sᵏ cos(heading + alpha s) ds, b[k] the same with sin. */
struct path {
    double a[3], b[3];
};

#define TAYLOR_TERMS 10 /* the first term left out is below 1/20! = 4e-19 for |alpha| < 1 */

/* Inverse factorials 1/(2n)! and 1/(2n + 1)!, exact to rounding. */
static const double inv_even[TAYLOR_TERMS] = {
    1.0,
    1.0 / 2.0,
    1.0 / 24.0,
    1.0 / 720.0,
    1.0 / 40320.0,
    1.0 / 3628800.0,
    1.0 / 479001600.0,
    1.0 / 87178291200.0,
    1.0 / 20922789888000.0,
    1.0 / 6402373705728000.0,
};
static const double inv_odd[TAYLOR_TERMS] = {
    1.0,
    1.0 / 6.0,
    1.0 / 120.0,
    1.0 / 5040.0,
    1.0 / 362880.0,
    1.0 / 39916800.0,
    1.0 / 6227020800.0,
    1.0 / 1307674368000.0,
    1.0 / 355687428096000.0,
    1.0 / 121645100408832000.0,
};

/* Σ (-1)ⁿ alpha²ⁿ/((2n)!(2n+k+1)) and alpha Σ (-1)ⁿ alpha²ⁿ/((2n+1)!(2n+k+2)). */
static void moments_by_taylor(double alpha, int count, struct moments *m)
{
    double x = -alpha * alpha;
    for (int k = 0; k < count; k++) {
        double even = 0.0, odd = 0.0;
        for (int n = TAYLOR_TERMS - 1; n >= 0; n--) {
            even = even * x + inv_even[n] / (double)(2 * n + k + 1);
            odd = odd * x + inv_odd[n] / (double)(2 * n + k + 2);
        }
        m->cosine[k] = even;
        m->sine[k] = odd * alpha;
    }
}

/* By parts. 1 - cos(alpha) is taken as 2 sin²(alpha/2), which does not cancel. */
static void moments_by_parts(double alpha, struct moments *m)
{
    double s, c, half_s, half_c;
    oto_sincos(0.5 * alpha, &half_s, &half_c);
    s = 2.0 * half_s * half_c;
    c = 1.0 - 2.0 * half_s * half_s;
    m->cosine[0] = s / alpha;
    m->sine[0] = 2.0 * half_s * half_s / alpha;
    m->cosine[1] = (s - m->sine[0]) / alpha;
    m->sine[1] = (m->cosine[0] - c) / alpha;
    m->cosine[2] = (s - 2.0 * m->sine[1]) / alpha;
    m->sine[2] = (2.0 * m->cosine[1] - c) / alpha;
}

/* The first `count` moments along the path: two for the state, three for the Jacobian. */
static void path_of(const struct num_catr *state, double dt_s, int count, struct path *path)
{
    double alpha = state->turn_rate_rad_s * dt_s;
    struct moments m;
    double s, c;
    if (oto_fabs(alpha) < 1.0)
        moments_by_taylor(alpha, count, &m);
    else
        moments_by_parts(alpha, &m);
    oto_sincos(state->heading_rad, &s, &c);
    for (int k = 0; k < count; k++) {
        path->a[k] = c * m.cosine[k] - s * m.sine[k];
        path->b[k] = s * m.cosine[k] + c * m.sine[k];
    }
}

static void predict(const struct num_catr *state, double dt_s, const struct path *path, struct num_catr *next)
{
    double v = state->speed_m_s, gain = state->accel_m_s2 * dt_s;
    double dx = dt_s * (v * path->a[0] + gain * path->a[1]);
    double dy = dt_s * (v * path->b[0] + gain * path->b[1]);
    *next = *state;
    next->x_m += dx;
    next->y_m += dy;
    next->speed_m_s += gain;
    next->heading_rad += state->turn_rate_rad_s * dt_s;
}

static void differentiate(const struct num_catr *state, double dt_s, const struct path *path,
                          double j[NUM_CATR_STATES][NUM_CATR_STATES])
{
    double v = state->speed_m_s, gain = state->accel_m_s2 * dt_s, dt2 = dt_s * dt_s;
    memset(j, 0, sizeof(double[NUM_CATR_STATES][NUM_CATR_STATES]));
    for (int i = 0; i < NUM_CATR_STATES; i++)
        j[i][i] = 1.0;
    j[0][2] = dt_s * path->a[0];
    j[0][3] = dt2 * path->a[1];
    j[0][4] = -dt_s * (v * path->b[0] + gain * path->b[1]);
    j[0][5] = -dt2 * (v * path->b[1] + gain * path->b[2]);
    j[1][2] = dt_s * path->b[0];
    j[1][3] = dt2 * path->b[1];
    j[1][4] = dt_s * (v * path->a[0] + gain * path->a[1]);
    j[1][5] = dt2 * (v * path->a[1] + gain * path->a[2]);
    j[2][3] = dt_s;
    j[4][5] = dt_s;
}

void num_catr_predict(const struct num_catr *state, double dt_s, struct num_catr *next)
{
    struct path path;
    path_of(state, dt_s, 2, &path);
    predict(state, dt_s, &path, next);
}

void num_catr_jacobian(const struct num_catr *state, double dt_s, double jacobian[NUM_CATR_STATES][NUM_CATR_STATES])
{
    struct path path;
    path_of(state, dt_s, 3, &path);
    differentiate(state, dt_s, &path, jacobian);
}

void num_catr_jacobian_and_predict(const struct num_catr *state, double dt_s,
                                   double jacobian[NUM_CATR_STATES][NUM_CATR_STATES], struct num_catr *next)
{
    struct path path;
    path_of(state, dt_s, 3, &path);
    differentiate(state, dt_s, &path, jacobian);
    predict(state, dt_s, &path, next);
}
