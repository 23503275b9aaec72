/*
 * Error-state inertial navigation: a strapdown mechanisation driven by an IMU, and a Kalman filter of its errors.
 * `ins_plan` is constant, `ins_state` contains everything that changes; both are plain data. Pure; nothing is allocated.
 * Equations: README.md.
 *
 * An error is truth minus estimate, at the position of the IMU; attitude errors are small rotations about body axes:
 *   p = p̂ + δp,  u = û + δu,  q = q̂ ⊗ exp(δθ),  b = b̂ + δb,  a = â + δa
 * u = Rᵀ v is the velocity in body axes, b the biases, a the errors of the aids.
 */
#ifndef INS_FILTER_H
#define INS_FILTER_H

#include "ins_params.h"
#include "num_filter.h"
#include "num_strapdown.h"
#include "otolith/geodesy.h"

/* Indices in the error state. */
enum {
    INS_P = 0, INS_U = 3, INS_THETA = 6, INS_BG = 9, INS_BA = 12,
    /* errors of the aids: */
    INS_SCALE = 15,      /* odometer reading over true speed */
    INS_FIX = 16,        /* east, north, up: correlated error of fixes, in units of its sigma */
    INS_FIX_SPEED = 19,  /* the same for the receiver's velocity */
    INS_COLOURED = 22,   /* correlated error of the odometer, m/s */
    INS_SLIP = 23,       /* slip per specific force while driving and while braking, 1/(m/s²) */
    INS_ANGLE = 25,      /* angles of the path to the body, v_y / v_x and v_z / v_x, where the accelerometer reads 0 across and along */
    INS_COMPLIANCE = 27, /* change of these angles per leftward and forward specific force, 1/(m/s²) */
    INS_OFFSET = 29,     /* offset of the barometer's height, m */
    INS_FLOW = 30,       /* share of the dynamic pressure that the barometer reads */
    INS_HEADING = 31,    /* correlated error of the magnetometer's heading, rad */
    INS_STATES = 32
};
enum { INS_AID = INS_SCALE, INS_AIDS = INS_STATES - INS_AID };

/* The parts of the error that are compared with the truth. */
enum ins_part { INS_PART_POSITION, INS_PART_VELOCITY, INS_PART_ATTITUDE, INS_PARTS };

/* The kinds of measurements, as rows of the port "innovation". */
enum ins_row {
    INS_ROW_ODOMETER,
    INS_ROW_NONHOLONOMIC,
    INS_ROW_MAGNETOMETER,
    INS_ROW_POSITION,
    INS_ROW_ZERO_VELOCITY,
    INS_ROW_ZERO_RATE,
    INS_ROW_IMU, /* IMU samples, and levelling */
    INS_ROW_GNSS,
    INS_ROW_GNSS_VELOCITY,
    INS_ROW_BAROMETER,
    INS_ROWS
};

/* Noise of a triad: spectral densities of its white noise and of the noise that drives its bias. */
struct ins_triad {
    double noise_psd; /* two-sided, u²/Hz */
    double bias_sigma_u, bias_psd, bias_rate_1_s; /* bias_rate_1_s: 1/tau; 0: random walk */
    oto_vec3 bias_u;
};

/* An error of an aid: a first-order Gauss–Markov process, or constant, or a random walk. */
struct ins_aid_error {
    double sigma, psd, rate_1_s; /* initial sigma; density of the driving noise; 1/tau */
};

struct ins_plan {
    struct ins_params params;
    struct ins_triad gyroscope, accelerometer;
    oto_quat q_body_from_sensor;
    oto_mat3 body_from_sensor;
    oto_vec3 imu_body_m;
    oto_vec3 gravity_enu_m_s2, earth_rate_enu_rad_s; /* gravity: at the origin */
    double gravity_change_1_s2;                      /* g/R of the round Earth; 0: gravity is the same everywhere */
    oto_vec3 mag_field_enu; /* only its azimuth is used: the horizontal part points to magnetic north */
    double mag_magnitude_t; /* 0: unknown */
    oto_vec3 odometer_body_m, fix_body_m; /* relative to the IMU */
    oto_vec3 nonholonomic_body_m;
    double imu_rate_hz;
    double odometer_gate, nonholonomic_gate, magnetometer_gate, position_gate, gnss_gate;
    oto_vec3 antenna_body_m; /* relative to the IMU */
    struct ins_aid_error aids[INS_AIDS];
    double barometer_gate, still_gate;
    oto_vec3 barometer_body_m;                /* relative to the IMU */
    double air_temperature_k, air_pressure_pa; /* standard air at the origin */
    oto_geodetic origin;
    bool has_odometer, has_magnetometer, has_gnss;
};

struct ins_alignment {
    uint64_t count;
    int64_t start_ns;
    oto_vec3 rate_sum, force_sum; /* sensor axes */
    uint64_t fields, fixes;
    oto_vec3 field_sum; /* body axes */
    oto_vec3 fix_enu_m, fix_sigma_m, fix_body_m; /* last fix, its sigma, and the point of the body that it locates */
    oto_vec3 fix_correlated_m;                   /* the part of fix_sigma_m that is correlated */
};

/* The newest measured samples, with which a late measurement is compared with the estimate at its own time. */
enum { INS_HISTORY = 128 };
struct ins_history {
    uint64_t count; /* samples since the start; the newest is at (count - 1) % INS_HISTORY */
    int64_t time_ns[INS_HISTORY];
    struct num_strapdown_sample sample[INS_HISTORY]; /* sensor axes */
};

struct ins_state {
    uint64_t running;
    uint64_t has_sample;
    int64_t time_ns;
    struct num_strapdown nav; /* at the position of the IMU */
    oto_vec3 gyro_bias, accel_bias; /* sensor axes */
    double aids[INS_AIDS]; /* errors of the aids, from INS_AID on */
    uint64_t fix_mode;   /* mode of the last satellite fix; 0: none yet */
    double p[INS_STATES * INS_STATES];
    struct num_strapdown_sample sample; /* last measured sample, sensor axes */
    struct ins_history history;
    struct ins_alignment alignment;
    double odometer_m_s;
    int64_t odometer_ns, still_since_ns; /* INT64_MIN: no speed yet; not at standstill */
    int64_t nonholonomic_ns, still_ns;   /* times of the last nonholonomic and standstill updates */
    struct num_filter_row rows[INS_ROWS];
    double nis, nis_rows;
    int64_t used_ns;
    struct num_filter_truths truths;
    double part_nees[INS_PARTS]; /* NEES of each part at the last truth; -1: none yet */
};

/* A satellite fix. */
struct ins_fix {
    oto_geodetic place;
    oto_vec3 variance_enu_m2;
    uint64_t mode; /* fixes of different modes have independent errors */
    bool has_velocity;
    oto_vec3 velocity_enu_m_s, velocity_variance_enu_m2_s2;
};

void ins_filter_init(const struct ins_plan *plan, struct ins_state *state);
/* Takes an IMU sample in sensor axes. If it is not used, returns an outcome from NUM_REFUSED on, which is a warning. */
enum num_outcome ins_filter_imu(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                                const struct num_strapdown_sample *sample);
enum num_outcome ins_filter_odometer(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns, double speed_m_s);
enum num_outcome ins_filter_magnetometer(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                                         oto_vec3 field_body_t);
enum num_outcome ins_filter_position(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                                     oto_vec3 position_enu_m);
enum num_outcome ins_filter_fix(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                                const struct ins_fix *fix);
enum num_outcome ins_filter_barometer(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                                      double pressure_pa);
/* Compares the estimate with the truth of the body origin, but only if t_ns is the time of the last IMU sample. */
void ins_filter_truth(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns, oto_vec3 position_enu_m,
                      oto_vec3 velocity_enu_m_s, oto_quat q_enu_from_body);

/* ---- between the parts of the filter ---- */

static inline double ins_aid(const struct ins_state *state, uint32_t place)
{
    return state->aids[place - INS_AID];
}

static inline oto_vec3 ins_rate_body(const struct ins_plan *plan, const struct ins_state *state)
{
    return oto_mat3_mul_vec(plan->body_from_sensor, oto_vec3_sub(state->sample.angular_rate_rad_s, state->gyro_bias));
}

/* Gravity at the IMU: on a round Earth it points to its centre, and falls with 2g/R of height. */
static inline oto_vec3 ins_gravity(const struct ins_plan *plan, const struct ins_state *state)
{
    const oto_vec3 p = state->nav.position_enu_m;
    return oto_vec3_add_scaled(plan->gravity_enu_m_s2, oto_vec3_make(-p.x, -p.y, 2.0 * p.z), plan->gravity_change_1_s2);
}

/* Velocity of the IMU in body axes. */
static inline oto_vec3 ins_velocity_body(const struct ins_state *state)
{
    return oto_quat_rotate_inv(state->nav.q_enu_from_body, state->nav.velocity_enu_m_s);
}

/* Writes a 3 × 3 block of a row-major matrix with INS_STATES columns. */
static inline void ins_put(double *matrix, uint32_t row, uint32_t column, oto_mat3 block)
{
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < 3; j++)
            matrix[(row + i) * INS_STATES + column + j] = block.m[i][j];
}

/* Updates the filter with a measurement, corrects the mechanisation, and counts the outcome. */
enum num_outcome ins_correct(struct ins_state *state, enum ins_row row, int64_t t_ns, struct num_kalman_row *measured);
/* Applies the nonholonomic constraint and the standstill update when they are due. */
void ins_say_what_holds(const struct ins_plan *plan, struct ins_state *state);
/* ins_align.c: uses an IMU sample for the alignment, while the filter is not running. */
void ins_align(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns);
void ins_align_restart(struct ins_state *state);
/*
 * Jacobian (9 × INS_STATES) by the error state: errors of the body origin's position, of its velocity in body axes, and of
 * the attitude.
 */
void ins_body_error_jacobian(const struct ins_plan *plan, const struct ins_state *state, double *j);
/* Covariance in body axes of ω × l by the white noise of a gyroscope's sample, for a place l from the IMU. */
oto_mat3 ins_turn_noise(const struct ins_plan *plan, oto_vec3 lever_m);
/* A measured sample, biases subtracted, in body axes. */
struct num_strapdown_sample ins_unbiased(const struct ins_plan *plan, const struct ins_state *state,
                                         const struct num_strapdown_sample *raw);
/* Makes the heading measurement from a field in body axes at this attitude; false if the field is nearly vertical. */
bool ins_heading_row(const struct ins_plan *plan, oto_quat q_enu_from_body, oto_vec3 field_body, double heading_error_rad,
                     struct num_kalman_row *measured);

#endif
