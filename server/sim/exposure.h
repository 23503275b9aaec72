/*
 * The exposure of a sensor, which is what it feels: the truth carried to its mount, gravity, the magnetic field and the air. Pure. [tick]
 */
#ifndef SRV_SIM_EXPOSURE_H
#define SRV_SIM_EXPOSURE_H

#include "world/world_config.h"
#include "otolith/plugin.h"

struct srv_environment {
    bool gravity_wgs84;
    bool earth_turns;
    bool air_varies; /* temperature or pressure change with time or altitude */
    bool air_follows_altitude;
    bool field_follows_place;
    bool changes; /* true if the Earth turns, or air or field change */
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
    const struct srv_table *temperature_along_time_degc, *pressure_along_time_pa; /* NULL: the quantity does not change with time */
};

void srv_environment_init(struct srv_environment *environment, const struct srv_world_config *world);

/*
 * Gravity at a position in the origin's ENU axes. WGS-84: the value at the origin, plus the difference of the normal field
 * (zonal harmonics to degree 6, and the centrifugal part) between position and origin, in size and direction.
 */
oto_vec3 srv_gravity_enu_m_s2(const struct srv_environment *environment, oto_vec3 position_enu_m);

/* The magnetic field at a position, in the origin's ENU axes. */
oto_vec3 srv_mag_field_enu_ut(const struct srv_environment *environment, oto_vec3 position_enu_m);

/*
 * An instant at which a sensor is exposed, and the vibration of its vehicle (NULL: none). A time before zero counts as
 * zero.
 */
struct srv_exposure {
    const struct srv_vibration *vibration;
    struct oto_instant at;
    bool is_turned; /* the truth was published: its attitude already contains the vibration */
};

/* Adds the vibration at an instant to a truth, as in the published truth. */
void srv_truth_shake(const struct srv_exposure *exposure, struct oto_truth_record *truth);

/*
 * Fills the exposure of a sensor that is mounted as in `setup`. `input->truth` must be set; the vibration is added to it.
 */
void srv_environment_fill(const struct srv_environment *environment, const struct oto_setup *setup,
                          const struct srv_exposure *exposure, struct oto_sensor_input *input);

#endif
