/*
 * One sample of all triads of a suite, on the tick, NUM_WIDTH lanes at a time: draw (num_kernel_draw.h), apply the law
 * (num_noise_law.h), clamp and round. A file that includes this is a kernel (num_measure.h). All functions are inline
 * and slots and lanes are constants, so that the computation stays in registers.
 */
#ifndef NUM_KERNEL_BODY_H
#define NUM_KERNEL_BODY_H

#include "num_noise_law.h"

/* Clamps a value, then rounds it half away from zero, as the MAVS document requires. Returns bit `lane` for each saturated axis. */
NUM_INLINE uint32_t num_digitise(const struct num_sample *sample, num_pack value_u, uint32_t lane)
{
    const struct num_suite_common *common = sample->common;
    const num_pack limit_u = num_pack_load(&common->limit_u[lane]);
    const num_pack_mask beyond = (num_pack_mask)(num_pack_abs(value_u) > num_pack_load(&common->range_u[lane]));
    num_pack kept = num_pack_select((num_pack_mask)(value_u > limit_u), limit_u, value_u);
    kept = num_pack_select((num_pack_mask)(kept < -limit_u), -limit_u, kept);
    num_tap_write(sample, NUM_TAP_SATURATION, lane, kept - value_u);
    if ((common->terms & NUM_HAS_RESOLUTION) != 0) {
        const num_pack resolution_u = num_pack_load(&common->resolution_u[lane]);
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

/* Measures all lanes. Written without a loop, because the law and each lane must be constants from the compiler's first pass on. */
NUM_INLINE uint32_t num_measure_all(const struct num_sample *sample, bool mavs)
{
    uint32_t saturated = num_measure_lanes(sample, mavs, 0) | num_measure_lanes(sample, mavs, 4) |
                         num_measure_lanes(sample, mavs, 8);
#if NUM_WIDTH == 2
    saturated |= num_measure_lanes(sample, mavs, 2) | num_measure_lanes(sample, mavs, 6);
#endif
    return saturated;
}

/* The temperature rise by self-heating at sample n, counted from time zero. */
NUM_INLINE double num_self_heating(const struct num_suite_extras *extras, uint64_t n)
{
    const double samples = extras->self_heating_samples;
    return samples > 0.0 ? extras->self_heating_degc * -oto_expm1(-(double)(int64_t)n / samples)
                         : extras->self_heating_degc;
}

/* Measures one sample of a job; slots, active and extended are compile-time constants. */
NUM_INLINE void num_measure_job(struct num_suite_job *job, uint32_t slots, uint32_t active, bool extended)
{
    const struct num_suite_plan *plan = job->plan;
    const struct num_suite_common *common = plan->common;
    struct num_sample sample;
    sample.plan = plan;
    sample.common = common;
    sample.walk_u = job->walk_u;
    sample.instability = job->instability;
    sample.measured_u = job->measured_u;
    sample.taps = job->taps;
    sample.n = job->n;
    sample.colour = extended ? job->colour : NULL;
    sample.colour_state = job->colour_state;
    sample.extended = extended;
    sample.slots = slots;
    sample.active = active;
    sample.degrees =
        (common->temperature_degc == NUM_TEMPERATURE_WORLD ? job->temperature_degc : common->temperature_degc) - 25.0;
    if (extended && (common->terms & NUM_HAS_SELF_HEATING) != 0) {
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
    if (common->law == NUM_LAW_MAVS) {
        num_draw_w(plan, job->n, sample.w);
        job->saturated = num_measure_all(&sample, true);
    } else {
        double deviates[NUM_DEVIATES] __attribute__((aligned(32)));
        num_draw_deviates(plan, job->n, deviates);
        sample.deviates = deviates;
        job->saturated = num_measure_all(&sample, false);
    }
}

/* Measures a job with the slots of its sensor as constants: three slots of which two or three are active, or one slot. */
NUM_INLINE void num_measure_shape(struct num_suite_job *job, bool extended)
{
    if (job->plan->common->slots == 1) {
        num_measure_job(job, 1, 1, extended);
    } else if (job->plan->common->active == 2) {
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
