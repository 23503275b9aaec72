/* sdf_imu through its ABI: the physics that it reads and its outputs. Rows C1 to C10, C25 to C27. */
#include "../libotolith/sample_records.h"
#include "otolith/frame.h"
#include "sdf_rig.h"

#define G 9.80665
#define DEG 0.017453292519943295

/* ---- C1, C2: the message ---- */

/* sensor_msgs/Imu without its header, as a ROS program would declare it. */
struct ros_imu {
    double orientation[4]; /* x y z w */
    double orientation_covariance[9];
    double angular_velocity[3];
    double angular_velocity_covariance[9];
    double linear_acceleration[3];
    double linear_acceleration_covariance[9];
};

static void driving(double t_s, struct oto_sensor_input *input)
{
    input->q_enu_from_sensor = oto_quat_from_rpy(0.1, -0.2, 0.3 + 0.1 * t_s);
    input->angular_rate_sensor_rad_s = oto_vec3_make(0.01, 0.02, 0.1);
    input->velocity_sensor_enu_m_s = oto_vec3_make(3 * t_s, -t_s, 0.5 * t_s * t_s);
}

static void C1_a_frame_gives_the_fields_of_sensor_msgs_imu_in_order(void **state)
{
    static const char *const names[] = {"orientation.x",
                                        "orientation.y",
                                        "orientation.z",
                                        "orientation.w",
                                        "orientation_covariance",
                                        "angular_velocity.x",
                                        "angular_velocity.y",
                                        "angular_velocity.z",
                                        "angular_velocity_covariance",
                                        "linear_acceleration.x",
                                        "linear_acceleration.y",
                                        "linear_acceleration.z",
                                        "linear_acceleration_covariance"};
    struct sdf_rig rig;
    struct oto_buffer buffer = {0};
    struct oto_frame frame;
    struct ros_imu decoded;
    (void)state;
    sdf_open(&rig, 100, 1000, 1);
    rig.motion = driving;
    mini_start(&rig.host);
    sdf_take(&rig, 2);
    const struct oto_record_type *type = otolith_plugin.descriptor->outputs[0].type;
    assert_int_equal(type->field_count, sizeof names / sizeof *names);
    for (uint32_t i = 0; i < type->field_count; i++) {
        assert_string_equal(type->fields[i].name, names[i]);
        assert_int_equal(type->fields[i].type, OTO_FIELD_F64);
    }
    struct oto_channel channel = sample_channel("demo/car/imu", type);
    const struct oto_sample_head head = {.t_ns = rig.output.t_ns, .seq = 2, .bytes = type->bytes};
    struct oto_sample_head got;
    assert_int_equal(oto_frame_encode(&buffer, &channel, 1, OTO_FRAME_MAP, &head, &rig.imu, 1), OTO_OK);
    assert_int_equal(oto_frame_decode(buffer.data, buffer.bytes, &frame), OTO_OK);
    assert_int_equal(oto_frame_sample(&frame, type, 0, &got, &decoded, NULL, 0), OTO_OK);
    assert_int_equal(sizeof decoded, type->bytes);
    assert_near(decoded.orientation[3], rig.imu.orientation_w, 0);
    assert_near(decoded.angular_velocity[2], 0.1, 0);
    assert_near(decoded.linear_acceleration[2], rig.imu.linear_acceleration_m_s2.z, 0);
    assert_memory_equal(&decoded, &rig.imu, sizeof decoded);
    oto_buffer_free(&buffer);
    sdf_close(&rig);
}

static void C2_the_stamp_is_the_time_of_the_tick_that_was_read(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 300, 1000, 1); /* samples at 3.33 6.67 10 ms: ticks 3, 6 and 10 */
    mini_start(&rig.host);
    for (int i = 0; i < 3; i++) {
        static const int64_t stamps[] = {3000000, 6000000, 10000000};
        assert_int_equal(sdf_next(&rig), OTO_STEP_OK);
        assert_int_equal(rig.output.t_ns, stamps[i]);
        assert_int_equal(rig.output.sensor_time_ns, stamps[i]);
    }
    sdf_close(&rig);
}

/* ---- C3, C4: orientation ---- */

static double start_yaw;

/* From start_yaw a quarter turn to the left each second. */
static void turning(double t_s, struct oto_sensor_input *input)
{
    input->q_enu_from_sensor = oto_quat_from_rpy(0, 0, start_yaw + 90 * DEG * (t_s - 1));
    input->angular_rate_sensor_rad_s = oto_vec3_make(0, 0, 90 * DEG);
}

static void C3_orientation_is_relative_to_the_first_sample(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 1, 1000, 1);
    start_yaw = 0.7;
    rig.motion = turning;
    mini_start(&rig.host);
    sdf_take(&rig, 1);
    assert_orientation(&rig.imu, 0, 0, 0, 1);
    sdf_take(&rig, 1);
    assert_orientation(&rig.imu, 0, 0, M_SQRT1_2, M_SQRT1_2);
    sdf_close(&rig);
}

static void east_level(double t_s, struct oto_sensor_input *input)
{
    (void)t_s;
    input->q_enu_from_sensor = oto_quat_from_rpy(0, 0, 0);
}

struct frame_case {
    enum sdf_localization localization;
    enum sdf_parent_frame rpy_parent, x_parent;
    double rpy_rad[3], grav_dir_x[3];
    double orientation[4]; /* x y z w of a level sensor that faces east */
};

static void C4_the_six_localization_frames_of_a_level_sensor_facing_east(void **state)
{
    /* NED seen from: x north y east z down; facing east is 90 deg to the right and upside down: (x y z w). */
    static const struct frame_case cases[] = {
        {SDF_ENU, 0, 0, {0}, {0}, {0, 0, 0, 1}},
        {SDF_NWU, 0, 0, {0}, {0}, {0, 0, -M_SQRT1_2, M_SQRT1_2}},
        {SDF_NED, 0, 0, {0}, {0}, {-M_SQRT1_2, -M_SQRT1_2, 0, 0}},
        {SDF_GRAV_UP, 0, SDF_PARENT_WORLD, {0}, {0, 1, 0.5}, {0, 0, -M_SQRT1_2, M_SQRT1_2}},
        {SDF_GRAV_UP, 0, SDF_PARENT_SENSOR, {0}, {0, 0, 0}, {0, 0, 0, 1}},
        {SDF_GRAV_DOWN, 0, SDF_PARENT_WORLD, {0}, {1, 0, 0}, {-1, 0, 0, 0}},
        {SDF_CUSTOM, SDF_PARENT_WORLD, 0, {0, 0, 90 * DEG}, {0}, {0, 0, -M_SQRT1_2, M_SQRT1_2}},
        {SDF_CUSTOM, SDF_PARENT_SENSOR, 0, {180 * DEG, 0, 0}, {0}, {-1, 0, 0, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct frame_case *c = &cases[i];
        struct sdf_rig rig;
        sdf_open(&rig, 100, 1000, 1);
        rig.motion = east_level;
        mini_set(&rig.host, "orientation.localization", c->localization);
        mini_set(&rig.host, "orientation.custom_rpy_parent_frame", c->rpy_parent);
        mini_set(&rig.host, "orientation.grav_dir_x_parent_frame", c->x_parent);
        mini_set3(&rig.host, "orientation.custom_rpy_rad", c->rpy_rad[0], c->rpy_rad[1], c->rpy_rad[2]);
        mini_set3(&rig.host, "orientation.grav_dir_x", c->grav_dir_x[0], c->grav_dir_x[1], c->grav_dir_x[2]);
        mini_start(&rig.host);
        sdf_take(&rig, 1);
        /* q and -q are one attitude */
        const double sign = rig.imu.orientation_x * c->orientation[0] + rig.imu.orientation_y * c->orientation[1] +
                                        rig.imu.orientation_z * c->orientation[2] +
                                        rig.imu.orientation_w * c->orientation[3] <
                                    0
                                ? -1
                                : 1;
        assert_orientation(&rig.imu, sign * c->orientation[0], sign * c->orientation[1], sign * c->orientation[2],
                           sign * c->orientation[3]);
        sdf_close(&rig);
    }
}

static void upright(double t_s, struct oto_sensor_input *input)
{
    (void)t_s;
    input->q_enu_from_sensor = oto_quat_from_rpy(0, -90 * DEG, 0); /* x up */
}

static void C4_a_grav_dir_x_along_gravity_is_refused_or_said(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 1);
    mini_set(&rig.host, "orientation.localization", SDF_GRAV_UP);
    mini_set(&rig.host, "orientation.grav_dir_x_parent_frame", SDF_PARENT_WORLD);
    mini_set3(&rig.host, "orientation.grav_dir_x", 0, 0, 2);
    assert_int_equal(mini_prepare(&rig.host), OTO_INVALID);
    assert_non_null(strstr(rig.host.error.text, "grav_dir_x [0, 0, 2] is parallel to gravity"));
    mini_set(&rig.host, "orientation.grav_dir_x_parent_frame", SDF_PARENT_SENSOR);
    mini_set3(&rig.host, "orientation.grav_dir_x", 1, 0, 0);
    rig.motion = upright;
    mini_start(&rig.host);
    assert_int_equal(sdf_next(&rig), OTO_STEP_WARN);
    assert_near(rig.imu.orientation_covariance[0], -1, 0);
    assert_orientation(&rig.imu, 0, 0, 0, 1);
    mini_set(&rig.host, "gravity_m_s2", 0);
    assert_int_equal(mini_prepare(&rig.host), OTO_INVALID);
    assert_non_null(strstr(rig.host.error.text, "there is no gravity"));
    sdf_close(&rig);
}

/* ---- C5 to C8: rate and acceleration ---- */

static void C5_angular_velocity_is_in_the_frame_of_the_sensor(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 1);
    start_yaw = 0;
    rig.motion = turning;
    rig.q_body_from_sensor = oto_quat_from_rpy(90 * DEG, 0, 0); /* its y points up */
    mini_start(&rig.host);
    sdf_take(&rig, 1);
    assert_vec_near(rig.imu.angular_velocity_rad_s, 0, 90 * DEG, 0, 1e-15);
    sdf_close(&rig);
}

static void ramp(double t_s, struct oto_sensor_input *input)
{
    input->q_enu_from_sensor = oto_quat_identity();
    input->velocity_sensor_enu_m_s = oto_vec3_make(2 * t_s, 0, 0);
}

static void parabola(double t_s, struct oto_sensor_input *input)
{
    input->q_enu_from_sensor = oto_quat_identity();
    input->velocity_sensor_enu_m_s = oto_vec3_make(3 * t_s * t_s, 0, 0); /* acceleration 6 t */
}

static void C6_acceleration_is_the_change_of_velocity_over_the_elapsed_time(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 50, 1000, 1);
    rig.motion = ramp;
    mini_start(&rig.host);
    sdf_take(&rig, 5);
    assert_vec_near(rig.imu.linear_acceleration_m_s2, 2, 0, G, 1e-12);
    rig.motion = parabola;
    sdf_take(&rig, 5); /* sample 10 at 0.2 s, the previous one at 0.18 s: the mean of 6 t between them */
    assert_vec_near(rig.imu.linear_acceleration_m_s2, 6 * 0.19, 0, G, 1e-12);
    sdf_close(&rig);
}

static void C6_the_elapsed_time_is_that_of_the_ticks_not_of_the_rate(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 30, 50, 1); /* ticks 1, 3, 5, 6, 8, …: 40, 40, 20 ms apart */
    rig.motion = ramp;
    mini_start(&rig.host);
    sdf_take(&rig, 1);
    for (int i = 0; i < 20; i++) {
        sdf_take(&rig, 1);
        assert_vec_near(rig.imu.linear_acceleration_m_s2, 2, 0, G, 1e-12);
    }
    sdf_close(&rig);
}

static double tilt_roll, tilt_pitch;

static void tilted(double t_s, struct oto_sensor_input *input)
{
    (void)t_s;
    input->q_enu_from_sensor = oto_quat_from_rpy(tilt_roll, tilt_pitch, 0);
}

static void C7_one_g_up_in_the_frame_of_a_rolled_or_pitched_sensor(void **state)
{
    (void)state;
    for (int i = -3; i <= 3; i++) {
        struct sdf_rig rig;
        const double angle = 0.4 * i;
        sdf_open(&rig, 100, 1000, 1);
        rig.motion = tilted;
        mini_set(&rig.host, "gravity_m_s2", 9.81);
        mini_start(&rig.host);
        tilt_roll = angle;
        tilt_pitch = 0;
        sdf_take(&rig, 1);
        assert_vec_near(rig.imu.linear_acceleration_m_s2, 0, 9.81 * sin(angle), 9.81 * cos(angle), 1e-14);
        tilt_roll = 0;
        tilt_pitch = angle;
        sdf_take(&rig, 1);
        assert_vec_near(rig.imu.linear_acceleration_m_s2, -9.81 * sin(angle), 0, 9.81 * cos(angle), 1e-14);
        sdf_close(&rig);
    }
}

static void falling(double t_s, struct oto_sensor_input *input)
{
    input->q_enu_from_sensor = oto_quat_from_rpy(0.3, 0.2, 0.1);
    input->velocity_sensor_enu_m_s = oto_vec3_make(0, 0, -G * t_s);
}

static void C7_free_fall_reads_zero_and_gravity_is_the_worlds_unless_given(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 1);
    rig.motion = falling;
    mini_start(&rig.host);
    sdf_take(&rig, 2);
    assert_vec_near(rig.imu.linear_acceleration_m_s2, 0, 0, 0, 1e-12);
    rig.motion = sdf_rest;
    sdf_change(&rig, "gravity_m_s2", 1.62);
    sdf_take(&rig, 2);
    assert_vec_near(rig.imu.linear_acceleration_m_s2, 0, 0, 1.62, 1e-12);
    sdf_close(&rig);
}

/* Unity is left-handed: x right, y up, z forward. */
static oto_vec3 flu_from_unity(double x, double y, double z)
{
    return oto_vec3_make(z, -x, y);
}

static oto_vec3 unity_velocity, unity_rate;
static double unity_turn_deg;

static void as_in_unity(double t_s, struct oto_sensor_input *input)
{
    const double half = 0.5 * unity_turn_deg * DEG * t_s;
    const oto_vec3 rate = flu_from_unity(unity_rate.x, unity_rate.y, unity_rate.z);
    input->velocity_sensor_enu_m_s =
        oto_vec3_scale(flu_from_unity(unity_velocity.x, unity_velocity.y, unity_velocity.z), t_s);
    input->angular_rate_sensor_rad_s = oto_vec3_neg(rate); /* a pseudovector changes sign with the hand */
    /* (x y z w) about Unity's y, its sense to the right: (z, -x, y, -w) in FLU */
    input->q_enu_from_sensor = oto_quat_make(-cos(half), 0, 0, sin(half));
}

static void C8_output_is_right_handed_with_z_up(void **state)
{
    static const double unity[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};   /* right, up, forward */
    static const double vector[3][3] = {{0, -1, 0}, {0, 0, 1}, {1, 0, 0}}; /* in FLU */
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct sdf_rig rig;
        sdf_open(&rig, 1, 1000, 1);
        mini_set(&rig.host, "gravity_m_s2", 0);
        mini_set(&rig.host, "orientation.localization", SDF_ENU);
        rig.motion = as_in_unity;
        unity_velocity = unity_rate = oto_vec3_from_array(unity[i]);
        unity_turn_deg = 0;
        mini_start(&rig.host);
        sdf_take(&rig, 2);
        assert_vec_near(rig.imu.linear_acceleration_m_s2, vector[i][0], vector[i][1], vector[i][2], 1e-14);
        assert_vec_near(rig.imu.angular_velocity_rad_s, -vector[i][0], -vector[i][1], -vector[i][2], 1e-14);
        unity_turn_deg = 30; /* 90 deg to the right at 3 s */
        sdf_take(&rig, 1);
        assert_orientation(&rig.imu, 0, 0, M_SQRT1_2, -M_SQRT1_2);
        sdf_close(&rig);
    }
}

/* ---- C9, C10 ---- */

static void C9_covariances_are_passed_through_verbatim(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 1);
    const char *const keys[] = {"orientation.covariance_rad2", "angular_velocity.covariance_rad2_s2",
                                "linear_acceleration.covariance_m2_s4"};
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t i = 0; i < 9; i++) {
            mini_put(&rig.host, mini_param(keys[k]), i, 0.1 * (k + 1) + 0.01 * i);
        }
    }
    mini_start(&rig.host);
    sdf_take(&rig, 1);
    for (uint32_t i = 0; i < 9; i++) {
        assert_near(rig.imu.orientation_covariance[i], 0.1 * 1 + 0.01 * i, 0);
        assert_near(rig.imu.angular_velocity_covariance[i], 0.1 * 2 + 0.01 * i, 0);
        assert_near(rig.imu.linear_acceleration_covariance[i], 0.1 * 3 + 0.01 * i, 0);
    }
    sdf_change(&rig, "angular_velocity.covariance_rad2_s2", 0);
    sdf_change(&rig, "orientation.enable", 0);
    sdf_take(&rig, 1);
    assert_near(rig.imu.angular_velocity_covariance[0], 0, 0);
    assert_near(rig.imu.orientation_covariance[0], -1, 0);
    assert_near(rig.imu.orientation_covariance[4], 0, 0);
    assert_orientation(&rig.imu, 0, 0, 0, 1);
    sdf_close(&rig);
}

static void C9_without_a_value_they_are_the_variance_of_the_white_noise(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 1);
    mini_set3(&rig.host, "angular_velocity.stddev_rad_s", 0.1, 0.2, 0.3);
    mini_set3(&rig.host, "angular_velocity.noise_type", 1, 1, 0);
    mini_start(&rig.host);
    sdf_take(&rig, 1);
    for (int i = 0; i < 9; i++) {
        const double stddev = i == 0 ? 0.1 : i == 4 ? 0.2 : 0;
        assert_near(rig.imu.angular_velocity_covariance[i], stddev * stddev, 0);
        assert_near(rig.imu.orientation_covariance[i], 0, 0);
        assert_near(rig.imu.linear_acceleration_covariance[i], 0, 0);
    }
    assert_int_equal(rig.host.warnings, 1); /* a stddev on an axis of type none */
    sdf_close(&rig);
}

static void C10_the_acceleration_is_in_scene_units(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 1);
    rig.motion = ramp;
    mini_set(&rig.host, "scene_units_per_m", 100); /* a scene in centimetres */
    mini_start(&rig.host);
    sdf_take(&rig, 2);
    assert_vec_near(rig.imu.linear_acceleration_m_s2, 200, 0, 100 * G, 1e-9);
    assert_vec_near(rig.imu.angular_velocity_rad_s, 0, 0, 0, 0);
    sdf_close(&rig);
}

/* ---- C25 to C27 ---- */

static void C25_the_first_sample_knows_no_elapsed_time(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 1);
    rig.motion = ramp; /* 20 mm/s after 10 ms: no velocity before it */
    mini_set(&rig.host, "angular_velocity.noise_type", 1);
    mini_set(&rig.host, "angular_velocity.bias_mean_rad_s", 0.5);
    mini_set(&rig.host, "angular_velocity.dynamic_bias_stddev_rad_s_rts", 0.1);
    mini_set(&rig.host, "angular_velocity.dynamic_bias_correlation_time_s", 1);
    mini_start(&rig.host);
    sdf_take(&rig, 1);
    assert_vec_near(rig.imu.linear_acceleration_m_s2, 0, 0, G, 0);
    assert_near(fabs(rig.imu.angular_velocity_rad_s.x), 0.5, 0); /* the bias has not moved */
    sdf_take(&rig, 1);
    assert_vec_near(rig.imu.linear_acceleration_m_s2, 2, 0, G, 1e-12);
    assert_true(fabs(rig.imu.angular_velocity_rad_s.x) != 0.5);
    sdf_close(&rig);
}

static void C26_time_that_goes_back_begins_the_differences_anew(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 1);
    rig.motion = ramp;
    mini_start(&rig.host);
    sdf_take(&rig, 50); /* 1 m/s by now */
    srv_schedule_init(&rig.schedule, 100, 1);
    srv_schedule_advance(&rig.schedule);
    assert_ok(srv_due_init(&rig.due, 100, 1, 1000, 1, &rig.host.error), rig.host.error);
    sdf_take(&rig, 1);
    assert_vec_near(rig.imu.linear_acceleration_m_s2, 0, 0, G, 0);
    sdf_take(&rig, 1);
    assert_vec_near(rig.imu.linear_acceleration_m_s2, 2, 0, G, 1e-12);
    sdf_close(&rig);
}

static void C27_two_sensors_back_to_back_turn_against_each_other(void **state)
{
    struct sdf_rig rigs[2];
    (void)state;
    start_yaw = 0;
    for (int i = 0; i < 2; i++) {
        sdf_open(&rigs[i], 100, 1000, 1);
        rigs[i].motion = turning;
        rigs[i].q_body_from_sensor = oto_quat_from_rpy(i * 180 * DEG, 0, 0);
        mini_start(&rigs[i].host);
        sdf_take(&rigs[i], 3);
    }
    const oto_vec3 sum = oto_vec3_add(rigs[0].imu.angular_velocity_rad_s, rigs[1].imu.angular_velocity_rad_s);
    assert_vec_near(sum, 0, 0, 0, 1e-15);
    assert_near(rigs[0].imu.linear_acceleration_m_s2.z + rigs[1].imu.linear_acceleration_m_s2.z, 0, 1e-14);
    for (int i = 0; i < 2; i++) {
        sdf_close(&rigs[i]);
    }
}

static void broken(double t_s, struct oto_sensor_input *input)
{
    ramp(t_s, input);
    input->velocity_sensor_enu_m_s.y = NAN;
}

static void a_truth_that_is_not_finite_gives_no_sample_and_harms_none_later(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 1);
    rig.motion = ramp;
    mini_start(&rig.host);
    sdf_take(&rig, 2);
    rig.motion = broken;
    assert_int_equal(sdf_next(&rig), OTO_STEP_DISCARD);
    rig.motion = ramp;
    sdf_take(&rig, 1); /* over two periods */
    assert_vec_near(rig.imu.linear_acceleration_m_s2, 2, 0, G, 1e-12);
    assert_int_equal(otolith_plugin.ops->validate(&rig.host.instance), OTO_OK);
    sdf_close(&rig);
}

static void physics_of_less_than_one_hertz_is_refused(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 1, 1, 1);
    rig.host.setup.base_rate_den = 2;
    assert_int_equal(mini_prepare(&rig.host), OTO_INVALID);
    assert_non_null(strstr(rig.host.error.text, "0.5 Hz"));
    sdf_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C1_a_frame_gives_the_fields_of_sensor_msgs_imu_in_order),
        cmocka_unit_test(C2_the_stamp_is_the_time_of_the_tick_that_was_read),
        cmocka_unit_test(C3_orientation_is_relative_to_the_first_sample),
        cmocka_unit_test(C4_the_six_localization_frames_of_a_level_sensor_facing_east),
        cmocka_unit_test(C4_a_grav_dir_x_along_gravity_is_refused_or_said),
        cmocka_unit_test(C5_angular_velocity_is_in_the_frame_of_the_sensor),
        cmocka_unit_test(C6_acceleration_is_the_change_of_velocity_over_the_elapsed_time),
        cmocka_unit_test(C6_the_elapsed_time_is_that_of_the_ticks_not_of_the_rate),
        cmocka_unit_test(C7_one_g_up_in_the_frame_of_a_rolled_or_pitched_sensor),
        cmocka_unit_test(C7_free_fall_reads_zero_and_gravity_is_the_worlds_unless_given),
        cmocka_unit_test(C8_output_is_right_handed_with_z_up),
        cmocka_unit_test(C9_covariances_are_passed_through_verbatim),
        cmocka_unit_test(C9_without_a_value_they_are_the_variance_of_the_white_noise),
        cmocka_unit_test(C10_the_acceleration_is_in_scene_units),
        cmocka_unit_test(C25_the_first_sample_knows_no_elapsed_time),
        cmocka_unit_test(C26_time_that_goes_back_begins_the_differences_anew),
        cmocka_unit_test(C27_two_sensors_back_to_back_turn_against_each_other),
        cmocka_unit_test(a_truth_that_is_not_finite_gives_no_sample_and_harms_none_later),
        cmocka_unit_test(physics_of_less_than_one_hertz_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
