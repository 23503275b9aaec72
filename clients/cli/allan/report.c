/* The result of `otolith allan` on standard output. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "json.h"

static void print_array(const char *name, const struct allan_column *column, size_t offset)
{
    (void)printf("\"%s\": [", name);
    for (size_t i = 0; i < column->count; i++) {
        double value;
        memcpy(&value, (const char *)&column->points[i] + offset, sizeof value);
        (void)fputs(i > 0 ? ", " : "", stdout);
        json_double(stdout, value);
    }
    (void)printf("], ");
}

void allan_print_json(const struct allan_column *columns, uint32_t count, bool constants)
{
    bool first = true;
    (void)printf("{\"columns\": {");
    for (uint32_t i = 0; i < count; i++) {
        const struct allan_column *column = &columns[i];
        if (column->count == 0 && !constants) {
            continue;
        }
        (void)printf("%s", first ? "" : ", ");
        first = false;
        json_text(stdout, column->name);
        (void)printf(": {");
        print_array("tau_s", column, offsetof(struct allan_point, tau_s));
        print_array("adev", column, offsetof(struct allan_point, adev));
        print_array("lo", column, offsetof(struct allan_point, lo));
        print_array("hi", column, offsetof(struct allan_point, hi));
        const struct {
            const char *name;
            double value;
        } fits[] = {{"N", column->fit.n}, {"B", column->fit.b}, {"K", column->fit.k}, {"Q", column->fit.q},
                    {"R", column->fit.r}, {"N_se", column->fit.n_se}, {"B_se", column->fit.b_se},
                    {"K_se", column->fit.k_se}, {"chi2", column->fit.chi2}};
        for (size_t k = 0; k < sizeof fits / sizeof *fits; k++) {
            (void)printf("%s\"%s\": ", k > 0 ? ", " : "", fits[k].name);
            json_double(stdout, fits[k].value);
        }
        (void)printf("}");
    }
    (void)printf("}}\n");
}

static void print_coefficient(const char *name, double value, double error, const char *unit)
{
    (void)printf("  %-24s %.6g", name, value);
    if (isfinite(error)) {
        (void)printf(" +- %.2g", error);
    }
    (void)printf(" %s\n", unit);
}

void allan_print_text(const struct allan_column *columns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct allan_column *column = &columns[i];
        if (column->count == 0) {
            continue;
        }
        const struct allan_fit *fit = &column->fit;
        (void)printf("%s: %" PRIu64 " samples\n", column->name, allan_count(column->allan));
        print_coefficient("N (random walk)", fit->n, fit->n_se, "unit*sqrt(s)");
        print_coefficient("B (bias instability)", fit->b, fit->b_se, "unit");
        print_coefficient("K (rate random walk)", fit->k, fit->k_se, "unit/sqrt(s)");
        print_coefficient("Q (quantisation)", fit->q, NAN, "unit*s");
        print_coefficient("R (ramp)", fit->r, NAN, "unit/s");
        (void)printf("  %-24s %.3g\n  %12s %12s %12s %12s\n", "fit: chi2 per point", fit->chi2, "tau_s", "adev", "lo 95%",
                     "hi 95%");
        for (size_t k = 0; k < column->count; k++) {
            const struct allan_point *point = &column->points[k];
            (void)printf("  %12.6g %12.6g %12.6g %12.6g\n", point->tau_s, point->adev, point->lo, point->hi);
        }
    }
}
