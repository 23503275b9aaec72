/* One sample of all triads of a sensor, on the tick. Inline for the reason given in num_measure.h. */
#ifndef NUM_SAMPLE_H
#define NUM_SAMPLE_H

#include <string.h>

#include "num_draws.h"
#include "num_measure.h"
#include "num_suite.h"

/* What one sample is made from; truth of slot s at truth_u[s]. What is not enabled reads zero. */
struct num_suite_sample {
    uint64_t n;
    double temperature_degc;
    const double *specific_force_m_s2;
    const double *truth_u[NUM_TRIAD_IDS];
    double measured_u[NUM_TRIAD_IDS][3];
    uint32_t saturated[NUM_TRIAD_IDS];
};

/* Each block is made while the one before it is transformed. */
NUM_INLINE void num_suite_draw(const struct num_suite_plan *plan, uint64_t n, double *deviates)
{
    const struct oto_rng_key key = plan->noise_key;
    if (plan->block_count == 0) {
        return;
    }
    const uint8_t *block = plan->blocks;
    const uint8_t *last = block + plan->block_count - 1;
    oto_philox_block words = oto_rng_block(key, n, *block, NUM_DRAW_DEVIATES, OTO_RNG_DOMAIN_SAMPLE);
    for (; block != last; block++) {
        const oto_philox_block next = oto_rng_block(key, n, block[1], NUM_DRAW_DEVIATES, OTO_RNG_DOMAIN_SAMPLE);
        oto_normal4(words, &deviates[4 * *block]);
        words = next;
    }
    oto_normal4(words, &deviates[4 * *last]);
}

/* Law mavs: the w of each slot. */
NUM_INLINE void num_suite_draw_w(const struct num_suite_plan *plan, uint64_t n, double w[4])
{
    if (plan->w != NUM_W_DOCUMENT && plan->w != NUM_W_CODE) {
        w[0] = w[1] = w[2] = plan->w;
        return;
    }
    const double centre = plan->w == NUM_W_CODE ? 2.0 : 0.0;
    const oto_philox_block four = oto_rng_block(plan->noise_key, n, 0, NUM_DRAW_MAVS_W, OTO_RNG_DOMAIN_SAMPLE);
    for (int i = 0; i < 4; i++) {
        w[i] = centre + oto_u11(four.v[i]);
    }
}

/* `count` is the plan's, written as a constant by the caller; `states` holds as many. */
NUM_INLINE void num_suite_measure(const struct num_suite_plan *plan, uint32_t count, struct num_triad_state *states,
                                  struct num_suite_sample *sample)
{
    double deviates[4 * NUM_SUITE_BLOCKS];
    double w[4];
    struct num_triad_input input;
    input.temperature_degc =
        plan->temperature_degc == NUM_TEMPERATURE_WORLD ? sample->temperature_degc : plan->temperature_degc;
    input.specific_force_m_s2 = sample->specific_force_m_s2;
    if (plan->law == NUM_LAW_MAVS) {
        num_suite_draw_w(plan, sample->n, w);
    } else {
        num_suite_draw(plan, sample->n, deviates);
    }
    for (uint32_t slot = 0; slot < count; slot++) {
        if ((plan->enabled >> slot & 1u) == 0) {
            sample->saturated[slot] = 0;
            memset(sample->measured_u[slot], 0, sizeof sample->measured_u[slot]);
            continue;
        }
        input.w = plan->law == NUM_LAW_MAVS ? w[slot] : 0.0;
        input.white = &deviates[3 * (NUM_WHITE * count + slot)];
        input.instability = &deviates[3 * (NUM_INSTABILITY * count + slot)];
        input.walk = &deviates[3 * (NUM_WALK * count + slot)];
        input.truth_u = sample->truth_u[slot];
        sample->saturated[slot] =
            num_triad_measure(&plan->triads[slot], &states[slot], &input, sample->measured_u[slot]);
    }
}

#endif
