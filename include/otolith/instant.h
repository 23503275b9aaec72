/*
 * An instant of a world: whole nanoseconds since its start, and the fraction of a nanosecond, because not every sample
 * rate divides 1e9.
 */
#ifndef OTOLITH_INSTANT_H
#define OTOLITH_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct oto_instant {
    int64_t t_ns;  /* rounded down */
    double sub_ns; /* the fraction, in [0, 1) */
};

static inline bool oto_instant_is_equal(struct oto_instant a, struct oto_instant b)
{
    return a.t_ns == b.t_ns && a.sub_ns == b.sub_ns;
}

static inline bool oto_instant_is_before(struct oto_instant a, struct oto_instant b)
{
    return a.t_ns < b.t_ns || (a.t_ns == b.t_ns && a.sub_ns < b.sub_ns);
}

/* Time from `a` to `b` in ns; negative if `b` is the earlier one. */
static inline double oto_instant_span_ns(struct oto_instant a, struct oto_instant b)
{
    return (double)(b.t_ns - a.t_ns) + (b.sub_ns - a.sub_ns);
}

#ifdef __cplusplus
}
#endif

#endif
