/*
 * Warnings about implausible parameters of a sensor. The plugins themselves warn about thermal slopes and a field in
 * NED axes. [loop]
 */
#include <math.h>
#include <string.h>

#include "private.h"

enum { MOST_AXES = 3, KEY_BYTES = 96 };

/*
 * The warning limit is 18 times the worst part of the library (a test checks these numbers). A misplaced decimal point
 * gives a factor of 10, degrees taken for radians 57, milli units 1000.
 */
#define WORST_FACTOR 18.0
static const struct {
    double worst_u_rthz;
    const char *origin;
} worst_density[OTO_PART_TRIADS] = {
    {400 * 9.80665e-6, "MPU-6050, 400 µg/√Hz"},
    {0.015 * 3.14159265358979323846 / 180, "ICM-20948, 0.015 °/s/√Hz"},
    {1.4 / 2.23606797749978969641, "BMM150 in its low-power preset, 1.4 µT rms at 10 Hz"},
};

/* Smallest useful ranges. The weakest field of the Earth's surface, in the South Atlantic, is about 22 µT. */
static const struct {
    double least_u;
    const char *why;
} least_range[OTO_PART_TRIADS] = {
    {9.80665, "less than 1 g: at rest an axis that points up is saturated"},
    {7.292115e-5, "less than the rate of the Earth: is it in another unit?"},
    {22, "less than the weakest field on the Earth: every sample is saturated"},
};

double oto_implausible_density_u_rthz(enum oto_part_triad triad)
{
    return WORST_FACTOR * worst_density[triad].worst_u_rthz;
}

struct checking {
    const struct oto_plugin_descriptor *descriptor;
    const struct oto_params *params;
    oto_warn_function warn;
    void *warn_context;
    enum oto_part_triad triad;
    char key[KEY_BYTES]; /* key that was read last */
};

/* The largest magnitude among a parameter's elements; 0 if the plugin does not have the parameter. */
static double largest(struct checking *checking, const char *term, const char *ending)
{
    double most = 0, element;
    (void)snprintf(checking->key, sizeof checking->key, "%s.%s_%s%s", oto_part_triad_name(checking->triad), term,
                   part_triad_key(checking->triad), ending);
    const struct oto_param *param = oto_param_find(checking->descriptor, checking->key);
    for (uint32_t i = 0; param != NULL && param->type == OTO_PARAM_F64 && i < param->count && i < MOST_AXES; i++) {
        memcpy(&element, (const uint8_t *)checking->params->block + param->offset + 8 * (size_t)i, sizeof element);
        most = fabs(element) > most ? fabs(element) : most;
    }
    return most;
}

static void say(const struct checking *checking, double value, const char *ending, const char *why)
{
    char sentence[300];
    (void)snprintf(sentence, sizeof sentence, "%s = %g %s%s is %s", checking->key, value,
                   oto_part_triad_unit(checking->triad), ending, why);
    checking->warn(checking->warn_context, sentence);
}

static void check_density(struct checking *checking)
{
    const double density = largest(checking, "noise_density", "_rthz");
    char why[200];
    if (density < oto_implausible_density_u_rthz(checking->triad) * (1 - 1e-12)) {
        return;
    }
    (void)snprintf(why, sizeof why, "%.0f times that of the noisiest part in the library (%s): is it in another unit?",
                   density / worst_density[checking->triad].worst_u_rthz, worst_density[checking->triad].origin);
    say(checking, density, "/√Hz", why);
}

/* A bias larger than the range saturates its axis permanently. */
static void check_bias(struct checking *checking, double range)
{
    static const char *const terms[] = {"constant_bias", "turn_on_bias", "unit_bias", "bias_instability"};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        const double bias = largest(checking, terms[i], "");
        if (range > 0 && bias > range) {
            char why[120];
            (void)snprintf(why, sizeof why, "larger than the range of ±%g: the axis is always saturated", range);
            say(checking, bias, "", why);
        }
    }
}

static void check_triad(struct checking *checking)
{
    const double digit = largest(checking, "resolution", "");
    const double range = largest(checking, "measurement_range", "");
    if (range > 0 && range < least_range[checking->triad].least_u) {
        say(checking, range, "", least_range[checking->triad].why);
    }
    if (range > 0 && digit > range) {
        say(checking, range, "", "less than the resolution: every sample is 0");
    }
    check_bias(checking, range);
    check_density(checking);
}

void oto_params_check_plausible(const struct oto_plugin_descriptor *descriptor, const struct oto_params *params,
                                oto_warn_function warn, void *warn_context)
{
    struct checking checking = {descriptor, params, warn, warn_context, OTO_PART_ACCELEROMETER, ""};
    for (int triad = 0; warn != NULL && triad < OTO_PART_TRIADS; triad++) {
        checking.triad = (enum oto_part_triad)triad;
        check_triad(&checking);
    }
}
