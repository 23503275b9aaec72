/* The parameters of catr_box: initial state. */
#include "adapter.h"

struct params {
    double initial[NUM_COUNT(NUM_CATR_BOX_QUANTITIES)];
};
static const struct oto_param params[] = {NUM_CATR_BOX_QUANTITIES(MODEL_INITIAL)};
MODEL_PLUGIN(catr_box, "catr with the length and width of a box", NUM_CATR_BOX_QUANTITIES, OTO_MOTION_ANY_TIME, NULL, MODEL_EXACT)
