#include "mini_host.h"
#include "motion_check.h"
#include "document/table.h"
#include "trajectory.h"

/* ---- a host whose files are written by the test ---- */

struct bench {
    struct mini_host host;
    struct oto_table table;
    char path[128];
    FILE *file;
};

static struct bench b;

static enum oto_status read_table(void *context, const char *path, const char *const *columns, uint32_t column_count,
                                  struct oto_table_view *view, struct oto_error *error)
{
    enum oto_status status;
    (void)context;
    oto_table_free(&b.table);
    status = oto_table_read(path, columns, column_count, &b.table, error);
    *view = (struct oto_table_view){b.table.rows, b.table.columns, b.table.values};
    return status;
}

static void set_text(const char *key, const char *text)
{
    const struct oto_param *param = mini_param(key);
    char *place = (char *)b.host.params + param->offset;
    memset(place, 0, param->count);
    memcpy(place, text, strlen(text));
}

static void set_texts(const char *const *keys_and_texts)
{
    for (; *keys_and_texts != NULL; keys_and_texts += 2)
        set_text(keys_and_texts[0], keys_and_texts[1]);
}

/* The mini host sets no defaults of text parameters, so they are set here. */
static int open_bench(void **unused)
{
    (void)unused;
    memset(&b, 0, sizeof b);
    mini_open(&b.host, 100.0, 1);
    memset(b.host.params, 0, otolith_plugin.descriptor->params_bytes);
    for (uint32_t i = 0; i < otolith_plugin.descriptor->param_count; i++) {
        const struct oto_param *param = &otolith_plugin.descriptor->params[i];
        if (param->type == OTO_PARAM_TEXT)
            set_text(param->key, param->default_text);
        else if (param->type != OTO_PARAM_PATH)
            mini_set(&b.host, param->key, param->default_value);
    }
    b.host.services.read_table = read_table;
    b.host.setup.origin_latitude_rad = 37.7 * OTO_DEG;
    b.host.setup.origin_longitude_rad = -122.5 * OTO_DEG;
    b.host.setup.origin_altitude_m = 30.0;
    (void)snprintf(b.path, sizeof b.path, "motion_replay.%d.csv", (int)getpid());
    set_text("path", b.path);
    b.file = fopen(b.path, "we");
    assert_non_null(b.file);
    return 0;
}

static int close_bench(void **unused)
{
    (void)unused;
    (void)unlink(b.path);
    oto_table_free(&b.table);
    mini_close(&b.host);
    return 0;
}

static void start(void)
{
    assert_int_equal(fclose(b.file), 0);
    mini_start(&b.host);
}

static void refused(const char *word)
{
    assert_int_equal(fclose(b.file), 0);
    assert_int_not_equal(mini_prepare(&b.host), OTO_OK);
    if (strstr(b.host.error.text, word) == NULL)
        fail_msg("\"%s\" does not say %s", b.host.error.text, word);
}

static void evaluate(const void *motion, struct oto_instant at, struct oto_truth_record *truth)
{
    const struct oto_motion_extension *extension =
        (const struct oto_motion_extension *)otolith_plugin.extension(OTO_EXTENSION_MOTION);
    assert_int_equal(extension->evaluate((const struct oto_instance *)motion, at, truth), OTO_STEP_OK);
}

static struct oto_truth_record truth_at(double t_s)
{
    struct oto_truth_record truth;
    evaluate(&b.host.instance, (struct oto_instant){(int64_t)llround(t_s * 1e9), 0.0}, &truth);
    return truth;
}

static double distance(oto_vec3 a, oto_vec3 c)
{
    return oto_vec3_norm(oto_vec3_sub(a, c));
}

static const char *const velocity_columns[] = {"columns.velocity_x", "vx", "columns.velocity_y", "vy",
                                               "columns.velocity_z", "vz", NULL};
static const char *const attitude_columns[] = {"columns.attitude_w", "qw", "columns.attitude_x", "qx",
                                               "columns.attitude_y", "qy", "columns.attitude_z", "qz", NULL};

/* ---- a circle, climbing and banked, as the plain case ---- */

#define RADIUS_M 30.0
#define RATE_RAD_S 0.4
#define CLIMB_M_S 0.5
#define BANK_RAD 0.1

static struct oto_truth_record circle(double t_s)
{
    struct oto_truth_record truth;
    double s, c, angle = RATE_RAD_S * t_s;
    oto_sincos(angle, &s, &c);
    memset(&truth, 0, sizeof truth);
    truth.position_enu_m = oto_vec3_make(100.0 + RADIUS_M * s, -RADIUS_M * c, CLIMB_M_S * t_s);
    truth.velocity_enu_m_s = oto_vec3_make(RADIUS_M * RATE_RAD_S * c, RADIUS_M * RATE_RAD_S * s, CLIMB_M_S);
    truth.accel_enu_m_s2 = oto_vec3_make(-RADIUS_M * RATE_RAD_S * RATE_RAD_S * s, RADIUS_M * RATE_RAD_S * RATE_RAD_S * c, 0.0);
    truth.q_enu_from_body = oto_quat_from_rpy(BANK_RAD, 0.0, angle);
    truth.angular_rate_body_rad_s = oto_quat_rotate_inv(truth.q_enu_from_body, oto_vec3_make(0.0, 0.0, RATE_RAD_S));
    return truth;
}

static void write_circle(double seconds)
{
    (void)fprintf(b.file, "x,y,z,t_s,vx,vy,vz,qw,qx,qy,qz\n");
    for (double t = 0.0; t < seconds; t += 0.05) {
        struct oto_truth_record now = circle(t);
        const double *p = &now.position_enu_m.x, *v = &now.velocity_enu_m_s.x, *q = &now.q_enu_from_body.w;
        /* The sign of a quaternion means nothing: every other one is turned round. */
        double sign = ((int)(t * 20.0 + 0.5)) % 2 ? -1.0 : 1.0;
        (void)fprintf(b.file, "%.9f,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f,%.12f,%.12f,%.12f,%.12f\n", p[0], p[1], p[2],
                      1000.0 + t, v[0], v[1], v[2], sign * q[0], sign * q[1], sign * q[2], sign * q[3]);
    }
    set_texts(velocity_columns);
    set_texts(attitude_columns);
}

/*
 * Of a sinusoid of omega = 0.4 rad/s the smoothing takes (tau^6 + tau^4) omega^6/(1 + omega^2) where positions and
 * velocities weigh the same: 3.6e-7, that is 1.1e-5 m of 30 m. The ends, where the third derivative is made zero, are
 * forgotten as exp(-t/2tau): 3e-7 after 3 s.
 */
static void a_circle_comes_out_as_the_circle(void **unused)
{
    (void)unused;
    write_circle(30.0);
    start();
    for (double t = 3.0; t < 27.0; t += 0.0137) {
        struct oto_truth_record is = truth_at(t), should = circle(t);
        assert_near(distance(is.position_enu_m, should.position_enu_m), 0.0, 3e-5);
        assert_near(distance(is.velocity_enu_m_s, should.velocity_enu_m_s), 0.0, 3e-5);
        assert_near(distance(is.accel_enu_m_s2, should.accel_enu_m_s2), 0.0, 1e-4);
        assert_near(oto_quat_angle_between(is.q_enu_from_body, should.q_enu_from_body), 0.0, 1e-8);
        assert_near(distance(is.angular_rate_body_rad_s, should.angular_rate_body_rad_s), 0.0, 1e-7);
        assert_near(oto_vec3_norm(is.angular_accel_body_rad_s2), 0.0, 1e-5);
        assert_near(is.longitudinal_speed_m_s, RADIUS_M * RATE_RAD_S, 3e-5);
    }
}

static void truth_is_its_own_derivatives_up_to_the_ends_and_beyond(void **unused)
{
    struct motion_misfit worst;
    (void)unused;
    write_circle(20.0);
    mini_set(&b.host, "at_end", TRAJECTORY_LOOP);
    start();
    worst = motion_worst(evaluate, &b.host.instance, 0, 45000000000, 9700001);
    print_message("velocity %.2g, acceleration %.2g, rate %.2g, angular acceleration %.2g\n", worst.velocity_m_s,
                  worst.accel_m_s2, worst.rate_rad_s, worst.angular_accel_rad_s2);
    assert_true(worst.velocity_m_s < 1e-9);
    assert_true(worst.accel_m_s2 < 1e-8);
    assert_true(worst.rate_rad_s < 1e-10);
    assert_true(worst.angular_accel_rad_s2 < 1e-10);
}

static void a_tumbling_body_has_no_singular_attitude(void **unused)
{
    const oto_vec3 rate_body = {1.1, 2.3, -0.7};
    (void)unused;
    (void)fprintf(b.file, "t_s,x,y,z,qw,qx,qy,qz\n");
    for (double t = 0.0; t < 20.0; t += 0.02) {
        oto_quat q = oto_quat_from_rotvec(oto_vec3_scale(rate_body, t));
        (void)fprintf(b.file, "%.6f,0,0,%.6f,%.12f,%.12f,%.12f,%.12f\n", t, t, q.w, q.x, q.y, q.z);
    }
    set_texts(attitude_columns);
    start();
    for (double t = 3.0; t < 17.0; t += 0.0371) {
        struct oto_truth_record is = truth_at(t);
        assert_near(distance(is.angular_rate_body_rad_s, rate_body), 0.0, 1e-5);
        assert_near(oto_vec3_norm(is.angular_accel_body_rad_s2), 0.0, 1e-4);
    }
}

/* ---- frames ---- */

/* One place, one course, written in every frame that a file may have: the truth is the same. */
static void every_frame_and_direction_tells_the_same_drive(void **unused)
{
    static const char *const position[] = {"enu", "ecef", "geodetic"};
    (void)unused;
    (void)fclose(b.file);
    close_bench(NULL);
    for (int frame = 1; frame <= 3; frame++) {
        for (int attitude = 1; attitude <= 3; attitude++) {
            for (int flags = 0; flags < 4; flags++) {
                const oto_geodetic origin = {37.7 * OTO_DEG, -122.5 * OTO_DEG, 30.0};
                const oto_quat q_enu_from_ecef = oto_q_enu_from_ecef(origin.lat_rad, origin.lon_rad);
                const oto_quat q_enu_from_ned = oto_quat_from_mat3(oto_mat3_from_rows(
                    oto_vec3_make(0.0, 1.0, 0.0), oto_vec3_make(1.0, 0.0, 0.0), oto_vec3_make(0.0, 0.0, -1.0)));
                struct oto_truth_record is, should;
                open_bench(NULL);
                (void)fprintf(b.file, "t_s,x,y,z,vx,vy,vz,qw,qx,qy,qz\n");
                for (double t = 0.0; t < 4.0; t += 0.05) {
                    struct oto_truth_record now = circle(t);
                    oto_vec3 p = now.position_enu_m, v = now.velocity_enu_m_s;
                    oto_quat q = now.q_enu_from_body;
                    oto_geodetic place = oto_geodetic_from_enu(origin, p);
                    if (frame == ROWS_POSITION_ECEF) {
                        p = oto_ecef_from_geodetic(place);
                        v = oto_quat_rotate_inv(q_enu_from_ecef, v);
                    } else if (frame == ROWS_POSITION_GEODETIC) {
                        p = oto_vec3_make(place.lat_rad / OTO_DEG, place.lon_rad / OTO_DEG, place.alt_m);
                        v = oto_quat_rotate(oto_q_enu_from_ecef(place.lat_rad, place.lon_rad),
                                            oto_quat_rotate_inv(q_enu_from_ecef, v));
                    }
                    if (attitude == ROWS_ATTITUDE_ECEF)
                        q = oto_quat_mul(oto_quat_conj(q_enu_from_ecef), q);
                    else if (attitude == ROWS_ATTITUDE_NED)
                        q = oto_quat_mul(oto_quat_conj(q_enu_from_ned), q);
                    if ((flags & 1) != 0)
                        q = oto_quat_mul(q, oto_quat_from_rpy(OTO_PI, 0.0, 0.0));
                    if ((flags & 2) != 0)
                        q = oto_quat_conj(q);
                    (void)fprintf(b.file, "%.6f,%.12g,%.12g,%.12g,%.9f,%.9f,%.9f,%.12f,%.12f,%.12f,%.12f\n", t, p.x, p.y,
                                  p.z, v.x, v.y, v.z, q.w, q.x, q.y, q.z);
                }
                mini_set(&b.host, "position_frame", frame);
                mini_set(&b.host, "attitude_frame", attitude);
                mini_set(&b.host, "frame", (flags & 1) != 0 ? ROWS_FRD : ROWS_FLU);
                mini_set(&b.host, "attitude_direction", (flags & 2) != 0 ? ROWS_BODY_FROM_FRAME : ROWS_FRAME_FROM_BODY);
                set_texts(velocity_columns);
                set_texts(attitude_columns);
                start();
                is = truth_at(2.0);
                should = circle(2.0);
                if (distance(is.position_enu_m, should.position_enu_m) > 1e-3)
                    fail_msg("%s comes out elsewhere", position[frame - 1]);
                assert_near(distance(is.velocity_enu_m_s, should.velocity_enu_m_s), 0.0, 1e-4);
                assert_near(oto_quat_angle_between(is.q_enu_from_body, should.q_enu_from_body), 0.0, 1e-6);
                assert_int_equal(b.host.warnings, 0);
                close_bench(NULL);
            }
        }
    }
    open_bench(NULL);
    (void)fclose(b.file);
}

static void an_attitude_read_the_wrong_way_is_warned_of(void **unused)
{
    (void)unused;
    write_circle(20.0);
    mini_set(&b.host, "attitude_direction", ROWS_BODY_FROM_FRAME);
    start();
    assert_int_equal(b.host.warnings, 1);
    assert_non_null(strstr(b.host.last_warning, "attitude_direction"));
}

static void a_body_upside_down_is_warned_of(void **unused)
{
    (void)unused;
    write_circle(20.0);
    mini_set(&b.host, "frame", ROWS_FRD);
    start();
    assert_int_equal(b.host.warnings, 1);
    assert_non_null(strstr(b.host.last_warning, "points down"));
}

static void without_attitude_the_body_looks_where_it_goes(void **unused)
{
    (void)unused;
    write_circle(20.0);
    set_texts((const char *const[]){"columns.attitude_w", "", "columns.attitude_x", "", "columns.attitude_y", "",
                                    "columns.attitude_z", "", NULL});
    start();
    for (double t = 1.0; t < 18.0; t += 0.31) {
        struct oto_truth_record is = truth_at(t);
        oto_vec3 forward = oto_quat_rotate(is.q_enu_from_body, oto_vec3_make(1.0, 0.0, 0.0));
        oto_vec3 left = oto_quat_rotate(is.q_enu_from_body, oto_vec3_make(0.0, 1.0, 0.0));
        assert_near(distance(forward, oto_vec3_normalize(is.velocity_enu_m_s)), 0.0, 1e-5);
        assert_near(left.z, 0.0, 1e-5);
    }
}

/* ---- standstill and ends ---- */

/* Drives 5 s, stands 6 s while positions and velocities jitter, and drives on. */
static void write_stop(void)
{
    (void)fprintf(b.file, "t_s,x,y,z,vx,vy,vz\n");
    for (int i = 0; i < 320; i++) {
        double t = i * 0.05, jitter = ((i * 7919) % 11 - 5) * 0.002;
        double s = t < 5.0 ? 5.0 - t : t < 11.0 ? 0.0 : t - 11.0;
        double x = t < 5.0 ? 25.0 - s * s : t < 11.0 ? 25.0 : 25.0 + s * s;
        (void)fprintf(b.file, "%.3f,%.6f,%.6f,0,%.6f,%.6f,0\n", t, x + jitter, jitter, 2.0 * s + jitter, jitter);
    }
    set_texts(velocity_columns);
}

static void a_standstill_is_held_and_not_rung_through(void **unused)
{
    struct oto_truth_record first, now;
    (void)unused;
    write_stop();
    start();
    first = truth_at(5.2);
    assert_near(first.position_enu_m.x, 25.0, 0.01);
    for (double t = 5.2; t < 10.8; t += 0.0173) {
        now = truth_at(t);
        assert_near(oto_vec3_norm(now.velocity_enu_m_s), 0.0, 0.0);
        assert_near(oto_vec3_norm(now.accel_enu_m_s2), 0.0, 0.0);
        assert_near(oto_vec3_norm(now.angular_rate_body_rad_s), 0.0, 0.0);
        assert_memory_equal(&now.position_enu_m, &first.position_enu_m, sizeof(oto_vec3));
        assert_memory_equal(&now.q_enu_from_body, &first.q_enu_from_body, sizeof(oto_quat));
    }
    assert_true(truth_at(13.0).longitudinal_speed_m_s > 3.8);
}

static void without_hold_the_jitter_is_there(void **unused)
{
    (void)unused;
    write_stop();
    mini_set(&b.host, "standstill.speed_m_s", 0.0);
    start();
    assert_true(oto_vec3_norm(truth_at(8.0).accel_enu_m_s2) > 0.0);
}

static void after_the_last_row_it_comes_to_rest_smoothly_and_stays(void **unused)
{
    struct oto_truth_record last, before, after;
    (void)unused;
    write_circle(20.0);
    start();
    evaluate(&b.host.instance, (struct oto_instant){19949999999, 0.9}, &before);
    evaluate(&b.host.instance, (struct oto_instant){19950000001, 0.0}, &after);
    assert_near(distance(before.position_enu_m, after.position_enu_m), 0.0, 1e-6);
    assert_near(distance(before.velocity_enu_m_s, after.velocity_enu_m_s), 0.0, 1e-6);
    assert_near(distance(before.accel_enu_m_s2, after.accel_enu_m_s2), 0.0, 1e-6);
    assert_near(distance(before.angular_rate_body_rad_s, after.angular_rate_body_rad_s), 0.0, 1e-6);
    assert_near(distance(before.angular_accel_body_rad_s2, after.angular_accel_body_rad_s2), 0.0, 1e-6);
    last = truth_at(40.0);
    assert_near(oto_vec3_norm(last.velocity_enu_m_s) + oto_vec3_norm(last.angular_rate_body_rad_s), 0.0, 0.0);
    assert_memory_equal(&last, (after = truth_at(1e6), &after), sizeof last);
}

static void a_loop_begins_again_from_rest(void **unused)
{
    struct oto_truth_record truth;
    double lap_s = 0.0;
    (void)unused;
    write_circle(20.0);
    mini_set(&b.host, "at_end", TRAJECTORY_LOOP);
    start();
    for (double t = 20.0; t < 60.0 && lap_s == 0.0; t += 0.001)
        if (distance(truth_at(t).position_enu_m, truth_at(0.0).position_enu_m) < 0.02)
            lap_s = t;
    assert_true(lap_s > 25.0);
    for (double t = 19.95; t < lap_s; t += 0.01)
        assert_true(oto_vec3_norm(truth_at(t).accel_enu_m_s2) < 6.0);
    truth = truth_at(lap_s + 3.0);
    assert_near(distance(truth.position_enu_m, truth_at(3.0).position_enu_m), 0.0, 0.05);
}

static void the_offset_moves_time_zero_into_the_file(void **unused)
{
    (void)unused;
    write_circle(20.0);
    mini_set(&b.host, "start_offset_s", 4.25);
    start();
    assert_near(distance(truth_at(6.0).position_enu_m, circle(10.25).position_enu_m), 0.0, 3e-5);
}

/* ---- bad files ---- */

static void write_lines(const char *text)
{
    (void)fputs(text, b.file);
}

static void time_that_goes_back_is_refused_with_its_row(void **unused)
{
    (void)unused;
    write_lines("t_s,x,y,z\n0,0,0,0\n1,1,0,0\n2,2,0,0\n1.5,3,0,0\n3,4,0,0\n");
    refused("row 4 has a decreasing time, from 2 s to 1.5 s");
    assert_non_null(strstr(b.host.error.text, b.path));
}

static void a_stamp_that_stands_twice_is_refused_with_its_row(void **unused)
{
    (void)unused;
    write_lines("t_s,x,y,z\n0,0,0,0\n1,1,0,0\n1,2,0,0\n3,4,0,0\n");
    refused("row 3 has the time 1 s of the row before it");
}

static void too_few_rows_are_refused(void **unused)
{
    (void)unused;
    write_lines("t_s,x,y,z\n0,0,0,0\n1,1,0,0\n");
    refused("has 2 rows; a trajectory takes at least 4");
}

static void a_quaternion_that_is_no_unit_is_refused_with_its_row(void **unused)
{
    (void)unused;
    write_lines("t_s,x,y,z,qw,qx,qy,qz\n0,0,0,0,1,0,0,0\n1,1,0,0,1,0,0,0\n2,2,0,0,0.9,0,0,0\n3,3,0,0,1,0,0,0\n");
    set_texts(attitude_columns);
    refused("row 3 has an attitude quaternion of length 0.9");
}

static void a_column_that_is_not_there_is_named(void **unused)
{
    (void)unused;
    write_lines("t_s,x,y,height\n0,0,0,0\n1,1,0,0\n2,2,0,0\n3,3,0,0\n");
    refused("'z'");
}

static void half_a_group_of_columns_is_refused(void **unused)
{
    (void)unused;
    write_lines("t_s,x,y,z,vx\n0,0,0,0,1\n1,1,0,0,1\n2,2,0,0,1\n3,3,0,0,1\n");
    set_text("columns.velocity_x", "vx");
    refused("1 of 3 columns are named");
}

static void metres_where_degrees_or_the_earth_are_meant_are_refused(void **unused)
{
    (void)unused;
    write_lines("t_s,x,y,z\n0,500,0,0\n1,501,0,0\n2,502,0,0\n3,503,0,0\n");
    mini_set(&b.host, "position_frame", ROWS_POSITION_GEODETIC);
    refused("latitude 500");
    mini_set(&b.host, "position_frame", ROWS_POSITION_ECEF);
    assert_int_not_equal(mini_prepare(&b.host), OTO_OK);
    assert_non_null(strstr(b.host.error.text, "centre of the Earth"));
}

static void a_file_that_is_mostly_gap_is_refused(void **unused)
{
    (void)unused;
    write_lines("t_s,x,y,z\n0,0,0,0\n0.1,1,0,0\n0.2,2,0,0\n0.3,3,0,0\n900000,4,0,0\n");
    refused("gaps");
}

static void what_is_not_a_number_is_refused_in_the_model_too(void **unused)
{
    const double values[] = {0, 0, 0, 0, 1, 0, NAN, 0, 2, 0, 0, 0, 3, 0, 0, 0};
    const char *const names[] = {"t", "px", "py", "pz"};
    const struct rows_layout layout = {.columns = 4, .position = 1, .names = names, .path = "f.csv"};
    const struct rows_convention convention = {1, 1, 1, 1, 1, {0, 0, 0}};
    double t_s[4];
    oto_vec3 position[4];
    struct rows rows = {4, t_s, position, NULL, NULL};
    struct oto_error error;
    (void)unused;
    (void)fclose(b.file);
    assert_int_not_equal(rows_read(&rows, values, &layout, &convention, &error), OTO_OK);
    assert_non_null(strstr(error.text, "f.csv: row 2 has nan in column py"));
}

static void a_drive_far_from_the_origin_is_warned_of(void **unused)
{
    (void)unused;
    write_lines("t_s,x,y,z\n0,2e5,0,0\n1,200001,0,0\n2,200002,0,0\n3,200003,0,0\n4,200004,0,0\n");
    start();
    assert_int_equal(b.host.warnings, 1);
    assert_non_null(strstr(b.host.last_warning, "200 km"));
}

/* ---- the recorded drive ---- */

static void the_recorded_drive_stays_with_its_rows(void **unused)
{
    char path[512];
    struct oto_table pose;
    const char *const columns[] = {"t_s", "x_ecef", "y_ecef", "z_ecef", "vx_ecef", "vy_ecef", "vz_ecef"};
    const oto_geodetic origin = {37.7211 * OTO_DEG, -122.4723 * OTO_DEG, 50.0};
    double square_m = 0.0, square_m_s = 0.0;
    (void)unused;
    (void)fclose(b.file);
    set_text("path", oto_shared_file(path, sizeof path, "data/drive_comma2k19/pose.csv"));
    set_texts((const char *const[]){"columns.position_x", "x_ecef", "columns.position_y", "y_ecef",
                                    "columns.position_z", "z_ecef", "columns.velocity_x", "vx_ecef",
                                    "columns.velocity_y", "vy_ecef", "columns.velocity_z", "vz_ecef", NULL});
    set_texts(attitude_columns);
    mini_set(&b.host, "position_frame", ROWS_POSITION_ECEF);
    mini_set(&b.host, "attitude_frame", ROWS_ATTITUDE_ECEF);
    mini_set(&b.host, "frame", ROWS_FRD);
    b.host.setup.origin_latitude_rad = origin.lat_rad;
    b.host.setup.origin_longitude_rad = origin.lon_rad;
    b.host.setup.origin_altitude_m = origin.alt_m;
    mini_start(&b.host);
    assert_int_equal(b.host.warnings, 0);
    assert_ok(oto_table_read(path, columns, 7, &pose, &b.host.error), b.host.error);
    for (uint64_t r = 0; r + 1 < pose.rows; r++) {
        const double *row = pose.values + r * 7;
        struct oto_truth_record truth = truth_at(row[0] - pose.values[0]);
        oto_quat q = oto_q_enu_from_ecef(origin.lat_rad, origin.lon_rad);
        oto_vec3 p = oto_quat_rotate(q, oto_vec3_sub(oto_vec3_from_array(row + 1), oto_ecef_from_geodetic(origin)));
        square_m += pow(distance(truth.position_enu_m, p), 2.0);
        square_m_s += pow(distance(truth.velocity_enu_m_s, oto_quat_rotate(q, oto_vec3_from_array(row + 4))), 2.0);
        assert_true(truth.longitudinal_speed_m_s > 7.0 && truth.longitudinal_speed_m_s < 21.0);
    }
    print_message("rms %.4f m, %.4f m/s from %d rows\n", sqrt(square_m / (double)pose.rows),
                  sqrt(square_m_s / (double)pose.rows), (int)pose.rows);
    assert_true(sqrt(square_m / (double)pose.rows) < 0.05);
    assert_true(sqrt(square_m_s / (double)pose.rows) < 0.05);
    oto_table_free(&pose);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)
    const struct CMUnitTest tests[] = {
        TEST(a_circle_comes_out_as_the_circle),
        TEST(truth_is_its_own_derivatives_up_to_the_ends_and_beyond),
        TEST(a_tumbling_body_has_no_singular_attitude),
        TEST(every_frame_and_direction_tells_the_same_drive),
        TEST(an_attitude_read_the_wrong_way_is_warned_of),
        TEST(a_body_upside_down_is_warned_of),
        TEST(without_attitude_the_body_looks_where_it_goes),
        TEST(a_standstill_is_held_and_not_rung_through),
        TEST(without_hold_the_jitter_is_there),
        TEST(after_the_last_row_it_comes_to_rest_smoothly_and_stays),
        TEST(a_loop_begins_again_from_rest),
        TEST(the_offset_moves_time_zero_into_the_file),
        TEST(time_that_goes_back_is_refused_with_its_row),
        TEST(a_stamp_that_stands_twice_is_refused_with_its_row),
        TEST(too_few_rows_are_refused),
        TEST(a_quaternion_that_is_no_unit_is_refused_with_its_row),
        TEST(a_column_that_is_not_there_is_named),
        TEST(half_a_group_of_columns_is_refused),
        TEST(metres_where_degrees_or_the_earth_are_meant_are_refused),
        TEST(a_file_that_is_mostly_gap_is_refused),
        TEST(what_is_not_a_number_is_refused_in_the_model_too),
        TEST(a_drive_far_from_the_origin_is_warned_of),
        TEST(the_recorded_drive_stays_with_its_rows),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
