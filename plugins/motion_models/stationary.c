/* The parameters of stationary: initial state. */
#include "adapter.h"

struct params {
    double initial[NUM_COUNT(NUM_STATIONARY_QUANTITIES)];
};
static const struct oto_param params[] = {NUM_STATIONARY_QUANTITIES(MODEL_INITIAL)};
MODEL_PLUGIN(stationary, "nothing moves", NUM_STATIONARY_QUANTITIES, OTO_MOTION_ANY_TIME, NULL, MODEL_EXACT)
