/*
 * Quintic smoothing splines on equidistant knots, of several channels at once. Fitted once by penalised least squares
 * (banded Cholesky), evaluated in constant time with two exact derivatives. Pure functions on the caller's memory,
 * callable from any thread.
 *
 * Interval k (k = 0 … intervals - 1) depends on the six control points k … k+5. If they are equal the spline is exactly
 * constant; standstills are represented in this way.
 */
#ifndef NUM_SPLINE_H
#define NUM_SPLINE_H

#include <stdbool.h>
#include <stdint.h>

#define NUM_SPLINE_ORDER 6 /* quintic: degree 5 */

struct num_spline_grid {
    double start_s, knot_s; /* knot k is at start_s + k·knot_s */
    uint64_t intervals;     /* control points: intervals + 5 */
};

/* Weights of an interval's six control points, their five differences and four second differences, at one instant. */
struct num_spline_basis {
    uint64_t interval;
    double value[NUM_SPLINE_ORDER], first[NUM_SPLINE_ORDER - 1], second[NUM_SPLINE_ORDER - 2];
};

/* Computes the weights at t_s. Outside the grid the polynomial of the first or last interval is extrapolated. */
void num_spline_basis_at(const struct num_spline_grid *grid, double t_s, struct num_spline_basis *basis);

/* Value, first and second derivative of `channels` channels; control[point·channels + channel]. */
void num_spline_combine(const struct num_spline_basis *basis, const double *control, uint32_t channels, double *value,
                        double *first, double *second);

/* Rows to fit. `rate` NULL: derivatives are unknown. Times are within the grid, in any order. */
struct num_spline_rows {
    uint64_t count;
    const double *t_s;
    const double *value; /* count × channels */
    const double *rate;  /* count × channels, or NULL */
    double value_weight, rate_weight; /* 1/sigma² */
    uint32_t channels;
};

/*
 * Minimises Σ value_weight (p - value)² + rate_weight (ṗ - rate)² + lambda ∫ |d³p/dt³|² dt. With lambda = (rows a
 * second)·(value_weight τ⁶ + rate_weight τ⁴), sinusoids of angular frequency 1/τ are passed at half amplitude.
 *
 * unknown[point] is the index of the unknown for control point `point`: it starts at 0 and increases in steps of 0 or
 * 1. Points with equal indices are equal. `work` has unknowns·(NUM_SPLINE_ORDER + channels) doubles. Returns false if
 * the rows do not determine the spline.
 */
bool num_spline_fit(const struct num_spline_grid *grid, const struct num_spline_rows *rows, double lambda,
                    const uint64_t *unknown, double *work, double *control);

#endif
