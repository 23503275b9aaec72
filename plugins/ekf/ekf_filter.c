#include "ekf_filter.h"

#include <string.h>

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

void ekf_filter_init(const struct ekf_plan *plan, struct ekf_state *state)
{
    memset(state, 0, sizeof *state);
    state->model_hash = plan->model_hash;
    for (uint32_t i = 0; i < plan->n; i++) {
        state->x[i] = plan->initial[i];
        state->p[i * plan->n + i] = plan->initial_sigma[i] * plan->initial_sigma[i];
    }
    state->truths.nees = -1.0;
}

/* ---- prediction ---- */

/* Adds white noise in the rate of a state, constant within the step: q G Gᵀ with G = (dt²/2, dt). */
static void add_white_acceleration(const struct ekf_plan_noise *noise, uint32_t n, double dt_s, double *p)
{
    const double g = 0.5 * dt_s * dt_s;
    p[noise->state * n + noise->state] += noise->q * g * g;
    p[noise->state * n + noise->rate] += noise->q * g * dt_s;
    p[noise->rate * n + noise->state] += noise->q * g * dt_s;
    p[noise->rate * n + noise->rate] += noise->q * dt_s * dt_s;
}

static void add_random_walks(const struct ekf_plan *plan, double dt_s, double *p)
{
    for (uint32_t i = 0; i < plan->noise_count; i++) {
        const struct ekf_plan_noise *noise = &plan->noises[i];
        if (noise->rate == EKF_ABSENT) {
            p[noise->state * plan->n + noise->state] += noise->q * dt_s;
        }
    }
}

/*
 * Propagates over a substep. The integral of F(t) Q F(t)ᵀ is computed by the trapezoid rule: half of the noise before the
 * step, half after it.
 */
static bool substep(const struct ekf_plan *plan, double dt_s, double *x, double *p)
{
    double jacobian[NUM_MATRIX_MOST * NUM_MATRIX_MOST];
    if (plan->model->both(plan->constants, x, dt_s, jacobian, x) != OTO_OK) {
        return false;
    }
    add_random_walks(plan, 0.5 * dt_s, p);
    num_matrix_propagate(plan->n, jacobian, p);
    add_random_walks(plan, 0.5 * dt_s, p);
    for (uint32_t i = 0; i < plan->noise_count; i++) {
        if (plan->noises[i].rate != EKF_ABSENT) {
            add_white_acceleration(&plan->noises[i], plan->n, dt_s, p);
        }
    }
    return num_all_finite(x, plan->n) && num_all_finite(p, plan->n * plan->n);
}

bool ekf_filter_predict(const struct ekf_plan *plan, int64_t from_ns, int64_t to_ns, double *x, double *p)
{
    const uint32_t n = plan->n;
    const double gap_s = seconds(to_ns - from_ns);
    double next_x[OTO_MODEL_MAX_STATES], next_p[NUM_MATRIX_MOST * NUM_MATRIX_MOST];
    uint32_t steps = 1;
    if (to_ns == from_ns) {
        return true;
    }
    if (gap_s > plan->max_step_s) {
        const double wanted = gap_s / plan->max_step_s;
        steps = wanted < EKF_MOST_SUBSTEPS ? (uint32_t)wanted + 1u : EKF_MOST_SUBSTEPS;
    }
    memcpy(next_x, x, n * sizeof *x);
    memcpy(next_p, p, n * n * sizeof *p);
    for (uint32_t k = 0; k < steps; k++) {
        if (!substep(plan, gap_s / steps, next_x, next_p)) {
            return false;
        }
    }
    memcpy(x, next_x, n * sizeof *x);
    memcpy(p, next_p, n * n * sizeof *p);
    return true;
}

static bool advance(const struct ekf_plan *plan, struct ekf_state *state, int64_t t_ns)
{
    if (state->started == 0) {
        state->started = 1;
        state->time_ns = state->used_ns = t_ns;
    }
    if (t_ns <= state->time_ns) {
        return true;
    }
    ekf_filter_compare(plan, state, t_ns - 1);
    if (!ekf_filter_predict(plan, state->time_ns, t_ns, state->x, state->p)) {
        state->refused_predictions++;
        return false;
    }
    state->time_ns = t_ns;
    return true;
}

/* ---- the first measurement of a state ---- */

static void set_variance(uint32_t n, uint32_t state, double variance, double *p)
{
    for (uint32_t k = 0; k < n; k++) {
        p[state * n + k] = p[k * n + state] = 0.0;
    }
    p[state * n + state] = variance;
}

/* The only state on which row i of H depends; EKF_ABSENT if it depends on none or several. */
static uint32_t only_state(const struct num_kalman_row *row, uint32_t n, uint32_t i)
{
    uint32_t only = EKF_ABSENT;
    for (uint32_t s = 0; s < n; s++) {
        if (row->jacobian[i * n + s] != 0.0) {
            if (only != EKF_ABSENT) {
                return EKF_ABSENT;
            }
            only = s;
        }
    }
    return only;
}

/* Starts the position from range and bearing; their covariance is transformed to first order. */
static void start_from_polar(const struct ekf_plan *plan, struct ekf_state *state, const struct ekf_row *row,
                             const double *z, const double *noise)
{
    const uint32_t n = plan->n, places[2] = {plan->view.x, plan->view.y}, m = row->sensor.m;
    double place[2], d[4];
    ekf_place_of_range(&row->sensor, z, place, d);
    for (uint32_t i = 0; i < 2; i++) {
        state->x[places[i]] = place[i];
        if (row->initialise == EKF_STATE_AND_SIGMA) {
            set_variance(n, places[i], 0.0, state->p);
        }
    }
    for (uint32_t i = 0; row->initialise == EKF_STATE_AND_SIGMA && i < 2; i++) {
        for (uint32_t j = 0; j < 2; j++) {
            for (uint32_t a = 0; a < 4; a++) {
                state->p[places[i] * n + places[j]] += d[2 * i + a / 2] * noise[(a / 2) * m + a % 2] * d[2 * j + a % 2];
            }
        }
    }
}

static bool is_polar(const struct ekf_row *row)
{
    return row->sensor.function == EKF_RANGE_BEARING || row->sensor.function == EKF_RANGE_BEARING_RANGE_RATE;
}

static uint64_t observed_states(const struct ekf_plan *plan, const struct num_kalman_row *row)
{
    uint64_t told = 0;
    for (uint32_t i = 0; i < row->m; i++) {
        for (uint32_t s = 0; s < plan->n; s++) {
            told |= row->jacobian[i * plan->n + s] != 0.0 ? UINT64_C(1) << s : 0u;
        }
    }
    return told;
}

/*
 * Sets the states that no earlier measurement has observed but this one does. False if there are none: the measurement is
 * an ordinary one.
 */
static bool start_states(const struct ekf_plan *plan, struct ekf_state *state, const struct ekf_row *row,
                         const struct num_kalman_row *measured, const double *z)
{
    const uint32_t n = plan->n;
    if (is_polar(row)) {
        const uint64_t places = UINT64_C(1) << plan->view.x | UINT64_C(1) << plan->view.y;
        if ((state->measured & places) == 0) {
            start_from_polar(plan, state, row, z, measured->noise);
            state->measured |= places;
            return true;
        }
        return false;
    }
    if ((state->measured & observed_states(plan, measured)) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < measured->m; i++) {
        if (only_state(measured, n, i) == EKF_ABSENT) {
            return false;
        }
    }
    for (uint32_t i = 0; i < measured->m; i++) {
        const uint32_t s = only_state(measured, n, i);
        const double slope = measured->jacobian[i * n + s];
        state->x[s] += measured->innovation[i] / slope;
        if (row->initialise == EKF_STATE_AND_SIGMA) {
            set_variance(n, s, measured->noise[i * measured->m + i] / (slope * slope), state->p);
        }
    }
    state->measured |= observed_states(plan, measured);
    return true;
}

/* ---- measurement ---- */

/*
 * Evaluates h for a late measurement at the earlier state, which is the current state predicted backwards. The Jacobian is
 * with respect to the current state.
 */
static bool measure_past(const struct ekf_plan *plan, const struct ekf_state *state, const struct ekf_row *row,
                         int64_t t_ns, const double *z, struct num_kalman_row *measured)
{
    const uint32_t n = plan->n;
    double then[OTO_MODEL_MAX_STATES], back[NUM_MATRIX_MOST * NUM_MATRIX_MOST], h[NUM_KALMAN_ROWS * NUM_MATRIX_MOST];
    if (plan->model->both(plan->constants, state->x, seconds(t_ns - state->time_ns), back, then) != OTO_OK ||
        !num_all_finite(then, n) || !ekf_measure(&row->sensor, &plan->view, then, z, measured)) {
        return false;
    }
    memcpy(h, measured->jacobian, measured->m * n * sizeof *h);
    num_matrix_mul(measured->m, n, n, h, back, measured->jacobian);
    return true;
}

static void make_unit(const struct ekf_plan *plan, double *x)
{
    if (plan->view.qw != EKF_ABSENT) {
        double *q = x + plan->view.qw;
        const oto_quat unit = oto_quat_normalize(oto_quat_make(q[0], q[1], q[2], q[3]));
        q[0] = unit.w;
        q[1] = unit.x;
        q[2] = unit.y;
        q[3] = unit.z;
    }
}

static enum num_outcome update(const struct ekf_plan *plan, struct ekf_state *state, uint32_t index,
                               struct num_kalman_row *measured)
{
    double dx[NUM_MATRIX_MOST];
    const enum num_outcome outcome = num_filter_update(plan->n, measured, state->p, dx, &state->rows[index]);
    if (outcome == NUM_USED) {
        for (uint32_t s = 0; s < plan->n; s++) {
            state->x[s] += dx[s];
        }
        make_unit(plan, state->x);
        state->measured |= observed_states(plan, measured);
        state->nis = measured->nis;
        state->nis_rows = measured->m;
    }
    return outcome;
}

static enum num_outcome measure(const struct ekf_plan *plan, struct ekf_state *state, uint32_t index, int64_t t_ns,
                                const double *z, const double *noise)
{
    const struct ekf_row *row = &plan->rows[index];
    struct num_kalman_row measured;
    if (!num_all_finite(z, row->sensor.field_count)) {
        return NUM_REFUSED;
    }
    if (state->started != 0 && t_ns < state->time_ns && seconds(state->time_ns - t_ns) > plan->late_limit_s) {
        return NUM_LATE;
    }
    if (!advance(plan, state, t_ns)) {
        return NUM_REFUSED;
    }
    const bool past = t_ns < state->time_ns;
    const bool defined = past ? measure_past(plan, state, row, t_ns, z, &measured)
                              : ekf_measure(&row->sensor, &plan->view, state->x, z, &measured);
    measured.m = row->sensor.m;
    measured.considered = 0;
    memcpy(measured.noise, noise != NULL ? noise : row->noise, sizeof measured.noise);
    measured.gate = row->gate;
    if (row->initialise != EKF_NEVER && !past && (defined || is_polar(row)) &&
        start_states(plan, state, row, &measured, z)) {
        return NUM_USED;
    }
    return defined ? update(plan, state, index, &measured) : NUM_REFUSED;
}

enum num_outcome ekf_filter_measure(const struct ekf_plan *plan, struct ekf_state *state, uint32_t row, int64_t t_ns,
                                    const double *z, const double *noise)
{
    const enum num_outcome outcome = measure(plan, state, row, t_ns, z, noise);
    num_filter_count(&state->rows[row], outcome, t_ns);
    state->used_ns = outcome == NUM_USED && t_ns > state->used_ns ? t_ns : state->used_ns;
    return outcome;
}

/* ---- truth ---- */

void ekf_filter_truth(const struct ekf_plan *plan, struct ekf_state *state, int64_t t_ns, const double *truth)
{
    ekf_filter_compare(plan, state, t_ns - 1);
    state->pending = num_all_finite(truth, plan->truth_count) ? 1 : 0;
    state->pending_ns = t_ns;
    memcpy(state->truth, truth, plan->truth_count * sizeof *truth);
}

/* Adds the normalised squared error over the states whose truth is known. */
static void add_nees(const struct ekf_plan *plan, const double *p, struct num_filter_truths *truths)
{
    const uint32_t k = plan->truth_count;
    double part[NUM_MATRIX_MOST * NUM_MATRIX_MOST], e[OTO_MODEL_MAX_STATES];
    for (uint32_t i = 0; i < k; i++) {
        e[i] = truths->error[plan->truth_states[i]];
        for (uint32_t j = 0; j < k; j++) {
            part[i * k + j] = p[plan->truth_states[i] * plan->n + plan->truth_states[j]];
        }
    }
    num_filter_add_nees(truths, k, part, e);
}

void ekf_filter_compare(const struct ekf_plan *plan, struct ekf_state *state, int64_t t_ns)
{
    double x[OTO_MODEL_MAX_STATES], p[NUM_MATRIX_MOST * NUM_MATRIX_MOST];
    if (state->pending == 0 || state->pending_ns > t_ns) {
        return;
    }
    state->pending = 0;
    if (state->started == 0 || state->pending_ns < state->time_ns) {
        return; /* the filter has not started, or is past this time */
    }
    memcpy(x, state->x, plan->n * sizeof *x);
    memcpy(p, state->p, plan->n * plan->n * sizeof *p);
    if (!ekf_filter_predict(plan, state->time_ns, state->pending_ns, x, p)) {
        return;
    }
    for (uint32_t i = 0; i < plan->truth_count; i++) {
        const uint32_t s = plan->truth_states[i];
        const double e = x[s] - state->truth[i];
        state->truths.error[s] = plan->angles[s] != 0 ? oto_wrap_pi(e) : e;
        state->truths.square_sum[s] += state->truths.error[s] * state->truths.error[s];
    }
    add_nees(plan, p, &state->truths);
}
