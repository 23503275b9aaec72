/*
 * Consistency of the ekf: truths made by the filter's own model and noise, measured with the noise that its parameters state. Then
 * NEES and NIS are chi-square, and their means over 50 seeds lie in the 95 % bounds of that distribution.
 */

#include "dice.h"
#include "log_run.h"
#include "num_filter.h"
#include "num_model.h"

enum { SEEDS = 50, STEPS = 200, CHECKS = 20 };
#define DT_S 0.1

struct walk {
    uint32_t state;
    double q;
};

struct scenario {
    const char *name, *yaml;
    const struct num_model *model;
    uint32_t n;
    double initial[6], sigma[6];
    struct walk walks[2];       /* random walks */
    uint32_t pairs[2][2];       /* white acceleration: state and its rate */
    uint32_t pair_count, walk_count;
    double pair_q;
    const char *const *truth_names;
    const char *const *names;   /* of the input "sensor" */
    void (*measure)(const double *x, struct dice *dice, double *z);
};

static void measure_position(const double *x, struct dice *dice, double *z)
{
    z[0] = x[0] + 0.5 * dice_normal(dice);
    z[1] = x[1] + 0.5 * dice_normal(dice);
}

static void measure_radar(const double *x, struct dice *dice, double *z)
{
    const double dx = x[0] + 100, dy = x[1] - 50, r = hypot(dx, dy);
    measure_position(x, dice, z);
    z[2] = r + 0.3 * dice_normal(dice);
    z[3] = atan2(dy, dx) + 0.01 * dice_normal(dice);
    z[4] = (x[2] * dx + x[3] * dy) / r + 0.2 * dice_normal(dice);
}

static void measure_ctrv(const double *x, struct dice *dice, double *z)
{
    measure_position(x, dice, z);
    z[2] = x[3] + 0.1 * dice_normal(dice);
    z[3] = x[2] + 0.05 * dice_normal(dice);
}

static void measure_catr(const double *x, struct dice *dice, double *z)
{
    measure_position(x, dice, z);
    z[2] = x[2] + 0.1 * dice_normal(dice);
    z[3] = x[5] + 0.02 * dice_normal(dice);
}

static const char *const cv_truth[] = {"x", "y", "vx", "vy", NULL}, *const cv_names[] = {"px", "py", "r", "b", "rr", NULL};
static const char *const ctrv_truth[] = {"x", "y", "yaw", "v", "w", NULL}, *const ctrv_names[] = {"px", "py", "v", "yaw", NULL};
static const char *const catr_truth[] = {"x", "y", "v", "a", "th", "w", NULL}, *const catr_names[] = {"px", "py", "v", "w", NULL};

#define INPUT "{input: sensor, "
static const struct scenario scenarios[] = {
    {"cv with position and radar",
     "model: constant_velocity\n"
     "initial: [{state: x, value: 10, sigma: 2}, {state: y, value: -5, sigma: 2}, {state: vx, value: 8, sigma: 1}, {state: vy, value: 3, sigma: 1}]\n"
     "process_noise: [{state: x, rate: vx, kind: white_acceleration, q: 0.25}, {state: y, rate: vy, kind: white_acceleration, q: 0.25}]\n"
     "measurements: [" INPUT "function: position, fields: px py, sigma: 0.5}, " INPUT
     "function: range_bearing_range_rate, fields: r b rr, sigma: [0.3, 0.01, 0.2], sensor_position_enu_m: [-100, 50, 0]}]\n"
     "truth: [{state: x, field: x}, {state: y, field: y}, {state: vx, field: vx}, {state: vy, field: vy}]\n",
     &num_model_constant_velocity, 4, {10, -5, 8, 3}, {2, 2, 1, 1}, {{0, 0}}, {{0, 2}, {1, 3}}, 2, 0, 0.25, cv_truth, cv_names, measure_radar},
    {"ctrv with position, speed and heading",
     "model: ctrv\n"
     "initial: [{state: x, value: 0, sigma: 1}, {state: y, value: 0, sigma: 1}, {state: yaw, value: 0.5, sigma: 0.1}, {state: v, value: 12, sigma: 0.5}, {state: w, value: 0.1, sigma: 0.05}]\n"
     "process_noise: [{state: v, q: 0.2}, {state: w, q: 0.002}]\n"
     "measurements: [" INPUT "function: position, fields: px py, sigma: 0.5}, " INPUT "function: body_speed, fields: v, sigma: 0.1}, " INPUT
     "function: heading, fields: yaw, sigma: 0.05}]\n"
     "truth: [{state: x, field: x}, {state: y, field: y}, {state: yaw, field: yaw}, {state: v, field: v}, {state: w, field: w}]\n",
     &num_model_ctrv, 5, {0, 0, 0.5, 12, 0.1}, {1, 1, 0.1, 0.5, 0.05}, {{3, 0.2}, {4, 0.002}}, {{0}}, 0, 2, 0, ctrv_truth, ctrv_names, measure_ctrv},
    {"catr with position, speed and yaw rate",
     "model: catr\n"
     "initial: [{state: x, value: 0, sigma: 1}, {state: y, value: 0, sigma: 1}, {state: v, value: 10, sigma: 0.5}, {state: a, value: 0.2, sigma: 0.2}, {state: th, value: -1, sigma: 0.1}, {state: w, value: 0.1, sigma: 0.05}]\n"
     "process_noise: [{state: a, q: 0.05}, {state: w, q: 0.002}]\n"
     "measurements: [" INPUT "function: position, fields: px py, sigma: 0.5}, " INPUT "function: body_speed, fields: v, sigma: 0.1}, " INPUT
     "function: yaw_rate, fields: w, sigma: 0.02}]\n"
     "truth: [{state: x, field: x}, {state: y, field: y}, {state: v, field: v}, {state: a, field: a}, {state: th, field: th}, {state: w, field: w}]\n",
     &num_model_catr, 6, {0, 0, 10, 0.2, -1, 0.1}, {1, 1, 0.5, 0.2, 0.1, 0.05}, {{3, 0.05}, {5, 0.002}}, {{0}}, 0, 2, 0, catr_truth, catr_names, measure_catr},
};

static void push(const struct scenario *s, double share, struct dice *dice, double *x)
{
    for (uint32_t i = 0; i < s->walk_count; i++) {
        x[s->walks[i].state] += sqrt(s->walks[i].q * DT_S * share) * dice_normal(dice);
    }
}

/* The truth moves as the filter believes: noise as in `process_noise`. */
static void move(const struct scenario *s, struct dice *dice, double *x)
{
    push(s, 0.5, dice, x);
    assert_int_equal(s->model->predict(NULL, x, DT_S, x), OTO_OK);
    push(s, 0.5, dice, x);
    for (uint32_t i = 0; i < s->pair_count; i++) {
        const double a = sqrt(s->pair_q) * dice_normal(dice);
        x[s->pairs[i][0]] += 0.5 * DT_S * DT_S * a;
        x[s->pairs[i][1]] += DT_S * a;
    }
}

struct sums {
    double nees[STEPS];
    double nis;
    uint64_t nis_count, nis_rows;
    uint32_t step;
    uint64_t used[NUM_FILTER_ROWS];
};

static void take_record(struct log_run *run, uint32_t port, int64_t t_ns, const void *payload)
{
    struct sums *sums = run->user;
    (void)t_ns;
    if (port == 0) {
        const struct oto_estimate_record *record = payload;
        assert_true(record->nees >= 0.0);
        sums->nees[sums->step++] += record->nees;
    }
    for (uint32_t i = 0; port == 2 && i < 3; i++) {
        const struct num_filter_innovation_record *record = payload;
        if (record->used[i] > sums->used[i]) {
            sums->used[i] = record->used[i];
            sums->nis += record->nis[i];
            sums->nis_count++;
            for (uint32_t k = 0; k < 3; k++) {
                sums->nis_rows += record->sigma[3 * i + k] > 0.0;
            }
        }
    }
}

static void run_seed(const struct scenario *s, uint64_t seed, struct sums *sums)
{
    struct log_run run;
    struct dice dice = {oto_rng_key_make(seed, s->name), 0};
    double x[6], z[8];
    log_run_open(&run, "ekf", NULL, s->yaml);
    run.each = take_record;
    run.user = sums;
    struct oto_log *sensor = log_run_input(&run, "sensor", s->names), *truth = log_run_input(&run, "truth", s->truth_names);
    for (uint32_t i = 0; i < s->n; i++) {
        x[i] = s->initial[i] + s->sigma[i] * dice_normal(&dice);
    }
    for (int k = 0; k < STEPS; k++) {
        if (k > 0) {
            move(s, &dice, x);
        }
        s->measure(x, &dice, z);
        log_run_add(&run, sensor, k * INT64_C(100000000), z);
        log_run_add(&run, truth, k * INT64_C(100000000), x);
    }
    sums->step = 0;
    memset(sums->used, 0, sizeof sums->used);
    log_run_execute(&run);
    log_run_close(&run);
}

static void check_scenario(const struct scenario *s)
{
    struct sums sums = {.nis = 0};
    uint32_t inside = 0;
    double all = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_seed(s, seed, &sums);
    }
    const struct band nees = band_of(SEEDS, s->n), nis = band_of((uint32_t)sums.nis_rows, 1);
    for (int k = STEPS / CHECKS - 1; k < STEPS; k += STEPS / CHECKS) {
        const double mean = sums.nees[k] / SEEDS;
        inside += mean >= nees.low && mean <= nees.high;
        all += mean / CHECKS;
    }
    print_message("%s: NEES %.3f on average, at the end %.3f in [%.3f, %.3f], %u of %u times inside; NIS a row %.4f in [%.4f, %.4f]\n", s->name, all,
                  sums.nees[STEPS - 1] / SEEDS, nees.low, nees.high, inside, CHECKS, sums.nis / (double)sums.nis_rows, nis.low, nis.high);
    assert_true(sums.nees[STEPS - 1] / SEEDS >= nees.low && sums.nees[STEPS - 1] / SEEDS <= nees.high);
    assert_true(inside >= CHECKS - 4); /* binomial(20, 0.95): fewer than 16 in 0.3 % of all cases */
    assert_true(sums.nis / (double)sums.nis_rows >= nis.low && sums.nis / (double)sums.nis_rows <= nis.high);
}

static void nees_and_nis_lie_in_their_bounds_over_50_seeds(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        check_scenario(&scenarios[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nees_and_nis_lie_in_their_bounds_over_50_seeds)};
    return cmocka_run_group_tests_name("ekf consistency", tests, NULL, NULL);
}
