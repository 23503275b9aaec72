#include "fit/rest.h"

#include <math.h>
#include <string.h>

#include "otolith/environment.h"
#include "otolith/records.h"

#define UT_PER_T 1e6

static const oto_vec3 rest_field_ut = {1.5, 21.0, -43.0};

static void ignore(void *context, const char *sentence)
{
    (void)context;
    (void)sentence;
}

static enum oto_status set_exact(struct rest *rest, struct oto_error *error)
{
    static const char *const keys[] = {
        "accelerometer.resolution_m_s2",          "gyroscope.resolution_rad_s",          "magnetometer.resolution_ut",
        "accelerometer.measurement_range_m_s2", "gyroscope.measurement_range_rad_s", "magnetometer.measurement_range_ut"};
    enum oto_status status = OTO_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && status == OTO_OK; i++) {
        if (oto_param_find(rest->instance.descriptor, keys[i]) != NULL) {
            status = oto_params_set(rest->instance.descriptor, keys[i], "0", false, &rest->instance.params, error);
        }
    }
    return status;
}

static void fill_setup(struct rest *rest, const struct rest_setup *from)
{
    struct oto_setup *setup = &rest->setup;
    *setup = (struct oto_setup){.size = sizeof *setup, .node = "rest/sensor", .rate_hz = from->rate_hz,
                                .q_body_from_sensor = {1, 0, 0, 0},
                                .gravity_enu_m_s2 = {0, 0, -OTO_STANDARD_GRAVITY_M_S2},
                                .mag_field_enu_ut = rest_field_ut, .temperature_degc = 25, .pressure_pa = 101325};
    setup->rate_num = setup->base_rate_num = (int64_t)llround(from->rate_hz * 1e6);
    setup->rate_den = setup->base_rate_den = 1000000;
    setup->noise_key = oto_rng_key_make(from->seed, "rest/sensor");
    setup->unit_key = oto_rng_key_make(0, from->part->name);
    rest->input = (struct oto_sensor_input){.specific_force_sensor_m_s2 = {0, 0, OTO_STANDARD_GRAVITY_M_S2},
                                            .mag_field_sensor_ut = rest_field_ut, .temperature_degc = 25,
                                            .pressure_pa = 101325, .q_enu_from_sensor = {1, 0, 0, 0}};
    rest->input.truth.q_enu_from_body = oto_quat_identity();
}

static int port_of(const struct oto_plugin_descriptor *descriptor, const struct oto_record_type *type)
{
    for (uint32_t i = 0; i < descriptor->output_count; i++) {
        if (strcmp(descriptor->outputs[i].type->name, type->name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

enum oto_status rest_open(struct rest *rest, const struct rest_setup *setup, struct oto_error *error)
{
    const struct srv_instance_place place = {.setup = &rest->setup, .warn = ignore};
    char path[4096];
    struct oto_plugin *plugin = NULL;
    memset(rest, 0, sizeof *rest);
    enum oto_status status = oto_plugin_find(setup->plugin, path, sizeof path, error);
    if (status == OTO_OK) {
        status = oto_plugin_open(path, NULL, &plugin, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    srv_instance_bind(&rest->instance, plugin);
    status = oto_params_default(rest->instance.descriptor, &rest->instance.params, error);
    if (status == OTO_OK) {
        status = oto_part_apply(setup->part, setup->mode, rest->instance.descriptor, &rest->instance.params, ignore, NULL,
                                error);
    }
    if (status == OTO_OK && setup->is_exact) {
        status = set_exact(rest, error);
    }
    fill_setup(rest, setup);
    if (status == OTO_OK) {
        status = srv_instance_make(&rest->instance, &place, error);
    }
    rest->imu_port = port_of(rest->instance.descriptor, &oto_imu_type);
    rest->mag_port = port_of(rest->instance.descriptor, &oto_mag_type);
    if (status == OTO_OK && rest->imu_port < 0 && rest->mag_port < 0) {
        status = oto_fail(error, OTO_INVALID, "plugin '%s' has neither a channel of type imu nor of type mag", setup->plugin);
    }
    if (status != OTO_OK) {
        rest_close(rest);
    }
    return status;
}

bool rest_sample(struct rest *rest, double axes[REST_AXES])
{
    const struct oto_sensor_step sensor = {.input = &rest->input};
    const struct oto_instant at = {(int64_t)llround((double)++rest->n * 1e9 / rest->setup.rate_hz), 0.0};
    memset(axes, 0, REST_AXES * sizeof *axes);
    if (srv_instance_step(&rest->instance, rest->n - 1, rest->n, at, &sensor, NULL) > OTO_STEP_WARN) {
        return false;
    }
    if (rest->imu_port >= 0) {
        const struct oto_imu_record *imu = rest->instance.outputs[rest->imu_port].payload;
        oto_vec3_to_array(oto_vec3_sub(imu->linear_acceleration_m_s2, rest->input.specific_force_sensor_m_s2), &axes[0]);
        oto_vec3_to_array(imu->angular_velocity_rad_s, &axes[3]);
    }
    if (rest->mag_port >= 0 && rest->instance.outputs[rest->mag_port].emit != 0) {
        const struct oto_mag_record *mag = rest->instance.outputs[rest->mag_port].payload;
        oto_vec3_to_array(oto_vec3_sub(oto_vec3_scale(mag->magnetic_field_t, UT_PER_T), rest_field_ut), &axes[6]);
    }
    return true;
}

void rest_close(struct rest *rest)
{
    (void)srv_instance_finish(&rest->instance);
    memset(rest, 0, sizeof *rest);
}
