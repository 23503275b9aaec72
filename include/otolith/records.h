/*
 * The standard records. A plugin may define others; these are shared, so that one sensor may replace another of the
 * same type. Field names are the names on the wire, in CSV and in Python. The IMU and magnetometer records are ROS
 * `sensor_msgs/Imu` and `sensor_msgs/MagneticField` without their header, which is made from the sample head. Pure
 * data: any thread.
 *
 * Axes: world ENU, body and sensor FLU (x forward, y left, z up). SI units; the magnetic field on the wire is in tesla.
 */
#ifndef OTOLITH_RECORDS_H
#define OTOLITH_RECORDS_H

#include <stdbool.h>

#include "otolith/channel.h"
#include "otolith/vecmath.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of the controls of one vehicle (otolith/controls.h). */
#define OTO_CONTROLS 16

/* The true state of a vehicle's body origin at an instant. 200 bytes. */
struct oto_truth_record {
    oto_vec3 position_enu_m;
    oto_vec3 velocity_enu_m_s;
    oto_vec3 accel_enu_m_s2; /* coordinate acceleration, gravity not included */
    oto_quat q_enu_from_body;
    oto_vec3 angular_rate_body_rad_s;
    oto_vec3 angular_accel_body_rad_s2;
    double longitudinal_speed_m_s; /* signed speed along body x; negative in reverse */
    double spare[5];               /* always zero */
};

/* sensor_msgs/Imu. */
struct oto_imu_record {
    double orientation_x, orientation_y, orientation_z, orientation_w;
    double orientation_covariance[9]; /* rad², row-major; [0] = -1: there is no orientation */
    oto_vec3 angular_velocity_rad_s;  /* in sensor axes */
    double angular_velocity_covariance[9];
    oto_vec3 linear_acceleration_m_s2; /* specific force in sensor axes: (0, 0, +g) at rest and level */
    double linear_acceleration_covariance[9];
};

/* sensor_msgs/MagneticField. */
struct oto_mag_record {
    oto_vec3 magnetic_field_t; /* tesla, in sensor axes */
    double magnetic_field_covariance[9];
};

/* Wheel odometry of a vehicle. */
struct oto_odometry_record {
    double speed_m_s;          /* signed, along body x */
    double wheel_speed_m_s[4]; /* front left, front right, rear left, rear right */
    double distance_m;         /* integral of the reported speed since the node's start, signed */
    int64_t age_ns;            /* age of the reported motion at t_ns (transport delay) */
};

/*
 * A satellite navigation fix of an antenna: sensor_msgs/NavSatFix with velocity, accuracies and mode. Without a fix (mode
 * none) it repeats the last position (zeros before the first), velocity and covariances are zero, accuracies are -1.
 */
struct oto_navsat_record {
    int64_t utc_ns; /* UTC of the measurement, since 1970-01-01 without leap seconds */
    int64_t age_ns; /* age of the measurement at t_ns: it belongs to the instant t_ns - age_ns */
    double latitude_deg, longitude_deg, altitude_m; /* altitude over the WGS-84 ellipsoid */
    double altitude_msl_m;        /* height over mean sea level: altitude_m - geoid_separation_m */
    double geoid_separation_m;    /* height of the geoid over the ellipsoid */
    double position_covariance[9]; /* ENU, row-major */
    oto_vec3 velocity_enu_m_s;    /* of the antenna */
    double velocity_covariance[9]; /* ENU, row-major */
    double ground_speed_m_s;
    double course_deg; /* direction of the velocity over ground, clockwise from north, [0, 360); -1: undefined */
    double horizontal_accuracy_m, vertical_accuracy_m, speed_accuracy_m_s, course_accuracy_deg; /* 1 sigma; -1: unknown */
    double hdop, vdop;
    uint16_t service;               /* sensor_msgs/NavSatStatus: 1 GPS, 2 GLONASS, 4 BeiDou, 8 Galileo, summed */
    int8_t status;                  /* sensor_msgs/NavSatStatus: -1 no fix, 0 fix, 1 SBAS, 2 ground-based augmentation */
    uint8_t position_covariance_type; /* sensor_msgs/NavSatFix: 0 unknown, 2 diagonal known */
    uint8_t mode;                   /* enum oto_navsat_mode */
    uint8_t satellites;             /* in use */
    uint8_t spare[2];               /* always zero */
};

enum oto_navsat_mode {
    OTO_NAVSAT_NONE = 0,
    OTO_NAVSAT_SINGLE = 1,
    OTO_NAVSAT_DGPS = 2,  /* code differential, SBAS included */
    OTO_NAVSAT_FLOAT = 3, /* carrier phase, ambiguities not resolved */
    OTO_NAVSAT_FIXED = 4, /* carrier phase, ambiguities resolved */
    OTO_NAVSAT_MODES = 5
};

/* Air pressure and temperature: sensor_msgs/FluidPressure and sensor_msgs/Temperature. */
struct oto_pressure_record {
    double fluid_pressure_pa;
    double variance_pa2; /* variance of the white noise of the pressure; 0: unknown */
    double temperature_degc; /* of the part */
    double temperature_variance_degc2;
};

/*
 * Wheel encoders of a vehicle: the counters, and the odometry that the encoders' controller integrates from them:
 * nav_msgs/Odometry in the plane. Wheels in the order front left, front right, rear left, rear right.
 */
struct oto_wheels_record {
    uint32_t ticks[4];   /* counter readings, modulo 2^counter_bits */
    int8_t direction[4]; /* 1 forward, -1 backward, 0 unknown */
    uint32_t fitted;     /* bit i: wheel i has an encoder */
    uint32_t counter_bits;
    uint32_t ticks_per_turn;
    double wheel_speed_m_s[4]; /* from the counters and the assumed radius */
    double position_odom_m[2]; /* x, y of the mount since the node's start; axes: those of the body at the start */
    double yaw_odom_rad;       /* not wrapped */
    double pose_covariance[9]; /* x, y, yaw, row-major */
    double speed_m_s;          /* signed, along body x */
    double yaw_rate_rad_s;
    double twist_covariance[4]; /* speed, yaw rate, row-major */
    double distance_m;          /* signed, since the node's start */
    int64_t age_ns;             /* age of the reported counters at t_ns */
};

/* The estimate of a vehicle's state. All estimators have this record, so that one may replace another. 400 bytes. */
struct oto_estimate_record {
    oto_vec3 position_enu_m; /* of the body origin; quantities that are not estimated are level, at rest, zero */
    oto_vec3 velocity_enu_m_s;
    oto_quat q_enu_from_body;
    oto_vec3 angular_rate_body_rad_s;
    oto_vec3 gyro_bias_sensor_rad_s;
    oto_vec3 accel_bias_sensor_m_s2;
    double speed_scale; /* odometer's speed divided by the true speed */
    /* Standard deviations of the estimates above; -1: not estimated. */
    oto_vec3 position_sigma_enu_m;
    oto_vec3 velocity_sigma_enu_m_s;
    oto_vec3 attitude_sigma_body_rad; /* of small rotations about body axes */
    oto_vec3 angular_rate_sigma_body_rad_s;
    oto_vec3 gyro_bias_sigma_sensor_rad_s;
    oto_vec3 accel_bias_sigma_sensor_m_s2;
    double speed_scale_sigma;
    double nis;          /* normalised innovation squared of the last measurement used */
    double nis_degrees;  /* rows of that measurement: the mean of `nis` for a consistent filter */
    double nees;         /* normalised estimation error squared; -1: no truth is bound */
    double nees_degrees; /* number of states in `nees` */
    uint64_t status;     /* enum oto_estimate_status */
    uint64_t used, gated, refused, late, singular; /* numbers of measurements since the start */
    int64_t age_ns;      /* time since the last measurement used */
};

enum oto_estimate_status {
    OTO_ESTIMATE_ALIGNING = 0, /* the record contains the initial state */
    OTO_ESTIMATE_RUNNING = 1,
};

/* An occurrence in a world: a swap, a fault, an overrun, a change of mode. Channel `world/@events`. */
struct oto_event_record {
    uint32_t kind;     /* enum oto_event_kind */
    uint32_t severity; /* 0 info, 1 warning, 2 error */
    uint64_t tick;
    int64_t value; /* a number whose meaning depends on the kind: lag in ns, generation, count … */
    char source[64]; /* node topic, client or part of the server */
    char text[152];  /* one sentence, NUL-padded */
};

/* clang-format off */
/* Kinds of injected faults: number, name, and the meaning of `amount` in the label. */
#define OTO_FAULT_TABLE(X) \
    X(STUCK,        1, "stuck",        "nothing") \
    X(DROPOUT,      2, "dropout",      "nothing") \
    X(INTERMITTENT, 3, "intermittent", "1 while the sample is lost, else 0") \
    X(BIAS,         4, "bias",         "what is added") \
    X(RAMP,         5, "ramp",         "what is added now") \
    X(SCALE,        6, "scale",        "the factor") \
    X(SPIKES,       7, "spikes",       "what is added to this sample, mostly 0") \
    X(NOISE,        8, "noise",        "standard deviation of what is added") \
    X(SATURATION,   9, "saturation",   "the level") \
    X(SIGN,        10, "sign",         "nothing") \
    X(AXES,        11, "axes",         "nothing") \
    X(DELAY,       12, "delay",        "seconds by which the values are late") \
    X(TIME_JUMP,   13, "time_jump",    "seconds added to the stamps") \
    X(TIME_JITTER, 14, "time_jitter",  "seconds added to the stamps of this sample") \
    X(REPEAT,      15, "repeat",       "how often this sample was given before") \
    X(NAN,         16, "nan",          "nothing") \
    X(OUTAGE,      17, "outage",       "nothing") \
    X(MULTIPATH,   18, "multipath",    "metres by which the position is displaced now") \
    X(SPOOF,       19, "spoof",        "metres by which the position is displaced now") \
    X(JAM,         20, "jam",          "dB by which the carrier-to-noise density is lower") \
    X(DRAUGHT,     21, "draught",      "pascals that are added to the air pressure now")

enum oto_fault_kind {
#define OTO_X(name, number, text, amount) OTO_FAULT_##name = number,
    OTO_FAULT_TABLE(OTO_X)
#undef OTO_X
    OTO_FAULT_MAX_ = 22
};

/*
 * Kinds from OUTAGE on are disturbances from outside. The sensor receives them with its exposure and its law computes their
 * effect, so that a filter smooths them and a receiver acquires its satellites anew after them.
 */
static inline bool oto_fault_is_disturbance(uint32_t kind)
{
    return kind >= OTO_FAULT_OUTAGE && kind < OTO_FAULT_MAX_;
}

static inline const char *oto_fault_kind_text(uint32_t kind)
{
#define OTO_X(name, number, text, amount) text,
    static const char *const texts[] = {"", OTO_FAULT_TABLE(OTO_X)};
#undef OTO_X
    return kind < OTO_FAULT_MAX_ ? texts[kind] : "";
}

#define OTO_FAULT_LABELS 8
#define OTO_FAULT_CLEAN_NUMBERS 40

/*
 * The truth about faults in a node's sample, in the channel `NODE.label`: one record for each sample in which a fault
 * was active, lost samples included.
 */
struct oto_fault_label_record {
    uint64_t sample_seq; /* seq of the sample in the node's first channel; 0: lost */
    uint64_t sample;     /* sample number n, from 1 */
    uint64_t kinds;      /* bit k: a fault of kind k was active */
    uint32_t count;      /* number of faults below */
    uint32_t lost;       /* 1: the sample was not published */
    uint32_t id[OTO_FAULT_LABELS];
    uint32_t kind[OTO_FAULT_LABELS];
    double amount[OTO_FAULT_LABELS];       /* see OTO_FAULT_TABLE */
    double clean[OTO_FAULT_CLEAN_NUMBERS]; /* the floating-point numbers of the first record in order, before the
                                            * faults; disturbances are included */
};

#define OTO_EVENT_TABLE(X) \
    X(STARTED,     1, "started") \
    X(STOPPED,     2, "stopped") \
    X(MODE,        3, "mode") \
    X(PARAMETER,   4, "parameter") \
    X(SWAP,        5, "swap") \
    X(SWAP_REFUSED,6, "swap-refused") \
    X(OVERRUN,     7, "overrun") \
    X(SLIP,        8, "slip") \
    X(PLUGIN_FAULT,9, "plugin-fault") \
    X(WATCHDOG,   10, "watchdog") \
    X(CLIENT,     11, "client") \
    X(LOSSLESS_DEMOTED, 12, "lossless-demoted") \
    X(PUBLISHER,  13, "publisher") \
    X(REALTIME,   14, "realtime") \
    X(CLOCK_FAULT,15, "clock-fault") \
    X(FAULT,      16, "fault") \
    X(PLUGIN_HOST,17, "plugin-host") \
    X(PARTICIPANT,18, "participant") \
    X(SWAP_KEPT,  19, "swap-kept") \
    X(SWAP_ROLLED_BACK, 20, "swap-rolled-back") \
    X(CRASH,      21, "crash") \
    X(MAX_,       22, "")
/* clang-format on */

enum oto_event_kind {
#define OTO_X(name, number, text) OTO_EVENT_##name = number,
    OTO_EVENT_TABLE(OTO_X)
#undef OTO_X
};

static inline const char *oto_event_kind_text(uint32_t kind)
{
#define OTO_X(name, number, text) text,
    static const char *const texts[] = {"", OTO_EVENT_TABLE(OTO_X)};
#undef OTO_X
    return kind < OTO_EVENT_MAX_ ? texts[kind] : "";
}

#ifndef __cplusplus
_Static_assert(sizeof(struct oto_truth_record) == 200, "truth record layout");
_Static_assert(sizeof(struct oto_imu_record) == 37 * 8, "imu record layout");
_Static_assert(sizeof(struct oto_mag_record) == 12 * 8, "mag record layout");
_Static_assert(sizeof(struct oto_odometry_record) == 7 * 8, "odometry record layout");
_Static_assert(sizeof(struct oto_navsat_record) == 37 * 8, "navsat record layout");
_Static_assert(sizeof(struct oto_pressure_record) == 4 * 8, "pressure record layout");
_Static_assert(sizeof(struct oto_wheels_record) == 28 * 8, "wheels record layout");
_Static_assert(sizeof(struct oto_estimate_record) == 50 * 8, "estimate record layout");
_Static_assert(sizeof(struct oto_event_record) == 240, "event record layout");
_Static_assert(sizeof(struct oto_fault_label_record) == 480, "fault label layout");
#endif

/* clang-format off */
#define OTO_FIELD_(record, member, wire, kind, n, u, f, t) {wire, kind, n, (uint32_t)offsetof(record, member), u, f, t}
#define OTO_FIELD_XYZ_(record, member, wire, u, f, t) \
    {wire ".x", OTO_FIELD_F64, 1, (uint32_t)offsetof(record, member), u, f, t " x"}, \
    {wire ".y", OTO_FIELD_F64, 1, (uint32_t)offsetof(record, member) + 8, u, f, t " y"}, \
    {wire ".z", OTO_FIELD_F64, 1, (uint32_t)offsetof(record, member) + 16, u, f, t " z"}

static const struct oto_field oto_truth_fields[] = {
    OTO_FIELD_XYZ_(struct oto_truth_record, position_enu_m, "position_enu_m", "m", "enu", "position of the body origin"),
    OTO_FIELD_XYZ_(struct oto_truth_record, velocity_enu_m_s, "velocity_enu_m_s", "m/s", "enu", "velocity"),
    OTO_FIELD_XYZ_(struct oto_truth_record, accel_enu_m_s2, "accel_enu_m_s2", "m/s^2", "enu", "coordinate acceleration"),
    {"q_enu_from_body.w", OTO_FIELD_F64, 1, (uint32_t)offsetof(struct oto_truth_record, q_enu_from_body), "1", "enu", "attitude quaternion w"},
    {"q_enu_from_body.x", OTO_FIELD_F64, 1, (uint32_t)offsetof(struct oto_truth_record, q_enu_from_body) + 8, "1", "enu", "attitude quaternion x"},
    {"q_enu_from_body.y", OTO_FIELD_F64, 1, (uint32_t)offsetof(struct oto_truth_record, q_enu_from_body) + 16, "1", "enu", "attitude quaternion y"},
    {"q_enu_from_body.z", OTO_FIELD_F64, 1, (uint32_t)offsetof(struct oto_truth_record, q_enu_from_body) + 24, "1", "enu", "attitude quaternion z"},
    OTO_FIELD_XYZ_(struct oto_truth_record, angular_rate_body_rad_s, "angular_rate_body_rad_s", "rad/s", "body", "angular rate"),
    OTO_FIELD_XYZ_(struct oto_truth_record, angular_accel_body_rad_s2, "angular_accel_body_rad_s2", "rad/s^2", "body", "angular acceleration"),
    OTO_FIELD_(struct oto_truth_record, longitudinal_speed_m_s, "longitudinal_speed_m_s", OTO_FIELD_F64, 1, "m/s", "body", "signed speed along body x"),
};
static const struct oto_record_type oto_truth_type = {
    "truth", sizeof(struct oto_truth_record), sizeof oto_truth_fields / sizeof *oto_truth_fields, oto_truth_fields};

static const struct oto_field oto_imu_fields[] = {
    OTO_FIELD_(struct oto_imu_record, orientation_x, "orientation.x", OTO_FIELD_F64, 1, "1", "enu", "orientation quaternion x"),
    OTO_FIELD_(struct oto_imu_record, orientation_y, "orientation.y", OTO_FIELD_F64, 1, "1", "enu", "orientation quaternion y"),
    OTO_FIELD_(struct oto_imu_record, orientation_z, "orientation.z", OTO_FIELD_F64, 1, "1", "enu", "orientation quaternion z"),
    OTO_FIELD_(struct oto_imu_record, orientation_w, "orientation.w", OTO_FIELD_F64, 1, "1", "enu", "orientation quaternion w"),
    OTO_FIELD_(struct oto_imu_record, orientation_covariance, "orientation_covariance", OTO_FIELD_F64, 9, "rad^2", "sensor", "row-major; element 0 is -1 where there is no orientation"),
    OTO_FIELD_XYZ_(struct oto_imu_record, angular_velocity_rad_s, "angular_velocity", "rad/s", "sensor", "angular rate"),
    OTO_FIELD_(struct oto_imu_record, angular_velocity_covariance, "angular_velocity_covariance", OTO_FIELD_F64, 9, "rad^2/s^2", "sensor", "row-major"),
    OTO_FIELD_XYZ_(struct oto_imu_record, linear_acceleration_m_s2, "linear_acceleration", "m/s^2", "sensor", "specific force"),
    OTO_FIELD_(struct oto_imu_record, linear_acceleration_covariance, "linear_acceleration_covariance", OTO_FIELD_F64, 9, "m^2/s^4", "sensor", "row-major"),
};
static const struct oto_record_type oto_imu_type = {
    "imu", sizeof(struct oto_imu_record), sizeof oto_imu_fields / sizeof *oto_imu_fields, oto_imu_fields};

static const struct oto_field oto_mag_fields[] = {
    OTO_FIELD_XYZ_(struct oto_mag_record, magnetic_field_t, "magnetic_field", "T", "sensor", "magnetic field"),
    OTO_FIELD_(struct oto_mag_record, magnetic_field_covariance, "magnetic_field_covariance", OTO_FIELD_F64, 9, "T^2", "sensor", "row-major"),
};
static const struct oto_record_type oto_mag_type = {
    "mag", sizeof(struct oto_mag_record), sizeof oto_mag_fields / sizeof *oto_mag_fields, oto_mag_fields};

static const struct oto_field oto_odometry_fields[] = {
    OTO_FIELD_(struct oto_odometry_record, speed_m_s, "speed_m_s", OTO_FIELD_F64, 1, "m/s", "body", "signed vehicle speed along x"),
    OTO_FIELD_(struct oto_odometry_record, wheel_speed_m_s, "wheel_speed_m_s", OTO_FIELD_F64, 4, "m/s", "body", "front left, front right, rear left, rear right"),
    OTO_FIELD_(struct oto_odometry_record, distance_m, "distance_m", OTO_FIELD_F64, 1, "m", "body", "signed distance since the start"),
    OTO_FIELD_(struct oto_odometry_record, age_ns, "age_ns", OTO_FIELD_I64, 1, "ns", "", "transport delay of the reported motion"),
};
static const struct oto_record_type oto_odometry_type = {
    "odometry", sizeof(struct oto_odometry_record), sizeof oto_odometry_fields / sizeof *oto_odometry_fields, oto_odometry_fields};

static const struct oto_field oto_navsat_fields[] = {
    OTO_FIELD_(struct oto_navsat_record, utc_ns, "utc_ns", OTO_FIELD_I64, 1, "ns", "", "UTC of the measurement since 1970-01-01, without leap seconds"),
    OTO_FIELD_(struct oto_navsat_record, age_ns, "age_ns", OTO_FIELD_I64, 1, "ns", "", "age of the measurement at t_ns"),
    OTO_FIELD_(struct oto_navsat_record, latitude_deg, "latitude", OTO_FIELD_F64, 1, "deg", "", "WGS-84 latitude"),
    OTO_FIELD_(struct oto_navsat_record, longitude_deg, "longitude", OTO_FIELD_F64, 1, "deg", "", "WGS-84 longitude"),
    OTO_FIELD_(struct oto_navsat_record, altitude_m, "altitude", OTO_FIELD_F64, 1, "m", "", "height over the WGS-84 ellipsoid"),
    OTO_FIELD_(struct oto_navsat_record, altitude_msl_m, "altitude_msl", OTO_FIELD_F64, 1, "m", "", "height over mean sea level"),
    OTO_FIELD_(struct oto_navsat_record, geoid_separation_m, "geoid_separation", OTO_FIELD_F64, 1, "m", "", "height of the geoid over the ellipsoid"),
    OTO_FIELD_(struct oto_navsat_record, position_covariance, "position_covariance", OTO_FIELD_F64, 9, "m^2", "enu", "row-major"),
    OTO_FIELD_XYZ_(struct oto_navsat_record, velocity_enu_m_s, "velocity", "m/s", "enu", "velocity of the antenna"),
    OTO_FIELD_(struct oto_navsat_record, velocity_covariance, "velocity_covariance", OTO_FIELD_F64, 9, "m^2/s^2", "enu", "row-major"),
    OTO_FIELD_(struct oto_navsat_record, ground_speed_m_s, "ground_speed", OTO_FIELD_F64, 1, "m/s", "", "horizontal speed"),
    OTO_FIELD_(struct oto_navsat_record, course_deg, "course", OTO_FIELD_F64, 1, "deg", "", "clockwise from north; -1: undefined"),
    OTO_FIELD_(struct oto_navsat_record, horizontal_accuracy_m, "horizontal_accuracy", OTO_FIELD_F64, 1, "m", "", "standard deviation of each horizontal axis; -1: unknown"),
    OTO_FIELD_(struct oto_navsat_record, vertical_accuracy_m, "vertical_accuracy", OTO_FIELD_F64, 1, "m", "", "standard deviation; -1: unknown"),
    OTO_FIELD_(struct oto_navsat_record, speed_accuracy_m_s, "speed_accuracy", OTO_FIELD_F64, 1, "m/s", "", "standard deviation; -1: unknown"),
    OTO_FIELD_(struct oto_navsat_record, course_accuracy_deg, "course_accuracy", OTO_FIELD_F64, 1, "deg", "", "standard deviation; -1: unknown"),
    OTO_FIELD_(struct oto_navsat_record, hdop, "hdop", OTO_FIELD_F64, 1, "1", "", "horizontal dilution of precision"),
    OTO_FIELD_(struct oto_navsat_record, vdop, "vdop", OTO_FIELD_F64, 1, "1", "", "vertical dilution of precision"),
    OTO_FIELD_(struct oto_navsat_record, service, "status.service", OTO_FIELD_U16, 1, "", "", "1 GPS, 2 GLONASS, 4 BeiDou, 8 Galileo, summed"),
    OTO_FIELD_(struct oto_navsat_record, status, "status.status", OTO_FIELD_I8, 1, "", "", "-1 no fix, 0 fix, 1 SBAS, 2 ground-based augmentation"),
    OTO_FIELD_(struct oto_navsat_record, position_covariance_type, "position_covariance_type", OTO_FIELD_U8, 1, "", "", "0 unknown, 2 diagonal known"),
    OTO_FIELD_(struct oto_navsat_record, mode, "mode", OTO_FIELD_U8, 1, "", "", "0 none, 1 single, 2 dgps, 3 float, 4 fixed"),
    OTO_FIELD_(struct oto_navsat_record, satellites, "satellites", OTO_FIELD_U8, 1, "", "", "satellites in use"),
};
static const struct oto_record_type oto_navsat_type = {
    "navsat", sizeof(struct oto_navsat_record), sizeof oto_navsat_fields / sizeof *oto_navsat_fields, oto_navsat_fields};

static const struct oto_field oto_pressure_fields[] = {
    OTO_FIELD_(struct oto_pressure_record, fluid_pressure_pa, "fluid_pressure", OTO_FIELD_F64, 1, "Pa", "", "air pressure"),
    OTO_FIELD_(struct oto_pressure_record, variance_pa2, "variance", OTO_FIELD_F64, 1, "Pa^2", "", "variance of the white noise; 0: unknown"),
    OTO_FIELD_(struct oto_pressure_record, temperature_degc, "temperature", OTO_FIELD_F64, 1, "degC", "", "temperature of the part"),
    OTO_FIELD_(struct oto_pressure_record, temperature_variance_degc2, "temperature_variance", OTO_FIELD_F64, 1, "degC^2", "", "variance of the white noise; 0: unknown"),
};
static const struct oto_record_type oto_pressure_type = {
    "pressure", sizeof(struct oto_pressure_record), sizeof oto_pressure_fields / sizeof *oto_pressure_fields, oto_pressure_fields};

static const struct oto_field oto_wheels_fields[] = {
    OTO_FIELD_(struct oto_wheels_record, ticks, "ticks", OTO_FIELD_U32, 4, "", "", "counters: front left, front right, rear left, rear right"),
    OTO_FIELD_(struct oto_wheels_record, direction, "direction", OTO_FIELD_I8, 4, "", "", "of each wheel: 1 forward, -1 backward, 0 unknown"),
    OTO_FIELD_(struct oto_wheels_record, fitted, "fitted", OTO_FIELD_U32, 1, "", "", "bit i: wheel i has an encoder"),
    OTO_FIELD_(struct oto_wheels_record, counter_bits, "counter_bits", OTO_FIELD_U32, 1, "", "", "width of a counter"),
    OTO_FIELD_(struct oto_wheels_record, ticks_per_turn, "ticks_per_turn", OTO_FIELD_U32, 1, "", "", "of each wheel"),
    OTO_FIELD_(struct oto_wheels_record, wheel_speed_m_s, "wheel_speed_m_s", OTO_FIELD_F64, 4, "m/s", "body", "from the counters and the assumed radius"),
    OTO_FIELD_(struct oto_wheels_record, position_odom_m, "position_odom_m", OTO_FIELD_F64, 2, "m", "odom", "integrated x, y of the mount since the start"),
    OTO_FIELD_(struct oto_wheels_record, yaw_odom_rad, "yaw_odom_rad", OTO_FIELD_F64, 1, "rad", "odom", "integrated yaw since the start, not wrapped"),
    OTO_FIELD_(struct oto_wheels_record, pose_covariance, "pose_covariance", OTO_FIELD_F64, 9, "", "odom", "x, y, yaw, row-major, m and rad"),
    OTO_FIELD_(struct oto_wheels_record, speed_m_s, "speed_m_s", OTO_FIELD_F64, 1, "m/s", "body", "signed vehicle speed along x"),
    OTO_FIELD_(struct oto_wheels_record, yaw_rate_rad_s, "yaw_rate_rad_s", OTO_FIELD_F64, 1, "rad/s", "body", "from the difference of the wheels"),
    OTO_FIELD_(struct oto_wheels_record, twist_covariance, "twist_covariance", OTO_FIELD_F64, 4, "", "body", "speed, yaw rate, row-major, m/s and rad/s"),
    OTO_FIELD_(struct oto_wheels_record, distance_m, "distance_m", OTO_FIELD_F64, 1, "m", "body", "signed distance since the start"),
    OTO_FIELD_(struct oto_wheels_record, age_ns, "age_ns", OTO_FIELD_I64, 1, "ns", "", "age of the counters at t_ns"),
};
static const struct oto_record_type oto_wheels_type = {
    "wheels", sizeof(struct oto_wheels_record), sizeof oto_wheels_fields / sizeof *oto_wheels_fields, oto_wheels_fields};

static const struct oto_field oto_estimate_fields[] = {
    OTO_FIELD_XYZ_(struct oto_estimate_record, position_enu_m, "position_enu_m", "m", "enu", "position of the body origin"),
    OTO_FIELD_XYZ_(struct oto_estimate_record, velocity_enu_m_s, "velocity_enu_m_s", "m/s", "enu", "velocity"),
    {"q_enu_from_body.w", OTO_FIELD_F64, 1, (uint32_t)offsetof(struct oto_estimate_record, q_enu_from_body), "1", "enu", "attitude quaternion w"},
    {"q_enu_from_body.x", OTO_FIELD_F64, 1, (uint32_t)offsetof(struct oto_estimate_record, q_enu_from_body) + 8, "1", "enu", "attitude quaternion x"},
    {"q_enu_from_body.y", OTO_FIELD_F64, 1, (uint32_t)offsetof(struct oto_estimate_record, q_enu_from_body) + 16, "1", "enu", "attitude quaternion y"},
    {"q_enu_from_body.z", OTO_FIELD_F64, 1, (uint32_t)offsetof(struct oto_estimate_record, q_enu_from_body) + 24, "1", "enu", "attitude quaternion z"},
    OTO_FIELD_XYZ_(struct oto_estimate_record, angular_rate_body_rad_s, "angular_rate_body_rad_s", "rad/s", "body", "angular rate"),
    OTO_FIELD_XYZ_(struct oto_estimate_record, gyro_bias_sensor_rad_s, "gyro_bias_sensor_rad_s", "rad/s", "sensor", "bias of the gyroscope"),
    OTO_FIELD_XYZ_(struct oto_estimate_record, accel_bias_sensor_m_s2, "accel_bias_sensor_m_s2", "m/s^2", "sensor", "bias of the accelerometer"),
    OTO_FIELD_(struct oto_estimate_record, speed_scale, "speed_scale", OTO_FIELD_F64, 1, "1", "", "the odometer's speed over the true one"),
    OTO_FIELD_XYZ_(struct oto_estimate_record, position_sigma_enu_m, "position_sigma_enu_m", "m", "enu", "standard deviation, -1 unknown; position"),
    OTO_FIELD_XYZ_(struct oto_estimate_record, velocity_sigma_enu_m_s, "velocity_sigma_enu_m_s", "m/s", "enu", "standard deviation, -1 unknown; velocity"),
    OTO_FIELD_XYZ_(struct oto_estimate_record, attitude_sigma_body_rad, "attitude_sigma_body_rad", "rad", "body", "standard deviation, -1 unknown; turn about"),
    OTO_FIELD_XYZ_(struct oto_estimate_record, angular_rate_sigma_body_rad_s, "angular_rate_sigma_body_rad_s", "rad/s", "body", "standard deviation, -1 unknown; angular rate"),
    OTO_FIELD_XYZ_(struct oto_estimate_record, gyro_bias_sigma_sensor_rad_s, "gyro_bias_sigma_sensor_rad_s", "rad/s", "sensor", "standard deviation, -1 unknown; gyroscope bias"),
    OTO_FIELD_XYZ_(struct oto_estimate_record, accel_bias_sigma_sensor_m_s2, "accel_bias_sigma_sensor_m_s2", "m/s^2", "sensor", "standard deviation, -1 unknown; accelerometer bias"),
    OTO_FIELD_(struct oto_estimate_record, speed_scale_sigma, "speed_scale_sigma", OTO_FIELD_F64, 1, "1", "", "standard deviation, -1 unknown; speed scale"),
    OTO_FIELD_(struct oto_estimate_record, nis, "nis", OTO_FIELD_F64, 1, "1", "", "normalised innovation squared of the last measurement used"),
    OTO_FIELD_(struct oto_estimate_record, nis_degrees, "nis_degrees", OTO_FIELD_F64, 1, "1", "", "rows of that measurement"),
    OTO_FIELD_(struct oto_estimate_record, nees, "nees", OTO_FIELD_F64, 1, "1", "", "normalised estimation error squared; -1: no truth is bound"),
    OTO_FIELD_(struct oto_estimate_record, nees_degrees, "nees_degrees", OTO_FIELD_F64, 1, "1", "", "states that the error is over"),
    OTO_FIELD_(struct oto_estimate_record, status, "status", OTO_FIELD_U64, 1, "", "", "0 aligning, 1 running"),
    OTO_FIELD_(struct oto_estimate_record, used, "used", OTO_FIELD_U64, 1, "", "", "measurements used since the start"),
    OTO_FIELD_(struct oto_estimate_record, gated, "gated", OTO_FIELD_U64, 1, "", "", "measurements beyond their gate"),
    OTO_FIELD_(struct oto_estimate_record, refused, "refused", OTO_FIELD_U64, 1, "", "", "measurements that are not finite or not defined in this state"),
    OTO_FIELD_(struct oto_estimate_record, late, "late", OTO_FIELD_U64, 1, "", "", "measurements that came too late"),
    OTO_FIELD_(struct oto_estimate_record, singular, "singular", OTO_FIELD_U64, 1, "", "", "measurements whose innovation covariance has no inverse"),
    OTO_FIELD_(struct oto_estimate_record, age_ns, "age_ns", OTO_FIELD_I64, 1, "ns", "", "since the last measurement that was used"),
};
static const struct oto_record_type oto_estimate_type = {
    "estimate", sizeof(struct oto_estimate_record), sizeof oto_estimate_fields / sizeof *oto_estimate_fields, oto_estimate_fields};

static const struct oto_field oto_fault_label_fields[] = {
    OTO_FIELD_(struct oto_fault_label_record, sample_seq, "sample_seq", OTO_FIELD_U64, 1, "", "", "seq of the sample; 0 where it was lost"),
    OTO_FIELD_(struct oto_fault_label_record, sample, "sample", OTO_FIELD_U64, 1, "", "", "number of the sample"),
    OTO_FIELD_(struct oto_fault_label_record, kinds, "kinds", OTO_FIELD_U64, 1, "", "", "bit k: a fault of kind k"),
    OTO_FIELD_(struct oto_fault_label_record, count, "count", OTO_FIELD_U32, 1, "", "", "faults in the lists"),
    OTO_FIELD_(struct oto_fault_label_record, lost, "lost", OTO_FIELD_U32, 1, "", "", "1: the sample was not published"),
    OTO_FIELD_(struct oto_fault_label_record, id, "id", OTO_FIELD_U32, OTO_FAULT_LABELS, "", "", "number of each fault"),
    OTO_FIELD_(struct oto_fault_label_record, kind, "kind", OTO_FIELD_U32, OTO_FAULT_LABELS, "", "", "kind of each fault"),
    OTO_FIELD_(struct oto_fault_label_record, amount, "amount", OTO_FIELD_F64, OTO_FAULT_LABELS, "", "", "what each fault did"),
    OTO_FIELD_(struct oto_fault_label_record, clean, "clean", OTO_FIELD_F64, OTO_FAULT_CLEAN_NUMBERS, "", "", "the record's numbers before the faults"),
};
static const struct oto_record_type oto_fault_label_type = {
    "fault_label", sizeof(struct oto_fault_label_record), sizeof oto_fault_label_fields / sizeof *oto_fault_label_fields,
    oto_fault_label_fields};

static const struct oto_field oto_event_fields[] = {
    OTO_FIELD_(struct oto_event_record, kind, "kind", OTO_FIELD_U32, 1, "", "", "number of the kind of event"),
    OTO_FIELD_(struct oto_event_record, severity, "severity", OTO_FIELD_U32, 1, "", "", "0 info, 1 warning, 2 error"),
    OTO_FIELD_(struct oto_event_record, tick, "tick", OTO_FIELD_U64, 1, "", "", "tick at which it took effect"),
    OTO_FIELD_(struct oto_event_record, value, "value", OTO_FIELD_I64, 1, "", "", "the kind's own number"),
    OTO_FIELD_(struct oto_event_record, source, "source", OTO_FIELD_TEXT, 64, "", "", "node, client or part of the server"),
    OTO_FIELD_(struct oto_event_record, text, "text", OTO_FIELD_TEXT, 152, "", "", "one sentence"),
};
static const struct oto_record_type oto_event_type = {
    "event", sizeof(struct oto_event_record), sizeof oto_event_fields / sizeof *oto_event_fields, oto_event_fields};
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
