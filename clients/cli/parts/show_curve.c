/* How far the documents know the Allan deviation of a triad, and what the default adds to it. */
#include <math.h>
#include <string.h>

#include "json.h"
#include "parts.h"

#define DEG (180.0 / 3.14159265358979323846)
#define G0 9.80665

/* The units in which data sheets give a floor and a density, and the factors from the unit of the triad. */
static const struct {
    double floor, density;
    const char *floor_unit, *density_unit;
} units[OTO_PART_TRIADS] = {
    [OTO_PART_ACCELEROMETER] = {1e6 / G0, 1e6 / G0, "µg", "µg/√Hz"},
    [OTO_PART_GYROSCOPE] = {3600.0 * DEG, DEG, "°/h", "°/s/√Hz"},
    [OTO_PART_MAGNETOMETER] = {1e3, 1e3, "nT", "nT/√Hz"},
};

void parts_show_known(FILE *to, const struct oto_part_number *number)
{
    const bool is_floor =
        strcmp(number->term, "in_run_bias_stability") == 0 || strcmp(number->term, "bias_instability") == 0;
    if (number->known_s[1] > 0.0) {
        (void)fprintf(to, "    shown from %g s to %g s", number->known_s[0], number->known_s[1]);
    } else if (is_floor) {
        (void)fputs("    no averaging times in the document; taken from 1 s", to);
    } else {
        return;
    }
    if (is_floor) {
        (void)fprintf(to, "; continued flat to %g s", fmax(number->known_s[1], OTO_PART_FLOOR_MAX_S));
    }
    (void)fputc('\n', to);
}

static void put_axes(FILE *to, const double *axes, double factor)
{
    if (axes[0] == axes[1] && axes[1] == axes[2]) {
        (void)fprintf(to, "%.4g", axes[0] * factor);
    } else {
        (void)fprintf(to, "[%.4g, %.4g, %.4g]", axes[0] * factor, axes[1] * factor, axes[2] * factor);
    }
}

void parts_show_default(FILE *to, const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    struct oto_part_curve curve;
    oto_part_curve(mode, triad, &curve);
    if (oto_part_is_noiseless(mode, triad)) {
        (void)fputs("  simulated without noise: no document gives its white noise\n", to);
    }
    if (curve.default_floor) {
        (void)fputs("  in_run_bias_stability  ", to);
        put_axes(to, curve.value_u, OTO_PART_ALLAN_FLOOR * units[triad].floor);
        (void)fprintf(to, " %s default   [no document: the white noise meets it at %g s; flat to %g s]\n", units[triad].floor_unit,
                      curve.meet_s, fmax(curve.meet_s, OTO_PART_FLOOR_MAX_S));
    }
    if (curve.default_white) {
        (void)fputs("  noise_density          ", to);
        put_axes(to, curve.value_u, units[triad].density);
        (void)fprintf(to, " %s default   [no document: it meets the floor at %g s]\n", units[triad].density_unit, curve.meet_s);
    }
}

void parts_show_curve_json(struct oto_json *json, const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    struct oto_part_curve curve;
    oto_part_curve(mode, triad, &curve);
    oto_json_number(json, "known_s", curve.known_s > 0.0 ? curve.known_s : (double)NAN);
    if (!curve.default_floor && !curve.default_white) {
        oto_json_text(json, "default", NULL);
        return;
    }
    oto_json_open(json, "default", '{');
    oto_json_text(json, "term", curve.default_floor ? "bias_instability" : "noise_density");
    oto_json_numbers(json, "si", curve.value_u, 3);
    oto_json_number(json, "meet_s", curve.meet_s);
    oto_json_close(json, '}');
}
