/*
 * One to three triads that are sampled together: an IMU's accelerometer, gyroscope and magnetometer, or a magnetometer
 * alone. Draws the random numbers of all of them from few Philox blocks. Pure numbers; prepare and init belong to the
 * loop, measure to the tick.
 *
 * Law mems: deviate (term · 3 count + 3 slot + axis) of term NUM_DRAW_DEVIATES, terms in the order white, instability,
 * walk. Law mavs: one w for each triad and sample, word `slot` of one block.
 */
#ifndef NUM_SUITE_H
#define NUM_SUITE_H

#include "num_triad.h"

enum num_process { NUM_WHITE = 0, NUM_INSTABILITY = 1, NUM_WALK = 2, NUM_PROCESSES = 3 };

#define NUM_SUITE_DEVIATES (NUM_PROCESSES * 3 * NUM_TRIAD_IDS)
#define NUM_SUITE_BLOCKS ((NUM_SUITE_DEVIATES + 3) / 4)

/* What a sensor is made of. Slots are fixed by the plugin; `enabled` bit s switches slot s. */
struct num_suite_setup {
    const struct num_law_params *law;
    double rate_hz;
    struct oto_rng_key noise_key, unit_key;
    uint32_t count;
    uint32_t enabled;
    enum num_triad_id ids[NUM_TRIAD_IDS];
    const struct num_triad_params *params[NUM_TRIAD_IDS];
};

struct num_suite_plan {
    uint32_t count;
    uint32_t enabled;
    uint32_t law;
    uint32_t block_count;
    uint8_t blocks[NUM_SUITE_BLOCKS + 1]; /* of four deviates: those that hold one in use, ascending */
    double temperature_degc;              /* NUM_TEMPERATURE_WORLD: the input's */
    double w;
    struct oto_rng_key noise_key;
    struct num_triad_place places[NUM_TRIAD_IDS];
    struct num_triad_plan triads[NUM_TRIAD_IDS];
};

/* Errors: INVALID, RANGE. */
enum oto_status num_suite_prepare(const struct num_suite_setup *setup, struct num_suite_plan *plan,
                                  struct oto_error *error);
void num_suite_init(const struct num_suite_plan *plan, uint32_t slot, struct num_triad_state *state);
/* Restarts the instability of a triad whose fit has changed; its other processes go on. */
void num_suite_adapt(const struct num_suite_plan *plan, uint32_t slot, const struct num_triad_params *old_params,
                     const struct num_triad_params *new_params, struct num_triad_state *state);

#endif
