/*
 * The Allan deviation of a triad beyond what its documents show. Pure.
 *
 * A data sheet prints white noise, often a floor, and seldom the averaging times at which they hold. White noise alone falls
 * with 1/√τ for ever, which no inertial sensor does; a floor alone has no noise from sample to sample. The default adds the
 * missing one. The deviation becomes flat where the two meet, at OTO_PART_MEET_S; where the documents show white noise to
 * longer averaging times, at ten times the longest, so that the shown deviations change by 5 % at most. It does not rise: a
 * random walk would be a number without any document.
 */
#include <math.h>
#include <string.h>

#include "private.h"

#define RT2 1.41421356237309504880
#define BEYOND_KNOWN 10.0

static double known_of(const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    double known_s = 0.0;
    for (uint32_t i = 0; i < mode->number_count; i++) {
        if (mode->numbers[i].triad == triad) {
            known_s = fmax(known_s, mode->numbers[i].known_s[1]);
        }
    }
    return known_s;
}

static bool any_of(const double axes[3])
{
    return axes[0] > 0.0 || axes[1] > 0.0 || axes[2] > 0.0;
}

void oto_part_curve(const struct oto_part_mode *mode, enum oto_part_triad triad, struct oto_part_curve *curve)
{
    struct oto_part_noise noise;
    oto_part_noise(mode, triad, &noise);
    memset(curve, 0, sizeof *curve);
    curve->known_s = known_of(mode, triad);
    curve->meet_s = OTO_PART_MEET_S;
    if (triad == OTO_PART_MAGNETOMETER || part_markov(mode, triad) != NULL) {
        return; /* no magnetometer of the library has a floor to take a default from */
    }
    /* noise that is stated for one sample has another density at each rate */
    curve->default_floor =
        any_of(noise.white_u_rthz) && !noise.has_rms && !noise.has_instability && !noise.has_walk;
    curve->default_white = any_of(noise.instability_u) && !noise.has_white && !noise.has_rms;
    if (curve->default_floor && curve->known_s > 0.0) {
        curve->meet_s = BEYOND_KNOWN * curve->known_s;
    }
    for (int axis = 0; axis < 3 && curve->default_floor; axis++) {
        curve->value_u[axis] = noise.white_u_rthz[axis] / RT2 / sqrt(curve->meet_s) / OTO_PART_ALLAN_FLOOR;
    }
    for (int axis = 0; axis < 3 && curve->default_white; axis++) {
        curve->value_u[axis] = noise.instability_u[axis] * OTO_PART_ALLAN_FLOOR * sqrt(curve->meet_s) * RT2;
    }
}
