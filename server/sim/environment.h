/*
 * What a sensor is exposed to: the truth carried to its mount, gravity, the magnetic field and the air. Pure. [tick]
 */
#ifndef SRV_WORLD_ENVIRONMENT_H
#define SRV_WORLD_ENVIRONMENT_H

#include "world/world_config.h"
#include "otolith/plugin.h"

struct srv_environment {
    bool gravity_wgs84;
    bool earth_turns;
    bool air_varies; /* along time or altitude */
    bool air_follows_altitude;
    bool field_follows_place;
    bool changes; /* by any of the four above */
    oto_vec3 gravity_enu_m_s2; /* at the origin */
    oto_vec3 mag_field_enu_ut;
    double temperature_degc, pressure_pa;
    /* WGS-84 gravity near the origin */
    oto_vec3 origin_ecef_m;
    oto_quat q_enu_from_ecef;
    oto_vec3 model_at_origin_ecef_m_s2;
    oto_vec3 earth_rate_enu_rad_s; /* zero unless earth_turns */
    double origin_altitude_m;
    struct srv_field_change mag_field_change;
    const struct srv_table *temperature_along_time_degc, *pressure_along_time_pa; /* NULL: do not change */
};

void srv_environment_init(struct srv_environment *environment, const struct srv_world_config *world);

/*
 * Gravity at a place of the origin's ENU frame. WGS-84: the value at the origin plus what the normal field (zonal
 * harmonics to degree 6, and the centrifugal part) differs between place and origin, in size and direction.
 */
oto_vec3 srv_gravity_enu_m_s2(const struct srv_environment *environment, oto_vec3 position_enu_m);

/* The magnetic field there, in the origin's ENU axes. */
oto_vec3 srv_mag_field_enu_ut(const struct srv_environment *environment, oto_vec3 position_enu_m);

/* An instant at which a sensor is exposed, and what shakes its vehicle (NULL: nothing). Before zero counts as zero. */
struct srv_exposure {
    const struct srv_vibration *vibration;
    struct oto_instant at;
    bool is_turned; /* the truth is a published one: vibration has turned its body already */
};

/* The truth of a shaken body at an instant, as it is published. */
void srv_truth_shake(const struct srv_exposure *exposure, struct oto_truth_record *truth);

/* `input->truth` is set; turns its body by the vibration and fills the rest for a sensor mounted as in `setup`. */
void srv_environment_fill(const struct srv_environment *environment, const struct oto_setup *setup,
                          const struct srv_exposure *exposure, struct oto_sensor_input *input);

#endif
