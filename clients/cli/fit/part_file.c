/* The part file of a fitted log. */
#include <inttypes.h>
#include <math.h>

#include "fit/calibrate.h"
#include "json.h"

#define RT2 1.41421356237309504880

static const char *const units[OTO_PART_TRIADS] = {"m/s²", "rad/s", "µT"};
/* The white noise before the digitiser has at least this share of the measured variance, however coarse the digit is. */
#define LEAST_WHITE 0.1

/* The white noise before the digitiser. The digitiser adds a variance of digit²/12, which is subtracted. */
static double white_before_digit(const struct fit_triad *triad, const struct fit_axis *axis)
{
    const double variance = axis->model.white_u * axis->model.white_u;
    return sqrt(fmax(variance - triad->resolution_u * triad->resolution_u / 12.0, LEAST_WHITE * variance));
}

static void put_axes(FILE *to, double x, double y, double z)
{
    const double axes[3] = {x, y, z};
    (void)fputc('[', to);
    for (int i = 0; i < 3; i++) {
        (void)fprintf(to, "%s%.6g", i > 0 ? ", " : "", axes[i]);
    }
    (void)fputc(']', to);
}

static void put_term(FILE *to, const char *term, const double axes[3], const char *unit, const char *suffix)
{
    (void)fprintf(to, "      %s: {value: ", term);
    put_axes(to, axes[0], axes[1], axes[2]);
    (void)fprintf(to, ", unit: \"%s%s\", is: typ, source: \"log fit\"}\n", unit, suffix);
}

/* The log shows the deviation from its sample period to the longest averaging time of the fit. */
static void put_white(FILE *to, const struct fit_log *log, const double density[3], const char *unit)
{
    (void)fputs("      noise_density: {value: ", to);
    put_axes(to, density[0], density[1], density[2]);
    (void)fprintf(to, ", unit: \"%s/√Hz\", is: typ, known_s: [%.6g, %.6g], source: \"log fit\"}\n", unit, 1.0 / log->rate_hz,
                  log->tau_max_s);
}

static bool any_of(const double axes[3])
{
    return axes[0] > 0.0 || axes[1] > 0.0 || axes[2] > 0.0;
}

/* Writes a list of the values whose bit in `keep` is set. */
static void put_list(FILE *to, const char *key, const double *values, unsigned keep, size_t count)
{
    bool first = true;
    (void)fprintf(to, "%s: [", key);
    for (size_t k = 0; k < count; k++) {
        if ((keep >> k & 1u) != 0) {
            (void)fprintf(to, "%s%.6g", first ? "" : ", ", values[k]);
            first = false;
        }
    }
    (void)fputs("], ", to);
}

static void put_series(FILE *to, const struct fit_triad *triad, bool is_sine)
{
    const size_t count = is_sine ? FIT_SINES : FIT_MARKOVS;
    static const char *const names[] = {"x", "y", "z"};
    unsigned keep = 0;
    for (int i = 0; i < 3; i++) {
        const double *values = is_sine ? triad->axes[i].model.sine_u : triad->axes[i].model.markov_u;
        for (size_t k = 0; k < count; k++) {
            keep |= values[k] > 0.0 ? 1u << k : 0u;
        }
    }
    if (keep == 0) {
        return;
    }
    (void)fprintf(to, "      %s: {", is_sine ? "sine" : "gauss_markov");
    put_list(to, is_sine ? "frequency_hz" : "tau_s", is_sine ? triad->setup.sine_hz : triad->setup.markov_s, keep, count);
    for (int i = 0; i < 3; i++) {
        const struct fit_model *model = &triad->axes[i].model;
        put_list(to, names[i], is_sine ? model->sine_u : model->markov_u, keep, count);
    }
    (void)fprintf(to, "unit: \"%s\", source: \"log fit\"}\n", units[triad->id]);
}

static void put_floor(FILE *to, const struct fit_triad *triad)
{
    double from_s = INFINITY, to_s = 0.0;
    const struct fit_axis *axes = triad->axes;
    for (int i = 0; i < 3; i++) {
        from_s = fmin(from_s, axes[i].model.floor_s[0]);
        to_s = fmax(to_s, axes[i].model.floor_s[1]);
    }
    (void)fputs("      bias_instability: {value: ", to);
    put_axes(to, axes[0].model.floor_u, axes[1].model.floor_u, axes[2].model.floor_u);
    (void)fprintf(to, ", unit: \"%s\", is: typ, known_s: [%g, %g], source: \"log fit\"}\n", units[triad->id], from_s, to_s);
}

static void put_triad(FILE *to, const struct fit_log *log, const struct fit_triad *triad)
{
    const struct fit_axis *a = triad->axes;
    const char *unit = units[triad->id];
    double density[3], walk[3], bias[3];
    (void)fprintf(to, "    %s:\n", oto_part_triad_name(triad->id));
    for (int i = 0; i < 3; i++) {
        density[i] = white_before_digit(triad, &a[i]) / sqrt(log->rate_hz / 2.0);
        walk[i] = a[i].model.walk_u;
        bias[i] = fabs(a[i].mean_u);
    }
    if (triad->resolution_u > 0.0) {
        (void)fprintf(to, "      resolution: {value: %.6g, unit: \"%s/LSB\", is: typ, source: \"log samples\"}\n",
                      triad->resolution_u, unit);
    }
    put_white(to, log, density, unit);
    if (any_of(walk)) {
        put_term(to, "rate_random_walk", walk, unit, "/√s");
    }
    if (triad->kind == FIT_FLOOR) {
        put_floor(to, triad);
    } else if (triad->kind == FIT_MARKOV) {
        put_series(to, triad, false);
    }
    put_series(to, triad, true);
    if (triad->id == OTO_PART_GYROSCOPE && any_of(bias)) {
        put_term(to, "turn_on_bias", bias, unit, "");
    }
}

static void put_missing(FILE *to, const struct fit_log *log)
{
    const bool is_imu =
        log->triads[OTO_PART_ACCELEROMETER].is_there || log->triads[OTO_PART_GYROSCOPE].is_there;
    (void)fputs("missing:\n", to);
    for (int id = 0; id < OTO_PART_TRIADS; id++) {
        const struct fit_triad *triad = &log->triads[id];
        const char *name = oto_part_triad_name((enum oto_part_triad)id);
        if (!triad->is_there && !(is_imu && id != OTO_PART_MAGNETOMETER)) {
            continue;
        }
        (void)fprintf(to, "  - %s.range\n", name);
        if (!triad->is_there) {
            (void)fprintf(to, "  - %s.noise_density\n", name);
        }
        if (!triad->is_there || triad->kind == FIT_WALK) {
            (void)fprintf(to, "  - %s.in_run_bias_stability\n", name);
        }
    }
}

void fit_part_write(FILE *to, const struct fit_log *log, const char *name, const struct fit_calibration *calibration)
{
    const bool is_imu = log->triads[OTO_PART_ACCELEROMETER].is_there || log->triads[OTO_PART_GYROSCOPE].is_there;
    char title[600];
    (void)snprintf(title, sizeof title, "Rest log %.400s: %" PRIu64 " samples at %.10g Hz, fitted to averaging times of %.4g s",
                   log->path, log->rows, log->rate_hz, log->tau_max_s);
    (void)fputs("part: ", to);
    oto_json_put_text(to, name);
    (void)fprintf(to, "\ntitle: fitted to a rest log\nvendor: fitted\nkind: %s\ndocuments:\n  log: {title: ",
                  is_imu ? "imu" : "magnetometer");
    oto_json_put_text(to, title);
    (void)fputs("}\n", to);
    put_missing(to, log);
    (void)fprintf(to, "modes:\n  log:\n    output_rate: {value: %.12g, unit: Hz, is: typ, source: \"log stamps\"}\n",
                  log->rate_hz);
    for (int id = 0; id < OTO_PART_TRIADS; id++) {
        if (log->triads[id].is_there) {
            put_triad(to, log, &log->triads[id]);
        }
    }
    if (calibration != NULL) {
        fit_calibration_write(to, calibration);
    }
}
