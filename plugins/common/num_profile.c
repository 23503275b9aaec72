#include "num_profile.h"

#define DEGREE 8

static const double coefficients[NUM_PROFILE_COUNT][DEGREE + 1] = {
    [NUM_PROFILE_STEADY] = {0.0, 1.0},
    [NUM_PROFILE_UP] = {0.0, 0.0, 0.0, 0.0, 2.5, -3.0, 1.0},
    [NUM_PROFILE_DOWN] = {0.0, 1.0, 0.0, 0.0, -2.5, 3.0, -1.0},
    [NUM_PROFILE_BUMP] = {0.0, 0.0, 0.0, 0.0, 256.0, -1024.0, 1536.0, -1024.0, 256.0},
    [NUM_PROFILE_STEP] = {0.0, 0.0, 0.0, 10.0, -15.0, 6.0},
};
static const int degrees[NUM_PROFILE_COUNT] = {0, 1, 6, 6, 8, 5};
static const double ends[NUM_PROFILE_COUNT] = {0.0, 1.0, 0.5, 0.5, 0.0, 1.0};

/* Computed as a power of s(1 - s), because a sum of powers of s cancels near 1. */
static struct num_jet bump(double s)
{
    const double p = s * (1.0 - s), d = 1.0 - 2.0 * s, p2 = p * p;
    return (struct num_jet){256.0 * p2 * p2, 1024.0 * p2 * p * d, 1024.0 * p2 * (3.0 * d * d - 2.0 * p),
                            6144.0 * p * d * (d * d - 3.0 * p)};
}

struct num_jet num_profile_jet(uint32_t profile, double s)
{
    if (profile == NUM_PROFILE_BUMP)
        return bump(s);
    const double *c = coefficients[profile];
    struct num_jet p = {c[degrees[profile]], 0.0, 0.0, 0.0};
    for (int i = degrees[profile] - 1; i >= 0; i--) {
        p.third = p.third * s + 3.0 * p.second;
        p.second = p.second * s + 2.0 * p.first;
        p.first = p.first * s + p.value;
        p.value = p.value * s + c[i];
    }
    return p;
}

double num_profile_value(uint32_t profile, double s)
{
    if (profile == NUM_PROFILE_BUMP)
        return bump(s).value;
    const double *c = coefficients[profile];
    double p = c[degrees[profile]];
    for (int i = degrees[profile] - 1; i >= 0; i--)
        p = p * s + c[i];
    return p;
}

double num_profile_integral(uint32_t profile, double s)
{
    static const double share[DEGREE + 1] = {1.0,       1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0, 1.0 / 5.0,
                                             1.0 / 6.0, 1.0 / 7.0, 1.0 / 8.0, 1.0 / 9.0};
    const double *c = coefficients[profile];
    double p = c[degrees[profile]] * share[degrees[profile]];
    for (int i = degrees[profile] - 1; i >= 0; i--)
        p = p * s + c[i] * share[i];
    return p * s;
}

double num_profile_end(uint32_t profile)
{
    return ends[profile];
}
