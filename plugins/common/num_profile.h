/*
 * Profiles over s in [0, 1], by which a speed, a heading or a blend changes: polynomials with their exact derivatives
 * and integral. Pure functions, callable from any thread.
 */
#ifndef NUM_PROFILE_H
#define NUM_PROFILE_H

#include <stdint.h>

/*
 * UP is the integral of the quintic smoothstep 10s³ - 15s⁴ + 6s⁵, which rises from 0 to 1/2; DOWN is the integral of one
 * minus the smoothstep. BUMP is 256 s⁴(1 - s)⁴: it rises from 0 to 1 and returns, with three derivatives that vanish at
 * both ends. STEP is the smoothstep.
 */
enum num_profile {
    NUM_PROFILE_NONE = 0,
    NUM_PROFILE_STEADY = 1, /* s */
    NUM_PROFILE_UP = 2,
    NUM_PROFILE_DOWN = 3,
    NUM_PROFILE_BUMP = 4,
    NUM_PROFILE_STEP = 5,
    NUM_PROFILE_COUNT = 6
};

struct num_jet {
    double value, first, second, third; /* with respect to s */
};

struct num_jet num_profile_jet(uint32_t profile, double s);
double num_profile_value(uint32_t profile, double s);
/* The integral of the profile from 0 to s. */
double num_profile_integral(uint32_t profile, double s);
/* The exact integral of the profile from 0 to 1. */
double num_profile_end(uint32_t profile);

#endif
