#include "sim/exposure.h"

#include <string.h>

#include "environment/gravity.h"
#include "otolith/environment.h"
#include "sim/vibration.h"

static void init_air(struct srv_environment *environment, const struct srv_environment_config *config)
{
    environment->temperature_degc = config->temperature_degc;
    environment->pressure_pa = config->pressure_pa;
    if (config->temperature_along_time_degc.count > 0) {
        environment->temperature_along_time_degc = &config->temperature_along_time_degc;
    }
    if (config->pressure_along_time_pa.count > 0) {
        environment->pressure_along_time_pa = &config->pressure_along_time_pa;
    }
    environment->air_follows_altitude = config->air_follows_altitude;
    environment->air_varies = config->air_follows_altitude || environment->temperature_along_time_degc != NULL ||
                              environment->pressure_along_time_pa != NULL;
}

void srv_environment_init(struct srv_environment *environment, const struct srv_world_config *world)
{
    const oto_geodetic origin = {world->origin_latitude_rad, world->origin_longitude_rad, world->origin_altitude_m};
    memset(environment, 0, sizeof *environment);
    environment->gravity_wgs84 = world->environment.gravity_wgs84;
    environment->gravity_enu_m_s2 = world->environment.gravity_enu_m_s2;
    environment->mag_field_enu_ut = world->environment.mag_field_enu_ut;
    environment->field_follows_place = world->environment.field_follows_place;
    environment->mag_field_change = world->environment.mag_field_change;
    environment->origin_altitude_m = world->origin_altitude_m;
    init_air(environment, &world->environment);
    if (world->environment.earth_rate) {
        environment->earth_turns = true;
        environment->earth_rate_enu_rad_s = oto_earth_rate_enu_rad_s(origin.lat_rad);
    }
    environment->changes = environment->earth_turns || environment->air_varies || environment->field_follows_place;
    environment->origin_ecef_m = oto_ecef_from_geodetic(origin);
    environment->q_enu_from_ecef = oto_q_enu_from_ecef(origin.lat_rad, origin.lon_rad);
    environment->model_at_origin_ecef_m_s2 = srv_gravity_ecef_m_s2(environment->origin_ecef_m);
}

oto_vec3 srv_gravity_enu_m_s2(const struct srv_environment *environment, oto_vec3 position_enu_m)
{
    if (!environment->gravity_wgs84) {
        return environment->gravity_enu_m_s2;
    }
    const oto_quat q = environment->q_enu_from_ecef;
    const oto_vec3 place = oto_vec3_add(environment->origin_ecef_m, oto_quat_rotate_inv(q, position_enu_m));
    const oto_vec3 difference = oto_vec3_sub(srv_gravity_ecef_m_s2(place), environment->model_at_origin_ecef_m_s2);
    return oto_vec3_add(environment->gravity_enu_m_s2, oto_quat_rotate(q, difference));
}

oto_vec3 srv_mag_field_enu_ut(const struct srv_environment *environment, oto_vec3 position_enu_m)
{
    const oto_vec3 p = position_enu_m;
    double m[6];
    if (!environment->field_follows_place) {
        return environment->mag_field_enu_ut;
    }
    const struct srv_field_change *change = &environment->mag_field_change;
    for (int i = 0; i < 6; i++) {
        m[i] = change->first_ut_m[i] + oto_vec3_dot(change->second_ut_m2[i], p);
    }
    const oto_vec3 difference =
        oto_vec3_make(m[0] * p.x + m[1] * p.y + m[2] * p.z, m[1] * p.x + m[3] * p.y + m[4] * p.z,
                      m[2] * p.x + m[4] * p.y + m[5] * p.z);
    return oto_vec3_add(environment->mag_field_enu_ut, difference);
}

static double seconds_of(const struct srv_exposure *exposure)
{
    const double t_ns = (double)exposure->at.t_ns + exposure->at.sub_ns;
    return t_ns > 0.0 ? t_ns / 1e9 : 0.0;
}

static void fill_air(const struct srv_environment *environment, double t_s, struct oto_sensor_input *input)
{
    struct oto_air air = {environment->temperature_degc, environment->pressure_pa};
    if (environment->temperature_along_time_degc != NULL) {
        air.temperature_degc = srv_table_value(environment->temperature_along_time_degc, t_s);
    }
    if (environment->pressure_along_time_pa != NULL) {
        air.pressure_pa = srv_table_value(environment->pressure_along_time_pa, t_s);
    }
    if (environment->air_follows_altitude) {
        const oto_vec3 ecef = oto_vec3_add(
            environment->origin_ecef_m,
            oto_quat_rotate_inv(environment->q_enu_from_ecef, input->truth.position_enu_m));
        air = oto_isa_from(environment->origin_altitude_m, air, oto_geodetic_from_ecef(ecef).alt_m);
    }
    input->temperature_degc = air.temperature_degc;
    input->pressure_pa = air.pressure_pa;
}

void srv_truth_shake(const struct srv_exposure *exposure, struct oto_truth_record *truth)
{
    const struct srv_shake shake = srv_vibration_at(exposure->vibration, seconds_of(exposure));
    if (shake.turns) {
        srv_shake_turn(&shake, truth);
    }
}

/*
 * Adds the Earth's rotation: the Coriolis acceleration 2 Ω × v, and the rotation that a gyroscope measures in addition, in
 * body axes.
 */
static void add_earth_rate(const struct srv_environment *environment, const struct oto_sensor_input *input,
                           oto_vec3 *f_enu, oto_vec3 *w, oto_vec3 *alpha)
{
    const oto_vec3 earth_enu = environment->earth_rate_enu_rad_s;
    const oto_vec3 earth_body = oto_quat_rotate_inv(input->truth.q_enu_from_body, earth_enu);
    *f_enu = oto_vec3_add_scaled(*f_enu, oto_vec3_cross(earth_enu, input->velocity_sensor_enu_m_s), 2.0);
    *alpha = oto_vec3_sub(*alpha, oto_vec3_cross(*w, earth_body));
    *w = oto_vec3_add(*w, earth_body);
}

/* `changes` is a constant at each inlined call: the code for a world in which nothing changes has no branches. */
static inline __attribute__((always_inline)) void fill(const struct srv_environment *environment,
                                                       const struct oto_setup *setup, const struct srv_exposure *exposure,
                                                       bool changes, struct oto_sensor_input *input)
{
    const struct oto_truth_record *truth = &input->truth;
    const oto_vec3 r = setup->mount_position_body_m;
    struct srv_shake shake;
    if (changes && exposure->vibration != NULL) {
        shake = srv_vibration_at(exposure->vibration, seconds_of(exposure));
        if (shake.turns && !exposure->is_turned) {
            srv_shake_turn(&shake, &input->truth);
        }
    }
    oto_vec3 w = truth->angular_rate_body_rad_s, alpha = truth->angular_accel_body_rad_s2;
    const oto_quat q_enu_from_body = truth->q_enu_from_body;
    const oto_quat q_sensor_from_body = oto_quat_conj(setup->q_body_from_sensor);
    const oto_vec3 w_cross_r = oto_vec3_cross(w, r);
    const oto_vec3 lever = oto_vec3_add(oto_vec3_cross(alpha, r), oto_vec3_cross(w, w_cross_r));
    input->position_sensor_enu_m = oto_vec3_add(truth->position_enu_m, oto_quat_rotate(q_enu_from_body, r));
    input->velocity_sensor_enu_m_s =
        oto_vec3_add(truth->velocity_enu_m_s, oto_quat_rotate(q_enu_from_body, w_cross_r));
    const oto_vec3 gravity = srv_gravity_enu_m_s2(environment, truth->position_enu_m);
    oto_vec3 f_enu = oto_vec3_sub(truth->accel_enu_m_s2, gravity);
    if (changes && environment->earth_turns) {
        add_earth_rate(environment, input, &f_enu, &w, &alpha);
    }
    oto_vec3 f_body = oto_vec3_add(oto_quat_rotate_inv(q_enu_from_body, f_enu), lever);
    if (changes && exposure->vibration != NULL) {
        f_body = oto_vec3_add(f_body, shake.accel_m_s2);
    }
    const oto_vec3 mag_enu =
        changes ? srv_mag_field_enu_ut(environment, truth->position_enu_m) : environment->mag_field_enu_ut;
    const oto_vec3 mag_body = oto_quat_rotate_inv(q_enu_from_body, mag_enu);
    input->specific_force_sensor_m_s2 = oto_quat_rotate(q_sensor_from_body, f_body);
    input->angular_rate_sensor_rad_s = oto_quat_rotate(q_sensor_from_body, w);
    input->angular_accel_sensor_rad_s2 = oto_quat_rotate(q_sensor_from_body, alpha);
    input->mag_field_sensor_ut = oto_quat_rotate(q_sensor_from_body, mag_body);
    input->q_enu_from_sensor = oto_quat_mul(q_enu_from_body, setup->q_body_from_sensor);
    input->temperature_degc = environment->temperature_degc;
    input->pressure_pa = environment->pressure_pa;
    if (changes && environment->air_varies) {
        fill_air(environment, seconds_of(exposure), input);
    }
}

static __attribute__((noinline)) void fill_changing(const struct srv_environment *environment,
                                                    const struct oto_setup *setup, const struct srv_exposure *exposure,
                                                    struct oto_sensor_input *input)
{
    fill(environment, setup, exposure, true, input);
}

void srv_environment_fill(const struct srv_environment *environment, const struct oto_setup *setup,
                          const struct srv_exposure *exposure, struct oto_sensor_input *input)
{
    input->disturbance_count = input->reserved = 0;
    if (environment->changes || exposure->vibration != NULL) {
        fill_changing(environment, setup, exposure, input);
    } else {
        fill(environment, setup, exposure, false, input);
    }
}
