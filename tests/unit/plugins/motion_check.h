/* What the tests of motion nodes share: memory as a host gives it, and the check that a truth's members are each
 * other's derivatives. */
#ifndef MOTION_CHECK_H
#define MOTION_CHECK_H

#include "oto_test.h"
#include "otolith/instant.h"
#include "otolith/records.h"

struct motion_memory {
    void *blocks[4096];
    int count;
};

static inline void *motion_alloc(void *context, size_t bytes)
{
    struct motion_memory *memory = (struct motion_memory *)context;
    assert_true(memory->count < 4096);
    return memory->blocks[memory->count++] = calloc(1, bytes + 1);
}

static inline void motion_free(struct motion_memory *memory)
{
    for (int i = 0; i < memory->count; i++)
        free(memory->blocks[i]);
    memory->count = 0;
}

typedef void motion_evaluate(const void *motion, struct oto_instant at, struct oto_truth_record *truth);

#define MOTION_STEP_NS 1000000 /* of the difference quotients */

struct motion_stencil {
    struct oto_truth_record at[5]; /* at -2, -1, 0, 1, 2 steps */
};

static inline void motion_stencil_at(motion_evaluate *evaluate, const void *motion, int64_t t_ns, struct motion_stencil *s)
{
    for (int i = 0; i < 5; i++) {
        evaluate(motion, (struct oto_instant){t_ns + (i - 2) * MOTION_STEP_NS, 0.0}, &s->at[i]);
        if (i > 0 && oto_quat_dot(s->at[i].q_enu_from_body, s->at[i - 1].q_enu_from_body) < 0.0)
            s->at[i].q_enu_from_body = oto_quat_neg(s->at[i].q_enu_from_body);
    }
}

/* Fourth-order central difference of the double that stands `member` bytes into the record. */
static inline double motion_rate(const struct motion_stencil *s, size_t member)
{
    double f[5];
    for (int i = 0; i < 5; i++)
        memcpy(&f[i], (const char *)&s->at[i] + member, sizeof f[i]);
    return (8.0 * (f[3] - f[1]) - (f[4] - f[0])) / (12.0 * MOTION_STEP_NS * 1e-9);
}

struct motion_misfit {
    double velocity_m_s, accel_m_s2, rate_rad_s, angular_accel_rad_s2;
};

static inline void motion_take_worst(double *worst, double a, double b)
{
    *worst = fmax(*worst, fabs(a - b));
}

/* Keeps the largest difference between what the truth says and what its integrals' differences say. */
static inline void motion_compare(const struct motion_stencil *s, struct motion_misfit *worst)
{
    const struct oto_truth_record *now = &s->at[2];
    const double *v = &now->velocity_enu_m_s.x, *a = &now->accel_enu_m_s2.x;
    const double *alpha = &now->angular_accel_body_rad_s2.x;
    size_t q = offsetof(struct oto_truth_record, q_enu_from_body);
    oto_quat dq = oto_quat_make(motion_rate(s, q), motion_rate(s, q + 8), motion_rate(s, q + 16), motion_rate(s, q + 24));
    oto_quat w = oto_quat_mul(oto_quat_conj(now->q_enu_from_body), dq);
    for (size_t c = 0; c < 3; c++) {
        size_t rate = offsetof(struct oto_truth_record, angular_rate_body_rad_s) + 8 * c;
        motion_take_worst(&worst->velocity_m_s, v[c], motion_rate(s, 8 * c));
        motion_take_worst(&worst->accel_m_s2, a[c], motion_rate(s, offsetof(struct oto_truth_record, velocity_enu_m_s) + 8 * c));
        motion_take_worst(&worst->angular_accel_rad_s2, alpha[c], motion_rate(s, rate));
    }
    motion_take_worst(&worst->rate_rad_s, now->angular_rate_body_rad_s.x, 2.0 * w.x);
    motion_take_worst(&worst->rate_rad_s, now->angular_rate_body_rad_s.y, 2.0 * w.y);
    motion_take_worst(&worst->rate_rad_s, now->angular_rate_body_rad_s.z, 2.0 * w.z);
}

static inline struct motion_misfit motion_worst(motion_evaluate *evaluate, const void *motion, int64_t from_ns,
                                                int64_t to_ns, int64_t step_ns)
{
    struct motion_misfit worst = {0.0, 0.0, 0.0, 0.0};
    for (int64_t t_ns = from_ns + 2 * MOTION_STEP_NS; t_ns <= to_ns - 2 * MOTION_STEP_NS; t_ns += step_ns) {
        struct motion_stencil s;
        motion_stencil_at(evaluate, motion, t_ns, &s);
        motion_compare(&s, &worst);
    }
    return worst;
}

#endif
