/* The ekf's parts: each measurement's Jacobian on each model, process noise, samples that are late or bad, its state. */
#include "mini_host.h"

#include "ekf_plan.h"
#include "ekf_report.h"

/* ---- a host with inputs ---- */

static const struct oto_field sensor_fields[] = {
    {"a", OTO_FIELD_F64, 1, 0, "", "", ""}, {"b", OTO_FIELD_F64, 1, 8, "", "", ""},
    {"c", OTO_FIELD_F64, 1, 16, "", "", ""}, {"r", OTO_FIELD_F64, 9, 24, "", "", ""},
};
static const struct oto_record_type sensor_type = {"sensor", 96, 4, sensor_fields};
struct sensor_record {
    double a, b, c, r[9];
};

struct rig {
    struct mini_host host;
    struct oto_input_binding bindings[2];
    struct oto_estimate_record estimate;
    struct num_filter_state_record state;
    struct num_filter_innovation_record innovation;
};

static struct ekf_params *params_of(struct rig *rig)
{
    return rig->host.params;
}

static struct ekf_state *state_of(struct rig *rig)
{
    return rig->host.state;
}

/* A row as the binder leaves it by default. */
static struct ekf_measurement *add_row(struct rig *rig, int64_t function, const char *fields, double sigma)
{
    struct ekf_measurement *row = &params_of(rig)->rows[params_of(rig)->row_count++];
    memset(row, 0, sizeof *row);
    (void)strcpy(row->input, "sensor");
    (void)strcpy(row->fields, fields);
    row->function = function;
    row->scale = 1.0;
    for (int i = 0; i < 3; i++) {
        row->sigma[i] = sigma;
        row->mount_position_m[i] = row->mount_rpy_deg[i] = EKF_MOUNT_OF_CHANNEL;
    }
    return row;
}

static void add_initial(struct rig *rig, const char *state, double value, double sigma)
{
    struct ekf_initial *initial = &params_of(rig)->initial[params_of(rig)->initial_count++];
    (void)strcpy(initial->state, state);
    initial->value = value;
    initial->sigma = sigma;
}

static void add_noise(struct rig *rig, const char *state, const char *rate, double q)
{
    struct ekf_noise *noise = &params_of(rig)->noise[params_of(rig)->noise_count++];
    (void)strcpy(noise->state, state);
    (void)strcpy(noise->rate, rate);
    noise->kind = rate[0] != '\0' ? EKF_WHITE_ACCELERATION : EKF_RANDOM_WALK;
    noise->q = q;
}

/* model: index into num_models; constant velocity is 1. */
static void rig_open(struct rig *rig, int64_t model)
{
    memset(rig, 0, sizeof *rig);
    mini_open(&rig->host, 100, 1);
    params_of(rig)->model = model;
    rig->bindings[0] = (struct oto_input_binding){"truth", &oto_truth_type, "car/motion", "", 0, {0, 0, 0}, {1, 0, 0, 0}};
    rig->bindings[1] = (struct oto_input_binding){"sensor", &sensor_type, "car/sensor", "", 10, {0, 0, 0}, {1, 0, 0, 0}};
    rig->host.setup.inputs = rig->bindings;
    rig->host.setup.input_count = 2;
}

static enum oto_step_status give_input(struct rig *rig, uint32_t input, int64_t t_ns, int64_t now_ns, const void *payload)
{
    const struct oto_input_sample sample = {.input = input, .seq = 1, .t_ns = t_ns, .sensor_time_ns = t_ns, .payload = payload};
    struct oto_output outputs[3] = {{&rig->estimate, now_ns, now_ns, 0, 1}, {&rig->state, now_ns, now_ns, 0, 1},
                                    {&rig->innovation, now_ns, now_ns, 0, 1}};
    const struct oto_step step = {.size = sizeof step, .t_ns = now_ns, .outputs = outputs, .samples = &sample,
                                  .sample_count = payload != NULL};
    memset(&rig->estimate, 0, sizeof rig->estimate);
    memset(&rig->state, 0, sizeof rig->state);
    memset(&rig->innovation, 0, sizeof rig->innovation);
    return otolith_plugin.ops->step(&rig->host.instance, &step);
}

static enum oto_step_status give(struct rig *rig, int64_t t_ns, int64_t now_ns, double a, double b)
{
    const struct sensor_record record = {.a = a, .b = b};
    return give_input(rig, 1, t_ns, now_ns, &record);
}

static const int64_t ms = 1000000;

static double normal_from(int n)
{
    return oto_normal_at(oto_rng_key_make(3, "ekf"), (uint64_t)n, 0, 0, 0);
}

/* Constant velocity with position fixes, as most tests here use it. */
static void open_cv(struct rig *rig, double q)
{
    rig_open(rig, 1);
    add_initial(rig, "x", 1, 2);
    add_initial(rig, "y", -1, 2);
    add_initial(rig, "vx", 5, 1);
    add_initial(rig, "vy", 0, 1);
    if (q > 0) {
        add_noise(rig, "x", "vx", q);
        add_noise(rig, "y", "vy", q);
    }
    (void)add_row(rig, EKF_POSITION_FIX, "a b", 0.5);
}

/* ---- tables ---- */

static void words_of_the_table_are_the_names_of_models_and_functions(void **unused)
{
    const struct oto_param *model = mini_param("model"), *rows = mini_param("measurements");
    (void)unused;
    for (uint32_t i = 0; num_models[i] != NULL; i++) {
        assert_string_equal(model->names[i].name, num_models[i]->name);
        assert_true(model->names[i].value == i);
    }
    for (uint32_t k = 0; k < rows->item_count; k++) {
        for (uint32_t i = 0; strcmp(rows->items[k].key, "function") == 0 && i < rows->items[k].name_count; i++) {
            const struct oto_named_value *name = &rows->items[k].names[i];
            assert_string_equal(name->name, ekf_functions[(int)name->value].name);
            assert_int_equal(rows->items[k].name_count, EKF_FUNCTIONS);
        }
    }
}

/* ---- Jacobians ---- */

static void make_sensor(uint32_t function, const struct ekf_view *view, struct ekf_sensor *sensor)
{
    const struct ekf_function *f = &ekf_functions[function];
    *sensor = (struct ekf_sensor){.function = function, .field_count = f->most_fields, .components = 7, .scale = 1,
                                  .sensor_position_enu_m = {-30, 20, 0}, .mount_position_body_m = {0.4, -0.3, 0.2},
                                  .q_body_from_sensor = oto_quat_from_rpy(0.2, -0.1, 0.9), .gravity_m_s2 = 9.81,
                                  .field_azimuth_rad = 1.5};
    if (function == EKF_POSITION_FIX && view->z == EKF_ABSENT) {
        sensor->field_count = 2;
    }
    sensor->states[0] = 0;
    sensor->states[1] = 1;
    sensor->states[2] = view->n > 2 ? 2 : 0;
    sensor->m = f->rows != 0 ? f->rows : sensor->field_count;
}

static void check_jacobian(const struct num_model *model, uint32_t function, uint64_t seed)
{
    struct ekf_view view;
    struct ekf_sensor sensor;
    double x[OTO_MODEL_MAX_STATES], z[4] = {0.83, 0.31, -0.33, 0.32}; /* also a unit quaternion, nearly */
    struct num_kalman_row at, plus, minus;
    const double h = 1e-5;
    const struct num_estimator_constants constants = {4};
    ekf_view_make(model, num_model_size(model, &constants), 0.1, &view);
    if ((ekf_functions[function].needs & ~view.needs) != 0) {
        return;
    }
    make_sensor(function, &view, &sensor);
    for (uint32_t i = 0; i < view.n; i++) {
        x[i] = 1.0 + 0.5 * oto_normal_at(oto_rng_key_make(seed, model->name), i, 0, 0, 0);
    }
    if (view.qw != EKF_ABSENT) { /* near the measured attitude: the small turn is exact to second order only */
        const oto_quat q = oto_quat_normalize(oto_quat_mul(oto_quat_make(z[0], z[1], z[2], z[3]), oto_quat_conj(sensor.q_body_from_sensor)));
        memcpy(x + view.qw, &q, sizeof q);
    }
    assert_true(ekf_measure(&sensor, &view, x, z, &at));
    for (uint32_t s = 0; s < view.n; s++) {
        double moved[OTO_MODEL_MAX_STATES];
        memcpy(moved, x, sizeof moved);
        moved[s] += h;
        assert_true(ekf_measure(&sensor, &view, moved, z, &plus));
        moved[s] -= 2 * h;
        assert_true(ekf_measure(&sensor, &view, moved, z, &minus));
        for (uint32_t i = 0; i < at.m; i++) {
            const double slope = -(plus.innovation[i] - minus.innovation[i]) / (2 * h);
            if (!(fabs(slope - at.jacobian[i * view.n + s]) <= 2e-8 * (1 + fabs(slope)))) {
                print_error("%s on %s: row %u by state %u\n", ekf_functions[function].name, model->name, i, s);
            }
            assert_near(at.jacobian[i * view.n + s], slope, 2e-8 * (1 + fabs(slope)));
        }
    }
}

static void each_measurement_has_its_jacobian_on_each_model(void **unused)
{
    (void)unused;
    for (uint32_t m = 0; num_models[m] != NULL; m++) {
        for (uint32_t f = 0; f < EKF_FUNCTIONS; f++) {
            check_jacobian(num_models[m], f, 1);
            check_jacobian(num_models[m], f, 2);
        }
    }
}

/* What the body feels and where it goes agree with the model's own truth. */
static void a_view_says_what_the_truth_of_the_model_says(void **unused)
{
    (void)unused;
    for (uint32_t m = 0; num_models[m] != NULL; m++) {
        struct ekf_view view;
        struct ekf_vector velocity;
        struct oto_truth_record truth = {.q_enu_from_body = {1, 0, 0, 0}};
        const struct num_bicycle_constants bicycle = {1.2, 1.5, 0.0, 0.0};
        const struct num_tyre_constants tyre = {1.2, 1.5, 8e4, 9e4, 1500, 2500, 0, 0, 0.5, NUM_TYRE_CONVENTIONAL};
        const void *constants = num_models[m] == &num_model_kinematic_bicycle ? (const void *)&bicycle : &tyre;
        double x[OTO_MODEL_MAX_STATES] = {1.1, 2.2, 0.3, 0.4, 0.25, 0.15, 1.3, -0.4, 0.2, 0.1, -0.2, 0.3, 0.5};
        ekf_view_make(num_models[m], num_models[m]->state_count, 0.0, &view);
        if ((view.needs & EKF_VELOCITY) == 0 || view.qw != EKF_ABSENT) {
            continue;
        }
        num_models[m]->to_truth(constants, x, &truth);
        ekf_enu_velocity(&view, x, &velocity);
        assert_near(velocity.v[0], truth.velocity_enu_m_s.x, 1e-12);
        assert_near(velocity.v[1], truth.velocity_enu_m_s.y, 1e-12);
        assert_near(velocity.v[2], truth.velocity_enu_m_s.z, 1e-12);
    }
}

/* ---- prediction ---- */

static void white_acceleration_adds_q_g_gt(void **unused)
{
    struct rig rig;
    double x[4] = {0, 0, 1, 2}, p[16] = {0};
    (void)unused;
    open_cv(&rig, 9);
    mini_start(&rig.host);
    const struct ekf_plan *plan = &((const struct ekf_prepared *)rig.host.instance.data)->plan;
    assert_true(ekf_filter_predict(plan, 0, 50 * ms, x, p));
    assert_near(x[0], 0.05, 1e-15);
    assert_near(p[0], 9 * 0.05 * 0.05 * 0.05 * 0.05 / 4, 1e-18);
    assert_near(p[2], 9 * 0.05 * 0.05 * 0.05 / 2, 1e-18);
    assert_near(p[10], 9 * 0.05 * 0.05, 1e-18);
    assert_true(p[2] == p[8]);
    mini_close(&rig.host);
}

/* ∫ F Q Fᵀ of a walk in the velocity: q t, q t²/2, q t³/3; the trapezoid rule in substeps of h is off by q t h²/6. */
static void a_random_walk_goes_through_the_model(void **unused)
{
    struct rig rig;
    double x[4] = {0}, p[16] = {0};
    (void)unused;
    open_cv(&rig, 0);
    add_noise(&rig, "vx", "", 2);
    params_of(&rig)->max_step_s = 0.1;
    mini_start(&rig.host);
    const struct ekf_plan *plan = &((const struct ekf_prepared *)rig.host.instance.data)->plan;
    assert_true(ekf_filter_predict(plan, 0, 2000 * ms, x, p));
    assert_near(p[10], 2 * 2, 1e-12);
    assert_near(p[2], 2 * 2 * 2 / 2.0, 1e-12);
    assert_near(p[0], 2 * 8 / 3.0, 2 * 2 * 0.1 * 0.1 / 6 * 1.01);
    mini_close(&rig.host);
}

static void a_gap_of_ten_years_is_a_bounded_prediction(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 9);
    mini_start(&rig.host);
    assert_int_equal(give(&rig, 0, 0, 1, -1), OTO_STEP_OK);
    const int64_t late_ns = INT64_C(315360000000000000);
    assert_int_equal(give(&rig, late_ns, late_ns, 3, 4), OTO_STEP_OK);
    assert_near(rig.estimate.position_enu_m.x, 3, 0.1); /* nothing else is known any more */
    assert_int_equal(otolith_plugin.ops->validate(&rig.host.instance), OTO_OK);
    mini_close(&rig.host);
}

/* ---- time ---- */

static void a_late_sample_is_worth_what_it_was_in_time(void **unused)
{
    struct rig late, timely;
    (void)unused;
    open_cv(&late, 0);
    open_cv(&timely, 0);
    mini_start(&late.host);
    mini_start(&timely.host);
    (void)give(&late, 0, 0, 1.2, -0.9);
    (void)give(&timely, 0, 0, 1.2, -0.9);
    (void)give(&timely, 100 * ms, 100 * ms, 1.7, -0.8);
    (void)give(&timely, 200 * ms, 200 * ms, 2.1, -1.0);
    (void)give(&late, 200 * ms, 200 * ms, 2.1, -1.0);
    assert_int_equal(give(&late, 100 * ms, 200 * ms, 1.7, -0.8), OTO_STEP_OK);
    for (int i = 0; i < 4; i++) { /* without process noise the order is of no matter */
        assert_near(state_of(&late)->x[i], state_of(&timely)->x[i], 1e-12);
        assert_near(state_of(&late)->p[i * 5], state_of(&timely)->p[i * 5], 1e-12);
    }
    assert_int_equal(late.estimate.used, 3);
    mini_close(&late.host);
    mini_close(&timely.host);
}

static void what_is_too_late_or_of_the_future_is_counted_and_left_out(void **unused)
{
    struct rig rig;
    struct ekf_state before;
    (void)unused;
    open_cv(&rig, 1);
    mini_start(&rig.host);
    (void)give(&rig, 1000 * ms, 1000 * ms, 1, -1);
    memcpy(&before, state_of(&rig), sizeof before);
    assert_int_equal(give(&rig, 400 * ms, 1000 * ms, 9, 9), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.late, 1);
    assert_int_equal(give(&rig, 1001 * ms, 1000 * ms, 9, 9), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.refused, 1);
    assert_memory_equal(before.x, state_of(&rig)->x, sizeof before.x);
    assert_memory_equal(before.p, state_of(&rig)->p, sizeof before.p);
    mini_close(&rig.host);
}

static void age_tells_when_a_sample_was_measured(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 0);
    (void)strcpy(params_of(&rig)->rows[0].age_field, "c");
    mini_start(&rig.host);
    const struct sensor_record now = {1.0, -1.0, 0, {0}}, old = {1.25, -1.0, 50e6, {0}};
    (void)give_input(&rig, 1, 0, 0, &now);
    (void)give_input(&rig, 1, 100 * ms, 100 * ms, &old);
    assert_int_equal(rig.innovation.t_ns[0], 50 * ms);
    assert_near(rig.innovation.innovation[0], 0.0, 1e-12); /* 5 m/s for 50 ms */
    mini_close(&rig.host);
}

static void times_that_are_none_are_refused(void **unused)
{
    static const int64_t times[] = {INT64_MIN, INT64_MAX, -4000000000000000001, 4000000000000000001};
    struct rig rig;
    const struct sensor_record old = {1, -1, 1e18, {0}}, young = {1, -1, -5, {0}}, none = {1, -1, NAN, {0}};
    (void)unused;
    open_cv(&rig, 1);
    (void)strcpy(params_of(&rig)->rows[0].age_field, "c");
    mini_start(&rig.host);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(give(&rig, times[i], INT64_MAX, 1, -1), OTO_STEP_WARN);
        assert_int_equal(rig.estimate.refused, i + 1);
    }
    assert_int_equal(give_input(&rig, 1, 0, 0, &old), OTO_STEP_WARN);
    assert_int_equal(give_input(&rig, 1, 0, 0, &young), OTO_STEP_WARN);
    assert_int_equal(give_input(&rig, 1, 0, 0, &none), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.refused, 7);
    mini_close(&rig.host);
}

/* ---- bad input ---- */

static void bad_numbers_are_refused_and_counted(void **unused)
{
    static const double bad[][2] = {{NAN, 0}, {0, INFINITY}, {-INFINITY, NAN}, {1e300, 0}};
    struct rig rig;
    struct ekf_state before;
    (void)unused;
    open_cv(&rig, 1);
    mini_start(&rig.host);
    (void)give(&rig, 0, 0, 1, -1);
    memcpy(&before, state_of(&rig), sizeof before);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(give(&rig, 0, 0, bad[i][0], bad[i][1]), OTO_STEP_WARN);
        assert_int_equal(rig.estimate.refused, i + 1);
        assert_true(isfinite(rig.innovation.innovation[0]) && isfinite(rig.innovation.nis[0]));
    }
    assert_memory_equal(before.x, state_of(&rig)->x, sizeof before.x);
    assert_memory_equal(before.p, state_of(&rig)->p, sizeof before.p);
    mini_close(&rig.host);
}

static void a_gate_keeps_outliers_away(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 1);
    params_of(&rig)->rows[0].gate = 0.999;
    mini_start(&rig.host);
    (void)give(&rig, 0, 0, 1, -1);
    assert_int_equal(give(&rig, 0, 0, 50, -1), OTO_STEP_OK);
    assert_int_equal(rig.estimate.gated, 1);
    assert_near(rig.estimate.position_enu_m.x, 1, 1e-9);
    assert_true(rig.innovation.nis[0] > num_chi2_quantile(0.999, 2));
    mini_close(&rig.host);
}

static void a_singular_covariance_warns_and_changes_nothing(void **unused)
{
    struct rig rig;
    struct ekf_state before;
    struct sensor_record record = {1, -1, 0, {0}};
    (void)unused;
    open_cv(&rig, 0);
    for (int i = 0; i < 4; i++) {
        params_of(&rig)->initial[i].sigma = 0;
    }
    (void)strcpy(params_of(&rig)->rows[0].covariance_field, "r");
    mini_start(&rig.host);
    for (int i = 0; i < 9; i++) {
        record.r[i] = 1e-4; /* both rows the same number: no inverse */
    }
    memcpy(&before, state_of(&rig), sizeof before);
    assert_int_equal(give_input(&rig, 1, 0, 0, &record), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.singular, 1);
    assert_memory_equal(before.x, state_of(&rig)->x, sizeof before.x);
    record.r[4] = 4e-4;
    record.r[1] = record.r[3] = 0;
    assert_int_equal(give_input(&rig, 1, 0, 0, &record), OTO_STEP_OK);
    assert_near(rig.innovation.sigma[1], 0.02, 1e-12);
    mini_close(&rig.host);
}

static void the_same_sample_again_is_one_more_measurement(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 0);
    mini_start(&rig.host);
    for (int i = 0; i < 3; i++) {
        (void)give(&rig, 0, 0, 2, -1);
    }
    assert_near(state_of(&rig)->p[0], 1 / (1 / 4.0 + 3 / 0.25), 1e-12);
    mini_close(&rig.host);
}

static void a_course_of_what_stands_is_refused(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig, 1);
    (void)add_row(&rig, EKF_HEADING_ANGLE, "a", 0.1);
    mini_start(&rig.host);
    assert_int_equal(give(&rig, 0, 0, 0.5, 0), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.refused, 1);
    mini_close(&rig.host);
}

/* Numbers of any bits at times in any order: the state stays one that can be gone on from, the records finite. */
static void noise_of_bits_leaves_a_state_to_go_on_from(void **unused)
{
    (void)unused;
    for (int64_t model = 0; num_models[model] != NULL; model++) {
        struct rig rig;
        rig_open(&rig, model);
        params_of(&rig)->estimator.count = 4;
        struct ekf_measurement *row = add_row(&rig, EKF_LINEAR, "a b", 1.0);
        (void)snprintf(row->states, sizeof row->states, "%s %s", num_models[model]->states[0].name, num_models[model]->states[1].name);
        (void)strcpy(row->covariance_field, "r");
        (void)strcpy(row->age_field, "c");
        mini_start(&rig.host);
        for (uint64_t i = 0; i < 400; i++) {
            struct sensor_record record;
            uint64_t bits[12];
            for (uint64_t k = 0; k < 12; k++) {
                bits[k] = oto_rng_block(oto_rng_key_make(11, "bits"), i, k, (uint64_t)model, 0).v[0];
            }
            memcpy(&record, bits, sizeof record);
            record.c = i % 3 == 0 ? record.c : (double)(bits[2] % 300000000);
            record.a = i % 5 == 0 ? (double)(bits[0] % 100) : record.a;
            record.b = i % 5 == 0 ? (double)(bits[1] % 100) : record.b;
            (void)give_input(&rig, 1, (int64_t)i * 100 * ms, (int64_t)i * 100 * ms, &record);
            assert_int_equal(otolith_plugin.ops->validate(&rig.host.instance), OTO_OK);
            for (uint32_t s = 0; s < rig.state.size; s++) {
                assert_true(isfinite(rig.state.state[s]) && isfinite(rig.state.sigma[s]));
            }
            assert_true(isfinite(rig.estimate.position_enu_m.x) && isfinite(rig.estimate.nis));
        }
        mini_close(&rig.host);
    }
}

/* ---- start ---- */

static void the_first_sample_sets_what_it_tells_of(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 0);
    params_of(&rig)->rows[0].initialise = EKF_STATE_AND_SIGMA;
    mini_start(&rig.host);
    assert_int_equal(give_input(&rig, 1, 0, 0, NULL), OTO_STEP_OK);
    assert_int_equal(rig.estimate.status, OTO_ESTIMATE_ALIGNING);
    assert_near(rig.estimate.position_enu_m.x, 1, 0);
    (void)give(&rig, 0, 0, 100, 200);
    assert_int_equal(rig.estimate.status, OTO_ESTIMATE_RUNNING);
    assert_near(rig.estimate.position_enu_m.x, 100, 0);
    assert_near(rig.estimate.position_sigma_enu_m.y, 0.5, 1e-15);
    assert_near(rig.estimate.velocity_sigma_enu_m_s.x, 1, 1e-15);
    (void)give(&rig, 0, 0, 102, 200);
    assert_near(rig.estimate.position_enu_m.x, 101, 1e-9);
    mini_close(&rig.host);
}

static void a_first_range_and_bearing_gives_a_place(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig, 1);
    struct ekf_measurement *row = add_row(&rig, EKF_RANGE_BEARING, "a b", 0.1);
    row->sensor_position_enu_m[0] = 10;
    row->sigma[1] = 0.02;
    row->initialise = EKF_STATE_AND_SIGMA;
    mini_start(&rig.host);
    (void)give(&rig, 0, 0, 5, OTO_HALF_PI);
    assert_near(rig.estimate.position_enu_m.x, 10, 1e-12);
    assert_near(rig.estimate.position_enu_m.y, 5, 1e-12);
    assert_near(rig.estimate.position_sigma_enu_m.x, 5 * 0.02, 1e-12);
    assert_near(rig.estimate.position_sigma_enu_m.y, 0.1, 1e-12);
    mini_close(&rig.host);
}

/* ---- state and truth ---- */

static void a_copied_state_goes_on_to_the_same_bits(void **unused)
{
    struct rig rig, other;
    (void)unused;
    open_cv(&rig, 1);
    mini_start(&rig.host);
    for (int i = 0; i < 50; i++) {
        (void)give(&rig, i * 100 * ms, i * 100 * ms, 0.5 * i + normal_from(i), -1);
    }
    open_cv(&other, 1);
    mini_start(&other.host);
    memcpy(other.host.state, rig.host.state, sizeof(struct ekf_state));
    assert_int_equal(otolith_plugin.ops->validate(&other.host.instance), OTO_OK);
    for (int i = 50; i < 100; i++) {
        (void)give(&rig, i * 100 * ms, i * 100 * ms, 0.5 * i + normal_from(i), -1);
        (void)give(&other, i * 100 * ms, i * 100 * ms, 0.5 * i + normal_from(i), -1);
        assert_memory_equal(&rig.estimate, &other.estimate, sizeof rig.estimate);
    }
    assert_memory_equal(rig.host.state, other.host.state, sizeof(struct ekf_state));
    mini_close(&rig.host);
    mini_close(&other.host);
}

static void the_state_of_another_model_is_refused(void **unused)
{
    struct rig cv, catr;
    (void)unused;
    open_cv(&cv, 1);
    mini_start(&cv.host);
    rig_open(&catr, 4);
    (void)add_row(&catr, EKF_POSITION_FIX, "a b", 0.5);
    mini_start(&catr.host);
    memcpy(catr.host.state, cv.host.state, sizeof(struct ekf_state));
    assert_int_equal(otolith_plugin.ops->validate(&catr.host.instance), OTO_CORRUPT);
    mini_close(&cv.host);
    mini_close(&catr.host);
}

static void the_truth_is_compared_with_and_changes_nothing(void **unused)
{
    struct rig with, without;
    struct oto_truth_record truth = {.position_enu_m = {1.5, -1, 0}, .velocity_enu_m_s = {5, 0, 0}, .q_enu_from_body = {1, 0, 0, 0}};
    (void)unused;
    open_cv(&with, 1);
    open_cv(&without, 1);
    mini_start(&with.host);
    mini_start(&without.host);
    (void)give(&with, 0, 0, 1, -1);
    (void)give(&without, 0, 0, 1, -1);
    assert_true(with.estimate.nees == -1.0);
    assert_int_equal(give_input(&with, 0, 0, 0, &truth), OTO_STEP_OK);
    assert_int_equal(with.state.truths, 1);
    assert_near(with.state.error[0], -0.5, 1e-12);
    assert_near(with.estimate.nees, 0.25 / state_of(&with)->p[0], 1e-12);
    assert_near(with.estimate.nees_degrees, 4, 0);
    truth.position_enu_m.x = NAN;
    (void)give_input(&with, 0, 10 * ms, 10 * ms, &truth);
    assert_int_equal(with.state.truths, 1);
    assert_memory_equal(state_of(&with)->x, state_of(&without)->x, sizeof state_of(&with)->x);
    assert_memory_equal(state_of(&with)->p, state_of(&without)->p, sizeof state_of(&with)->p);
    mini_close(&with.host);
    mini_close(&without.host);
}

static void its_inputs_stand_as_those_of_the_inertial_navigation(void **unused)
{
    static const char *const names[] = {"imu", "odometer", "magnetometer", "position", "truth"};
    const struct oto_estimator_extension *estimator = otolith_plugin.extension(OTO_EXTENSION_ESTIMATOR);
    (void)unused;
    assert_int_equal(estimator->input_count, 5);
    assert_true((estimator->flags & OTO_ESTIMATOR_OPEN_INPUTS) != 0);
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(estimator->inputs[i].name, names[i]);
    }
    assert_true(oto_record_type_hash(otolith_plugin.descriptor->outputs[0].type) == oto_record_type_hash(&oto_estimate_type));
}

/* ---- refusals of prepare ---- */

static void expect_refusal(struct rig *rig, const char *part)
{
    assert_int_not_equal(mini_prepare(&rig->host), OTO_OK);
    if (strstr(rig->host.error.text, part) == NULL) {
        print_error("'%s' is not in: %s\n", part, rig->host.error.text);
        fail();
    }
    mini_close(&rig->host);
}

static void what_does_not_fit_together_is_said(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 1);
    (void)strcpy(params_of(&rig)->initial[0].state, "vz");
    expect_refusal(&rig, "initial[0]: model 'constant_velocity' has no state 'vz'; it has x y vx vy");
    open_cv(&rig, 1);
    params_of(&rig)->noise[1].rate[0] = '\0';
    expect_refusal(&rig, "process_noise[1]: white_acceleration needs `rate`");
    open_cv(&rig, 1);
    (void)strcpy(params_of(&rig)->rows[0].input, "gnss");
    expect_refusal(&rig, "measurements[0]: no channel is bound to the input 'gnss'");
    open_cv(&rig, 1);
    (void)strcpy(params_of(&rig)->rows[0].fields, "a q");
    expect_refusal(&rig, "measurements[0]: input 'sensor' (car/sensor) has no numeric field 'q'");
    open_cv(&rig, 1);
    (void)strcpy(params_of(&rig)->rows[0].fields, "a");
    expect_refusal(&rig, "measurements[0]: function 'position' needs `fields` with 2 to 3 names");
    open_cv(&rig, 1);
    (void)add_row(&rig, EKF_ATTITUDE_QUATERNION, "a b c r.0", 0.1);
    expect_refusal(&rig, "measurements[1]: function 'attitude' needs a model with roll, pitch and yaw");
    open_cv(&rig, 1);
    params_of(&rig)->rows[0].sigma[1] = 0;
    expect_refusal(&rig, "measurements[0]: sigma[1] is 0");
    open_cv(&rig, 1);
    struct ekf_measurement *row = add_row(&rig, EKF_LINEAR, "a b", 1);
    (void)strcpy(row->states, "x");
    expect_refusal(&rig, "there are 2 `fields` and 1 `states`");
}

static void an_optional_input_may_be_absent(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 1);
    struct ekf_measurement *row = add_row(&rig, EKF_POSITION_FIX, "a b", 0.5);
    (void)strcpy(row->input, "gnss");
    row->optional = 1;
    params_of(&rig)->rows[0].optional = 1;
    mini_start(&rig.host);
    assert_int_equal(give(&rig, 0, 0, NAN, NAN), OTO_STEP_OK); /* a log's empty cells */
    assert_int_equal(rig.estimate.refused + rig.estimate.used, 0);
    assert_int_equal(give(&rig, 0, 0, NAN, 1), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.refused, 1);
    mini_close(&rig.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_the_table_are_the_names_of_models_and_functions),
        cmocka_unit_test(each_measurement_has_its_jacobian_on_each_model),
        cmocka_unit_test(a_view_says_what_the_truth_of_the_model_says),
        cmocka_unit_test(white_acceleration_adds_q_g_gt),
        cmocka_unit_test(a_random_walk_goes_through_the_model),
        cmocka_unit_test(a_gap_of_ten_years_is_a_bounded_prediction),
        cmocka_unit_test(a_late_sample_is_worth_what_it_was_in_time),
        cmocka_unit_test(what_is_too_late_or_of_the_future_is_counted_and_left_out),
        cmocka_unit_test(age_tells_when_a_sample_was_measured),
        cmocka_unit_test(times_that_are_none_are_refused),
        cmocka_unit_test(bad_numbers_are_refused_and_counted),
        cmocka_unit_test(a_gate_keeps_outliers_away),
        cmocka_unit_test(a_singular_covariance_warns_and_changes_nothing),
        cmocka_unit_test(the_same_sample_again_is_one_more_measurement),
        cmocka_unit_test(a_course_of_what_stands_is_refused),
        cmocka_unit_test(noise_of_bits_leaves_a_state_to_go_on_from),
        cmocka_unit_test(the_first_sample_sets_what_it_tells_of),
        cmocka_unit_test(a_first_range_and_bearing_gives_a_place),
        cmocka_unit_test(a_copied_state_goes_on_to_the_same_bits),
        cmocka_unit_test(the_state_of_another_model_is_refused),
        cmocka_unit_test(the_truth_is_compared_with_and_changes_nothing),
        cmocka_unit_test(its_inputs_stand_as_those_of_the_inertial_navigation),
        cmocka_unit_test(what_does_not_fit_together_is_said),
        cmocka_unit_test(an_optional_input_may_be_absent),
    };
    return cmocka_run_group_tests_name("ekf", tests, NULL, NULL);
}
