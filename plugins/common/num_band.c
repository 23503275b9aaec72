#include "num_band.h"

#include <string.h>

#include "num_draws.h"
#include "otolith/detmath.h"
#include "otolith/vecmath.h"

#define SIZE 4 /* z, the input, and the change of the input over the substep */

static void multiply(double a[SIZE][SIZE], double b[SIZE][SIZE], double product[SIZE][SIZE])
{
    double made[SIZE][SIZE];
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++) {
            made[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j] + a[i][3] * b[3][j];
        }
    }
    memcpy(product, made, sizeof made);
}

static double norm(double m[SIZE][SIZE])
{
    double most = 0.0;
    for (int i = 0; i < SIZE; i++) {
        double sum = 0.0;
        for (int j = 0; j < SIZE; j++) {
            sum += m[i][j] < 0.0 ? -m[i][j] : m[i][j];
        }
        most = sum > most ? sum : most;
    }
    return most;
}

/* exp(m) in place: the series of m/2^s, squared s times. Eighteen terms of a norm below a half end at 1e-22. */
static void exponential(double m[SIZE][SIZE])
{
    double term[SIZE][SIZE] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, sum[SIZE][SIZE];
    int squarings = 0;
    double scale = 1.0;
    for (double size = norm(m); size > 0.5; size *= 0.5) {
        squarings++;
        scale *= 0.5;
    }
    memcpy(sum, term, sizeof sum);
    for (int k = 1; k <= 18; k++) {
        multiply(term, m, term);
        for (int i = 0; i < SIZE * SIZE; i++) {
            term[i / SIZE][i % SIZE] *= scale / (double)k;
            sum[i / SIZE][i % SIZE] += term[i / SIZE][i % SIZE];
        }
    }
    for (int k = 0; k < squarings; k++) {
        multiply(sum, sum, sum);
    }
    memcpy(m, sum, sizeof sum);
}

/* Per `angle` of the filter: order 1 z0' = -w z0 + w u; order 2 z0' = w z1, z1' = -w z0 - 2 d w z1 + w u. */
static void transition_of(const struct num_band_params *params, double angle, double m[SIZE][SIZE])
{
    const double first[SIZE][SIZE] = {{-angle, 0, angle, 0}, {0}, {0, 0, 0, 1}, {0}};
    memcpy(m, first, sizeof first);
    if (params->order == 2) {
        m[0][0] = m[0][2] = 0.0;
        m[0][1] = m[1][2] = angle;
        m[1][0] = -angle;
        m[1][1] = -2.0 * params->damping * angle;
    }
    exponential(m);
}

/*
 * The stationary covariance P = A P A' + g g' by doubling: P ← P + A P A', A ← A A. The sum is complete when A has
 * vanished, after 60 doublings at the latest.
 */
static void colour_covariance(const struct num_colour *colour, double p[2][2])
{
    double a[2][2];
    memcpy(a, colour->transition, sizeof a);
    for (int i = 0; i < 2; i++) {
        p[i][0] = colour->gain[i] * colour->gain[0];
        p[i][1] = colour->gain[i] * colour->gain[1];
    }
    for (int round = 0; round < 60; round++) {
        double ap[2][2], next[2][2];
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 2; j++) {
                ap[i][j] = a[i][0] * p[0][j] + a[i][1] * p[1][j];
                next[i][j] = a[i][0] * a[0][j] + a[i][1] * a[1][j];
            }
        }
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 2; j++) {
                p[i][j] += ap[i][0] * a[j][0] + ap[i][1] * a[j][1];
            }
        }
        memcpy(a, next, sizeof a);
    }
}

static void prepare_colour(const struct num_band_params *params, double angle, struct num_colour *colour)
{
    double m[SIZE][SIZE], p[2][2];
    transition_of(params, angle, m);
    for (int i = 0; i < (int)params->order; i++) {
        colour->transition[i][0] = m[i][0];
        colour->transition[i][1] = m[i][1];
        colour->gain[i] = m[i][2];
    }
    colour_covariance(colour, p);
    colour->variance = p[0][0];
    colour->start[0][0] = oto_sqrt(p[0][0]);
    colour->start[1][0] = p[1][0] / colour->start[0][0];
    const double rest = p[1][1] - colour->start[1][0] * colour->start[1][0];
    colour->start[1][1] = rest > 0.0 ? oto_sqrt(rest) : 0.0;
}

enum oto_status num_band_prepare(const struct num_band_params *params, double period_s, struct num_band *band,
                                 struct oto_error *error)
{
    memset(band, 0, sizeof *band);
    if (params->limit_hz == 0.0) {
        return OTO_OK;
    }
    const double angle = 2.0 * OTO_PI * params->limit_hz * (period_s / (double)params->substeps);
    if (angle > 1e4) {
        return oto_fail(error, OTO_RANGE, "band_limit_hz = %g has no effect at %g Hz: expected at most %g, or 0",
                        params->limit_hz, 1.0 / period_s, 1e4 * params->limit_hz / angle);
    }
    double m[SIZE][SIZE];
    transition_of(params, angle, m);
    prepare_colour(params, angle * (double)params->substeps, &band->colour);
    band->substeps = params->substeps;
    band->order = (int)params->order;
    for (int i = 0; i < 2; i++) {
        band->transition[i][0] = m[i][0];
        band->transition[i][1] = m[i][1];
        band->from[i] = m[i][2] - m[i][3];
        band->to[i] = m[i][3];
    }
    return OTO_OK;
}

void num_band_start(struct num_band_state *state, const double input[NUM_BAND_CHANNELS])
{
    for (int i = 0; i < NUM_BAND_CHANNELS; i++) {
        state->z[i][0] = state->input[i] = input[i];
        state->z[i][1] = 0.0;
    }
}

void num_band_advance(const struct num_band *band, struct num_band_state *state, const double input[NUM_BAND_CHANNELS])
{
    for (int i = 0; i < NUM_BAND_CHANNELS; i++) {
        const double z0 = state->z[i][0], z1 = state->z[i][1];
        for (int k = 0; k < band->order; k++) {
            state->z[i][k] = band->transition[k][0] * z0 + band->transition[k][1] * z1 + band->from[k] * state->input[i] +
                             band->to[k] * input[i];
        }
        state->input[i] = input[i];
    }
}

void num_band_start_colour(const struct num_band *band, struct oto_rng_key key, uint64_t n,
                           struct num_band_state *state)
{
    for (uint64_t lane = 0; lane < NUM_LANES; lane++) {
        const double first = oto_normal_at(key, n, NUM_DRAW_COLOUR_START, OTO_RNG_DOMAIN_TURN_ON, 2 * lane);
        const double second = oto_normal_at(key, n, NUM_DRAW_COLOUR_START, OTO_RNG_DOMAIN_TURN_ON, 2 * lane + 1);
        state->colour[0][lane] = band->colour.start[0][0] * first;
        state->colour[1][lane] = band->colour.start[1][0] * first + band->colour.start[1][1] * second;
    }
}
