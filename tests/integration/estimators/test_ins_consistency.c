/*
 * The inertial navigation over simulated drives: exact truth through the model of mems_imu, aids with the noise that the filter's parameters state. NEES over 9 states and NIS in the 95 % bounds of the chi-square distribution over 50 seeds.
 */

#include "dice.h"
#include "drive.h"
#include "imu_model.h"
#include "log_run.h"
#include "num_filter.h"

enum { SEEDS = 50, RATE_HZ = 100, SECONDS = 40, ROWS = 7, FIRST_CHECK_S = 6, CHECKS = SECONDS - FIRST_CHECK_S + 1 };

static const oto_vec3 gravity_enu_m_s2 = {0, 0, -9.80665}, field_enu_ut = {1.5, 21.0, -43.0};
static const oto_vec3 imu_body_m = {0.3, -0.2, 0.5}, rear_axle_m = {-1.4, 0, 0}, antenna_m = {-0.5, 0.1, 1.5};

/* Parameters of the filter; the truth is made with the same numbers. */
static const char common[] =
    "gyroscope: {noise_density_rad_s_rthz: 2e-4, bias_sigma_rad_s: 0.004, bias_walk_rad_s_rts: 2e-5}\n"
    "accelerometer: {noise_density_m_s2_rthz: 2e-3, bias_sigma_m_s2: 0.08, bias_walk_m_s2_rts: 3e-4}\n"
    "align: {from: rest, heading: magnetometer, duration_s: 1}\n"
    "initial: {position_sigma_m: 1, velocity_sigma_m_s: 0.002}\n"
    "odometer: {sigma_m_s: 0.05, position_m: [-1.4, 0, 0], scale_sigma: 0.02, slip_sigma_percent_m_s2: 0}\n"
    "magnetometer: {sigma_deg: 2}\n"
    "position: {sigma_m: [0.8, 0.8, 1.2], position_m: [-0.5, 0.1, 1.5]}\n";
static const char constrained[] = "nonholonomic: {sigma_m_s: 0.05}\nzero_velocity: {rate_hz: 5}\n";
static const char unconstrained[] = "nonholonomic: {rate_hz: 0}\nzero_velocity: {rate_hz: 0}\n";

struct sums {
    double nees[SECONDS + 1]; /* at whole seconds */
    double nis[ROWS];
    uint64_t nis_rows[ROWS], used[ROWS];
    double position_error_m, yaw_error_rad; /* mean squares at the end */
    double speed_scale_error, speed_scale_sigma;
};

static void take_record(struct log_run *run, uint32_t port, int64_t t_ns, const void *payload)
{
    struct sums *sums = run->user;
    if (port == 0 && t_ns % 1000000000 == 0) {
        sums->nees[t_ns / 1000000000] += ((const struct oto_estimate_record *)payload)->nees;
    }
    for (uint32_t i = 0; port == 2 && i < ROWS; i++) {
        const struct num_filter_innovation_record *record = payload;
        if (record->used[i] == sums->used[i] + 1 && t_ns > FIRST_CHECK_S * INT64_C(1000000000)) {
            sums->nis[i] += record->nis[i];
            for (uint32_t k = 0; k < 3; k++) {
                sums->nis_rows[i] += record->sigma[3 * i + k] > 0.0;
            }
        }
        sums->used[i] = record->used[i];
    }
}

/* ---- sensors ---- */

struct rig {
    struct imu_plan plan;
    struct imu_state state;
    oto_quat q_body_from_sensor;
    struct dice dice;
    double scale;
};

static void make_rig(struct rig *rig, uint64_t seed)
{
    struct imu_params params;
    struct oto_error error = {0};
    memset(&params, 0, sizeof params);
    params.law.temperature_degc = 25;
    for (int i = 0; i < 3; i++) {
        params.gyroscope.noise_density_u_rthz[i] = 2e-4;
        params.gyroscope.turn_on_bias_u[i] = 0.004;
        params.gyroscope.random_walk_u_rthz[i] = 2e-5;
        params.accelerometer.noise_density_u_rthz[i] = 2e-3;
        params.accelerometer.turn_on_bias_u[i] = 0.08;
        params.accelerometer.random_walk_u_rthz[i] = 3e-4;
    }
    struct num_triad_params *triads[] = {&params.gyroscope, &params.accelerometer, &params.magnetometer};
    for (int i = 0; i < 3; i++) {
        triads[i]->bias_instability_tau_min_s = 1;
        triads[i]->bias_instability_tau_max_s = 1000;
    }
    memset(rig, 0, sizeof *rig);
    assert_ok(imu_prepare(&params, RATE_HZ, oto_rng_key_make(seed, "car/imu"), oto_rng_key_make(0, "part/1"), &rig->plan, &error), error);
    imu_init(&rig->plan, &rig->state);
    rig->q_body_from_sensor = oto_quat_from_rpy(0.1, -0.05, 1.5);
    rig->dice = (struct dice){oto_rng_key_make(seed, "aids"), 0};
    rig->scale = 1.0 + 0.02 * dice_normal(&rig->dice);
}

static void measure_imu(struct rig *rig, uint64_t n, const struct oto_truth_record *truth, double *z)
{
    struct oto_imu_record record;
    uint32_t saturated = 0;
    const oto_vec3 none = oto_vec3_zero();
    const oto_vec3 force = oto_quat_rotate_inv(rig->q_body_from_sensor, drive_force(truth, imu_body_m, gravity_enu_m_s2));
    const oto_vec3 rate = oto_quat_rotate_inv(rig->q_body_from_sensor, truth->angular_rate_body_rad_s);
    const struct imu_truth felt = {n, &force, &rate, &none, 25};
    memset(&record, 0, sizeof record);
    assert_true(imu_measure(&rig->plan, &rig->state, &felt, &record, &saturated, NULL, NULL));
    oto_vec3_to_array(record.angular_velocity_rad_s, z);
    oto_vec3_to_array(record.linear_acceleration_m_s2, z + 3);
}

/* A field whose noise gives the heading 2 degrees, in tesla. */
static void measure_field(struct rig *rig, const struct oto_truth_record *truth, double *z)
{
    const double sigma_ut = 2 * OTO_DEG * hypot(field_enu_ut.x, field_enu_ut.y);
    oto_vec3_to_array(oto_quat_rotate_inv(truth->q_enu_from_body, field_enu_ut), z);
    for (int i = 0; i < 3; i++) {
        z[i] = 1e-6 * (z[i] + sigma_ut * dice_normal(&rig->dice));
    }
}

static void measure_fix(struct rig *rig, const struct oto_truth_record *truth, double *z)
{
    const double sigma_m[] = {0.8, 0.8, 1.2};
    oto_vec3_to_array(oto_vec3_add(truth->position_enu_m, oto_quat_rotate(truth->q_enu_from_body, antenna_m)), z);
    for (int i = 0; i < 3; i++) {
        z[i] += sigma_m[i] * dice_normal(&rig->dice);
    }
}

static const char *const imu_names[] = {"angular_velocity.x", "angular_velocity.y", "angular_velocity.z", "linear_acceleration.x",
                                        "linear_acceleration.y", "linear_acceleration.z", NULL};
static const char *const odometer_names[] = {"speed_m_s", NULL};
static const char *const field_names[] = {"magnetic_field.x", "magnetic_field.y", "magnetic_field.z", NULL};
static const char *const fix_names[] = {"position_enu_m.x", "position_enu_m.y", "position_enu_m.z", NULL};
static const char *const truth_names[] = {"position_enu_m.x", "position_enu_m.y", "position_enu_m.z", "velocity_enu_m_s.x",
                                          "velocity_enu_m_s.y", "velocity_enu_m_s.z", "q_enu_from_body.w", "q_enu_from_body.x",
                                          "q_enu_from_body.y", "q_enu_from_body.z", NULL};

static void add_truth(struct log_run *run, struct oto_log *log, int64_t t_ns, const struct oto_truth_record *truth)
{
    double z[10];
    oto_vec3_to_array(truth->position_enu_m, z);
    oto_vec3_to_array(truth->velocity_enu_m_s, z + 3);
    memcpy(z + 6, &truth->q_enu_from_body, sizeof truth->q_enu_from_body);
    log_run_add(run, log, t_ns, z);
}

/* Odometer at 20 Hz, magnetometer at 10, fixes at 1. */
static void fill_logs(struct log_run *run, struct rig *rig)
{
    struct oto_log *imu = log_run_input(run, "imu", imu_names), *odometer = log_run_input(run, "odometer", odometer_names),
                   *field = log_run_input(run, "magnetometer", field_names), *fixes = log_run_input(run, "position", fix_names),
                   *known = log_run_input(run, "truth", truth_names);
    struct drive drive = {0, {0, 0, 0}};
    double z[6], start[2] = {dice_normal(&rig->dice), dice_normal(&rig->dice)};
    drive.position_enu_m = oto_vec3_make(start[0], start[1], dice_normal(&rig->dice)); /* as position_sigma_m says */
    for (int n = 1; n <= SECONDS * RATE_HZ; n++) {
        const int64_t t_ns = n * INT64_C(10000000);
        const struct oto_truth_record truth = drive_truth(&drive, (double)n / RATE_HZ);
        measure_imu(rig, (uint64_t)n, &truth, z);
        log_run_add(run, imu, t_ns, z);
        if (n % 5 == 0) {
            z[0] = rig->scale * drive_point_velocity(&truth, rear_axle_m).x;
            z[0] += z[0] != 0.0 ? 0.05 * dice_normal(&rig->dice) : 0.0;
            log_run_add(run, odometer, t_ns, z);
        }
        if (n % 10 == 0) {
            measure_field(rig, &truth, z);
            log_run_add(run, field, t_ns, z);
        }
        if (n % RATE_HZ == 50) {
            measure_fix(rig, &truth, z);
            log_run_add(run, fixes, t_ns, z);
        }
        add_truth(run, known, t_ns, &truth);
    }
}

static void run_seed(uint64_t seed, const char *more, struct sums *sums)
{
    struct log_run run;
    struct rig rig;
    char yaml[2048];
    (void)snprintf(yaml, sizeof yaml, "%s%s", common, more);
    log_run_open(&run, "ins_ekf", NULL, yaml);
    make_rig(&rig, seed);
    oto_estimate_setup(run.estimate)->mag_field_enu_ut = field_enu_ut;
    oto_estimate_setup(run.estimate)->gravity_enu_m_s2 = gravity_enu_m_s2;
    fill_logs(&run, &rig);
    assert_ok(oto_estimate_mount(run.estimate, "imu", imu_body_m, rig.q_body_from_sensor, &run.error), run.error);
    run.each = take_record;
    run.user = sums;
    memset(sums->used, 0, sizeof sums->used);
    log_run_execute(&run);
    const struct oto_estimate_record *last = (const struct oto_estimate_record *)run.last[0];
    const struct num_filter_state_record *state = (const struct num_filter_state_record *)run.last[1];
    assert_int_equal(last->status, OTO_ESTIMATE_RUNNING);
    assert_int_equal(last->refused + last->late + last->singular, 0);
    sums->position_error_m += (state->error[0] * state->error[0] + state->error[1] * state->error[1]) / SEEDS;
    sums->yaw_error_rad += state->error[8] * state->error[8] / SEEDS;
    sums->speed_scale_error += pow(last->speed_scale - rig.scale, 2) / SEEDS;
    sums->speed_scale_sigma += last->speed_scale_sigma / SEEDS;
    log_run_close(&run);
}

static uint32_t times_inside(const struct sums *sums, const struct band *band, double *mean)
{
    uint32_t inside = 0;
    *mean = 0;
    for (int s = FIRST_CHECK_S; s <= SECONDS; s++) {
        const double nees = sums->nees[s] / SEEDS;
        inside += nees >= band->low && nees <= band->high;
        *mean += nees / CHECKS;
    }
    return inside;
}

static void run_all(const char *name, const char *more, struct sums *sums)
{
    const struct band band = band_of(SEEDS, 9);
    double mean;
    memset(sums, 0, sizeof *sums);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_seed(seed, more, sums);
    }
    const uint32_t inside = times_inside(sums, &band, &mean);
    print_message("%s: NEES %.3f on average, at the end %.3f in [%.3f, %.3f], %u of %d times inside; errors at the end "
                  "%.3f m, %.3f deg, scale %.5f (told %.5f)\n", name, mean, sums->nees[SECONDS] / SEEDS, band.low, band.high,
                  inside, CHECKS, sqrt(sums->position_error_m), sqrt(sums->yaw_error_rad) / OTO_DEG,
                  sqrt(sums->speed_scale_error), sums->speed_scale_sigma);
}

/*
 * The mean of n squares of unit normals has a deviation of √(2/n); three of them. Seeds 51 to 450 have 0.9984, 0.9995 and 0.9982, within one
 * and a half of theirs.
 */
static void assert_nis(const struct sums *sums, uint32_t row)
{
    const double n = (double)sums->nis_rows[row], mean = sums->nis[row] / n;
    print_message("  row %u: NIS %.4f, 1 ± %.4f\n", row, mean, 3.0 * sqrt(2.0 / n));
    assert_near(mean, 1.0, 3.0 * sqrt(2.0 / n));
}

/*
 * The constraint and the standstill are exact in the simulation, where the filter assumes noise: with them NEES may only be below its bounds.
 */
static void nees_and_nis_lie_in_their_bounds_over_50_seeds(void **unused)
{
    static struct sums plain, with;
    const struct band nees = band_of(SEEDS, 9);
    double mean;
    (void)unused;
    run_all("fixes, odometer, magnetometer", unconstrained, &plain);
    assert_true(plain.nees[SECONDS] / SEEDS >= nees.low && plain.nees[SECONDS] / SEEDS <= nees.high);
    assert_true(times_inside(&plain, &nees, &mean) >= CHECKS - 5); /* binomial(35, 0.95): fewer than 30 in 0.8 % of all cases */
    assert_nis(&plain, 0);
    assert_nis(&plain, 2);
    assert_nis(&plain, 3);

    run_all("with constraint and standstill", constrained, &with);
    for (int s = FIRST_CHECK_S; s <= SECONDS; s++) {
        assert_true(with.nees[s] / SEEDS <= nees.high);
    }
    assert_true(with.position_error_m < plain.position_error_m && with.speed_scale_error < plain.speed_scale_error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nees_and_nis_lie_in_their_bounds_over_50_seeds)};
    return cmocka_run_group_tests_name("ins_ekf consistency", tests, NULL, NULL);
}
