#include "num_adapter.h"

#include <stddef.h>
#include <string.h>

#include "num_params.h"

enum oto_status num_sensor_prepare(const struct oto_host *host, const struct oto_setup *setup,
                                   const struct num_timing_params *timing, bool extended, bool delta,
                                   const double *field_enu_ut, struct num_sensor_plan *plan, struct oto_error *error)
{
    struct num_timing *prepared = (struct num_timing *)host->alloc(host->context, sizeof *prepared);
    if (prepared == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the timing of a sensor");
    }
    enum oto_status status = num_timing_prepare(timing, setup, delta, prepared, error);
    plan->timing = prepared;
    plan->extended = extended || delta || prepared->looks_back || prepared->has_clock;
    if (status == OTO_OK && field_enu_ut != NULL) {
        status = num_field_prepare(host, setup, field_enu_ut, &plan->has_own_field, error);
        plan->own_field_enu_ut = oto_vec3_from_array(field_enu_ut);
    }
    return status;
}

void num_suite_share(const struct oto_host *host, struct num_suite_plan *plan)
{
    const struct num_suite_common *shared =
        (const struct num_suite_common *)oto_host_share(host, &plan->own_common, sizeof plan->own_common);
    if (shared != NULL) {
        plan->common = shared;
    }
}

enum oto_step_status num_sensor_step_extended(const struct num_sensor *sensor, const struct oto_instance *instance,
                                              const struct oto_step *step, const struct num_exposure *truth)
{
    const struct num_sensor_plan *plan = (const struct num_sensor_plan *)instance->data;
    struct num_exposure felt = *truth;
    struct oto_sensor_input past;
    enum oto_step_status status = OTO_STEP_OK;
    if (plan->timing->looks_back) {
        unsigned char *band = (unsigned char *)instance->state + sensor->model_state_bytes;
        status = num_timing_feel(plan->timing, step, plan->has_own_field ? &plan->own_field_enu_ut : NULL,
                                 (struct num_band_state *)(void *)band, &past);
        felt = (struct num_exposure){step->n, &past, &past.mag_field_sensor_ut};
    }
    if (status < OTO_STEP_DISCARD) {
        const enum oto_step_status own = sensor->measure_extended(plan, instance->state, truth, &felt, step);
        status = own > status ? own : status;
    }
    num_timing_stamp(plan->timing, step, sensor->ports);
    return status;
}

enum oto_status num_sensor_migrate(const struct num_sensor *sensor, const struct oto_instance *instance,
                                   const void *old_state, uint64_t old_bytes, uint32_t old_version)
{
    const uint64_t with_band = sensor->model_state_bytes + offsetof(struct num_band_state, colour);
    if (!(old_version == 1 && old_bytes == sensor->model_state_bytes) && !(old_version == 2 && old_bytes == with_band)) {
        return OTO_VERSION;
    }
    memcpy(instance->state, old_state, old_bytes);
    return OTO_OK;
}

enum oto_status num_sensor_validate(const struct num_sensor *sensor, const struct oto_instance *instance)
{
    return sensor->state_is_finite(instance->state) ? OTO_OK : OTO_CORRUPT;
}
