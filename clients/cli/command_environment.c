/* otolith environment: gravity, magnetic field, air and the Earth's rate at a place and date. */
#include "cli.h"
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "environment/gravity.h"
#include "otolith/environment.h"

/* At this height the series of normal gravity (geodesy.h) has an error of 2e-4 m/s²; at 850 km the error is one percent. */
#define MAX_GRAVITY_ALTITUDE_M 100000.0

enum { LATITUDE = 0, LONGITUDE, ALTITUDE, NUMBERS };
enum { KEY_NUMBER = 0x100, KEY_DATE = 0x200, KEY_MODEL };

static const struct {
    const char *name, *unit;
    double low, high;
} ranges[NUMBERS] = {
    [LATITUDE] = {"latitude", "deg", -90.0, 90.0},
    [LONGITUDE] = {"longitude", "deg", -180.0, 180.0},
    [ALTITUDE] = {"altitude", "m", OTO_WMM_MIN_ALTITUDE_M, OTO_WMM_MAX_ALTITUDE_M},
};

struct options {
    double numbers[NUMBERS];
    bool given[NUMBERS];
    const char *date, *model;
    int64_t days;
    bool json;
};

struct report {
    const struct options *options;
    const struct oto_wmm *model;
    struct oto_magnetic_field field;
    struct oto_air air;
    double gravity_m_s2;
    oto_vec3 earth_rate_enu_rad_s;
};

static void read_number(struct options *options, int which, const char *text, struct argp_state *state)
{
    char *end;
    errno = 0;
    const double number = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !isfinite(number)) {
        argp_error(state, "--%s: '%s' is not a number: expected %g to %g %s", ranges[which].name, text,
                   ranges[which].low, ranges[which].high, ranges[which].unit);
    }
    if (number < ranges[which].low || number > ranges[which].high) {
        argp_error(state, "--%s: '%s' is out of range: expected %.10g to %.10g %s", ranges[which].name, text,
                   ranges[which].low, ranges[which].high, ranges[which].unit);
    }
    options->numbers[which] = number;
    options->given[which] = true;
}

static void check_given(const struct options *options, struct argp_state *state)
{
    for (int i = 0; i < NUMBERS; i++) {
        if (!options->given[i]) {
            argp_error(state, "--%s is missing: expected %.10g to %.10g %s", ranges[i].name, ranges[i].low,
                       ranges[i].high, ranges[i].unit);
        }
    }
    if (options->date == NULL) {
        argp_error(state, "--date is missing: expected YYYY-MM-DD, as in 2026-07-01");
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    struct oto_error error = {0};
    switch (key) {
    case KEY_NUMBER + LATITUDE:
    case KEY_NUMBER + LONGITUDE:
    case KEY_NUMBER + ALTITUDE:
        read_number(options, key - KEY_NUMBER, argument, state);
        return 0;
    case KEY_DATE:
        if (oto_date_parse(argument, &options->days, &error) != OTO_OK) {
            argp_error(state, "--date: %s", error.text);
        }
        options->date = argument;
        return 0;
    case KEY_MODEL:
        options->model = argument;
        return 0;
    case 'j':
        options->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is not an option; see --help", argument);
        return 0;
    case ARGP_KEY_END:
        check_given(options, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Quantities that no model covers at the altitude are NaN. */
static enum oto_status evaluate(const struct options *options, struct report *report, struct oto_error *error)
{
    const oto_geodetic place = {options->numbers[LATITUDE] * OTO_DEG, options->numbers[LONGITUDE] * OTO_DEG,
                                options->numbers[ALTITUDE]};
    const double year = oto_decimal_year(options->days);
    const struct oto_wmm *model = NULL;
    struct oto_error why = {0};
    enum oto_status status =
        options->model != NULL ? oto_wmm_find(options->model, &model, &why) : oto_wmm_for_year(year, &model, &why);
    if (status != OTO_OK) {
        return oto_fail(error, status, "--%s: %s", options->model != NULL ? "model" : "date", why.text);
    }
    *report = (struct report){.options = options, .model = model, .gravity_m_s2 = NAN, .air = {NAN, NAN}};
    status = oto_wmm_field(model, place, year, &report->field, &why);
    if (status != OTO_OK) {
        return oto_fail(error, status, "--date: %s", why.text);
    }
    (void)oto_isa(place.alt_m, &report->air, &why);
    if (place.alt_m <= MAX_GRAVITY_ALTITUDE_M) {
        report->gravity_m_s2 = oto_gravity_wgs84(place.lat_rad, place.alt_m);
    }
    report->earth_rate_enu_rad_s = oto_earth_rate_enu_rad_s(place.lat_rad);
    return OTO_OK;
}

static oto_vec3 gravity_enu(const struct report *report)
{
    const double *n = report->options->numbers;
    const oto_vec3 gravity = srv_gravity_enu_at((oto_geodetic){n[LATITUDE] * OTO_DEG, n[LONGITUDE] * OTO_DEG, n[ALTITUDE]});
    return isnan(report->gravity_m_s2) ? oto_vec3_make(NAN, NAN, NAN) : gravity;
}

/* Writes a vector; null if no model covers it. */
static void json_vec3(struct oto_json *json, const char *key, oto_vec3 v)
{
    if (!oto_vec3_is_finite(v)) {
        oto_json_number(json, key, NAN);
        return;
    }
    oto_json_numbers(json, key, (double[]){v.x, v.y, v.z}, 3);
}

/* Names, values and yearly changes of the elements of the field, for text and JSON. */
struct element {
    const char *key, *label, *unit;
    double value, change;
};
enum { ELEMENTS = 7 };

static void list_elements(const struct oto_magnetic_field *f, struct element elements[ELEMENTS])
{
    const struct element list[ELEMENTS] = {
        {"x_nt", "X (north)", "nT", f->x_nt, f->x_nt_yr},
        {"y_nt", "Y (east)", "nT", f->y_nt, f->y_nt_yr},
        {"z_nt", "Z (down)", "nT", f->z_nt, f->z_nt_yr},
        {"h_nt", "H (horizontal)", "nT", f->h_nt, f->h_nt_yr},
        {"f_nt", "F (total)", "nT", f->f_nt, f->f_nt_yr},
        {"inclination_deg", "I (inclination)", "deg", f->inclination_deg, f->inclination_deg_yr},
        {"declination_deg", "D (declination)", "deg", f->declination_deg, f->declination_deg_yr},
    };
    memcpy(elements, list, sizeof list);
}

static void print_json(const struct report *report)
{
    struct oto_json json = {.to = stdout};
    struct element elements[ELEMENTS];
    char key[40];
    list_elements(&report->field, elements);
    oto_json_open(&json, NULL, '{');
    oto_json_number(&json, "latitude_deg", report->options->numbers[LATITUDE]);
    oto_json_number(&json, "longitude_deg", report->options->numbers[LONGITUDE]);
    oto_json_number(&json, "altitude_m", report->options->numbers[ALTITUDE]);
    oto_json_text(&json, "date", report->options->date);
    oto_json_number(&json, "gravity_m_s2", report->gravity_m_s2);
    json_vec3(&json, "gravity_enu_m_s2", gravity_enu(report));
    oto_json_open(&json, "magnetic_field", '{');
    oto_json_text(&json, "model", report->model->name);
    for (int i = 0; i < ELEMENTS; i++) {
        oto_json_number(&json, elements[i].key, elements[i].value);
    }
    oto_json_open(&json, "secular_variation", '{');
    for (int i = 0; i < ELEMENTS; i++) {
        (void)snprintf(key, sizeof key, "%s_yr", elements[i].key);
        oto_json_number(&json, key, elements[i].change);
    }
    oto_json_close(&json, '}');
    oto_json_close(&json, '}');
    json_vec3(&json, "magnetic_field_enu_ut", oto_magnetic_field_enu_ut(&report->field));
    oto_json_number(&json, "pressure_pa", report->air.pressure_pa);
    oto_json_number(&json, "temperature_degc", report->air.temperature_degc);
    json_vec3(&json, "earth_rate_enu_rad_s", report->earth_rate_enu_rad_s);
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

static void print_gravity_and_air(const struct report *report)
{
    if (isnan(report->gravity_m_s2)) {
        (void)printf("gravity          no model above %.0f m\n", MAX_GRAVITY_ALTITUDE_M);
    } else {
        const oto_vec3 g = gravity_enu(report);
        (void)printf("gravity          %.7f m/s^2   ENU [%.7g, %.7g, %.7f]   (WGS-84)\n", report->gravity_m_s2, g.x, g.y,
                     g.z);
    }
    if (isnan(report->air.pressure_pa)) {
        (void)printf("air              no model above %.0f m\n", OTO_ISA_MAX_ALTITUDE_M);
    } else {
        (void)printf("temperature      %.2f degC   (standard atmosphere)\npressure         %.2f Pa\n",
                     report->air.temperature_degc, report->air.pressure_pa);
    }
}

static void print_text(const struct report *report)
{
    const oto_vec3 field_ut = oto_magnetic_field_enu_ut(&report->field), rate = report->earth_rate_enu_rad_s;
    struct element elements[ELEMENTS];
    list_elements(&report->field, elements);
    print_gravity_and_air(report);
    (void)printf("earth rate       ENU [0, %.6e, %.6e] rad/s\n", rate.y, rate.z);
    (void)printf("magnetic field   ENU [%.4f, %.4f, %.4f] uT   (%s)\n", field_ut.x, field_ut.y, field_ut.z,
                 report->model->name);
    for (int i = 0; i < ELEMENTS; i++) {
        const int digits = elements[i].unit[0] == 'd' ? 4 : 1;
        (void)printf("  %-15s %12.*f %-3s  %+8.*f %s/year\n", elements[i].label, digits, elements[i].value,
                     elements[i].unit, digits, elements[i].change, elements[i].unit);
    }
}

static const struct argp_option argp_options[] = {
    {"latitude", KEY_NUMBER + LATITUDE, "DEG", 0, "geodetic latitude, north positive", 0},
    {"longitude", KEY_NUMBER + LONGITUDE, "DEG", 0, "longitude, east positive", 0},
    {"altitude", KEY_NUMBER + ALTITUDE, "M", 0, "height over the WGS-84 ellipsoid", 0},
    {"date", KEY_DATE, "YYYY-MM-DD", 0, "day, taken at its beginning", 0},
    {"model", KEY_MODEL, "NAME", 0, "wmm2020 or wmm2025 (default: the newest that is valid at the date)", 0},
    {"json", 'j', NULL, 0, "print JSON; null for what no model covers at the altitude", 0},
    {0},
};

int cli_environment(int argc, char **argv)
{
    static const struct argp argp = {
        .options = argp_options,
        .parser = parse,
        .doc = "Print gravity, magnetic field, air and the Earth's rate at a place and date.\v"
               "The field is the World Magnetic Model's, temperature and pressure are the ICAO standard atmosphere's, "
               "gravity "
               "is WGS-84 normal gravity. ENU is east, north, up."};
    struct options options = {0};
    struct report report;
    struct oto_error error = {0};
    cli_parse(&argp, argc, argv, &options);
    if (evaluate(&options, &report, &error) != OTO_OK) {
        return cli_say(&error);
    }
    (options.json ? print_json : print_text)(&report);
    return CLI_OK;
}
