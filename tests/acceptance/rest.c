#include "rest.h"

static void warn(void *context, const char *sentence)
{
    (void)context;
    print_message("warning: %s\n", sentence);
}

void rest_open(struct rest *rest, double rate_hz, uint64_t seed)
{
    struct oto_error error = {0};
    memset(rest, 0, sizeof *rest);
    struct oto_plugin *plugin;
    assert_ok(oto_plugin_open(OTO_PLUGIN_DIR "/mems_imu.so", NULL, &plugin, &error), error);
    srv_instance_bind(&rest->now, plugin);
    assert_ok(oto_params_default(rest->now.descriptor, &rest->now.params, &error), error);
    rest->setup = (struct oto_setup){.size = sizeof rest->setup,
                                     .node = "car/imu",
                                     .rate_hz = rate_hz,
                                     .rate_num = (int64_t)rate_hz,
                                     .rate_den = 1,
                                     .base_rate_num = (int64_t)rate_hz,
                                     .base_rate_den = 1,
                                     .noise_key = oto_rng_key_make(seed, "car/imu"),
                                     .unit_key = oto_rng_key_make(0, "part/17"),
                                     .q_body_from_sensor = {1, 0, 0, 0},
                                     .gravity_enu_m_s2 = {0, 0, -9.80665},
                                     .temperature_degc = 25};
    rest->input.specific_force_sensor_m_s2 = oto_vec3_make(0, 0, 9.80665);
    rest->input.temperature_degc = 25;
    rest->input.q_enu_from_sensor = oto_quat_identity();
    rest->input.truth.q_enu_from_body = oto_quat_identity();
}

void rest_set_text(struct rest *rest, const char *key, const char *yaml)
{
    struct oto_error error = {0};
    assert_ok(oto_params_set(rest->now.descriptor, key, yaml, false, &rest->now.params, &error), error);
}

void rest_set(struct rest *rest, const char *key, double value)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.17g", value);
    rest_set_text(rest, key, text);
}

void rest_start(struct rest *rest)
{
    const struct srv_instance_place place = {.setup = &rest->setup, .warn = warn};
    struct oto_error error = {0};
    assert_ok(srv_instance_make(&rest->now, &place, &error), error);
}

void rest_sample(struct rest *rest, double axes[REST_AXES])
{
    const struct oto_sensor_step sensor = {.input = &rest->input};
    const struct oto_instant at = {(int64_t)((double)++rest->n * 1e9 / rest->setup.rate_hz), 0.0};
    const struct oto_imu_record *imu = rest->now.outputs[0].payload;
    assert_int_equal(srv_instance_step(&rest->now, rest->n - 1, rest->n, at, &sensor, NULL), OTO_STEP_OK);
    axes[0] = imu->linear_acceleration_m_s2.x;
    axes[1] = imu->linear_acceleration_m_s2.y;
    axes[2] = imu->linear_acceleration_m_s2.z - 9.80665;
    axes[3] = imu->angular_velocity_rad_s.x;
    axes[4] = imu->angular_velocity_rad_s.y;
    axes[5] = imu->angular_velocity_rad_s.z;
}

void rest_close(struct rest *rest)
{
    (void)srv_instance_finish(&rest->now);
}
