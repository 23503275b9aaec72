#include "num_spline.h"

#include <string.h>

#include "otolith/detmath.h"

/* Values of the B-splines of `order` (= degree + 1) on an interval of equidistant knots, at u in [0, 1] (de Boor 1978). */
static void bspline_values(int order, double u, double *n)
{
    n[0] = 1.0;
    for (int m = 1; m < order; m++) {
        double carried = 0.0, scale = 1.0 / (double)m;
        for (int i = 0; i < m; i++) {
            /* Uses knots i - m + 1 … i + 1, counted from the left end of this interval. */
            double share = n[i] * scale;
            n[i] = carried + ((double)(i + 1) - u) * share;
            carried = (u + (double)(m - 1 - i)) * share;
        }
        n[m] = carried;
    }
}

/* Derivative of B-splines from those of the next lower order: differences of neighbours. */
static void difference(int order, const double *lower, double scale, double *out)
{
    out[0] = -lower[0] * scale;
    for (int i = 1; i < order - 1; i++)
        out[i] = (lower[i - 1] - lower[i]) * scale;
    out[order - 1] = lower[order - 2] * scale;
}

void num_spline_basis_at(const struct num_spline_grid *grid, double t_s, struct num_spline_basis *basis)
{
    double rate = 1.0 / grid->knot_s, x = (t_s - grid->start_s) * rate, u;
    basis->interval = x > 0.0 ? (uint64_t)x : 0;
    if (basis->interval >= grid->intervals)
        basis->interval = grid->intervals - 1;
    u = x - (double)basis->interval;
    bspline_values(6, u, basis->value);
    bspline_values(5, u, basis->first);
    bspline_values(4, u, basis->second);
    for (int i = 0; i < 5; i++)
        basis->first[i] *= rate;
    for (int i = 0; i < 4; i++)
        basis->second[i] *= rate * rate;
}

/* Uses differences of the control points, so that equal points give exactly no motion. */
void num_spline_combine(const struct num_spline_basis *basis, const double *control, uint32_t channels, double *value,
                        double *first, double *second)
{
    const double *point = control + basis->interval * channels;
    for (uint32_t c = 0; c < channels; c++, point++) {
        double p[NUM_SPLINE_ORDER], d[NUM_SPLINE_ORDER - 1], middle;
        for (int i = 0; i < 6; i++)
            p[i] = point[(uint32_t)i * channels];
        for (int i = 0; i < 5; i++)
            d[i] = p[i + 1] - p[i];
        middle = p[2];
        value[c] = first[c] = second[c] = 0.0;
        for (int i = 0; i < 6; i++)
            value[c] += basis->value[i] * (p[i] - middle);
        for (int i = 0; i < 5; i++)
            first[c] += basis->first[i] * d[i];
        for (int i = 0; i < 4; i++)
            second[c] += basis->second[i] * (d[i + 1] - d[i]);
        value[c] += middle;
    }
}

/* ---- the normal equations: symmetric, positive definite, six wide ---- */

struct band {
    double *row;  /* row[i·6 + d] = A(i, i - d), d = 0 … 5 */
    double *right; /* unknowns × channels */
    uint64_t unknowns;
    uint32_t channels;
};

static void add_outer(struct band *band, const uint64_t *unknown, const double *weights, double scale)
{
    for (int i = 0; i < NUM_SPLINE_ORDER; i++)
        for (int j = 0; j < NUM_SPLINE_ORDER; j++)
            if (unknown[j] <= unknown[i])
                band->row[unknown[i] * NUM_SPLINE_ORDER + (unknown[i] - unknown[j])] += scale * weights[i] * weights[j];
}

static void add_right(struct band *band, const uint64_t *unknown, const double *weights, double scale, const double *data)
{
    for (int i = 0; i < NUM_SPLINE_ORDER; i++)
        for (uint32_t c = 0; c < band->channels; c++)
            band->right[unknown[i] * band->channels + c] += scale * weights[i] * data[c];
}

static void add_rows(struct band *band, const struct num_spline_grid *grid, const struct num_spline_rows *rows,
                     const uint64_t *unknown)
{
    for (uint64_t r = 0; r < rows->count; r++) {
        struct num_spline_basis basis;
        const uint64_t *first;
        double slope[NUM_SPLINE_ORDER];
        num_spline_basis_at(grid, rows->t_s[r], &basis);
        first = unknown + basis.interval;
        add_outer(band, first, basis.value, rows->value_weight);
        add_right(band, first, basis.value, rows->value_weight, rows->value + r * rows->channels);
        if (rows->rate == NULL)
            continue;
        difference(6, basis.first, 1.0, slope);
        add_outer(band, first, slope, rows->rate_weight);
        add_right(band, first, slope, rows->rate_weight, rows->rate + r * rows->channels);
    }
}

/* lambda ∫ |p'''|²: the third derivative is quadratic in an interval, so three Gauss–Legendre nodes are exact. */
static void add_penalty(struct band *band, const struct num_spline_grid *grid, double lambda, const uint64_t *unknown)
{
    static const double node[3] = {0.11270166537925831, 0.5, 0.88729833462074169};
    static const double weight[3] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
    double third[3][NUM_SPLINE_ORDER], rate = 1.0 / grid->knot_s;
    for (int g = 0; g < 3; g++) {
        double n2[NUM_SPLINE_ORDER], d1[NUM_SPLINE_ORDER], d2[NUM_SPLINE_ORDER];
        bspline_values(3, node[g], n2);
        difference(4, n2, rate, d1);
        difference(5, d1, rate, d2);
        difference(6, d2, rate, third[g]);
    }
    for (uint64_t k = 0; k < grid->intervals; k++)
        for (int g = 0; g < 3; g++)
            add_outer(band, unknown + k, third[g], lambda * grid->knot_s * weight[g]);
}

/* Cholesky factor L in place; false where the matrix is singular to rounding. */
static bool factorise(struct band *band)
{
    for (uint64_t i = 0; i < band->unknowns; i++) {
        double *row = band->row + i * NUM_SPLINE_ORDER, diagonal = row[0];
        uint64_t reach = i < NUM_SPLINE_ORDER - 1 ? i : NUM_SPLINE_ORDER - 1;
        for (uint64_t d = reach; d >= 1; d--) {
            const double *other = band->row + (i - d) * NUM_SPLINE_ORDER;
            double sum = row[d];
            for (uint64_t e = d + 1; e <= reach; e++)
                sum -= row[e] * other[e - d];
            row[d] = sum / other[0];
        }
        for (uint64_t d = 1; d <= reach; d++)
            row[0] -= row[d] * row[d];
        if (!(row[0] > diagonal * 1e-14))
            return false;
        row[0] = oto_sqrt(row[0]);
    }
    return true;
}

static void solve(const struct band *band)
{
    uint32_t channels = band->channels;
    for (uint64_t i = 0; i < band->unknowns; i++) {
        const double *row = band->row + i * NUM_SPLINE_ORDER;
        uint64_t reach = i < NUM_SPLINE_ORDER - 1 ? i : NUM_SPLINE_ORDER - 1;
        for (uint32_t c = 0; c < channels; c++) {
            double sum = band->right[i * channels + c];
            for (uint64_t d = 1; d <= reach; d++)
                sum -= row[d] * band->right[(i - d) * channels + c];
            band->right[i * channels + c] = sum / row[0];
        }
    }
    for (uint64_t i = band->unknowns; i-- > 0;) {
        uint64_t last = band->unknowns - 1 - i, reach = last < NUM_SPLINE_ORDER - 1 ? last : NUM_SPLINE_ORDER - 1;
        for (uint32_t c = 0; c < channels; c++) {
            double sum = band->right[i * channels + c];
            for (uint64_t d = 1; d <= reach; d++)
                sum -= band->row[(i + d) * NUM_SPLINE_ORDER + d] * band->right[(i + d) * channels + c];
            band->right[i * channels + c] = sum / band->row[i * NUM_SPLINE_ORDER];
        }
    }
}

bool num_spline_fit(const struct num_spline_grid *grid, const struct num_spline_rows *rows, double lambda,
                    const uint64_t *unknown, double *work, double *control)
{
    uint64_t points = grid->intervals + NUM_SPLINE_ORDER - 1, unknowns = unknown[points - 1] + 1;
    struct band band = {work, work + unknowns * NUM_SPLINE_ORDER, unknowns, rows->channels};
    memset(work, 0, unknowns * (NUM_SPLINE_ORDER + rows->channels) * sizeof *work);
    add_rows(&band, grid, rows, unknown);
    add_penalty(&band, grid, lambda, unknown);
    if (!factorise(&band))
        return false;
    solve(&band);
    for (uint64_t point = 0; point < points; point++)
        memcpy(control + point * rows->channels, band.right + unknown[point] * rows->channels,
               rows->channels * sizeof *control);
    return true;
}
