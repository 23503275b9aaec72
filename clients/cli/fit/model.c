#include "fit/model.h"

#include <math.h>
#include <string.h>

#define PI 3.141592653589793
#define FLOOR (2.0 * 0.6931471805599453 / PI) /* Allan variance of flicker noise of B = 1 */

/* Least relative error of a measured deviation, from drift of temperature, resolution, and lines that are no sines. */
#define MODEL_ERROR 0.02
/* Largest relative error that a weight assumes: long averaging times have few degrees of freedom, but the fit must follow them. */
#define LARGEST_ERROR 0.03

const char *fit_kind_name(enum fit_kind kind)
{
    static const char *const names[FIT_KINDS] = {"N, K", "N, B, K", "N, Gauss-Markov, K"};
    return names[kind];
}

void fit_setup_times(struct fit_setup *setup)
{
    const double first_s = 1.0 / setup->rate_hz, last_s = fmax(setup->tau_max_s, 30.0 * first_s);
    for (int k = 0; k < FIT_MARKOVS; k++) {
        setup->markov_s[k] = first_s * pow(last_s / first_s, (double)k / (FIT_MARKOVS - 1));
    }
}

/* ---- Allan variances of samples, for a square of 1 ---- */

/* Variance of the mean of m samples of a Gauss-Markov process of variance 1; of slow processes the closed form cancels. */
static double markov_mean_variance(double m, double periods)
{
    const double loss = -expm1(-1.0 / periods), all = -expm1(-m / periods), a = 1.0 - loss;
    return m / periods < 1e-3 ? 1.0 - m / (3.0 * periods) : (1.0 + a) / (loss * m) - 2.0 * a * all / (m * m * loss * loss);
}

/*
 * Gauss-Markov of correlation T: half the variance of the difference of two adjacent means of m samples. For short averages
 * of slow processes the closed form cancels, and the process is a walk of variance 2 dt/T a sample.
 */
static double markov_variance(double m, double periods)
{
    const double loss = -expm1(-1.0 / periods), all = -expm1(-m / periods), a = 1.0 - loss;
    if (m / periods < 1e-3) {
        return (2.0 * m * m + 1.0) / (3.0 * m * periods);
    }
    return markov_mean_variance(m, periods) - a * all * all / (m * m * loss * loss);
}

static double walk_variance(double m, double rate_hz)
{
    return (2.0 * m * m + 1.0) / (6.0 * m * rate_hz);
}

/* A sine of amplitude 1 (IEEE Std 952-1997, C.1.5), sampled. */
static double sine_variance(double m, double turns)
{
    const double s = sin(PI * turns * m), one = sin(PI * turns);
    return fabs(one) < 1e-12 ? 0.0 : s * s * s * s / (m * m * one * one);
}

/* ---- models ---- */

/* The floor: a sum of Gauss-Markov processes whose Allan variance is flat over the range. */
struct floor_shape {
    double periods[FIT_MARKOVS], variance[FIT_MARKOVS];
};

static void shape_floor(double from, double to, struct floor_shape *shape)
{
    enum { ROWS = 48 };
    double matrix[ROWS * FIT_MARKOVS], right[ROWS];
    for (int k = 0; k < FIT_MARKOVS; k++) {
        shape->periods[k] = 0.3 * from / 1.893 * pow(to / from / 0.09, (double)k / (FIT_MARKOVS - 1));
    }
    for (int r = 0; r < ROWS; r++) {
        const double m = from * pow(to / from, (double)r / (ROWS - 1));
        right[r] = 1.0;
        for (int k = 0; k < FIT_MARKOVS; k++) {
            matrix[r * FIT_MARKOVS + k] = markov_variance(m, shape->periods[k]) / FLOOR;
        }
    }
    fit_nnls(matrix, right, ROWS, FIT_MARKOVS, shape->variance);
}

static double floor_variance(double m, const struct floor_shape *shape)
{
    double sum = 0.0;
    for (int k = 0; k < FIT_MARKOVS; k++) {
        sum += shape->variance[k] * markov_variance(m, shape->periods[k]);
    }
    return sum;
}

double fit_model_deviation(const struct fit_model *model, double rate_hz, uint64_t samples)
{
    const double m = (double)samples;
    double sum = model->white_u * model->white_u / m + model->walk_u * model->walk_u * walk_variance(m, rate_hz);
    if (model->floor_u > 0.0) {
        struct floor_shape shape;
        shape_floor(model->floor_s[0] * rate_hz, model->floor_s[1] * rate_hz, &shape);
        sum += model->floor_u * model->floor_u * floor_variance(m, &shape);
    }
    for (int k = 0; k < FIT_MARKOVS; k++) {
        if (model->markov_u[k] > 0.0) {
            sum += model->markov_u[k] * model->markov_u[k] * markov_variance(m, model->markov_s[k] * rate_hz);
        }
    }
    for (int k = 0; k < FIT_SINES; k++) {
        if (model->sine_u[k] > 0.0) {
            sum += model->sine_u[k] * model->sine_u[k] * sine_variance(m, model->sine_hz[k] / rate_hz);
        }
    }
    return sqrt(sum);
}

double fit_model_mean_error(const struct fit_model *model, double rate_hz, uint64_t samples)
{
    const double m = (double)samples;
    double sum = model->white_u * model->white_u / m + model->walk_u * model->walk_u * m / rate_hz / 3.0;
    if (model->floor_u > 0.0) {
        struct floor_shape shape;
        shape_floor(model->floor_s[0] * rate_hz, model->floor_s[1] * rate_hz, &shape);
        for (int k = 0; k < FIT_MARKOVS; k++) {
            sum += model->floor_u * model->floor_u * shape.variance[k] * markov_mean_variance(m, shape.periods[k]);
        }
    }
    for (int k = 0; k < FIT_MARKOVS; k++) {
        sum += model->markov_u[k] > 0.0
                   ? model->markov_u[k] * model->markov_u[k] * markov_mean_variance(m, model->markov_s[k] * rate_hz)
                   : 0.0;
    }
    return sqrt(sum);
}

double fit_model_n(const struct fit_model *model, double rate_hz)
{
    double sum = model->white_u * model->white_u;
    for (int k = 0; k < FIT_MARKOVS; k++) {
        if (model->markov_u[k] > 0.0 && model->markov_s[k] <= FIT_FAST_S) {
            /* the sum of the autocovariance σ² a^|lag| over all lags */
            const double loss = -expm1(-1.0 / (model->markov_s[k] * rate_hz));
            sum += model->markov_u[k] * model->markov_u[k] * (2.0 - loss) / loss;
        }
    }
    return sqrt(sum / rate_hz);
}

/* ---- one fit ---- */

/* Columns: white, walk, then floor or processes, then sines. `allowed` has a bit for each column. */
struct design {
    const struct allan_point *points;
    size_t count;
    const struct fit_setup *setup;
    enum fit_kind kind;
    struct floor_shape shape;
    double floor_s[2];
    unsigned allowed;
};

enum { WHITE, WALK, FIRST_MARKOV, FIRST_SINE = FIRST_MARKOV + FIT_MARKOVS };

static double column_variance(const struct design *design, size_t column, double m)
{
    const double rate_hz = design->setup->rate_hz;
    if (column == WHITE) {
        return 1.0 / m;
    }
    if (column == WALK) {
        return walk_variance(m, rate_hz);
    }
    if (column >= FIRST_SINE) {
        return sine_variance(m, design->setup->sine_hz[column - FIRST_SINE] / rate_hz);
    }
    return design->kind == FIT_FLOOR ? floor_variance(m, &design->shape)
                                     : markov_variance(m, design->setup->markov_s[column - FIRST_MARKOV] * rate_hz);
}

/* One over the relative standard error of a point's variance; 0 beyond the fitted range. */
static double weight_of(const struct design *design, const struct allan_point *point)
{
    const double largest = 2.0 * LARGEST_ERROR, model = 2.0 * MODEL_ERROR;
    if (point->tau_s > design->setup->tau_max_s * (1.0 + 1e-9) || !(point->adev > 0.0)) {
        return 0.0;
    }
    return 1.0 / sqrt(model * model + fmin(2.0 / point->edf, largest * largest));
}

static double solve_design(const struct design *design, double squares[FIT_COLUMNS])
{
    double matrix[ALLAN_MAX_POINTS * FIT_COLUMNS], right[ALLAN_MAX_POINTS], chi2 = 0.0;
    for (size_t p = 0; p < design->count; p++) {
        const double variance = design->points[p].adev * design->points[p].adev;
        const double weight = weight_of(design, &design->points[p]);
        right[p] = weight;
        for (size_t c = 0; c < FIT_COLUMNS; c++) {
            matrix[p * FIT_COLUMNS + c] =
                weight > 0.0 && (design->allowed >> c & 1u) != 0
                    ? weight * column_variance(design, c, (double)design->points[p].m) / variance
                    : 0.0;
        }
    }
    fit_nnls(matrix, right, design->count, FIT_COLUMNS, squares);
    for (size_t p = 0; p < design->count; p++) {
        double miss = right[p];
        for (size_t c = 0; c < FIT_COLUMNS; c++) {
            miss -= matrix[p * FIT_COLUMNS + c] * squares[c];
        }
        chi2 += miss * miss;
    }
    return chi2;
}

static uint32_t terms_of(const struct design *design, const double squares[FIT_COLUMNS])
{
    uint32_t terms = 0;
    for (size_t c = 0; c < FIT_COLUMNS; c++) {
        /* a floor also has the two ends of its range, a sine its frequency */
        terms += squares[c] > 0.0 ? (c >= FIRST_SINE ? 2u : c >= FIRST_MARKOV && design->kind == FIT_FLOOR ? 3u : 1u) : 0u;
    }
    return terms;
}

static double criterion(const struct design *design, double chi2, const double squares[FIT_COLUMNS])
{
    return chi2 + terms_of(design, squares) * log((double)design->count);
}

/* Removes terms one by one as long as the information criterion falls. White noise is never removed. */
static double prune(struct design *design, double squares[FIT_COLUMNS])
{
    double chi2 = solve_design(design, squares), best = criterion(design, chi2, squares);
    for (size_t c = WALK; c < FIT_COLUMNS;) {
        struct design less = *design;
        double kept[FIT_COLUMNS];
        less.allowed &= ~(1u << c);
        if (squares[c] > 0.0) {
            const double less_chi2 = solve_design(&less, kept), bic = criterion(&less, less_chi2, kept);
            if (bic < best) {
                *design = less;
                memcpy(squares, kept, sizeof kept);
                best = bic;
                chi2 = less_chi2;
                c = WALK;
                continue;
            }
        }
        c++;
    }
    return chi2;
}

static void take(const struct design *design, const double squares[FIT_COLUMNS], double chi2, struct fit_model *model)
{
    memset(model, 0, sizeof *model);
    model->kind = design->kind;
    model->white_u = sqrt(squares[WHITE]);
    model->walk_u = sqrt(squares[WALK]);
    for (int k = 0; k < FIT_MARKOVS && design->kind == FIT_MARKOV; k++) {
        model->markov_s[k] = design->setup->markov_s[k];
        model->markov_u[k] = sqrt(squares[FIRST_MARKOV + k]);
    }
    if (design->kind == FIT_FLOOR) {
        model->floor_u = sqrt(squares[FIRST_MARKOV]);
        memcpy(model->floor_s, design->floor_s, sizeof model->floor_s);
    }
    for (int k = 0; k < FIT_SINES; k++) {
        model->sine_hz[k] = design->setup->sine_hz[k];
        model->sine_u[k] = sqrt(squares[FIRST_SINE + k]);
    }
    model->terms = terms_of(design, squares);
    model->chi2 = chi2;
    model->bic = criterion(design, chi2, squares);
    for (size_t p = 0; p < design->count; p++) {
        const struct allan_point *point = &design->points[p];
        const double miss = fit_model_deviation(model, design->setup->rate_hz, point->m) / point->adev - 1.0;
        if (weight_of(design, point) > 0.0 && point->m > 1 && fabs(miss) > fabs(model->worst)) {
            model->worst = miss;
            model->worst_s = point->tau_s;
        }
    }
}

static struct design design_of(const struct allan_point *points, size_t count, const struct fit_setup *setup,
                               enum fit_kind kind)
{
    struct design design = {.points = points, .count = count, .setup = setup, .kind = kind,
                            .allowed = 1u << WHITE | 1u << WALK};
    for (int k = 0; k < FIT_SINES; k++) {
        design.allowed |= setup->sine_hz[k] > 0.0 ? 1u << (FIRST_SINE + k) : 0u;
    }
    design.allowed |= kind == FIT_FLOOR ? 1u << FIRST_MARKOV : 0u;
    design.allowed |= kind == FIT_MARKOV ? ((1u << FIT_MARKOVS) - 1u) << FIRST_MARKOV : 0u;
    return design;
}

/* Fits the floor with each range of whole decades, and stores the best fit. */
static void fit_floor(const struct allan_point *points, size_t count, const struct fit_setup *setup,
                      struct fit_model *best)
{
    const double least_s = 10.0 / setup->rate_hz, most_s = setup->tau_max_s;
    best->bic = INFINITY;
    for (double from_s = fmax(least_s, 0.1); from_s < most_s; from_s *= 10.0) {
        for (double to_s = 10.0 * from_s; to_s < 100.0 * most_s; to_s *= 10.0) {
            struct design design = design_of(points, count, setup, FIT_FLOOR);
            double squares[FIT_COLUMNS];
            struct fit_model model;
            design.floor_s[0] = from_s;
            design.floor_s[1] = to_s;
            shape_floor(from_s * setup->rate_hz, to_s * setup->rate_hz, &design.shape);
            const double chi2 = prune(&design, squares);
            take(&design, squares, chi2, &model);
            *best = model.bic < best->bic ? model : *best;
        }
    }
}

void fit_model_of(const struct allan_point *points, size_t count, const struct fit_setup *setup, enum fit_kind kind,
                  struct fit_model *model)
{
    if (kind == FIT_FLOOR) {
        fit_floor(points, count, setup, model);
        return;
    }
    struct design design = design_of(points, count, setup, kind);
    double squares[FIT_COLUMNS];
    const double chi2 = prune(&design, squares);
    take(&design, squares, chi2, model);
}

enum fit_kind fit_models(const struct allan_point *points, size_t count, const struct fit_setup *setup,
                         struct fit_model models[FIT_KINDS])
{
    enum fit_kind best = FIT_WALK;
    for (int kind = 0; kind < FIT_KINDS; kind++) {
        fit_model_of(points, count, setup, (enum fit_kind)kind, &models[kind]);
        best = models[kind].bic < models[best].bic ? (enum fit_kind)kind : best;
    }
    return best;
}
