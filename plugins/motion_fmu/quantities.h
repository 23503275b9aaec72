/* The quantities of the truth that a world maps to variables of an FMU. Pure data: any thread. */
#ifndef MOTION_FMU_QUANTITIES_H
#define MOTION_FMU_QUANTITIES_H

/* X(name, key, unit, powers of m, s and rad, text); axes ENU, attitude ENU from body, angular rate in body axes. */
/* clang-format off */
#define QUANTITY_TABLE(X) \
    X(POSITION_X, "position_x_m", "m", 1, 0, 0, "east") \
    X(POSITION_Y, "position_y_m", "m", 1, 0, 0, "north") \
    X(POSITION_Z, "position_z_m", "m", 1, 0, 0, "up") \
    X(VELOCITY_X, "velocity_x_m_s", "m/s", 1, -1, 0, "east; not given: from the position") \
    X(VELOCITY_Y, "velocity_y_m_s", "m/s", 1, -1, 0, "north; not given: from the position") \
    X(VELOCITY_Z, "velocity_z_m_s", "m/s", 1, -1, 0, "up; not given: from the position") \
    X(ACCEL_X, "accel_x_m_s2", "m/s^2", 1, -2, 0, "coordinate acceleration east; not given: from the velocity") \
    X(ACCEL_Y, "accel_y_m_s2", "m/s^2", 1, -2, 0, "coordinate acceleration north; not given: from the velocity") \
    X(ACCEL_Z, "accel_z_m_s2", "m/s^2", 1, -2, 0, "coordinate acceleration up; not given: from the velocity") \
    X(Q_W, "q_w", "", 0, 0, 0, "attitude as a Hamilton quaternion that takes body axes to ENU: all four or none") \
    X(Q_X, "q_x", "", 0, 0, 0, "attitude") \
    X(Q_Y, "q_y", "", 0, 0, 0, "attitude") \
    X(Q_Z, "q_z", "", 0, 0, 0, "attitude") \
    X(ROLL, "roll_rad", "rad", 0, 0, 1, "attitude as fixed-axis roll, pitch, yaw; in place of the quaternion") \
    X(PITCH, "pitch_rad", "rad", 0, 0, 1, "positive: nose down (body axes forward, left, up)") \
    X(YAW, "yaw_rad", "rad", 0, 0, 1, "from east to north") \
    X(RATE_X, "angular_rate_x_rad_s", "rad/s", 0, -1, 1, "about body x; not given: from the attitude") \
    X(RATE_Y, "angular_rate_y_rad_s", "rad/s", 0, -1, 1, "about body y; not given: from the attitude") \
    X(RATE_Z, "angular_rate_z_rad_s", "rad/s", 0, -1, 1, "about body z; not given: from the attitude")
/* clang-format on */

enum quantity {
#define QUANTITY_X(name, key, unit, m, s, rad, text) QUANTITY_##name,
    QUANTITY_TABLE(QUANTITY_X)
#undef QUANTITY_X
        QUANTITIES
};

#endif
