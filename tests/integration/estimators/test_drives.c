/* The ekf over recorded drives whose results are known; the data stand beside the checkout, without them it is skipped. */
#include <inttypes.h>
#include <stdlib.h>

#include "log_run.h"

#include "num_filter.h"

/* A line is L px py, or R rho phi rho_dot; then the time in µs and the truth. */
static void read_udacity(struct log_run *run, const char *path)
{
    static const char *const lidar_names[] = {"px", "py", NULL}, *const radar_names[] = {"rho", "phi", "rho_dot", NULL},
                             *const truth_names[] = {"px", "py", "vx", "vy", NULL};
    struct oto_log *lidar = log_run_input(run, "lidar", lidar_names), *radar = log_run_input(run, "radar", radar_names),
                   *truth = log_run_input(run, "truth", truth_names);
    FILE *file = fopen(path, "r");
    char kind;
    double z[3], known[4];
    int64_t t_us;
    while (fscanf(file, " %c", &kind) == 1) {
        const int count = kind == 'L' ? 2 : 3;
        for (int i = 0; i < count; i++) {
            assert_int_equal(fscanf(file, "%lf", &z[i]), 1);
        }
        assert_int_equal(fscanf(file, "%" SCNd64 " %lf %lf %lf %lf %*f %*f", &t_us, &known[0], &known[1], &known[2], &known[3]), 5);
        log_run_add(run, kind == 'L' ? lidar : radar, t_us * 1000, z);
        log_run_add(run, truth, t_us * 1000, known);
    }
    assert_int_equal(fclose(file), 0);
}

static void the_udacity_set_has_the_published_errors(void **unused)
{
    static const double rmse[] = {0.09723, 0.08538, 0.45085, 0.43959};
    struct log_run run;
    char path[512];
    (void)unused;
    (void)oto_shared_file(path, sizeof path, "data/motion/udacity_obj_pose_laser_radar.txt");
    log_run_open(&run, "ekf", "udacity_ekf.yaml", NULL);
    read_udacity(&run, path);
    log_run_execute(&run);
    const struct num_filter_state_record *state = (const struct num_filter_state_record *)run.last[1];
    assert_int_equal(state->truths, 500);
    for (int i = 0; i < 4; i++) {
        print_message("rmse %.6f\n", state->rmse[i]);
    }
    for (int i = 0; i < 4; i++) {
        assert_near(state->rmse[i], rmse[i], 0.5e-5); /* as it is printed */
    }
    log_run_close(&run);
}

/* The CSV of a .csv.gz of the data folder, unpacked into the test's own folder. */
static void bind_unpacked(struct log_run *run, const char *input, const char *name)
{
    char path[128], command[1200], file[64];
    (void)snprintf(path, sizeof path, "data/robot_localization/%s.csv.gz", name);
    char whole[512];
    (void)oto_shared_file(whole, sizeof whole, path);
    (void)snprintf(file, sizeof file, "%s.csv", name);
    (void)snprintf(command, sizeof command, "gzip -dc '%s' > %s", whole, file);
    assert_int_equal(system(command), 0);
    assert_ok(oto_log_read(file, &run->logs[run->log_count], &run->error), run->error);
    assert_ok(oto_estimate_bind(run->estimate, input, run->logs[run->log_count++], &run->error), run->error);
}

static void drive_ends_at(const char *params, const char *imu, const char *odom, oto_vec3 end, double tolerance_m)
{
    struct log_run run;
    log_run_open(&run, "ekf", params, NULL);
    bind_unpacked(&run, "imu", imu);
    bind_unpacked(&run, "odom", odom);
    log_run_execute(&run);
    const struct oto_estimate_record *last = (const struct oto_estimate_record *)run.last[0];
    const oto_vec3 off = oto_vec3_sub(last->position_enu_m, end);
    print_message("%s: ends %.4f %.4f %.4f, %.4f m off, allowed %.4f; used %lu gated %lu refused %lu late %lu\n", params,
                  last->position_enu_m.x, last->position_enu_m.y, last->position_enu_m.z, oto_vec3_norm(off), tolerance_m,
                  (unsigned long)last->used, (unsigned long)last->gated, (unsigned long)last->refused,
                  (unsigned long)last->late);
    assert_true(oto_vec3_norm(off) <= tolerance_m);
    assert_int_equal(last->refused + last->late + last->singular, 0);
    log_run_close(&run);
}

static void the_first_drive_of_robot_localization_ends_within_its_tolerance(void **unused)
{
    (void)unused;
    drive_ends_at("robot_localization_1.yaml", "bag1_imu", "bag1_odom", oto_vec3_make(-40.0454, -76.9988, -2.6974), 1.0452);
}

static void the_second_drive_of_robot_localization_ends_within_its_tolerance(void **unused)
{
    (void)unused;
    drive_ends_at("robot_localization_2.yaml", "bag2_imu", "bag2_odom", oto_vec3_make(1.0206, 3.4292, 0.7419), 0.1383);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_udacity_set_has_the_published_errors),
        cmocka_unit_test(the_first_drive_of_robot_localization_ends_within_its_tolerance),
        cmocka_unit_test(the_second_drive_of_robot_localization_ends_within_its_tolerance),
    };
    return cmocka_run_group_tests_name("drives", tests, NULL, NULL);
}
