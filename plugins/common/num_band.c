#include "num_band.h"

#include <string.h>

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
    /* Per substep: first order z0' = -w z0 + w u; second order z0' = w z1, z1' = -w z0 - 2 d w z1 + w u. */
    double m[SIZE][SIZE] = {{-angle, 0, angle, 0}, {0}, {0, 0, 0, 1}, {0}};
    if (params->order == 2) {
        m[0][0] = m[0][2] = 0.0;
        m[0][1] = m[1][2] = angle;
        m[1][0] = -angle;
        m[1][1] = -2.0 * params->damping * angle;
    }
    exponential(m);
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
