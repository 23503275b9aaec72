/* Forces, moments and the integrator. Equations and sources: README.md. */
#include "multirotor.h"

#include "otolith/detmath.h"

#define STEPS_A_TIME_CONSTANT 3.0 /* integration steps per time constant of the fastest part */
#define LONGEST_STEP_S 0.002

/* ---- forces ---- */

struct load {
    oto_vec3 force_body_n, moment_body_nm;
};

static void add_rotors(const struct multirotor *vehicle, const struct multirotor_state *state,
                       const struct multirotor_rates *rates, struct load *load)
{
    const oto_vec3 spin = state->angular_rate_body_rad_s;
    for (uint32_t i = 0; i < vehicle->rotor_count; i++) {
        const struct multirotor_rotor *rotor = &vehicle->rotors[i];
        const double speed_rad_s = state->rotor_speed_rad_s[i];
        const double thrust_n = vehicle->thrust_n_s2 * speed_rad_s * speed_rad_s;
        const double momentum = rotor->spin * vehicle->rotor_inertia_kg_m2 * speed_rad_s;
        const double reaction_nm = -rotor->spin * (vehicle->torque_per_thrust_m * thrust_n +
                                                   vehicle->rotor_inertia_kg_m2 * rates->rotor_accel_rad_s2[i]);
        load->force_body_n.z += thrust_n;
        load->moment_body_nm.x += rotor->position_body_m.y * thrust_n - spin.y * momentum;
        load->moment_body_nm.y += -rotor->position_body_m.x * thrust_n + spin.x * momentum;
        load->moment_body_nm.z += reaction_nm;
    }
}

/* Mean speed of the rotors divided by their highest speed. */
static double rotor_share(const struct multirotor *vehicle, const struct multirotor_state *state)
{
    double sum_rad_s = 0.0;
    for (uint32_t i = 0; i < vehicle->rotor_count; i++) {
        sum_rad_s += state->rotor_speed_rad_s[i];
    }
    return sum_rad_s / (vehicle->rotor_count * vehicle->max_speed_rad_s);
}

static double quadratic_drag_n(double half_density, double area_m2, double speed_m_s)
{
    return -half_density * area_m2 * oto_fabs(speed_m_s) * speed_m_s;
}

static void add_air(const struct multirotor *vehicle, const struct multirotor_state *state, struct load *load)
{
    const oto_vec3 through_air = oto_quat_rotate_inv(
        state->q_enu_from_body, oto_vec3_sub(state->velocity_enu_m_s, vehicle->wind_enu_m_s));
    const double half_density = 0.5 * vehicle->air_density_kg_m3;
    const double across_kg_s = vehicle->rotor_drag_kg_s * rotor_share(vehicle, state);
    load->force_body_n.x += quadratic_drag_n(half_density, vehicle->drag_area_m2.x, through_air.x) - across_kg_s * through_air.x;
    load->force_body_n.y += quadratic_drag_n(half_density, vehicle->drag_area_m2.y, through_air.y) - across_kg_s * through_air.y;
    load->force_body_n.z += quadratic_drag_n(half_density, vehicle->drag_area_m2.z, through_air.z);
    load->moment_body_nm = oto_vec3_add_scaled(load->moment_body_nm, state->angular_rate_body_rad_s, -vehicle->angular_damping_nm_s);
}

static void rotor_rates(const struct multirotor *vehicle, const struct multirotor_state *state, const double *commands,
                        struct multirotor_rates *rates)
{
    for (uint32_t i = 0; i < MULTIROTOR_MOST_ROTORS; i++) {
        const double target_rad_s = i < vehicle->rotor_count ? commands[i] * vehicle->max_speed_rad_s : 0.0;
        rates->rotor_accel_rad_s2[i] = (target_rad_s - state->rotor_speed_rad_s[i]) / vehicle->rotor_lag_s;
    }
}

void multirotor_rates_at(const struct multirotor *vehicle, const struct multirotor_state *state, const double *commands,
                         struct multirotor_rates *rates)
{
    const oto_vec3 spin = state->angular_rate_body_rad_s, inertia = vehicle->inertia_kg_m2;
    struct load load = {oto_vec3_zero(), oto_vec3_zero()};
    oto_vec3 ground_enu_n, ground_moment_nm;
    rotor_rates(vehicle, state, commands, rates);
    add_rotors(vehicle, state, rates, &load);
    add_air(vehicle, state, &load);
    multirotor_ground_force(vehicle, state, &ground_enu_n, &ground_moment_nm);
    const oto_vec3 force_enu = oto_vec3_add(oto_quat_rotate(state->q_enu_from_body, load.force_body_n), ground_enu_n);
    const oto_vec3 moment = oto_vec3_sub(oto_vec3_add(load.moment_body_nm, ground_moment_nm),
                                         oto_vec3_cross(spin, oto_vec3_mul(inertia, spin)));
    const oto_quat rate = oto_quat_mul(state->q_enu_from_body, oto_quat_make(0.0, spin.x, spin.y, spin.z));
    rates->velocity_enu_m_s = state->velocity_enu_m_s;
    rates->accel_enu_m_s2 = oto_vec3_add_scaled(vehicle->gravity_enu_m_s2, force_enu, 1.0 / vehicle->mass_kg);
    rates->q_rate = oto_quat_make(0.5 * rate.w, 0.5 * rate.x, 0.5 * rate.y, 0.5 * rate.z);
    rates->angular_accel_body_rad_s2 = oto_vec3_make(moment.x / inertia.x, moment.y / inertia.y, moment.z / inertia.z);
}

/* ---- the integrator ---- */

static struct multirotor_state moved(const struct multirotor_state *from, const struct multirotor_rates *rates, double h_s)
{
    struct multirotor_state to = *from;
    to.position_enu_m = oto_vec3_add_scaled(from->position_enu_m, rates->velocity_enu_m_s, h_s);
    to.velocity_enu_m_s = oto_vec3_add_scaled(from->velocity_enu_m_s, rates->accel_enu_m_s2, h_s);
    to.q_enu_from_body.w += h_s * rates->q_rate.w;
    to.q_enu_from_body.x += h_s * rates->q_rate.x;
    to.q_enu_from_body.y += h_s * rates->q_rate.y;
    to.q_enu_from_body.z += h_s * rates->q_rate.z;
    to.angular_rate_body_rad_s = oto_vec3_add_scaled(from->angular_rate_body_rad_s, rates->angular_accel_body_rad_s2, h_s);
    for (uint32_t i = 0; i < MULTIROTOR_MOST_ROTORS; i++) {
        to.rotor_speed_rad_s[i] += h_s * rates->rotor_accel_rad_s2[i];
    }
    return to;
}

static void add_rates(struct multirotor_rates *sum, const struct multirotor_rates *more, double weight)
{
    sum->velocity_enu_m_s = oto_vec3_add_scaled(sum->velocity_enu_m_s, more->velocity_enu_m_s, weight);
    sum->accel_enu_m_s2 = oto_vec3_add_scaled(sum->accel_enu_m_s2, more->accel_enu_m_s2, weight);
    sum->q_rate.w += weight * more->q_rate.w;
    sum->q_rate.x += weight * more->q_rate.x;
    sum->q_rate.y += weight * more->q_rate.y;
    sum->q_rate.z += weight * more->q_rate.z;
    sum->angular_accel_body_rad_s2 =
        oto_vec3_add_scaled(sum->angular_accel_body_rad_s2, more->angular_accel_body_rad_s2, weight);
    for (uint32_t i = 0; i < MULTIROTOR_MOST_ROTORS; i++) {
        sum->rotor_accel_rad_s2[i] += weight * more->rotor_accel_rad_s2[i];
    }
}

static void step(const struct multirotor *vehicle, const double *commands, double h_s, struct multirotor_state *state)
{
    static const double along[] = {0.0, 0.5, 0.5, 1.0}, weights[] = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
    struct multirotor_rates sum = {0}, rates = {0};
    for (int stage = 0; stage < 4; stage++) {
        const struct multirotor_state at = moved(state, &rates, along[stage] * h_s);
        multirotor_rates_at(vehicle, &at, commands, &rates);
        add_rates(&sum, &rates, weights[stage]);
    }
    *state = moved(state, &sum, h_s);
    state->q_enu_from_body = oto_quat_normalize(state->q_enu_from_body);
    multirotor_ground_settle(vehicle, state);
}

void multirotor_advance(const struct multirotor *vehicle, const double *commands, double dt_s, struct multirotor_state *state)
{
    if (dt_s > 0.0) {
        const double steps = (double)(int64_t)(dt_s / vehicle->longest_step_s) + 1.0;
        for (double i = 0.0; i < steps; i++) {
            step(vehicle, commands, dt_s / steps, state);
        }
    }
}

/* ---- what a vehicle needs ---- */

struct fastest {
    double rate_s;
    const char *name;
};

static void take_faster(struct fastest *fastest, double rate_s, const char *name)
{
    if (rate_s > fastest->rate_s) {
        *fastest = (struct fastest){rate_s, name};
    }
}

static double smallest(oto_vec3 v)
{
    const double least = v.x < v.y ? v.x : v.y;
    return least < v.z ? least : v.z;
}

double multirotor_longest_step_s(const struct multirotor *vehicle, const char **name)
{
    const struct multirotor_ground *ground = &vehicle->ground;
    struct fastest fastest = {1.0 / (STEPS_A_TIME_CONSTANT * LONGEST_STEP_S), ""};
    double compliance = ground->contact_count / vehicle->mass_kg; /* acceleration at a contact per unit force at each */
    for (uint32_t i = 0; i < ground->contact_count; i++) {
        compliance += oto_vec3_norm_sq(ground->contacts_body_m[i]) / smallest(vehicle->inertia_kg_m2);
    }
    take_faster(&fastest, oto_sqrt(ground->stiffness_n_m * compliance), "ground.stiffness_n_m");
    take_faster(&fastest, ground->damping_n_s_m * compliance, "ground.damping_n_s_m");
    take_faster(&fastest, 1.0 / vehicle->rotor_lag_s, "rotor_lag_s");
    take_faster(&fastest, vehicle->angular_damping_nm_s / smallest(vehicle->inertia_kg_m2), "angular_damping_nm_s");
    take_faster(&fastest, vehicle->rotor_drag_kg_s / vehicle->mass_kg, "rotor_drag_kg_s");
    *name = fastest.name;
    return 1.0 / (STEPS_A_TIME_CONSTANT * fastest.rate_s);
}

double multirotor_hover_command(const struct multirotor *vehicle)
{
    const double each_n = vehicle->mass_kg * oto_vec3_norm(vehicle->gravity_enu_m_s2) / vehicle->rotor_count;
    return oto_sqrt(each_n / vehicle->thrust_n_s2) / vehicle->max_speed_rad_s;
}
