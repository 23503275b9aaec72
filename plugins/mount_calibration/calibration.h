/*
 * The records of a mount calibration: the attitude of a sensor on its vehicle, its bounds, and the manoeuvres that are
 * still needed. Written by the estimator plugin `mount_calibration`, read by clients. Pure data: any thread.
 *
 * Angles are fixed-axis roll, pitch, yaw in degrees, as in a world's `mount.rpy_deg`. The rotation takes sensor vectors to
 * the vehicle's axes, which are those of the unladen, level chassis: x forward, y left, z up.
 */
#ifndef OTOLITH_CALIBRATION_H
#define OTOLITH_CALIBRATION_H

#include "otolith/channel.h"
#include "otolith/vecmath.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define OTO_CALIBRATION_STATE_TABLE(X) \
    X(NOT_ACCEPTED, 0, "not accepted") \
    X(ACCEPTED,     1, "accepted") \
    X(FAILED,       2, "failed") \
    X(INVALID,      3, "invalid")

/* The reason for the state. */
#define OTO_CALIBRATION_REASON_TABLE(X) \
    X(COLLECTING,     0, "collecting data") \
    X(CONSISTENT,     1, "bound reached, parts agree") \
    X(STOPPED,        2, "stopped") \
    X(NO_SPEED,       3, "no speed is coming in") \
    X(NO_IMU,         4, "no usable IMU samples are coming in") \
    X(INPUT_UNITS,    5, "an input is in other units, or out of its range") \
    X(INPUT_CONFLICT, 6, "IMU and speed contradict each other") \
    X(OUTSIDE_BOX,    7, "the mount is further from the nominal one than is allowed") \
    X(MOVED,          8, "the mount has moved since it was accepted") \
    X(PARTS_DISAGREE, 9, "parts of the drive give different mounts") \
    X(WRONG_PRIOR,   10, "the previous result does not fit")

/* Manoeuvres that the vehicle still has to drive: bits of manoeuvres_needed, elements of manoeuvre_progress. */
#define OTO_CALIBRATION_MANOEUVRE_TABLE(X) \
    X(STOP,          0, "stand still") \
    X(FORWARD_START, 1, "start forward from standstill") \
    X(BRAKE,         2, "brake") \
    X(TURN_LEFT,     3, "turn left") \
    X(TURN_RIGHT,    4, "turn right") \
    X(DISTANCE,      5, "drive on")

/* Faults of the inputs: bits of monitors_raw and monitors. */
#define OTO_CALIBRATION_MONITOR_TABLE(X) \
    X(IMU_MISSING,      0, "no IMU samples") \
    X(IMU_NOT_FINITE,   1, "an IMU sample with a NaN, an infinity or an axis that is missing") \
    X(IMU_STUCK,        2, "the IMU repeats itself") \
    X(IMU_RATE,         3, "the IMU is slower than 50 Hz, or irregular") \
    X(IMU_TIME,         4, "the IMU's time stamps repeat, jump or go back") \
    X(ACCEL_RANGE,      5, "specific force is not in m/s^2: it is far from 9.8 at rest") \
    X(GYRO_RANGE,       6, "angular rate is not in rad/s, or its bias is beyond its range") \
    X(SPEED_MISSING,    7, "no speed") \
    X(SPEED_NOT_FINITE, 8, "a speed that is a NaN or an infinity") \
    X(SPEED_RANGE,      9, "speed is not in m/s, or beyond its range") \
    X(SPEED_STUCK,     10, "speed repeats itself while the vehicle accelerates") \
    X(SPEED_TIME,      11, "the speed's time stamps are late, repeat, jump or go back") \
    X(SPEED_CONFLICT,  12, "speed and acceleration contradict each other") \
    X(GRAVITY,         13, "gravity is not where the result says")
/* clang-format on */

enum oto_calibration_state {
#define OTO_X(name, number, text) OTO_CALIBRATION_##name = number,
    OTO_CALIBRATION_STATE_TABLE(OTO_X)
#undef OTO_X
};
enum oto_calibration_reason {
#define OTO_X(name, number, text) OTO_CALIBRATION_REASON_##name = number,
    OTO_CALIBRATION_REASON_TABLE(OTO_X)
#undef OTO_X
};
enum oto_calibration_manoeuvre {
#define OTO_X(name, number, text) OTO_CALIBRATION_MANOEUVRE_##name = number,
    OTO_CALIBRATION_MANOEUVRE_TABLE(OTO_X)
#undef OTO_X
    OTO_CALIBRATION_MANOEUVRES
};
enum oto_calibration_monitor {
#define OTO_X(name, number, text) OTO_CALIBRATION_MONITOR_##name = number,
    OTO_CALIBRATION_MONITOR_TABLE(OTO_X)
#undef OTO_X
    OTO_CALIBRATION_MONITORS
};
/*
 * Axes of the result, each accepted separately. There are two rolls. The repeatable roll is relative to the mean road: a
 * second drive of the same car on the same roads gives it again. The absolute roll is relative to gravity. They differ by
 * the crown, the mean roll of the road.
 */
enum oto_calibration_axis {
    OTO_CALIBRATION_PITCH = 0,
    OTO_CALIBRATION_YAW,
    OTO_CALIBRATION_ROLL_REPEATABLE,
    OTO_CALIBRATION_ROLL_ABSOLUTE,
    OTO_CALIBRATION_AXES
};
/* How the calibration treats a previous result on an axis. */
enum oto_calibration_previous {
    OTO_CALIBRATION_PREVIOUS_NONE = 0,
    OTO_CALIBRATION_PREVIOUS_CARRIED, /* not used yet: the new data alone could not have refuted it */
    OTO_CALIBRATION_PREVIOUS_JOINED,
    OTO_CALIBRATION_PREVIOUS_REFUTED
};
enum oto_calibration_method { OTO_CALIBRATION_JOINT = 0, OTO_CALIBRATION_HISTOGRAM = 1 };

#define OTO_CALIBRATION_TEXT_(function, table)                                                                         \
    static inline const char *function(uint32_t number)                                                                \
    {                                                                                                                  \
        static const char *const texts[] = {table(OTO_CALIBRATION_TEXT_OF_)};                                          \
        return number < sizeof texts / sizeof *texts ? texts[number] : "";                                             \
    }
#define OTO_CALIBRATION_TEXT_OF_(name, number, text) text,
OTO_CALIBRATION_TEXT_(oto_calibration_state_text, OTO_CALIBRATION_STATE_TABLE)
OTO_CALIBRATION_TEXT_(oto_calibration_reason_text, OTO_CALIBRATION_REASON_TABLE)
OTO_CALIBRATION_TEXT_(oto_calibration_manoeuvre_text, OTO_CALIBRATION_MANOEUVRE_TABLE)
OTO_CALIBRATION_TEXT_(oto_calibration_monitor_text, OTO_CALIBRATION_MONITOR_TABLE)

/* Bits of `signals`: the quantities that are being estimated. */
#define OTO_CALIBRATION_SIGNAL_SENSOR_TO_RIG (1u << 1)
#define OTO_CALIBRATION_SIGNAL_ROLL (1u << 3)
#define OTO_CALIBRATION_SIGNAL_PITCH (1u << 4)
#define OTO_CALIBRATION_SIGNAL_YAW (1u << 5)

/* Port "": the current result. While an angle is unknown its bound is 180 deg. */
struct oto_mount_calibration_record {
    uint32_t state;  /* enum oto_calibration_state */
    uint32_t reason; /* enum oto_calibration_reason */
    uint32_t method; /* enum oto_calibration_method */
    uint32_t running; /* 0: stopped, samples are not used */
    double percent;   /* 0 to 100, 100 at acceptance; does not fall while the data are good */
    double rpy_deg[3];
    double bound_3sigma_deg[3]; /* of a rotation about the vehicle's x, y, z axis */
    double nominal_rpy_deg[3];
    double correction_rpy_deg[3]; /* nominal_from_estimated: inverse of the nominal mount times the estimated mount */
    oto_quat q_body_from_sensor;
    double rotation_body_from_sensor[9]; /* row-major */
    oto_vec3 position_body_m;            /* nominal position of the sensor */
    oto_vec3 gyro_bias_rad_s;            /* sensor frame */
    oto_vec3 accel_bias_m_s2;
    double compliance_deg_s2_m[2]; /* pitch per forward acceleration, roll per leftward acceleration */
    double speed_scale;            /* reported over true speed */
    double speed_lag_s;
    double seconds; /* duration of the IMU data used since start or reset */
    double distance_m;
    uint32_t signals;
    uint32_t manoeuvres_needed; /* bits by enum oto_calibration_manoeuvre */
    double manoeuvre_progress[OTO_CALIBRATION_MANOEUVRES]; /* 0 to 1, 1: fulfilled */
    uint32_t monitors_raw;                                 /* bits by enum oto_calibration_monitor: now */
    uint32_t monitors;                                     /* debounced */
    uint32_t changes; /* changes of `state` since start; a larger number than in the last record means a change */
    uint32_t resets;
    /* Arrays indexed by enum oto_calibration_axis. */
    double axis_value_deg[OTO_CALIBRATION_AXES];
    double axis_bound_deg[OTO_CALIBRATION_AXES]; /* at the confidence that the parameters require */
    uint32_t axis_accepted[OTO_CALIBRATION_AXES];
    uint32_t axis_previous[OTO_CALIBRATION_AXES]; /* enum oto_calibration_previous */
};
#ifndef __cplusplus
_Static_assert(offsetof(struct oto_mount_calibration_record, axis_value_deg) == 416, "the axes follow what was there before");
_Static_assert(sizeof(struct oto_mount_calibration_record) == 512, "the record is 512 bytes");
#endif

/* Port `diagnostics`. */
struct oto_mount_calibration_diagnostics_record {
    uint64_t imu_used, imu_dropped, speed_used, speed_dropped;
    uint64_t cycles; /* steps of the filter (joint method) or votes (histogram method) */
    uint64_t gated;  /* measurements that the gates refused as outliers */
    double up_votes, forward_votes;         /* sum of the decayed votes in the long histograms */
    double up_max_votes, forward_max_votes; /* of the highest bin */
    double up_outliers, forward_outliers;
    double short_up_votes, short_forward_votes; /* in the short histograms */
    double inclination_azimuth_deg[4];          /* peaks: up inclination, up azimuth, forward inclination, forward azimuth */
    double residual_ratio[4]; /* learned sigma of the noise over the assumed one: speed, sideways, vertical, bank */
    double widening[3];       /* factor on the bounds: excess of the changes of the result over their expected size */
    oto_vec3 gravity_residual_m_s2; /* gravity check: mean of specific force − acceleration − reaction to gravity, body axes */
    double bank_deg, heave_deg; /* rms of the road's bank; rms of the slow pitch of the body relative to its path */
    uint64_t turns_left, turns_right, starts, stops, reverses;
};

#define OTO_CALIBRATION_HISTOGRAM_BINS 301

/* Port `histogram`: votes of bin i of histogram h are counts[h][i] · votes_per_count[h]. */
struct oto_mount_calibration_histogram_record {
    double range_deg[4]; /* bins span -range to +range about the nominal mount */
    double votes_per_count[4];
    double peak_deg[4];
    uint32_t accepted[4];
    uint16_t counts[4][OTO_CALIBRATION_HISTOGRAM_BINS]; /* up inclination, up azimuth, forward inclination, forward azimuth */
};

/* clang-format off */
#define OTO_FIELD_CAL_(record, member, wire, kind, n, u, f, t) {wire, kind, n, (uint32_t)offsetof(record, member), u, f, t}
#define OTO_FIELD_CAL_XYZ_(record, member, wire, u, f, t) \
    {wire ".x", OTO_FIELD_F64, 1, (uint32_t)offsetof(record, member), u, f, t " x"}, \
    {wire ".y", OTO_FIELD_F64, 1, (uint32_t)offsetof(record, member) + 8, u, f, t " y"}, \
    {wire ".z", OTO_FIELD_F64, 1, (uint32_t)offsetof(record, member) + 16, u, f, t " z"}

#define OTO_CAL_(member, kind, n, u, f, t) OTO_FIELD_CAL_(struct oto_mount_calibration_record, member, #member, kind, n, u, f, t)
static const struct oto_field oto_mount_calibration_fields[] = {
    OTO_CAL_(state, OTO_FIELD_U32, 1, "", "", "0 not accepted, 1 accepted, 2 failed, 3 invalid"),
    OTO_CAL_(reason, OTO_FIELD_U32, 1, "", "", "number of the reason for the state"),
    OTO_CAL_(method, OTO_FIELD_U32, 1, "", "", "0 joint, 1 histogram"),
    OTO_CAL_(running, OTO_FIELD_U32, 1, "", "", "0 while stopped"),
    OTO_CAL_(percent, OTO_FIELD_F64, 1, "%", "", "progress to acceptance"),
    OTO_CAL_(rpy_deg, OTO_FIELD_F64, 3, "deg", "body", "estimated mount: roll, pitch, yaw"),
    OTO_CAL_(bound_3sigma_deg, OTO_FIELD_F64, 3, "deg", "body", "3-sigma bounds of a rotation about the axes x, y, z, 180 while unknown"),
    OTO_CAL_(nominal_rpy_deg, OTO_FIELD_F64, 3, "deg", "body", "nominal mount"),
    OTO_CAL_(correction_rpy_deg, OTO_FIELD_F64, 3, "deg", "sensor", "what the estimate adds to the nominal mount"),
    OTO_FIELD_CAL_(struct oto_mount_calibration_record, q_body_from_sensor, "q_body_from_sensor.w", OTO_FIELD_F64, 1, "1", "body", "estimated mount, quaternion w"),
    {"q_body_from_sensor.x", OTO_FIELD_F64, 1, (uint32_t)offsetof(struct oto_mount_calibration_record, q_body_from_sensor) + 8, "1", "body", "estimated mount, quaternion x"},
    {"q_body_from_sensor.y", OTO_FIELD_F64, 1, (uint32_t)offsetof(struct oto_mount_calibration_record, q_body_from_sensor) + 16, "1", "body", "estimated mount, quaternion y"},
    {"q_body_from_sensor.z", OTO_FIELD_F64, 1, (uint32_t)offsetof(struct oto_mount_calibration_record, q_body_from_sensor) + 24, "1", "body", "estimated mount, quaternion z"},
    OTO_CAL_(rotation_body_from_sensor, OTO_FIELD_F64, 9, "1", "body", "estimated mount, matrix, row-major"),
    OTO_FIELD_CAL_XYZ_(struct oto_mount_calibration_record, position_body_m, "position_body_m", "m", "body", "nominal mount position"),
    OTO_FIELD_CAL_XYZ_(struct oto_mount_calibration_record, gyro_bias_rad_s, "gyro_bias", "rad/s", "sensor", "gyroscope bias"),
    OTO_FIELD_CAL_XYZ_(struct oto_mount_calibration_record, accel_bias_m_s2, "accel_bias", "m/s^2", "sensor", "accelerometer bias"),
    OTO_CAL_(compliance_deg_s2_m, OTO_FIELD_F64, 2, "deg.s^2/m", "body", "suspension: pitch for forward, roll for leftward acceleration"),
    OTO_CAL_(speed_scale, OTO_FIELD_F64, 1, "1", "", "reported over true speed"),
    OTO_CAL_(speed_lag_s, OTO_FIELD_F64, 1, "s", "", "how late the speed is"),
    OTO_CAL_(seconds, OTO_FIELD_F64, 1, "s", "", "IMU data used"),
    OTO_CAL_(distance_m, OTO_FIELD_F64, 1, "m", "", "distance driven meanwhile"),
    OTO_CAL_(signals, OTO_FIELD_U32, 1, "", "", "bits of what is estimated"),
    OTO_CAL_(manoeuvres_needed, OTO_FIELD_U32, 1, "", "", "bits of what is still to be driven"),
    OTO_CAL_(manoeuvre_progress, OTO_FIELD_F64, OTO_CALIBRATION_MANOEUVRES, "1", "", "stop, forward start, brake, left turn, right turn, distance"),
    OTO_CAL_(monitors_raw, OTO_FIELD_U32, 1, "", "", "bits of what is wrong with the inputs now"),
    OTO_CAL_(monitors, OTO_FIELD_U32, 1, "", "", "the same, debounced"),
    OTO_CAL_(changes, OTO_FIELD_U32, 1, "", "", "changes of state"),
    OTO_CAL_(resets, OTO_FIELD_U32, 1, "", "", "times that the estimate began anew"),
    OTO_CAL_(axis_value_deg, OTO_FIELD_F64, OTO_CALIBRATION_AXES, "deg", "body", "pitch, yaw, repeatable roll, absolute roll"),
    OTO_CAL_(axis_bound_deg, OTO_FIELD_F64, OTO_CALIBRATION_AXES, "deg", "body", "their bounds at the confidence asked for, about the vehicle's axes"),
    OTO_CAL_(axis_accepted, OTO_FIELD_U32, OTO_CALIBRATION_AXES, "", "", "1 where accepted"),
    OTO_CAL_(axis_previous, OTO_FIELD_U32, OTO_CALIBRATION_AXES, "", "", "a previous result: 0 none, 1 carried, 2 joined, 3 refuted"),
};
static const struct oto_record_type oto_mount_calibration_type = {
    "mount_calibration", sizeof(struct oto_mount_calibration_record),
    sizeof oto_mount_calibration_fields / sizeof *oto_mount_calibration_fields, oto_mount_calibration_fields};
#undef OTO_CAL_

#define OTO_CAL_(member, kind, n, u, f, t) \
    OTO_FIELD_CAL_(struct oto_mount_calibration_diagnostics_record, member, #member, kind, n, u, f, t)
static const struct oto_field oto_mount_calibration_diagnostics_fields[] = {
    OTO_CAL_(imu_used, OTO_FIELD_U64, 1, "", "", "IMU samples used"),
    OTO_CAL_(imu_dropped, OTO_FIELD_U64, 1, "", "", "IMU samples left out"),
    OTO_CAL_(speed_used, OTO_FIELD_U64, 1, "", "", "speeds used"),
    OTO_CAL_(speed_dropped, OTO_FIELD_U64, 1, "", "", "speeds left out"),
    OTO_CAL_(cycles, OTO_FIELD_U64, 1, "", "", "steps of the filter, or votes"),
    OTO_CAL_(gated, OTO_FIELD_U64, 1, "", "", "measurements left out as outliers"),
    OTO_CAL_(up_votes, OTO_FIELD_F64, 1, "", "", "votes for the up axis, long histogram"),
    OTO_CAL_(forward_votes, OTO_FIELD_F64, 1, "", "", "votes for the forward axis, long histogram"),
    OTO_CAL_(up_max_votes, OTO_FIELD_F64, 1, "", "", "votes in its highest bin"),
    OTO_CAL_(forward_max_votes, OTO_FIELD_F64, 1, "", "", "votes in its highest bin"),
    OTO_CAL_(up_outliers, OTO_FIELD_F64, 1, "", "", "votes far from the peak"),
    OTO_CAL_(forward_outliers, OTO_FIELD_F64, 1, "", "", "votes far from the peak"),
    OTO_CAL_(short_up_votes, OTO_FIELD_F64, 1, "", "", "votes in the short histogram"),
    OTO_CAL_(short_forward_votes, OTO_FIELD_F64, 1, "", "", "votes in the short histogram"),
    OTO_CAL_(inclination_azimuth_deg, OTO_FIELD_F64, 4, "deg", "", "peaks: up inclination, up azimuth, forward inclination, forward azimuth"),
    OTO_CAL_(residual_ratio, OTO_FIELD_F64, 4, "1", "", "innovations over what was assumed: speed, sideways, vertical, bank"),
    OTO_CAL_(widening, OTO_FIELD_F64, 3, "1", "", "of the bounds: how much more the result has moved than it should"),
    OTO_FIELD_CAL_XYZ_(struct oto_mount_calibration_diagnostics_record, gravity_residual_m_s2, "gravity_residual", "m/s^2", "body", "gravity self-check"),
    OTO_CAL_(bank_deg, OTO_FIELD_F64, 1, "deg", "", "rms of the road's bank"),
    OTO_CAL_(heave_deg, OTO_FIELD_F64, 1, "deg", "", "rms of the body's slow pitch against its path"),
    OTO_CAL_(turns_left, OTO_FIELD_U64, 1, "", "", "left turns used"),
    OTO_CAL_(turns_right, OTO_FIELD_U64, 1, "", "", "right turns used"),
    OTO_CAL_(starts, OTO_FIELD_U64, 1, "", "", "starts used"),
    OTO_CAL_(stops, OTO_FIELD_U64, 1, "", "", "stops used"),
    OTO_CAL_(reverses, OTO_FIELD_U64, 1, "", "", "starts in reverse"),
};
static const struct oto_record_type oto_mount_calibration_diagnostics_type = {
    "mount_calibration_diagnostics", sizeof(struct oto_mount_calibration_diagnostics_record),
    sizeof oto_mount_calibration_diagnostics_fields / sizeof *oto_mount_calibration_diagnostics_fields,
    oto_mount_calibration_diagnostics_fields};
#undef OTO_CAL_

#define OTO_CAL_(member, wire, kind, n, u, t) \
    OTO_FIELD_CAL_(struct oto_mount_calibration_histogram_record, member, wire, kind, n, u, "", t)
static const struct oto_field oto_mount_calibration_histogram_fields[] = {
    OTO_CAL_(range_deg, "range_deg", OTO_FIELD_F64, 4, "deg", "bins span -range to +range"),
    OTO_CAL_(votes_per_count, "votes_per_count", OTO_FIELD_F64, 4, "", "votes of one count"),
    OTO_CAL_(peak_deg, "peak_deg", OTO_FIELD_F64, 4, "deg", "where the peak is"),
    OTO_CAL_(accepted, "accepted", OTO_FIELD_U32, 4, "", "whether the histogram is accepted"),
    OTO_CAL_(counts[0], "up_inclination", OTO_FIELD_U16, OTO_CALIBRATION_HISTOGRAM_BINS, "", "counts"),
    OTO_CAL_(counts[1], "up_azimuth", OTO_FIELD_U16, OTO_CALIBRATION_HISTOGRAM_BINS, "", "counts"),
    OTO_CAL_(counts[2], "forward_inclination", OTO_FIELD_U16, OTO_CALIBRATION_HISTOGRAM_BINS, "", "counts"),
    OTO_CAL_(counts[3], "forward_azimuth", OTO_FIELD_U16, OTO_CALIBRATION_HISTOGRAM_BINS, "", "counts"),
};
static const struct oto_record_type oto_mount_calibration_histogram_type = {
    "mount_calibration_histogram", sizeof(struct oto_mount_calibration_histogram_record),
    sizeof oto_mount_calibration_histogram_fields / sizeof *oto_mount_calibration_histogram_fields,
    oto_mount_calibration_histogram_fields};
#undef OTO_CAL_
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
