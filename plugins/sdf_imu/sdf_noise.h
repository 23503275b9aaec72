/*
 * The noise of one axis, as SDF's <noise> element defines it and Gazebo computes it (gz-sensors, GaussianNoiseModel).
 * Pure numbers: the random deviates are arguments. Any thread.
 */
#ifndef SDF_NOISE_H
#define SDF_NOISE_H

enum sdf_noise_type { SDF_NOISE_NONE = 0, SDF_NOISE_GAUSSIAN = 1, SDF_NOISE_GAUSSIAN_QUANTIZED = 2 };

/* With a smaller precision values are not rounded. */
#define SDF_PRECISION_LEAST 1e-6

/* The parameters of the noise, in the unit u of the axis. */
struct sdf_noise {
    int type;                          /* enum sdf_noise_type */
    double mean_u, stddev_u;           /* of one sample, independent of the rate */
    double bias_mean_u, bias_stddev_u; /* of the bias that is drawn at load */
    double dynamic_bias_stddev_u_rts;  /* drive of the bias: u/sqrt(s) */
    double dynamic_bias_correlation_time_s;
    double precision_u; /* resolution of the output */
};

/* Draws the bias at load: `normal` is a standard normal deviate; a `uniform` below 1/2, in [0, 1), flips its sign. */
double sdf_noise_load(const struct sdf_noise *noise, double normal, double uniform);

/* The effect of an elapsed time on the bias: b <- decay b + sigma nu. */
struct sdf_noise_drive {
    double decay, sigma_u;
};

/* The effect of dt_s on the bias; with dt_s 0, or without a dynamic bias, the bias does not change. */
struct sdf_noise_drive sdf_noise_drive(const struct sdf_noise *noise, double dt_s);

/*
 * Adds the noise to one value. `bias_u` is the state of the bias, driven by the deviate `normal_dynamic`. With type none
 * the value is returned unchanged, to the bit.
 */
double sdf_noise_apply(const struct sdf_noise *noise, struct sdf_noise_drive drive, double *bias_u, double value_u,
                       double normal_dynamic, double normal_white);

#endif
