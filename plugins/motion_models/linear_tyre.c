/* The parameters of linear_tyre: vehicle, controls, initial state. */
#include "adapter.h"

struct params {
    struct num_tyre_constants constants;
    double initial[NUM_COUNT(NUM_TYRE_QUANTITIES)];
};

static const struct oto_named_value signs[] = {{"conventional", NUM_TYRE_CONVENTIONAL}, {"snippet", NUM_TYRE_SNIPPET}};

/* clang-format off */
static const struct oto_param params[] = {
    MODEL_NUMBER("front_axle_m", "L_f", front_m, 0, 0.01, 100, 1.2, "m", "from the centre of gravity to the front axle"),
    MODEL_NUMBER("rear_axle_m", "L_r", rear_m, 0, 0.01, 100, 1.5, "m", "from the centre of gravity to the rear axle"),
    MODEL_NUMBER("front_stiffness_n_rad", "C_f", front_stiffness_n_rad, 0, -1e7, 1e7, 80000, "N/rad", "cornering stiffness of the front axle; negative with sign_convention snippet"),
    MODEL_NUMBER("rear_stiffness_n_rad", "C_r", rear_stiffness_n_rad, 0, -1e7, 1e7, 90000, "N/rad", "cornering stiffness of the rear axle; negative with sign_convention snippet"),
    MODEL_NUMBER("mass_kg", "m", mass_kg, 0, 1, 1e6, 1500, "kg", "of the vehicle"),
    MODEL_NUMBER("yaw_inertia_kg_m2", "I", yaw_inertia_kg_m2, 0, 0.1, 1e7, 2500, "kg m^2", "about the centre of gravity"),
    MODEL_NUMBER("jerk_m_s3", "jx", jerk_m_s3, OTO_PARAM_RUNTIME, -1000, 1000, 0, "m/s^3", "rate of ax"),
    MODEL_NUMBER("steering_rate_rad_s", "delta_dot", steering_rate_rad_s, OTO_PARAM_RUNTIME, -10, 10, 0, "rad/s", "rate of delta"),
    MODEL_NUMBER("least_speed_m_s", NULL, least_speed_m_s, 0, 0.01, 100, 0.5, "m/s", "slip is taken over at least this speed, so that standstill is not singular"),
    {.key = "sign_convention", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, constants.sign),
     .minimum = 1, .maximum = 2, .default_value = NUM_TYRE_CONVENTIONAL, .unit = "", .names = signs, .name_count = 2,
     .text = "conventional: stiffness > 0, delta positive to the left; snippet: stiffness < 0, delta positive to the right"},
    NUM_TYRE_QUANTITIES(MODEL_INITIAL)
};
/* clang-format on */

static void warn(const struct oto_host *host, const void *block)
{
    const struct num_tyre_constants *c = block;
    const double sign = c->sign == NUM_TYRE_SNIPPET ? -1.0 : 1.0;
    char sentence[256];
    if (sign * c->front_stiffness_n_rad >= 0.0 && sign * c->rear_stiffness_n_rad >= 0.0) {
        return;
    }
    (void)snprintf(sentence, sizeof sentence,
                   "front_stiffness_n_rad = %g and rear_stiffness_n_rad = %g: with sign_convention %s they are %s, else "
                   "the tyres push the vehicle out of its course",
                   c->front_stiffness_n_rad, c->rear_stiffness_n_rad, sign > 0.0 ? "conventional" : "snippet",
                   sign > 0.0 ? "positive" : "negative");
    host->warn(host->context, sentence);
}

MODEL_PLUGIN(linear_tyre, "dynamic bicycle with linear tyres", NUM_TYRE_QUANTITIES, 0, warn,
             MODEL_DERIVED(num_tyre_derived, NUM_TYRE_DERIVED))
