/*
 * Simulates a part at rest and compares the samples with the part's document: N, the rms of a sample, and the lowest point of the
 * Allan deviation, which must also be there at 30 000 s. Where the document gives no white noise or no floor, they are compared
 * with the default. The mean of the three axes is compared; seeds are fixed, so the table is the same on every machine.
 */
#include <math.h>

#include "allan/allan.h"
#include "fit/rest.h"
#include "parts.h"

#define DEG (180.0 / 3.14159265358979323846)
#define G0 9.80665
#define RT2 1.41421356237309504880
#define ACCEPTED 0.05

/*
 * The first run is at the part's rate, for white noise; the second at 1 Hz, for the floor of averaging times to hours; the third
 * has a sample in 20 s, for the floor at 30 000 s.
 */
enum { WHITE_SAMPLES = 200000, FLOOR_SAMPLES = 400000, LONG_SAMPLES = 200000, POINTS_PER_DECADE = 10 };
#define DEFAULT_RATE_HZ 100.0
#define FLOOR_FROM_S 20.0
#define FLOOR_TO_S 20000.0
#define LONG_RATE_HZ 0.05
#define LONG_S 30000.0
/*
 * The long run has 133 averages of 30 000 s. With flicker noise the deviation of each axis then has a standard error of about
 * 1/√(2 · 133) = 6.1 %, the mean of three 3.5 %; four of these are accepted.
 */
#define LONG_ACCEPTED 0.14

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

/* What a run at rest gives of each axis. */
struct run {
    struct allan_fit fits[REST_AXES];
    double rms[REST_AXES];
    double long_u[REST_AXES]; /* Allan deviation at the averaging time nearest to LONG_S */
};

struct measured {
    double n[REST_AXES], rms[REST_AXES], b[REST_AXES], long_u[REST_AXES];
};

static double deviation_near(const struct allan_point *points, size_t count, double tau_s)
{
    const struct allan_point *nearest = &points[0];
    for (size_t i = 1; i < count; i++) {
        if (fabs(log(points[i].tau_s / tau_s)) < fabs(log(nearest->tau_s / tau_s))) {
            nearest = &points[i];
        }
    }
    return count > 0 ? nearest->adev : 0.0;
}

static enum oto_status run_at_rest(const struct rest_setup *setup, uint32_t samples, const struct allan_fit_options *options,
                                   struct run *run, struct oto_error *error)
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
        allan_fit(points, count, samples, options, &run->fits[i]);
        run->rms[i] = sqrt(fmax(square[i] / samples - sum[i] / samples * (sum[i] / samples), 0.0));
        run->long_u[i] = deviation_near(points, count, LONG_S);
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
    static const struct allan_fit_options short_terms = {.terms = ALLAN_N | ALLAN_B};
    static const struct allan_fit_options floor_terms = {FLOOR_FROM_S, FLOOR_TO_S, ALLAN_N | ALLAN_B};
    struct rest_setup setup = {.plugin = part->is_imu ? "mems_imu" : "magnetometer", .part = part, .mode = mode,
                               .rate_hz = mode->output_rate_hz > 0 ? mode->output_rate_hz : DEFAULT_RATE_HZ, .seed = 1,
                               .is_exact = true};
    struct run white, floor, lasting;
    enum oto_status status = run_at_rest(&setup, WHITE_SAMPLES, &short_terms, &white, error);
    setup.rate_hz = 1.0;
    if (status == OTO_OK) {
        status = run_at_rest(&setup, FLOOR_SAMPLES, &floor_terms, &floor, error);
    }
    setup.rate_hz = LONG_RATE_HZ;
    if (status == OTO_OK) {
        status = run_at_rest(&setup, LONG_SAMPLES, &short_terms, &lasting, error);
    }
    for (int i = 0; i < REST_AXES && status == OTO_OK; i++) {
        measured->n[i] = white.fits[i].n;
        measured->rms[i] = white.rms[i];
        measured->b[i] = floor.fits[i].b;
        measured->long_u[i] = lasting.long_u[i];
    }
    return status;
}

static double mean_of(const double *axes)
{
    return (axes[0] + axes[1] + axes[2]) / 3.0;
}

/* One row of the table. long_u: the deviation at LONG_S of a floor; 0: the row is of white noise. */
struct row {
    enum oto_part_triad triad;
    enum quantity quantity;
    bool is_default;
    double sheet_u, simulated_u, long_u;
};

/* Writes a row; returns whether the differences are within the limits. */
static bool put_row(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode, const struct row *row)
{
    const double factor = quantities[row->quantity].units[row->triad].factor;
    const double difference = row->simulated_u / row->sheet_u - 1.0;
    (void)fprintf(to, "| `%s` | `%s` | %s | %s | %.4g %s%s | %.4g | %+.1f %% |", part->name, mode->name,
                  oto_part_triad_name(row->triad), quantities[row->quantity].name, row->sheet_u * factor,
                  quantities[row->quantity].units[row->triad].unit, row->is_default ? ", default" : "",
                  row->simulated_u * factor, 100.0 * difference);
    if (row->long_u == 0.0) {
        (void)fputs(" |\n", to);
        return fabs(difference) <= ACCEPTED;
    }
    (void)fprintf(to, " %.4g |\n", row->long_u * factor);
    return fabs(difference) <= ACCEPTED && fabs(row->long_u / row->sheet_u - 1.0) <= LONG_ACCEPTED;
}

static bool put_white(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode, enum oto_part_triad triad,
                      const struct measured *measured)
{
    struct oto_part_noise noise;
    struct oto_part_curve curve;
    const size_t first = 3 * (size_t)triad;
    struct row row = {.triad = triad, .quantity = N, .simulated_u = mean_of(&measured->n[first])};
    oto_part_noise(mode, triad, &noise);
    oto_part_curve(mode, triad, &curve);
    if (noise.has_rms) {
        row.quantity = RMS;
        row.sheet_u = mean_of(noise.rms_u);
        row.simulated_u = mean_of(&measured->rms[first]);
    } else {
        row.is_default = curve.default_white;
        row.sheet_u = mean_of(curve.default_white ? curve.value_u : noise.white_u_rthz) / RT2;
    }
    return (!noise.has_rms && !noise.has_white && !curve.default_white) || put_row(to, part, mode, &row);
}

static bool put_floor(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode, enum oto_part_triad triad,
                      const struct measured *measured)
{
    struct oto_part_noise noise;
    struct oto_part_curve curve;
    const size_t first = 3 * (size_t)triad;
    oto_part_noise(mode, triad, &noise);
    oto_part_curve(mode, triad, &curve);
    const struct row row = {.triad = triad, .quantity = STABILITY, .is_default = curve.default_floor,
                            .sheet_u = OTO_PART_ALLAN_FLOOR * mean_of(curve.default_floor ? curve.value_u : noise.instability_u),
                            .simulated_u = OTO_PART_ALLAN_FLOOR * mean_of(&measured->b[first]),
                            .long_u = mean_of(&measured->long_u[first])};
    return (!noise.has_instability && !curve.default_floor) || put_row(to, part, mode, &row);
}

static void put_noiseless(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    (void)fprintf(to, "| `%s` | `%s` | %s | noise | no document | without noise | | |\n", part->name, mode->name,
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
        if (oto_part_is_noiseless(mode, (enum oto_part_triad)triad)) {
            put_noiseless(to, part, mode, (enum oto_part_triad)triad);
        }
        *beyond += !put_white(to, part, mode, (enum oto_part_triad)triad, &measured);
        *beyond += !put_floor(to, part, mode, (enum oto_part_triad)triad, &measured);
    }
    return status;
}

void parts_check_head(FILE *to)
{
    (void)fputs("| part | mode | triad | quantity | document | simulated | difference | at 30 000 s |\n|---|---|---|---|---|---|---|---|\n",
                to);
}
