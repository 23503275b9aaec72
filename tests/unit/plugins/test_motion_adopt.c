/*
 * Row B23: a vehicle's motion is changed while it drives, and pose and velocity go on. Every motion plugin as it was
 * built, each taking over from another's truth.
 */
#include "motion_check.h"
#include "sim/instance.h"

#define TICK_NS INT64_C(10000000)

struct vehicle {
    struct srv_instance now;
    const struct oto_motion_extension *motion;
    struct oto_setup setup;
    struct oto_error error;
};

static void vehicle_open(struct vehicle *v, const char *name, const char *yaml)
{
    const struct srv_instance_place place = {.setup = &v->setup};
    struct oto_plugin *plugin;
    struct oto_document *document = NULL;
    char path[1024];
    memset(v, 0, sizeof *v);
    (void)snprintf(path, sizeof path, "%s/%s.so", OTO_PLUGIN_DIR, name);
    assert_ok(oto_plugin_open(path, NULL, &plugin, &v->error), v->error);
    srv_instance_bind(&v->now, plugin);
    v->motion = oto_plugin_motion(plugin);
    v->setup = (struct oto_setup){.size = sizeof v->setup, .node = "car/motion", .base_rate_num = 100, .base_rate_den = 1,
                                  .rate_num = 100, .rate_den = 1, .rate_hz = 100.0,
                                  .noise_key = oto_rng_key_make(5, "car/motion"), .q_body_from_sensor = {1, 0, 0, 0},
                                  .gravity_enu_m_s2 = {0, 0, -9.81}};
    assert_ok(oto_params_default(v->now.descriptor, &v->now.params, &v->error), v->error);
    if (yaml != NULL) {
        assert_ok(oto_document_parse("test", yaml, strlen(yaml), NULL, &document, &v->error), v->error);
        assert_ok(oto_params_apply(v->now.descriptor, oto_document_root(document), &v->now.params, &v->error), v->error);
        oto_document_close(document);
    }
    assert_ok(srv_instance_make(&v->now, &place, &v->error), v->error);
}

static void vehicle_close(struct vehicle *v)
{
    (void)srv_instance_finish(&v->now);
}

static void vehicle_truth(const struct vehicle *v, int64_t t_ns, struct oto_truth_record *truth)
{
    const enum oto_step_status status = v->motion->evaluate(&v->now.abi, (struct oto_instant){t_ns, 0.0}, truth);
    if (status != OTO_STEP_OK)
        fail_msg("%s gives no truth at %lld ns: status %d", v->now.descriptor->id, (long long)t_ns, (int)status);
}

static void vehicle_step(struct vehicle *v, int64_t t_ns)
{
    const uint64_t n = (uint64_t)(t_ns / TICK_NS);
    assert_int_equal(srv_instance_step(&v->now, n - 1, n, (struct oto_instant){t_ns, 0.0}, NULL, NULL), OTO_STEP_OK);
}

static void evaluate(const void *motion, struct oto_instant at, struct oto_truth_record *truth)
{
    vehicle_truth(motion, at.t_ns, truth);
}

static double apart(oto_vec3 a, oto_vec3 b)
{
    return oto_vec3_norm(oto_vec3_sub(a, b));
}

static void adopt(struct vehicle *v, const struct oto_truth_record *truth, int64_t t_ns)
{
    struct oto_truth_record own;
    assert_true(oto_motion_adopts(v->motion));
    assert_int_equal(v->motion->adopt(&v->now.abi, truth, (struct oto_instant){t_ns, 0.0}), OTO_OK);
    vehicle_truth(v, t_ns, &own);
    assert_near(apart(own.position_enu_m, truth->position_enu_m), 0.0, 1e-9);
    assert_near(apart(own.velocity_enu_m_s, truth->velocity_enu_m_s), 0.0, 1e-12);
    assert_near(oto_quat_angle_between(own.q_enu_from_body, truth->q_enu_from_body), 0.0, 1e-12);
    assert_near(apart(own.angular_rate_body_rad_s, truth->angular_rate_body_rad_s), 0.0, 1e-12);
}

/* Ticks from t_ns on; in the middle of each the truth is its own derivatives, the blend included. */
static void drive_on(struct vehicle *v, int64_t *t_ns, int ticks)
{
    struct motion_misfit worst = {0.0, 0.0, 0.0, 0.0};
    for (int i = 0; i < ticks; i++) {
        struct motion_stencil stencil;
        *t_ns += TICK_NS;
        vehicle_step(v, *t_ns);
        motion_stencil_at(evaluate, v, *t_ns - 5 * MOTION_STEP_NS, &stencil);
        motion_compare(&stencil, &worst);
    }
    /* Positions are a kilometre away: 1e-13 m of rounding over 1e-3 s. Quotients over a joint of a script or the end of a
     * blend are off by a quarter of h times what the slope steps by: 3 m/s³ at the end of a blend of velocity. */
    if (worst.velocity_m_s > 1e-6 || worst.accel_m_s2 > 7.5e-4 || worst.rate_rad_s > 1e-6 || worst.angular_accel_rad_s2 > 2e-4)
        fail_msg("%s: velocity off by %g, acceleration %g, rate %g, angular acceleration %g",
                 v->now.descriptor->id, worst.velocity_m_s, worst.accel_m_s2, worst.rate_rad_s,
                 worst.angular_accel_rad_s2);
    if (v->now.ops->validate != NULL)
        assert_int_equal(v->now.ops->validate(&v->now.abi), OTO_OK);
}

struct stage {
    const char *plugin, *yaml;
};

/* Constant velocity → CATR → bicycle → script, and on through every kind of source. */
static void B23_pose_and_velocity_go_on_from_motion_to_motion(void **state)
{
    char replay[1200];
    const struct stage stages[] = {
        {"motion_constant_velocity", "initial: {x_m: 900, y_m: -300, vx_m_s: 9, vy_m_s: 4}"},
        {"motion_catr", NULL},
        {"motion_kinematic_bicycle", "{accel_m_s2: -0.5, steering_rad: 0.1}"},
        {"motion_script", "segments: [{kind: turn, angle_deg: 60, radius_m: 20}, {kind: stop, duration_s: 1}]\nrepeat: false\nspeed_m_s: 7"},
        {"motion_script", "{generate: city, road: {grade_rms_deg: 1, bank_rms_deg: 0.7, crown_deg: 0.5}}"},
        {"motion_waypoints", NULL},
        {"motion_rigid_body_6dof", "{moment_body_nm: [0, 0, 0.1]}"},
        {"motion_replay", replay},
        {"motion_linear_xyzrpy", NULL},
        {"motion_script", "generate: parking"},
        {"motion_stationary", NULL},
    };
    struct oto_truth_record truth;
    int64_t t_ns = 0;
    (void)state;
    (void)snprintf(replay, sizeof replay, "path: %s/tests/conformance/params/trajectory.csv", OTO_SOURCE_DIR);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        struct vehicle v;
        vehicle_open(&v, stages[i].plugin, stages[i].yaml);
        if (i > 0)
            adopt(&v, &truth, t_ns);
        drive_on(&v, &t_ns, 150); /* less than some blends take: the next one takes over from within one */
        vehicle_truth(&v, t_ns, &truth);
        vehicle_close(&v);
    }
}

static const char *const models[] = {
    "stationary", "constant_velocity", "constant_acceleration", "ctrv", "catr", "catr_box", "parameter_estimator",
    "linear_xy", "linear_xyz", "linear_xyyaw", "linear_xyzyaw", "linear_xyzrpy", "kinematic_bicycle", "linear_tyre",
    "rigid_body_6dof"};

/* From a bend on a slope, 500 m up: more than most of them can express. */
static void B23_every_model_goes_on_from_a_drive_in_the_hills(void **state)
{
    const char *hills = "{generate: city, seed: 3, position_enu_m: [40, 50, 500], road: {grade_deg: 4, grade_rms_deg: 1, bank_rms_deg: 0.7},"
                        " suspension: {pitch_compliance_deg_s2_m: -0.3, roll_compliance_deg_s2_m: 0.35}}";
    struct vehicle script;
    (void)state;
    vehicle_open(&script, "motion_script", hills);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct oto_truth_record truth, later;
        struct vehicle v;
        char name[64];
        int64_t t_ns = INT64_C(14000000000) + (int64_t)i * INT64_C(1370000000);
        vehicle_truth(&script, t_ns, &truth);
        (void)snprintf(name, sizeof name, "motion_%s", models[i]);
        vehicle_open(&v, name, NULL);
        adopt(&v, &truth, t_ns);
        drive_on(&v, &t_ns, 1200);
        vehicle_truth(&v, t_ns, &later);
        assert_near(oto_quat_dot(later.q_enu_from_body, later.q_enu_from_body), 1.0, 1e-12);
        assert_true(later.position_enu_m.z > 450.0 || strcmp(models[i], "rigid_body_6dof") == 0 ||
                    strncmp(models[i], "linear_xyz", 10) == 0);
        vehicle_close(&v);
    }
    vehicle_close(&script);
}

static void a_motion_that_took_over_knows_the_second_before(void **state)
{
    struct vehicle before, after;
    struct oto_truth_record truth, was, is;
    int64_t t_ns = 0;
    (void)state;
    vehicle_open(&before, "motion_catr", "initial: {v_m_s: 9, th_rad: 1, a_m_s2: 0.5, w_rad_s: 0.1}");
    drive_on(&before, &t_ns, 300);
    vehicle_truth(&before, t_ns, &truth);
    vehicle_open(&after, "motion_waypoints", NULL);
    adopt(&after, &truth, t_ns);
    vehicle_truth(&before, t_ns - 200000000, &was);
    vehicle_truth(&after, t_ns - 200000000, &is);
    assert_near(apart(was.position_enu_m, is.position_enu_m), 0.0, 0.002); /* the jerk v ω² is not adopted, so τ = 0.2 s ago the error is about v ω² τ³/6 */
    assert_near(apart(was.velocity_enu_m_s, is.velocity_enu_m_s), 0.0, 0.01);
    vehicle_close(&before);
    vehicle_close(&after);
}

static void a_truth_that_is_none_is_refused_and_changes_nothing(void **state)
{
    static const char *const plugins[] = {"motion_script", "motion_waypoints", "motion_catr", "motion_rigid_body_6dof"};
    (void)state;
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++) {
        struct vehicle v;
        struct oto_truth_record bad, before, after;
        int64_t t_ns = 0;
        vehicle_open(&v, plugins[i], NULL);
        drive_on(&v, &t_ns, 20);
        vehicle_truth(&v, t_ns, &before);
        bad = before;
        bad.velocity_enu_m_s.y = NAN;
        assert_int_not_equal(v.motion->adopt(&v.now.abi, &bad, (struct oto_instant){t_ns, 0.0}), OTO_OK);
        bad = before;
        bad.q_enu_from_body = oto_quat_make(2.0, 0.0, 0.0, 0.0);
        assert_int_not_equal(v.motion->adopt(&v.now.abi, &bad, (struct oto_instant){t_ns, 0.0}), OTO_OK);
        vehicle_truth(&v, t_ns, &after);
        assert_memory_equal(&before, &after, sizeof before);
        vehicle_close(&v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B23_pose_and_velocity_go_on_from_motion_to_motion),
        cmocka_unit_test(B23_every_model_goes_on_from_a_drive_in_the_hills),
        cmocka_unit_test(a_motion_that_took_over_knows_the_second_before),
        cmocka_unit_test(a_truth_that_is_none_is_refused_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
