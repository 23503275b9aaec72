/* The inertial navigation's parts: error propagation and aids against finite differences, alignment, bad input, state. */
#include "mini_host.h"

#include "ins_plan.h"
#include "num_cholesky.h"

/* ---- a host with inputs ---- */

static const struct oto_field fix_fields[] = {OTO_FIELD_XYZ_(oto_vec3, x, "position_enu_m", "m", "enu", "position")};
static const struct oto_record_type fix_type = {"fix", 24, 3, fix_fields};
static const int64_t ms = 1000000;

struct rig {
    struct mini_host host;
    struct oto_input_binding bindings[INS_INPUTS];
    struct oto_estimate_record estimate;
    struct num_filter_state_record state;
    struct num_filter_innovation_record innovation;
    double nees[4];
};

static void rig_open(struct rig *rig)
{
    static const struct oto_record_type *const types[] = {&oto_imu_type, &oto_odometry_type, &oto_mag_type, &fix_type,
                                                          &oto_truth_type, &oto_navsat_type, &oto_pressure_type};
    memset(rig, 0, sizeof *rig);
    mini_open(&rig->host, 100, 1);
    (void)strcpy(((struct ins_params *)rig->host.params)->odometer_field, "speed_m_s");
    for (int i = 0; i < INS_INPUTS; i++) {
        rig->bindings[i] = (struct oto_input_binding){.name = ins_inputs[i].name, .type = types[i], .topic = "car/it",
                                                      .rate_hz = 100, .q_body_from_sensor = {1, 0, 0, 0}};
    }
    rig->bindings[INS_IMU].mount_position_body_m = oto_vec3_make(0.3, -0.2, 0.5);
    rig->bindings[INS_IMU].q_body_from_sensor = oto_quat_from_rpy(0.1, -0.2, 1.2);
    rig->host.setup.estimator.inputs = rig->bindings;
    rig->host.setup.estimator.input_count = INS_GNSS; /* all others; see bind_gnss */
    rig->host.setup.origin_latitude_rad = 48 * OTO_DEG;
    rig->host.setup.origin_longitude_rad = 11 * OTO_DEG;
    rig->host.setup.origin_altitude_m = 500;
    mini_set(&rig->host, "nonholonomic.rate_hz", 0);
}

static void bind_gnss(struct rig *rig)
{
    rig->host.setup.estimator.input_count = INS_INPUTS;
    rig->bindings[INS_GNSS].mount_position_body_m = oto_vec3_make(-0.5, 0.2, 1.4);
}

static const struct ins_plan *plan_of(const struct rig *rig)
{
    return &((const struct ins_prepared *)rig->host.instance.data)->plan;
}

static struct ins_state *state_of(struct rig *rig)
{
    return rig->host.state;
}

static enum oto_step_status give(struct rig *rig, uint32_t input, int64_t t_ns, int64_t now_ns, const void *payload)
{
    const struct oto_input_sample sample = {.input = input, .seq = 1, .t_ns = t_ns, .sensor_time_ns = t_ns, .payload = payload};
    struct oto_output outputs[4] = {{&rig->estimate, now_ns, now_ns, 0, 1}, {&rig->state, now_ns, now_ns, 0, 1},
                                    {&rig->innovation, now_ns, now_ns, 0, 1}, {rig->nees, now_ns, now_ns, 0, 1}};
    const struct oto_step step = {.size = sizeof step, .at = {now_ns, 0.0}, .outputs = outputs,
                                  .estimator = {.samples = &sample, .sample_count = payload != NULL}};
    memset(&rig->estimate, 0, sizeof rig->estimate);
    memset(&rig->state, 0, sizeof rig->state);
    memset(&rig->innovation, 0, sizeof rig->innovation);
    return otolith_plugin.ops->step(&rig->host.instance, &step);
}

/* At rest in the attitude `q`, with biases; in the sensor's axes. */
static struct oto_imu_record imu_at_rest(const struct rig *rig, oto_quat q_enu_from_body, oto_vec3 gyro_bias, oto_vec3 accel_bias)
{
    struct oto_imu_record record;
    const oto_quat q = oto_quat_mul(q_enu_from_body, rig->bindings[INS_IMU].q_body_from_sensor);
    memset(&record, 0, sizeof record);
    record.angular_velocity_rad_s = gyro_bias;
    record.linear_acceleration_m_s2 =
        oto_vec3_add(oto_quat_rotate_inv(q, oto_vec3_neg(rig->host.setup.gravity_enu_m_s2)), accel_bias);
    return record;
}

static void give_rest(struct rig *rig, int from_ms, int to_ms, oto_quat q)
{
    const struct oto_imu_record record = imu_at_rest(rig, q, oto_vec3_zero(), oto_vec3_zero());
    for (int t = from_ms; t <= to_ms; t += 10) {
        assert_int_equal(give(rig, INS_IMU, t * ms, t * ms, &record), OTO_STEP_OK);
    }
}

/* ---- derivatives ---- */

/* A moving, turning, tilted state. */
static void set_moving(struct rig *rig)
{
    struct ins_state *state = state_of(rig);
    state->running = state->has_sample = 1;
    state->time_ns = 0;
    num_strapdown_start(&state->nav, oto_quat_from_rpy(0.2, -0.3, 1.0), oto_vec3_make(8, 3, -1), oto_vec3_make(10, 20, 30));
    state->gyro_bias = oto_vec3_make(0.01, -0.02, 0.015);
    state->accel_bias = oto_vec3_make(0.1, 0.2, -0.1);
    for (uint32_t i = 0; i < INS_AIDS; i++) {
        state->aids[i] = 0.01 * (1 + i); /* slip, angles, compliance: each a number of its own */
    }
    state->aids[INS_SCALE - INS_AID] = 1.02;
    state->history.count = 0;
    state->fix_mode = OTO_NAVSAT_SINGLE;
    state->sample = (struct num_strapdown_sample){{0.3, -0.2, 0.4}, {1.0, 2.0, 9.5}};
    memset(state->p, 0, sizeof state->p);
}

static void perturb(struct ins_state *state, uint32_t place, double h)
{
    double d[INS_STATES] = {0};
    d[place] = h;
    const oto_vec3 velocity_body_m_s = oto_vec3_add(ins_velocity_body(state), oto_vec3_from_array(d + INS_U));
    state->nav.position_enu_m = oto_vec3_add(state->nav.position_enu_m, oto_vec3_from_array(d + INS_P));
    state->nav.q_enu_from_body = oto_quat_mul(state->nav.q_enu_from_body, oto_quat_from_rotvec(oto_vec3_from_array(d + INS_THETA)));
    state->nav.velocity_enu_m_s = oto_quat_rotate(state->nav.q_enu_from_body, velocity_body_m_s);
    state->gyro_bias = oto_vec3_add(state->gyro_bias, oto_vec3_from_array(d + INS_BG));
    state->accel_bias = oto_vec3_add(state->accel_bias, oto_vec3_from_array(d + INS_BA));
    for (uint32_t i = 0; i < INS_AIDS; i++) {
        state->aids[i] += d[INS_AID + i];
    }
}

static void difference(const struct ins_state *a, const struct ins_state *b, double *d)
{
    oto_vec3_to_array(oto_vec3_sub(a->nav.position_enu_m, b->nav.position_enu_m), d + INS_P);
    oto_vec3_to_array(oto_vec3_sub(ins_velocity_body(a), ins_velocity_body(b)), d + INS_U);
    oto_vec3_to_array(oto_quat_to_rotvec(oto_quat_mul(oto_quat_conj(b->nav.q_enu_from_body), a->nav.q_enu_from_body)), d + INS_THETA);
    oto_vec3_to_array(oto_vec3_sub(a->gyro_bias, b->gyro_bias), d + INS_BG);
    oto_vec3_to_array(oto_vec3_sub(a->accel_bias, b->accel_bias), d + INS_BA);
    for (uint32_t i = 0; i < INS_AIDS; i++) {
        d[INS_AID + i] = a->aids[i] - b->aids[i];
    }
}

/*
 * With P = e eᵀ and no noise P' is (F e)(F e)ᵀ; of a step dt F is exact to third order in dt. The largest term of that order is
 * the coning's, dt²/12 [ω2 − ω1]× = 1.4e-6, times the speed of 8.6 m/s that a turn turns.
 */
static void the_error_moves_as_the_covariance_says(void **unused)
{
    struct rig rig;
    const struct num_strapdown_sample next = {{0.35, -0.15, 0.3}, {1.2, 1.8, 9.7}};
    const double h = 1e-5;
    (void)unused;
    rig_open(&rig);
    bind_gnss(&rig);
    mini_set(&rig.host, "gyroscope.bias_tau_s", 50);
    mini_set(&rig.host, "gnss.tau_s", 0.5);
    mini_start(&rig.host);
    struct ins_plan plan = *plan_of(&rig);
    for (uint32_t i = 0; i < INS_AIDS; i++) {
        plan.aids[i].psd = 0; /* the errors decay all the same */
    }
    plan.gyroscope.noise_psd = plan.gyroscope.bias_psd = plan.accelerometer.noise_psd = plan.accelerometer.bias_psd = 0;
    for (uint32_t j = 0; j < INS_STATES; j++) {
        struct ins_state plus, minus, middle;
        double d[INS_STATES];
        set_moving(&rig);
        plus = minus = middle = *state_of(&rig);
        perturb(&plus, j, h);
        perturb(&minus, j, -h);
        middle.p[j * (INS_STATES + 1)] = 1;
        assert_int_equal(ins_filter_imu(&plan, &plus, 10 * ms, &next), NUM_USED);
        assert_int_equal(ins_filter_imu(&plan, &minus, 10 * ms, &next), NUM_USED);
        assert_int_equal(ins_filter_imu(&plan, &middle, 10 * ms, &next), NUM_USED);
        difference(&plus, &minus, d);
        for (uint32_t a = 0; a < INS_STATES; a++) {
            for (uint32_t b = 0; b < INS_STATES; b++) {
                assert_near(middle.p[a * INS_STATES + b], d[a] * d[b] / (4 * h * h), 1.2e-5);
            }
        }
    }
    mini_close(&rig.host);
}

static enum num_outcome aid(const struct ins_plan *plan, struct ins_state *state, enum ins_row row, int64_t age_ns)
{
    switch (row) {
    case INS_ROW_ODOMETER: return ins_filter_odometer(plan, state, state->time_ns, 7.0);
    case INS_ROW_MAGNETOMETER: { /* the Jacobian is that at the known azimuth, from which the attitude is perturbed */
        const oto_vec3 field_enu = oto_vec3_add(oto_vec3_scale(plan->mag_field_enu, 1e-6), oto_vec3_make(0, 0, 1e-5));
        const oto_quat q = oto_quat_from_rpy(0.2, -0.3, 1.0);
        return ins_filter_magnetometer(plan, state, state->time_ns, oto_quat_rotate_inv(q, field_enu));
    }
    case INS_ROW_POSITION: return ins_filter_position(plan, state, state->time_ns - age_ns, oto_vec3_make(9, 18, 31));
    case INS_ROW_GNSS: {
        const struct ins_fix fix = {.place = oto_geodetic_from_enu(plan->origin, oto_vec3_make(9, 18, 31)),
                                    .variance_enu_m2 = {1, 1, 1}, .mode = OTO_NAVSAT_SINGLE};
        return ins_filter_fix(plan, state, state->time_ns - age_ns, &fix);
    }
    case INS_ROW_GNSS_VELOCITY: { /* the position says next to nothing */
        const struct ins_fix fix = {oto_geodetic_from_enu(plan->origin, oto_vec3_make(9, 18, 31)), {1e20, 1e20, 1e20},
                                    OTO_NAVSAT_SINGLE, true, {7, 4, -2}, {1, 1, 1}};
        return ins_filter_fix(plan, state, state->time_ns - age_ns, &fix);
    }
    case INS_ROW_BAROMETER: return ins_filter_barometer(plan, state, state->time_ns - age_ns, 95000);
    default: ins_say_what_holds(plan, state); return NUM_USED;
    }
}

/* With P = e eᵀ the innovation's deviation is |H e|, but for the small noise. */
static void each_aid_has_its_derivatives(void **unused)
{
    static const struct {
        enum ins_row row;
        uint32_t count;
        int64_t age_ns;
        double tolerance; /* of an old fix what turned the lever arm since then is left out */
    } aids[] = {{INS_ROW_ODOMETER, 1, 0, 2e-5}, {INS_ROW_NONHOLONOMIC, 2, 0, 2e-5}, {INS_ROW_MAGNETOMETER, 1, 0, 2e-5},
                {INS_ROW_POSITION, 3, 0, 2e-5}, {INS_ROW_POSITION, 3, 20000000, 0.04},
                {INS_ROW_GNSS, 3, 0, 2e-3}, {INS_ROW_GNSS_VELOCITY, 3, 0, 2e-3}, /* the white part of the variance is 1e-6 */
                {INS_ROW_BAROMETER, 1, 0, 2e-5}};
    struct rig rig;
    const double h = 1e-5;
    (void)unused;
    rig_open(&rig);
    bind_gnss(&rig);
    mini_set(&rig.host, "gnss.correlated_share", 0.999999);
    mini_set(&rig.host, "gnss.velocity_correlated_share", 0.999999);
    mini_set(&rig.host, "barometer.sigma_m", 1e-6);
    mini_set(&rig.host, "nonholonomic.rate_hz", 10);
    mini_set(&rig.host, "nonholonomic.sigma_m_s", 1e-6);
    mini_set3(&rig.host, "nonholonomic.position_m", -1.2, 0.1, -0.3);
    mini_set3(&rig.host, "odometer.position_m", -1.3, 0.4, -0.2);
    mini_set3(&rig.host, "position.position_m", -0.5, 0.2, 1.4);
    mini_set(&rig.host, "odometer.sigma_m_s", 1e-6);
    mini_set(&rig.host, "position.sigma_m", 1e-6);
    mini_set(&rig.host, "gyroscope.noise_density_rad_s_rthz", 1e-9);
    mini_set(&rig.host, "accelerometer.noise_density_m_s2_rthz", 1e-9);
    mini_set(&rig.host, "magnetometer.sigma_deg", 1e-5);
    mini_set(&rig.host, "magnetometer.magnitude_percent", 0);
    mini_start(&rig.host);
    for (size_t r = 0; r < sizeof aids / sizeof *aids; r++) {
        const enum ins_row row = aids[r].row;
        for (uint32_t j = 0; j < INS_STATES; j++) {
            struct ins_state plus, minus, middle;
            set_moving(&rig);
            plus = minus = middle = *state_of(&rig);
            plus.nonholonomic_ns = minus.nonholonomic_ns = middle.nonholonomic_ns = INT64_MIN;
            for (uint32_t k = INS_SLIP - INS_AID; j >= INS_BG && j < INS_AID && k < INS_COMPLIANCE - INS_AID + 2; k++) {
                if (k < INS_SLIP - INS_AID + 2 || k >= INS_COMPLIANCE - INS_AID) { /* slip and compliance do not show the biases */
                    plus.aids[k] = minus.aids[k] = middle.aids[k] = 0;
                }
            }
            perturb(&plus, j, h);
            perturb(&minus, j, -h);
            middle.p[j * (INS_STATES + 1)] = 1;
            assert_int_equal(aid(plan_of(&rig), &plus, row, aids[r].age_ns), NUM_USED);
            assert_int_equal(aid(plan_of(&rig), &minus, row, aids[r].age_ns), NUM_USED);
            assert_int_equal(aid(plan_of(&rig), &middle, row, aids[r].age_ns), NUM_USED);
            for (uint32_t i = 0; i < aids[r].count; i++) {
                const double slope = (plus.rows[row].innovation[i] - minus.rows[row].innovation[i]) / (2 * h);
                assert_near(middle.rows[row].sigma[i], fabs(slope), aids[r].tolerance);
            }
        }
    }
    mini_close(&rig.host);
}

static struct oto_navsat_record fix_at(const struct rig *rig, oto_vec3 antenna_enu_m, double variance_m2, uint8_t mode)
{
    const struct oto_setup *setup = &rig->host.setup;
    const oto_geodetic origin = {setup->origin_latitude_rad, setup->origin_longitude_rad, setup->origin_altitude_m};
    const oto_geodetic place = oto_geodetic_from_enu(origin, antenna_enu_m);
    struct oto_navsat_record fix;
    memset(&fix, 0, sizeof fix);
    fix.latitude_deg = place.lat_rad / OTO_DEG;
    fix.longitude_deg = place.lon_rad / OTO_DEG;
    fix.altitude_m = place.alt_m;
    fix.mode = mode;
    fix.status = mode == OTO_NAVSAT_NONE ? -1 : 0;
    fix.position_covariance[0] = fix.position_covariance[4] = fix.position_covariance[8] = variance_m2;
    return fix;
}

static void a_satellite_fix_places_the_antenna_and_starts_the_position(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    bind_gnss(&rig);
    mini_set(&rig.host, "initial.position_from_fix", 1);
    mini_set(&rig.host, "gnss.correlated_share", 0.75);
    mini_start(&rig.host);
    const struct oto_navsat_record fix = fix_at(&rig, oto_vec3_make(119.5, 70.2, 3.4), 4, OTO_NAVSAT_SINGLE);
    (void)give(&rig, INS_GNSS, 0, 0, &fix);
    give_rest(&rig, 0, 1010, oto_quat_identity());
    assert_int_equal(rig.estimate.status, OTO_ESTIMATE_RUNNING);
    assert_near(oto_vec3_norm(oto_vec3_sub(rig.estimate.position_enu_m, oto_vec3_make(120, 70, 2))), 0, 0.01);
    assert_near(rig.estimate.position_sigma_enu_m.x, 2, 0.05); /* and the heading's part of the lever arm */
    /* the correlated part of the fix, sqrt(3) m, is the same error: P(p, u) = -sqrt(3) */
    assert_near(state_of(&rig)->p[(INS_P + 1) * INS_STATES + INS_FIX + 1], -sqrt(3.0), 0.05);
    mini_close(&rig.host);
}

/* How far a speed that is the mean of an encoder moves the estimate, while the car brakes from 4 m/s to 2 m/s with 2 m/s². */
static double moved_by_mean_speed(double window_s, double tick_m, double speed_m_s)
{
    struct rig rig;
    rig_open(&rig);
    mini_set(&rig.host, "align.from", INS_ALIGN_GIVEN);
    mini_set(&rig.host, "initial.rpy_sigma_deg", 0.01);
    mini_set(&rig.host, "odometer.window_s", window_s);
    mini_set(&rig.host, "odometer.tick_m", tick_m);
    ((struct ins_params *)rig.host.params)->velocity_enu_m_s[0] = 4.0;
    mini_start(&rig.host);
    struct oto_imu_record imu = imu_at_rest(&rig, oto_quat_identity(), oto_vec3_zero(), oto_vec3_zero());
    imu.linear_acceleration_m_s2 = oto_vec3_add(
        imu.linear_acceleration_m_s2, oto_quat_rotate_inv(rig.bindings[INS_IMU].q_body_from_sensor, oto_vec3_make(-2, 0, 0)));
    for (int t = 0; t <= 1000; t += 10) {
        assert_int_equal(give(&rig, INS_IMU, t * ms, t * ms, &imu), OTO_STEP_OK);
    }
    const double before_m_s = state_of(&rig)->nav.velocity_enu_m_s.x;
    assert_near(before_m_s, 2.0, 1e-9);
    assert_int_equal(ins_filter_odometer(plan_of(&rig), state_of(&rig), 1000 * ms, speed_m_s), NUM_USED);
    const double moved_m_s = state_of(&rig)->nav.velocity_enu_m_s.x - before_m_s;
    mini_close(&rig.host);
    return moved_m_s;
}

/* Edges 20 mm apart are 9.85 ms apart at 2.03 m/s; with a window of 20 ms the mean is that of 14.9 ms ago, 29.9 mm/s faster. */
static void an_encoders_speed_is_that_of_the_middle_of_its_mean(void **unused)
{
    (void)unused;
    assert_true(fabs(moved_by_mean_speed(0.02, 0.02, 2.02985)) < 1e-5);
    assert_true(moved_by_mean_speed(0.0, 0.0, 2.02985) > 0.02);
    assert_true(fabs(moved_by_mean_speed(0.02, 0.0, 2.02)) < 1e-5);
    /* edges 0.1 m apart, 47.7 ms: samples without an edge repeat the speed of 47.7 ms ago */
    assert_true(fabs(moved_by_mean_speed(0.02, 0.1, 2.095445)) < 1e-5);
}

/* ---- the force at the wheels ---- */

/*
 * A body that pitches with α about y: above the axle the IMU feels α h more ahead than the wheels transmit, 0.25 m/s² here.
 * Slip of 10 % a m/s² at 10 m/s makes 0.25 m/s of it.
 */
static void slip_follows_the_force_at_the_axle_and_not_that_at_the_imu(void **unused)
{
    struct rig rig;
    const double pitch_accel_rad_s2 = 0.5, speed_m_s = 10.0, slip_s2_m = 0.1, force_m_s2 = -1.0;
    (void)unused;
    rig_open(&rig);
    rig.bindings[INS_IMU].mount_position_body_m = oto_vec3_make(0, 0, 0.5);
    rig.bindings[INS_IMU].q_body_from_sensor = oto_quat_identity();
    mini_set(&rig.host, "align.from", INS_ALIGN_GIVEN);
    mini_start(&rig.host);
    struct oto_imu_record imu = imu_at_rest(&rig, oto_quat_identity(), oto_vec3_zero(), oto_vec3_zero());
    imu.linear_acceleration_m_s2.x = force_m_s2 + 0.5 * pitch_accel_rad_s2; /* α × (0, 0, 0.5) */
    for (int t = 0; t <= 100; t += 10) {
        imu.angular_velocity_rad_s.y = pitch_accel_rad_s2 * 0.001 * (t - 50);
        assert_int_equal(give(&rig, INS_IMU, t * ms, t * ms, &imu), OTO_STEP_OK);
    }
    struct ins_state *state = state_of(&rig);
    state->aids[INS_SLIP + 1 - INS_AID] = slip_s2_m;
    state->nav.velocity_enu_m_s = oto_quat_rotate(state->nav.q_enu_from_body, oto_vec3_make(speed_m_s, 0, 0));
    const double at_axle_m_s = speed_m_s - 0.5 * imu.angular_velocity_rad_s.y;
    const double tread_m_s = at_axle_m_s * (1.0 + slip_s2_m * force_m_s2);
    assert_int_equal(ins_filter_odometer(plan_of(&rig), state, state->time_ns, tread_m_s), NUM_USED);
    assert_near(state->rows[INS_ROW_ODOMETER].innovation[0], 0, 0.002); /* ω² h of the last 20 ms */
    mini_close(&rig.host);
}

/* The innovation of the odometer for a reading of 20 ms ago, with this slip of braking. */
static double innovation_with(const struct rig *rig, struct ins_state state, double slip_s2_m, double reading_m_s)
{
    state.aids[INS_SLIP + 1 - INS_AID] = slip_s2_m;
    assert_int_equal(ins_filter_odometer(plan_of(rig), &state, state.time_ns - 20 * ms, reading_m_s), NUM_USED);
    return state.rows[INS_ROW_ODOMETER].innovation[0];
}

/*
 * A body that pitches to and fro with 2 Hz and 0.3 degrees, the IMU 0.5 m above the axle: α h is up to 0.4 m/s², of which the
 * wheels feel nothing. With slip and without, the innovations differ by the slip of the true force less that of the estimated.
 */
static void the_force_at_the_axle_does_not_follow_the_pitch(void **unused)
{
    struct rig rig;
    const double slip_s2_m = 0.01, force_m_s2 = -1.0, rate_rad_s = 4 * OTO_PI, pitch_rad = 0.3 * OTO_DEG, high_m = 0.5;
    const double speed_m_s = 10.0, reading_m_s = speed_m_s * (1.0 + slip_s2_m * force_m_s2);
    double largest_m_s2 = 0.0;
    (void)unused;
    rig_open(&rig);
    rig.bindings[INS_IMU].mount_position_body_m = oto_vec3_make(0, 0, high_m);
    rig.bindings[INS_IMU].q_body_from_sensor = oto_quat_identity();
    mini_set(&rig.host, "align.from", INS_ALIGN_GIVEN);
    mini_start(&rig.host);
    struct oto_imu_record imu = imu_at_rest(&rig, oto_quat_identity(), oto_vec3_zero(), oto_vec3_zero());
    for (int t = 0; t <= 1000; t += 10) {
        double s, c;
        oto_sincos(rate_rad_s * 0.001 * t, &s, &c);
        imu.angular_velocity_rad_s.y = pitch_rad * rate_rad_s * c;
        imu.linear_acceleration_m_s2.x = force_m_s2 - pitch_rad * rate_rad_s * rate_rad_s * s * high_m;
        assert_int_equal(give(&rig, INS_IMU, t * ms, t * ms, &imu), OTO_STEP_OK);
        struct ins_state *state = state_of(&rig);
        const oto_vec3 ahead_m_s = oto_vec3_make(speed_m_s + high_m * imu.angular_velocity_rad_s.y, 0, 0);
        state->nav.velocity_enu_m_s = oto_quat_rotate(state->nav.q_enu_from_body, ahead_m_s);
        const double slipping_m_s = innovation_with(&rig, *state, slip_s2_m, reading_m_s) -
                                    innovation_with(&rig, *state, 0.0, speed_m_s);
        largest_m_s2 = fmax(largest_m_s2, t < 100 ? 0.0 : fabs(slipping_m_s / (slip_s2_m * speed_m_s)));
    }
    assert_true(largest_m_s2 < 0.004); /* 1 % of α h; with the newest sample in the line it is 2 % */
    mini_close(&rig.host);
}

static void correlate(struct ins_state *state, uint32_t a, uint32_t b, double part)
{
    double *p = state->p;
    const double both = part * sqrt(p[a * (INS_STATES + 1)] * p[b * (INS_STATES + 1)]);
    p[a * INS_STATES + b] = p[b * INS_STATES + a] = both;
}

/*
 * 100 m east of the start with a heading error of 0.04 (deviation 0.05) and a drift to the left of 16 m (10 m), 0.05 m ahead: truth
 * is both turned by the heading error, and NEES is 0.8² + 1.6². Without the turn 0.64 m of the drift would be an error ahead.
 */
static void a_drift_is_measured_in_the_axes_of_the_estimate(void **unused)
{
    struct rig rig;
    const double heading = 0.04, heading_sigma = 0.05, ahead_m = 100, left_m = 16;
    double s, c;
    (void)unused;
    rig_open(&rig);
    rig.bindings[INS_IMU].mount_position_body_m = oto_vec3_zero();
    mini_set(&rig.host, "align.from", INS_ALIGN_GIVEN);
    mini_start(&rig.host);
    give_rest(&rig, 0, 10, oto_quat_identity());
    struct ins_state *state = state_of(&rig);
    num_strapdown_start(&state->nav, oto_quat_identity(), oto_vec3_zero(), oto_vec3_make(ahead_m, 0, 0));
    memset(state->p, 0, sizeof state->p);
    for (uint32_t i = 0; i < 9; i++) {
        state->p[i * (INS_STATES + 1)] = 1e-4;
    }
    state->p[INS_P * (INS_STATES + 1)] = 0.05 * 0.05;
    state->p[(INS_THETA + 2) * (INS_STATES + 1)] = heading_sigma * heading_sigma;
    state->p[(INS_P + 1) * (INS_STATES + 1)] = 10.0 * 10.0 + ahead_m * ahead_m * heading_sigma * heading_sigma;
    correlate(state, INS_P + 1, INS_THETA + 2, ahead_m * heading_sigma / sqrt(state->p[(INS_P + 1) * (INS_STATES + 1)]));
    oto_sincos(heading, &s, &c);
    const oto_vec3 truth_m = oto_vec3_make(c * ahead_m - s * left_m, s * ahead_m + c * left_m, 0);
    ins_filter_truth(plan_of(&rig), state, state->time_ns, truth_m, oto_vec3_zero(), oto_quat_from_rpy(0, 0, heading));
    assert_near(state->truths.nees, 0.8 * 0.8 + 1.6 * 1.6, 1e-6);
    mini_close(&rig.host);
}

/* How far a rate of two samples up and two down moves the force at the axle, 0.5 m below the IMU. */
static double moved_by_rates(double rate_rad_s)
{
    struct rig rig;
    rig_open(&rig);
    rig.bindings[INS_IMU].mount_position_body_m = oto_vec3_make(0, 0, 0.5);
    rig.bindings[INS_IMU].q_body_from_sensor = oto_quat_identity();
    mini_set(&rig.host, "align.from", INS_ALIGN_GIVEN);
    mini_start(&rig.host);
    struct oto_imu_record imu = imu_at_rest(&rig, oto_quat_identity(), oto_vec3_zero(), oto_vec3_zero());
    imu.linear_acceleration_m_s2.x = -1.0;
    for (int t = 0; t <= 200; t += 10) {
        imu.angular_velocity_rad_s.y = t / 10 % 4 < 2 ? rate_rad_s : -rate_rad_s;
        assert_int_equal(give(&rig, INS_IMU, t * ms, t * ms, &imu), OTO_STEP_OK);
    }
    struct ins_state *state = state_of(&rig);
    state->nav.velocity_enu_m_s = oto_quat_rotate(state->nav.q_enu_from_body, oto_vec3_make(10, 0, 0));
    const double moved_m_s2 = (innovation_with(&rig, *state, 0.01, 9.9) - innovation_with(&rig, *state, 0.0, 10.0)) / 0.1;
    mini_close(&rig.host);
    return fabs(moved_m_s2);
}

/* The gyroscope's noise is 0.85 mrad/s a sample. At the time of the reading the speed is 0.2 % larger, which is 0.002 m/s². */
static void a_turn_within_the_noise_of_the_rate_moves_no_force(void **unused)
{
    (void)unused;
    assert_true(moved_by_rates(0.001) < 0.003);
    assert_true(moved_by_rates(0.01) > 0.02);
}

/* A state after 100 ms at rest whose samples are then those of a force ahead at 10 m/s. */
static void set_force(struct rig *rig, double force_m_s2)
{
    rig_open(rig);
    mini_set(&rig->host, "align.from", INS_ALIGN_GIVEN);
    mini_set(&rig->host, "odometer.sigma_m_s", 1e-3);
    mini_start(&rig->host);
    give_rest(rig, 0, 100, oto_quat_identity());
    struct ins_state *state = state_of(rig);
    const oto_vec3 force = oto_vec3_make(force_m_s2, 0, 9.8);
    for (uint32_t i = 0; i < INS_HISTORY; i++) {
        state->history.sample[i].specific_force_m_s2 = oto_quat_rotate_inv(plan_of(rig)->q_body_from_sensor, force);
    }
    state->sample = state->history.sample[0];
    state->nav.velocity_enu_m_s = oto_quat_rotate(state->nav.q_enu_from_body, oto_vec3_make(10, 0, 0));
}

struct slip_change {
    double variance[2], correction[2]; /* of drive, of braking */
};

/*
 * A reading of the odometer at a force: how much the variances of the slip fall, and their corrections. The slip of braking is
 * correlated with the speed, as after readings at a force whose noise was negative.
 */
static struct slip_change slip_after(double force_m_s2)
{
    struct rig rig;
    struct slip_change change;
    set_force(&rig, force_m_s2);
    struct ins_state *state = state_of(&rig);
    correlate(state, INS_SLIP + 1, INS_U, 0.5);
    const struct ins_state before = *state;
    assert_int_equal(ins_filter_odometer(plan_of(&rig), state, state->time_ns, 10.1), NUM_USED);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t place = INS_SLIP + i;
        change.correction[i] = ins_aid(state, place);
        change.variance[i] = before.p[place * (INS_STATES + 1)] - state->p[place * (INS_STATES + 1)];
    }
    mini_close(&rig.host);
    return change;
}

static void a_force_that_is_not_far_above_its_noise_corrects_neither_slip(void **unused)
{
    (void)unused;
    const struct slip_change small = slip_after(0.1), large = slip_after(3.0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_near(small.correction[i], 0.0, 0.0);
        assert_near(small.variance[i], 0.0, 0.0);
        assert_true(large.correction[i] != 0.0 && large.variance[i] > 0.0);
    }
}

/*
 * The slip shows no bias of the accelerometer: where nothing else correlates it, a reading leaves it. What the bias σ makes of
 * the slip κ at the speed v is in the correlated error, which grows by (κ² + σκ²) σ² v² dt/τ: half of 2 dt/τ times both κ's.
 */
static void the_bias_in_the_slip_is_a_correlated_error_of_the_odometer(void **unused)
{
    struct rig rig;
    (void)unused;
    set_force(&rig, -3.0);
    struct ins_state *state = state_of(&rig);
    const struct ins_params *params = &plan_of(&rig)->params;
    const double sigma_m_s2 = params->accelerometer.bias_sigma_u, kappa_s2_m = 0.002, since_s = 0.02;
    memset(state->p, 0, sizeof state->p);
    for (uint32_t i = 0; i < 3; i++) {
        state->p[(INS_BA + i) * (INS_STATES + 1)] = sigma_m_s2 * sigma_m_s2;
    }
    state->aids[INS_SLIP - INS_AID] = state->aids[INS_SLIP + 1 - INS_AID] = kappa_s2_m;
    state->odometer_ns = state->time_ns - 20 * ms;
    const oto_vec3 bias = state->accel_bias;
    const double both = 2.0 * kappa_s2_m * kappa_s2_m * sigma_m_s2 * sigma_m_s2 * 100.0;
    const double grown = both * since_s / params->odometer_coloured_tau_s;
    assert_int_equal(ins_filter_odometer(plan_of(&rig), state, state->time_ns, 9.9), NUM_USED);
    assert_near(oto_vec3_norm(oto_vec3_sub(state->accel_bias, bias)), 0.0, 0.0);
    /* and is corrected by this reading, whose noise r is that of its row: P' = P r/(P + r), with P + r = S */
    const double s = state->rows[INS_ROW_ODOMETER].sigma[0] * state->rows[INS_ROW_ODOMETER].sigma[0];
    assert_near(state->p[INS_COLOURED * (INS_STATES + 1)] / (grown * (s - grown) / s), 1.0, 1e-6);
    mini_close(&rig.host);
}

/*
 * White noise of the field leaves roll and pitch where they are: with the measured azimuth in the Jacobian its square would
 * remain, here 10 degrees of noise. The mean of N turns of deviation s is s/√N; the tolerance is 5 of them.
 */
static void noise_of_the_field_does_not_tilt(void **unused)
{
    enum { FIELDS = 4000 };
    struct rig rig;
    double sum = 0.0, square = 0.0;
    (void)unused;
    rig_open(&rig);
    mini_set(&rig.host, "align.from", INS_ALIGN_GIVEN);
    mini_set(&rig.host, "magnetometer.magnitude_percent", 0);
    mini_start(&rig.host);
    give_rest(&rig, 0, 10, oto_quat_identity());
    const struct ins_state begin = *state_of(&rig);
    const struct oto_rng_key key = {1, 2};
    const oto_vec3 field_ut = rig.host.setup.mag_field_enu_ut;
    for (uint32_t n = 0; n < FIELDS; n++) {
        struct ins_state state = begin;
        double z[3];
        oto_normals(key, n, 0, OTO_RNG_DOMAIN_SAMPLE, z, 3);
        const oto_vec3 noisy_ut = oto_vec3_add_scaled(field_ut, oto_vec3_make(z[0], z[1], z[2]), 3.7);
        const oto_vec3 body_ut = oto_quat_rotate_inv(state.nav.q_enu_from_body, noisy_ut);
        (void)ins_filter_magnetometer(plan_of(&rig), &state, state.time_ns, oto_vec3_scale(body_ut, 1e-6));
        const oto_vec3 turn = oto_quat_to_rotvec(oto_quat_mul(oto_quat_conj(begin.nav.q_enu_from_body), state.nav.q_enu_from_body));
        sum += turn.x;
        square += turn.x * turn.x;
    }
    assert_near(sum / FIELDS, 0, 5.0 * sqrt(square) / FIELDS);
    mini_close(&rig.host);
}

/* 3 km east of the origin the plumb line leans 3/6371 to the west, and 3 km up gravity is weaker by 6/6371. */
static void gravity_turns_with_the_place_on_a_round_earth(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    mini_set(&rig.host, "gravity_turns", 1);
    mini_start(&rig.host);
    struct ins_state *state = state_of(&rig);
    const double g = oto_vec3_norm(rig.host.setup.gravity_enu_m_s2);
    state->nav.position_enu_m = oto_vec3_make(3000, 0, 3000);
    const oto_vec3 gravity = ins_gravity(plan_of(&rig), state);
    assert_near(gravity.x, -g * 3.0 / 6371.0, 1e-9);
    assert_near(gravity.y, 0, 1e-12);
    assert_near(gravity.z, -g * (1.0 - 6.0 / 6371.0), 1e-9);
    mini_close(&rig.host);
}

/* Many fixes of one receiver do not average their correlated error away. */
static void fixes_do_not_average_below_their_correlated_error(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    bind_gnss(&rig);
    mini_set(&rig.host, "initial.position_from_fix", 1);
    mini_set(&rig.host, "gnss.correlated_share", 0.75);
    mini_set(&rig.host, "gnss.tau_s", 1e6);
    mini_start(&rig.host);
    const struct oto_navsat_record fix = fix_at(&rig, oto_vec3_make(-0.5, 0.2, 1.4), 4, OTO_NAVSAT_SINGLE);
    (void)give(&rig, INS_GNSS, 0, 0, &fix);
    for (int t = 0; t <= 20000; t += 100) {
        give_rest(&rig, t, t + 90, oto_quat_identity());
        assert_true(give(&rig, INS_GNSS, (t + 90) * ms, (t + 90) * ms, &fix) <= OTO_STEP_OK);
    }
    assert_true(rig.estimate.position_sigma_enu_m.x > 1.7 && rig.estimate.position_sigma_enu_m.x < 2);
    mini_close(&rig.host);
}

static void a_record_without_a_fix_changes_nothing_and_another_mode_has_another_error(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    bind_gnss(&rig);
    mini_start(&rig.host);
    set_moving(&rig);
    struct ins_state *state = state_of(&rig);
    for (uint32_t i = 0; i < INS_STATES; i++) {
        state->p[i * (INS_STATES + 1)] = 0.01;
    }
    const struct ins_state before = *state;
    struct oto_navsat_record fix = fix_at(&rig, oto_vec3_make(9, 20, 31), 0, OTO_NAVSAT_NONE);
    assert_int_equal(give(&rig, INS_GNSS, 0, 0, &fix), OTO_STEP_OK);
    assert_memory_equal(state, &before, sizeof before);
    fix = fix_at(&rig, oto_vec3_make(9, 20, 31), 100, OTO_NAVSAT_FIXED);
    assert_int_equal(give(&rig, INS_GNSS, 0, 0, &fix), OTO_STEP_OK);
    assert_int_equal(state->fix_mode, OTO_NAVSAT_FIXED);
    assert_true(state->p[INS_FIX * (INS_STATES + 1)] > 0.4 && oto_vec3_norm(oto_vec3_from_array(state->aids + INS_FIX - INS_AID)) < 1);
    mini_close(&rig.host);
}

/* The rate changes while the fix is under way: its antenna is where it was, not where the last rate alone leads back to. */
static void a_late_fix_is_compared_along_the_samples_since_then(void **unused)
{
    struct rig rig;
    struct oto_navsat_record fix;
    (void)unused;
    rig_open(&rig);
    bind_gnss(&rig);
    mini_set(&rig.host, "align.from", INS_ALIGN_GIVEN);
    mini_start(&rig.host);
    for (int t = 0; t <= 1000; t += 10) {
        struct oto_imu_record imu = imu_at_rest(&rig, oto_quat_identity(), oto_vec3_zero(), oto_vec3_zero());
        imu.angular_velocity_rad_s.x = sin(0.02 * t);
        (void)give(&rig, INS_IMU, t * ms, t * ms, &imu);
        if (t == 920) {
            const oto_vec3 antenna = oto_quat_rotate(rig.estimate.q_enu_from_body, oto_vec3_make(-0.5, 0.2, 1.4));
            fix = fix_at(&rig, oto_vec3_add(rig.estimate.position_enu_m, antenna), 1, OTO_NAVSAT_SINGLE);
        }
    }
    (void)give(&rig, INS_GNSS, 920 * ms, 1000 * ms, &fix);
    for (uint32_t i = 0; i < 3; i++) {
        assert_near(rig.innovation.innovation[3 * INS_ROW_GNSS + i], 0, 1e-4); /* with the last rate alone 0.04 */
    }
    mini_close(&rig.host);
}

static void the_velocity_of_a_fix_is_used_where_it_has_one(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    bind_gnss(&rig);
    mini_set(&rig.host, "align.from", INS_ALIGN_GIVEN);
    mini_set(&rig.host, "initial.velocity_sigma_m_s", 2);
    mini_start(&rig.host);
    give_rest(&rig, 0, 10, oto_quat_identity());
    struct oto_navsat_record fix = fix_at(&rig, oto_vec3_make(-0.5, 0.2, 1.4), 4, OTO_NAVSAT_SINGLE);
    assert_int_equal(give(&rig, INS_GNSS, 10 * ms, 10 * ms, &fix), OTO_STEP_OK);
    assert_int_equal(rig.innovation.used[INS_ROW_GNSS_VELOCITY], 0); /* a variance of 0 is none */
    assert_true(rig.estimate.velocity_sigma_enu_m_s.x > 1.9);
    fix.velocity_enu_m_s = oto_vec3_make(1, 0, 0);
    fix.velocity_covariance[0] = fix.velocity_covariance[4] = fix.velocity_covariance[8] = 0.01;
    assert_int_equal(give(&rig, INS_GNSS, 10 * ms, 10 * ms, &fix), OTO_STEP_OK);
    assert_int_equal(rig.innovation.used[INS_ROW_GNSS_VELOCITY], 1);
    assert_near(rig.estimate.velocity_enu_m_s.x, 1, 0.01);
    assert_true(rig.estimate.velocity_sigma_enu_m_s.x < 0.11);
    mini_close(&rig.host);
}

/* Its offset is unknown at the start, so that only changes of the pressure move the height: 1 hPa is 8.3 m near the ground. */
static void a_barometer_shows_changes_of_the_height(void **unused)
{
    struct rig rig;
    struct oto_pressure_record air = {.fluid_pressure_pa = 97000};
    (void)unused;
    rig_open(&rig);
    bind_gnss(&rig);
    mini_set(&rig.host, "align.from", INS_ALIGN_GIVEN);
    mini_start(&rig.host);
    give_rest(&rig, 0, 10, oto_quat_identity());
    (void)give(&rig, INS_BAROMETER, 10 * ms, 10 * ms, &air);
    assert_near(rig.estimate.position_enu_m.z, 0, 0.02);
    assert_near(rig.estimate.position_sigma_enu_m.z, 1, 0.01);
    for (uint32_t k = 0; k < INS_STATES; k++) { /* the car has moved since: only the offset is still known */
        if (k != INS_P + 2) {
            state_of(&rig)->p[(INS_P + 2) * INS_STATES + k] = state_of(&rig)->p[k * INS_STATES + INS_P + 2] = 0;
        }
    }
    state_of(&rig)->p[(INS_P + 2) * (INS_STATES + 1)] = 1e4;
    state_of(&rig)->p[INS_OFFSET * (INS_STATES + 1)] = 0.01;
    air.fluid_pressure_pa -= 100;
    (void)give(&rig, INS_BAROMETER, 10 * ms, 10 * ms, &air);
    assert_near(rig.estimate.position_enu_m.z, 8.6, 0.3); /* 97 kPa at 500 m: thinner air than standard */
    air.fluid_pressure_pa = -1;
    assert_int_equal(give(&rig, INS_BAROMETER, 10 * ms, 10 * ms, &air), OTO_STEP_WARN);
    mini_close(&rig.host);
}

/* Springs pitch the body by its acceleration: the constraint learns how much, instead of taking it for a velocity upwards. */
static void the_constraint_learns_the_angle_of_the_body(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    mini_set(&rig.host, "nonholonomic.rate_hz", 10);
    mini_start(&rig.host);
    set_moving(&rig);
    struct ins_state *state = state_of(&rig);
    memset(state->aids, 0, sizeof state->aids);
    state->nav.velocity_enu_m_s = oto_quat_rotate(state->nav.q_enu_from_body, oto_vec3_make(10, 0.1, -0.2));
    state->gyro_bias = state->sample.angular_rate_rad_s;
    state->p[(INS_ANGLE + 0) * (INS_STATES + 1)] = state->p[(INS_ANGLE + 1) * (INS_STATES + 1)] = 1e-4;
    for (int i = 0; i < 200; i++) {
        state->nonholonomic_ns = INT64_MIN;
        ins_say_what_holds(plan_of(&rig), state);
    }
    assert_near(ins_aid(state, INS_ANGLE), 0.01, 1e-3);
    assert_near(ins_aid(state, INS_ANGLE + 1), -0.02, 1e-3);
    assert_near(ins_velocity_body(state).y, 0.1, 1e-9);
    mini_close(&rig.host);
}

/*
 * The angle of the constraint is that at which the accelerometer reads 0, so that compliance times bias is in it. What is found of the bias
 * moves no innovation, and a compliance that is wrong shows nothing of the bias.
 */
static void the_constraint_shows_no_bias_of_the_accelerometer(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    mini_set(&rig.host, "nonholonomic.rate_hz", 10);
    mini_set(&rig.host, "nonholonomic.angle_sigma_deg", 0);
    mini_set(&rig.host, "nonholonomic.compliance_sigma_deg_s2_m", 0.5);
    mini_set(&rig.host, "accelerometer.bias_sigma_m_s2", 0.04);
    mini_start(&rig.host);
    assert_near(plan_of(&rig)->aids[INS_ANGLE - INS_AID].sigma, 0.5 * 0.04 * OTO_DEG, 1e-12);
    assert_near(plan_of(&rig)->aids[INS_ANGLE + 1 - INS_AID].sigma, 0.5 * 0.04 * OTO_DEG, 1e-12);
    set_moving(&rig);
    struct ins_state one = *state_of(&rig);
    one.nonholonomic_ns = INT64_MIN;
    for (uint32_t i = 0; i < 3; i++) {
        one.p[(INS_BA + i) * (INS_STATES + 1)] = 0.04 * 0.04;
    }
    struct ins_state other = one;
    other.accel_bias = oto_vec3_add(one.accel_bias, oto_vec3_make(0.05, -0.03, 0.02));
    const struct ins_state before = other;
    ins_say_what_holds(plan_of(&rig), &one);
    ins_say_what_holds(plan_of(&rig), &other);
    for (uint32_t i = 0; i < 2; i++) {
        assert_near(other.rows[INS_ROW_NONHOLONOMIC].innovation[i], one.rows[INS_ROW_NONHOLONOMIC].innovation[i], 1e-12);
    }
    assert_near(oto_vec3_norm(oto_vec3_sub(other.accel_bias, before.accel_bias)), 0.0, 0.0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_near(other.p[(INS_BA + i) * (INS_STATES + 1)], before.p[(INS_BA + i) * (INS_STATES + 1)], 0.0);
    }
    mini_close(&rig.host);
}

/* An encoder shows the first centimetres of a drive late. */
static void a_standstill_that_the_velocity_contradicts_is_gated(void **unused)
{
    struct rig rig;
    const struct oto_odometry_record standing = {.speed_m_s = 0};
    (void)unused;
    rig_open(&rig);
    mini_set(&rig.host, "odometer.sigma_m_s", 1);
    mini_set(&rig.host, "zero_velocity.sigma_m_s", 0.001);
    mini_start(&rig.host);
    give_rest(&rig, 0, 1500, oto_quat_identity());
    struct oto_imu_record moving = imu_at_rest(&rig, oto_quat_identity(), oto_vec3_zero(), oto_vec3_zero());
    const oto_vec3 ahead = oto_quat_rotate_inv(rig.bindings[INS_IMU].q_body_from_sensor, oto_vec3_make(3, 0, 0));
    moving.linear_acceleration_m_s2 = oto_vec3_add(moving.linear_acceleration_m_s2, ahead);
    for (int t = 1510; t <= 2500; t += 10) {
        (void)give(&rig, INS_ODOMETER, t * ms, t * ms, &standing);
        (void)give(&rig, INS_IMU, t * ms, t * ms, t > 2300 ? &moving : &(const struct oto_imu_record){
            .linear_acceleration_m_s2 = oto_vec3_sub(moving.linear_acceleration_m_s2, ahead)});
    }
    assert_true(rig.innovation.gated[INS_ROW_ZERO_VELOCITY] > 0);
    assert_true(rig.estimate.velocity_enu_m_s.x > 0.3); /* 0.6, less what the odometer's metre a second takes off */
    mini_close(&rig.host);
}

/* ---- alignment ---- */

/* P − σ² e eᵀ of the error e of a heading alone is positive semi-definite: P does not know more of it than σ. */
static void assert_heading_alone_is_unknown(const struct ins_state *state, double sigma_rad)
{
    double error[INS_STATES] = {0}, rest[INS_STATES * INS_STATES];
    const oto_vec3 up = oto_vec3_make(0, 0, 1);
    oto_vec3_to_array(oto_vec3_cross(up, state->nav.position_enu_m), error + INS_P);
    oto_vec3_to_array(oto_quat_rotate_inv(state->nav.q_enu_from_body, up), error + INS_THETA);
    for (uint32_t i = 0; i < INS_STATES; i++) {
        for (uint32_t j = 0; j < INS_STATES; j++) {
            rest[i * INS_STATES + j] = state->p[i * INS_STATES + j] - sigma_rad * sigma_rad * error[i] * error[j] + (i == j ? 1e-9 : 0);
        }
    }
    assert_true(num_cholesky(INS_STATES, rest));
}

/*
 * Position turns with the heading: an error of the heading alone is (e_z × p, 0, Rᵀ e_z) in the error's states. A speed along
 * the body shows nothing of it, however the estimate moves; with errors of another kind P knew more of it with every correction.
 */
static void a_speed_shows_nothing_of_the_heading(void **unused)
{
    const double sigma_rad = 0.05;
    double error[INS_STATES] = {0};
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    mini_set(&rig.host, "odometer.gate", 0);
    mini_start(&rig.host);
    set_moving(&rig);
    struct ins_state *state = state_of(&rig);
    const oto_vec3 up = oto_vec3_make(0, 0, 1);
    oto_vec3_to_array(oto_vec3_cross(up, state->nav.position_enu_m), error + INS_P);
    oto_vec3_to_array(oto_quat_rotate_inv(state->nav.q_enu_from_body, up), error + INS_THETA);
    for (uint32_t i = 0; i < INS_STATES; i++) {
        for (uint32_t j = 0; j < INS_STATES; j++) {
            state->p[i * INS_STATES + j] = sigma_rad * sigma_rad * error[i] * error[j];
        }
    }
    for (uint32_t i = INS_U; i < INS_THETA + 3; i++) {
        state->p[i * (INS_STATES + 1)] += i < INS_THETA ? 1 : 1e-4; /* the speed corrects the attitude too */
        state->p[i % 3 * INS_STATES + INS_U + i % 3] = state->p[(INS_U + i % 3) * INS_STATES + i % 3] = 0.5;
    }
    for (uint32_t i = 0; i < 3; i++) {
        state->p[(INS_P + i) * (INS_STATES + 1)] += 1;
        state->p[INS_U * INS_STATES + INS_THETA + i] = state->p[(INS_THETA + i) * INS_STATES + INS_U] = 0.004;
    }
    const struct ins_state before = *state;
    for (int i = 0; i < 20; i++) { /* each correction moves the estimate by metres and degrees */
        assert_int_equal(ins_filter_odometer(plan_of(&rig), state, 0, 7 + 5 * (i % 2)), NUM_USED);
    }
    assert_true(oto_vec3_norm(oto_vec3_sub(state->nav.position_enu_m, before.nav.position_enu_m)) > 1);
    assert_true(oto_quat_angle_between(state->nav.q_enu_from_body, before.nav.q_enu_from_body) > 0.01);
    assert_heading_alone_is_unknown(state, sigma_rad);
    mini_close(&rig.host);
}

static void rest_gives_tilt_heading_and_gyroscope_bias(void **unused)
{
    struct rig rig;
    const oto_quat q = oto_quat_from_rpy(0.05, -0.08, 2.1);
    const oto_vec3 gyro_bias = {0.004, -0.003, 0.002};
    struct oto_mag_record field;
    (void)unused;
    rig_open(&rig);
    mini_set(&rig.host, "align.heading", INS_HEADING_MAGNETOMETER);
    mini_start(&rig.host);
    const struct oto_imu_record imu = imu_at_rest(&rig, q, gyro_bias, oto_vec3_zero());
    memset(&field, 0, sizeof field);
    field.magnetic_field_t = oto_vec3_scale(oto_quat_rotate_inv(q, rig.host.setup.mag_field_enu_ut), 1e-6);
    for (int t = 0; t <= 1000; t += 10) {
        assert_int_equal(rig.estimate.status, OTO_ESTIMATE_ALIGNING);
        (void)give(&rig, INS_MAGNETOMETER, t * ms, t * ms, &field);
        (void)give(&rig, INS_IMU, t * ms, t * ms, &imu);
    }
    assert_int_equal(rig.estimate.status, OTO_ESTIMATE_RUNNING);
    assert_near(oto_quat_angle_between(rig.estimate.q_enu_from_body, q), 0, 1e-5);
    assert_near(oto_vec3_norm(oto_vec3_sub(rig.estimate.gyro_bias_sensor_rad_s, gyro_bias)), 0, 1e-5);
    /* what an accelerometer bias may hide of the tilt */
    assert_near(rig.estimate.attitude_sigma_body_rad.x, 0.1 / 9.80665, 1e-3);
    /* and what that tilt turns of a steep field: tan(dip) = 2.04 */
    assert_near(rig.estimate.attitude_sigma_body_rad.z, hypot(3 * OTO_DEG, 2.04 * 0.0102), 2e-3);
    assert_near(oto_vec3_norm(rig.estimate.position_enu_m), 0, 1e-9);
    mini_close(&rig.host);
}

static void declination_turns_the_heading(void **unused)
{
    struct rig rig;
    struct oto_mag_record field;
    (void)unused;
    rig_open(&rig);
    mini_set(&rig.host, "align.heading", INS_HEADING_MAGNETOMETER);
    mini_set(&rig.host, "magnetometer.declination_deg", 10);
    mini_set(&rig.host, "magnetometer.magnitude_percent", 0);
    mini_start(&rig.host);
    const struct oto_imu_record imu = imu_at_rest(&rig, oto_quat_identity(), oto_vec3_zero(), oto_vec3_zero());
    memset(&field, 0, sizeof field);
    field.magnetic_field_t = oto_vec3_make(2e-5, 0, -4e-5); /* body x points to magnetic north */
    for (int t = 0; t <= 1000; t += 10) {
        (void)give(&rig, INS_MAGNETOMETER, t * ms, t * ms, &field);
        (void)give(&rig, INS_IMU, t * ms, t * ms, &imu);
    }
    assert_near(oto_rpy_from_quat(rig.estimate.q_enu_from_body).z, 80 * OTO_DEG, 1e-4);
    mini_close(&rig.host);
}

static void it_waits_until_it_stands(void **unused)
{
    struct rig rig;
    const struct oto_odometry_record rolling = {.speed_m_s = 3};
    const struct oto_odometry_record standing = {.speed_m_s = 0};
    (void)unused;
    rig_open(&rig);
    mini_start(&rig.host);
    struct oto_imu_record moving = imu_at_rest(&rig, oto_quat_identity(), oto_vec3_zero(), oto_vec3_zero());
    moving.angular_velocity_rad_s.y = 0.2;
    (void)give(&rig, INS_ODOMETER, 0, 0, &rolling);
    give_rest(&rig, 0, 2000, oto_quat_identity());
    assert_int_equal(rig.estimate.status, OTO_ESTIMATE_ALIGNING); /* it looks still, but rolls */
    (void)give(&rig, INS_ODOMETER, 2000 * ms, 2000 * ms, &standing);
    give_rest(&rig, 2010, 2900, oto_quat_identity());
    (void)give(&rig, INS_IMU, 2910 * ms, 2910 * ms, &moving);
    give_rest(&rig, 2920, 3900, oto_quat_identity());
    assert_int_equal(rig.estimate.status, OTO_ESTIMATE_ALIGNING); /* the second began anew */
    give_rest(&rig, 3910, 3950, oto_quat_identity());
    assert_int_equal(rig.estimate.status, OTO_ESTIMATE_RUNNING);
    mini_close(&rig.host);
}

static void a_given_start_runs_at_once(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    mini_set(&rig.host, "align.from", INS_ALIGN_GIVEN);
    mini_set3(&rig.host, "initial.position_enu_m", 5, 6, 7);
    mini_set3(&rig.host, "initial.rpy_deg", 0, 0, 90);
    mini_start(&rig.host);
    give_rest(&rig, 0, 0, oto_quat_from_rpy(0, 0, OTO_HALF_PI));
    assert_int_equal(rig.estimate.status, OTO_ESTIMATE_RUNNING);
    assert_near(rig.estimate.position_enu_m.y, 6, 1e-12);
    give_rest(&rig, 10, 1000, oto_quat_from_rpy(0, 0, OTO_HALF_PI));
    assert_near(rig.estimate.position_enu_m.x, 5, 1e-9);
    assert_near(rig.estimate.position_enu_m.z, 7, 1e-9);
    mini_close(&rig.host);
}

/* ---- bad input and time ---- */

static void bad_imu_samples_are_refused_and_bridged(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    mini_start(&rig.host);
    give_rest(&rig, 0, 1200, oto_quat_identity());
    struct oto_imu_record bad = imu_at_rest(&rig, oto_quat_identity(), oto_vec3_zero(), oto_vec3_zero());
    bad.angular_velocity_rad_s.x = NAN;
    assert_int_equal(give(&rig, INS_IMU, 1210 * ms, 1210 * ms, &bad), OTO_STEP_WARN);
    bad.angular_velocity_rad_s.x = 1e300;
    assert_int_equal(give(&rig, INS_IMU, 1220 * ms, 1220 * ms, &bad), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.refused, 2);
    assert_int_equal(otolith_plugin.ops->validate(&rig.host.instance), OTO_OK);
    const double sigma = rig.estimate.velocity_sigma_enu_m_s.x;
    give_rest(&rig, 1230, 1230, oto_quat_identity());
    assert_near(rig.estimate.velocity_sigma_enu_m_s.x, sigma, 0.01);
    give_rest(&rig, 3230, 3230, oto_quat_identity()); /* two seconds without samples */
    assert_true(rig.estimate.velocity_sigma_enu_m_s.x > 2.0 * 2.0 * 0.99);
    assert_true(isfinite(rig.estimate.position_enu_m.x));
    mini_close(&rig.host);
}

static void imu_time_that_goes_back_or_stands_is_late(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    mini_start(&rig.host);
    give_rest(&rig, 0, 1200, oto_quat_identity());
    const struct oto_imu_record imu = imu_at_rest(&rig, oto_quat_identity(), oto_vec3_zero(), oto_vec3_zero());
    assert_int_equal(give(&rig, INS_IMU, 1200 * ms, 1200 * ms, &imu), OTO_STEP_WARN);
    assert_int_equal(give(&rig, INS_IMU, 1100 * ms, 1200 * ms, &imu), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.late, 2);
    assert_int_equal(give(&rig, INS_IMU, 1300 * ms, 1200 * ms, &imu), OTO_STEP_WARN); /* of the future */
    assert_int_equal(rig.estimate.refused, 1);
    mini_close(&rig.host);
}

static void aids_that_are_bad_late_or_outliers_are_counted(void **unused)
{
    struct rig rig;
    struct oto_odometry_record odometer = {.speed_m_s = NAN};
    oto_vec3 fix = {1e200, 0, 0};
    struct oto_mag_record field;
    (void)unused;
    rig_open(&rig);
    mini_set(&rig.host, "position.gate", 0.999);
    mini_start(&rig.host);
    give_rest(&rig, 0, 1200, oto_quat_identity());
    assert_int_equal(give(&rig, INS_ODOMETER, 1200 * ms, 1200 * ms, &odometer), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.refused, 1);
    odometer.speed_m_s = 0;
    assert_int_equal(give(&rig, INS_ODOMETER, 600 * ms, 1200 * ms, &odometer), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.late, 1);
    assert_int_equal(give(&rig, INS_POSITION, 1200 * ms, 1200 * ms, &fix), OTO_STEP_WARN); /* its square is no number */
    assert_int_equal(rig.estimate.refused, 2);
    fix.x = 100;
    assert_int_equal(give(&rig, INS_POSITION, 1200 * ms, 1200 * ms, &fix), OTO_STEP_OK);
    assert_int_equal(rig.estimate.gated, 1);
    memset(&field, 0, sizeof field);
    field.magnetic_field_t = oto_vec3_make(3e-4, 0, 0); /* beside iron */
    assert_int_equal(give(&rig, INS_MAGNETOMETER, 1200 * ms, 1200 * ms, &field), OTO_STEP_OK);
    assert_int_equal(rig.estimate.gated, 2);
    assert_near(oto_vec3_norm(rig.estimate.position_enu_m), 0, 1e-6);
    mini_close(&rig.host);
}

/* Numbers of any bits on every input: the state stays valid, the record finite. */
static void noise_of_bits_leaves_a_state_to_go_on_from(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    mini_set(&rig.host, "align.from", INS_ALIGN_GIVEN);
    mini_set(&rig.host, "nonholonomic.rate_hz", 10);
    mini_start(&rig.host);
    give_rest(&rig, 0, 100, oto_quat_identity());
    for (uint64_t i = 0; i < 4000; i++) {
        uint64_t record[64] = {0};
        const int64_t t_ns = (int64_t)(11 + i) * 10 * ms;
        for (uint64_t k = 0; k < 48; k++) {
            record[k] = oto_rng_block(oto_rng_key_make(12, "bits"), i, k, 0, 0).v[0];
        }
        (void)give(&rig, (uint32_t)(i % INS_INPUTS), t_ns, t_ns, record);
        assert_int_equal(otolith_plugin.ops->validate(&rig.host.instance), OTO_OK);
        for (uint32_t s = 0; s < INS_STATES; s++) {
            assert_true(isfinite(rig.state.state[s]) && isfinite(rig.state.sigma[s]));
        }
        assert_true(isfinite(rig.estimate.position_enu_m.x) && isfinite(rig.estimate.nis) && isfinite(rig.estimate.q_enu_from_body.w));
    }
    mini_close(&rig.host);
}

static void standstill_holds_the_velocity(void **unused)
{
    struct rig rig;
    const struct oto_odometry_record standing = {.speed_m_s = 0};
    (void)unused;
    rig_open(&rig);
    mini_start(&rig.host);
    const struct oto_imu_record imu = imu_at_rest(&rig, oto_quat_identity(), oto_vec3_make(0.001, 0.002, -0.001), oto_vec3_make(0.02, -0.03, 0));
    for (int t = 0; t <= 20000; t += 10) {
        (void)give(&rig, INS_IMU, t * ms, t * ms, &imu);
        (void)give(&rig, INS_ODOMETER, t * ms, t * ms, &standing);
    }
    assert_true(rig.innovation.used[INS_ROW_ZERO_VELOCITY] >= 80 && rig.innovation.used[INS_ROW_ZERO_RATE] >= 80);
    assert_near(oto_vec3_norm(rig.estimate.velocity_enu_m_s), 0, 1e-3);
    assert_near(rig.estimate.gyro_bias_sensor_rad_s.y, 0.002, 1e-4);
    mini_close(&rig.host);
}

/* ---- state ---- */

static void a_copied_state_goes_on_to_the_same_bits(void **unused)
{
    struct rig rig, other;
    const struct oto_odometry_record slow = {.speed_m_s = 0.05};
    (void)unused;
    rig_open(&rig);
    rig_open(&other);
    mini_start(&rig.host);
    mini_start(&other.host);
    give_rest(&rig, 0, 1500, oto_quat_from_rpy(0.02, 0.01, 0));
    memcpy(other.host.state, rig.host.state, sizeof(struct ins_state));
    assert_int_equal(otolith_plugin.ops->validate(&other.host.instance), OTO_OK);
    for (int t = 1510; t < 3000; t += 10) {
        give_rest(&rig, t, t, oto_quat_from_rpy(0.02, 0.01, 0));
        give_rest(&other, t, t, oto_quat_from_rpy(0.02, 0.01, 0));
        (void)give(&rig, INS_ODOMETER, t * ms, t * ms, &slow);
        (void)give(&other, INS_ODOMETER, t * ms, t * ms, &slow);
    }
    assert_memory_equal(&rig.estimate, &other.estimate, sizeof rig.estimate);
    assert_memory_equal(rig.host.state, other.host.state, sizeof(struct ins_state));
    state_of(&other)->p[0] = NAN;
    assert_int_equal(otolith_plugin.ops->validate(&other.host.instance), OTO_CORRUPT);
    mini_close(&rig.host);
    mini_close(&other.host);
}

static void its_inputs_stand_as_those_of_the_ekf(void **unused)
{
    static const char *const names[] = {"imu", "odometer", "magnetometer", "position", "truth", "gnss", "barometer"};
    const struct oto_estimator_extension *estimator = otolith_plugin.extension(OTO_EXTENSION_ESTIMATOR);
    (void)unused;
    assert_int_equal(estimator->input_count, 7); /* the first five are those of ekf */
    for (uint32_t i = 0; i < 7; i++) {
        assert_string_equal(estimator->inputs[i].name, names[i]);
    }
    assert_true(oto_record_type_hash(otolith_plugin.descriptor->outputs[0].type) == oto_record_type_hash(&oto_estimate_type));
}

static void what_does_not_fit_together_is_said(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig);
    (void)strcpy(((struct ins_params *)rig.host.params)->odometer_field, "speed_knots");
    assert_int_equal(mini_prepare(&rig.host), OTO_NOT_FOUND);
    assert_non_null(strstr(rig.host.error.text, "input 'odometer' (car/it) has no numeric field 'speed_knots'"));
    mini_close(&rig.host);
    rig_open(&rig);
    rig.host.setup.mag_field_enu_ut = oto_vec3_zero();
    assert_int_equal(mini_prepare(&rig.host), OTO_INVALID);
    assert_non_null(strstr(rig.host.error.text, "magnetometer.declination_deg"));
    mini_close(&rig.host);
    rig_open(&rig);
    rig.host.setup.estimator.input_count = 2;
    mini_set(&rig.host, "align.heading", INS_HEADING_MAGNETOMETER);
    assert_int_equal(mini_prepare(&rig.host), OTO_INVALID);
    assert_non_null(strstr(rig.host.error.text, "no channel is bound to the input 'magnetometer'"));
    mini_close(&rig.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_moves_as_the_covariance_says),
        cmocka_unit_test(each_aid_has_its_derivatives),
        cmocka_unit_test(a_satellite_fix_places_the_antenna_and_starts_the_position),
        cmocka_unit_test(an_encoders_speed_is_that_of_the_middle_of_its_mean),
        cmocka_unit_test(slip_follows_the_force_at_the_axle_and_not_that_at_the_imu),
        cmocka_unit_test(the_force_at_the_axle_does_not_follow_the_pitch),
        cmocka_unit_test(a_drift_is_measured_in_the_axes_of_the_estimate),
        cmocka_unit_test(a_turn_within_the_noise_of_the_rate_moves_no_force),
        cmocka_unit_test(a_force_that_is_not_far_above_its_noise_corrects_neither_slip),
        cmocka_unit_test(the_bias_in_the_slip_is_a_correlated_error_of_the_odometer),
        cmocka_unit_test(noise_of_the_field_does_not_tilt),
        cmocka_unit_test(gravity_turns_with_the_place_on_a_round_earth),
        cmocka_unit_test(fixes_do_not_average_below_their_correlated_error),
        cmocka_unit_test(a_record_without_a_fix_changes_nothing_and_another_mode_has_another_error),
        cmocka_unit_test(a_late_fix_is_compared_along_the_samples_since_then),
        cmocka_unit_test(the_velocity_of_a_fix_is_used_where_it_has_one),
        cmocka_unit_test(a_barometer_shows_changes_of_the_height),
        cmocka_unit_test(the_constraint_learns_the_angle_of_the_body),
        cmocka_unit_test(the_constraint_shows_no_bias_of_the_accelerometer),
        cmocka_unit_test(a_standstill_that_the_velocity_contradicts_is_gated),
        cmocka_unit_test(a_speed_shows_nothing_of_the_heading),
        cmocka_unit_test(rest_gives_tilt_heading_and_gyroscope_bias),
        cmocka_unit_test(declination_turns_the_heading),
        cmocka_unit_test(it_waits_until_it_stands),
        cmocka_unit_test(a_given_start_runs_at_once),
        cmocka_unit_test(bad_imu_samples_are_refused_and_bridged),
        cmocka_unit_test(imu_time_that_goes_back_or_stands_is_late),
        cmocka_unit_test(aids_that_are_bad_late_or_outliers_are_counted),
        cmocka_unit_test(noise_of_bits_leaves_a_state_to_go_on_from),
        cmocka_unit_test(standstill_holds_the_velocity),
        cmocka_unit_test(a_copied_state_goes_on_to_the_same_bits),
        cmocka_unit_test(its_inputs_stand_as_those_of_the_ekf),
        cmocka_unit_test(what_does_not_fit_together_is_said),
    };
    return cmocka_run_group_tests_name("ins_ekf", tests, NULL, NULL);
}
