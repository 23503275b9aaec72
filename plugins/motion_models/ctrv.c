/* The parameters of ctrv: initial state. */
#include "adapter.h"

struct params {
    double initial[NUM_COUNT(NUM_CTRV_QUANTITIES)];
};
static const struct oto_param params[] = {NUM_CTRV_QUANTITIES(MODEL_INITIAL)};
MODEL_PLUGIN(ctrv, "constant turn rate and speed", NUM_CTRV_QUANTITIES, OTO_MOTION_ANY_TIME, NULL, MODEL_EXACT)
