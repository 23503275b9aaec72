/*
 * Error-state inertial navigation: a strapdown mechanisation driven by an IMU, and a Kalman filter of its errors. `ins_plan`
 * does not change, `ins_state` is all that does: plain data. Pure; nothing is allocated. Equations: README.md.
 *
 * The error is of the IMU's place, truth minus estimate; attitude errors are small turns about body axes:
 *   p = p̂ + δp,  u = û + δu,  q = q̂ ⊗ exp(δθ),  b = b̂ + δb,  a = â + δa
 * u = Rᵀ v is the velocity in body axes, a the errors of the aids.
 */
#ifndef INS_FILTER_H
#define INS_FILTER_H

#include "ins_params.h"
#include "num_filter.h"
#include "num_strapdown.h"
#include "otolith/geodesy.h"

/* Places of the error state. */
enum {
    INS_P = 0, INS_U = 3, INS_THETA = 6, INS_BG = 9, INS_BA = 12,
    /* of the aids: */
    INS_SCALE = 15,      /* what the odometer reads over the speed */
    INS_FIX = 16,        /* east, north, up: correlated error of fixes, in its standard deviations */
    INS_FIX_SPEED = 19,  /* the same of the receiver's velocity */
    INS_COLOURED = 22,   /* correlated error of the odometer, m/s */
    INS_SLIP = 23,       /* slip of drive and of braking, 1/(m/s²) */
    INS_ANGLE = 25,      /* of the path in body axes at rest: v_y / v_x, v_z / v_x */
    INS_COMPLIANCE = 27, /* what specific force to the left and ahead adds to them, 1/(m/s²) */
    INS_OFFSET = 29,     /* of the barometer's height, m */
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
    INS_ROW_IMU, /* its samples, and levelling */
    INS_ROW_GNSS,
    INS_ROW_GNSS_VELOCITY,
    INS_ROW_BAROMETER,
    INS_ROWS
};

/* Of a triad: spectral density of its noise, and of its bias. */
struct ins_triad {
    double noise_psd; /* two-sided, u²/Hz */
    double bias_sigma_u, bias_psd, bias_rate_1_s; /* rate: 1/tau, 0: it walks */
    oto_vec3 bias_u;
};

/* An error of an aid: a first-order Gauss–Markov process, or constant, or a random walk. */
struct ins_aid_error {
    double sigma, psd, rate_1_s; /* at the start; of its noise; 1/tau */
};

struct ins_plan {
    struct ins_params params;
    struct ins_triad gyroscope, accelerometer;
    oto_quat q_body_from_sensor;
    oto_mat3 body_from_sensor;
    oto_vec3 imu_body_m;
    oto_vec3 gravity_enu_m_s2, earth_rate_enu_rad_s;
    oto_vec3 mag_field_enu; /* unit of no matter; horizontal part points to magnetic north */
    double mag_magnitude_t; /* 0: not known */
    oto_vec3 odometer_body_m, fix_body_m; /* from the IMU */
    oto_vec3 nonholonomic_body_m;
    double imu_rate_hz;
    double odometer_gate, nonholonomic_gate, magnetometer_gate, position_gate, gnss_gate;
    oto_vec3 antenna_body_m; /* from the IMU */
    struct ins_aid_error aids[INS_AIDS];
    double barometer_gate, still_gate;
    oto_vec3 barometer_body_m;                /* from the IMU */
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
    oto_vec3 fix_enu_m, fix_sigma_m, fix_body_m; /* of the last fix; the point of the body that it is of */
    oto_vec3 fix_correlated_m;                   /* the part of fix_sigma_m that is correlated */
};

/* The last samples as measured, from which an aid that is late is compared with the estimate of its own time. */
enum { INS_HISTORY = 128 };
struct ins_history {
    uint64_t count; /* since the start; the newest is at (count - 1) % INS_HISTORY */
    int64_t time_ns[INS_HISTORY];
    struct num_strapdown_sample sample[INS_HISTORY]; /* sensor axes */
};

struct ins_state {
    uint64_t running;
    uint64_t has_sample;
    int64_t time_ns;
    struct num_strapdown nav; /* of the IMU's place */
    oto_vec3 gyro_bias, accel_bias; /* sensor axes */
    double aids[INS_AIDS]; /* errors of the aids, from INS_AID on */
    uint64_t fix_mode;   /* of the last satellite fix; 0: none yet */
    double p[INS_STATES * INS_STATES];
    struct num_strapdown_sample sample; /* the last one, sensor axes, as measured */
    struct ins_history history;
    struct ins_alignment alignment;
    double odometer_m_s;
    int64_t odometer_ns, still_since_ns; /* INT64_MIN: it is not still */
    int64_t nonholonomic_ns, still_ns;   /* when they were said last */
    struct num_filter_row rows[INS_ROWS];
    double nis, nis_rows;
    int64_t used_ns;
    struct num_filter_truths truths;
    double part_nees[INS_PARTS]; /* of the last truth; -1: none yet */
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
/* One IMU sample in sensor axes. Warns (anything from NUM_REFUSED on) where it is not used. */
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
/* Of the body origin; counts only at the very time of an IMU sample. */
void ins_filter_truth(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns, oto_vec3 position_enu_m,
                      oto_vec3 velocity_enu_m_s, oto_quat q_enu_from_body);

/* ---- between the parts of the filter ---- */

static inline double ins_aid(const struct ins_state *state, uint32_t place)
{
    return state->aids[place - INS_AID];
}

static inline oto_vec3 ins_aid3(const struct ins_state *state, uint32_t place)
{
    return oto_vec3_from_array(state->aids + place - INS_AID);
}

static inline oto_vec3 ins_rate_body(const struct ins_plan *plan, const struct ins_state *state)
{
    return oto_mat3_mul_vec(plan->body_from_sensor, oto_vec3_sub(state->sample.angular_rate_rad_s, state->gyro_bias));
}

/* Of the IMU, in body axes. */
static inline oto_vec3 ins_velocity_body(const struct ins_state *state)
{
    return oto_quat_rotate_inv(state->nav.q_enu_from_body, state->nav.velocity_enu_m_s);
}

/* block (3 × 3) of a row-major matrix with INS_STATES columns */
static inline void ins_put(double *matrix, uint32_t row, uint32_t column, oto_mat3 block)
{
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < 3; j++)
            matrix[(row + i) * INS_STATES + column + j] = block.m[i][j];
}

/* The update, the correction of the mechanisation, and the account. */
enum num_outcome ins_correct(struct ins_state *state, enum ins_row row, int64_t t_ns, struct num_kalman_row *measured);
/* Nonholonomic constraint and standstill, where they are due. */
void ins_say_what_holds(const struct ins_plan *plan, struct ins_state *state);
/* ins_align.c: a sample while not running. */
void ins_align(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns);
void ins_align_restart(struct ins_state *state);
/* Errors of the body origin's place, of its velocity in body axes, and of the attitude from the error state: 9 × INS_STATES. */
void ins_body_error_jacobian(const struct ins_plan *plan, const struct ins_state *state, double *j);
/* A sample in body axes without its biases. */
struct num_strapdown_sample ins_unbiased(const struct ins_plan *plan, const struct ins_state *state,
                                         const struct num_strapdown_sample *raw);
/* The heading row of a field in body axes at this attitude; false where the field is vertical. */
bool ins_heading_row(const struct ins_plan *plan, oto_quat q_enu_from_body, oto_vec3 field_body, double heading_error_rad,
                     struct num_kalman_row *measured);

#endif
