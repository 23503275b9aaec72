/*
 * The measurement update of all estimators, in Joseph's form:
 *
 *   S = H P Hᵀ + R,  K = P Hᵀ S⁻¹,  dx = K y,  P' = (I − K H) P (I − K H)ᵀ + K R Kᵀ
 *
 * computed as A = P − K (P Hᵀ)ᵀ, P' = A − (A Hᵀ − K R) Kᵀ, which is the same matrix with 3 n² m products. P stays
 * symmetric to the last bit. An update is completed or leaves everything unchanged. Pure functions; no allocation.
 * Source: Bucy & Joseph, Filtering for Stochastic Processes, 1968; Bar-Shalom, Li & Kirubarajan, 2001, §5.2.6.
 */
#ifndef NUM_KALMAN_H
#define NUM_KALMAN_H

#include <stdint.h>

#include "num_matrix.h"

#define NUM_KALMAN_ROWS 3 /* limit for one measurement */

enum num_kalman_result {
    NUM_KALMAN_USED = 0,
    NUM_KALMAN_GATED = 1,      /* the squared distance exceeds the gate */
    NUM_KALMAN_SINGULAR = 2,   /* S has no inverse */
    NUM_KALMAN_NON_FINITE = 3, /* the update would give numbers that are not finite */
};

struct num_kalman_row {
    uint32_t m; /* 1 … NUM_KALMAN_ROWS */
    uint32_t considered; /* bit i: state i counts in S but is not corrected, its row of K is 0 (Schmidt 1966) */
    double innovation[NUM_KALMAN_ROWS];
    double jacobian[NUM_KALMAN_ROWS * NUM_MATRIX_MOST]; /* m × n: d measurement / d state */
    double noise[NUM_KALMAN_ROWS * NUM_KALMAN_ROWS];    /* m × m, symmetric */
    double gate;                                        /* largest yᵀ S⁻¹ y; 0: none */
    /* results: */
    double nis;                    /* yᵀ S⁻¹ y; 0 if S has no inverse */
    double sigma[NUM_KALMAN_ROWS]; /* of the innovation: root of the diagonal of S */
};

/* Changes P and sets dx (n) only if it returns NUM_KALMAN_USED. */
enum num_kalman_result num_kalman_update(uint32_t n, struct num_kalman_row *row, double *p, double *dx);

/* The x that a chi-square variable of `degrees` degrees of freedom does not exceed with this probability. [loop] */
double num_chi2_quantile(double probability, uint32_t degrees);

#endif
