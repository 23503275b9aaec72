/* The parameters of linear_xyz: initial state. */
#include "adapter.h"

struct params {
    double initial[NUM_COUNT(NUM_XYZ_QUANTITIES)];
};
static const struct oto_param params[] = {NUM_XYZ_QUANTITIES(MODEL_INITIAL)};
MODEL_PLUGIN(linear_xyz, "x, y and z, each with rate and acceleration", NUM_XYZ_QUANTITIES, OTO_MOTION_ANY_TIME, NULL, MODEL_EXACT)
