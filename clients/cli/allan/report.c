/* Prints the result of `otolith allan`. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "json.h"

#define DEG (180.0 / 3.14159265358979323846)
#define G0 9.80665

/* A curve is known where its points have at least KNOWN_EDF degrees of freedom. There a fit may deviate from it by TOLERATED. */
#define KNOWN_EDF 20.0
#define TOLERATED 0.05

/* The columns of otolith's recordings: their SI units, and the units and factors that data sheets use for N, B and K. */
static const struct unit {
    const char *prefix;
    const char *unit, *n_unit, *k_unit;
    struct {
        double factor;
        const char *unit;
    } n, b, k;
} units[] = {
    {"angular_velocity", "rad/s", "rad/√s", "rad/s/√s", {60 * DEG, "°/√h"}, {3600 * DEG, "°/h"}, {216000 * DEG, "°/h/√h"}},
    {"angular_rate", "rad/s", "rad/√s", "rad/s/√s", {60 * DEG, "°/√h"}, {3600 * DEG, "°/h"}, {216000 * DEG, "°/h/√h"}},
    {"linear_acceleration", "m/s²", "m/s/√s", "m/s²/√s", {60, "m/s/√h"}, {1e6 / G0, "µg"}, {1e6 / G0, "µg/√s"}},
    {"specific_force", "m/s²", "m/s/√s", "m/s²/√s", {60, "m/s/√h"}, {1e6 / G0, "µg"}, {1e6 / G0, "µg/√s"}},
    {"magnetic_field", "T", "T√s", "T/√s", {1e9, "nT√s"}, {1e9, "nT"}, {1e9, "nT/√s"}},
    {"mag_field", "µT", "µT√s", "µT/√s", {1e3, "nT√s"}, {1e3, "nT"}, {1e3, "nT/√s"}},
};

/* NULL: the table has no prefix of this column's name. */
static const struct unit *unit_of(const char *column)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strncmp(column, units[i].prefix, strlen(units[i].prefix)) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

static void put_array(struct oto_json *json, const char *name, const struct allan_column *column, size_t offset)
{
    oto_json_open(json, name, '[');
    for (size_t i = 0; i < column->count; i++) {
        double value;
        memcpy(&value, (const char *)&column->points[i] + offset, sizeof value);
        oto_json_number(json, NULL, value);
    }
    oto_json_close(json, ']');
}

static void put_judgement(struct oto_json *json, const struct allan_column *column)
{
    const struct unit *unit = unit_of(column->name);
    oto_json_text(json, "unit", unit != NULL ? unit->unit : "");
    oto_json_flag(json, "fits", !column->is_off);
    oto_json_number(json, "worst", column->worst);
    oto_json_open(json, "gauss_markov", '[');
    for (int k = 0; k < FIT_MARKOVS && column->is_off; k++) {
        if (column->model.markov_u[k] > 0.0) {
            oto_json_numbers(json, NULL, (double[]){column->model.markov_s[k], column->model.markov_u[k]}, 2);
        }
    }
    oto_json_close(json, ']');
}

void allan_print_json(const struct allan_column *columns, uint32_t count, bool constants)
{
    struct oto_json json = {.to = stdout};
    oto_json_open(&json, NULL, '{');
    oto_json_open(&json, "columns", '{');
    for (uint32_t i = 0; i < count; i++) {
        const struct allan_column *column = &columns[i];
        if (column->count == 0 && !constants) {
            continue;
        }
        oto_json_open(&json, column->name, '{');
        put_array(&json, "tau_s", column, offsetof(struct allan_point, tau_s));
        put_array(&json, "adev", column, offsetof(struct allan_point, adev));
        put_array(&json, "lo", column, offsetof(struct allan_point, lo));
        put_array(&json, "hi", column, offsetof(struct allan_point, hi));
        const struct {
            const char *name;
            double value;
        } fits[] = {{"N", column->fit.n}, {"B", column->fit.b}, {"K", column->fit.k}, {"Q", column->fit.q},
                    {"R", column->fit.r}, {"N_se", column->fit.n_se}, {"B_se", column->fit.b_se},
                    {"K_se", column->fit.k_se}, {"chi2", column->fit.chi2}};
        for (size_t k = 0; k < sizeof fits / sizeof *fits; k++) {
            oto_json_number(&json, fits[k].name, fits[k].value);
        }
        put_judgement(&json, column);
        oto_json_close(&json, '}');
    }
    oto_json_close(&json, '}');
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

void allan_judge(struct allan_column *column, const struct allan_fit_options *options)
{
    const double tau_max_s = options->tau_max_s > 0.0 ? options->tau_max_s : INFINITY;
    uint32_t beyond = 0;
    column->worst = column->worst_s = 0.0;
    for (size_t p = 0; p < column->count; p++) {
        const struct allan_point *point = &column->points[p];
        const double model = allan_model(&column->fit, point->tau_s), miss = model / point->adev - 1.0;
        if (point->tau_s < options->tau_min_s || point->tau_s > tau_max_s || point->edf < KNOWN_EDF) {
            continue;
        }
        beyond += fabs(miss) > TOLERATED && (model < point->lo || model > point->hi);
        if (fabs(miss) > fabs(column->worst)) {
            column->worst = miss;
            column->worst_s = point->tau_s;
        }
    }
    column->is_off = beyond >= 2;
    if (column->is_off) {
        struct fit_setup setup = {.rate_hz = (double)column->points[0].m / column->points[0].tau_s,
                                  .tau_max_s = fmin(tau_max_s, column->points[column->count - 1].tau_s / 3.0)};
        fit_setup_times(&setup);
        fit_model_of(column->points, column->count, &setup, FIT_MARKOV, &column->model);
    }
}

static void print_coefficient(const char *name, double value, double error, const char *unit, double factor, const char *field)
{
    (void)printf("  %-24s %.6g", name, value);
    if (isfinite(error)) {
        (void)printf(" +- %.2g", error);
    }
    (void)printf(" %s", unit);
    if (field != NULL) {
        (void)printf(" = %.4g %s", value * factor, field);
    }
    (void)fputc('\n', stdout);
}

static void print_coefficients(const struct allan_column *column)
{
    static const struct unit none = {.unit = "unit", .n_unit = "unit*sqrt(s)", .k_unit = "unit/sqrt(s)"};
    const struct unit *unit = unit_of(column->name) != NULL ? unit_of(column->name) : &none;
    const struct allan_fit *fit = &column->fit;
    char text[48];
    print_coefficient("N (random walk)", fit->n, fit->n_se, unit->n_unit, unit->n.factor, unit->n.unit);
    print_coefficient("B (bias instability)", fit->b, fit->b_se, unit->unit, unit->b.factor, unit->b.unit);
    print_coefficient("K (rate random walk)", fit->k, fit->k_se, unit->k_unit, unit->k.factor, unit->k.unit);
    (void)snprintf(text, sizeof text, "%s*s", unit->unit);
    print_coefficient("Q (quantisation)", fit->q, NAN, text, 0.0, NULL);
    (void)snprintf(text, sizeof text, "%s/s", unit->unit);
    print_coefficient("R (ramp)", fit->r, NAN, text, 0.0, NULL);
    const struct allan_point *lowest = allan_lowest(column->points, column->count, allan_count(column->allan));
    (void)snprintf(text, sizeof text, "lowest at %.4g s", lowest->tau_s);
    print_coefficient(text, lowest->adev, NAN, unit->unit, unit->b.factor, unit->b.unit);
}

static void print_model(const struct allan_column *column)
{
    const struct unit *unit = unit_of(column->name);
    const double rate_hz = (double)column->points[0].m / column->points[0].tau_s;
    (void)printf("  the terms do not fit: at %.3g s they are %.0f %% %s the curve; with correlated noise, within %.0f %% "
                 "(otolith fit finds periodic noise too):\n",
                 column->worst_s, 100.0 * fabs(column->worst), column->worst > 0.0 ? "above" : "below",
                 100.0 * fabs(column->model.worst));
    print_coefficient("  N", fit_model_n(&column->model, rate_hz), NAN, unit != NULL ? unit->n_unit : "unit*sqrt(s)",
                      unit != NULL ? unit->n.factor : 0.0, unit != NULL ? unit->n.unit : NULL);
    if (column->model.walk_u > 0.0) {
        print_coefficient("  K", column->model.walk_u, NAN, unit != NULL ? unit->k_unit : "unit/sqrt(s)",
                          unit != NULL ? unit->k.factor : 0.0, unit != NULL ? unit->k.unit : NULL);
    }
    for (int k = 0; k < FIT_MARKOVS; k++) {
        if (column->model.markov_u[k] > 0.0) {
            char text[48];
            (void)snprintf(text, sizeof text, "  Gauss-Markov, %.3g s", column->model.markov_s[k]);
            print_coefficient(text, column->model.markov_u[k], NAN, unit != NULL ? unit->unit : "unit",
                              unit != NULL ? unit->b.factor : 0.0, unit != NULL ? unit->b.unit : NULL);
        }
    }
}

void allan_print_text(const struct allan_column *columns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct allan_column *column = &columns[i];
        if (column->count == 0) {
            continue;
        }
        (void)printf("%s: %" PRIu64 " samples\n", column->name, allan_count(column->allan));
        print_coefficients(column);
        if (column->is_off) {
            print_model(column);
        }
        (void)printf("  %-24s %.3g\n  %12s %12s %12s %12s\n", "fit: chi2 per point", column->fit.chi2, "tau_s", "adev", "lo 95%",
                     "hi 95%");
        for (size_t k = 0; k < column->count; k++) {
            const struct allan_point *point = &column->points[k];
            (void)printf("  %12.6g %12.6g %12.6g %12.6g\n", point->tau_s, point->adev, point->lo, point->hi);
        }
    }
}
