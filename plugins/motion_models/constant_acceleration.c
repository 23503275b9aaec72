/* The parameters of constant_acceleration: initial state. */
#include "adapter.h"

struct params {
    double initial[NUM_COUNT(NUM_CA_QUANTITIES)];
};
static const struct oto_param params[] = {NUM_CA_QUANTITIES(MODEL_INITIAL)};
MODEL_PLUGIN(constant_acceleration, "constant acceleration in the plane", NUM_CA_QUANTITIES, OTO_MOTION_ANY_TIME, NULL, MODEL_EXACT,
             MODEL_DERIVED(num_course_derived, NUM_COURSE_DERIVED))
