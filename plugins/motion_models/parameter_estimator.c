/* The parameters of parameter_estimator: number of states and their initial values. */
#include "adapter.h"

struct params {
    struct num_estimator_constants constants;
    double initial[NUM_ESTIMATOR_MOST];
};
/* clang-format off */
static const struct oto_param params[] = {
    {.key = "count", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, constants.count),
     .minimum = 1, .maximum = NUM_ESTIMATOR_MOST, .default_value = 1, .unit = "", .text = "how many parameters there are"},
    NUM_ESTIMATOR_QUANTITIES(MODEL_INITIAL)
};
/* clang-format on */
MODEL_PLUGIN(parameter_estimator, "parameters that stay as they are", NUM_ESTIMATOR_QUANTITIES, OTO_MOTION_ANY_TIME,
             NULL, MODEL_EXACT)
