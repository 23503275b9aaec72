/*
 * What a sensor is exposed to: the truth carried to its mount, gravity, the magnetic field and the air. Pure. [tick]
 */
#ifndef SRV_WORLD_ENVIRONMENT_H
#define SRV_WORLD_ENVIRONMENT_H

#include "config/world_config.h"
#include "otolith/plugin.h"

struct srv_environment {
    bool gravity_wgs84;
    oto_vec3 gravity_enu_m_s2; /* at the origin */
    oto_vec3 mag_field_enu_ut;
    double temperature_degc, pressure_pa;
    /* WGS-84 gravity near the origin */
    oto_vec3 origin_ecef_m;
    oto_quat q_enu_from_ecef;
    oto_vec3 model_at_origin_ecef_m_s2;
};

void srv_environment_init(struct srv_environment *environment, const struct srv_world_config *world);

/*
 * Gravity at a place of the origin's ENU frame. WGS-84: the value at the origin plus what the normal field (zonal
 * harmonics to degree 6, and the centrifugal part) differs between place and origin, in size and direction.
 */
oto_vec3 srv_gravity_enu_m_s2(const struct srv_environment *environment, oto_vec3 position_enu_m);

/* `input->truth` is set; fills the rest for a sensor mounted as `setup` says. */
void srv_environment_fill(const struct srv_environment *environment, const struct oto_setup *setup,
                          struct oto_sensor_input *input);

#endif
