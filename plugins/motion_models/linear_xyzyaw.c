/* The parameters of linear_xyzyaw: initial state. */
#include "adapter.h"

struct params {
    double initial[NUM_COUNT(NUM_XYZYAW_QUANTITIES)];
};
static const struct oto_param params[] = {NUM_XYZYAW_QUANTITIES(MODEL_INITIAL)};
MODEL_PLUGIN(linear_xyzyaw, "x, y, z and yaw, each with rate and acceleration", NUM_XYZYAW_QUANTITIES, OTO_MOTION_ANY_TIME, NULL, MODEL_EXACT)
