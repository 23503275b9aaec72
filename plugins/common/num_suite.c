#include "num_suite.h"

#include <stdbool.h>
#include <string.h>

#include "num_measure.h"
#include "otolith/detmath.h"

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

/*
 * Lists the Philox blocks with deviates in use. If one triad has a process, its deviates are drawn for all triads, because
 * lanes are packed in pairs.
 */
static void plan_draws(const struct num_suite_setup *setup, struct num_suite_common *common)
{
    static const uint32_t has[NUM_PROCESSES] = {NUM_HAS_WHITE, NUM_HAS_INSTABILITY, NUM_HAS_WALK};
    for (uint32_t process = 0; process < NUM_PROCESSES; process++) {
        const uint32_t first = 3 * setup->slots * process;
        const uint32_t last = first + 3 * setup->active - 1;
        if ((common->terms & has[process]) == 0) {
            continue;
        }
        for (uint32_t block = first / 4; block <= last / 4; block++) {
            if (common->block_count == 0 || common->blocks[common->block_count - 1] != block) {
                common->blocks[common->block_count++] = (uint8_t)block;
            }
        }
    }
}

static void pack_lanes(const struct num_triad_plan *triad, uint32_t slot, struct num_suite_plan *plan)
{
    struct num_suite_common *common = &plan->own_common;
    struct num_suite_floor *floor = &common->floors[slot];
    floor->count = triad->instability.count;
    memcpy(floor->decay, triad->instability.decay, sizeof floor->decay);
    memcpy(floor->drive, triad->instability.drive, sizeof floor->drive);
    for (uint32_t axis = 0; axis < 3; axis++) {
        const uint32_t lane = 3 * slot + axis, place = lane % NUM_GROUP;
        struct num_suite_unit *unit = &plan->units[lane / NUM_GROUP];
        common->range_u[lane] = triad->range_u;
        common->limit_u[lane] = triad->limit_u;
        common->resolution_u[lane] = triad->resolution_u;
        unit->bias_u[place] = triad->bias_u[axis];
        unit->thermal_bias_u_degc[place] = triad->thermal_bias_u_degc[axis];
        unit->thermal_scale_percent_degc[place] = triad->thermal_scale_percent_degc[axis];
        common->white_u[lane] = triad->white_u[axis];
        common->instability_u[lane] = triad->instability_u[axis];
        common->walk_u[lane] = triad->walk_u[axis];
        common->misalignment[lane] = triad->misalignment[axis];
        unit->g_sensitivity_u_m_s2[place] = triad->g_sensitivity_u_m_s2[axis];
        for (int column = 0; column < 3; column++) {
            unit->columns[column][place] = triad->matrix[axis][column];
        }
    }
}

static void pack_extras(const struct num_triad_params *params, const struct num_triad_plan *triad, uint32_t slot,
                        struct num_suite_extras *extras)
{
    for (uint32_t axis = 0; axis < 3; axis++) {
        const uint32_t lane = 3 * slot + axis;
        extras->constant_bias_u[lane] = params->constant_bias_u[axis];
        extras->turn_on_bias_u[lane] = triad->turn_on_bias_u[axis];
        extras->unit_bias_u[lane] = triad->unit_bias_u[axis];
        extras->quadratic_1_u[lane] = triad->quadratic_1_u[axis];
        extras->cubic_1_u2[lane] = triad->cubic_1_u2[axis];
        extras->g2_sensitivity_u_m2_s4[lane] = triad->g2_sensitivity_u_m2_s4[axis];
        extras->g_cross_u_m_s2[0][lane] = triad->g_cross_u_m_s2[axis][0];
        extras->g_cross_u_m_s2[1][lane] = triad->g_cross_u_m_s2[axis][1];
        extras->thermal_bias2_u_degc2[lane] = triad->thermal_bias2_u_degc2[axis];
        extras->thermal_bias3_u_degc3[lane] = triad->thermal_bias3_u_degc3[axis];
        extras->thermal_scale2_percent_degc2[lane] = triad->thermal_scale2_percent_degc2[axis];
        extras->thermal_scale3_percent_degc3[lane] = triad->thermal_scale3_percent_degc3[axis];
    }
}

enum oto_status num_suite_prepare(const struct num_suite_setup *setup, struct num_suite_plan *plan,
                                  struct oto_error *error)
{
    struct num_suite_common *common = &plan->own_common;
    memset(plan, 0, sizeof *plan);
    plan->common = common;
    enum oto_status status = check_law(setup->law, error);
    plan->kernel = num_kernel_best();
    common->slots = setup->slots;
    common->active = setup->active;
    common->law = (uint32_t)setup->law->law;
    common->temperature_degc = setup->law->temperature_degc;
    common->w = setup->law->w;
    common->root_half_rate = oto_sqrt(0.5 * setup->rate_hz);
    common->filter_offset = 2.0 / setup->rate_hz - 1.0;
    plan->noise_key = setup->noise_key;
    plan->extras.self_heating_degc = setup->law->self_heating_degc;
    plan->extras.self_heating_samples = setup->law->self_heating_tau_s * setup->rate_hz;
    for (uint32_t slot = 0; status == OTO_OK && slot < setup->slots; slot++) {
        struct num_triad_plan *triad = &plan->triads[slot];
        plan->places[slot] = (struct num_triad_place){
            .id = setup->ids[slot],
            .rate_hz = setup->rate_hz,
            .noise_key = setup->noise_key,
            .unit_key = setup->unit_key,
        };
        status = num_triad_prepare(setup->params[slot], setup->law, &plan->places[slot], triad, error);
        if (slot < setup->active) {
            common->terms |= triad->terms;
            pack_lanes(triad, slot, plan);
            pack_extras(setup->params[slot], triad, slot, &plan->extras);
        }
    }
    if (status == OTO_OK && common->law == NUM_LAW_MEMS) {
        plan_draws(setup, common);
    }
    return status;
}

void num_suite_start(const struct num_suite_plan *plan, uint32_t slot, double (*instability)[NUM_INSTABILITY_POLES])
{
    num_triad_start(&plan->triads[slot], &plan->places[slot], instability);
}

void num_suite_adapt(const struct num_suite_plan *plan, uint32_t slot, const struct num_triad_params *old_params,
                     const struct num_triad_params *new_params, double (*instability)[NUM_INSTABILITY_POLES])
{
    bool had = false, has = false;
    for (int i = 0; i < 3; i++) {
        had |= old_params->bias_instability_u[i] != 0.0;
        has |= new_params->bias_instability_u[i] != 0.0;
    }
    const bool same_markov =
        memcmp(old_params->gauss_markov_tau_s, new_params->gauss_markov_tau_s, sizeof old_params->gauss_markov_tau_s) == 0 &&
        memcmp(old_params->gauss_markov_u, new_params->gauss_markov_u, sizeof old_params->gauss_markov_u) == 0;
    if (had != has || !same_markov || old_params->bias_instability_tau_s != new_params->bias_instability_tau_s ||
        old_params->bias_instability_tau_min_s != new_params->bias_instability_tau_min_s ||
        old_params->bias_instability_tau_max_s != new_params->bias_instability_tau_max_s) {
        num_suite_start(plan, slot, instability);
    }
}

bool num_suite_is_finite(const double *walk_u, const double (*instability)[NUM_INSTABILITY_POLES], uint32_t lanes)
{
    double sum = 0.0;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        sum += walk_u[lane];
        for (int i = 0; i < NUM_INSTABILITY_POLES; i++) {
            sum += instability[lane][i];
        }
    }
    return sum - sum == 0.0;
}
