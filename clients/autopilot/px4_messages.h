/* otolith's records as messages of PX4's simulator interface: units, axes and field order of MAVLink's common.xml. Pure. */
#ifndef AUTOPILOT_PX4_MESSAGES_H
#define AUTOPILOT_PX4_MESSAGES_H

#include "mavlink.h"
#include "otolith/records.h"

/* The data of one HIL_SENSOR. A record NULL: there is no new sample, and its bits in `fields_updated` are 0. */
struct px4_sensor {
    int64_t t_ns;
    uint8_t id;
    const struct oto_imu_record *imu;
    const struct oto_mag_record *mag;
    const struct oto_pressure_record *pressure;
};

void px4_heartbeat(struct mavlink_message *message);
void px4_hil_sensor(const struct px4_sensor *sensor, struct mavlink_message *message);
void px4_hil_gps(int64_t t_ns, const struct oto_navsat_record *fix, struct mavlink_message *message);

/* The place that HIL_STATE_QUATERNION needs beside the truth. */
struct px4_place {
    double latitude_rad, longitude_rad, altitude_m; /* of the world's origin */
};
void px4_hil_state(int64_t t_ns, const struct oto_truth_record *truth, const oto_vec3 *specific_force_flu_m_s2, const struct px4_place *origin,
                   struct mavlink_message *message);

enum { PX4_CONTROLS = 16 };
/* Gets the controls; motors are 0 to 1. Values that are not finite (PX4's "off") become 0. */
void px4_controls(const struct mavlink_message *message, double controls[PX4_CONTROLS]);
/* True for a COMMAND_LONG that sets the interval of message *id. The interval is in us; 0: the default, -1: off. */
bool px4_message_interval(const struct mavlink_message *message, uint32_t *id, double *interval_us);

#endif
