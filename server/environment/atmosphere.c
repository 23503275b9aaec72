#include "otolith/environment.h"

/* Constants of ICAO Doc 7488/3; the layers below are from it too. */
#define EARTH_RADIUS_M 6356766.0
#define GAS_CONSTANT_J_KG_K 287.05287
#define SEA_LEVEL_K 288.15
#define SEA_LEVEL_PA 101325.0
#define ICE_POINT_K 273.15

/* The layers by geopotential altitude. In each, the temperature is a linear function of the altitude. */
static const struct {
    double top_m, lapse_k_m;
} layers[] = {{11000.0, -6.5e-3}, {20000.0, 0.0},     {32000.0, 1.0e-3}, {47000.0, 2.8e-3},
              {51000.0, 0.0},     {71000.0, -2.8e-3}, {80000.0, -2.0e-3}};
enum { LAYERS = sizeof layers / sizeof *layers };

/* Ratio of the pressures at two altitudes of one layer: hydrostatic equation with the ideal gas law. */
static double pressure_ratio(double base_k, double lapse_k_m, double rise_m)
{
    const double k = OTO_STANDARD_GRAVITY_M_S2 / GAS_CONSTANT_J_KG_K;
    if (lapse_k_m == 0.0) {
        return oto_exp(-k * rise_m / base_k);
    }
    return oto_pow(1.0 + lapse_k_m * rise_m / base_k, -k / lapse_k_m);
}

static double geopotential(double altitude_m)
{
    return EARTH_RADIUS_M * altitude_m / (EARTH_RADIUS_M + altitude_m);
}

enum oto_status oto_isa(double altitude_m, struct oto_air *air, struct oto_error *error)
{
    if (!(altitude_m >= OTO_ISA_MIN_ALTITUDE_M && altitude_m <= OTO_ISA_MAX_ALTITUDE_M)) {
        return oto_fail(error, OTO_RANGE,
                        "the standard atmosphere is not defined at %.10g m: expected %.10g to %.10g m", altitude_m,
                        OTO_ISA_MIN_ALTITUDE_M, OTO_ISA_MAX_ALTITUDE_M);
    }
    const double geopotential_m = geopotential(altitude_m);
    double base_m = 0.0, base_k = SEA_LEVEL_K, pressure_pa = SEA_LEVEL_PA;
    size_t i = 0;
    for (; geopotential_m > layers[i].top_m; i++) {
        pressure_pa *= pressure_ratio(base_k, layers[i].lapse_k_m, layers[i].top_m - base_m);
        base_k += layers[i].lapse_k_m * (layers[i].top_m - base_m);
        base_m = layers[i].top_m;
    }
    air->pressure_pa = pressure_pa * pressure_ratio(base_k, layers[i].lapse_k_m, geopotential_m - base_m);
    air->temperature_degc = base_k + layers[i].lapse_k_m * (geopotential_m - base_m) - ICE_POINT_K;
    return OTO_OK;
}

static double geopotential_within(double altitude_m)
{
    const double least_m = altitude_m > OTO_ISA_MIN_ALTITUDE_M ? altitude_m : OTO_ISA_MIN_ALTITUDE_M;
    return geopotential(least_m < OTO_ISA_MAX_ALTITUDE_M ? least_m : OTO_ISA_MAX_ALTITUDE_M);
}

/* The layer that contains the altitude; at a border the upper layer. */
static int layer_of(double geopotential_m)
{
    int layer = 0;
    while (layer < LAYERS - 1 && geopotential_m >= layers[layer].top_m) {
        layer++;
    }
    return layer;
}

struct oto_air oto_isa_from(double known_altitude_m, struct oto_air known, double altitude_m)
{
    const double end_m = geopotential_within(altitude_m);
    double at_m = geopotential_within(known_altitude_m), at_k = known.temperature_degc + ICE_POINT_K;
    int layer = layer_of(at_m);
    const int last = layer_of(end_m), step = last < layer ? -1 : 1;
    for (;; layer += step) {
        const double to_m = layer == last ? end_m : layers[step > 0 ? layer : layer - 1].top_m;
        known.pressure_pa *= pressure_ratio(at_k, layers[layer].lapse_k_m, to_m - at_m);
        at_k += layers[layer].lapse_k_m * (to_m - at_m);
        at_m = to_m;
        if (layer == last) {
            break;
        }
    }
    known.temperature_degc = at_k - ICE_POINT_K;
    return known;
}
