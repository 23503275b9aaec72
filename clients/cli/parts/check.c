/*
 * Simulates a part at rest and compares the samples with the part's document: N, the rms of a sample, and the lowest point of the
 * Allan deviation. The mean of the three axes is compared; seeds are fixed, so the table is the same on every machine.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allan/allan.h"
#include "fit/rest.h"
#include "parts.h"

#define DEG (180.0 / 3.14159265358979323846)
#define G0 9.80665
#define RT2 1.41421356237309504880
#define ACCEPTED 0.05

/* The first run is at the part's rate, for white noise; the second at 1 Hz, for the floor of averaging times to hours. */
enum { WHITE_SAMPLES = 200000, FLOOR_SAMPLES = 400000, POINTS_PER_DECADE = 10 };
#define DEFAULT_RATE_HZ 100.0
#define FLOOR_FROM_S 20.0
#define FLOOR_TO_S 20000.0

enum quantity { N, RMS, STABILITY, QUANTITIES };

/* The unit in which data sheets give each quantity, and the factor from the unit of the triad. */
static const struct {
    const char *name;
    struct {
        double factor;
        const char *unit;
    } units[OTO_PART_TRIADS];
} quantities[QUANTITIES] = {
    {"N", {{60.0, "m/s/√h"}, {60.0 * DEG, "°/√h"}, {1e3, "nT√s"}}},
    {"noise rms", {{1e3 / G0, "mg"}, {DEG, "°/s"}, {1.0, "µT"}}},
    {"in-run bias stability", {{1e6 / G0, "µg"}, {3600.0 * DEG, "°/h"}, {1e3, "nT"}}},
};

struct measured {
    double n[REST_AXES], rms[REST_AXES], b[REST_AXES];
};

static enum oto_status run_at_rest(const struct rest_setup *setup, uint32_t samples, const struct allan_fit_options *options,
                                   struct allan_fit fits[REST_AXES], double *rms, struct oto_error *error)
{
    struct allan *allan[REST_AXES] = {NULL};
    double sum[REST_AXES] = {0}, square[REST_AXES] = {0}, axes[REST_AXES];
    struct rest rest;
    enum oto_status status = rest_open(&rest, setup, error);
    for (int i = 0; i < REST_AXES && status == OTO_OK; i++) {
        allan[i] = allan_create(POINTS_PER_DECADE);
        status = allan[i] != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    for (uint32_t n = 0; n < samples && status == OTO_OK; n++) {
        status = rest_sample(&rest, axes) ? OTO_OK : oto_fail(error, OTO_PLUGIN, "the sensor discarded sample %u", n + 1);
        for (int i = 0; i < REST_AXES && status == OTO_OK; i++) {
            sum[i] += axes[i];
            square[i] += axes[i] * axes[i];
            status = allan_add(allan[i], &axes[i], 1);
        }
    }
    for (int i = 0; i < REST_AXES && status == OTO_OK; i++) {
        struct allan_point points[ALLAN_MAX_POINTS];
        const size_t count = allan_points(allan[i], setup->rate_hz, points, ALLAN_MAX_POINTS);
        allan_fit(points, count, samples, options, &fits[i]);
        rms[i] = sqrt(fmax(square[i] / samples - sum[i] / samples * (sum[i] / samples), 0.0));
    }
    for (int i = 0; i < REST_AXES; i++) {
        allan_destroy(allan[i]);
    }
    rest_close(&rest);
    return status;
}

static enum oto_status measure(const struct oto_part *part, const struct oto_part_mode *mode, struct measured *measured,
                               struct oto_error *error)
{
    struct rest_setup setup = {.plugin = part->is_imu ? "mems_imu" : "magnetometer", .part = part, .mode = mode,
                               .rate_hz = mode->output_rate_hz > 0 ? mode->output_rate_hz : DEFAULT_RATE_HZ, .seed = 1,
                               .is_exact = true};
    struct allan_fit white[REST_AXES], floors[REST_AXES];
    double ignored[REST_AXES];
    enum oto_status status = run_at_rest(&setup, WHITE_SAMPLES, &(struct allan_fit_options){.terms = ALLAN_N | ALLAN_B},
                                         white, measured->rms, error);
    setup.rate_hz = 1.0;
    if (status == OTO_OK) {
        status = run_at_rest(&setup, FLOOR_SAMPLES,
                             &(struct allan_fit_options){FLOOR_FROM_S, FLOOR_TO_S, ALLAN_N | ALLAN_B}, floors, ignored,
                             error);
    }
    for (int i = 0; i < REST_AXES && status == OTO_OK; i++) {
        measured->n[i] = white[i].n;
        measured->b[i] = floors[i].b;
    }
    return status;
}

static double mean_of(const double *axes)
{
    return (axes[0] + axes[1] + axes[2]) / 3.0;
}

/* Writes one row of the table; returns whether the difference is within the limit. */
static bool put_row(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode, enum oto_part_triad triad,
                    enum quantity quantity, double sheet_u, double simulated_u)
{
    const double factor = quantities[quantity].units[triad].factor, difference = simulated_u / sheet_u - 1.0;
    (void)fprintf(to, "| `%s` | `%s` | %s | %s | %.4g %s | %.4g | %+.1f %% |\n", part->name, mode->name,
                  oto_part_triad_name(triad), quantities[quantity].name, sheet_u * factor,
                  quantities[quantity].units[triad].unit, simulated_u * factor, 100.0 * difference);
    return fabs(difference) <= ACCEPTED;
}

static void put_noiseless(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    (void)fprintf(to, "| `%s` | `%s` | %s | noise | no document | without noise | |\n", part->name, mode->name,
                  oto_part_triad_name(triad));
}

enum oto_status parts_check(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode, uint32_t *beyond,
                            struct oto_error *error)
{
    struct measured measured;
    if (mode->number_count + mode->series_count == 0) {
        return OTO_OK;
    }
    const enum oto_status status = measure(part, mode, &measured, error);
    for (int triad = 0; triad < OTO_PART_TRIADS && status == OTO_OK; triad++) {
        struct oto_part_noise noise;
        const size_t first = 3 * (size_t)triad;
        oto_part_noise(mode, (enum oto_part_triad)triad, &noise);
        if (oto_part_is_noiseless(mode, (enum oto_part_triad)triad)) {
            put_noiseless(to, part, mode, (enum oto_part_triad)triad);
        }
        if (noise.has_rms) {
            *beyond += !put_row(to, part, mode, (enum oto_part_triad)triad, RMS, mean_of(noise.rms_u),
                                mean_of(&measured.rms[first]));
        } else if (noise.has_white) {
            *beyond += !put_row(to, part, mode, (enum oto_part_triad)triad, N, mean_of(noise.white_u_rthz) / RT2,
                                mean_of(&measured.n[first]));
        }
        if (noise.has_instability) {
            *beyond += !put_row(to, part, mode, (enum oto_part_triad)triad, STABILITY,
                                OTO_PART_ALLAN_FLOOR * mean_of(noise.instability_u),
                                OTO_PART_ALLAN_FLOOR * mean_of(&measured.b[first]));
        }
    }
    return status;
}

void parts_check_head(FILE *to)
{
    (void)fputs("| part | mode | triad | quantity | document | simulated | difference |\n|---|---|---|---|---|---|---|\n", to);
}
