/*
 * The noise of one axis, as SDF's <noise> element defines it and Gazebo computes it (gz-sensors, GaussianNoiseModel).
 * Pure numbers: the random deviates are arguments. Any thread.
 */
#ifndef SDF_NOISE_H
#define SDF_NOISE_H

enum sdf_noise_type { SDF_NOISE_NONE = 0, SDF_NOISE_GAUSSIAN = 1, SDF_NOISE_GAUSSIAN_QUANTIZED = 2 };

/* A smaller precision rounds nothing. */
#define SDF_PRECISION_LEAST 1e-6

/* In the unit u of the axis. */
struct sdf_noise {
    int type;                          /* enum sdf_noise_type */
    double mean_u, stddev_u;           /* of one sample, whatever the rate */
    double bias_mean_u, bias_stddev_u; /* of the bias that is drawn at load */
    double dynamic_bias_stddev_u_rts;  /* drive of the bias: u/sqrt(s) */
    double dynamic_bias_correlation_time_s;
    double precision_u; /* resolution of the output */
};

/* The bias at load: `normal` is a standard normal deviate; `uniform` in [0, 1) flips the sign below 1/2. */
double sdf_noise_load(const struct sdf_noise *noise, double normal, double uniform);

/* The effect of an elapsed time on the bias: b <- decay b + sigma nu. */
struct sdf_noise_drive {
    double decay, sigma_u;
};

/* With dt_s 0, or without a dynamic bias, the bias does not change. */
struct sdf_noise_drive sdf_noise_drive(const struct sdf_noise *noise, double dt_s);

/*
 * Adds the noise to one value. `bias_u` is the state, driven by the deviate `normal_dynamic`. With type none the value
 * is returned bit by bit.
 */
double sdf_noise_apply(const struct sdf_noise *noise, struct sdf_noise_drive drive, double *bias_u, double value_u,
                       double normal_dynamic, double normal_white);

#endif
