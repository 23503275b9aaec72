/*
 * The adapter to the plugin ABI for sensors whose samples a kernel makes (num_measure.h): the magnetometer and the IMU.
 * It adds to a model the node's own field, delay and band limit, the sensor's clock, batches of any size, and the
 * migration of older states. A plugin lists the functions of its model in a constant `struct num_sensor`; the inline
 * functions call them directly. Preparing belongs to the loop, the rest to the tick.
 */
#ifndef NUM_ADAPTER_H
#define NUM_ADAPTER_H

#include <stdbool.h>

#include "num_measure.h"
#include "num_timing.h"
#include "otolith/plugin.h"

#define NUM_CHUNK 16 /* units whose jobs are on the stack at the same time */

/* The adapter's part of the prepared data of a sensor, as its first member. */
struct num_sensor_plan {
    bool extended; /* `measure_extended` makes the samples */
    bool has_own_field;
    oto_vec3 own_field_enu_ut; /* valid if has_own_field */
    const struct num_timing *timing; /* not a member: most sensors do not read it in a step */
};

/* The exposure of a sensor at sample n. */
struct num_exposure {
    uint64_t n;
    const struct oto_sensor_input *input;
    const oto_vec3 *field_ut; /* magnetic field in sensor axes: of the input, or the own field of the node */
};

/*
 * The model of a sensor. `data` is the plugin's prepared data. If a number is not finite, measure and begin return
 * false and there is no sample.
 */
struct num_sensor {
    uint32_t ports;
    /* Size of the model's state. Since version 2 a struct num_band_state follows it, which version 3 extended. */
    uint64_t model_state_bytes;
    bool (*measure)(const void *data, void *state, const struct num_exposure *truth, struct oto_output *outputs);
    /* The two halves of measure: make the job for the plan's kernel; make the records after the job is done. */
    bool (*begin)(const void *data, void *state, const struct num_exposure *truth, double *measured_u,
                  struct num_suite_job *job);
    void (*finish)(const void *data, const struct num_suite_job *job, struct oto_output *outputs);
    /* Like `measure`, with every term; `felt` is the exposure after boxcar and delay, or the truth itself. */
    enum oto_step_status (*measure_extended)(const void *data, void *state, const struct num_exposure *truth,
                                             const struct num_exposure *felt, const struct oto_step *step);
    bool (*state_is_finite)(const void *state);
};

/*
 * Prepares the adapter's part. `extended`: the model needs `measure_extended`. `delta`: the integrals between samples
 * are published. `field_enu_ut`: the parameter, or NULL for a sensor without a magnetometer.
 */
enum oto_status num_sensor_prepare(const struct oto_host *host, const struct oto_setup *setup,
                                   const struct num_timing_params *timing, bool extended, bool delta,
                                   const double *field_enu_ut, struct num_sensor_plan *plan, struct oto_error *error);

/* Exchanges the plan's own constants for the copy that all units with equal constants read. Call at the end of prepare. */
void num_suite_share(const struct oto_host *host, struct num_suite_plan *plan);

enum oto_step_status num_sensor_step_extended(const struct num_sensor *sensor, const struct oto_instance *instance,
                                              const struct oto_step *step, const struct num_exposure *truth);

/*
 * Migrates a state of version 1, which had no band limit, or of version 2, whose band limit did not apply to noise: added
 * members start at zero. VERSION for other versions.
 */
enum oto_status num_sensor_migrate(const struct num_sensor *sensor, const struct oto_instance *instance,
                                   const void *old_state, uint64_t old_bytes, uint32_t old_version);

enum oto_status num_sensor_validate(const struct num_sensor *sensor, const struct oto_instance *instance);

/* `own_field_ut` is storage for the node's own field, valid as long as the exposure is used. */
static inline struct num_exposure num_sensor_expose(const struct num_sensor_plan *plan, const struct oto_step *step,
                                                    oto_vec3 *own_field_ut)
{
    const struct oto_sensor_input *input = step->sensor.input;
    struct num_exposure truth = {step->n, input, &input->mag_field_sensor_ut};
    if (plan->has_own_field) {
        *own_field_ut = oto_quat_rotate_inv(input->q_enu_from_sensor, plan->own_field_enu_ut);
        truth.field_ut = own_field_ut;
    }
    return truth;
}

/* Returns the band limit of the white noise of a node, stored in `coloured`; NULL if the node has no band limit. */
static inline const struct num_coloured *num_sensor_coloured(const struct num_sensor_plan *plan,
                                                             struct num_band_state *band, struct num_coloured *coloured)
{
    *coloured = (struct num_coloured){&plan->timing->band.colour, band->colour};
    return plan->timing->band.substeps > 0 ? coloured : NULL;
}

static inline __attribute__((always_inline)) enum oto_step_status
num_sensor_step(const struct num_sensor *sensor, const struct oto_instance *instance, const struct oto_step *step)
{
    const struct num_sensor_plan *plan = (const struct num_sensor_plan *)instance->data;
    oto_vec3 own_field_ut;
    const struct num_exposure truth = num_sensor_expose(plan, step, &own_field_ut);
    if (plan->extended) {
        return num_sensor_step_extended(sensor, instance, step, &truth);
    }
    return sensor->measure(plan, instance->state, &truth, step->outputs) ? OTO_STEP_OK : OTO_STEP_DISCARD;
}

/* Steps up to NUM_CHUNK units. Units without extended terms share one call of the kernel. */
static inline __attribute__((always_inline)) void
num_sensor_step_chunk(const struct num_sensor *sensor, const struct oto_instance *const *instances,
                      const struct oto_step *const *steps, uint32_t count, enum oto_step_status *statuses)
{
    struct num_suite_job jobs[NUM_CHUNK];
    double measured_u[NUM_CHUNK][NUM_LANES];
    oto_vec3 own_field_ut[NUM_CHUNK];
    uint32_t units[NUM_CHUNK], taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct num_sensor_plan *plan = (const struct num_sensor_plan *)instances[i]->data;
        const struct num_exposure truth = num_sensor_expose(plan, steps[i], &own_field_ut[i]);
        if (plan->extended) {
            statuses[i] = num_sensor_step_extended(sensor, instances[i], steps[i], &truth);
        } else if (!sensor->begin(plan, instances[i]->state, &truth, measured_u[taken], &jobs[taken])) {
            statuses[i] = OTO_STEP_DISCARD;
        } else {
            statuses[i] = OTO_STEP_OK;
            units[taken++] = i;
        }
    }
    if (taken > 0) {
        jobs[0].plan->kernel->measure(jobs, taken);
    }
    for (uint32_t job = 0; job < taken; job++) {
        sensor->finish(instances[units[job]]->data, &jobs[job], steps[units[job]]->outputs);
    }
}

static inline __attribute__((always_inline)) void
num_sensor_step_batch(const struct num_sensor *sensor, const struct oto_instance *const *instances,
                      const struct oto_step *const *steps, uint32_t count, enum oto_step_status *statuses)
{
    for (uint32_t done = 0; done < count; done += NUM_CHUNK) {
        const uint32_t left = count - done;
        num_sensor_step_chunk(sensor, &instances[done], &steps[done], left < NUM_CHUNK ? left : NUM_CHUNK,
                              &statuses[done]);
    }
}

#endif
