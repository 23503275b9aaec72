/* Round trip: scripted truth → ideal mems_imu with its delta outputs → mechanisation → the truth again. */
#include "drive.h"
#include "mini_host.h"
#include "motion_check.h"
#include "num_strapdown.h"

static struct motion_memory memory;
static struct oto_error failure;
static const oto_vec3 gravity = {0.0, 0.0, -9.80665}, no_rate = {0.0, 0.0, 0.0};

struct delta {
    double angle_rad[3], velocity_m_s[3], dt_s;
};

struct trip {
    struct mini_host host;
    struct drive drive;
    struct drive_state state;
    struct oto_imu_record imu;
    struct delta delta;
    uint64_t spare[512];
    struct oto_output outputs[OTO_PLUGIN_MAX_PORTS];
};

static enum oto_step_status feel(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    const struct trip *trip = context;
    struct oto_truth_record *truth = &input->truth;
    memset(input, 0, sizeof *input);
    drive_truth(&trip->drive, &trip->state, at, truth);
    input->q_enu_from_sensor = truth->q_enu_from_body;
    input->specific_force_sensor_m_s2 = oto_quat_rotate_inv(truth->q_enu_from_body, oto_vec3_sub(truth->accel_enu_m_s2, gravity));
    input->angular_rate_sensor_rad_s = truth->angular_rate_body_rad_s;
    input->angular_accel_sensor_rad_s2 = truth->angular_accel_body_rad_s2;
    input->temperature_degc = 25;
    return OTO_STEP_OK;
}

static void open_trip(struct trip *trip, double rate_hz, const struct drive_plan *plan)
{
    memset(trip, 0, sizeof *trip);
    assert_ok(drive_make(plan, &trip->drive, motion_alloc, &memory, &failure), failure);
    drive_begin(&trip->drive, &trip->state);
    mini_open(&trip->host, rate_hz, 1);
    trip->host.setup.rate_num = (uint64_t)rate_hz;
    trip->host.setup.rate_den = 1;
    mini_set(&trip->host, "delta", 1);
    mini_start(&trip->host);
    for (uint32_t i = 0; i < OTO_PLUGIN_MAX_PORTS; i++)
        trip->outputs[i].payload = trip->spare;
    trip->outputs[0].payload = &trip->imu;
    trip->outputs[3].payload = &trip->delta;
}

struct trip_error {
    double position_m, velocity_m_s, attitude_rad;
};

/* With the delta outputs, or from the plain samples. */
static struct trip_error drive_trip(double rate_hz, double seconds, const struct drive_plan *plan, bool from_samples)
{
    struct trip trip;
    struct num_strapdown s;
    struct oto_truth_record truth;
    struct oto_sensor_input input;
    struct num_strapdown_sample before, now;
    struct trip_error error = {0.0, 0.0, 0.0};
    open_trip(&trip, rate_hz, plan);
    (void)feel(&trip, (struct oto_instant){0, 0.0}, &input);
    num_strapdown_start(&s, input.truth.q_enu_from_body, input.truth.velocity_enu_m_s, input.truth.position_enu_m);
    before = (struct num_strapdown_sample){input.angular_rate_sensor_rad_s, input.specific_force_sensor_m_s2};
    for (uint64_t n = 1; n <= (uint64_t)(rate_hz * seconds); n++) {
        struct oto_step step = {.sensor = {.input_at = feel, .input_context = &trip}};
        struct num_strapdown_delta delta;
        const int64_t t_ns = (int64_t)((double)n * 1e9 / rate_hz);
        drive_advance(&trip.drive, &trip.state, t_ns);
        (void)feel(&trip, (struct oto_instant){t_ns, 0.0}, &input);
        assert_int_equal(mini_step(&trip.host, &step, n, &input, trip.outputs), OTO_STEP_OK);
        now = (struct num_strapdown_sample){trip.imu.angular_velocity_rad_s, trip.imu.linear_acceleration_m_s2};
        delta = (struct num_strapdown_delta){oto_vec3_from_array(trip.delta.angle_rad), oto_vec3_from_array(trip.delta.velocity_m_s)};
        if (from_samples)
            delta = num_strapdown_between(&before, &now, 1.0 / rate_hz);
        num_strapdown_advance(&s, &delta, 1.0 / rate_hz, gravity, no_rate);
        before = now;
        truth = input.truth;
        error.position_m = fmax(error.position_m, oto_vec3_norm(oto_vec3_sub(s.position_enu_m, truth.position_enu_m)));
        error.velocity_m_s = fmax(error.velocity_m_s, oto_vec3_norm(oto_vec3_sub(s.velocity_enu_m_s, truth.velocity_enu_m_s)));
        error.attitude_rad = fmax(error.attitude_rad, oto_quat_angle_between(s.q_enu_from_body, truth.q_enu_from_body));
    }
    mini_close(&trip.host);
    print_message("%5.0f Hz: %.2g m, %.2g m/s, %.2g rad\n", rate_hz, error.position_m, error.velocity_m_s, error.attitude_rad);
    return error;
}

static const struct chassis_params springs = {
    .grade_rms_deg = 1.0, .bank_rms_deg = 0.7, .crown_deg = 0.5, .correlation_length_m = 150.0, .traffic_side = 1,
    .pitch_compliance_deg_s2_m = -0.3, .roll_compliance_deg_s2_m = 0.35, .angle_band_hz = {1.0, 3.0},
    .vertical_band_hz = {1.0, 15.0}};
static const struct chassis_params level = {.correlation_length_m = 150.0, .traffic_side = 1,
                                            .angle_band_hz = {1.0, 3.0}, .vertical_band_hz = {1.0, 15.0}};

static struct drive_plan city(const struct chassis_params *chassis)
{
    return (struct drive_plan){.start = {.heading_rad = 0.4}, .segments = script_city_drive,
                               .segment_count = script_city_drive_count, .repeat = true, .chassis = chassis,
                               .key = oto_rng_key_make(3, "car/motion")};
}

static void an_ideal_imu_leads_back_to_the_truth_to_1e_8_m(void **state)
{
    const struct drive_plan flat = city(&level), hilly = city(&springs);
    (void)state;
    assert_true(drive_trip(1000.0, 60.0, &flat, false).position_m < 1e-8);
    assert_true(drive_trip(1000.0, 60.0, &hilly, false).position_m < 1e-8);
}

/* Halving the step divides the error by eight; asked for: by six at least, from 25 Hz on, where rounding is far off. */
static void the_error_of_the_round_trip_is_of_third_order(void **state)
{
    const struct drive_plan hilly = city(&springs);
    struct trip_error coarse = drive_trip(25.0, 60.0, &hilly, false), fine;
    (void)state;
    for (double rate_hz = 50.0; rate_hz <= 200.0; rate_hz *= 2.0) {
        fine = drive_trip(rate_hz, 60.0, &hilly, false);
        assert_true(fine.position_m < coarse.position_m / 6.0);
        coarse = fine;
    }
}

/* From samples alone the increments are linear between them: second order, and at 1 kHz below a millimetre. */
static void plain_samples_lead_back_in_second_order(void **state)
{
    const struct drive_plan hilly = city(&springs);
    const struct trip_error coarse = drive_trip(100.0, 60.0, &hilly, true), fine = drive_trip(200.0, 60.0, &hilly, true);
    (void)state;
    assert_true(fine.position_m < coarse.position_m / 3.5);
    assert_true(drive_trip(1000.0, 60.0, &hilly, true).position_m < 1e-3);
}

/* Constant rate and force turn with the body: the increments of two equal samples are those of a circle. */
static void increments_between_equal_samples_are_a_circles(void **state)
{
    const struct num_strapdown_sample sample = {{0.0, 0.0, 0.8}, {0.0, 8.0, 9.80665}};
    const double dt_s = 0.01, turn = 0.8 * dt_s;
    const struct num_strapdown_delta delta = num_strapdown_between(&sample, &sample, dt_s);
    (void)state;
    assert_near(delta.angle_rad.z, turn, 1e-16);
    assert_near(delta.velocity_m_s.x, 8.0 * (cos(turn) - 1.0) / 0.8, 2e-9); /* left out: 8/0.8 · turn⁴/24 */
    assert_near(delta.velocity_m_s.y, 8.0 * sin(turn) / 0.8, 1e-10);
    assert_near(delta.velocity_m_s.z, 9.80665 * dt_s, 1e-15);
}

/* At rest on the turning Earth nothing moves: the gyroscope feels the Earth, the mechanisation takes it out. */
static void a_vehicle_at_rest_on_the_turning_earth_stays(void **state)
{
    const oto_vec3 earth = {0.0, 4.87e-5, 5.42e-5};
    const oto_quat q = oto_quat_from_rpy(0.1, -0.2, 2.0);
    const oto_vec3 rate = oto_quat_rotate_inv(q, earth);
    const oto_vec3 force = oto_quat_rotate_inv(q, oto_vec3_neg(gravity));
    const struct num_strapdown_sample sample = {rate, force};
    struct num_strapdown s;
    (void)state;
    num_strapdown_start(&s, q, oto_vec3_zero(), oto_vec3_zero());
    for (int i = 0; i < 60000; i++) {
        const struct num_strapdown_delta delta = num_strapdown_between(&sample, &sample, 0.001);
        num_strapdown_advance(&s, &delta, 0.001, gravity, earth);
    }
    /* Two products a step, of equal numbers each time: rounding adds up, to 60 000 · 2 · 2^-52 = 2.7e-11 rad at most.
     * g times that, growing with t, is half of 60 s and a sixth of 60² s² in velocity and position. */
    assert_near(oto_quat_angle_between(s.q_enu_from_body, q), 0.0, 2.7e-11);
    assert_near(oto_vec3_norm(s.velocity_enu_m_s), 0.0, 8e-9);
    assert_near(oto_vec3_norm(s.position_enu_m), 0.0, 1.6e-7);
}

static int drop_memory(void **unused)
{
    (void)unused;
    motion_free(&memory);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, drop_memory)
    const struct CMUnitTest tests[] = {
        TEST(an_ideal_imu_leads_back_to_the_truth_to_1e_8_m),
        TEST(the_error_of_the_round_trip_is_of_third_order),
        TEST(plain_samples_lead_back_in_second_order),
        TEST(increments_between_equal_samples_are_a_circles),
        TEST(a_vehicle_at_rest_on_the_turning_earth_stays),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
