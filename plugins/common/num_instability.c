#include "num_instability.h"

#include <string.h>

#include "otolith/detmath.h"

#define GRID_PER_POLE 8
#define FIT_ITERATIONS 400
#define SCALING_ITERATIONS 200

/*
 * Brown & Hwang. Below 0.02 the series avoids the cancellation of the closed form; the first omitted term is 1e-9 of
 * the sum.
 */
double num_gauss_markov_avar(double correlation_s, double tau_s)
{
    const double x = tau_s / correlation_s;
    if (x < 0.02) {
        return x * (2.0 / 3.0 - x * (0.5 - x * (7.0 / 30.0 - x / 12.0)));
    }
    const double decay = oto_exp(-x);
    return 2.0 / x * (1.0 - (3.0 - 4.0 * decay + decay * decay) / (2.0 * x));
}

/* 1 - exp(-dt/Ti) exp(-dt/Tj), without cancellation for slow processes. */
static double pair_loss(const struct num_instability *fit, uint32_t i, uint32_t j, double dt_s)
{
    return -oto_expm1(-dt_s * (1.0 / fit->correlation_s[i] + 1.0 / fit->correlation_s[j]));
}

/*
 * Computes drives b of processes that share one deviate, so that their sum has the autocovariance Σ c_j a_j^|k| of
 * independent processes: c_j = b_j Σ_k b_k / (1 - a_j a_k). This is a symmetric matrix scaling with one positive
 * solution, found by Sinkhorn's iteration.
 */
static void share_one_drive(struct num_instability *fit, double dt_s)
{
    double gain[NUM_INSTABILITY_POLES][NUM_INSTABILITY_POLES];
    const uint32_t count = fit->count;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count; j++) {
            gain[i][j] = 1.0 / pair_loss(fit, i, j, dt_s);
        }
        fit->drive[i] = oto_sqrt(fit->variance[i] / gain[i][i]);
    }
    for (int iteration = 0; iteration < SCALING_ITERATIONS; iteration++) {
        double next[NUM_INSTABILITY_POLES];
        for (uint32_t i = 0; i < count; i++) {
            double sum = 0.0;
            for (uint32_t j = 0; j < count; j++) {
                sum += gain[i][j] * fit->drive[j];
            }
            next[i] = oto_sqrt(fit->drive[i] * fit->variance[i] / sum);
        }
        memcpy(fit->drive, next, count * sizeof *next);
    }
}

/* Cholesky factor of P_ij = b_i b_j / (1 - a_i a_j). A pivot that is lost to rounding sets its column to zero. */
static void factor_start(struct num_instability *fit, double dt_s)
{
    for (uint32_t i = 0; i < fit->count; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            double rest = fit->drive[i] * fit->drive[j] / pair_loss(fit, i, j, dt_s);
            for (uint32_t k = 0; k < j; k++) {
                rest -= fit->start[i][k] * fit->start[j][k];
            }
            if (i == j) {
                fit->start[i][i] = rest > 0.0 ? oto_sqrt(rest) : 0.0;
            } else {
                fit->start[i][j] = fit->start[j][j] > 0.0 ? rest / fit->start[j][j] : 0.0;
            }
        }
    }
}

static void finish(struct num_instability *fit, double dt_s)
{
    for (uint32_t i = 0; i < fit->count; i++) {
        fit->decay[i] = oto_exp(-dt_s / fit->correlation_s[i]);
    }
    share_one_drive(fit, dt_s);
    factor_start(fit, dt_s);
}

/*
 * Non-negative variances by least squares on Allan variance / floor² = 1: multiplicative updates on the normal
 * equations.
 */
static void fit_variances(struct num_instability *fit, double tau_min_s, double ratio_step, uint32_t grid)
{
    double normal[NUM_INSTABILITY_POLES][NUM_INSTABILITY_POLES] = {{0}};
    double right[NUM_INSTABILITY_POLES] = {0};
    const uint32_t count = fit->count;
    double tau_s = tau_min_s;
    for (uint32_t g = 0; g < grid; g++, tau_s *= ratio_step) {
        double row[NUM_INSTABILITY_POLES];
        for (uint32_t i = 0; i < count; i++) {
            row[i] = num_gauss_markov_avar(fit->correlation_s[i], tau_s) / (NUM_FLICKER_FLOOR * NUM_FLICKER_FLOOR);
        }
        for (uint32_t i = 0; i < count; i++) {
            right[i] += row[i];
            for (uint32_t j = 0; j < count; j++) {
                normal[i][j] += row[i] * row[j];
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        fit->variance[i] = 0.3;
    }
    for (int iteration = 0; iteration < FIT_ITERATIONS; iteration++) {
        double next[NUM_INSTABILITY_POLES];
        for (uint32_t i = 0; i < count; i++) {
            double sum = 0.0;
            for (uint32_t j = 0; j < count; j++) {
                sum += normal[i][j] * fit->variance[j];
            }
            next[i] = fit->variance[i] * right[i] / sum;
        }
        memcpy(fit->variance, next, count * sizeof *next);
    }
}

void num_instability_fit_floor(struct num_instability *fit, double tau_min_s, double tau_max_s, double dt_s)
{
    memset(fit, 0, sizeof *fit);
    if (tau_min_s < 10.0 * dt_s) {
        tau_min_s = 10.0 * dt_s;
    }
    if (tau_max_s < tau_min_s) {
        tau_max_s = tau_min_s;
    }
    const double decades = oto_log(tau_max_s / tau_min_s) / oto_log(10.0);
    const double wanted = 3.0 + 1.5 * decades;
    fit->count = wanted < NUM_INSTABILITY_POLES ? (uint32_t)wanted : NUM_INSTABILITY_POLES;
    /*
     * The correlation times extend beyond those whose Allan deviation has its peak at the ends of the range. The floor is
     * then flat to 1 % over up to six decades.
     */
    const double margin = decades <= 5.0 ? 0.3 : 0.6;
    const double first_s = margin * tau_min_s / 1.893;
    const double last_s = tau_max_s / (margin * 1.893);
    const double step = oto_exp(oto_log(last_s / first_s) / (fit->count - 1));
    double correlation_s = first_s;
    for (uint32_t i = 0; i < fit->count; i++, correlation_s *= step) {
        fit->correlation_s[i] = correlation_s;
    }
    const uint32_t grid = fit->count * GRID_PER_POLE;
    fit_variances(fit, tau_min_s, oto_exp(oto_log(tau_max_s / tau_min_s) / (grid - 1)), grid);
    finish(fit, dt_s);
}

void num_instability_fit_single(struct num_instability *fit, double correlation_s, double dt_s)
{
    memset(fit, 0, sizeof *fit);
    fit->count = 1;
    fit->correlation_s[0] = correlation_s;
    fit->variance[0] = (NUM_FLICKER_FLOOR * NUM_FLICKER_FLOOR) / (NUM_GAUSS_MARKOV_PEAK * NUM_GAUSS_MARKOV_PEAK);
    finish(fit, dt_s);
}

void num_instability_fit_given(struct num_instability *fit, const double *correlation_s, const double *deviation,
                               uint32_t count, double dt_s)
{
    memset(fit, 0, sizeof *fit);
    for (uint32_t i = 0; i < count; i++) {
        if (deviation[i] > 0.0) {
            fit->correlation_s[fit->count] = correlation_s[i];
            fit->variance[fit->count++] = deviation[i] * deviation[i];
        }
    }
    finish(fit, dt_s);
}

void num_instability_start(const struct num_instability *fit, const double *deviates, double *state)
{
    memset(state, 0, NUM_INSTABILITY_POLES * sizeof *state);
    for (uint32_t i = 0; i < fit->count; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            state[i] += fit->start[i][j] * deviates[j];
        }
    }
}
