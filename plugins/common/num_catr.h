/*
 * Constant acceleration along the heading, constant turn rate (CATR): closed-form flow and Jacobian, one formula for
 * every turn rate. Pure functions, callable from any thread. Source: own derivation, `plugins/motion_script/README.md`.
 */
#ifndef NUM_CATR_H
#define NUM_CATR_H

/* The index in the Jacobian is the place of the member. */
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

/* Both at the cost of one; the Jacobian is taken before `next` is written, so `next` may be `state`. */
void num_catr_jacobian_and_predict(const struct num_catr *state, double dt_s,
                                   double jacobian[NUM_CATR_STATES][NUM_CATR_STATES], struct num_catr *next);

#endif
