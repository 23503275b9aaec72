/* The law of the deviates. Seeds are fixed; every bound is 5 standard deviations of the statistic under the law, or the
 * quantile with the same two-sided probability, Q = 5.7e-7. */
#include "normal_law.h"

#include "otolith/rng.h"

#include <stdbool.h>

enum { COUNT = 1000000 };
#define SIGMAS NORMAL_SIGMAS

static const struct oto_rng_key key = {20240607, 0x1234567890abcdefu};

static int draw(void **state)
{
    double *z = malloc(COUNT * sizeof *z);
    for (uint64_t n = 0; n < COUNT / 4; n++) {
        oto_normal4(oto_rng_block(key, n, 0, 0, OTO_RNG_DOMAIN_SAMPLE), z + 4 * n);
    }
    *state = z;
    return 0;
}

static int drop(void **state)
{
    free(*state);
    return 0;
}

static void moments_are_those_of_the_normal_law(void **state)
{
    const double *z = *state, count = COUNT;
    double sum[5] = {0.0};
    for (int i = 0; i < COUNT; i++) {
        double power = 1.0;
        for (int k = 1; k <= 4; k++) {
            power *= z[i];
            sum[k] += power;
        }
    }
    /* var(z^k) = E z^2k - (E z^k)^2: 1, 2, 15 (9/6 of it once the mean is taken out: 6), 96 (24 likewise) */
    assert_near(sum[1] / count, 0.0, SIGMAS * sqrt(1.0 / count));
    assert_near(sum[2] / count, 1.0, SIGMAS * sqrt(2.0 / count));
    assert_near(sum[3] / count, 0.0, SIGMAS * sqrt(15.0 / count));
    assert_near(sum[4] / count, 3.0, SIGMAS * sqrt(96.0 / count));
    double mean = sum[1] / count, variance = sum[2] / count - mean * mean;
    double third = sum[3] / count - 3.0 * mean * sum[2] / count + 2.0 * mean * mean * mean;
    double fourth = sum[4] / count - 4.0 * mean * sum[3] / count + 6.0 * mean * mean * sum[2] / count -
                    3.0 * mean * mean * mean * mean;
    assert_near(third / pow(variance, 1.5), 0.0, SIGMAS * sqrt(6.0 / count));
    assert_near(fourth / (variance * variance), 3.0, SIGMAS * sqrt(24.0 / count));
}

static void distribution_passes_kolmogorov_and_smirnov(void **state)
{
    assert_normal_distribution(*state, COUNT);
}

static void tails_hold_their_share_out_to_five_sigma(void **state)
{
    assert_normal_tails(*state, COUNT);
}

/* Far tails by importance: words with `zeros` leading zeros are drawn on purpose, so that z < Phi^-1(2^-zeros) always,
 * and the share beyond another half of it must be one half. */
static void far_tails_halve_with_every_bit(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    for (int zeros = 10; zeros <= 60; zeros += 5) {
        double edge = oto_normal_from_bits((UINT64_C(1) << (63 - zeros)) + 1), beyond = 0.0;
        for (uint64_t n = 0; n < DRAWS; n++) {
            beyond += oto_normal_from_bits(oto_rng_block(key, n, 1, (uint64_t)zeros, 0).v[0] >> zeros) < edge;
        }
        /* the words are whole numbers of 64 - zeros bits and pairs share a deviate: half of them but for that grain */
        double grain = ldexp(1.0, zeros - 62);
        assert_near(beyond / DRAWS, 0.5, SIGMAS * sqrt(0.25 / DRAWS) + grain);
    }
}

static double correlation(const double *a, const double *b, int count, bool squared)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        sum += squared ? (a[i] * a[i] - 1.0) * (b[i] * b[i] - 1.0) / 2.0 : a[i] * b[i];
    }
    return sum / sqrt(count); /* standard normal for independent deviates */
}

static void words_of_a_block_and_following_samples_are_independent(void **state)
{
    const double *z = *state;
    enum { SAMPLES = COUNT / 4 - 8 };
    static double axis[4][SAMPLES], later[4][SAMPLES];
    for (int lag = 0; lag <= 8; lag += 4) {
        for (int i = 0; i < SAMPLES; i++) {
            for (int j = 0; j < 4; j++) {
                axis[j][i] = z[4 * i + j];
                later[j][i] = z[4 * (i + lag) + j];
            }
        }
        for (int j = 0; j < 4; j++) {
            for (int k = lag == 0 ? j + 1 : 0; k < 4; k++) {
                assert_near(correlation(axis[j], later[k], SAMPLES, false), 0.0, SIGMAS);
                assert_near(correlation(axis[j], later[k], SAMPLES, true), 0.0, SIGMAS);
            }
        }
    }
}

static void terms_draws_domains_and_keys_are_independent(void **state)
{
    (void)state;
    enum { SAMPLES = 100000, KINDS = 7 };
    static double z[KINDS][SAMPLES];
    const struct oto_rng_key other_stream = {key.seed, key.stream ^ 1}, other_seed = {key.seed + 1, key.stream};
    for (uint64_t n = 0; n < SAMPLES; n++) {
        const oto_philox_block blocks[KINDS] = {
            oto_rng_block(key, n, 0, 0, OTO_RNG_DOMAIN_SAMPLE),
            oto_rng_block(key, n, 1, 0, OTO_RNG_DOMAIN_SAMPLE),
            oto_rng_block(key, n, 0, 1, OTO_RNG_DOMAIN_SAMPLE),
            oto_rng_block(key, n, 0, 0, OTO_RNG_DOMAIN_FAULT),
            oto_rng_block(other_stream, n, 0, 0, OTO_RNG_DOMAIN_SAMPLE),
            oto_rng_block(other_seed, n, 0, 0, OTO_RNG_DOMAIN_SAMPLE),
            oto_rng_block(key, 0, n, 0, OTO_RNG_DOMAIN_TURN_ON),
        };
        for (int k = 0; k < KINDS; k++) {
            z[k][n] = oto_normal_from_bits(blocks[k].v[0]);
        }
    }
    for (int j = 0; j < KINDS; j++) {
        for (int k = j + 1; k < KINDS; k++) {
            assert_near(correlation(z[j], z[k], SAMPLES, false), 0.0, SIGMAS);
            assert_near(correlation(z[j], z[k], SAMPLES, true), 0.0, SIGMAS);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_those_of_the_normal_law),
        cmocka_unit_test(distribution_passes_kolmogorov_and_smirnov),
        cmocka_unit_test(tails_hold_their_share_out_to_five_sigma),
        cmocka_unit_test(far_tails_halve_with_every_bit),
        cmocka_unit_test(words_of_a_block_and_following_samples_are_independent),
        cmocka_unit_test(terms_draws_domains_and_keys_are_independent),
    };
    return cmocka_run_group_tests(tests, draw, drop);
}
