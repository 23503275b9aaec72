/* An ekf with a host that has a truth and one sensor as its inputs, for tests that give it samples by hand. */
#ifndef EKF_RIG_H
#define EKF_RIG_H

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

static inline struct ekf_params *params_of(struct rig *rig)
{
    return rig->host.params;
}

static inline struct ekf_state *state_of(struct rig *rig)
{
    return rig->host.state;
}

/* A row as the binder leaves it by default. */
static inline struct ekf_measurement *add_row(struct rig *rig, int64_t function, const char *fields, double sigma)
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

static inline void add_initial(struct rig *rig, const char *state, double value, double sigma)
{
    struct ekf_initial *initial = &params_of(rig)->initial[params_of(rig)->initial_count++];
    (void)strcpy(initial->state, state);
    initial->value = value;
    initial->sigma = sigma;
}

static inline void add_noise(struct rig *rig, const char *state, const char *rate, double q)
{
    struct ekf_noise *noise = &params_of(rig)->noise[params_of(rig)->noise_count++];
    (void)strcpy(noise->state, state);
    (void)strcpy(noise->rate, rate);
    noise->kind = rate[0] != '\0' ? EKF_WHITE_ACCELERATION : EKF_RANDOM_WALK;
    noise->q = q;
}

/* model: index into num_models; constant velocity is 1. */
static inline void rig_open(struct rig *rig, int64_t model)
{
    memset(rig, 0, sizeof *rig);
    mini_open(&rig->host, 100, 1);
    params_of(rig)->model = model;
    rig->bindings[0] = (struct oto_input_binding){"truth", &oto_truth_type, "car/motion", "", 0, {0, 0, 0}, {1, 0, 0, 0}};
    rig->bindings[1] = (struct oto_input_binding){"sensor", &sensor_type, "car/sensor", "", 10, {0, 0, 0}, {1, 0, 0, 0}};
    rig->host.setup.estimator.inputs = rig->bindings;
    rig->host.setup.estimator.input_count = 2;
}

static inline enum oto_step_status give_input(struct rig *rig, uint32_t input, int64_t t_ns, int64_t now_ns, const void *payload)
{
    const struct oto_input_sample sample = {.input = input, .seq = 1, .t_ns = t_ns, .sensor_time_ns = t_ns, .payload = payload};
    struct oto_output outputs[3] = {{&rig->estimate, now_ns, now_ns, 0, 1}, {&rig->state, now_ns, now_ns, 0, 1},
                                    {&rig->innovation, now_ns, now_ns, 0, 1}};
    const struct oto_step step = {.size = sizeof step, .at = {now_ns, 0.0}, .outputs = outputs,
                                  .estimator = {.samples = &sample, .sample_count = payload != NULL}};
    memset(&rig->estimate, 0, sizeof rig->estimate);
    memset(&rig->state, 0, sizeof rig->state);
    memset(&rig->innovation, 0, sizeof rig->innovation);
    return otolith_plugin.ops->step(&rig->host.instance, &step);
}

static inline enum oto_step_status give(struct rig *rig, int64_t t_ns, int64_t now_ns, double a, double b)
{
    const struct sensor_record record = {.a = a, .b = b};
    return give_input(rig, 1, t_ns, now_ns, &record);
}

static const int64_t ms = 1000000;

static inline double normal_from(int n)
{
    return oto_normal_at(oto_rng_key_make(3, "ekf"), (uint64_t)n, 0, 0, 0);
}

/* Constant velocity with position fixes, as most tests here use it. */
static inline void open_cv(struct rig *rig, double q)
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

#endif
