/*
 * One sample of all triads of a suite, on the tick: the laws of README.md, line by line, NUM_WIDTH lanes at a time. A file
 * that includes this is a kernel (num_measure.h): all of it is inline, with slots and lanes as constants, so that it
 * happens in registers.
 */
#ifndef NUM_KERNEL_BODY_H
#define NUM_KERNEL_BODY_H

#include "num_draws.h"
#include "num_measure.h"
#include "num_pack.h"

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

#define NUM_DEVIATES 32u /* 4 NUM_SUITE_BLOCKS, and what the last lanes read beyond them */

/*
 * Philox4x64-10 of the counters (n, block, NUM_DRAW_DEVIATES, SAMPLE). The first rounds hold little of the block's number:
 * what does not depend on it is made once for all blocks of a sample, a fifth of the multiplications.
 */
struct num_family {
    uint64_t key0, key1;         /* of the first round */
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

/* (double)(int64_t)word of words below 2^63: both halves exactly, and one rounding when they are added. */
NUM_INLINE num_pack num_pack_from_words(num_pack_mask words)
{
    const num_pack high = (num_pack)((num_pack_mask)((num_pack_word)words >> 32) | 0x4530000000000000);
    const num_pack low = (num_pack)((words & 0xffffffff) | 0x4330000000000000);
    return (high - 0x1.00000001p84) + low;
}

/* Coefficients k and k + 1 of four rows of the table, as two packs. */
NUM_INLINE void num_two_coefficients(const double *const row[4], int k, num_pack *first, num_pack *second)
{
    const num_pair a = *(const num_pair *)&row[0][k], b = *(const num_pair *)&row[1][k];
    const num_pair c = *(const num_pair *)&row[2][k], d = *(const num_pair *)&row[3][k];
    const num_pack ac = __builtin_shufflevector(a, c, 0, 1, 2, 3), bd = __builtin_shufflevector(b, d, 0, 1, 2, 3);
    *first = __builtin_shufflevector(ac, bd, 0, 4, 2, 6);
    *second = __builtin_shufflevector(ac, bd, 1, 5, 3, 7);
}

/* oto_normal4, its four polynomials side by side. */
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

/* Where four lanes reach beyond those that are drawn, their factor is zero: what it meets must be a number. */
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
    const uint32_t count = plan->block_count;
    num_deviates_close(deviates);
    for (uint32_t i = 0; i < count; i++) {
        num_family_block(&family, plan->blocks[i], words[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        num_normal4(words[i], &deviates[4 * plan->blocks[i]]);
    }
}

/* Law mavs: the w of each slot. */
NUM_INLINE void num_draw_w(const struct num_suite_plan *plan, uint64_t n, double w[4])
{
    if (plan->w != NUM_W_DOCUMENT && plan->w != NUM_W_CODE) {
        w[0] = w[1] = w[2] = w[3] = plan->w;
        return;
    }
    const double centre = plan->w == NUM_W_CODE ? 2.0 : 0.0;
    const oto_philox_block four = oto_rng_block(plan->noise_key, n, 0, NUM_DRAW_MAVS_W, OTO_RNG_DOMAIN_SAMPLE);
    for (int i = 0; i < 4; i++) {
        w[i] = centre + oto_u11(four.v[i]);
    }
}

/* What the pairs of one sample share. */
struct num_sample {
    const struct num_suite_plan *plan;
    double force_m_s2[3];
    const double *deviates; /* law mems */
    double *walk_u;
    double (*instability)[NUM_INSTABILITY_POLES];
    double *measured_u;
    uint32_t slots, active;
    double degrees, degrees_percent; /* above 25 °C */
    double w[4];                     /* law mavs */
    double truth_u[NUM_LANES];
    num_tap_row *taps; /* NULL: nobody asks */
    bool extended;     /* a constant, as slots and active are: without it nothing of the extended terms is there */
};

/*
 * What was just stored in smaller pieces is read in such pieces (hence volatile): one load of all of it would wait until
 * the stores have left the store buffer.
 */
NUM_INLINE num_pack num_deviates(const struct num_sample *sample, uint32_t process, uint32_t lane)
{
    const double *first = &sample->deviates[3 * sample->slots * process + lane];
#if NUM_WIDTH == 4
    const num_pair low = *(const volatile num_pair *)first, high = *(const volatile num_pair *)(first + 2);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3);
#else
    const double low = *(const volatile double *)first;
    return (num_pack){low, *(const volatile double *)(first + 1)};
#endif
}

NUM_INLINE void num_take_three(double to[3], const double *from)
{
    const volatile double *three = from;
    to[0] = three[0];
    to[1] = three[1];
    to[2] = three[2];
}

/* Axis `axis` of the triad that a lane belongs to; 0 beyond the last. */
NUM_INLINE double num_triad_axis(uint32_t lane, const struct num_sample *sample, uint32_t axis)
{
    return lane < 3 * sample->active ? sample->truth_u[lane / 3 * 3 + axis] : 0.0;
}

NUM_INLINE double num_own_axis(uint32_t lane, const struct num_sample *sample)
{
    return num_triad_axis(lane, sample, lane % 3);
}

/* The sum of the two other axes of the triad, in the order of the axes. */
NUM_INLINE double num_others(uint32_t lane, const struct num_sample *sample)
{
    return num_triad_axis(lane, sample, lane % 3 == 0 ? 1 : 0) + num_triad_axis(lane, sample, lane % 3 == 2 ? 1 : 2);
}

/* Specific force along the axis of a lane, and along the first and second of the others. */
NUM_INLINE double num_own_force(uint32_t lane, const struct num_sample *sample)
{
    return sample->force_m_s2[lane % 3];
}

NUM_INLINE double num_first_force(uint32_t lane, const struct num_sample *sample)
{
    return sample->force_m_s2[lane % 3 == 0 ? 1 : 0];
}

NUM_INLINE double num_second_force(uint32_t lane, const struct num_sample *sample)
{
    return sample->force_m_s2[lane % 3 == 2 ? 1 : 2];
}

NUM_INLINE void num_tap_write(const struct num_sample *sample, enum num_tap tap, uint32_t lane, num_pack value_u)
{
    if (sample->extended && sample->taps != NULL) {
        num_pack_store(&sample->taps[tap][lane], value_u);
    }
}

/* What the diagonal of the matrix adds, and what the rest of it does. */
NUM_INLINE void num_tap_matrix(const struct num_sample *sample, uint32_t first)
{
    if (!sample->extended || sample->taps == NULL) {
        return;
    }
    for (uint32_t lane = first; lane < first + NUM_WIDTH && lane < 3 * sample->active; lane++) {
        double others_u = 0.0;
        for (uint32_t axis = 0; axis < 3; axis++) {
            const double factor = sample->plan->columns[axis][lane];
            const double axis_u = num_triad_axis(lane, sample, axis);
            if (axis == lane % 3) {
                sample->taps[NUM_TAP_SCALE_FACTOR][lane] = (factor - 1.0) * axis_u;
            } else {
                others_u += factor * axis_u;
            }
        }
        sample->taps[NUM_TAP_MISALIGNMENT][lane] = others_u;
    }
}

NUM_INLINE void num_tap_biases(const struct num_sample *sample, uint32_t lane)
{
    const struct num_suite_extras *extras = &sample->plan->extras;
    num_tap_write(sample, NUM_TAP_CONSTANT_BIAS, lane, num_pack_load(&extras->constant_bias_u[lane]));
    num_tap_write(sample, NUM_TAP_TURN_ON_BIAS, lane, num_pack_load(&extras->turn_on_bias_u[lane]));
    num_tap_write(sample, NUM_TAP_UNIT_BIAS, lane, num_pack_load(&extras->unit_bias_u[lane]));
}

NUM_INLINE double num_lane_w(uint32_t lane, const struct num_sample *sample)
{
    return sample->w[lane / 3];
}

/* F1(x) = 1/(1 + (2/fs - 1)/x), F1(0) = 0. */
NUM_INLINE num_pack num_mavs_filter1(num_pack x, double offset)
{
    const num_pack filtered = 1.0 / (1.0 + offset * (1.0 / x));
    return num_pack_select((num_pack_mask)(x == 0.0), num_pack_all(0.0), filtered);
}

/* F2(x) = 1/(1 - 1/x), F2(0) = 0. */
NUM_INLINE num_pack num_mavs_filter2(num_pack x)
{
    const num_pack filtered = 1.0 / (1.0 - 1.0 / x);
    return num_pack_select((num_pack_mask)(x == 0.0), num_pack_all(0.0), filtered);
}

/* Law mavs before clamp and rounding. */
NUM_INLINE num_pack num_mavs(const struct num_sample *sample, uint32_t lane)
{
    const struct num_suite_plan *plan = sample->plan;
    const num_pack w = NUM_PACK_OF(num_lane_w, lane, sample);
    const num_pack others = NUM_PACK_OF(num_others, lane, sample);
    num_pack beta1 = num_pack_all(0.0), beta3 = beta1;
    if ((plan->terms & NUM_HAS_INSTABILITY) != 0) {
        beta1 = num_mavs_filter1(w * num_pack_load(&plan->instability_u[lane]), plan->filter_offset);
    }
    if ((plan->terms & NUM_HAS_WALK) != 0) {
        beta3 = num_mavs_filter2(w / plan->root_half_rate * num_pack_load(&plan->walk_u[lane]));
    }
    const num_pack beta2 = w * plan->root_half_rate * num_pack_load(&plan->white_u[lane]);
    const num_pack crossed = num_pack_load(&plan->misalignment[lane]) * others;
    const num_pack aligned = NUM_PACK_OF(num_own_axis, lane, sample) + crossed;
    const num_pack b = aligned + num_pack_load(&plan->bias_u[lane]);
    const num_pack c = beta1 + beta2 + beta3 + sample->degrees * num_pack_load(&plan->thermal_bias_u_degc[lane]) + b;
    const num_pack d = c * (1.0 + sample->degrees_percent * num_pack_load(&plan->thermal_scale_percent_degc[lane]));
    num_tap_write(sample, NUM_TAP_MISALIGNMENT, lane, crossed);
    num_tap_biases(sample, lane);
    num_tap_write(sample, NUM_TAP_BIAS_INSTABILITY, lane, beta1);
    num_tap_write(sample, NUM_TAP_WHITE_NOISE, lane, beta2);
    num_tap_write(sample, NUM_TAP_RANDOM_WALK, lane, beta3);
    num_tap_write(sample, NUM_TAP_THERMAL_BIAS, lane,
                  sample->degrees * num_pack_load(&plan->thermal_bias_u_degc[lane]));
    num_tap_write(sample, NUM_TAP_THERMAL_SCALE, lane, d - c);
    return d;
}

/* What the specific force along the two other axes adds. */
NUM_INLINE num_pack num_g_cross(const struct num_sample *sample, uint32_t lane)
{
    const num_pack first = NUM_PACK_OF(num_first_force, lane, sample);
    const num_pack second = NUM_PACK_OF(num_second_force, lane, sample);
    return num_pack_load(&sample->plan->extras.g_cross_u_m_s2[0][lane]) * first +
           num_pack_load(&sample->plan->extras.g_cross_u_m_s2[1][lane]) * second;
}

/* Everything of law mems that is the same at every sample of the same truth, but for temperature. */
NUM_INLINE num_pack num_mems_certain(const struct num_sample *sample, uint32_t lane)
{
    const struct num_suite_plan *plan = sample->plan;
    num_pack value_u = NUM_PACK_OF(num_own_axis, lane, sample);
    if ((plan->terms & NUM_HAS_MATRIX) != 0) {
        value_u = NUM_PACK_OF(num_triad_axis, lane, sample, 0) * num_pack_load(&plan->columns[0][lane]) +
                  NUM_PACK_OF(num_triad_axis, lane, sample, 1) * num_pack_load(&plan->columns[1][lane]) +
                  NUM_PACK_OF(num_triad_axis, lane, sample, 2) * num_pack_load(&plan->columns[2][lane]);
        num_tap_matrix(sample, lane);
    }
    if (sample->extended && (plan->terms & NUM_HAS_NONLINEARITY) != 0) {
        const num_pack bent_u = value_u * value_u * (num_pack_load(&plan->extras.quadratic_1_u[lane]) +
                                                     num_pack_load(&plan->extras.cubic_1_u2[lane]) * value_u);
        value_u += bent_u;
        num_tap_write(sample, NUM_TAP_NONLINEARITY, lane, bent_u);
    }
    if ((plan->terms & NUM_HAS_G_SENSITIVITY) != 0) {
        const num_pack felt_u = num_pack_load(&plan->g_sensitivity_u_m_s2[lane]) *
                                NUM_PACK_OF(num_own_force, lane, sample);
        value_u += felt_u;
        num_tap_write(sample, NUM_TAP_G_SENSITIVITY, lane, felt_u);
    }
    if (sample->extended && (plan->terms & NUM_HAS_G_CROSS) != 0) {
        const num_pack felt_u = num_g_cross(sample, lane);
        value_u += felt_u;
        num_tap_write(sample, NUM_TAP_G_CROSS, lane, felt_u);
    }
    if (sample->extended && (plan->terms & NUM_HAS_G2_SENSITIVITY) != 0) {
        const num_pack f = NUM_PACK_OF(num_own_force, lane, sample);
        const num_pack rectified_u = num_pack_load(&plan->extras.g2_sensitivity_u_m2_s4[lane]) * (f * f);
        value_u += rectified_u;
        num_tap_write(sample, NUM_TAP_G2_SENSITIVITY, lane, rectified_u);
    }
    num_tap_biases(sample, lane);
    return value_u + num_pack_load(&plan->bias_u[lane]);
}

NUM_INLINE double num_instability_lane(uint32_t lane, const struct num_sample *sample)
{
    if (lane >= 3 * sample->active) {
        return 0.0;
    }
    const struct num_instability *fit = &sample->plan->triads[lane / 3].instability;
    if (fit->count == 0) {
        return 0.0;
    }
    return num_instability_step(fit, sample->instability[lane],
                                sample->deviates[3 * sample->slots * NUM_INSTABILITY + lane]);
}

/* A state has NUM_WALK_LANES of them. */
NUM_INLINE num_pack num_walk_load(const struct num_sample *sample, uint32_t lane)
{
    const double *walk_u = &sample->walk_u[lane];
#if NUM_WIDTH == 4
    return lane + NUM_WIDTH > NUM_WALK_LANES ? (num_pack){walk_u[0], walk_u[1]} : num_pack_load(walk_u);
#else
    return num_pack_load(walk_u);
#endif
}

NUM_INLINE void num_walk_store(const struct num_sample *sample, uint32_t lane, num_pack value_u)
{
    double *walk_u = &sample->walk_u[lane];
#if NUM_WIDTH == 4
    if (lane + NUM_WIDTH > NUM_WALK_LANES) {
        walk_u[0] = value_u[0];
        walk_u[1] = value_u[1];
        return;
    }
#endif
    num_pack_store(walk_u, value_u);
}

/* What instability, white noise and walk add; advances the state by one period. */
NUM_INLINE num_pack num_mems_random(const struct num_sample *sample, uint32_t lane)
{
    const struct num_suite_plan *plan = sample->plan;
    num_pack sum_u = num_pack_all(0.0);
    if ((plan->terms & NUM_HAS_INSTABILITY) != 0) {
        const num_pack unit = NUM_PACK_OF(num_instability_lane, lane, sample);
        const num_pack instability_u = num_pack_load(&plan->instability_u[lane]) * unit;
        sum_u += instability_u;
        num_tap_write(sample, NUM_TAP_BIAS_INSTABILITY, lane, instability_u);
    }
    if ((plan->terms & NUM_HAS_WHITE) != 0) {
        const num_pack white_u = num_pack_load(&plan->white_u[lane]) * num_deviates(sample, NUM_WHITE, lane);
        sum_u += white_u;
        num_tap_write(sample, NUM_TAP_WHITE_NOISE, lane, white_u);
    }
    if ((plan->terms & NUM_HAS_WALK) != 0) {
        const num_pack walk_u =
            num_walk_load(sample, lane) + num_pack_load(&plan->walk_u[lane]) * num_deviates(sample, NUM_WALK, lane);
        num_walk_store(sample, lane, walk_u);
        sum_u += walk_u;
        num_tap_write(sample, NUM_TAP_RANDOM_WALK, lane, walk_u);
    }
    return sum_u;
}

/* The second and third order of the thermal terms. */
NUM_INLINE void num_thermal_curve(const struct num_sample *sample, uint32_t lane, num_pack *bias_u, num_pack *scale)
{
    const struct num_suite_extras *extras = &sample->plan->extras;
    const double square = sample->degrees * sample->degrees, cube = square * sample->degrees;
    *bias_u += square * num_pack_load(&extras->thermal_bias2_u_degc2[lane]) +
               cube * num_pack_load(&extras->thermal_bias3_u_degc3[lane]);
    *scale += (square * num_pack_load(&extras->thermal_scale2_percent_degc2[lane]) +
               cube * num_pack_load(&extras->thermal_scale3_percent_degc3[lane])) *
              0.01;
}

NUM_INLINE num_pack num_mems(const struct num_sample *sample, uint32_t lane)
{
    const struct num_suite_plan *plan = sample->plan;
    num_pack value_u = num_mems_certain(sample, lane) + num_mems_random(sample, lane);
    if ((plan->terms & (NUM_HAS_THERMAL | (sample->extended ? NUM_HAS_THERMAL_CURVE : 0))) != 0) {
        num_pack bias_u = sample->degrees * num_pack_load(&plan->thermal_bias_u_degc[lane]);
        num_pack scale = 1.0 + sample->degrees_percent * num_pack_load(&plan->thermal_scale_percent_degc[lane]);
        if (sample->extended && (plan->terms & NUM_HAS_THERMAL_CURVE) != 0) {
            num_thermal_curve(sample, lane, &bias_u, &scale);
        }
        const num_pack warm_u = value_u + bias_u;
        value_u = warm_u * scale;
        num_tap_write(sample, NUM_TAP_THERMAL_BIAS, lane, bias_u);
        num_tap_write(sample, NUM_TAP_THERMAL_SCALE, lane, value_u - warm_u);
    }
    return value_u;
}

/* Clamps, then rounds half away from zero, as the document does. Returns bit `lane` for each saturated axis. */
NUM_INLINE uint32_t num_digitise(const struct num_sample *sample, num_pack value_u, uint32_t lane)
{
    const struct num_suite_plan *plan = sample->plan;
    const num_pack limit_u = num_pack_load(&plan->limit_u[lane]);
    const num_pack_mask beyond = (num_pack_mask)(num_pack_abs(value_u) > num_pack_load(&plan->range_u[lane]));
    num_pack kept = num_pack_select((num_pack_mask)(value_u > limit_u), limit_u, value_u);
    kept = num_pack_select((num_pack_mask)(kept < -limit_u), -limit_u, kept);
    num_tap_write(sample, NUM_TAP_SATURATION, lane, kept - value_u);
    if ((plan->terms & NUM_HAS_RESOLUTION) != 0) {
        const num_pack resolution_u = num_pack_load(&plan->resolution_u[lane]);
        const num_pack rounded = resolution_u * num_pack_round_half_away(kept / resolution_u);
        const num_pack digital = num_pack_select((num_pack_mask)(resolution_u > 0.0), rounded, kept);
        num_tap_write(sample, NUM_TAP_QUANTISATION, lane, digital - kept);
        kept = digital;
    }
    num_pack_store(&sample->measured_u[lane], kept);
    return num_pack_bits(beyond) << lane;
}

NUM_INLINE uint32_t num_measure_lanes(const struct num_sample *sample, bool mavs, uint32_t lane)
{
    if (lane >= 3 * sample->active) {
        return 0;
    }
    return num_digitise(sample, mavs ? num_mavs(sample, lane) : num_mems(sample, lane), lane);
}

/* The law is a constant, and so must be each lane, from the compiler's first pass on: hence no loop. */
NUM_INLINE uint32_t num_measure_all(const struct num_sample *sample, bool mavs)
{
    uint32_t saturated = num_measure_lanes(sample, mavs, 0) | num_measure_lanes(sample, mavs, 4) |
                         num_measure_lanes(sample, mavs, 8);
#if NUM_WIDTH == 2
    saturated |= num_measure_lanes(sample, mavs, 2) | num_measure_lanes(sample, mavs, 6);
#endif
    return saturated;
}

/* How much the part has warmed itself at sample n, since time zero. */
NUM_INLINE double num_self_heating(const struct num_suite_extras *extras, uint64_t n)
{
    const double samples = extras->self_heating_samples;
    return samples > 0.0 ? extras->self_heating_degc * -oto_expm1(-(double)(int64_t)n / samples)
                         : extras->self_heating_degc;
}

/* One sample of a job; slots, active and extended are constants. */
NUM_INLINE void num_measure_job(struct num_suite_job *job, uint32_t slots, uint32_t active, bool extended)
{
    const struct num_suite_plan *plan = job->plan;
    struct num_sample sample;
    sample.plan = plan;
    sample.walk_u = job->walk_u;
    sample.instability = job->instability;
    sample.measured_u = job->measured_u;
    sample.taps = job->taps;
    sample.extended = extended;
    sample.slots = slots;
    sample.active = active;
    sample.degrees =
        (plan->temperature_degc == NUM_TEMPERATURE_WORLD ? job->temperature_degc : plan->temperature_degc) - 25.0;
    if (extended && (plan->terms & NUM_HAS_SELF_HEATING) != 0) {
        sample.degrees += num_self_heating(&plan->extras, job->n);
    }
    sample.degrees_percent = sample.degrees / 100.0;
    num_take_three(sample.force_m_s2, job->specific_force_m_s2);
    num_take_three(&sample.truth_u[0], job->truth_u[0]);
    if (active > 1) {
        num_take_three(&sample.truth_u[3], job->truth_u[1]);
    }
    if (active > 2) {
        num_take_three(&sample.truth_u[6], job->truth_u[2]);
    }
    if (plan->law == NUM_LAW_MAVS) {
        num_draw_w(plan, job->n, sample.w);
        job->saturated = num_measure_all(&sample, true);
    } else {
        double deviates[NUM_DEVIATES] __attribute__((aligned(32)));
        num_draw_deviates(plan, job->n, deviates);
        sample.deviates = deviates;
        job->saturated = num_measure_all(&sample, false);
    }
}

/* The shapes of sensors there are: three slots of which all or two measure, or one. */
NUM_INLINE void num_measure_shape(struct num_suite_job *job, bool extended)
{
    if (job->plan->slots == 1) {
        num_measure_job(job, 1, 1, extended);
    } else if (job->plan->active == 2) {
        num_measure_job(job, 3, 2, extended);
    } else {
        num_measure_job(job, 3, 3, extended);
    }
}

static __attribute__((flatten)) void num_kernel_measure(struct num_suite_job *jobs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        num_measure_shape(&jobs[i], false);
    }
}

static __attribute__((flatten)) void num_kernel_measure_extended(struct num_suite_job *job)
{
    num_measure_shape(job, true);
}

#endif
