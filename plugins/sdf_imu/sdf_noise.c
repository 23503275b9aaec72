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
 * at load decays with it: they are one variable in Gazebo, too.
 */
static double advance(const struct sdf_noise *noise, double bias_u, double dt_s, double normal)
{
    const double sigma = noise->dynamic_bias_stddev_u_rts, tau_s = noise->dynamic_bias_correlation_time_s;
    if (!(sigma > 0.0 && tau_s > 0.0 && dt_s > 0.0)) {
        return bias_u;
    }
    const double variance_u2 = -sigma * sigma * tau_s / 2.0 * oto_expm1(-2.0 * dt_s / tau_s);
    return oto_exp(-dt_s / tau_s) * bias_u + oto_sqrt(variance_u2) * normal;
}

double sdf_noise_apply(const struct sdf_noise *noise, double *bias_u, double dt_s, double value_u,
                       double normal_dynamic, double normal_white)
{
    if (noise->type == SDF_NOISE_NONE) {
        return value_u;
    }
    const double white_u = noise->stddev_u > 0.0 ? noise->mean_u + noise->stddev_u * normal_white : noise->mean_u;
    *bias_u = advance(noise, *bias_u, dt_s, normal_dynamic);
    const double noisy_u = value_u + *bias_u + white_u;
    if (noise->precision_u <= SDF_PRECISION_LEAST) {
        return noisy_u;
    }
    return oto_round_half_away(noisy_u / noise->precision_u) * noise->precision_u;
}
