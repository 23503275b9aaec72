/* The parameters of catr: initial state. */
#include "adapter.h"

struct params {
    double initial[NUM_COUNT(NUM_CATR_QUANTITIES)];
};
static const struct oto_param params[] = {NUM_CATR_QUANTITIES(MODEL_INITIAL)};
MODEL_PLUGIN(catr, "constant acceleration along the heading and turn rate", NUM_CATR_QUANTITIES, OTO_MOTION_ANY_TIME, NULL, MODEL_EXACT)
