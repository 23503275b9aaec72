/* The parameters of linear_xyyaw: initial state. */
#include "adapter.h"

struct params {
    double initial[NUM_COUNT(NUM_XYYAW_QUANTITIES)];
};
static const struct oto_param params[] = {NUM_XYYAW_QUANTITIES(MODEL_INITIAL)};
MODEL_PLUGIN(linear_xyyaw, "x, y and yaw, each with rate and acceleration", NUM_XYYAW_QUANTITIES, OTO_MOTION_ANY_TIME, NULL, MODEL_EXACT)
