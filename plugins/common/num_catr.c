#include "num_catr.h"

#include "num_pack.h"

/* Computes the derivatives in the axes of the initial heading and rotates them by it. Each number is stored once, two at a time. */
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
    const num_pack steps = {dt_s, dt2}, none = {0.0, 0.0}, then_dt = {1.0, dt_s}, one_first = {1.0, 0.0}, one_last = {0.0, 1.0};
    const num_pack cosines = {m->cosine[0], m->cosine[1]}, sines = {m->sine[0], m->sine[1]};
    num_pack_store(&j[0][0], one_first);
    num_pack_store(&j[0][2], steps * (num_pack_all(c) * cosines - num_pack_all(s) * sines));
    num_pack_store(&j[0][4], (num_pack){-(s * along + c * across), -dt2 * (s * along_1 + c * across_1)});
    num_pack_store(&j[1][0], one_last);
    num_pack_store(&j[1][2], steps * (num_pack_all(s) * cosines + num_pack_all(c) * sines));
    num_pack_store(&j[1][4], (num_pack){c * along - s * across, dt2 * (c * along_1 - s * across_1)});
    num_pack_store(&j[2][0], none);
    num_pack_store(&j[2][2], then_dt);
    num_pack_store(&j[2][4], none);
    num_pack_store(&j[3][0], none);
    num_pack_store(&j[3][2], one_last);
    num_pack_store(&j[3][4], none);
    num_pack_store(&j[4][0], none);
    num_pack_store(&j[4][2], none);
    num_pack_store(&j[4][4], then_dt);
    num_pack_store(&j[5][0], none);
    num_pack_store(&j[5][2], none);
    num_pack_store(&j[5][4], one_last);
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
