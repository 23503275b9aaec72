#include "trajectory.h"

#include <string.h>

#include "num_truth.h"

void trajectory_spline(const struct trajectory *trajectory, double x_s, double value[7], double rate[7],
                       double accel[7])
{
    struct num_spline_basis basis;
    num_spline_basis_at(&trajectory->grid, x_s, &basis);
    num_spline_combine(&basis, trajectory->position, 3, value, rate, accel);
    num_spline_combine(&basis, trajectory->attitude, 4, value + 3, rate + 3, accel + 3);
}

/*
 * With s = tau/stop the rate is rate0·(2s³ - 3s² + 1) + accel0·stop·(s³ - 2s² + s); integral and derivative follow.
 * After `stop` the channel is at rest.
 */
static void come_to_rest(double tau_s, double stop_s, int channels, const double *value0, const double *rate0,
                         const double *accel0, double *value, double *rate, double *accel)
{
    double s = tau_s < stop_s ? tau_s / stop_s : 1.0, s2 = s * s, s3 = s2 * s, s4 = s2 * s2;
    double path_of_rate = stop_s * (0.5 * s4 - s3 + s), path_of_accel = stop_s * stop_s * (0.25 * s4 - 2.0 / 3.0 * s3 + 0.5 * s2);
    double rate_of_rate = 2.0 * s3 - 3.0 * s2 + 1.0, rate_of_accel = stop_s * (s3 - 2.0 * s2 + s);
    double accel_of_rate = 6.0 * (s2 - s) / stop_s, accel_of_accel = 3.0 * s2 - 4.0 * s + 1.0;
    for (int c = 0; c < channels; c++) {
        value[c] = value0[c] + path_of_rate * rate0[c] + path_of_accel * accel0[c];
        rate[c] = rate_of_rate * rate0[c] + rate_of_accel * accel0[c];
        accel[c] = accel_of_rate * rate0[c] + accel_of_accel * accel0[c];
    }
}

static void coast(const struct trajectory_coast *c, double tau_s, double value[7], double rate[7], double accel[7])
{
    come_to_rest(tau_s, c->position_stop_s, 3, c->position, c->position_rate, c->position_accel, value, rate, accel);
    come_to_rest(tau_s, c->attitude_stop_s, 4, c->attitude, c->attitude_rate, c->attitude_accel, value + 3, rate + 3,
                 accel + 3);
    for (int i = 0; i < 7; i++)
        rate[i] *= c->direction;
}

static oto_quat quaternion(const double q[4])
{
    return oto_quat_make(q[0], q[1], q[2], q[3]);
}

void trajectory_evaluate(const struct trajectory *trajectory, struct oto_instant at,
                         struct oto_truth_record *truth)
{
    int64_t x_ns = at.t_ns + trajectory->offset_ns;
    double value[7], rate[7], accel[7];
    if (trajectory->period_ns > 0)
        x_ns = x_ns % trajectory->period_ns - trajectory->lead_ns;
    if (x_ns < 0)
        coast(&trajectory->before, -((double)x_ns + at.sub_ns) * 1e-9, value, rate, accel);
    else if (x_ns < trajectory->duration_ns)
        trajectory_spline(trajectory, ((double)x_ns + at.sub_ns) * 1e-9, value, rate, accel);
    else
        coast(&trajectory->after, ((double)(x_ns - trajectory->duration_ns) + at.sub_ns) * 1e-9, value, rate, accel);
    memset(truth, 0, sizeof *truth);
    truth->position_enu_m = oto_vec3_add(trajectory->base_enu_m, oto_vec3_from_array(value));
    truth->velocity_enu_m_s = oto_vec3_from_array(rate);
    truth->accel_enu_m_s2 = oto_vec3_from_array(accel);
    num_truth_set_attitude(quaternion(value + 3), quaternion(rate + 3), quaternion(accel + 3), truth);
    truth->longitudinal_speed_m_s = oto_quat_rotate_inv(truth->q_enu_from_body, truth->velocity_enu_m_s).x;
}
