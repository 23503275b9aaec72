/*
 * One sample of a triad, on the tick: the laws of README.md, line by line. Inline, because passing a sample's few
 * numbers through memory cost as much as computing it (9 axes ideal: 66 ns apart, 22 ns inlined).
 */
#ifndef NUM_MEASURE_H
#define NUM_MEASURE_H

#include "num_triad.h"
#include "otolith/detmath.h"

#define NUM_INLINE static inline __attribute__((always_inline))

/* What one sample is made from. */
struct num_triad_input {
    const double *truth_u;
    const double *specific_force_m_s2;
    double temperature_degc;
    double w;            /* law mavs */
    const double *white; /* law mems: three deviates for each term, read only where the term is there */
    const double *instability;
    const double *walk;
};

/*
 * oto_round_half_away without branches, which noise makes unpredictable: adding 2^52 rounds half to even, and what was
 * rounded down by exactly one half goes up.
 */
NUM_INLINE double num_round_half_away(double x)
{
    const double magnitude = oto_fabs(x);
    const double even = (magnitude + 0x1p52) - 0x1p52;
    const double rounded = magnitude - even >= 0.5 ? even + 1.0 : even;
    return magnitude < 0x1p52 ? __builtin_copysign(rounded, x) : x;
}

/* Clamps, then rounds half away from zero, as the document does. */
NUM_INLINE uint32_t num_digitise(const struct num_triad_plan *plan, const double value_u[3], double measured_u[3])
{
    const double limit_u = plan->limit_u;
    const double resolution_u = plan->resolution_u;
    uint32_t saturated = 0;
    for (int i = 0; i < 3; i++) {
        const double value = value_u[i];
        const double below = value > limit_u ? limit_u : value;
        measured_u[i] = below < -limit_u ? -limit_u : below;
        saturated |= (uint32_t)(oto_fabs(value) > plan->range_u) << i;
    }
    if (resolution_u > 0.0) {
        for (int i = 0; i < 3; i++) {
            measured_u[i] = resolution_u * num_round_half_away(measured_u[i] / resolution_u);
        }
    }
    return saturated;
}

/* Law mavs before clamp and rounding. */
NUM_INLINE void num_mavs_unclamped(const struct num_triad_plan *plan, const struct num_triad_input *input,
                                   double unclamped_u[3])
{
    const double *in = input->truth_u;
    const double *m = plan->misalignment;
    const double w = input->w;
    const double w_white = w * plan->root_half_rate;
    const double w_walk = w / plan->root_half_rate;
    const double degrees = input->temperature_degc - 25.0;
    const double degrees_percent = degrees / 100.0;
    const double aligned_u[3] = {in[0] + m[0] * (in[1] + in[2]), in[1] + m[1] * (in[0] + in[2]),
                                 in[2] + m[2] * (in[0] + in[1])};
    for (int i = 0; i < 3; i++) {
        double beta1 = 0.0, beta3 = 0.0; /* F1(0) = F2(0) = 0 */
        if ((plan->terms & NUM_HAS_INSTABILITY) != 0) {
            const double x = w * plan->bias_instability_u[i];
            beta1 = x == 0.0 ? 0.0 : 1.0 / (1.0 + plan->filter_offset * (1.0 / x));
        }
        if ((plan->terms & NUM_HAS_WALK) != 0) {
            const double x = w_walk * plan->random_walk_u_rthz[i];
            beta3 = x == 0.0 ? 0.0 : 1.0 / (1.0 - 1.0 / x);
        }
        const double beta2 = w_white * plan->noise_density_u_rthz[i];
        const double b = aligned_u[i] + plan->bias_u[i];
        const double c = beta1 + beta2 + beta3 + degrees * plan->thermal_bias_u_degc[i] + b;
        unclamped_u[i] = c * (1.0 + degrees_percent * plan->thermal_scale_percent_degc[i]);
    }
}

NUM_INLINE void num_mems_deterministic(const struct num_triad_plan *plan, const struct num_triad_input *input,
                                       double value_u[3])
{
    const double *in = input->truth_u;
    for (int i = 0; i < 3; i++) {
        const double *row = plan->matrix[i];
        value_u[i] = (plan->terms & NUM_HAS_MATRIX) != 0 ? row[0] * in[0] + row[1] * in[1] + row[2] * in[2] : in[i];
    }
    if ((plan->terms & NUM_HAS_G_SENSITIVITY) != 0) {
        for (int i = 0; i < 3; i++) {
            value_u[i] += plan->g_sensitivity_u_m_s2[i] * input->specific_force_m_s2[i];
        }
    }
    for (int i = 0; i < 3; i++) {
        value_u[i] += plan->bias_u[i];
    }
}

NUM_INLINE void num_mems_noise(const struct num_triad_plan *plan, struct num_triad_state *state,
                               const struct num_triad_input *input, double value_u[3])
{
    if ((plan->terms & NUM_HAS_INSTABILITY) != 0) {
        for (int i = 0; i < 3; i++) {
            value_u[i] += plan->instability_u[i] *
                          num_instability_step(&plan->instability, state->instability[i], input->instability[i]);
        }
    }
    if ((plan->terms & NUM_HAS_WHITE) != 0) {
        for (int i = 0; i < 3; i++) {
            value_u[i] += plan->white_sigma_u[i] * input->white[i];
        }
    }
    if ((plan->terms & NUM_HAS_WALK) != 0) {
        for (int i = 0; i < 3; i++) {
            state->walk_u[i] += plan->walk_step_u[i] * input->walk[i];
            value_u[i] += state->walk_u[i];
        }
    }
}

/* One sample under the plan's law; advances the state by one period. Returns bit i for a saturated axis i. */
NUM_INLINE uint32_t num_triad_measure(const struct num_triad_plan *plan, struct num_triad_state *state,
                                      const struct num_triad_input *input, double measured_u[3])
{
    double value_u[3];
    if (plan->law == NUM_LAW_MAVS) {
        num_mavs_unclamped(plan, input, value_u);
        return num_digitise(plan, value_u, measured_u);
    }
    num_mems_deterministic(plan, input, value_u);
    num_mems_noise(plan, state, input, value_u);
    if ((plan->terms & NUM_HAS_THERMAL) != 0) {
        const double degrees = input->temperature_degc - 25.0;
        for (int i = 0; i < 3; i++) {
            value_u[i] += degrees * plan->thermal_bias_u_degc[i];
            value_u[i] *= 1.0 + degrees / 100.0 * plan->thermal_scale_percent_degc[i];
        }
    }
    return num_digitise(plan, value_u, measured_u);
}

#endif
