/*
 * Dual numbers, which carry derivatives: v + Σ d[k] e_k with e_k e_l = 0, for the Jacobians of integrated models. The
 * value is computed by the same operations for any number of lanes, so its bits equal those of the plain computation,
 * which is the same code without lanes. Define NUM_DUAL_LANES, the largest number used, before including. Pure and
 * inline.
 */
#ifndef NUM_DUAL_H
#define NUM_DUAL_H

#include <stddef.h>

#ifndef NUM_DUAL_LANES
#error "NUM_DUAL_LANES says how many derivatives a number carries at most"
#endif

struct num_dual {
    double v;
    double d[NUM_DUAL_LANES];
};

/* A constant. Every lane is set to zero, used or not, because numbers are copied as a whole. */
static inline struct num_dual num_dual_of(double value)
{
    struct num_dual r;
    r.v = value;
    for (int k = 0; k < NUM_DUAL_LANES; k++)
        r.d[k] = 0.0;
    return r;
}

/* An independent variable: lane `lane` is its derivative by itself, which is 1. */
static inline struct num_dual num_dual_variable(double value, int lane, int lanes)
{
    struct num_dual r = num_dual_of(value);
    if (lane < lanes)
        r.d[lane] = 1.0;
    return r;
}

static inline struct num_dual num_dual_add(struct num_dual a, struct num_dual b, int lanes)
{
    a.v += b.v;
    for (int k = 0; k < lanes; k++)
        a.d[k] += b.d[k];
    return a;
}

static inline struct num_dual num_dual_scale(struct num_dual a, double factor, int lanes)
{
    a.v *= factor;
    for (int k = 0; k < lanes; k++)
        a.d[k] *= factor;
    return a;
}

/*
 * Splits `count` numbers into values and, unless `rows` is NULL, their first `count` derivatives, one row for each
 * number.
 */
static inline void num_dual_split(const struct num_dual *numbers, int count, double *rows, double *values)
{
    for (int i = 0; i < count; i++) {
        values[i] = numbers[i].v;
        for (int k = 0; rows != NULL && k < count; k++)
            rows[i * count + k] = numbers[i].d[k];
    }
}

/* a + b · factor */
static inline struct num_dual num_dual_add_scaled(struct num_dual a, struct num_dual b, double factor, int lanes)
{
    a.v += b.v * factor;
    for (int k = 0; k < lanes; k++)
        a.d[k] += b.d[k] * factor;
    return a;
}

static inline struct num_dual num_dual_mul(struct num_dual a, struct num_dual b, int lanes)
{
    for (int k = 0; k < lanes; k++)
        a.d[k] = a.d[k] * b.v + a.v * b.d[k];
    a.v *= b.v;
    return a;
}

/* *sum += a · b */
static inline void num_dual_accumulate(struct num_dual *sum, const struct num_dual *a, const struct num_dual *b, int lanes)
{
    sum->v += a->v * b->v;
    for (int k = 0; k < lanes; k++)
        sum->d[k] += a->d[k] * b->v + a->v * b->d[k];
}

/* f(a), from the value and the derivative of f at a. */
static inline struct num_dual num_dual_apply(struct num_dual a, double value, double slope, int lanes)
{
    a.v = value;
    for (int k = 0; k < lanes; k++)
        a.d[k] *= slope;
    return a;
}

#endif
