#include "num_catr.h"

/* In the axes of the first heading, then turned by it. */
static inline __attribute__((always_inline)) void differentiate(const struct num_catr *state,
                                                                struct num_direction direction, double dt_s,
                                                                const struct num_moments *m,
                                                                double j[NUM_CATR_STATES][NUM_CATR_STATES])
{
    const double v = state->speed_m_s, gain = state->accel_m_s2 * dt_s, dt2 = dt_s * dt_s;
    const double s = direction.sine, c = direction.cosine;
    const double along = dt_s * (v * m->cosine[0] + gain * m->cosine[1]);
    const double across = dt_s * (v * m->sine[0] + gain * m->sine[1]);
    const double along_1 = v * m->cosine[1] + gain * m->cosine[2], across_1 = v * m->sine[1] + gain * m->sine[2];
    for (int i = 0; i < NUM_CATR_STATES; i++)
        for (int k = 0; k < NUM_CATR_STATES; k++)
            j[i][k] = 0.0;
    j[0][0] = 1.0;
    j[0][2] = dt_s * (c * m->cosine[0] - s * m->sine[0]);
    j[0][3] = dt2 * (c * m->cosine[1] - s * m->sine[1]);
    j[0][4] = -(s * along + c * across);
    j[0][5] = -dt2 * (s * along_1 + c * across_1);
    j[1][1] = 1.0;
    j[1][2] = dt_s * (s * m->cosine[0] + c * m->sine[0]);
    j[1][3] = dt2 * (s * m->cosine[1] + c * m->sine[1]);
    j[1][4] = c * along - s * across;
    j[1][5] = dt2 * (c * along_1 - s * across_1);
    j[2][2] = 1.0;
    j[2][3] = dt_s;
    j[3][3] = 1.0;
    j[4][4] = 1.0;
    j[4][5] = dt_s;
    j[5][5] = 1.0;
}

void num_catr_predict(const struct num_catr *state, double dt_s, struct num_catr *next)
{
    num_catr_predict_towards(state, num_direction_of(state->heading_rad), dt_s, next);
}

void num_catr_jacobian(const struct num_catr *state, double dt_s, double jacobian[NUM_CATR_STATES][NUM_CATR_STATES])
{
    struct num_moments m;
    num_moments_at(state->turn_rate_rad_s * dt_s, 3, &m);
    differentiate(state, num_direction_of(state->heading_rad), dt_s, &m, jacobian);
}

void num_catr_jacobian_and_predict(const struct num_catr *state, double dt_s,
                                   double jacobian[NUM_CATR_STATES][NUM_CATR_STATES], struct num_catr *next)
{
    const struct num_direction direction = num_direction_of(state->heading_rad);
    struct num_moments m;
    num_moments_at(state->turn_rate_rad_s * dt_s, 3, &m);
    differentiate(state, direction, dt_s, &m, jacobian);
    num_catr_advance(state, direction, dt_s, &m, next);
}
