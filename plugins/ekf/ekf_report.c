#include "ekf_report.h"

static double sigma_of(const struct ekf_plan *plan, const double *p, uint32_t state)
{
    return state != EKF_ABSENT ? num_sigma(p[state * plan->n + state]) : -1.0;
}

/* Standard deviations of a vector with known Jacobian; -1 along an axis that depends on no state. */
static oto_vec3 sigma_of_vector(const struct ekf_plan *plan, const double *p, const struct ekf_vector *vector)
{
    double sigma[3];
    for (uint32_t axis = 0; axis < 3; axis++) {
        const double *row = vector->j + axis * plan->n;
        bool told = false;
        for (uint32_t s = 0; s < plan->n; s++) {
            told = told || row[s] != 0.0;
        }
        sigma[axis] = told ? num_sigma(num_matrix_quadratic(plan->n, row, p)) : -1.0;
    }
    return oto_vec3_from_array(sigma);
}

/* Standard deviations of small rotations about body axes: E (droll, dpitch, dyaw), or 2 vec(q⁻¹ dq) for a quaternion. */
static oto_vec3 attitude_sigma(const struct ekf_plan *plan, const double *x, const double *p)
{
    const struct ekf_view *v = &plan->view;
    struct ekf_vector turn = {.v = {0}};
    if (v->qw != EKF_ABSENT) {
        const double w = x[v->qw], i = x[v->qw + 1], j = x[v->qw + 2], k = x[v->qw + 3];
        const double rows[3][4] = {{-i, w, k, -j}, {-j, -k, w, i}, {-k, j, -i, w}};
        for (uint32_t axis = 0; axis < 3; axis++) {
            for (uint32_t c = 0; c < 4; c++) {
                turn.j[axis * plan->n + v->qw + c] = 2.0 * rows[axis][c];
            }
        }
    } else if (v->roll != EKF_ABSENT && v->pitch != EKF_ABSENT && v->yaw != EKF_ABSENT) {
        const uint32_t places[3] = {v->roll, v->pitch, v->yaw};
        const oto_mat3 e = ekf_rates_from_angles(x[v->roll], x[v->pitch]);
        for (uint32_t axis = 0; axis < 3; axis++) {
            for (uint32_t c = 0; c < 3; c++) {
                turn.j[axis * plan->n + places[c]] = e.m[axis][c];
            }
        }
    } else {
        return oto_vec3_make(-1, -1, sigma_of(plan, p, v->yaw));
    }
    return sigma_of_vector(plan, p, &turn);
}

void ekf_report_estimate(const struct ekf_plan *plan, const struct ekf_state *state, const double *x, const double *p,
                         int64_t t_ns, struct oto_estimate_record *record)
{
    static const oto_vec3 unknown = {-1, -1, -1};
    const struct ekf_view *view = &plan->view;
    struct oto_truth_record truth = {.q_enu_from_body = {1, 0, 0, 0}};
    struct ekf_vector vector;
    plan->model->to_truth(plan->constants, x, &truth);
    record->position_enu_m = truth.position_enu_m;
    record->velocity_enu_m_s = truth.velocity_enu_m_s;
    record->q_enu_from_body = truth.q_enu_from_body;
    record->angular_rate_body_rad_s = truth.angular_rate_body_rad_s;
    record->speed_scale = 1.0;
    record->position_sigma_enu_m =
        oto_vec3_make(sigma_of(plan, p, view->x), sigma_of(plan, p, view->y), sigma_of(plan, p, view->z));
    record->velocity_sigma_enu_m_s = unknown;
    record->angular_rate_sigma_body_rad_s = unknown;
    if ((view->needs & EKF_VELOCITY) != 0) {
        ekf_enu_velocity(view, x, &vector);
        record->velocity_sigma_enu_m_s = sigma_of_vector(plan, p, &vector);
    }
    if ((view->needs & EKF_YAW_RATE) != 0 && ekf_body_rate(view, x, &vector)) {
        record->angular_rate_sigma_body_rad_s = sigma_of_vector(plan, p, &vector);
    }
    record->attitude_sigma_body_rad = attitude_sigma(plan, x, p);
    record->gyro_bias_sigma_sensor_rad_s = record->accel_bias_sigma_sensor_m_s2 = unknown;
    record->speed_scale_sigma = -1.0;
    record->nis = state->nis;
    record->nis_degrees = state->nis_rows;
    record->nees = state->truths.nees;
    record->nees_degrees = plan->truth_count;
    record->status = state->started != 0 ? OTO_ESTIMATE_RUNNING : OTO_ESTIMATE_ALIGNING;
    num_filter_sum(state->rows, plan->row_count, record);
    record->age_ns = state->started != 0 ? t_ns - state->used_ns : 0;
}

void ekf_report_state(const struct ekf_plan *plan, const struct ekf_state *state, const double *x, const double *p,
                      struct num_filter_state_record *record)
{
    for (uint32_t i = 0; i < plan->n; i++) {
        record->state[i] = x[i];
        record->sigma[i] = num_sigma(p[i * plan->n + i]);
    }
    num_filter_report_truths(&state->truths, plan->n, record);
    record->size = plan->n;
    record->model_hash = plan->model_hash;
}
