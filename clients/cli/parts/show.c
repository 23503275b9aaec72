/* A part in every convention: its noise and the numbers that each convention derives from it. */
#include <math.h>

#include "json.h"
#include "parts.h"

#define DEG (180.0 / 3.14159265358979323846)
#define G0 9.80665
#define RT2 1.41421356237309504880

enum source { WHITE, INSTABILITY, WALK };

static const struct convention {
    enum oto_part_triad triad;
    enum source source;
    double factor; /* applied to the result of oto_part_noise */
    const char *unit, *key, *text;
} conventions[] = {
    {OTO_PART_GYROSCOPE, WHITE, DEG, "°/s/√Hz", "density_single_deg_s_rthz",
     "noise density, single-sided (data sheets)"},
    {OTO_PART_GYROSCOPE, WHITE, 1, "rad/s/√Hz", "density_single_rad_s_rthz", "  the same"},
    {OTO_PART_GYROSCOPE, WHITE, 1 / RT2, "rad/s/√Hz", "density_double_rad_s_rthz",
     "two-sided: Allan N, Kalibr gyroscope_noise_density"},
    {OTO_PART_GYROSCOPE, WHITE, DEG / RT2, "°/s/√Hz", "density_double_deg_s_rthz", "  the same"},
    {OTO_PART_GYROSCOPE, WHITE, DEG * 60 / RT2, "°/√h", "angle_random_walk_deg_rth", "angle random walk (Allan N)"},
    {OTO_PART_GYROSCOPE, WHITE, DEG * 60, "°/√h", "angle_random_walk_vendor_deg_rth",
     "60 x density, as some vendors write it: √2 too much"},
    {OTO_PART_GYROSCOPE, INSTABILITY, DEG * 3600, "°/h", "b_deg_h", "bias instability B"},
    {OTO_PART_GYROSCOPE, INSTABILITY, DEG * 3600 * OTO_PART_ALLAN_FLOOR, "°/h", "allan_floor_deg_h",
     "in-run bias stability, the Allan floor 0.664 B"},
    {OTO_PART_GYROSCOPE, INSTABILITY, 1, "rad/s", "b_rad_s", "bias instability B"},
    {OTO_PART_GYROSCOPE, WALK, 1, "rad/s²/√Hz", "k_rad_s2_rthz",
     "rate random walk: Allan K, Kalibr gyroscope_random_walk"},
    {OTO_PART_GYROSCOPE, WALK, DEG * 216000, "°/h/√h", "k_deg_h_rth", "  the same"},

    {OTO_PART_ACCELEROMETER, WHITE, 1e6 / G0, "µg/√Hz", "density_single_ug_rthz",
     "noise density, single-sided (data sheets)"},
    {OTO_PART_ACCELEROMETER, WHITE, 1, "m/s²/√Hz", "density_single_m_s2_rthz", "  the same"},
    {OTO_PART_ACCELEROMETER, WHITE, 1 / RT2, "m/s²/√Hz", "density_double_m_s2_rthz",
     "two-sided: Allan N, Kalibr accelerometer_noise_density"},
    {OTO_PART_ACCELEROMETER, WHITE, 1e6 / G0 / RT2, "µg/√Hz", "density_double_ug_rthz", "  the same"},
    {OTO_PART_ACCELEROMETER, WHITE, 60 / RT2, "m/s/√h", "velocity_random_walk_m_s_rth",
     "velocity random walk (Allan N)"},
    {OTO_PART_ACCELEROMETER, INSTABILITY, 1e6 / G0, "µg", "b_ug", "bias instability B"},
    {OTO_PART_ACCELEROMETER, INSTABILITY, 1e6 / G0 *OTO_PART_ALLAN_FLOOR, "µg", "allan_floor_ug",
     "in-run bias stability, the Allan floor 0.664 B"},
    {OTO_PART_ACCELEROMETER, INSTABILITY, 1, "m/s²", "b_m_s2", "bias instability B"},
    {OTO_PART_ACCELEROMETER, WALK, 1, "m/s³/√Hz", "k_m_s3_rthz",
     "acceleration random walk: Allan K, Kalibr accelerometer_random_walk"},

    {OTO_PART_MAGNETOMETER, WHITE, 1e3, "nT/√Hz", "density_single_nt_rthz",
     "noise density, single-sided (data sheets)"},
    {OTO_PART_MAGNETOMETER, WHITE, 1e3 / RT2, "nT/√Hz", "density_double_nt_rthz", "two-sided: Allan N"},
    {OTO_PART_MAGNETOMETER, WHITE, 10, "mG/√Hz", "density_single_mg_rthz", "single-sided"},
    {OTO_PART_MAGNETOMETER, INSTABILITY, 1e3, "nT", "b_nt", "bias instability B"},
    {OTO_PART_MAGNETOMETER, INSTABILITY, 1e3 * OTO_PART_ALLAN_FLOOR, "nT", "allan_floor_nt",
     "in-run bias stability, the Allan floor 0.664 B"},
    {OTO_PART_MAGNETOMETER, WALK, 1e3, "nT/√s", "k_nt_rts", "random walk: Allan K"},
};

/* Converts the noise of a part to a convention. False: the part has no value for this convention. */
static bool convert(const struct convention *convention, const struct oto_part_noise *noise, double axes[3])
{
    const double *values = convention->source == WHITE         ? noise->white_u_rthz
                           : convention->source == INSTABILITY ? noise->instability_u
                                                               : noise->walk_u_rts;
    for (int i = 0; i < 3; i++) {
        axes[i] = values[i] * convention->factor;
    }
    return convention->source == WHITE         ? noise->has_white
           : convention->source == INSTABILITY ? noise->has_instability
                                               : noise->has_walk;
}

static void put_axes(FILE *to, const double *axes)
{
    if (axes[0] == axes[1] && axes[1] == axes[2]) {
        (void)fprintf(to, "%.6g", axes[0]);
    } else {
        (void)fprintf(to, "[%.6g, %.6g, %.6g]", axes[0], axes[1], axes[2]);
    }
}

static const char *kind_of(const struct oto_part_number *number)
{
    return number->is_derived ? "derived" : number->is_max ? "max" : "typ";
}

static void show_series(FILE *to, const struct oto_part_series *series)
{
    for (uint32_t k = 0; k < series->count; k++) {
        (void)fprintf(to, "  %-22s %g %s: ", series->is_sine ? "sine" : "gauss_markov", series->at[k],
                      series->is_sine ? "Hz" : "s");
        put_axes(to, (double[]){series->value_u[0][k], series->value_u[1][k], series->value_u[2][k]});
        (void)fprintf(to, " %s %s   [%s]\n", oto_part_triad_unit(series->triad), series->is_sine ? "amplitude" : "1 σ",
                      series->source);
    }
}

static void show_numbers(FILE *to, const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    for (uint32_t i = 0; i < mode->number_count; i++) {
        const struct oto_part_number *number = &mode->numbers[i];
        if (number->triad != triad) {
            continue;
        }
        (void)fprintf(to, "  %-22s ", number->term);
        put_axes(to, (double[]){number->printed[0], number->printed[number->count == 3 ? 1 : 0],
                                number->printed[number->count == 3 ? 2 : 0]});
        (void)fprintf(to, " %s %s", number->unit, kind_of(number));
        if (number->is_spread) {
            (void)fprintf(to, ", ± taken as %g σ", number->sigma);
        }
        (void)fprintf(to, "   [%s]%s\n", number->source, number->is_applied ? "" : " (not a parameter)");
        parts_show_known(to, number);
    }
    for (uint32_t i = 0; i < mode->series_count; i++) {
        if (mode->series[i].triad == triad) {
            show_series(to, &mode->series[i]);
        }
    }
    parts_show_default(to, mode, triad);
}

static void show_noise(FILE *to, const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    struct oto_part_noise noise;
    oto_part_noise(mode, triad, &noise);
    for (size_t i = 0; i < sizeof conventions / sizeof *conventions; i++) {
        double axes[3];
        if (conventions[i].triad != triad) {
            continue;
        }
        (void)fprintf(to, "  = ");
        if (convert(&conventions[i], &noise, axes)) {
            put_axes(to, axes);
            (void)fprintf(to, " %s", conventions[i].unit);
        } else {
            (void)fprintf(to, "no source [%s]", conventions[i].unit);
        }
        (void)fprintf(to, "   %s\n", conventions[i].text);
    }
}

static void show_settings(FILE *to, const struct oto_part_mode *mode)
{
    (void)fputs(mode->setting_count > 0 ? "parameters\n" : "", to);
    for (uint32_t i = 0; i < mode->setting_count; i++) {
        const struct oto_part_setting *setting = &mode->settings[i];
        (void)fprintf(to, "  %-32s", setting->key);
        for (uint32_t k = 0; k < setting->count; k++) {
            (void)fprintf(to, " %.6g", setting->values[k]);
        }
        (void)fprintf(to, " %s %s   [%s]\n", setting->unit, setting->is, setting->source);
    }
}

static void show_document(FILE *to, const struct oto_part_document *document)
{
    (void)fprintf(to, "  %s: %s", document->id, document->title);
    (void)fprintf(to, "%s%s%s%s%s%s\n", document->number != NULL ? ", " : "",
                  document->number != NULL ? document->number : "", document->revision != NULL ? " rev. " : "",
                  document->revision != NULL ? document->revision : "", document->date != NULL ? ", " : "",
                  document->date != NULL ? document->date : "");
}

void parts_show(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode)
{
    (void)fprintf(to, "%s: %s (%s)\nmode %s", part->name, part->title, part->vendor, mode->name);
    if (mode->output_rate_hz > 0) {
        (void)fprintf(to, ", %g Hz", mode->output_rate_hz);
    }
    (void)fprintf(to, "%s%s; modes:", mode->filter != NULL ? ", " : "", mode->filter != NULL ? mode->filter : "");
    for (uint32_t i = 0; i < part->mode_count; i++) {
        (void)fprintf(to, " %s%s", part->modes[i].name, i == part->default_mode ? " (default)" : "");
    }
    (void)fputs("\ndocuments\n", to);
    for (uint32_t i = 0; i < part->document_count; i++) {
        show_document(to, &part->documents[i]);
    }
    for (int triad = 0; triad < OTO_PART_TRIADS; triad++) {
        if (oto_part_has_triad(mode, (enum oto_part_triad)triad)) {
            (void)fprintf(to, "%s\n", oto_part_triad_name((enum oto_part_triad)triad));
            show_numbers(to, mode, (enum oto_part_triad)triad);
            show_noise(to, mode, (enum oto_part_triad)triad);
        }
    }
    show_settings(to, mode);
    for (uint32_t i = 0; i < part->missing_count; i++) {
        (void)fprintf(to, "%s%s", i == 0 ? "no citable source for: " : ", ", part->missing[i]);
    }
    (void)fputs(part->missing_count > 0 ? "\n" : "", to);
}

/* ---- JSON ---- */

static void put_numbers(struct oto_json *json, const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    oto_json_flag(json, "noiseless", oto_part_is_noiseless(mode, triad));
    parts_show_curve_json(json, mode, triad);
    oto_json_open(json, "numbers", '{');
    for (uint32_t i = 0; i < mode->number_count; i++) {
        const struct oto_part_number *number = &mode->numbers[i];
        if (number->triad != triad) {
            continue;
        }
        oto_json_open(json, number->term, '{');
        oto_json_numbers(json, "printed", (double[]){number->printed[0], number->printed[number->count == 3 ? 1 : 0],
                                                     number->printed[number->count == 3 ? 2 : 0]}, 3);
        oto_json_numbers(json, "si", number->value_u, 3);
        oto_json_text(json, "unit", number->unit);
        oto_json_text(json, "is", kind_of(number));
        if (number->is_spread) {
            oto_json_format(json, "sigma", "%g", number->sigma);
        }
        oto_json_text(json, "source", number->source);
        oto_json_close(json, '}');
    }
    oto_json_close(json, '}');
}

static void put_conventions(struct oto_json *json, const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    struct oto_part_noise noise;
    oto_part_noise(mode, triad, &noise);
    oto_json_open(json, "noise", '{');
    for (size_t i = 0; i < sizeof conventions / sizeof *conventions; i++) {
        double axes[3];
        if (conventions[i].triad != triad) {
            continue;
        }
        if (convert(&conventions[i], &noise, axes)) {
            oto_json_numbers(json, conventions[i].key, axes, 3);
        } else {
            oto_json_text(json, conventions[i].key, NULL);
        }
    }
    oto_json_close(json, '}');
}

static void put_documents(struct oto_json *json, const struct oto_part *part)
{
    oto_json_open(json, "documents", '{');
    for (uint32_t i = 0; i < part->document_count; i++) {
        const struct oto_part_document *document = &part->documents[i];
        oto_json_open(json, document->id, '{');
        oto_json_text(json, "title", document->title);
        oto_json_text(json, "number", document->number);
        oto_json_text(json, "revision", document->revision);
        oto_json_text(json, "date", document->date);
        oto_json_close(json, '}');
    }
    oto_json_close(json, '}');
}

static void put_settings(struct oto_json *json, const struct oto_part_mode *mode)
{
    oto_json_open(json, "parameters", '{');
    for (uint32_t i = 0; i < mode->setting_count; i++) {
        const struct oto_part_setting *setting = &mode->settings[i];
        oto_json_open(json, setting->key, '{');
        oto_json_numbers(json, "values", setting->values, setting->count);
        oto_json_text(json, "unit", setting->unit);
        oto_json_text(json, "is", setting->is);
        oto_json_text(json, "source", setting->source);
        oto_json_close(json, '}');
    }
    oto_json_close(json, '}');
}

static void put_names(struct oto_json *json, const struct oto_part *part)
{
    oto_json_open(json, "modes", '[');
    for (uint32_t i = 0; i < part->mode_count; i++) {
        oto_json_text(json, NULL, part->modes[i].name);
    }
    oto_json_close(json, ']');
    oto_json_open(json, "missing", '[');
    for (uint32_t i = 0; i < part->missing_count; i++) {
        oto_json_text(json, NULL, part->missing[i]);
    }
    oto_json_close(json, ']');
}

void parts_show_json(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode)
{
    struct oto_json json = {.to = to};
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "part", part->name);
    oto_json_text(&json, "title", part->title);
    oto_json_text(&json, "vendor", part->vendor);
    oto_json_text(&json, "kind", part->kind_name);
    oto_json_text(&json, "mode", mode->name);
    oto_json_number(&json, "output_rate_hz", mode->output_rate_hz > 0 ? mode->output_rate_hz : (double)NAN);
    put_documents(&json, part);
    for (int triad = 0; triad < OTO_PART_TRIADS; triad++) {
        if (oto_part_has_triad(mode, (enum oto_part_triad)triad)) {
            oto_json_open(&json, oto_part_triad_name((enum oto_part_triad)triad), '{');
            put_numbers(&json, mode, (enum oto_part_triad)triad);
            put_conventions(&json, mode, (enum oto_part_triad)triad);
            oto_json_close(&json, '}');
        }
    }
    if (mode->setting_count > 0) {
        put_settings(&json, mode);
    }
    put_names(&json, part);
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}
