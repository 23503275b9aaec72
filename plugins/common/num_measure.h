/*
 * One sample of all triads of a suite, on the tick: the laws of README.md, line by line, two lanes at a time. Inline
 * with slots and lanes as constants, so that all of it happens in registers.
 */
#ifndef NUM_MEASURE_H
#define NUM_MEASURE_H

#include "num_draws.h"
#include "num_pair.h"
#include "num_suite.h"
#include "num_taps.h"

/* What one sample is made from. */
struct num_suite_input {
    uint64_t n;
    double temperature_degc;
    const double *truth_u[NUM_TRIAD_IDS]; /* three numbers for each active slot */
    const double *specific_force_m_s2;    /* for g-sensitivity */
};

NUM_INLINE void num_draw_deviates(const struct num_suite_plan *plan, uint64_t n, double *deviates)
{
    oto_philox_block words[NUM_SUITE_BLOCKS];
    for (uint32_t i = 0; i < plan->block_count; i++) {
        words[i] = oto_rng_block(plan->noise_key, n, plan->blocks[i], NUM_DRAW_DEVIATES, OTO_RNG_DOMAIN_SAMPLE);
    }
    for (uint32_t i = 0; i < plan->block_count; i++) {
        oto_normal4(words[i], &deviates[4 * plan->blocks[i]]);
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
    const double *specific_force_m_s2;
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
 * Two numbers that were just stored one by one, read one by one (hence volatile): a single load of both would wait
 * until their stores have left the store buffer.
 */
NUM_INLINE num_pair num_pair_gather(const double *first, const double *second)
{
    const double low = *(const volatile double *)first;
    return (num_pair){low, *(const volatile double *)second};
}

NUM_INLINE void num_take_truth(struct num_sample *sample, const struct num_suite_input *input, uint32_t slot)
{
    const volatile double *truth_u = input->truth_u[slot];
    sample->truth_u[3 * slot] = truth_u[0];
    sample->truth_u[3 * slot + 1] = truth_u[1];
    sample->truth_u[3 * slot + 2] = truth_u[2];
}

/* Axis `axis` of the triad that a lane belongs to; 0 beyond the last. */
NUM_INLINE double num_triad_axis(const struct num_sample *sample, uint32_t lane, uint32_t axis)
{
    return lane < 3 * sample->active ? sample->truth_u[lane / 3 * 3 + axis] : 0.0;
}

NUM_INLINE num_pair num_pair_axis(const struct num_sample *sample, uint32_t lane, uint32_t axis)
{
    return (num_pair){num_triad_axis(sample, lane, axis), num_triad_axis(sample, lane + 1, axis)};
}

NUM_INLINE num_pair num_pair_truth(const struct num_sample *sample, uint32_t lane)
{
    return (num_pair){num_triad_axis(sample, lane, lane % 3), num_triad_axis(sample, lane + 1, (lane + 1) % 3)};
}

NUM_INLINE void num_tap_write(const struct num_sample *sample, enum num_tap tap, uint32_t lane, num_pair value_u)
{
    if (sample->extended && sample->taps != NULL) {
        num_pair_store(&sample->taps[tap][lane], value_u);
    }
}

/* What the diagonal of the matrix adds, and what the rest of it does. */
NUM_INLINE void num_tap_matrix(const struct num_sample *sample, uint32_t pair)
{
    if (!sample->extended || sample->taps == NULL) {
        return;
    }
    for (uint32_t lane = pair; lane < pair + 2 && lane < 3 * sample->active; lane++) {
        double others_u = 0.0;
        for (uint32_t axis = 0; axis < 3; axis++) {
            const double factor = sample->plan->columns[axis][lane];
            const double axis_u = num_triad_axis(sample, lane, axis);
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
    num_tap_write(sample, NUM_TAP_CONSTANT_BIAS, lane, num_pair_load(&extras->constant_bias_u[lane]));
    num_tap_write(sample, NUM_TAP_TURN_ON_BIAS, lane, num_pair_load(&extras->turn_on_bias_u[lane]));
    num_tap_write(sample, NUM_TAP_UNIT_BIAS, lane, num_pair_load(&extras->unit_bias_u[lane]));
}

/* The sum of the two other axes of the triad, in the order of the axes. */
NUM_INLINE double num_others(const struct num_sample *sample, uint32_t lane)
{
    return num_triad_axis(sample, lane, lane % 3 == 0 ? 1 : 0) + num_triad_axis(sample, lane, lane % 3 == 2 ? 1 : 2);
}

/* F1(x) = 1/(1 + (2/fs - 1)/x), F1(0) = 0. */
NUM_INLINE num_pair num_mavs_filter1(num_pair x, double offset)
{
    const num_pair filtered = 1.0 / (1.0 + offset * (1.0 / x));
    return num_pair_select((num_pair_mask)(x == 0.0), num_pair_all(0.0), filtered);
}

/* F2(x) = 1/(1 - 1/x), F2(0) = 0. */
NUM_INLINE num_pair num_mavs_filter2(num_pair x)
{
    const num_pair filtered = 1.0 / (1.0 - 1.0 / x);
    return num_pair_select((num_pair_mask)(x == 0.0), num_pair_all(0.0), filtered);
}

/* Law mavs before clamp and rounding. */
NUM_INLINE num_pair num_mavs(const struct num_sample *sample, uint32_t lane)
{
    const struct num_suite_plan *plan = sample->plan;
    const num_pair w = {sample->w[lane / 3], sample->w[(lane + 1) / 3]};
    const num_pair others = {num_others(sample, lane), num_others(sample, lane + 1)};
    num_pair beta1 = num_pair_all(0.0), beta3 = beta1;
    if ((plan->terms & NUM_HAS_INSTABILITY) != 0) {
        beta1 = num_mavs_filter1(w * num_pair_load(&plan->instability_u[lane]), plan->filter_offset);
    }
    if ((plan->terms & NUM_HAS_WALK) != 0) {
        beta3 = num_mavs_filter2(w / plan->root_half_rate * num_pair_load(&plan->walk_u[lane]));
    }
    const num_pair beta2 = w * plan->root_half_rate * num_pair_load(&plan->white_u[lane]);
    const num_pair crossed = num_pair_load(&plan->misalignment[lane]) * others;
    const num_pair aligned = num_pair_truth(sample, lane) + crossed;
    const num_pair b = aligned + num_pair_load(&plan->bias_u[lane]);
    const num_pair c = beta1 + beta2 + beta3 + sample->degrees * num_pair_load(&plan->thermal_bias_u_degc[lane]) + b;
    const num_pair d = c * (1.0 + sample->degrees_percent * num_pair_load(&plan->thermal_scale_percent_degc[lane]));
    num_tap_write(sample, NUM_TAP_MISALIGNMENT, lane, crossed);
    num_tap_biases(sample, lane);
    num_tap_write(sample, NUM_TAP_BIAS_INSTABILITY, lane, beta1);
    num_tap_write(sample, NUM_TAP_WHITE_NOISE, lane, beta2);
    num_tap_write(sample, NUM_TAP_RANDOM_WALK, lane, beta3);
    num_tap_write(sample, NUM_TAP_THERMAL_BIAS, lane,
                  sample->degrees * num_pair_load(&plan->thermal_bias_u_degc[lane]));
    num_tap_write(sample, NUM_TAP_THERMAL_SCALE, lane, d - c);
    return d;
}

/* What the specific force along the two other axes adds. */
NUM_INLINE num_pair num_g_cross(const struct num_sample *sample, uint32_t lane)
{
    const double *force = sample->specific_force_m_s2;
    const uint32_t axis = lane % 3, next = (lane + 1) % 3;
    const num_pair first = num_pair_gather(&force[axis == 0 ? 1 : 0], &force[next == 0 ? 1 : 0]);
    const num_pair second = num_pair_gather(&force[axis == 2 ? 1 : 2], &force[next == 2 ? 1 : 2]);
    return num_pair_load(&sample->plan->extras.g_cross_u_m_s2[0][lane]) * first +
           num_pair_load(&sample->plan->extras.g_cross_u_m_s2[1][lane]) * second;
}

/* Everything of law mems that is the same at every sample of the same truth, but for temperature. */
NUM_INLINE num_pair num_mems_certain(const struct num_sample *sample, uint32_t lane)
{
    const struct num_suite_plan *plan = sample->plan;
    num_pair value_u = num_pair_truth(sample, lane);
    if ((plan->terms & NUM_HAS_MATRIX) != 0) {
        value_u = num_pair_axis(sample, lane, 0) * num_pair_load(&plan->columns[0][lane]) +
                  num_pair_axis(sample, lane, 1) * num_pair_load(&plan->columns[1][lane]) +
                  num_pair_axis(sample, lane, 2) * num_pair_load(&plan->columns[2][lane]);
        num_tap_matrix(sample, lane);
    }
    if (sample->extended && (plan->terms & NUM_HAS_NONLINEARITY) != 0) {
        const num_pair bent_u = value_u * value_u * (num_pair_load(&plan->extras.quadratic_1_u[lane]) +
                                                     num_pair_load(&plan->extras.cubic_1_u2[lane]) * value_u);
        value_u += bent_u;
        num_tap_write(sample, NUM_TAP_NONLINEARITY, lane, bent_u);
    }
    const double *force = sample->specific_force_m_s2;
    if ((plan->terms & NUM_HAS_G_SENSITIVITY) != 0) {
        const num_pair felt_u = num_pair_load(&plan->g_sensitivity_u_m_s2[lane]) *
                                num_pair_gather(&force[lane % 3], &force[(lane + 1) % 3]);
        value_u += felt_u;
        num_tap_write(sample, NUM_TAP_G_SENSITIVITY, lane, felt_u);
    }
    if (sample->extended && (plan->terms & NUM_HAS_G_CROSS) != 0) {
        const num_pair felt_u = num_g_cross(sample, lane);
        value_u += felt_u;
        num_tap_write(sample, NUM_TAP_G_CROSS, lane, felt_u);
    }
    if (sample->extended && (plan->terms & NUM_HAS_G2_SENSITIVITY) != 0) {
        const num_pair f = num_pair_gather(&force[lane % 3], &force[(lane + 1) % 3]);
        const num_pair rectified_u = num_pair_load(&plan->extras.g2_sensitivity_u_m2_s4[lane]) * (f * f);
        value_u += rectified_u;
        num_tap_write(sample, NUM_TAP_G2_SENSITIVITY, lane, rectified_u);
    }
    num_tap_biases(sample, lane);
    return value_u + num_pair_load(&plan->bias_u[lane]);
}

NUM_INLINE double num_instability_lane(const struct num_sample *sample, uint32_t lane)
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

/* What instability, white noise and walk add; advances the state by one period. */
NUM_INLINE num_pair num_mems_random(const struct num_sample *sample, uint32_t lane)
{
    const struct num_suite_plan *plan = sample->plan;
    num_pair sum_u = num_pair_all(0.0);
    if ((plan->terms & NUM_HAS_INSTABILITY) != 0) {
        const num_pair unit = {num_instability_lane(sample, lane), num_instability_lane(sample, lane + 1)};
        const num_pair instability_u = num_pair_load(&plan->instability_u[lane]) * unit;
        sum_u += instability_u;
        num_tap_write(sample, NUM_TAP_BIAS_INSTABILITY, lane, instability_u);
    }
    if ((plan->terms & NUM_HAS_WHITE) != 0) {
        const double *white = &sample->deviates[lane];
        const num_pair white_u = num_pair_load(&plan->white_u[lane]) * num_pair_gather(&white[0], &white[1]);
        sum_u += white_u;
        num_tap_write(sample, NUM_TAP_WHITE_NOISE, lane, white_u);
    }
    if ((plan->terms & NUM_HAS_WALK) != 0) {
        const double *step = &sample->deviates[3 * sample->slots * NUM_WALK + lane];
        const num_pair walk_u = num_pair_load(&sample->walk_u[lane]) +
                                num_pair_load(&plan->walk_u[lane]) * num_pair_gather(&step[0], &step[1]);
        num_pair_store(&sample->walk_u[lane], walk_u);
        sum_u += walk_u;
        num_tap_write(sample, NUM_TAP_RANDOM_WALK, lane, walk_u);
    }
    return sum_u;
}

/* The second and third order of the thermal terms. */
NUM_INLINE void num_thermal_curve(const struct num_sample *sample, uint32_t lane, num_pair *bias_u, num_pair *scale)
{
    const struct num_suite_extras *extras = &sample->plan->extras;
    const double square = sample->degrees * sample->degrees, cube = square * sample->degrees;
    *bias_u += square * num_pair_load(&extras->thermal_bias2_u_degc2[lane]) +
               cube * num_pair_load(&extras->thermal_bias3_u_degc3[lane]);
    *scale += (square * num_pair_load(&extras->thermal_scale2_percent_degc2[lane]) +
               cube * num_pair_load(&extras->thermal_scale3_percent_degc3[lane])) *
              0.01;
}

NUM_INLINE num_pair num_mems(const struct num_sample *sample, uint32_t lane)
{
    const struct num_suite_plan *plan = sample->plan;
    num_pair value_u = num_mems_certain(sample, lane) + num_mems_random(sample, lane);
    if ((plan->terms & (NUM_HAS_THERMAL | (sample->extended ? NUM_HAS_THERMAL_CURVE : 0))) != 0) {
        num_pair bias_u = sample->degrees * num_pair_load(&plan->thermal_bias_u_degc[lane]);
        num_pair scale = 1.0 + sample->degrees_percent * num_pair_load(&plan->thermal_scale_percent_degc[lane]);
        if (sample->extended && (plan->terms & NUM_HAS_THERMAL_CURVE) != 0) {
            num_thermal_curve(sample, lane, &bias_u, &scale);
        }
        const num_pair warm_u = value_u + bias_u;
        value_u = warm_u * scale;
        num_tap_write(sample, NUM_TAP_THERMAL_BIAS, lane, bias_u);
        num_tap_write(sample, NUM_TAP_THERMAL_SCALE, lane, value_u - warm_u);
    }
    return value_u;
}

/* Clamps, then rounds half away from zero, as the document does. Returns bit `lane` for each saturated axis. */
NUM_INLINE uint32_t num_digitise(const struct num_sample *sample, num_pair value_u, uint32_t lane)
{
    const struct num_suite_plan *plan = sample->plan;
    const num_pair limit_u = num_pair_load(&plan->limit_u[lane]);
    const num_pair_mask beyond = (num_pair_mask)(num_pair_abs(value_u) > num_pair_load(&plan->range_u[lane]));
    num_pair kept = num_pair_select((num_pair_mask)(value_u > limit_u), limit_u, value_u);
    kept = num_pair_select((num_pair_mask)(kept < -limit_u), -limit_u, kept);
    num_tap_write(sample, NUM_TAP_SATURATION, lane, kept - value_u);
    if ((plan->terms & NUM_HAS_RESOLUTION) != 0) {
        const num_pair resolution_u = num_pair_load(&plan->resolution_u[lane]);
        const num_pair rounded = resolution_u * num_pair_round_half_away(kept / resolution_u);
        const num_pair digital = num_pair_select((num_pair_mask)(resolution_u > 0.0), rounded, kept);
        num_tap_write(sample, NUM_TAP_QUANTISATION, lane, digital - kept);
        kept = digital;
    }
    num_pair_store(&sample->measured_u[lane], kept);
    return (uint32_t)((beyond[0] & 1) | (beyond[1] & 2)) << lane;
}

NUM_INLINE uint32_t num_measure_pair(const struct num_sample *sample, uint32_t lane)
{
    const num_pair value_u = sample->plan->law == NUM_LAW_MAVS ? num_mavs(sample, lane) : num_mems(sample, lane);
    return num_digitise(sample, value_u, lane);
}

/* How much the part has warmed itself at sample n, since time zero. */
NUM_INLINE double num_self_heating(const struct num_suite_extras *extras, uint64_t n)
{
    const double samples = extras->self_heating_samples;
    return samples > 0.0 ? extras->self_heating_degc * -oto_expm1(-(double)(int64_t)n / samples)
                         : extras->self_heating_degc;
}

/*
 * One sample under the plan's law. `slots`, `active` and `extended` are those of the setup, written as constants by the caller;
 * walk_u has an even number of lanes, instability one row a lane; measured_u has NUM_LANES, those without an axis
 * unspecified; taps, or NULL, gets every tap from the scale factor on, and starts zero. Returns bit `lane` for each
 * saturated axis.
 */
NUM_INLINE uint32_t num_suite_measure_with(const struct num_suite_plan *plan, uint32_t slots, uint32_t active,
                                           const struct num_suite_input *input, double *walk_u,
                                           double (*instability)[NUM_INSTABILITY_POLES], double measured_u[NUM_LANES],
                                           bool extended, num_tap_row *taps)
{
    double deviates[4 * NUM_SUITE_BLOCKS];
    struct num_sample sample;
    sample.plan = plan;
    sample.specific_force_m_s2 = input->specific_force_m_s2;
    sample.deviates = deviates;
    sample.walk_u = walk_u;
    sample.instability = instability;
    sample.measured_u = measured_u;
    sample.taps = taps;
    sample.extended = extended;
    sample.slots = slots;
    sample.active = active;
    sample.degrees =
        (plan->temperature_degc == NUM_TEMPERATURE_WORLD ? input->temperature_degc : plan->temperature_degc) - 25.0;
    if (extended && (plan->terms & NUM_HAS_SELF_HEATING) != 0) {
        sample.degrees += num_self_heating(&plan->extras, input->n);
    }
    sample.degrees_percent = sample.degrees / 100.0;
    if (plan->law == NUM_LAW_MAVS) {
        num_draw_w(plan, input->n, sample.w);
    } else {
        num_draw_deviates(plan, input->n, deviates);
    }
    num_take_truth(&sample, input, 0);
    uint32_t saturated = 0;
    if (active > 1) {
        num_take_truth(&sample, input, 1);
    }
    if (active > 2) {
        num_take_truth(&sample, input, 2);
    }
    saturated = num_measure_pair(&sample, 0) | num_measure_pair(&sample, 2);
    if (active > 1) {
        saturated |= num_measure_pair(&sample, 4);
    }
    if (active > 2) {
        saturated |= num_measure_pair(&sample, 6) | num_measure_pair(&sample, 8);
    }
    return saturated;
}

/* Without the terms that need the extended path. */
NUM_INLINE uint32_t num_suite_measure(const struct num_suite_plan *plan, uint32_t slots, uint32_t active,
                                      const struct num_suite_input *input, double *walk_u,
                                      double (*instability)[NUM_INSTABILITY_POLES], double measured_u[NUM_LANES])
{
    return num_suite_measure_with(plan, slots, active, input, walk_u, instability, measured_u, false, NULL);
}

/* With all terms, to the same bits where those are off. One slot, or two or three active ones of three. */
uint32_t num_suite_measure_extended(const struct num_suite_plan *plan, uint32_t slots, uint32_t active,
                                    const struct num_suite_input *input, double *walk_u,
                                    double (*instability)[NUM_INSTABILITY_POLES], double measured_u[NUM_LANES],
                                    num_tap_row *taps);

#endif
