/* An IMU: the true specific force and angular rate with a constant bias and white noise. */
#include <otolith/plugin.h>

/* 1. Parameters: a plain block, and the table that binds it, checks it and documents it. */
struct params {
    double bias_m_s2[3];
    double noise_m_s2;
    double noise_rad_s;
};

static const struct oto_param params[] = {
    {.key = "bias_m_s2", .type = OTO_PARAM_F64, .count = 3, .offset = OTO_PARAM_AT(struct params, bias_m_s2),
     .flags = OTO_PARAM_RUNTIME | OTO_PARAM_SCALAR_FILLS, .minimum = -10, .maximum = 10, .unit = "m/s^2",
     .text = "constant error of the accelerometer"},
    {.key = "noise_m_s2", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, noise_m_s2),
     .flags = OTO_PARAM_RUNTIME, .minimum = 0, .maximum = 10, .default_value = 0.02, .unit = "m/s^2",
     .text = "standard deviation of the accelerometer's white noise"},
    {.key = "noise_rad_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, noise_rad_s),
     .flags = OTO_PARAM_RUNTIME, .minimum = 0, .maximum = 1, .default_value = 0.001, .unit = "rad/s",
     .text = "standard deviation of the gyroscope's white noise"},
};

/* 2. Outputs: one channel with the standard record of an IMU, so that this plugin may replace another IMU. */
static const struct oto_port outputs[] = {{"", &oto_imu_type, OTO_PORT_ALWAYS, 0}};

/* Noise is a function of the node's key, the sample's number n and the term: the same in every run with the same seed. */
static oto_vec3 add_noise(const struct oto_instance *self, uint64_t n, uint32_t term, oto_vec3 truth, double sigma)
{
    const struct oto_rng_key key = self->setup->noise_key;
    truth.x += sigma * oto_normal_at(key, n, term, OTO_RNG_DOMAIN_SAMPLE, 0);
    truth.y += sigma * oto_normal_at(key, n, term + 1, OTO_RNG_DOMAIN_SAMPLE, 0);
    truth.z += sigma * oto_normal_at(key, n, term + 2, OTO_RNG_DOMAIN_SAMPLE, 0);
    return truth;
}

/* 3. One sample, on the tick thread: no allocation, no lock, no I/O, no static data. */
static enum oto_step_status step(const struct oto_instance *self, const struct oto_step *now)
{
    const struct params *p = self->params;
    const struct oto_sensor_input *in = now->sensor.input;
    struct oto_imu_record *out = now->outputs[0].payload;
    oto_vec3 force_m_s2 = in->specific_force_sensor_m_s2;
    force_m_s2.x += p->bias_m_s2[0];
    force_m_s2.y += p->bias_m_s2[1];
    force_m_s2.z += p->bias_m_s2[2];
    out->orientation_w = 1;
    out->orientation_covariance[0] = -1; /* there is no orientation */
    out->linear_acceleration_m_s2 = add_noise(self, now->n, 0, force_m_s2, p->noise_m_s2);
    out->angular_velocity_rad_s = add_noise(self, now->n, 3, in->angular_rate_sensor_rad_s, p->noise_rad_s);
    return OTO_STEP_OK;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "my_plugin", .kind = OTO_KIND_SENSOR, .version = "0.1.0",
    .text = "an IMU with a bias and white noise", .outputs = outputs, .output_count = 1,
    .param_count = sizeof params / sizeof *params, .params = params,
    .params_bytes = sizeof(struct params), .state_version = 1, .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .step = step};
OTO_PLUGIN_DEFINE(descriptor, ops, NULL);
