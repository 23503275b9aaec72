/*
 * Finds faults of the input samples. Each sample is checked alone and against the previous ones. Raw bits are the
 * faults of the current sample, debounced bits those that lasted. Pure, plain state.
 */
#ifndef MOUNT_CALIBRATION_MONITORS_H
#define MOUNT_CALIBRATION_MONITORS_H

#include <stdbool.h>
#include <stdint.h>

#include "calibration.h"
#include "otolith/vecmath.h"

struct monitors_plan {
    double gyro_bias_range_rad_s;
};

struct monitors {
    uint64_t imu_used, imu_dropped, speed_used, speed_dropped;
    int64_t imu_t_ns, speed_t_ns, begun_ns;   /* times of the last samples, and of the first one */
    int64_t imu_changed_ns, speed_changed_ns; /* when the values last changed */
    oto_vec3 specific_force_m_s2, angular_rate_rad_s;
    double force_step_m_s2, rate_step_rad_s; /* mean change from one sample to the next */
    double speed_m_s, speed_when_imu_changed_m_s;
    double period_s, felt_m_s2, still_rate_rad_s; /* running means */
    double conflict;                              /* share of refused blocks */
    uint32_t has_imu, has_speed;
    uint32_t raw, debounced; /* bits by enum oto_calibration_monitor */
    uint32_t once;           /* bits raised by single samples since the last review */
    uint32_t leaps;          /* consecutive samples that were dropped as spikes */
    int32_t level[OTO_CALIBRATION_MONITORS]; /* tenths of a second; counts up while the raw bit is set, otherwise down */
};

enum monitors_answer { MONITORS_DROP, MONITORS_USE, MONITORS_BREAK };

void monitors_init(struct monitors *monitors);
/* MONITORS_BREAK: the sample is good but does not continue the previous one: first sample, gap, or time jump. */
enum monitors_answer monitors_imu(struct monitors *monitors, int64_t t_ns, oto_vec3 specific_force_m_s2,
                                  oto_vec3 angular_rate_rad_s);
enum monitors_answer monitors_speed(struct monitors *monitors, int64_t t_ns, double speed_m_s);
/* Called once a block; `refused`: the filter refused a measurement of the block. */
void monitors_review(const struct monitors_plan *plan, struct monitors *monitors, bool still, bool moving,
                     bool refused);

/* Bits that make the result invalid. */
#define MONITORS_INPUT_UNITS                                                                                           \
    (1u << OTO_CALIBRATION_MONITOR_ACCEL_RANGE | 1u << OTO_CALIBRATION_MONITOR_GYRO_RANGE |                            \
     1u << OTO_CALIBRATION_MONITOR_SPEED_RANGE)
#define MONITORS_NO_SPEED                                                                                              \
    (1u << OTO_CALIBRATION_MONITOR_SPEED_MISSING | 1u << OTO_CALIBRATION_MONITOR_SPEED_NOT_FINITE |                    \
     1u << OTO_CALIBRATION_MONITOR_SPEED_STUCK | 1u << OTO_CALIBRATION_MONITOR_SPEED_TIME)
#define MONITORS_NO_IMU                                                                                                \
    (1u << OTO_CALIBRATION_MONITOR_IMU_MISSING | 1u << OTO_CALIBRATION_MONITOR_IMU_NOT_FINITE |                        \
     1u << OTO_CALIBRATION_MONITOR_IMU_STUCK | 1u << OTO_CALIBRATION_MONITOR_IMU_RATE |                                \
     1u << OTO_CALIBRATION_MONITOR_IMU_TIME)
#define MONITORS_CONFLICT (1u << OTO_CALIBRATION_MONITOR_SPEED_CONFLICT)

#endif
