/*
 * One to three triads that are sampled together: an IMU's accelerometer, gyroscope and magnetometer, or a magnetometer
 * alone. Their axes are adjacent lanes (num_measure.h takes the samples), and all their random numbers come from few
 * Philox blocks. Pure numbers. All functions belong to the loop except num_suite_adapt.
 *
 * Law mems: deviate (3 slots · process + lane) of term NUM_DRAW_DEVIATES. Law mavs: one w for each triad and sample,
 * word `slot` of one block.
 */
#ifndef NUM_SUITE_H
#define NUM_SUITE_H

#include <stdbool.h>

#include "num_triad.h"

enum num_process { NUM_WHITE = 0, NUM_INSTABILITY = 1, NUM_WALK = 2, NUM_PROCESSES = 3 };

/*
 * Lane number = 3 slot + axis. Three additional lanes fill whole packs at any width. States contain the random walk of
 * whole pairs of lanes.
 */
#define NUM_LANES 12
#define NUM_WALK_LANES 10
#define NUM_GROUP 4 /* lanes of the widest pack */
#define NUM_SUITE_BLOCKS 7 /* blocks of four deviates, for 3 processes of 9 lanes */

/* The triads of a sensor. The plugin fixes the slots; the first `active` of them measure. */
struct num_suite_setup {
    const struct num_law_params *law;
    double rate_hz;
    struct oto_rng_key noise_key, unit_key;
    uint32_t slots;
    uint32_t active;
    enum num_triad_id ids[NUM_TRIAD_IDS];
    const struct num_triad_params *params[NUM_TRIAD_IDS];
};

/* Used only by the extended path. */
struct num_suite_extras {
    double constant_bias_u[NUM_LANES], turn_on_bias_u[NUM_LANES], unit_bias_u[NUM_LANES];
    double quadratic_1_u[NUM_LANES], cubic_1_u2[NUM_LANES];
    double g2_sensitivity_u_m2_s4[NUM_LANES];
    double g_cross_u_m_s2[2][NUM_LANES];
    double thermal_bias2_u_degc2[NUM_LANES], thermal_bias3_u_degc3[NUM_LANES];
    double thermal_scale2_percent_degc2[NUM_LANES], thermal_scale3_percent_degc3[NUM_LANES];
    double self_heating_degc, self_heating_samples; /* self_heating_samples: time constant in samples */
};

/* The instability of a triad in each sample. */
struct num_suite_floor {
    uint64_t count; /* processes in use */
    double decay[NUM_INSTABILITY_POLES], drive[NUM_INSTABILITY_POLES];
};

/*
 * The constants that do not depend on the unit. Units with equal parameters share them (num_suite_share), so a batch reads
 * them once. Lanes without a triad are zero. The fields are those of struct num_triad_plan.
 */
struct num_suite_common {
    uint32_t slots, active;
    uint32_t law;
    uint32_t terms; /* union over the active triads */
    uint32_t block_count;
    uint8_t blocks[NUM_SUITE_BLOCKS + 1]; /* blocks with a deviate in use, ascending */
    double temperature_degc;              /* NUM_TEMPERATURE_WORLD: the temperature of the input */
    double w;
    double root_half_rate;
    double filter_offset; /* offset in F1 of law mavs: 2/fs - 1 */
    double range_u[NUM_LANES], limit_u[NUM_LANES], resolution_u[NUM_LANES];
    double white_u[NUM_LANES], instability_u[NUM_LANES], walk_u[NUM_LANES];
    double misalignment[NUM_LANES];
    struct num_suite_floor floors[NUM_TRIAD_IDS];
};

/* Constants of a unit for four adjacent lanes. */
struct num_suite_unit {
    double bias_u[NUM_GROUP];
    double columns[3][NUM_GROUP]; /* columns of the triads' matrices */
    double g_sensitivity_u_m_s2[NUM_GROUP];
    double thermal_bias_u_degc[NUM_GROUP], thermal_scale_percent_degc[NUM_GROUP];
};

/* The plan of one unit. A sample without extended terms reads what stands before `extras`. */
struct num_suite_plan {
    const struct num_kernel *kernel; /* kernel for this machine (num_measure.h) */
    const struct num_suite_common *common; /* `own_common`, or the copy that several units share */
    struct oto_rng_key noise_key;
    struct num_suite_unit units[NUM_LANES / NUM_GROUP]; /* group by group: a unit with few lanes reads few cache lines */
    struct num_suite_extras extras;
    struct num_triad_place places[NUM_TRIAD_IDS];
    struct num_triad_plan triads[NUM_TRIAD_IDS];
    struct num_suite_common own_common;
};

/* Errors: INVALID, RANGE. The plan refers to itself, so it must not be copied. */
enum oto_status num_suite_prepare(const struct num_suite_setup *setup, struct num_suite_plan *plan,
                                  struct oto_error *error);
/* Starts the instability of a slot: three lanes. */
void num_suite_start(const struct num_suite_plan *plan, uint32_t slot, double (*instability)[NUM_INSTABILITY_POLES]);
/* [tick] Restarts the instability of a triad whose fit has changed; its other processes continue. */
void num_suite_adapt(const struct num_suite_plan *plan, uint32_t slot, const struct num_triad_params *old_params,
                     const struct num_triad_params *new_params, double (*instability)[NUM_INSTABILITY_POLES]);
bool num_suite_is_finite(const double *walk_u, const double (*instability)[NUM_INSTABILITY_POLES], uint32_t lanes);

#endif
