#include "sdf_noise.h"

#include "otolith/detmath.h"

double sdf_noise_load(const struct sdf_noise *noise, double normal, double uniform)
{
    if (noise->type == SDF_NOISE_NONE) {
        return 0.0;
    }
    const double bias_u =
        noise->bias_stddev_u > 0.0 ? noise->bias_mean_u + noise->bias_stddev_u * normal : noise->bias_mean_u;
    return uniform < 0.5 ? -bias_u : bias_u;
}

/*
 * db = -b/tau dt + sigma dW over dt: decay exp(-dt/tau) and variance sigma² tau/2 (1 - exp(-2 dt/tau)). The bias drawn
 * at load decays too, because Gazebo has one variable for both.
 */
struct sdf_noise_drive sdf_noise_drive(const struct sdf_noise *noise, double dt_s)
{
    const double sigma = noise->dynamic_bias_stddev_u_rts, tau_s = noise->dynamic_bias_correlation_time_s;
    struct sdf_noise_drive drive = {1.0, 0.0};
    if (sigma > 0.0 && tau_s > 0.0 && dt_s > 0.0) {
        drive.decay = oto_exp(-dt_s / tau_s);
        drive.sigma_u = oto_sqrt(-sigma * sigma * tau_s / 2.0 * oto_expm1(-2.0 * dt_s / tau_s));
    }
    return drive;
}

double sdf_noise_apply(const struct sdf_noise *noise, struct sdf_noise_drive drive, double *bias_u, double value_u,
                       double normal_dynamic, double normal_white)
{
    if (noise->type == SDF_NOISE_NONE) {
        return value_u;
    }
    const double white_u = noise->stddev_u > 0.0 ? noise->mean_u + noise->stddev_u * normal_white : noise->mean_u;
    *bias_u = drive.decay * *bias_u + drive.sigma_u * normal_dynamic;
    const double noisy_u = value_u + *bias_u + white_u;
    if (noise->precision_u <= SDF_PRECISION_LEAST) {
        return noisy_u;
    }
    return oto_round_half_away(noisy_u / noise->precision_u) * noise->precision_u;
}
