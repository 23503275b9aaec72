/*
 * Two or four lanes of double (NUM_WIDTH, set by num_kernel_avx2.c), for the tick. Each lane is plain IEEE arithmetic,
 * so the bits equal those of scalar code at either width. Vector types of GCC and clang; bit patterns are written out
 * as constants.
 */
#ifndef NUM_PACK_H
#define NUM_PACK_H

#include <stdint.h>

#ifndef NUM_WIDTH
#define NUM_WIDTH 2
#endif

#define NUM_INLINE static inline __attribute__((always_inline))

/* Loads and stores need the alignment of a double only. */
typedef double num_pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef double num_pack __attribute__((vector_size(8 * NUM_WIDTH), aligned(8), may_alias));
typedef int64_t num_pack_mask __attribute__((vector_size(8 * NUM_WIDTH), aligned(8), may_alias));
typedef uint64_t num_pack_word __attribute__((vector_size(8 * NUM_WIDTH), aligned(8), may_alias));

NUM_INLINE num_pack num_pack_load(const double *lanes)
{
    return *(const num_pack *)lanes;
}

NUM_INLINE void num_pack_store(double *lanes, num_pack value)
{
    *(num_pack *)lanes = value;
}

/* Makes each lane by a function of its number; the further arguments are the same for all lanes. */
#if NUM_WIDTH == 4
#define NUM_PACK_OF(FUNCTION, FIRST, ...) \
    ((num_pack){FUNCTION(FIRST, __VA_ARGS__), FUNCTION((FIRST) + 1, __VA_ARGS__), FUNCTION((FIRST) + 2, __VA_ARGS__), \
                FUNCTION((FIRST) + 3, __VA_ARGS__)})
#else
#define NUM_PACK_OF(FUNCTION, FIRST, ...) ((num_pack){FUNCTION(FIRST, __VA_ARGS__), FUNCTION((FIRST) + 1, __VA_ARGS__)})
#endif

NUM_INLINE num_pack num_pack_all(double value)
{
    return value - (num_pack){0.0};
}

NUM_INLINE num_pack num_pack_select(num_pack_mask mask, num_pack yes, num_pack no)
{
#if defined(__AVX2__) && NUM_WIDTH == 4
    return __builtin_ia32_blendvpd256(no, yes, (num_pack)mask);
#else
    return (num_pack)(((num_pack_mask)yes & mask) | ((num_pack_mask)no & ~mask));
#endif
}

NUM_INLINE num_pack num_pack_abs(num_pack value)
{
    return (num_pack)((num_pack_mask)value & INT64_MAX);
}

/* Bit i is set for each lane i whose mask is set. */
NUM_INLINE uint32_t num_pack_bits(num_pack_mask mask)
{
#if defined(__AVX2__) && NUM_WIDTH == 4
    const uint32_t bits = (uint32_t)__builtin_ia32_movmskpd256((num_pack)mask);
#elif defined(__SSE2__) && NUM_WIDTH == 2
    const uint32_t bits = (uint32_t)__builtin_ia32_movmskpd((num_pack)mask);
#else
    uint32_t bits = 0;
    for (int i = 0; i < NUM_WIDTH; i++) {
        bits |= (uint32_t)(mask[i] & ((int64_t)1 << i));
    }
#endif
    return bits;
}

/*
 * oto_round_half_away without branches, which noise makes unpredictable. Adding 2^52 rounds half to even; values that
 * were rounded down by exactly one half are then rounded up.
 */
NUM_INLINE num_pack num_pack_round_half_away(num_pack value)
{
    const num_pack magnitude = num_pack_abs(value);
    const num_pack even = (magnitude + 0x1p52) - 0x1p52;
    const num_pack up = (num_pack)((num_pack_mask)(magnitude - even >= 0.5) & (num_pack_mask)num_pack_all(1.0));
    const num_pack_mask sign = (num_pack_mask)value & INT64_MIN;
    const num_pack rounded = (num_pack)((num_pack_mask)(even + up) | sign);
    return num_pack_select((num_pack_mask)(magnitude < 0x1p52), rounded, value);
}

NUM_INLINE double num_round_half_away(double value)
{
    return num_pack_round_half_away(num_pack_all(value))[0];
}

#endif
