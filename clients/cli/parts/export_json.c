/*
 * Export of a part as the JSON of MATLAB's imuSensor (loadparams) or of MAVS. Both scale noise and walk by √(2/fs) and √(fs/2):
 * the density is single-sided, and the random walk K/√2.
 */
#include <math.h>

#include "json.h"
#include "parts.h"

#define RT2 1.41421356237309504880

enum dialect { MATLAB, MAVS };

static const char *const sections[OTO_PART_TRIADS] = {"Accelerometer", "Gyroscope", "Magnetometer"};

/* Terms that both kinds of file have with the same meaning, so that no factor is needed. */
static const struct {
    const char *term, *names[2];
} plain[] = {
    {"range", {"MeasurementRange", "Measurement Range"}},
    {"resolution", {"Resolution", "Resolution"}},
    {"constant_bias", {"ConstantBias", "Constant Bias"}},
    {"constant_slope", {"TemperatureBias", "Temperature Bias"}},
    {"constant_scale_slope", {"TemperatureScaleFactor", "Temperature Scale Factor"}},
    {"constant_g_sensitivity", {"AccelerationBias", "Acceleration Bias"}},
};

static void put_axes(FILE *to, const char *name, const double axes[3], bool *first)
{
    (void)fprintf(to, "%s\n      ", *first ? "" : ",");
    *first = false;
    oto_json_put_text(to, name);
    (void)fputs(": [", to);
    for (int i = 0; i < 3; i++) {
        (void)fputs(i > 0 ? ", " : "", to);
        oto_json_put_number(to, axes[i]);
    }
    (void)fputc(']', to);
}

static void put_scalar(FILE *to, const char *name, double value, bool *first)
{
    (void)fprintf(to, "%s\n      ", *first ? "" : ",");
    *first = false;
    oto_json_put_text(to, name);
    (void)fputs(": ", to);
    oto_json_put_number(to, value);
}

static void put_triad(FILE *to, const struct oto_part_mode *mode, enum oto_part_triad triad, enum dialect dialect)
{
    struct oto_part_noise noise;
    bool first = true;
    oto_part_noise(mode, triad, &noise);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        const struct oto_part_number *number = oto_part_number(mode, triad, plain[i].term);
        if (number != NULL && i < 2) { /* the first two terms have one number for all axes */
            put_scalar(to, plain[i].names[dialect], fmin(number->value_u[0], fmin(number->value_u[1], number->value_u[2])),
                       &first);
        } else if (number != NULL) {
            put_axes(to, plain[i].names[dialect], number->value_u, &first);
        }
    }
    if (noise.has_white) {
        put_axes(to, dialect == MATLAB ? "NoiseDensity" : "Noise Density", noise.white_u_rthz, &first);
    }
    if (noise.has_instability) {
        put_axes(to, dialect == MATLAB ? "BiasInstability" : "Bias Instability", noise.instability_u, &first);
    }
    if (noise.has_walk) {
        const double walk[3] = {noise.walk_u_rts[0] / RT2, noise.walk_u_rts[1] / RT2, noise.walk_u_rts[2] / RT2};
        put_axes(to, dialect == MATLAB ? "RandomWalk" : "Random Walk", walk, &first);
    }
    if (dialect == MATLAB) {
        (void)fprintf(to, "%s\n      \"NoiseType\": \"double-sided\"", first ? "" : ",");
    }
}

void parts_export_json(FILE *to, bool is_mavs, const struct oto_part *part, const struct oto_part_mode *mode, double rate_hz)
{
    const enum dialect dialect = is_mavs ? MAVS : MATLAB;
    bool first = true;
    (void)fputs("{\n", to);
    if (dialect == MATLAB) {
        (void)fputs("  ", to);
        oto_json_put_text(to, part->name);
        (void)fputs(": {\n", to);
    } else {
        (void)fprintf(to, "    \"Sample Rate\": %.12g,\n", rate_hz);
    }
    for (int triad = 0; triad < OTO_PART_TRIADS; triad++) {
        struct oto_part_noise noise;
        oto_part_noise(mode, (enum oto_part_triad)triad, &noise);
        if (oto_part_number(mode, (enum oto_part_triad)triad, "range") == NULL && !noise.has_white) {
            continue;
        }
        (void)fprintf(to, "%s    \"%s\": {", first ? "" : ",\n", sections[triad]);
        first = false;
        put_triad(to, mode, (enum oto_part_triad)triad, dialect);
        (void)fputs("\n    }", to);
    }
    (void)fputs(dialect == MATLAB ? "\n  }\n}\n" : "\n}\n", to);
}
