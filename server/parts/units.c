#include "units.h"

#include <string.h>

#define A (1u << OTO_PART_ACCELEROMETER)
#define G (1u << OTO_PART_GYROSCOPE)
#define M (1u << OTO_PART_MAGNETOMETER)
#define ALL (A | G | M)

#define DEG (3.14159265358979323846 / 180.0)
#define G0 9.80665   /* m/s², CGPM 1901 */
#define GAUSS 100.0  /* µT */
#define HOUR 3600.0
#define RT_HOUR 60.0 /* √3600 */

/* Data sheets use two code points for micro (U+00B5, U+03BC) and two for degree (U+00B0, U+00BA). */
static const struct part_unit units[] = {
    {"°/s|º/s|°/sec|dps|deg/s", G, PART_PLAIN, DEG},
    {"mdps|m°/s", G, PART_PLAIN, DEG / 1e3},
    {"°/h|°/hr|deg/h", G, PART_PLAIN, DEG / HOUR},
    {"rad/s", G, PART_PLAIN, 1},
    {"°/s/√Hz|º/s/√Hz|°/sec/√Hz|dps/√Hz|deg/s/√Hz", G, PART_DENSITY, DEG},
    {"mdps/√Hz", G, PART_DENSITY, DEG / 1e3},
    {"°/h/√Hz|°/hr/√Hz", G, PART_DENSITY, DEG / HOUR},
    {"rad/s/√Hz", G, PART_DENSITY, 1},
    {"°/√h|°/√hr|deg/√h", G, PART_INTEGRATED, DEG / RT_HOUR},
    {"°/√s", G, PART_INTEGRATED, DEG},
    {"rad/√s", G, PART_INTEGRATED, 1},
    {"°/s-rms|º/s-rms|dps-rms", G, PART_RMS, DEG},
    {"mdps-rms", G, PART_RMS, DEG / 1e3},
    {"°/s/°C|dps/°C|°/s/K|dps/K", G, PART_SLOPE, DEG},
    {"mdps/°C|mdps/K", G, PART_SLOPE, DEG / 1e3},
    {"rad/s/°C", G, PART_SLOPE, 1},
    {"°/s/g|º/s/g|dps/g", G, PART_G_SENSITIVITY, DEG / G0},
    {"°/h/g|°/hr/g", G, PART_G_SENSITIVITY, DEG / HOUR / G0},
    {"rad/s/(m/s²)", G, PART_G_SENSITIVITY, 1},
    {"°/s/√s|°/s²/√Hz", G, PART_WALK, DEG},
    {"°/h/√h|°/hr/√hr", G, PART_WALK, DEG / HOUR / RT_HOUR},
    {"rad/s/√s|rad/s²/√Hz", G, PART_WALK, 1},
    {"°/s/LSB|dps/LSB", G, PART_DIGIT, DEG},
    {"mdps/LSB", G, PART_DIGIT, DEG / 1e3},
    {"rad/s/LSB", G, PART_DIGIT, 1},
    {"LSB/(°/s)|LSB/(º/s)|LSB/dps", G, PART_PER_UNIT, DEG},

    {"g|G", A, PART_PLAIN, G0},
    {"mg", A, PART_PLAIN, G0 / 1e3},
    {"µg|μg|ug", A, PART_PLAIN, G0 / 1e6},
    {"m/s²|m/s^2", A, PART_PLAIN, 1},
    {"µg/√Hz|μg/√Hz|ug/√Hz", A, PART_DENSITY, G0 / 1e6},
    {"mg/√Hz", A, PART_DENSITY, G0 / 1e3},
    {"m/s²/√Hz|m/s^2/√Hz", A, PART_DENSITY, 1},
    {"m/s/√h|m/s/√hr", A, PART_INTEGRATED, 1 / RT_HOUR},
    {"m/s/√s", A, PART_INTEGRATED, 1},
    {"mg-rms|mg(RMS)", A, PART_RMS, G0 / 1e3},
    {"µg-rms|μg-rms", A, PART_RMS, G0 / 1e6},
    {"mg/°C|mg/K", A, PART_SLOPE, G0 / 1e3},
    {"µg/°C|μg/°C|µg/K", A, PART_SLOPE, G0 / 1e6},
    {"m/s²/°C", A, PART_SLOPE, 1},
    {"m/s²/√s|m/s³/√Hz", A, PART_WALK, 1},
    {"µg/√s|μg/√s", A, PART_WALK, G0 / 1e6},
    {"mg/LSB", A, PART_DIGIT, G0 / 1e3},
    {"µg/LSB|μg/LSB", A, PART_DIGIT, G0 / 1e6},
    {"m/s²/LSB", A, PART_DIGIT, 1},
    {"LSB/g", A, PART_PER_UNIT, G0},

    {"µT|μT|uT", M, PART_PLAIN, 1},
    {"nT", M, PART_PLAIN, 1e-3},
    {"gauss|Gauss|G|Ga", M, PART_PLAIN, GAUSS},
    {"mG|mgauss|mGauss", M, PART_PLAIN, GAUSS / 1e3},
    {"µT/√Hz|μT/√Hz", M, PART_DENSITY, 1},
    {"nT/√Hz", M, PART_DENSITY, 1e-3},
    {"mG/√Hz|mgauss/√Hz", M, PART_DENSITY, GAUSS / 1e3},
    {"µG/√Hz|μG/√Hz", M, PART_DENSITY, GAUSS / 1e6},
    {"µT-rms|μT-rms", M, PART_RMS, 1},
    {"nT-rms", M, PART_RMS, 1e-3},
    {"mG-rms|mgauss-rms", M, PART_RMS, GAUSS / 1e3},
    {"µT/°C|μT/°C|µT/K", M, PART_SLOPE, 1},
    {"nT/°C|nT/K", M, PART_SLOPE, 1e-3},
    {"mG/°C|mgauss/°C", M, PART_SLOPE, GAUSS / 1e3},
    {"µT/√s", M, PART_WALK, 1},
    {"µT/LSB|μT/LSB", M, PART_DIGIT, 1},
    {"nT/LSB", M, PART_DIGIT, 1e-3},
    {"mG/LSB|mG/LSb|mgauss/LSB", M, PART_DIGIT, GAUSS / 1e3},
    {"LSB/µT|counts/µT", M, PART_PER_UNIT, 1},
    {"LSB/gauss|LSB/G|LSb/Gauss", M, PART_PER_UNIT, GAUSS},

    {"%", ALL, PART_PERCENT, 1},
    {"ppm", ALL, PART_PERCENT, 1e-4},
    {"mrad", ALL, PART_PERCENT, 0.1},     /* a small angle as 100 times its radians */
    {"°|º", ALL, PART_PERCENT, DEG * 100}, /* a small angle as 100 times its radians */
    {"%/°C|%/ºC|%/K", ALL, PART_PERCENT_SLOPE, 1},
    {"ppm/°C|ppm/K", ALL, PART_PERCENT_SLOPE, 1e-4},
    {"LSB", ALL, PART_COUNTS, 1},
    {"Hz", ALL, PART_FREQUENCY, 1},
    {"kHz", ALL, PART_FREQUENCY, 1e3},
};

static bool has_name(const char *names, const char *name)
{
    const size_t length = strlen(name);
    while (length > 0 && *names != '\0') {
        const size_t one = strcspn(names, "|");
        if (one == length && strncmp(names, name, length) == 0) {
            return true;
        }
        names += one + (names[one] == '|');
    }
    return false;
}

static bool fits(const struct part_unit *unit, enum oto_part_triad triad, unsigned quantities)
{
    return (unit->triads & (1u << triad)) != 0 && ((unsigned)unit->quantity & quantities) != 0;
}

const struct part_unit *part_unit_find(const char *name, enum oto_part_triad triad, unsigned quantities)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (fits(&units[i], triad, quantities) && has_name(units[i].names, name)) {
            return &units[i];
        }
    }
    return NULL;
}

void part_unit_list(enum oto_part_triad triad, unsigned quantities, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t length = strcspn(units[i].names, "|");
        if (!fits(&units[i], triad, quantities) || used + length + 3 > bytes) {
            continue;
        }
        used += (size_t)snprintf(text + used, bytes - used, "%s%.*s", used > 0 ? ", " : "", (int)length, units[i].names);
    }
}

double part_unit_convert(const struct part_unit *unit, double printed)
{
    return unit->quantity == PART_PER_UNIT ? unit->factor / printed : unit->factor * printed;
}
