/* The parameters of the inertial navigation filter, as the host binds them. */
#ifndef INS_PARAMS_H
#define INS_PARAMS_H

#include <stdint.h>

#include "otolith/plugin.h"

/* The values that mean: the position of the channel (for a `position_m`), the declination of the world. */
#define INS_OF_CHANNEL 1e9
#define INS_OF_WORLD 1e9

enum ins_align { INS_ALIGN_REST = 0, INS_ALIGN_GIVEN = 1 };
enum ins_heading { INS_HEADING_GIVEN = 0, INS_HEADING_MAGNETOMETER = 1 };
enum ins_psd { INS_PSD_SINGLE = 0, INS_PSD_DOUBLE = 1 };

/* Parameters of a triad of the IMU; u is its unit, m/s² or rad/s. */
struct ins_triad_params {
    double noise_density_u_rthz;
    double bias_u[3];        /* known part of the bias */
    double bias_sigma_u;     /* sigma of the unknown part */
    double bias_tau_s;       /* correlation time of the unknown part, whose stationary sigma is bias_sigma_u; 0: random walk */
    double bias_walk_u_rts;
};

struct ins_params {
    double sample_rate_hz;
    int64_t psd; /* enum ins_psd */
    struct ins_triad_params gyroscope, accelerometer;
    int64_t earth_rate, gravity_turns;
    /* alignment */
    int64_t align;          /* enum ins_align */
    int64_t heading;        /* enum ins_heading */
    double align_s;
    double align_rate_rad_s, align_force_m_s2; /* limits at rest: of the rate, and of | |specific force| − gravity | */
    /* at the start */
    double position_enu_m[3], position_sigma_m[3];
    double velocity_enu_m_s[3], velocity_sigma_m_s;
    double rpy_deg[3], rpy_sigma_deg[3];
    int64_t position_from_fix;
    /* aids */
    char odometer_field[48];
    double odometer_position_m[3], odometer_sigma_m_s, odometer_gate;
    double odometer_scale_sigma, odometer_slip_sigma_percent_m_s2;
    double odometer_coloured_sigma_m_s, odometer_coloured_tau_s;
    double odometer_window_s, odometer_tick_m;
    int64_t odometer_signed;
    double nonholonomic_rate_hz, nonholonomic_position_m[3], nonholonomic_sigma_m_s[2], nonholonomic_gate;
    double nonholonomic_angle_sigma_deg, nonholonomic_compliance_sigma_deg_s2_m[2];
    double still_rate_hz, still_threshold_m_s, still_s, still_sigma_m_s, still_sigma_rad_s, still_gate;
    double magnetometer_coloured_sigma_deg, magnetometer_coloured_tau_s;
    double magnetometer_sigma_deg, magnetometer_declination_deg, magnetometer_magnitude_percent, magnetometer_gate;
    double gnss_position_m[3], gnss_correlated_share, gnss_tau_s, gnss_gate;
    int64_t gnss_velocity;
    double gnss_velocity_correlated_share, gnss_velocity_tau_s;
    double barometer_sigma_m, barometer_walk_m_rts, barometer_flow_sigma, barometer_gate;
    double position_fix_m[3], position_fix_sigma_m[3], position_fix_gate;
    /* time */
    double late_limit_s, max_imu_gap_s, gap_accel_m_s2, gap_rate_rad_s;
};

enum { INS_PARAM_COUNT = 73 };
extern const struct oto_param ins_param_table[INS_PARAM_COUNT];

#endif
