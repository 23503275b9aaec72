/* The parameters of rigid_body_6dof: body, forces and moments, initial state. */
#include "adapter.h"

struct params {
    struct num_body_constants constants;
    double initial[NUM_COUNT(NUM_BODY_QUANTITIES)];
};
/* clang-format off */
static const struct oto_param params[] = {
    MODEL_NUMBER("mass_kg", NULL, mass_kg, 0, 1e-6, 1e9, 1, "kg", "of the body"),
    MODEL_VECTOR("inertia_kg_m2", inertia_kg_m2, OTO_PARAM_SCALAR_FILLS, 1e-12, 1e12, 1, "kg m^2", "principal moments of inertia about body x, y, z"),
    MODEL_VECTOR("force_body_n", force_body_n, OTO_PARAM_RUNTIME, 0, 0, 0, "N", "force that turns with the body, as thrust"),
    MODEL_VECTOR("force_enu_n", force_enu_n, OTO_PARAM_RUNTIME, 0, 0, 0, "N", "force that does not turn, as wind"),
    MODEL_VECTOR("moment_body_nm", moment_body_nm, OTO_PARAM_RUNTIME, 0, 0, 0, "N m", "moment about the centre of gravity"),
    MODEL_VECTOR("gravity_enu_m_s2", gravity_enu_m_s2, 0, 0, 0, 0, "m/s^2", "acceleration that acts on the free body, as 0, 0, -9.81"),
    MODEL_NUMBER("step_s", NULL, step_s, 0, 1e-6, 1, 0.001, "s", "longest step of the integrator"),
    NUM_BODY_QUANTITIES(MODEL_INITIAL)
};
/* clang-format on */
MODEL_PLUGIN(rigid_body_6dof, "rigid body under forces and moments", NUM_BODY_QUANTITIES, 0, NULL, .flags = 0)
