/*
 * The fitted part, simulated by its plugin: the mean deviation of several runs as long as the log, and, from fits of the same
 * kind to each run, the standard errors of the terms (a parametric bootstrap).
 */
#include <math.h>
#include <stdlib.h>

#include "fit/fit.h"
#include "fit/rest.h"

enum { POINTS_PER_DECADE = 10 };

/* Sum and sum of squares of a number over the runs. */
struct moments {
    double sum, square;
    uint32_t count;
};

static void add(struct moments *moments, double value)
{
    moments->sum += value;
    moments->square += value * value;
    moments->count++;
}

static double deviation_of(const struct moments *moments)
{
    const double n = moments->count, mean = moments->sum / n;
    return n > 1 ? sqrt(fmax(moments->square / n - mean * mean, 0.0) * n / (n - 1)) : NAN;
}

struct axis_moments {
    struct moments variance[ALLAN_MAX_POINTS], n, walk, floor, markov[FIT_MARKOVS], sine[FIT_SINES];
};

static enum oto_status simulate_run(const struct fit_log *log, const struct rest_setup *setup,
                                    struct allan *allan[REST_AXES], struct oto_error *error)
{
    struct rest rest;
    double axes[REST_AXES];
    enum oto_status status = rest_open(&rest, setup, error);
    for (uint64_t n = 0; n < log->rows && status == OTO_OK; n++) {
        if (!rest_sample(&rest, axes)) {
            status = oto_fail(error, OTO_PLUGIN, "plugin '%s' discarded a sample of the fitted part", setup->plugin);
        }
        for (int i = 0; i < REST_AXES && status == OTO_OK; i++) {
            status = allan[i] == NULL ? OTO_OK : allan_add(allan[i], &axes[i], 1);
        }
    }
    rest_close(&rest);
    return status;
}

static void take_axis(const struct fit_log *log, const struct fit_triad *triad, struct allan *allan,
                      struct axis_moments *moments)
{
    struct allan_point points[ALLAN_MAX_POINTS];
    struct allan_fit fit;
    struct fit_model model;
    const size_t count = allan_points(allan, log->rate_hz, points, ALLAN_MAX_POINTS);
    allan_fit(points, count, log->rows, NULL, &fit);
    fit_model_of(points, count, &triad->setup, triad->kind, &model);
    for (size_t p = 0; p < count; p++) {
        add(&moments->variance[p], points[p].adev * points[p].adev);
    }
    add(&moments->n, fit_model_n(&model, log->rate_hz));
    add(&moments->walk, model.walk_u);
    add(&moments->floor, model.floor_u);
    for (int k = 0; k < FIT_MARKOVS; k++) {
        add(&moments->markov[k], model.markov_u[k]);
    }
    for (int k = 0; k < FIT_SINES; k++) {
        add(&moments->sine[k], model.sine_u[k]);
    }
}

static void close_axis(struct fit_axis *axis, double rate_hz, const struct axis_moments *moments)
{
    for (size_t p = 0; p < axis->count; p++) {
        axis->simulated_u2[p] = moments->variance[p].sum / moments->variance[p].count;
        axis->spread_u2[p] = deviation_of(&moments->variance[p]) / sqrt(moments->variance[p].count);
    }
    axis->n_error = deviation_of(&moments->n) / fit_model_n(&axis->model, rate_hz);
    axis->walk_error = axis->model.walk_u > 0.0 ? deviation_of(&moments->walk) / axis->model.walk_u : (double)NAN;
    axis->floor_error = axis->model.floor_u > 0.0 ? deviation_of(&moments->floor) / axis->model.floor_u : (double)NAN;
    for (int k = 0; k < FIT_MARKOVS; k++) {
        axis->markov_error[k] =
            axis->model.markov_u[k] > 0.0 ? deviation_of(&moments->markov[k]) / axis->model.markov_u[k] : (double)NAN;
    }
    for (int k = 0; k < FIT_SINES; k++) {
        axis->sine_error[k] =
            axis->model.sine_u[k] > 0.0 ? deviation_of(&moments->sine[k]) / axis->model.sine_u[k] : (double)NAN;
    }
}

static enum oto_status run_once(struct fit_log *log, const struct rest_setup *setup, struct axis_moments *moments,
                                struct oto_error *error)
{
    struct allan *allan[REST_AXES] = {NULL};
    enum oto_status status = OTO_OK;
    for (int i = 0; i < REST_AXES && status == OTO_OK; i++) {
        if (log->triads[i / 3].is_there) {
            allan[i] = allan_create(POINTS_PER_DECADE);
            status = allan[i] != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "out of memory");
        }
    }
    if (status == OTO_OK) {
        status = simulate_run(log, setup, allan, error);
    }
    for (int i = 0; i < REST_AXES; i++) {
        if (status == OTO_OK && allan[i] != NULL) {
            take_axis(log, &log->triads[i / 3], allan[i], &moments[i]);
        }
        allan_destroy(allan[i]);
    }
    return status;
}

enum oto_status fit_log_simulate(struct fit_log *log, const char *plugin, const char *part_path, uint32_t runs,
                                 struct oto_error *error)
{
    struct axis_moments *moments = calloc(REST_AXES, sizeof *moments);
    struct oto_part *part = NULL;
    enum oto_status status =
        moments != NULL ? oto_part_read(part_path, &part, error) : oto_fail(error, OTO_NO_MEMORY, "out of memory");
    for (uint32_t run = 0; run < runs && status == OTO_OK; run++) {
        const struct rest_setup setup = {.plugin = plugin, .part = part, .mode = &part->modes[0], .rate_hz = log->rate_hz,
                                         .seed = 1000 + run};
        status = run_once(log, &setup, moments, error);
    }
    for (int i = 0; i < REST_AXES && status == OTO_OK; i++) {
        if (log->triads[i / 3].is_there) {
            close_axis(&log->triads[i / 3].axes[i % 3], log->rate_hz, &moments[i]);
        }
    }
    oto_part_close(part);
    free(moments);
    return status;
}
