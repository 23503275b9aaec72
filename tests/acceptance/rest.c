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
    assert_ok(oto_plugin_open(OTO_PLUGIN_DIR "/mems_imu.so", NULL, &rest->plugin, &error), error);
    rest->ops = oto_plugin_ops(rest->plugin);
    assert_ok(oto_params_default(oto_plugin_descriptor(rest->plugin), &rest->params, &error), error);
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
    rest->outputs[0].payload = &rest->imu;
    rest->outputs[1].payload = &rest->mag;
}

void rest_set_text(struct rest *rest, const char *key, const char *yaml)
{
    struct oto_error error = {0};
    assert_ok(oto_params_set(oto_plugin_descriptor(rest->plugin), key, yaml, false, &rest->params, &error), error);
}

void rest_set(struct rest *rest, const char *key, double value)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.17g", value);
    rest_set_text(rest, key, text);
}

void rest_start(struct rest *rest)
{
    struct oto_error error = {0};
    assert_ok(oto_prepare(rest->plugin, &rest->setup, &rest->params, warn, NULL, &rest->prepared, &error), error);
    rest->instance = (struct oto_instance){.size = sizeof rest->instance,
                                           .setup = &rest->setup,
                                           .params = rest->params.block,
                                           .data = rest->prepared.data,
                                           .state = calloc(1, oto_plugin_descriptor(rest->plugin)->state_bytes)};
    assert_ok(rest->ops->init(&rest->instance, &error), error);
    rest->step = (struct oto_step){
        .size = sizeof rest->step, .outputs = rest->outputs, .sensor = {.input = &rest->input}};
}

void rest_sample(struct rest *rest, double axes[REST_AXES])
{
    memset(&rest->imu, 0, sizeof rest->imu);
    rest->outputs[0].flags = rest->outputs[1].flags = 0;
    rest->outputs[0].emit = rest->outputs[1].emit = 1;
    rest->step.tick = rest->step.n++;
    rest->step.at.t_ns = (int64_t)((double)rest->step.n * 1e9 / rest->setup.rate_hz);
    assert_int_equal(rest->ops->step(&rest->instance, &rest->step), OTO_STEP_OK);
    axes[0] = rest->imu.linear_acceleration_m_s2.x;
    axes[1] = rest->imu.linear_acceleration_m_s2.y;
    axes[2] = rest->imu.linear_acceleration_m_s2.z - 9.80665;
    axes[3] = rest->imu.angular_velocity_rad_s.x;
    axes[4] = rest->imu.angular_velocity_rad_s.y;
    axes[5] = rest->imu.angular_velocity_rad_s.z;
}

void rest_close(struct rest *rest)
{
    free(rest->instance.state);
    oto_prepared_free(&rest->prepared);
    oto_params_free(&rest->params);
    (void)oto_plugin_close(rest->plugin);
}
