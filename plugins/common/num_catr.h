/*
 * Constant acceleration along the heading, constant turn rate (CATR): closed-form flow and Jacobian, one formula for
 * every turn rate. Pure functions, callable from any thread. Source: own derivation, `plugins/motion_script/README.md`.
 */
#ifndef NUM_CATR_H
#define NUM_CATR_H

#include "num_moments.h"

/* The index in the Jacobian is the position of the member. */
struct num_catr {
    double x_m, y_m;
    double speed_m_s; /* signed, along the heading */
    double accel_m_s2;
    double heading_rad; /* from x towards y; not wrapped */
    double turn_rate_rad_s;
};

#define NUM_CATR_STATES 6

/* The state after dt_s, which may be negative. `next` may be `state`. */
void num_catr_predict(const struct num_catr *state, double dt_s, struct num_catr *next);

/* jacobian[i][j] = d next[i] / d state[j], at `state`. */
void num_catr_jacobian(const struct num_catr *state, double dt_s, double jacobian[NUM_CATR_STATES][NUM_CATR_STATES]);

/*
 * Computes the next state and the Jacobian together, for the cost of one of them. The Jacobian is computed before `next` is
 * written, so `next` may be `state`.
 */
void num_catr_jacobian_and_predict(const struct num_catr *state, double dt_s,
                                   double jacobian[NUM_CATR_STATES][NUM_CATR_STATES], struct num_catr *next);

/* Sine and cosine of a heading, computed once for several predictions from one state. */
struct num_direction {
    double sine, cosine;
};

static inline struct num_direction num_direction_of(double heading_rad)
{
    struct num_direction direction;
    oto_sincos(heading_rad, &direction.sine, &direction.cosine);
    return direction;
}

/* The state after dt_s, computed from the moments of the path (num_moments.h). */
static inline __attribute__((always_inline)) void num_catr_advance(const struct num_catr *state,
                                                                  struct num_direction direction, double dt_s,
                                                                  const struct num_moments *m, struct num_catr *next)
{
    const double gain = state->accel_m_s2 * dt_s;
    const double along = dt_s * (state->speed_m_s * m->cosine[0] + gain * m->cosine[1]);
    const double across = dt_s * (state->speed_m_s * m->sine[0] + gain * m->sine[1]);
    next->x_m = state->x_m + (direction.cosine * along - direction.sine * across);
    next->y_m = state->y_m + (direction.sine * along + direction.cosine * across);
    next->speed_m_s = state->speed_m_s + gain;
    next->accel_m_s2 = state->accel_m_s2;
    next->heading_rad = state->heading_rad + state->turn_rate_rad_s * dt_s;
    next->turn_rate_rad_s = state->turn_rate_rad_s;
}

/* Same result as num_catr_predict, to the bit; the direction of the heading is an argument. */
static inline __attribute__((always_inline)) void num_catr_predict_towards(const struct num_catr *state,
                                                                          struct num_direction direction, double dt_s,
                                                                          struct num_catr *next)
{
    struct num_moments m;
    num_moments_at(state->turn_rate_rad_s * dt_s, 2, &m);
    num_catr_advance(state, direction, dt_s, &m, next);
}

#endif
