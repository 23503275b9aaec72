/*
 * One three-axis MEMS sensor: accelerometer, gyroscope or magnetometer. Both laws (`mavs`, `mems`) share one table of
 * parameters; README.md has equations and sources. Pure numbers: no host, no allocation, no libm. `_u` is the triad's
 * own unit (m/s², rad/s or µT). Prepare and init belong to the loop; a suite takes the samples.
 */
#ifndef NUM_TRIAD_H
#define NUM_TRIAD_H

#include <stdint.h>

#include "num_instability.h"
#include "otolith/rng.h"
#include "otolith/status.h"

enum num_law { NUM_LAW_MEMS = 0, NUM_LAW_MAVS = 1 };
enum num_psd { NUM_PSD_SINGLE = 0, NUM_PSD_DOUBLE = 1 };

/* Identifies the triad in messages and in the families of random numbers. */
enum num_triad_id { NUM_ACCELEROMETER = 0, NUM_GYROSCOPE = 1, NUM_MAGNETOMETER = 2, NUM_TRIAD_IDS = 3 };

/* Values of `w` that represent the words of the parameter. Numbers are within ±NUM_W_NUMBER_MAX. */
#define NUM_W_NUMBER_MAX 1000.0
#define NUM_W_DOCUMENT 1e6 /* uniform in (-1, 1) */
#define NUM_W_CODE 2e6     /* uniform in (1, 3), as in the published C++ */

/* The value of `temperature_degc` that means "the temperature of the world". */
#define NUM_TEMPERATURE_WORLD (-1000.0)

/* Parameters that all triads of a sensor share. */
struct num_law_params {
    int64_t law; /* enum num_law */
    int64_t psd; /* enum num_psd, of law mems */
    double w;    /* of law mavs */
    double temperature_degc;
    double self_heating_degc;  /* law mems: final rise above the ambient temperature */
    double self_heating_tau_s; /* time constant tau: the rise is the final one times 1 - exp(-t/tau); 0: immediately */
};

#define NUM_SINES 4

/* The parameters of a triad, as a member of a plugin's parameter block. All zero is an ideal sensor. */
struct num_triad_params {
    double measurement_range_u; /* 0: unlimited */
    double resolution_u;        /* 0: no rounding */
    double constant_bias_u[3];
    double noise_density_u_rthz[3];
    double bias_instability_u[3];
    double axis_misalignment_percent[3]; /* element i is both off-diagonal elements of row i of the matrix */
    double random_walk_u_rthz[3];
    double temperature_bias_u_degc[3];
    double temperature_scale_factor_percent_degc[3];
    double acceleration_bias_u_m_s2[3]; /* g-sensitivity, law mems */
    /* law mems only: */
    double bias_instability_tau_s; /* > 0: one Gauss-Markov process of this correlation time; 0: a flat floor */
    double bias_instability_tau_min_s, bias_instability_tau_max_s;
    double scale_factor_error_percent[3];
    double cross_axis_percent[6];        /* xy xz yx yz zx zy */
    double turn_on_bias_u[3];            /* standard deviation from run to run */
    double unit_bias_u[3];               /* standard deviation from unit to unit */
    double unit_scale_factor_percent[3]; /* standard deviation from unit to unit */
    double nonlinearity_quadratic_ppm[3]; /* error at full range, in ppm of the range */
    double nonlinearity_cubic_ppm[3];
    double g2_sensitivity_u_m2_s4[3]; /* vibration rectification */
    double temperature_bias_quadratic_u_degc2[3], temperature_bias_cubic_u_degc3[3];
    double temperature_scale_factor_quadratic_percent_degc2[3], temperature_scale_factor_cubic_percent_degc3[3];
    double acceleration_cross_u_m_s2[6]; /* g-sensitivity across axes: xy xz yx yz zx zy */
    double unit_cross_axis_percent[3]; /* standard deviation from unit to unit, for both cross terms of a row */
    double noise_rms_u[3];             /* white noise of a sample, independent of the rate, in addition to that of the density */
    /* Standard deviations from unit to unit. */
    double unit_temperature_bias_u_degc[3], unit_temperature_scale_factor_percent_degc[3];
    double unit_acceleration_bias_u_m_s2[3];
    /* Gauss-Markov processes: correlation times (0: unused) and the standard deviations of each axis. */
    double gauss_markov_tau_s[NUM_INSTABILITY_POLES], gauss_markov_u[3][NUM_INSTABILITY_POLES];
    /* Sines of a random phase: frequencies (0: unused) and the amplitudes of each axis. */
    double sine_hz[NUM_SINES], sine_u[3][NUM_SINES];
};

/* The place of a triad, fixed for the life of an instance. */
struct num_triad_place {
    enum num_triad_id id;
    double rate_hz;
    struct oto_rng_key noise_key; /* of this node in this world */
    struct oto_rng_key unit_key;  /* of this unit in every world */
};

/* Bits of the terms that are not zero. */
#define NUM_HAS_MATRIX (1u << 0)
#define NUM_HAS_G_SENSITIVITY (1u << 1)
#define NUM_HAS_WHITE (1u << 2)
#define NUM_HAS_INSTABILITY (1u << 3)
#define NUM_HAS_WALK (1u << 4)
#define NUM_HAS_THERMAL (1u << 5)
#define NUM_HAS_RESOLUTION (1u << 6) /* a term of both laws */
/* Terms of the extended path only. */
#define NUM_HAS_NONLINEARITY (1u << 7)
#define NUM_HAS_G2_SENSITIVITY (1u << 8)
#define NUM_HAS_THERMAL_CURVE (1u << 9)
#define NUM_HAS_SELF_HEATING (1u << 10)
#define NUM_HAS_G_CROSS (1u << 11)
#define NUM_HAS_MARKOV (1u << 12) /* the instability consists of the processes of the parameters, one fit for each axis */
#define NUM_HAS_SINE (1u << 13)
#define NUM_HAS_EXTENDED \
    (NUM_HAS_G_CROSS | NUM_HAS_MARKOV | NUM_HAS_SINE | NUM_HAS_NONLINEARITY | NUM_HAS_G2_SENSITIVITY | NUM_HAS_THERMAL_CURVE | NUM_HAS_SELF_HEATING)

/* The Gauss-Markov processes of one axis that the parameters define: decay and drive per sample, and the state at time zero. */
struct num_markov {
    double decay[NUM_INSTABILITY_POLES], drive[NUM_INSTABILITY_POLES], start[NUM_INSTABILITY_POLES];
};

/* The derived constants of one triad. Prepare makes them; a suite packs them into its lanes. */
struct num_triad_plan {
    uint32_t terms; /* NUM_HAS_… */
    double range_u; /* a sample beyond it is flagged; DBL_MAX: unlimited */
    double limit_u; /* clamp limit: for law mavs the range, for law mems the largest multiple of the resolution within it */
    double resolution_u;
    double bias_u[3]; /* law mavs: constant; law mems: constant + turn-on + unit */
    double thermal_bias_u_degc[3];
    double thermal_scale_percent_degc[3];
    double white_variance_u2[3]; /* variance of one sample, for the covariances in records */
    double white_u[3];           /* law mems: sigma of a sample; law mavs: density */
    double instability_u[3];     /* coefficient B */
    double walk_u[3];            /* law mems: sigma of a step; law mavs: density */
    double misalignment[3];      /* law mavs: sensitivity to each other axis */
    /* law mems */
    double matrix[3][3]; /* true axes to measured axes */
    double g_sensitivity_u_m_s2[3];
    struct num_instability instability; /* fit of all axes, unless terms has NUM_HAS_MARKOV */
    struct num_markov markov[3];
    uint32_t sine_count;
    double sine_turns[NUM_SINES]; /* turns of each sine in a sample period */
    double sine_phase_turns[3][NUM_SINES], sine_u[3][NUM_SINES];
    double turn_on_bias_u[3], unit_bias_u[3]; /* drawn values */
    double quadratic_1_u[3], cubic_1_u2[3];   /* non-linearity */
    double g2_sensitivity_u_m2_s4[3];
    double g_cross_u_m_s2[3][2]; /* sensitivity to force along the two other axes, in their order */
    double thermal_bias2_u_degc2[3], thermal_bias3_u_degc3[3];
    double thermal_scale2_percent_degc2[3], thermal_scale3_percent_degc3[3];
};

const char *num_triad_name(enum num_triad_id id);

/* Checks the parameters together. Errors: INVALID, RANGE. */
enum oto_status num_triad_prepare(const struct num_triad_params *params, const struct num_law_params *law,
                                  const struct num_triad_place *place, struct num_triad_plan *plan,
                                  struct oto_error *error);

/* The stationary start of the instability of three axes: their state at time zero. */
void num_triad_start(const struct num_triad_plan *plan, const struct num_triad_place *place,
                     double (*instability)[NUM_INSTABILITY_POLES]);

#endif
