/* The filter's linear algebra. The covariance is kept symmetric by writing both halves. */
#include <string.h>

#include "joint_parts.h"

void joint_row_put(struct joint_row *row, int state, double by)
{
    row->at[row->count] = state;
    row->by[row->count++] = by;
}

void joint_row_put3(struct joint_row *row, int state, oto_vec3 by)
{
    joint_row_put(row, state, by.x);
    joint_row_put(row, state + 1, by.y);
    joint_row_put(row, state + 2, by.z);
}

double joint_row_variance(const struct joint_filter *filter, const struct joint_row *row)
{
    double sum = 0.0;
    for (int i = 0; i < row->count; i++) {
        for (int j = 0; j < row->count; j++) {
            sum += row->by[i] * row->by[j] * filter->covariance[row->at[i]][row->at[j]];
        }
    }
    return sum;
}

static oto_vec3 moved(oto_vec3 at, const double *by)
{
    return oto_vec3_make(at.x + by[0], at.y + by[1], at.z + by[2]);
}

static void correct(struct joint_filter *filter, const double by[JOINT_STATES])
{
    oto_quat turn = oto_quat_from_rotvec(oto_vec3_from_array(by + JOINT_MOUNT));
    filter->velocity_m_s = moved(filter->velocity_m_s, by + JOINT_VELOCITY);
    filter->gravity_m_s2 = moved(filter->gravity_m_s2, by + JOINT_GRAVITY);
    filter->accel_bias_m_s2 = moved(filter->accel_bias_m_s2, by + JOINT_ACCEL_BIAS);
    filter->gyro_bias_rad_s = moved(filter->gyro_bias_rad_s, by + JOINT_GYRO_BIAS);
    filter->q_body_from_sensor = oto_quat_normalize(oto_quat_mul(turn, filter->q_body_from_sensor));
    for (int i = 0; i < JOINT_EXTRAS; i++) {
        filter->extra[i] += by[JOINT_PITCH_COMPLIANCE + i];
    }
}

void joint_update(struct joint_filter *filter, const struct joint_row *row, double innovation, double variance)
{
    double seen[JOINT_STATES] = {0.0}, by[JOINT_STATES], total = variance, weight;
    for (int i = 0; i < row->count; i++) {
        const double *column = filter->covariance[row->at[i]];
        for (int j = 0; j < JOINT_STATES; j++) {
            seen[j] += row->by[i] * column[j];
        }
    }
    for (int i = 0; i < row->count; i++) {
        total += row->by[i] * seen[row->at[i]];
    }
    weight = 1.0 / total;
    for (int i = 0; i < JOINT_STATES; i++) {
        double gain = seen[i] * weight;
        by[i] = gain * innovation;
        for (int j = 0; j <= i; j++) {
            double left = filter->covariance[i][j] - gain * seen[j];
            filter->covariance[i][j] = left;
            filter->covariance[j][i] = left;
        }
    }
    correct(filter, by);
}

void joint_transit(struct joint_filter *filter, const double transition[JOINT_MOVED][JOINT_MOVERS])
{
    double(*covariance)[JOINT_STATES] = filter->covariance;
    double rows[JOINT_MOVED][JOINT_STATES];
    for (int i = 0; i < JOINT_MOVED; i++) {
        memset(rows[i], 0, sizeof rows[i]);
        for (int k = 0; k < JOINT_MOVERS; k++) {
            double by = transition[i][k];
            for (int j = 0; j < JOINT_STATES; j++) {
                rows[i][j] += by * covariance[k][j];
            }
        }
    }
    for (int i = 0; i < JOINT_MOVED; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int k = 0; k < JOINT_MOVERS; k++) {
                sum += rows[i][k] * transition[j][k];
            }
            covariance[i][j] = sum;
            covariance[j][i] = sum;
        }
        for (int j = JOINT_MOVED; j < JOINT_STATES; j++) {
            covariance[i][j] = rows[i][j];
            covariance[j][i] = rows[i][j];
        }
    }
}

void joint_sum_up(struct joint_filter *filter, int state, const struct joint_row *row, double more)
{
    double seen[JOINT_STATES] = {0.0}, own = 0.0;
    for (int i = 0; i < row->count; i++) {
        const double *column = filter->covariance[row->at[i]];
        for (int j = 0; j < JOINT_STATES; j++) {
            seen[j] += row->by[i] * column[j];
        }
    }
    for (int i = 0; i < row->count; i++) {
        own += row->by[i] * seen[row->at[i]];
    }
    own += 2.0 * seen[state];
    for (int j = 0; j < JOINT_STATES; j++) {
        filter->covariance[state][j] += seen[j];
        filter->covariance[j][state] = filter->covariance[state][j];
    }
    filter->covariance[state][state] += own - seen[state];
    *joint_extra(filter, state) += more;
}

/* Fades a first-order Gauss–Markov state: multiplies it by `by`; `power` is its stationary variance. */
void joint_fade(struct joint_filter *filter, int state, double by, double power)
{
    for (int j = 0; j < JOINT_STATES; j++) {
        filter->covariance[state][j] *= by;
    }
    for (int j = 0; j < JOINT_STATES; j++) {
        filter->covariance[j][state] *= by;
    }
    filter->covariance[state][state] += (1.0 - by * by) * power;
    filter->extra[state - JOINT_PITCH_COMPLIANCE] *= by;
}

void joint_forget(struct joint_filter *filter, int first, int end)
{
    for (int i = first; i < end; i++) {
        for (int j = 0; j < JOINT_STATES; j++) {
            filter->covariance[i][j] = filter->covariance[j][i] = 0.0;
        }
    }
}
