/* The parameters of constant_velocity: initial state. */
#include "adapter.h"

struct params {
    double initial[NUM_COUNT(NUM_CV_QUANTITIES)];
};
static const struct oto_param params[] = {NUM_CV_QUANTITIES(MODEL_INITIAL)};
MODEL_PLUGIN(constant_velocity, "constant velocity in the plane", NUM_CV_QUANTITIES, OTO_MOTION_ANY_TIME, NULL, MODEL_EXACT,
             MODEL_DERIVED(num_course_derived, NUM_COURSE_DERIVED))
