#include "px4_messages.h"

#include <math.h>

#include "axes.h"
#include "otolith/geodesy.h"

enum {
    SYSTEM = 1, COMPONENT = 200,   /* MAV_COMP_ID_SYSTEM_CONTROL is 250; simulators of PX4 use 200 */
    TYPE_GENERIC = 0, AUTOPILOT_INVALID = 8, STATE_ACTIVE = 4, MAVLINK_VERSION = 3,
    ACCEL = 7 << 0, GYRO = 7 << 3, MAG = 7 << 6, PRESSURE = 1 << 9, ALTITUDE = 1 << 11, TEMPERATURE = 1 << 12, /* HIL_SENSOR_UPDATED_FLAGS */
    UNKNOWN_16 = 65535, FIX_NONE = 0, FIX_3D = 3, FIX_DGPS = 4, FIX_FLOAT = 5, FIX_FIXED = 6,
    COMMAND_SET_MESSAGE_INTERVAL = 511
};
#define GAUSS_PER_TESLA 1e4
#define PA_PER_HPA 100.0
#define SEA_LEVEL_PA 101325.0

static struct mavlink_message begin(uint32_t id)
{
    return (struct mavlink_message){.id = id, .system = SYSTEM, .component = COMPONENT};
}

static void put_vector(struct mavlink_message *message, oto_vec3 v)
{
    mavlink_put_f32(message, v.x);
    mavlink_put_f32(message, v.y);
    mavlink_put_f32(message, v.z);
}

static int64_t whole(double value, double least, double most)
{
    return (int64_t)floor((value < least ? least : value > most ? most : value) + 0.5);
}

static void put_i16(struct mavlink_message *message, double value)
{
    mavlink_put_u16(message, (uint16_t)(int16_t)whole(value, INT16_MIN, INT16_MAX));
}

static void put_u16(struct mavlink_message *message, double value)
{
    mavlink_put_u16(message, (uint16_t)whole(value, 0, UINT16_MAX));
}

static void put_i32(struct mavlink_message *message, double value)
{
    mavlink_put_u32(message, (uint32_t)(int32_t)whole(value, INT32_MIN, INT32_MAX));
}

void px4_heartbeat(struct mavlink_message *message)
{
    *message = begin(MAVLINK_HEARTBEAT);
    mavlink_put_u32(message, 0); /* custom mode */
    mavlink_put_u8(message, TYPE_GENERIC);
    mavlink_put_u8(message, AUTOPILOT_INVALID);
    mavlink_put_u8(message, 0); /* base mode */
    mavlink_put_u8(message, STATE_ACTIVE);
    mavlink_put_u8(message, MAVLINK_VERSION);
}

/* Height over sea level of the standard atmosphere at this pressure, in m. */
static double pressure_altitude_m(double pressure_pa)
{
    return 44330.77 * (1.0 - pow(pressure_pa / SEA_LEVEL_PA, 0.190263));
}

void px4_hil_sensor(const struct px4_sensor *sensor, struct mavlink_message *message)
{
    static const oto_vec3 none = {0.0, 0.0, 0.0};
    const struct oto_pressure_record *air = sensor->pressure;
    const oto_vec3 field = sensor->mag != NULL ? oto_vec3_scale(sensor->mag->magnetic_field_t, GAUSS_PER_TESLA) : none;
    const uint32_t updated = ACCEL | GYRO | (sensor->mag != NULL ? MAG : 0) | (air != NULL ? PRESSURE | ALTITUDE | TEMPERATURE : 0);
    *message = begin(MAVLINK_HIL_SENSOR);
    mavlink_put_u64(message, (uint64_t)(sensor->t_ns / 1000));
    put_vector(message, axes_frd_from_flu(sensor->imu->linear_acceleration_m_s2));
    put_vector(message, axes_frd_from_flu(sensor->imu->angular_velocity_rad_s));
    put_vector(message, axes_frd_from_flu(field));
    mavlink_put_f32(message, air != NULL ? air->fluid_pressure_pa / PA_PER_HPA : 0.0);
    mavlink_put_f32(message, 0.0); /* differential pressure: no bit */
    mavlink_put_f32(message, air != NULL ? pressure_altitude_m(air->fluid_pressure_pa) : 0.0);
    mavlink_put_f32(message, air != NULL ? air->temperature_degc : 0.0);
    mavlink_put_u32(message, updated);
    mavlink_put_u8(message, sensor->id);
}

static uint8_t fix_type(const struct oto_navsat_record *fix)
{
    static const uint8_t types[OTO_NAVSAT_MODES] = {FIX_NONE, FIX_3D, FIX_DGPS, FIX_FLOAT, FIX_FIXED};
    return fix->mode < OTO_NAVSAT_MODES ? types[fix->mode] : FIX_NONE;
}

static void put_accuracy(struct mavlink_message *message, double accuracy_m)
{
    put_u16(message, accuracy_m < 0.0 ? UNKNOWN_16 : accuracy_m * 100.0);
}

void px4_hil_gps(int64_t t_ns, const struct oto_navsat_record *fix, struct mavlink_message *message)
{
    *message = begin(MAVLINK_HIL_GPS);
    mavlink_put_u64(message, (uint64_t)(t_ns / 1000));
    put_i32(message, fix->latitude_deg * 1e7);
    put_i32(message, fix->longitude_deg * 1e7);
    put_i32(message, fix->altitude_msl_m * 1e3);
    put_accuracy(message, fix->horizontal_accuracy_m);
    put_accuracy(message, fix->vertical_accuracy_m);
    put_u16(message, fix->ground_speed_m_s * 100.0);
    put_i16(message, fix->velocity_enu_m_s.y * 100.0);
    put_i16(message, fix->velocity_enu_m_s.x * 100.0);
    put_i16(message, -fix->velocity_enu_m_s.z * 100.0);
    put_u16(message, fix->course_deg < 0.0 ? UNKNOWN_16 : fix->course_deg * 100.0);
    mavlink_put_u8(message, fix_type(fix));
    mavlink_put_u8(message, fix->satellites);
    mavlink_put_u8(message, 0);  /* id */
    mavlink_put_u16(message, 0); /* yaw: not available */
}

void px4_hil_state(int64_t t_ns, const struct oto_truth_record *truth, const oto_vec3 *specific_force_flu_m_s2, const struct px4_place *origin,
                   struct mavlink_message *message)
{
    const oto_geodetic home = {origin->latitude_rad, origin->longitude_rad, origin->altitude_m};
    const oto_geodetic place = oto_geodetic_from_enu(home, truth->position_enu_m);
    const oto_quat q = axes_q_ned_from_frd(truth->q_enu_from_body);
    const oto_vec3 velocity = axes_ned_from_enu(truth->velocity_enu_m_s), force = axes_frd_from_flu(*specific_force_flu_m_s2);
    const double speed_cm_s = 100.0 * oto_vec3_norm(truth->velocity_enu_m_s), mg = 1000.0 / OTO_STANDARD_GRAVITY_M_S2;
    *message = begin(MAVLINK_HIL_STATE_QUATERNION);
    mavlink_put_u64(message, (uint64_t)(t_ns / 1000));
    mavlink_put_f32(message, q.w);
    put_vector(message, oto_vec3_make(q.x, q.y, q.z));
    put_vector(message, axes_frd_from_flu(truth->angular_rate_body_rad_s));
    put_i32(message, place.lat_rad / OTO_DEG * 1e7);
    put_i32(message, place.lon_rad / OTO_DEG * 1e7);
    put_i32(message, place.alt_m * 1e3);
    put_i16(message, velocity.x * 100.0);
    put_i16(message, velocity.y * 100.0);
    put_i16(message, velocity.z * 100.0);
    put_u16(message, speed_cm_s); /* indicated and true airspeed: of still air */
    put_u16(message, speed_cm_s);
    put_i16(message, force.x * mg);
    put_i16(message, force.y * mg);
    put_i16(message, force.z * mg);
}

void px4_controls(const struct mavlink_message *message, double controls[PX4_CONTROLS])
{
    for (uint32_t i = 0; i < PX4_CONTROLS; i++) {
        const double value = mavlink_f32(message, 16 + 4 * i);
        controls[i] = isfinite(value) ? value : 0.0;
    }
}

bool px4_message_interval(const struct mavlink_message *message, uint32_t *id, double *interval_us)
{
    const double number = mavlink_f32(message, 0);
    if (mavlink_u16(message, 28) != COMMAND_SET_MESSAGE_INTERVAL || !(number >= 0.0 && number < 16777216.0)) {
        return false;
    }
    *id = (uint32_t)number;
    *interval_us = mavlink_f32(message, 4);
    return isfinite(*interval_us);
}
