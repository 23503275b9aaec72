/* The parameters of linear_xyzrpy: initial state. */
#include "adapter.h"

struct params {
    double initial[NUM_COUNT(NUM_XYZRPY_QUANTITIES)];
};
static const struct oto_param params[] = {NUM_XYZRPY_QUANTITIES(MODEL_INITIAL)};
MODEL_PLUGIN(linear_xyzrpy, "position and fixed-axis angles, each with rate and acceleration", NUM_XYZRPY_QUANTITIES, OTO_MOTION_ANY_TIME, NULL, MODEL_EXACT)
