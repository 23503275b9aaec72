/*
 * The laws mems and mavs of README.md, line by line, NUM_WIDTH lanes at a time, for kernels (num_kernel_body.h): from
 * the exposure to the measured value before clamp and rounding. All of it is inline, with slots and lanes as constants.
 */
#ifndef NUM_NOISE_LAW_H
#define NUM_NOISE_LAW_H

#include "num_kernel_draw.h"
#include "otolith/vecmath.h"

/* Values that all lane packs of one sample share. */
struct num_sample {
    const struct num_suite_plan *plan;
    const struct num_suite_common *common;
    double force_m_s2[3];
    const double *deviates; /* law mems */
    double *walk_u;
    double (*instability)[NUM_INSTABILITY_POLES];
    double *measured_u;
    uint32_t slots, active;
    double degrees, degrees_percent; /* above 25 °C */
    double w[4];                     /* law mavs */
    double truth_u[NUM_LANES];
    uint64_t n;
    const struct num_colour *colour; /* extended: the band limit of white noise; NULL: none */
    double (*colour_state)[NUM_LANES];
    num_tap_row *taps; /* NULL: taps are not wanted */
    bool extended;     /* a compile-time constant, so that the compiler drops the extended terms if it is false */
};

/*
 * Loads a pack of deviates in pieces of the size in which they were just stored (hence volatile). A single load of several
 * pieces would wait until the stores have left the store buffer.
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

/* The constants of a unit from `lane` on. */
#define NUM_UNIT(member, lane) (&plan->units[(lane) / NUM_GROUP].member[(lane) % NUM_GROUP])

NUM_INLINE void num_take_three(double to[3], const double *from)
{
    const volatile double *three = from;
    to[0] = three[0];
    to[1] = three[1];
    to[2] = three[2];
}

/* Truth along axis `axis` of the triad to which a lane belongs; 0 for lanes beyond the last triad. */
NUM_INLINE double num_triad_axis(uint32_t lane, const struct num_sample *sample, uint32_t axis)
{
    return lane < 3 * sample->active ? sample->truth_u[lane / 3 * 3 + axis] : 0.0;
}

NUM_INLINE double num_own_axis(uint32_t lane, const struct num_sample *sample)
{
    return num_triad_axis(lane, sample, lane % 3);
}

/* Sum of the truth along the two other axes of the triad, in the order of the axes. */
NUM_INLINE double num_others(uint32_t lane, const struct num_sample *sample)
{
    return num_triad_axis(lane, sample, lane % 3 == 0 ? 1 : 0) + num_triad_axis(lane, sample, lane % 3 == 2 ? 1 : 2);
}

/* Specific force along the axis of a lane, and along the first and the second of the other two axes. */
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

/* Writes the taps of the matrix: the contribution of its diagonal, and that of its other elements. */
NUM_INLINE void num_tap_matrix(const struct num_sample *sample, uint32_t first)
{
    if (!sample->extended || sample->taps == NULL) {
        return;
    }
    for (uint32_t lane = first; lane < first + NUM_WIDTH && lane < 3 * sample->active; lane++) {
        double others_u = 0.0;
        for (uint32_t axis = 0; axis < 3; axis++) {
            const double factor = sample->plan->units[lane / NUM_GROUP].columns[axis][lane % NUM_GROUP];
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
    const struct num_suite_common *common = sample->common;
    const num_pack w = NUM_PACK_OF(num_lane_w, lane, sample);
    const num_pack others = NUM_PACK_OF(num_others, lane, sample);
    num_pack beta1 = num_pack_all(0.0), beta3 = beta1;
    if ((common->terms & NUM_HAS_INSTABILITY) != 0) {
        beta1 = num_mavs_filter1(w * num_pack_load(&common->instability_u[lane]), common->filter_offset);
    }
    if ((common->terms & NUM_HAS_WALK) != 0) {
        beta3 = num_mavs_filter2(w / common->root_half_rate * num_pack_load(&common->walk_u[lane]));
    }
    const num_pack beta2 = w * common->root_half_rate * num_pack_load(&common->white_u[lane]);
    const num_pack crossed = num_pack_load(&common->misalignment[lane]) * others;
    const num_pack aligned = NUM_PACK_OF(num_own_axis, lane, sample) + crossed;
    const num_pack b = aligned + num_pack_load(NUM_UNIT(bias_u, lane));
    const num_pack c = beta1 + beta2 + beta3 + sample->degrees * num_pack_load(NUM_UNIT(thermal_bias_u_degc, lane)) + b;
    const num_pack d = c * (1.0 + sample->degrees_percent * num_pack_load(NUM_UNIT(thermal_scale_percent_degc, lane)));
    num_tap_write(sample, NUM_TAP_MISALIGNMENT, lane, crossed);
    num_tap_biases(sample, lane);
    num_tap_write(sample, NUM_TAP_BIAS_INSTABILITY, lane, beta1);
    num_tap_write(sample, NUM_TAP_WHITE_NOISE, lane, beta2);
    num_tap_write(sample, NUM_TAP_RANDOM_WALK, lane, beta3);
    num_tap_write(sample, NUM_TAP_THERMAL_BIAS, lane,
                  sample->degrees * num_pack_load(NUM_UNIT(thermal_bias_u_degc, lane)));
    num_tap_write(sample, NUM_TAP_THERMAL_SCALE, lane, d - c);
    return d;
}

/* The g-sensitivity to the specific force along the two other axes. */
NUM_INLINE num_pack num_g_cross(const struct num_sample *sample, uint32_t lane)
{
    const num_pack first = NUM_PACK_OF(num_first_force, lane, sample);
    const num_pack second = NUM_PACK_OF(num_second_force, lane, sample);
    return num_pack_load(&sample->plan->extras.g_cross_u_m_s2[0][lane]) * first +
           num_pack_load(&sample->plan->extras.g_cross_u_m_s2[1][lane]) * second;
}

/* The deterministic part of law mems, without temperature. */
NUM_INLINE num_pack num_mems_certain(const struct num_sample *sample, uint32_t lane)
{
    const struct num_suite_plan *plan = sample->plan;
    const struct num_suite_common *common = sample->common;
    num_pack value_u = NUM_PACK_OF(num_own_axis, lane, sample);
    if ((common->terms & NUM_HAS_MATRIX) != 0) {
        value_u = NUM_PACK_OF(num_triad_axis, lane, sample, 0) * num_pack_load(NUM_UNIT(columns[0], lane)) +
                  NUM_PACK_OF(num_triad_axis, lane, sample, 1) * num_pack_load(NUM_UNIT(columns[1], lane)) +
                  NUM_PACK_OF(num_triad_axis, lane, sample, 2) * num_pack_load(NUM_UNIT(columns[2], lane));
        num_tap_matrix(sample, lane);
    }
    if (sample->extended && (common->terms & NUM_HAS_NONLINEARITY) != 0) {
        const num_pack bent_u = value_u * value_u * (num_pack_load(&plan->extras.quadratic_1_u[lane]) +
                                                     num_pack_load(&plan->extras.cubic_1_u2[lane]) * value_u);
        value_u += bent_u;
        num_tap_write(sample, NUM_TAP_NONLINEARITY, lane, bent_u);
    }
    if ((common->terms & NUM_HAS_G_SENSITIVITY) != 0) {
        const num_pack felt_u = num_pack_load(NUM_UNIT(g_sensitivity_u_m_s2, lane)) *
                                NUM_PACK_OF(num_own_force, lane, sample);
        value_u += felt_u;
        num_tap_write(sample, NUM_TAP_G_SENSITIVITY, lane, felt_u);
    }
    if (sample->extended && (common->terms & NUM_HAS_G_CROSS) != 0) {
        const num_pack felt_u = num_g_cross(sample, lane);
        value_u += felt_u;
        num_tap_write(sample, NUM_TAP_G_CROSS, lane, felt_u);
    }
    if (sample->extended && (common->terms & NUM_HAS_G2_SENSITIVITY) != 0) {
        const num_pack f = NUM_PACK_OF(num_own_force, lane, sample);
        const num_pack rectified_u = num_pack_load(&plan->extras.g2_sensitivity_u_m2_s4[lane]) * (f * f);
        value_u += rectified_u;
        num_tap_write(sample, NUM_TAP_G2_SENSITIVITY, lane, rectified_u);
    }
    num_tap_biases(sample, lane);
    return value_u + num_pack_load(NUM_UNIT(bias_u, lane));
}

NUM_INLINE double num_instability_lane(uint32_t lane, const struct num_sample *sample)
{
    if (lane >= 3 * sample->active) {
        return 0.0;
    }
    const struct num_suite_floor *floor = &sample->common->floors[lane / 3];
    const double deviate = sample->deviates[3 * sample->slots * NUM_INSTABILITY + lane];
    if (sample->extended && (sample->plan->triads[lane / 3].terms & NUM_HAS_MARKOV) != 0) {
        const struct num_markov *markov = &sample->plan->triads[lane / 3].markov[lane % 3];
        return num_instability_step(markov->decay, markov->drive, sample->instability[lane], deviate);
    }
    if (floor->count == 0) {
        return 0.0;
    }
    return num_instability_step(floor->decay, floor->drive, sample->instability[lane], deviate);
}

/* Sum of the sines of an axis at this sample. Whole turns are subtracted first, while that is exact. */
NUM_INLINE double num_sine_lane(uint32_t lane, const struct num_sample *sample)
{
    double sum_u = 0.0;
    if (lane >= 3 * sample->active) {
        return 0.0;
    }
    const struct num_triad_plan *triad = &sample->plan->triads[lane / 3];
    for (uint32_t k = 0; k < triad->sine_count; k++) {
        const double turns = (double)(int64_t)sample->n * triad->sine_turns[k] + triad->sine_phase_turns[lane % 3][k];
        double sine, cosine;
        oto_sincos(OTO_TWO_PI * (turns - (double)(int64_t)turns), &sine, &cosine);
        sum_u += triad->sine_u[lane % 3][k] * sine;
    }
    return sum_u;
}

/* White noise through the band limit, held over the period; advances the state. */
NUM_INLINE num_pack num_colour_lanes(const struct num_sample *sample, uint32_t lane, num_pack deviates)
{
    const struct num_colour *colour = sample->colour;
    double *z0 = &sample->colour_state[0][lane], *z1 = &sample->colour_state[1][lane];
    const num_pack a = num_pack_load(z0), b = num_pack_load(z1);
    const num_pack next = colour->transition[0][0] * a + colour->transition[0][1] * b + colour->gain[0] * deviates;
    num_pack_store(z0, next);
    num_pack_store(z1, colour->transition[1][0] * a + colour->transition[1][1] * b + colour->gain[1] * deviates);
    return next;
}

/* Loads the random walk of a pack of lanes. The state has only NUM_WALK_LANES lanes. */
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

/* The contributions of instability, white noise and walk; advances the state by one period. */
NUM_INLINE num_pack num_mems_random(const struct num_sample *sample, uint32_t lane)
{
    const struct num_suite_common *common = sample->common;
    num_pack sum_u = num_pack_all(0.0);
    if ((common->terms & NUM_HAS_INSTABILITY) != 0) {
        const num_pack unit = NUM_PACK_OF(num_instability_lane, lane, sample);
        const num_pack instability_u = num_pack_load(&common->instability_u[lane]) * unit;
        sum_u += instability_u;
        num_tap_write(sample, NUM_TAP_BIAS_INSTABILITY, lane, instability_u);
    }
    if (sample->extended && (common->terms & NUM_HAS_SINE) != 0) {
        sum_u += NUM_PACK_OF(num_sine_lane, lane, sample);
        num_tap_write(sample, NUM_TAP_BIAS_INSTABILITY, lane, sum_u);
    }
    if ((common->terms & NUM_HAS_WHITE) != 0) {
        num_pack white_u = num_pack_load(&common->white_u[lane]) * num_deviates(sample, NUM_WHITE, lane);
        if (sample->extended && sample->colour != NULL) {
            white_u = num_pack_load(&common->white_u[lane]) *
                      num_colour_lanes(sample, lane, num_deviates(sample, NUM_WHITE, lane));
        }
        sum_u += white_u;
        num_tap_write(sample, NUM_TAP_WHITE_NOISE, lane, white_u);
    }
    if ((common->terms & NUM_HAS_WALK) != 0) {
        const num_pack walk_u =
            num_walk_load(sample, lane) + num_pack_load(&common->walk_u[lane]) * num_deviates(sample, NUM_WALK, lane);
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
    const struct num_suite_common *common = sample->common;
    num_pack value_u = num_mems_certain(sample, lane) + num_mems_random(sample, lane);
    if ((common->terms & (NUM_HAS_THERMAL | (sample->extended ? NUM_HAS_THERMAL_CURVE : 0))) != 0) {
        num_pack bias_u = sample->degrees * num_pack_load(NUM_UNIT(thermal_bias_u_degc, lane));
        num_pack scale = 1.0 + sample->degrees_percent * num_pack_load(NUM_UNIT(thermal_scale_percent_degc, lane));
        if (sample->extended && (common->terms & NUM_HAS_THERMAL_CURVE) != 0) {
            num_thermal_curve(sample, lane, &bias_u, &scale);
        }
        const num_pack warm_u = value_u + bias_u;
        value_u = warm_u * scale;
        num_tap_write(sample, NUM_TAP_THERMAL_BIAS, lane, bias_u);
        num_tap_write(sample, NUM_TAP_THERMAL_SCALE, lane, value_u - warm_u);
    }
    return value_u;
}

#endif
