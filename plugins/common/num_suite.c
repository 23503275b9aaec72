#include "num_suite.h"

#include <stdbool.h>
#include <string.h>

#include "num_draws.h"

static enum oto_status check_law(const struct num_law_params *law, struct oto_error *error)
{
    const double w = law->w;
    const double temperature_degc = law->temperature_degc;
    if (!(w >= -NUM_W_NUMBER_MAX && w <= NUM_W_NUMBER_MAX) && w != NUM_W_DOCUMENT && w != NUM_W_CODE) {
        return oto_fail(error, OTO_RANGE, "w = %g: expected document, code, or a number within +-%g", w,
                        NUM_W_NUMBER_MAX);
    }
    if (temperature_degc != NUM_TEMPERATURE_WORLD && !(temperature_degc >= -273.15)) {
        return oto_fail(error, OTO_RANGE, "temperature_degc = %g: expected world, or a number from -273.15",
                        temperature_degc);
    }
    return OTO_OK;
}

/* Lists the blocks that hold a deviate in use. */
static void plan_draws(struct num_suite_plan *plan)
{
    static const uint32_t has[NUM_PROCESSES] = {NUM_HAS_WHITE, NUM_HAS_INSTABILITY, NUM_HAS_WALK};
    uint32_t index = 0;
    for (int process = 0; process < NUM_PROCESSES; process++) {
        for (uint32_t slot = 0; slot < plan->count; slot++, index += 3) {
            if ((plan->enabled >> slot & 1u) == 0 || (plan->triads[slot].terms & has[process]) == 0) {
                continue;
            }
            for (uint32_t block = index / 4; block <= (index + 2) / 4; block++) {
                if (plan->block_count == 0 || plan->blocks[plan->block_count - 1] != block) {
                    plan->blocks[plan->block_count++] = (uint8_t)block;
                }
            }
        }
    }
}

enum oto_status num_suite_prepare(const struct num_suite_setup *setup, struct num_suite_plan *plan,
                                  struct oto_error *error)
{
    memset(plan, 0, sizeof *plan);
    enum oto_status status = check_law(setup->law, error);
    plan->count = setup->count;
    plan->enabled = setup->enabled;
    plan->law = (uint32_t)setup->law->law;
    plan->temperature_degc = setup->law->temperature_degc;
    plan->w = setup->law->w;
    plan->noise_key = setup->noise_key;
    for (uint32_t slot = 0; status == OTO_OK && slot < setup->count; slot++) {
        struct num_triad_place *place = &plan->places[slot];
        place->id = setup->ids[slot];
        place->rate_hz = setup->rate_hz;
        place->noise_key = setup->noise_key;
        place->unit_key = setup->unit_key;
        status = num_triad_prepare(setup->params[slot], setup->law, place, &plan->triads[slot], error);
    }
    if (status == OTO_OK && plan->law == NUM_LAW_MEMS) {
        plan_draws(plan);
    }
    return status;
}

void num_suite_init(const struct num_suite_plan *plan, uint32_t slot, struct num_triad_state *state)
{
    num_triad_init(&plan->triads[slot], &plan->places[slot], state);
}

void num_suite_adapt(const struct num_suite_plan *plan, uint32_t slot, const struct num_triad_params *old_params,
                     const struct num_triad_params *new_params, struct num_triad_state *state)
{
    bool had = false, has = false;
    for (int i = 0; i < 3; i++) {
        had |= old_params->bias_instability_u[i] != 0.0;
        has |= new_params->bias_instability_u[i] != 0.0;
    }
    if (had == has && old_params->bias_instability_tau_s == new_params->bias_instability_tau_s &&
        old_params->bias_instability_tau_min_s == new_params->bias_instability_tau_min_s &&
        old_params->bias_instability_tau_max_s == new_params->bias_instability_tau_max_s) {
        return;
    }
    struct num_triad_state fresh;
    num_suite_init(plan, slot, &fresh);
    memcpy(state->instability, fresh.instability, sizeof state->instability);
}
