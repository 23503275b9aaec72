/* The adapter of the multirotor to the plugin ABI: parameter table, controls, truth. */
#include "otolith/controls.h"

#include <string.h>

#include "multirotor.h"
#include "otolith/detmath.h"

#define GAS_CONSTANT_AIR 287.05287 /* J/(kg K), standard atmosphere */
#define MOST_STEPS_A_TICK 200.0

struct rotor_params {
    double position_body_m[3];
    int64_t spin;
};

struct params {
    double mass_kg, inertia_kg_m2[3];
    double arm_m, max_thrust_n, max_speed_rad_s, torque_per_thrust_m, rotor_lag_s, rotor_inertia_kg_m2;
    double drag_area_m2[3], rotor_drag_kg_s, angular_damping_nm_s, wind_enu_m_s[3];
    double ground_height_m, stiffness_n_m, damping_n_s_m, friction;
    int64_t initial_on_ground;
    double initial_position_enu_m[3], initial_rpy_deg[3], initial_velocity_enu_m_s[3], initial_command;
    uint64_t rotor_count;
    struct rotor_params rotors[MULTIROTOR_MOST_ROTORS];
    uint64_t foot_count;
    double feet[MULTIROTOR_MOST_FEET][3];
};

static const struct oto_named_value spins[] = {{"ccw", 1}, {"cw", -1}};

/* clang-format off */
#define NUMBER(key_, member_, count_, flags_, min_, max_, default_, unit_, text_) \
    {.key = key_, .type = OTO_PARAM_F64, .count = count_, .offset = OTO_PARAM_AT(struct params, member_), \
     .flags = flags_, .minimum = min_, .maximum = max_, .default_value = default_, .unit = unit_, .text = text_}

static const struct oto_param rotor_params[] = {
    {.key = "position_body_m", .type = OTO_PARAM_F64, .count = 3, .offset = OTO_PARAM_AT(struct rotor_params, position_body_m),
     .flags = OTO_PARAM_REQUIRED, .minimum = -10, .maximum = 10, .unit = "m", .text = "hub from the centre of gravity: forward, left, up"},
    {.key = "spin", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct rotor_params, spin), .default_value = 1,
     .minimum = -1, .maximum = 1, .unit = "", .names = spins, .name_count = 2, .text = "direction seen from above"},
};
static const struct oto_param foot_params[] = {
    {.key = "position_body_m", .type = OTO_PARAM_F64, .count = 3, .offset = 0, .flags = OTO_PARAM_REQUIRED, .minimum = -10, .maximum = 10,
     .unit = "m", .text = "contact point from the centre of gravity"},
};

static const struct oto_param params[] = {
    NUMBER("mass_kg", mass_kg, 1, 0, 0.01, 1000, 1.5, "kg", "of the vehicle"),
    NUMBER("inertia_kg_m2", inertia_kg_m2, 3, OTO_PARAM_SCALAR_FILLS, 1e-6, 1000, 0.029, "kg m^2", "principal moments of inertia about body x, y, z"),
    NUMBER("arm_m", arm_m, 1, 0, 0.02, 5, 0.25, "m", "without `rotors`: from the centre of gravity to each hub of a quadrotor X"),
    NUMBER("max_thrust_n", max_thrust_n, 1, 0, 0.01, 5000, 8, "N", "of one rotor at the command 1"),
    NUMBER("max_speed_rad_s", max_speed_rad_s, 1, 0, 1, 10000, 1000, "rad/s", "of a rotor at the command 1"),
    NUMBER("torque_per_thrust_m", torque_per_thrust_m, 1, 0, 0, 1, 0.016, "N m/N", "reaction torque of a rotor about its axis, of its thrust"),
    NUMBER("rotor_lag_s", rotor_lag_s, 1, 0, 0.001, 10, 0.02, "s", "time constant from command to speed"),
    NUMBER("rotor_inertia_kg_m2", rotor_inertia_kg_m2, 1, 0, 0, 10, 2e-5, "kg m^2", "of one rotor with its motor, about the axis"),
    NUMBER("drag_area_m2", drag_area_m2, 3, OTO_PARAM_SCALAR_FILLS, 0, 100, 0.01, "m^2", "area times drag coefficient, seen along body x, y, z"),
    NUMBER("rotor_drag_kg_s", rotor_drag_kg_s, 1, 0, 0, 1000, 0.1, "N/(m/s)", "drag of the rotors across their axes, at full speed"),
    NUMBER("angular_damping_nm_s", angular_damping_nm_s, 1, 0, 0, 1000, 0.003, "N m/(rad/s)", "moment against the angular rate"),
    NUMBER("wind_enu_m_s", wind_enu_m_s, 3, OTO_PARAM_RUNTIME, -100, 100, 0, "m/s", "velocity of the air"),
    NUMBER("ground.height_m", ground_height_m, 1, 0, -1e5, 1e5, 0, "m", "z of the level ground"),
    NUMBER("ground.stiffness_n_m", stiffness_n_m, 1, 0, 1, 1e6, 2000, "N/m", "of each contact point"),
    NUMBER("ground.damping_n_s_m", damping_n_s_m, 1, 0, 0, 1e5, 20, "N s/m", "of each contact point"),
    NUMBER("ground.friction", friction, 1, 0, 0, 10, 0.7, "", "coefficient of Coulomb friction"),
    {.key = "initial.on_ground", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct params, initial_on_ground), .maximum = 1,
     .default_value = 1, .unit = "", .text = "true: stands on its feet, level and at rest, at x, y and yaw of initial.*; false: the whole initial state"},
    NUMBER("initial.position_enu_m", initial_position_enu_m, 3, 0, -1e7, 1e7, 0, "m", "position at time zero"),
    NUMBER("initial.rpy_deg", initial_rpy_deg, 3, 0, -360, 360, 0, "deg", "fixed-axis roll, pitch, yaw at time zero"),
    NUMBER("initial.velocity_enu_m_s", initial_velocity_enu_m_s, 3, 0, -1000, 1000, 0, "m/s", "velocity at time zero"),
    NUMBER("initial.command", initial_command, 1, 0, 0, 1, 0, "", "command of every rotor until the first controls; its speed at time zero"),
    {.key = "rotors", .type = OTO_PARAM_LIST, .count = MULTIROTOR_MOST_ROTORS, .offset = OTO_PARAM_AT(struct params, rotor_count), .unit = "",
     .text = "four to eight, rotor N turns by control N; none: a quadrotor X as PX4 and ArduPilot number it", .items = rotor_params,
     .item_count = sizeof rotor_params / sizeof *rotor_params, .item_bytes = sizeof(struct rotor_params)},
    {.key = "feet", .type = OTO_PARAM_LIST, .count = MULTIROTOR_MOST_FEET, .offset = OTO_PARAM_AT(struct params, foot_count), .unit = "",
     .text = "at most eight; none: four at 0.15 m to each side and 0.1 m below. The hubs touch the ground too", .items = foot_params,
     .item_count = sizeof foot_params / sizeof *foot_params, .item_bytes = 3 * sizeof(double)},
};
/* clang-format on */

_Static_assert(offsetof(struct params, rotors) == offsetof(struct params, rotor_count) + sizeof(uint64_t) &&
                   offsetof(struct params, feet) == offsetof(struct params, foot_count) + sizeof(uint64_t),
               "a list is its length, then its items");

/* The state at both ends of the last tick, and the commands of that tick. */
struct motion_state {
    struct multirotor_state start, end;
    struct oto_instant start_at, end_at;
    double commands[MULTIROTOR_MOST_ROTORS]; /* for the following ticks */
    double commands_of_tick[MULTIROTOR_MOST_ROTORS];
};

struct prepared {
    struct multirotor vehicle;
    uint32_t foot_count;
};

/* ---- preparation ---- */

/* Places four rotors: 1 front right, 2 rear left, both counter-clockwise; 3 front left, 4 rear right, both clockwise. */
static void make_quadrotor(double arm_m, struct multirotor *vehicle)
{
    const double along_m = arm_m * oto_sqrt(0.5);
    const double x[] = {along_m, -along_m, along_m, -along_m}, y[] = {-along_m, along_m, along_m, -along_m};
    vehicle->rotor_count = 4;
    for (uint32_t i = 0; i < 4; i++) {
        vehicle->rotors[i] = (struct multirotor_rotor){oto_vec3_make(x[i], y[i], 0.02), i < 2 ? 1.0 : -1.0};
    }
}

static void make_rotors(const struct params *p, struct multirotor *vehicle)
{
    if (p->rotor_count == 0) {
        make_quadrotor(p->arm_m, vehicle);
        return;
    }
    vehicle->rotor_count = (uint32_t)p->rotor_count;
    for (uint32_t i = 0; i < vehicle->rotor_count; i++) {
        vehicle->rotors[i] = (struct multirotor_rotor){oto_vec3_from_array(p->rotors[i].position_body_m), (double)p->rotors[i].spin};
    }
}

static void make_ground(const struct params *p, struct prepared *prepared)
{
    static const oto_vec3 feet[] = {{0.15, 0.15, -0.1}, {0.15, -0.15, -0.1}, {-0.15, 0.15, -0.1}, {-0.15, -0.15, -0.1}};
    struct multirotor_ground *ground = &prepared->vehicle.ground;
    *ground = (struct multirotor_ground){.height_m = p->ground_height_m, .stiffness_n_m = p->stiffness_n_m,
                                         .damping_n_s_m = p->damping_n_s_m, .friction = p->friction};
    prepared->foot_count = p->foot_count > 0 ? (uint32_t)p->foot_count : 4;
    for (uint32_t i = 0; i < prepared->foot_count; i++) {
        ground->contacts_body_m[i] = p->foot_count > 0 ? oto_vec3_from_array(p->feet[i]) : feet[i];
    }
    for (uint32_t i = 0; i < prepared->vehicle.rotor_count; i++) {
        ground->contacts_body_m[prepared->foot_count + i] = prepared->vehicle.rotors[i].position_body_m;
    }
    ground->contact_count = prepared->foot_count + prepared->vehicle.rotor_count;
}

static double tick_s(const struct oto_setup *setup)
{
    return (double)setup->base_rate_den / (double)setup->base_rate_num;
}

static enum oto_status check(const struct oto_setup *setup, const struct params *p, struct prepared *prepared, struct oto_error *error)
{
    const char *fastest;
    if (p->rotor_count > 0 && p->rotor_count < 4) {
        return oto_fail(error, OTO_INVALID, "rotors: %llu are given; 4 to 8 are accepted, or none for a quadrotor X",
                        (unsigned long long)p->rotor_count);
    }
    for (uint32_t i = 0; i < p->rotor_count; i++) {
        if (p->rotors[i].spin == 0) {
            return oto_fail(error, OTO_INVALID, "rotors[%u].spin: 0 is given; ccw (1) or cw (-1) is accepted", i);
        }
    }
    prepared->vehicle.longest_step_s = multirotor_longest_step_s(&prepared->vehicle, &fastest);
    if (tick_s(setup) > MOST_STEPS_A_TICK * prepared->vehicle.longest_step_s) {
        return oto_fail(error, OTO_RANGE, "%s: this vehicle moves so fast that a tick of %g s needs more than %g steps; make it slower or clock.rate_hz higher",
                        fastest, tick_s(setup), MOST_STEPS_A_TICK);
    }
    return OTO_OK;
}

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block, const void **data,
                               struct oto_error *error)
{
    const struct params *p = block;
    struct prepared *prepared = host->alloc(host->context, sizeof *prepared);
    if (prepared == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu bytes of prepared data", sizeof *prepared);
    }
    prepared->vehicle = (struct multirotor){.mass_kg = p->mass_kg,
                                            .inertia_kg_m2 = oto_vec3_from_array(p->inertia_kg_m2),
                                            .thrust_n_s2 = p->max_thrust_n / (p->max_speed_rad_s * p->max_speed_rad_s),
                                            .max_speed_rad_s = p->max_speed_rad_s,
                                            .torque_per_thrust_m = p->torque_per_thrust_m,
                                            .rotor_lag_s = p->rotor_lag_s,
                                            .rotor_inertia_kg_m2 = p->rotor_inertia_kg_m2,
                                            .drag_area_m2 = oto_vec3_from_array(p->drag_area_m2),
                                            .rotor_drag_kg_s = p->rotor_drag_kg_s,
                                            .angular_damping_nm_s = p->angular_damping_nm_s,
                                            .air_density_kg_m3 = setup->pressure_pa / (GAS_CONSTANT_AIR * (setup->temperature_degc + 273.15)),
                                            .gravity_enu_m_s2 = setup->gravity_enu_m_s2,
                                            .wind_enu_m_s = oto_vec3_from_array(p->wind_enu_m_s)};
    make_rotors(p, &prepared->vehicle);
    make_ground(p, prepared);
    *data = prepared;
    const enum oto_status status = check(setup, p, prepared, error);
    if (status == OTO_OK && multirotor_hover_command(&prepared->vehicle) > 1.0) {
        host->warn(host->context, "max_thrust_n: the rotors cannot carry the weight of mass_kg");
    }
    return status;
}

/* ---- the state ---- */

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    const struct params *p = instance->params;
    const struct prepared *prepared = instance->data;
    struct motion_state *state = instance->state;
    struct multirotor_state *body = &state->end;
    const double level = p->initial_on_ground != 0 ? 0.0 : 1.0;
    (void)error;
    body->position_enu_m = oto_vec3_from_array(p->initial_position_enu_m);
    body->q_enu_from_body = oto_quat_from_rpy(level * p->initial_rpy_deg[0] * OTO_DEG, level * p->initial_rpy_deg[1] * OTO_DEG,
                                              p->initial_rpy_deg[2] * OTO_DEG);
    body->velocity_enu_m_s = oto_vec3_scale(oto_vec3_from_array(p->initial_velocity_enu_m_s), level);
    if (p->initial_on_ground != 0) {
        body->position_enu_m.z = multirotor_rest_height_m(&prepared->vehicle, prepared->foot_count);
    }
    for (uint32_t i = 0; i < prepared->vehicle.rotor_count; i++) {
        state->commands[i] = p->initial_command;
        body->rotor_speed_rad_s[i] = p->initial_command * prepared->vehicle.max_speed_rad_s;
    }
    multirotor_ground_settle(&prepared->vehicle, body);
    state->start = state->end;
    memcpy(state->commands_of_tick, state->commands, sizeof state->commands);
    return OTO_OK;
}

static bool is_usable(const struct multirotor_state *state)
{
    return oto_vec3_is_finite(state->position_enu_m) && oto_vec3_is_finite(state->velocity_enu_m_s) &&
           oto_vec3_is_finite(state->angular_rate_body_rad_s) && oto_quat_is_unit(state->q_enu_from_body, 1e-6);
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    const struct prepared *prepared = instance->data;
    struct motion_state *state = instance->state;
    state->start = state->end;
    state->start_at = state->end_at;
    state->end_at = now->at;
    memcpy(state->commands_of_tick, state->commands, sizeof state->commands);
    multirotor_advance(&prepared->vehicle, state->commands, tick_s(instance->setup), &state->end);
    return is_usable(&state->end) ? OTO_STEP_OK : OTO_STEP_ERROR;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    const struct motion_state *state = instance->state;
    return is_usable(&state->end) ? OTO_OK : OTO_INVALID;
}

/* Stores the controls; they apply from the next tick on, until new controls arrive. */
static void control(const struct oto_instance *instance, const double *values, uint32_t count)
{
    const struct prepared *prepared = instance->data;
    struct motion_state *state = instance->state;
    for (uint32_t i = 0; i < prepared->vehicle.rotor_count && i < count; i++) {
        state->commands[i] = values[i] < 0.0 ? 0.0 : values[i] > 1.0 ? 1.0 : values[i];
    }
}

/* ---- the truth ---- */

static void truth_of(const struct multirotor *vehicle, const struct multirotor_state *body, const double *commands,
                     struct oto_truth_record *truth)
{
    struct multirotor_rates rates;
    multirotor_rates_at(vehicle, body, commands, &rates);
    *truth = (struct oto_truth_record){.position_enu_m = body->position_enu_m,
                                       .velocity_enu_m_s = body->velocity_enu_m_s,
                                       .accel_enu_m_s2 = rates.accel_enu_m_s2,
                                       .q_enu_from_body = body->q_enu_from_body,
                                       .angular_rate_body_rad_s = body->angular_rate_body_rad_s,
                                       .angular_accel_body_rad_s2 = rates.angular_accel_body_rad_s2};
    truth->longitudinal_speed_m_s = oto_quat_rotate_inv(truth->q_enu_from_body, truth->velocity_enu_m_s).x;
}

static enum oto_step_status evaluate(const struct oto_instance *instance, struct oto_instant at, struct oto_truth_record *truth)
{
    const struct prepared *prepared = instance->data;
    const struct motion_state *state = instance->state;
    const bool is_end = !oto_instant_is_before(at, state->end_at);
    struct multirotor_state body = is_end ? state->end : state->start;
    if (!is_end) {
        multirotor_advance(&prepared->vehicle, state->commands_of_tick, oto_instant_span_ns(state->start_at, at) * 1e-9, &body);
    }
    truth_of(&prepared->vehicle, &body, state->commands_of_tick, truth);
    return is_usable(&body) ? OTO_STEP_OK : OTO_STEP_ERROR;
}

/*
 * Continues another motion: pose and velocity are those of its truth; the rotors turn as in hovering, or at full speed if
 * hovering needs more.
 */
static enum oto_status adopt(const struct oto_instance *instance, const struct oto_truth_record *truth, struct oto_instant at)
{
    const struct prepared *prepared = instance->data;
    struct motion_state *state = instance->state;
    const double hover = multirotor_hover_command(&prepared->vehicle);
    const double command = hover < 1.0 ? hover : 1.0;
    state->end = (struct multirotor_state){.position_enu_m = truth->position_enu_m,
                                           .velocity_enu_m_s = truth->velocity_enu_m_s,
                                           .q_enu_from_body = oto_quat_normalize(truth->q_enu_from_body),
                                           .angular_rate_body_rad_s = truth->angular_rate_body_rad_s};
    for (uint32_t i = 0; i < prepared->vehicle.rotor_count; i++) {
        state->commands[i] = command;
        state->end.rotor_speed_rad_s[i] = command * prepared->vehicle.max_speed_rad_s;
    }
    multirotor_ground_settle(&prepared->vehicle, &state->end);
    state->start = state->end;
    state->start_at = state->end_at = at;
    memcpy(state->commands_of_tick, state->commands, sizeof state->commands);
    return OTO_OK;
}

static const struct oto_motion_extension motion = {.size = sizeof motion, .evaluate = evaluate, .adopt = adopt};
static const struct oto_control_extension controls = {.size = sizeof controls, .control = control};

static const void *extension(const char *id)
{
    if (strcmp(id, OTO_EXTENSION_MOTION) == 0) {
        return &motion;
    }
    return strcmp(id, OTO_EXTENSION_CONTROL) == 0 ? &controls : NULL;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "motion_multirotor", .kind = OTO_KIND_MOTION, .version = "1.0.0",
    .text = "a multirotor with four to eight rotors, moved by controls; drag, wind, ground",
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct motion_state), .state_version = 1, .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .prepare = prepare, .init = init, .step = step, .validate = validate};
OTO_PLUGIN_DEFINE(descriptor, ops, extension);
