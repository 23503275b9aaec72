/* The estimator as a host holds it: bindings, ports, parameters while running. Rows D… of the table are named. */
#include "mini_host.h"
#include "mount_drive.h"
#include "otolith/estimator.h"

static struct mini_host host;
static struct mount_drive drive;
static struct oto_input_binding bindings[2];
static struct oto_imu_record imu;
static struct oto_odometry_record odometry;
static struct oto_output outputs[3];
static struct {
    struct oto_mount_calibration_record result;
    struct oto_mount_calibration_diagnostics_record diagnostics;
    struct oto_mount_calibration_histogram_record histogram;
} records;

static void open_host(void)
{
    const struct mount_drive_setup setup = {
        .world = MOUNT_CITY, .style = GENERATOR_CITY, .seed = 61, .rpy_deg = {3, -2, 4}};
    memset(&drive, 0, sizeof drive);
    mount_drive_open(&drive, &setup);
    mini_open(&host, 10, 1);
    bindings[0] = (struct oto_input_binding){.name = "imu",
                                             .type = &oto_imu_type,
                                             .topic = "world/car/imu",
                                             .mount_position_body_m = {1.2, -0.3, 0.5},
                                             .q_body_from_sensor = {1, 0, 0, 0}};
    bindings[1] = (struct oto_input_binding){
        .name = "speed", .type = &oto_odometry_type, .topic = "world/car/odometer", .q_body_from_sensor = {1, 0, 0, 0}};
    host.setup.estimator.inputs = bindings;
    host.setup.estimator.input_count = 2;
    outputs[0] = (struct oto_output){.payload = &records.result};
    outputs[1] = (struct oto_output){.payload = &records.diagnostics};
    outputs[2] = (struct oto_output){.payload = &records.histogram};
}

static void close_host(void)
{
    mini_close(&host);
    mount_drive_close(&drive);
}

/* Samples one by one, an output every tenth. */
static void run_host(double until_s)
{
    while ((double)drive.n < until_s * 100) {
        struct mount_sample sample;
        mount_drive_next(&drive, &sample);
        imu.linear_acceleration_m_s2 = oto_vec3_from_array(sample.specific_force_m_s2);
        imu.angular_velocity_rad_s = oto_vec3_from_array(sample.angular_rate_rad_s);
        odometry.speed_m_s = sample.speed_m_s;
        const struct oto_input_sample samples[2] = {
            {.input = 1, .seq = drive.n, .t_ns = sample.t_ns, .sensor_time_ns = sample.t_ns, .payload = &odometry},
            {.input = 0, .seq = drive.n, .t_ns = sample.t_ns, .sensor_time_ns = sample.t_ns, .payload = &imu}};
        struct oto_step step = {.estimator = {.samples = samples, .sample_count = 2}};
        assert_int_equal(mini_step(&host, &step, drive.n, NULL, outputs), OTO_STEP_OK);
    }
}

static void D1_the_plugin_finds_the_mount_from_the_standard_records(void **state)
{
    (void)state;
    open_host();
    mini_start(&host);
    run_host(240);
    assert_near(records.result.rpy_deg[1], -2, 0.15);
    assert_near(records.result.rpy_deg[2], 4, 0.15);
    assert_int_equal(records.diagnostics.imu_used, 24000);
    assert_ok(otolith_plugin.ops->validate(&host.instance), host.error);
    close_host();
}

static void D3_the_position_passes_through(void **state)
{
    (void)state;
    open_host();
    mini_start(&host);
    run_host(1);
    assert_near(records.result.position_body_m.x, 1.2, 0);
    assert_near(records.result.position_body_m.y, -0.3, 0);
    assert_near(records.result.position_body_m.z, 0.5, 0);
    close_host();
}

static void D32_inputs_that_are_missing_or_lack_a_field_are_refused_by_name(void **state)
{
    (void)state;
    open_host();
    host.setup.estimator.input_count = 1;
    assert_int_equal(mini_prepare(&host), OTO_INVALID);
    assert_non_null(strstr(host.error.text, "speed"));
    host.setup.estimator.input_count = 2;
    bindings[0].type = &oto_mag_type;
    assert_int_equal(mini_prepare(&host), OTO_INVALID);
    assert_non_null(strstr(host.error.text, "world/car/imu has no field linear_acceleration.x"));
    close_host();
}

static void D13_parameters_stop_it_and_begin_it_anew_while_it_runs(void **state)
{
    void *old;
    (void)state;
    open_host();
    mini_start(&host);
    run_host(60);
    old = malloc(otolith_plugin.descriptor->params_bytes);
    memcpy(old, host.params, otolith_plugin.descriptor->params_bytes);
    mini_set(&host, "running", 0);
    mini_set(&host, "reset", 1);
    assert_ok(mini_prepare(&host), host.error);
    otolith_plugin.ops->set_params(&host.instance, old);
    run_host(70);
    assert_int_equal(records.result.running, 0);
    assert_int_equal(records.result.resets, 1);
    assert_near(records.result.seconds, 0, 0);
    free(old);
    close_host();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(D1_the_plugin_finds_the_mount_from_the_standard_records),
        cmocka_unit_test(D3_the_position_passes_through),
        cmocka_unit_test(D32_inputs_that_are_missing_or_lack_a_field_are_refused_by_name),
        cmocka_unit_test(D13_parameters_stop_it_and_begin_it_anew_while_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
