/* The five terms of the variance, in the order q, n, b, k, r, for the fit and its standard errors. */
#ifndef CLI_ALLAN_TERMS_H
#define CLI_ALLAN_TERMS_H

#include "allan.h"

enum { TERMS = 5 };

/* The contribution of each term to the variance at tau if the square of its coefficient is 1. */
void allan_basis(double tau_s, double row[TERMS]);
double allan_variance_of(const double squares[TERMS], double tau_s);
/* Least squares by the normal equations, of the terms in `subset`. False where they are not independent. */
bool allan_solve(double matrix[TERMS][TERMS], const double right[TERMS], unsigned subset, double solution[TERMS]);
/* Equivalent degrees of freedom of every point, from the slope of the model at its averaging time. */
void allan_set_freedom(struct allan_point *points, size_t count, uint64_t samples, const double squares[TERMS]);
/*
 * The weight of each point: one over the variance of its Allan variance, computed from `squares` (NULL: from the point),
 * and 0 outside the bounds. Returns the number of weights that are not 0.
 */
size_t allan_weights(const struct allan_point *points, size_t count, const struct allan_fit_options *options,
                     const double *squares, double *weights);

#endif
