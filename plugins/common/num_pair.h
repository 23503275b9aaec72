/*
 * Two lanes of double, for the tick: axes are handled in pairs, which halves their divisions. Plain IEEE arithmetic
 * lane by lane, so the bits are those of scalar code. GCC's and clang's vector types; constants of the bits are spelled
 * out.
 */
#ifndef NUM_PAIR_H
#define NUM_PAIR_H

#include <stdint.h>

#define NUM_INLINE static inline __attribute__((always_inline))

/* Loads and stores need no more alignment than a double. */
typedef double num_pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef int64_t num_pair_mask __attribute__((vector_size(16), aligned(8), may_alias));

NUM_INLINE num_pair num_pair_load(const double *two)
{
    return *(const num_pair *)two;
}

NUM_INLINE void num_pair_store(double *two, num_pair value)
{
    *(num_pair *)two = value;
}

NUM_INLINE num_pair num_pair_all(double value)
{
    return (num_pair){value, value};
}

NUM_INLINE num_pair num_pair_select(num_pair_mask mask, num_pair yes, num_pair no)
{
    return (num_pair)(((num_pair_mask)yes & mask) | ((num_pair_mask)no & ~mask));
}

NUM_INLINE num_pair num_pair_abs(num_pair value)
{
    return (num_pair)((num_pair_mask)value & INT64_MAX);
}

/*
 * oto_round_half_away without branches, which noise makes unpredictable: adding 2^52 rounds half to even, and what was
 * rounded down by exactly one half goes up.
 */
NUM_INLINE num_pair num_pair_round_half_away(num_pair value)
{
    const num_pair magnitude = num_pair_abs(value);
    const num_pair even = (magnitude + 0x1p52) - 0x1p52;
    const num_pair up = (num_pair)((num_pair_mask)(magnitude - even >= 0.5) & (num_pair_mask)num_pair_all(1.0));
    const num_pair_mask sign = (num_pair_mask)value & INT64_MIN;
    const num_pair rounded = (num_pair)((num_pair_mask)(even + up) | sign);
    return num_pair_select((num_pair_mask)(magnitude < 0x1p52), rounded, value);
}

NUM_INLINE double num_round_half_away(double value)
{
    return num_pair_round_half_away(num_pair_all(value))[0];
}

#endif
