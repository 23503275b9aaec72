/* The parameters of kinematic_bicycle: vehicle, controls, initial state. */
#include "adapter.h"

struct params {
    struct num_bicycle_constants constants;
    double initial[NUM_COUNT(NUM_BICYCLE_QUANTITIES)];
};
/* clang-format off */
static const struct oto_param params[] = {
    MODEL_NUMBER("front_axle_m", "L_f", front_m, 0, 0.01, 100, 1.2, "m", "from the centre of gravity to the front axle"),
    MODEL_NUMBER("rear_axle_m", "L_r", rear_m, 0, 0, 100, 1.5, "m", "from the centre of gravity to the rear axle"),
    MODEL_NUMBER("steering_rad", "delta", steering_rad, OTO_PARAM_RUNTIME, -1.5, 1.5, 0, "rad", "of the front wheel, positive to the left"),
    MODEL_NUMBER("accel_m_s2", "ax", accel_m_s2, OTO_PARAM_RUNTIME, -100, 100, 0, "m/s^2", "rate of the speed along the path"),
    NUM_BICYCLE_QUANTITIES(MODEL_INITIAL)
};
/* clang-format on */
MODEL_PLUGIN(kinematic_bicycle, "bicycle without tyre slip, steered at the front wheel", NUM_BICYCLE_QUANTITIES, 0, NULL,
             MODEL_EXACT, MODEL_DERIVED(num_bicycle_derived, NUM_BICYCLE_DERIVED))
