/*
 * The random numbers of one sample, for kernels (num_kernel_body.h): the deviates of oto_rng_block and oto_normal4 to
 * the bit, several at once. All of it is inline.
 */
#ifndef NUM_KERNEL_DRAW_H
#define NUM_KERNEL_DRAW_H

#include "num_draws.h"
#include "num_measure.h"
#include "num_pack.h"

#define NUM_DEVIATES 32u /* 4 NUM_SUITE_BLOCKS, plus the deviates that the last lanes read beyond them */

/*
 * Philox4x64-10 of the counters (n, block, NUM_DRAW_DEVIATES, SAMPLE). In the first rounds few values depend on the
 * block number. The others are computed once for all blocks of a sample, which saves a fifth of the multiplications.
 */
struct num_family {
    uint64_t key0, key1;         /* keys of the first round */
    uint64_t low1;               /* round 1: low half of M0 n, with the key of round 2 */
    uint64_t c0, c1;             /* after round 2 */
    uint64_t high3, low3;        /* round 3: M0 c0 */
};

#define NUM_PHILOX_M0 0xD2E7470EE14C6C93u
#define NUM_PHILOX_M1 0xCA5A826395121157u
#define NUM_PHILOX_W0 0x9E3779B97F4A7C15u
#define NUM_PHILOX_W1 0xBB67AE8584CAA73Bu

_Static_assert(NUM_DRAW_DEVIATES == 0, "a third counter of zero makes half of the first round nothing");

NUM_INLINE struct num_family num_family_of(struct oto_rng_key key, uint64_t n)
{
    struct num_family family = {.key0 = key.seed, .key1 = key.stream};
    const uint64_t key0 = key.seed + NUM_PHILOX_W0, key1 = key.stream + NUM_PHILOX_W1;
    const uint64_t high1 = oto_impl_mul64(NUM_PHILOX_M0, n, &family.low1);
    family.low1 ^= key1;
    family.c0 = oto_impl_mul64(NUM_PHILOX_M1, high1 ^ OTO_RNG_DOMAIN_SAMPLE ^ key.stream, &family.c1) ^ key0;
    family.high3 = oto_impl_mul64(NUM_PHILOX_M0, family.c0, &family.low3);
    return family;
}

NUM_INLINE void num_family_block(const struct num_family *family, uint64_t block, uint64_t words[4])
{
    uint64_t low0, low1;
    uint64_t key0 = family->key0 + 2 * NUM_PHILOX_W0, key1 = family->key1 + 2 * NUM_PHILOX_W1;
    const uint64_t high2 = oto_impl_mul64(NUM_PHILOX_M0, block ^ family->key0, &low0);
    uint64_t c0 = oto_impl_mul64(NUM_PHILOX_M1, high2 ^ family->low1, &low1) ^ family->c1 ^ key0;
    uint64_t c1 = low1, c2 = family->high3 ^ low0 ^ key1, c3 = family->low3;
#pragma GCC unroll 7
    for (int round = 3; round < 10; round++) {
        key0 += NUM_PHILOX_W0;
        key1 += NUM_PHILOX_W1;
        const uint64_t high0 = oto_impl_mul64(NUM_PHILOX_M0, c0, &low0);
        const uint64_t high1 = oto_impl_mul64(NUM_PHILOX_M1, c2, &low1);
        c0 = high1 ^ c1 ^ key0;
        c1 = low1;
        c2 = high0 ^ c3 ^ key1;
        c3 = low0;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

#if NUM_WIDTH == 4

/* (double)(int64_t)word of words below 2^63: both halves are exact, and their sum is rounded once. */
NUM_INLINE num_pack num_pack_from_words(num_pack_mask words)
{
    const num_pack high = (num_pack)((num_pack_mask)((num_pack_word)words >> 32) | 0x4530000000000000);
    const num_pack low = (num_pack)((words & 0xffffffff) | 0x4330000000000000);
    return (high - 0x1.00000001p84) + low;
}

/* Loads coefficients k and k + 1 of four rows of the table as two packs. */
NUM_INLINE void num_two_coefficients(const double *const row[4], int k, num_pack *first, num_pack *second)
{
    const num_pair a = *(const num_pair *)&row[0][k], b = *(const num_pair *)&row[1][k];
    const num_pair c = *(const num_pair *)&row[2][k], d = *(const num_pair *)&row[3][k];
    const num_pack ac = __builtin_shufflevector(a, c, 0, 1, 2, 3), bd = __builtin_shufflevector(b, d, 0, 1, 2, 3);
    *first = __builtin_shufflevector(ac, bd, 0, 4, 2, 6);
    *second = __builtin_shufflevector(ac, bd, 1, 5, 3, 7);
}

/* oto_normal4 with its four polynomials in parallel. */
NUM_INLINE void num_normal4(const uint64_t *words, double *out)
{
    const num_pack_mask bits = *(const num_pack_mask *)words;
    const num_pack_mask tail = (bits ^ (bits >> 63)) | 1;
    const num_pack_word p = (num_pack_word)num_pack_from_words(tail);
    const num_pack_word rows = (p >> 49) - ((1023u + 48u) << 3);
    const num_pack t = (num_pack)((p & 0x1ffffffffffffu) | 0x3ff0000000000000u) - 1.0625, t2 = t * t, t4 = t2 * t2;
    const double *const row[4] = {
        oto_impl_normal_table[rows[0] & 127], oto_impl_normal_table[rows[1] & 127],
        oto_impl_normal_table[rows[2] & 127], oto_impl_normal_table[rows[3] & 127]};
    num_pack c[8];
    for (int k = 0; k < 8; k += 2) {
        num_two_coefficients(row, k, &c[k], &c[k + 1]);
    }
    const num_pack z = ((c[0] + c[1] * t) + t2 * (c[2] + c[3] * t)) + t4 * ((c[4] + c[5] * t) + t2 * (c[6] + c[7] * t));
    num_pack_store(out, (num_pack)((num_pack_mask)z ^ (~bits & INT64_MIN)));
    if (__builtin_expect((rows[0] | rows[1] | rows[2] | rows[3]) > 127u, 0)) {
        for (int i = 0; i < 4; i++) {
            out[i] = oto_normal_from_bits(words[i]);
        }
    }
}

#else

NUM_INLINE void num_normal4(const uint64_t *words, double *out)
{
    const oto_philox_block block = {{words[0], words[1], words[2], words[3]}};
    oto_normal4(block, out);
}

#endif

/* Sets the deviates beyond the drawn ones to zero. Their lanes have the factor zero, but 0 times a NaN would be a NaN. */
NUM_INLINE void num_deviates_close(double *deviates)
{
#if NUM_WIDTH == 4
    num_pack_store(&deviates[NUM_DEVIATES - 8], num_pack_all(0.0));
    num_pack_store(&deviates[NUM_DEVIATES - 4], num_pack_all(0.0));
#else
    (void)deviates;
#endif
}

NUM_INLINE void num_draw_deviates(const struct num_suite_plan *plan, uint64_t n, double *deviates)
{
    uint64_t words[NUM_SUITE_BLOCKS][4];
    const struct num_family family = num_family_of(plan->noise_key, n);
    const struct num_suite_common *common = plan->common;
    const uint32_t count = common->block_count;
    num_deviates_close(deviates);
    for (uint32_t i = 0; i < count; i++) {
        num_family_block(&family, common->blocks[i], words[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        num_normal4(words[i], &deviates[4 * common->blocks[i]]);
    }
}

/* Law mavs: sets the random factor w of each slot. */
NUM_INLINE void num_draw_w(const struct num_suite_plan *plan, uint64_t n, double w[4])
{
    if (plan->common->w != NUM_W_DOCUMENT && plan->common->w != NUM_W_CODE) {
        w[0] = w[1] = w[2] = w[3] = plan->common->w;
        return;
    }
    const double centre = plan->common->w == NUM_W_CODE ? 2.0 : 0.0;
    const oto_philox_block four = oto_rng_block(plan->noise_key, n, 0, NUM_DRAW_MAVS_W, OTO_RNG_DOMAIN_SAMPLE);
    for (int i = 0; i < 4; i++) {
        w[i] = centre + oto_u11(four.v[i]);
    }
}

#endif
