/* The parameters of linear_xy: initial state. */
#include "adapter.h"

struct params {
    double initial[NUM_COUNT(NUM_CA_QUANTITIES)];
};
static const struct oto_param params[] = {NUM_CA_QUANTITIES(MODEL_INITIAL)};
MODEL_PLUGIN(linear_xy, "x and y, each with rate and acceleration", NUM_CA_QUANTITIES, OTO_MOTION_ANY_TIME, NULL, MODEL_EXACT)
