/* The results of a fit, as text and as JSON. */
#include <inttypes.h>
#include <math.h>

#include "fit/calibrate.h"
#include "json.h"

#define DEG (180.0 / 3.14159265358979323846)
#define G0 9.80665
#define FLOOR 0.66428247026796006
/* A relative difference of two deviations below this, the error of the model, always counts as agreement. */
#define AGREES 0.02
#define QUANTILE_95 1.96

const struct fit_units *fit_units_of(enum oto_part_triad triad)
{
    static const struct fit_units units[OTO_PART_TRIADS] = {
        {60.0, 1e6 / G0, 1e6 / G0, "m/s/√h", "µg", "µg/√s"},
        {60.0 * DEG, 3600.0 * DEG, 216000.0 * DEG, "°/√h", "°/h", "°/h/√h"},
        {1e3, 1e3, 1e3, "nT√s", "nT", "nT/√s"},
    };
    return &units[triad];
}

/* The ratio of simulated to measured deviation, minus one. */
static double miss_at(const struct fit_axis *axis, size_t p)
{
    return sqrt(axis->simulated_u2[p]) / axis->points[p].adev - 1.0;
}

static bool is_compared(const struct fit_log *log, const struct fit_axis *axis, size_t p)
{
    return axis->points[p].m >= 2 && axis->points[p].tau_s <= log->tau_max_s * (1.0 + 1e-9);
}

/* Whether the 95 % intervals of log and simulation overlap. */
static bool agrees(const struct fit_axis *axis, size_t p)
{
    const double half = QUANTILE_95 * axis->spread_u2[p];
    const double low = sqrt(fmax(axis->simulated_u2[p] - half, 0.0)), high = sqrt(axis->simulated_u2[p] + half);
    return fabs(miss_at(axis, p)) <= AGREES || (low <= axis->points[p].hi && high >= axis->points[p].lo);
}

static double worst_miss(const struct fit_log *log, const struct fit_axis *axis, double *tau_s)
{
    double worst = 0.0;
    *tau_s = 0.0;
    for (size_t p = 0; p < axis->count; p++) {
        if (is_compared(log, axis, p) && fabs(miss_at(axis, p)) > fabs(worst)) {
            worst = miss_at(axis, p);
            *tau_s = axis->points[p].tau_s;
        }
    }
    return worst;
}

static void put_value(FILE *to, const char *name, double value, double error, const char *unit)
{
    (void)fprintf(to, "    %-26s %.4g %s", name, value, unit);
    if (isfinite(error)) {
        (void)fprintf(to, " ± %.2g %%", 100.0 * error);
    }
    (void)fputc('\n', to);
}

static bool axis_fits(const struct fit_log *log, const struct fit_axis *axis)
{
    bool fits = true;
    for (size_t p = 0; p < axis->count; p++) {
        fits = fits && (!is_compared(log, axis, p) || agrees(axis, p));
    }
    return fits;
}

bool fit_agrees(const struct fit_log *log)
{
    bool fits = true;
    for (int i = 0; i < 3 * OTO_PART_TRIADS; i++) {
        const struct fit_triad *triad = &log->triads[i / 3];
        fits = fits && (!triad->is_there || axis_fits(log, &triad->axes[i % 3]));
    }
    return fits;
}

/* One sentence for each range of averaging times that does not agree. */
static void put_disagreement(FILE *to, const struct fit_log *log, const struct fit_axis *axis)
{
    for (size_t p = 0; p < axis->count; p++) {
        double worst = 0.0;
        const size_t from = p;
        for (; p < axis->count && is_compared(log, axis, p) && !agrees(axis, p); p++) {
            worst = fabs(miss_at(axis, p)) > fabs(worst) ? miss_at(axis, p) : worst;
        }
        if (p > from) {
            (void)fprintf(to, "    does not fit from %.3g s to %.3g s: the simulated deviation is up to %.1f %% %s the log's\n",
                          axis->points[from].tau_s, axis->points[p - 1].tau_s, 100.0 * fabs(worst),
                          worst > 0.0 ? "above" : "below");
        }
    }
}

static void put_terms(FILE *to, const struct fit_log *log, const struct fit_triad *triad, const struct fit_axis *axis)
{
    const struct fit_units *units = fit_units_of(triad->id);
    const struct fit_model *model = &axis->model;
    const char *unit = oto_part_triad_unit(triad->id);
    char name[64];
    put_value(to, "N", fit_model_n(model, log->rate_hz) * units->n_factor, axis->n_error, units->n_unit);
    if (model->walk_u > 0.0) {
        put_value(to, "K", model->walk_u * units->k_factor, axis->walk_error, units->k_unit);
    }
    if (model->floor_u > 0.0) {
        (void)snprintf(name, sizeof name, "B, %g s to %g s", model->floor_s[0], model->floor_s[1]);
        put_value(to, name, model->floor_u * units->b_factor, axis->floor_error, units->b_unit);
    }
    for (int k = 0; k < FIT_MARKOVS; k++) {
        if (model->markov_u[k] > 0.0) {
            (void)snprintf(name, sizeof name, "Gauss-Markov, %.3g s", model->markov_s[k]);
            put_value(to, name, model->markov_u[k], axis->markov_error[k], unit);
        }
    }
    for (int k = 0; k < FIT_SINES; k++) {
        if (model->sine_u[k] > 0.0) {
            (void)snprintf(name, sizeof name, "sine, %.4g Hz", model->sine_hz[k]);
            put_value(to, name, model->sine_u[k], axis->sine_error[k], unit);
        }
    }
}

/* The lowest point of the measured curve, as data sheets give it. */
static void put_lowest(FILE *to, const struct fit_log *log, const struct fit_triad *triad, const struct fit_axis *axis)
{
    const struct fit_units *units = fit_units_of(triad->id);
    const struct allan_point *lowest = allan_lowest(axis->points, axis->count, log->rows);
    (void)fprintf(to, "    %-26s %.4g %s at %.3g s (B = %.4g %s)\n", "lowest deviation", lowest->adev * units->b_factor, units->b_unit,
                  lowest->tau_s, lowest->adev / FLOOR * units->b_factor, units->b_unit);
}

static void put_triad(FILE *to, const struct fit_log *log, const struct fit_triad *triad)
{
    (void)fprintf(to, "%s: model %s", oto_part_triad_name(triad->id), fit_kind_name(triad->kind));
    for (int kind = 0; kind < FIT_KINDS; kind++) {
        double bic = 0.0;
        for (int i = 0; i < 3; i++) {
            bic += triad->axes[i].models[kind].bic;
        }
        (void)fprintf(to, "%s%s %.0f", kind == 0 ? "   (BIC: " : "; ", fit_kind_name((enum fit_kind)kind), bic);
    }
    (void)fprintf(to, ")\n");
    if (triad->resolution_u > 0.0) {
        (void)fprintf(to, "  resolution %.4g %s\n", triad->resolution_u, oto_part_triad_unit(triad->id));
    }
    for (int i = 0; i < 3; i++) {
        const struct fit_axis *axis = &triad->axes[i];
        double tau_s;
        (void)fprintf(to, "  %s, mean %.4g ± %.2g %s\n", axis->column, axis->mean_u,
                      fit_model_mean_error(&axis->model, log->rate_hz, log->rows), oto_part_triad_unit(triad->id));
        put_terms(to, log, triad, axis);
        put_lowest(to, log, triad, axis);
        const double worst = worst_miss(log, axis, &tau_s);
        (void)fprintf(to, "    %-26s within %.1f %% of the log from %.3g s to %.3g s (worst at %.3g s); its expectation %.1f %%\n",
                      "simulated deviation", 100.0 * fabs(worst), 2.0 / log->rate_hz, log->tau_max_s, tau_s,
                      100.0 * fabs(axis->model.worst));
        put_disagreement(to, log, axis);
    }
}

void fit_report(FILE *to, const struct fit_log *log)
{
    (void)fprintf(to, "%s: %" PRIu64 " samples at %.10g Hz\n", log->path, log->rows, log->rate_hz);
    for (int id = 0; id < OTO_PART_TRIADS; id++) {
        if (log->triads[id].is_there) {
            put_triad(to, log, &log->triads[id]);
        }
    }
}

/* ---- JSON ---- */

static void put_series(struct oto_json *json, const char *key, const double *at, const double *values, const double *errors, size_t count)
{
    oto_json_open(json, key, '[');
    for (size_t k = 0; k < count; k++) {
        if (values[k] > 0.0) {
            oto_json_numbers(json, NULL, (double[]){at[k], values[k], errors[k]}, 3);
        }
    }
    oto_json_close(json, ']');
}

static void put_points(struct oto_json *json, const struct fit_axis *axis)
{
    static const char *const keys[] = {"tau_s", "adev", "simulated"};
    for (int column = 0; column < 3; column++) {
        oto_json_open(json, keys[column], '[');
        for (size_t p = 0; p < axis->count; p++) {
            oto_json_number(json, NULL, column == 0   ? axis->points[p].tau_s
                                        : column == 1 ? axis->points[p].adev
                                                      : sqrt(axis->simulated_u2[p]));
        }
        oto_json_close(json, ']');
    }
}

static void put_axis_json(struct oto_json *json, const struct fit_log *log, const struct fit_triad *triad, const struct fit_axis *axis)
{
    const struct {
        const char *key;
        double value;
    } members[] = {{"mean", axis->mean_u}, {"mean_error", fit_model_mean_error(&axis->model, log->rate_hz, log->rows)},
                   {"resolution", triad->resolution_u}, {"N", fit_model_n(&axis->model, log->rate_hz)}, {"N_relative_error", axis->n_error},
                   {"white", axis->model.white_u},
                   {"K", axis->model.walk_u}, {"K_relative_error", axis->walk_error}, {"B", axis->model.floor_u},
                   {"B_relative_error", axis->floor_error},
                   {"B_from_s", axis->model.floor_s[0]}, {"B_to_s", axis->model.floor_s[1]}, {"chi2", axis->model.chi2}};
    double tau_s;
    oto_json_open(json, axis->column, '{');
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        oto_json_number(json, members[i].key, members[i].value);
    }
    put_series(json, "gauss_markov", axis->model.markov_s, axis->model.markov_u, axis->markov_error, FIT_MARKOVS);
    put_series(json, "sine", axis->model.sine_hz, axis->model.sine_u, axis->sine_error, FIT_SINES);
    oto_json_flag(json, "fits", axis_fits(log, axis));
    oto_json_number(json, "worst", worst_miss(log, axis, &tau_s));
    oto_json_number(json, "expected_worst", axis->model.worst);
    oto_json_number(json, "worst_tau_s", tau_s);
    put_points(json, axis);
    oto_json_close(json, '}');
}

void fit_report_json(FILE *to, const struct fit_log *log, const struct fit_calibration *calibration)
{
    struct oto_json json = {.to = to};
    oto_json_open(&json, NULL, '{');
    oto_json_u64(&json, "samples", log->rows);
    oto_json_number(&json, "rate_hz", log->rate_hz);
    oto_json_open(&json, "columns", '{');
    for (int i = 0; i < 3 * OTO_PART_TRIADS; i++) {
        const struct fit_triad *triad = &log->triads[i / 3];
        if (triad->is_there) {
            put_axis_json(&json, log, triad, &triad->axes[i % 3]);
        }
    }
    oto_json_close(&json, '}');
    oto_json_flag(&json, "fits", fit_agrees(log));
    fit_calibration_json(&json, "calibration", calibration);
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}
