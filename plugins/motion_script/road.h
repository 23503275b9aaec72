/*
 * A random road: a Gaussian process over distance, as a quintic B-spline of independent normal steps. Its first four
 * derivatives are continuous, and its integral (the height for a slope) has a closed form. The road at a distance is
 * always the same. Pure functions, callable from any thread.
 */
#ifndef ROAD_H
#define ROAD_H

#include "otolith/rng.h"

struct road_wander {
    double rms;   /* standard deviation of the process, in its unit */
    double knot_m; /* distance between steps */
    struct oto_rng_key key;
    uint64_t term;
    double integral_at_0;
};

/* The polynomial between knot and knot + 1, of u = distance/knot_m - knot. */
struct road_window {
    int64_t knot;
    double coefficients[6];
    double integral; /* integral up to u = 0, over distance in knots; its origin is arbitrary */
};

/* Value, its derivatives by the distance, and its integral from distance 0. */
struct road_jet {
    double integral, value, first, second;
};

/* Makes a process whose autocorrelation falls to 1/e within length_m > 0. */
struct road_wander road_wander_make(double rms, double length_m, struct oto_rng_key key, uint64_t term);

/* Makes the window that contains the distance. */
void road_window_at(const struct road_wander *wander, double distance_m, struct road_window *window);

/* Makes the window that contains the distance, unless `window` already contains it. */
void road_window_follow(const struct road_wander *wander, double distance_m, struct road_window *window);

/*
 * The process at a distance. A `window` that contains the distance saves work; any other window is accepted. All zero if
 * rms is 0.
 */
struct road_jet road_wander_at(const struct road_wander *wander, const struct road_window *window, double distance_m);

#endif
