#include "num_params.h"

#include <stdio.h>

#include "otolith/environment.h"

const struct oto_named_value num_law_names[2] = {{"mems", NUM_LAW_MEMS}, {"mavs", NUM_LAW_MAVS}};
const struct oto_named_value num_w_names[2] = {{"document", NUM_W_DOCUMENT}, {"code", NUM_W_CODE}};
const struct oto_named_value num_psd_names[2] = {{"single", NUM_PSD_SINGLE}, {"double", NUM_PSD_DOUBLE}};
const struct oto_named_value num_temperature_names[1] = {{"world", NUM_TEMPERATURE_WORLD}};
const struct oto_named_value num_field_names[1] = {{"world", NUM_FIELD_WORLD}};

static double largest(const double *values, int count)
{
    double most = 0.0;
    for (int i = 0; i < count; i++) {
        most = oto_fabs(values[i]) > most ? oto_fabs(values[i]) : most;
    }
    return most;
}

/*
 * Warns above ten times the worst slope of current MEMS parts (about 1 mg, 0.03 deg/s and 0.3 % of 50 uT for each
 * degree).
 */
static void warn_slope(const struct oto_host *host, enum num_triad_id id, const struct num_triad_params *params)
{
    static const double implausible[NUM_TRIAD_IDS] = {0.1, 0.005, 1.5};
    static const char *const units[NUM_TRIAD_IDS] = {"m_s2", "rad_s", "ut"};
    static const struct {
        double factor;
        const char *unit;
    } natural[NUM_TRIAD_IDS] = {{1e3 / OTO_STANDARD_GRAVITY_M_S2, "mg"}, {1.0 / OTO_DEG, "°/s"}, {1.0, "µT"}};
    const double slope = largest(params->temperature_bias_u_degc, 3);
    char sentence[320];
    if (slope <= implausible[id]) {
        return;
    }
    (void)snprintf(
        sentence, sizeof sentence,
        "%s.temperature_bias_%s_degc = %g is %.3g %s per °C, more than ten times what MEMS parts have: is it the total "
        "over a temperature range rather than the slope for one degree?",
        num_triad_name(id), units[id], slope, slope * natural[id].factor, natural[id].unit);
    host->warn(host->context, sentence);
}

static void warn_unused(const struct oto_host *host, enum num_triad_id id, const struct num_triad_params *params)
{
    const struct {
        const char *name;
        const double *values;
        int count;
    } terms[] = {
        {"acceleration_bias", params->acceleration_bias_u_m_s2, 3},
        {"scale_factor_error_percent", params->scale_factor_error_percent, 3},
        {"cross_axis_percent", params->cross_axis_percent, 6},
        {"turn_on_bias", params->turn_on_bias_u, 3},
        {"unit_bias", params->unit_bias_u, 3},
        {"unit_scale_factor_percent", params->unit_scale_factor_percent, 3},
        {"unit_cross_axis_percent", params->unit_cross_axis_percent, 3},
        {"bias_instability_tau_s", &params->bias_instability_tau_s, 1},
        {"nonlinearity_quadratic_ppm", params->nonlinearity_quadratic_ppm, 3},
        {"nonlinearity_cubic_ppm", params->nonlinearity_cubic_ppm, 3},
        {"g2_sensitivity", params->g2_sensitivity_u_m2_s4, 3},
        {"acceleration_cross", params->acceleration_cross_u_m_s2, 6},
        {"noise_rms", params->noise_rms_u, 3},
        {"unit_temperature_bias", params->unit_temperature_bias_u_degc, 3},
        {"unit_temperature_scale_factor_percent", params->unit_temperature_scale_factor_percent_degc, 3},
        {"unit_acceleration_bias", params->unit_acceleration_bias_u_m_s2, 3},
        {"gauss_markov", params->gauss_markov_u[0], 3 * NUM_INSTABILITY_POLES},
        {"sine", params->sine_u[0], 3 * NUM_SINES},
        {"temperature_bias_quadratic", params->temperature_bias_quadratic_u_degc2, 3},
        {"temperature_bias_cubic", params->temperature_bias_cubic_u_degc3, 3},
        {"temperature_scale_factor_quadratic", params->temperature_scale_factor_quadratic_percent_degc2, 3},
        {"temperature_scale_factor_cubic", params->temperature_scale_factor_cubic_percent_degc3, 3},
    };
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        char sentence[160];
        if (largest(terms[i].values, terms[i].count) == 0.0) {
            continue;
        }
        (void)snprintf(sentence, sizeof sentence, "%s.%s is set, but law mavs has no such term: it is not applied",
                       num_triad_name(id), terms[i].name);
        host->warn(host->context, sentence);
    }
}

void num_params_warn(const struct oto_host *host, const struct num_law_params *law, enum num_triad_id id,
                     const struct num_triad_params *params)
{
    warn_slope(host, id, params);
    if (law->law == NUM_LAW_MAVS) {
        warn_unused(host, id, params);
    }
}

enum oto_status num_field_prepare(const struct oto_host *host, const struct oto_setup *setup,
                                  const double field_enu_ut[3], bool *own, struct oto_error *error)
{
    int unset = 0;
    for (int i = 0; i < 3; i++) {
        unset += field_enu_ut[i] == NUM_FIELD_WORLD;
    }
    *own = unset == 0;
    if (unset == 3) {
        return OTO_OK;
    }
    if (unset != 0 || largest(field_enu_ut, 3) > NUM_FIELD_MAX_UT) {
        return oto_fail(error, OTO_INVALID,
                        "magnetic_field_enu_ut = [%g, %g, %g]: expected world, or three numbers within +-%g uT",
                        field_enu_ut[0], field_enu_ut[1], field_enu_ut[2], NUM_FIELD_MAX_UT);
    }
    const oto_vec3 given = oto_vec3_from_array(field_enu_ut);
    if (oto_field_looks_like_ned(given, setup->mag_field_enu_ut)) {
        char sentence[256];
        (void)snprintf(
            sentence, sizeof sentence,
            "magnetic_field_enu_ut = [%g, %g, %g] looks like a field in NED axes and is taken as ENU; the same "
            "field in ENU axes would be [%g, %g, %g]",
            given.x, given.y, given.z, given.y, given.x, -given.z);
        host->warn(host->context, sentence);
    }
    return OTO_OK;
}
