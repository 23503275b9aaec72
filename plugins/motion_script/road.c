#include "road.h"

#include <string.h>

#define STEPS 6
/*
 * Constants of the autocorrelation of a quintic B-spline, which is the B-spline of degree 11: its value at 0, and the
 * distance at which it has fallen to 1/e of that value.
 */
#define POWER (15724248.0 / 39916800.0)
#define CORRELATION_KNOTS 1.4383951257322893
#define SQRT_HALF 0x1.6a09e667f3bcdp-1
#define WALK_LEVELS 26 /* halvings of the walk below: it has 2^26 steps, one for each knot, in both directions */

/*
 * W(n), the sum of the first n steps, as a Brownian walk by repeated halving (Lévy's construction): the value in the middle
 * of an interval of `length` steps is the mean of the values at its ends plus a normal deviate of variance length/4. This
 * needs no sum over all steps.
 */
static double walk(const struct road_wander *wander, int64_t n)
{
    const int64_t end = INT64_C(1) << WALK_LEVELS;
    const uint64_t side = n < 0 ? 1 : 0;
    int64_t left = 0, right = end, to = n < 0 ? -n : n;
    double at_left = 0.0, at_right = (double)(INT64_C(1) << (WALK_LEVELS / 2)), sigma = 0.5 * at_right;
    at_right *= oto_normal_at(wander->key, (uint64_t)end, wander->term, OTO_RNG_DOMAIN_WORLD, side);
    if (to >= end)
        return at_right;
    while (to != left) {
        int64_t middle = left + (right - left) / 2;
        double z = oto_normal_at(wander->key, (uint64_t)middle, wander->term, OTO_RNG_DOMAIN_WORLD, side);
        double at_middle = 0.5 * (at_left + at_right) + sigma * z;
        sigma *= SQRT_HALF;
        if (to < middle) {
            right = middle;
            at_right = at_middle;
        } else {
            left = middle;
            at_left = at_middle;
        }
    }
    return at_left;
}

static double knot_of(const struct road_wander *wander, double distance_m)
{
    double x = distance_m / wander->knot_m, knot = (double)(int64_t)x;
    return knot > x ? knot - 1.0 : knot;
}

static void lay_window(const struct road_wander *wander, int64_t knot, struct road_window *window)
{
    /*
     * The six pieces of the B-spline in powers of u, times 120, and the integrals of the pieces before each, times 720.
     */
    static const double piece[STEPS][STEPS] = {
        {1.0, -5.0, 10.0, -10.0, 5.0, -1.0}, {26.0, -50.0, 20.0, 20.0, -20.0, 5.0}, {66.0, 0.0, -60.0, 0.0, 30.0, -10.0},
        {26.0, 50.0, 20.0, -20.0, -20.0, 10.0}, {1.0, 5.0, 10.0, 10.0, 5.0, -5.0}, {0.0, 0.0, 0.0, 0.0, 0.0, 1.0}};
    static const double gathered[STEPS] = {719.0, 662.0, 360.0, 58.0, 1.0, 0.0};
    double before = walk(wander, knot);
    *window = (struct road_window){knot, {0.0}, before};
    for (int i = 0; i < STEPS; i++) {
        double after = walk(wander, knot + i + 1), step = after - before;
        before = after;
        window->integral += step * gathered[i] / 720.0;
        for (int k = 0; k < STEPS; k++)
            window->coefficients[k] += step * piece[i][k] / 120.0;
    }
}

void road_window_at(const struct road_wander *wander, double distance_m, struct road_window *window)
{
    memset(window, 0, sizeof *window);
    if (wander->rms > 0.0)
        lay_window(wander, (int64_t)knot_of(wander, distance_m), window);
}

void road_window_follow(const struct road_wander *wander, double distance_m, struct road_window *window)
{
    if (wander->rms > 0.0 && window->knot != (int64_t)knot_of(wander, distance_m))
        lay_window(wander, (int64_t)knot_of(wander, distance_m), window);
}

struct road_jet road_wander_at(const struct road_wander *wander, const struct road_window *window, double distance_m)
{
    static const double share[STEPS] = {1.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0, 1.0 / 5.0, 1.0 / 6.0};
    struct road_window own;
    struct road_jet jet = {0.0, 0.0, 0.0, 0.0};
    double knot, u, scale, integral = 0.0;
    if (!(wander->rms > 0.0))
        return jet;
    knot = knot_of(wander, distance_m);
    if (window->knot != (int64_t)knot) {
        lay_window(wander, (int64_t)knot, &own);
        window = &own;
    }
    u = distance_m / wander->knot_m - knot;
    for (int i = STEPS - 1; i >= 0; i--) {
        jet.second = jet.second * u + 2.0 * jet.first;
        jet.first = jet.first * u + jet.value;
        jet.value = jet.value * u + window->coefficients[i];
        integral = integral * u + window->coefficients[i] * share[i];
    }
    scale = wander->rms / oto_sqrt(POWER);
    jet.integral = scale * wander->knot_m * (window->integral + integral * u) - wander->integral_at_0;
    jet.value *= scale;
    jet.first *= scale / wander->knot_m;
    jet.second *= scale / (wander->knot_m * wander->knot_m);
    return jet;
}

struct road_wander road_wander_make(double rms, double length_m, struct oto_rng_key key, uint64_t term)
{
    struct road_wander wander = {rms, length_m / CORRELATION_KNOTS, key, term, 0.0};
    struct road_window window;
    road_window_at(&wander, 0.0, &window);
    wander.integral_at_0 = road_wander_at(&wander, &window, 0.0).integral;
    return wander;
}
