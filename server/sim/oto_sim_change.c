/* otolith/sim.h: parameters, swaps, faults, truth and controls from the caller. */
#include <string.h>

#include "otolith/mailbox.h"
#include "sim/answer.h"
#include "sim/fault.h"
#include "base/fpu.h"
#include "sim/oto_sim.h"
#include "world/fault_spec.h"

/*
 * Turns a reply into the caller's status and error. The functions below set the pinned floating-point mode, as in a tick,
 * for `prepare`, `init` and `adopt` of plugins.
 */
static enum oto_status refused(const struct srv_reply *reply, const char *what, const char *node, struct oto_error *error)
{
    return reply->status == OTO_OK ? OTO_OK
                                   : oto_fail(error, reply->status, "%s of '%.96s': %s", what, node,
                                              srv_reply_reason(reply));
}

enum oto_status oto_sim_set(struct oto_sim *sim, const char *node, const char *param, const char *yaml,
                            struct oto_error *error)
{
    const uint32_t mode = srv_fpu_read();
    struct oto_error unused = {0};
    error = error != NULL ? error : &unused;
    struct srv_node_change *change = NULL;
    const uint32_t index = srv_sim_node_find(sim->sim, node, error);
    if (index == UINT32_MAX) {
        return OTO_NOT_FOUND;
    }
    enum oto_status status = srv_sim_change_parameter(sim->sim, index, param, yaml, &change, error);
    if (status == OTO_OK) {
        const struct srv_command command = {.kind = SRV_COMMAND_PARAMS, .change = change};
        struct srv_reply reply = {.kind = command.kind, .change = change, .tick = sim->sim->tick};
        srv_fpu_pin();
        (void)srv_sim_apply(sim->sim, &command, &reply);
        status = refused(&reply, "parameters", node, error);
        (void)srv_change_free(change);
    }
    srv_fpu_write(mode);
    return status;
}

enum oto_status oto_sim_get(const struct oto_sim *sim, const char *node, const char *param, char *text, size_t bytes,
                            struct oto_error *error)
{
    const uint32_t index = srv_sim_node_find(sim->sim, node, error);
    if (index == UINT32_MAX) {
        return OTO_NOT_FOUND;
    }
    const struct srv_node *found = &sim->sim->nodes[index];
    return oto_params_get(found->live.descriptor, param, &found->live.params, text, bytes, error);
}

/* ---- swaps ---- */

static enum oto_status command_node(struct oto_sim *sim, enum srv_command_kind kind, uint32_t index, const char *node,
                                    struct oto_error *error)
{
    const struct srv_command command = {.kind = kind, .node = index};
    struct srv_reply reply = {.kind = kind, .tick = sim->sim->tick};
    (void)srv_sim_apply(sim->sim, &command, &reply);
    return refused(&reply, "swap", node, error);
}

/* True: the simulator owns the change until its shadow or probation is over. */
static bool apply_swap(struct oto_sim *sim, struct srv_node_change *change, struct srv_reply *reply)
{
    const struct srv_command command = {.kind = SRV_COMMAND_SWAP, .change = change};
    if (!srv_sim_apply(sim->sim, &command, reply)) {
        return true;
    }
    if (reply->status == OTO_OK && reply->settling) {
        sim->sim->hooks.reply(sim->sim->hooks.context, reply);
        return true;
    }
    return false;
}

enum oto_status oto_sim_swap_as_(struct oto_sim *sim, uint32_t index, const char *node, const struct srv_swap_options *options,
                                 struct oto_error *error)
{
    const uint32_t mode = srv_fpu_read();
    struct srv_node_change *change = NULL;
    srv_fpu_pin();
    enum oto_status status = srv_sim_swap_load(sim->sim, index, options, &change, error);
    if (status == OTO_OK) {
        status = srv_sim_swap_ready(sim->sim, change, error);
    }
    bool kept = false;
    if (status == OTO_OK) {
        struct srv_reply reply = {.kind = SRV_COMMAND_SWAP, .change = change, .tick = sim->sim->tick};
        kept = apply_swap(sim, change, &reply);
        status = refused(&reply, "swap", node, error);
    }
    if (!kept) {
        (void)srv_change_free(change);
    }
    srv_fpu_write(mode);
    return status;
}

enum oto_status oto_sim_swap(struct oto_sim *sim, const char *node, const struct oto_swap *swap, struct oto_error *error)
{
    struct oto_error unused = {0};
    error = error != NULL ? error : &unused;
    const uint32_t index = srv_sim_node_find(sim->sim, node, error);
    if (index == UINT32_MAX) {
        return OTO_NOT_FOUND;
    }
    if (swap->size != sizeof *swap) {
        return oto_fail(error, OTO_INVALID, "the struct oto_swap has another size than this library's: start from OTO_SWAP_DEFAULTS");
    }
    if (swap->undo || swap->cancel) {
        return command_node(sim, swap->undo ? SRV_COMMAND_UNDO : SRV_COMMAND_CANCEL, index, node, error);
    }
    if (swap->plugin == NULL) {
        return oto_fail(error, OTO_INVALID, "a swap needs a plugin, `undo` or `cancel`");
    }
    const struct srv_swap_options options = {.plugin = swap->plugin,
                                             .params_path = swap->params,
                                             .part = swap->part,
                                             .mode = swap->mode,
                                             .unit_given = swap->has_unit,
                                             .unit = swap->unit,
                                             .reset_state = swap->reset_state,
                                             .probation_ns = swap->probation_ns,
                                             .shadow_ns = swap->shadow_ns,
                                             .shadow_tolerance = swap->shadow_tolerance,
                                             .pace = SRV_SWAP_AT_ONCE};
    return oto_sim_swap_as_(sim, index, node, &options, error);
}

/* ---- faults ---- */

enum oto_status oto_sim_fault(struct oto_sim *sim, const char *node, const char *yaml, uint64_t *id, struct oto_error *error)
{
    const uint32_t index = srv_sim_node_find(sim->sim, node, error);
    struct srv_fault_spec spec;
    if (index == UINT32_MAX) {
        return OTO_NOT_FOUND;
    }
    const enum oto_status status = srv_fault_spec_parse(sim->sim->nodes[index].config, yaml, &spec, error);
    if (status != OTO_OK) {
        return status;
    }
    spec.id = sim->sim->newest_fault + 1;
    const struct srv_command command = {.kind = SRV_COMMAND_FAULT, .fault = srv_sim_fault_make(sim->sim, index, &spec)};
    if (command.fault == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a fault");
    }
    struct srv_reply reply = {.kind = command.kind, .tick = sim->sim->tick};
    (void)srv_sim_apply(sim->sim, &command, &reply);
    srv_fault_free(reply.faults);
    if (id != NULL && reply.status == OTO_OK) {
        *id = spec.id;
    }
    return refused(&reply, "fault", node, error);
}

enum oto_status oto_sim_clear_faults(struct oto_sim *sim, const char *node, uint64_t id, struct oto_error *error)
{
    const struct srv_command command = {
        .kind = SRV_COMMAND_CLEAR_FAULTS, .node = srv_sim_node_find(sim->sim, node, error), .fault_id = id};
    struct srv_reply reply = {.kind = command.kind, .tick = sim->sim->tick};
    if (command.node == UINT32_MAX) {
        return OTO_NOT_FOUND;
    }
    (void)srv_sim_apply(sim->sim, &command, &reply);
    srv_fault_free(reply.faults);
    return refused(&reply, "faults", node, error);
}

/* ---- truth and controls from the caller ---- */

static enum oto_status find_vehicle(const struct oto_sim *sim, const char *name, uint32_t *index, struct oto_error *error)
{
    for (uint32_t v = 0; v < sim->config.vehicle_count; v++) {
        if (strcmp(sim->config.vehicles[v].name, name) == 0) {
            *index = v;
            return OTO_OK;
        }
    }
    return oto_fail(error, OTO_NOT_FOUND, "there is no vehicle '%.64s' in world '%s'; one like '%s' is accepted", name,
                    sim->config.name, sim->config.vehicles[0].name);
}

enum oto_status oto_sim_drive(struct oto_sim *sim, const char *vehicle, const struct oto_truth_record *truth, uint32_t flags,
                              uint64_t ticks, struct oto_error *error)
{
    uint32_t index = 0;
    const enum oto_status status = find_vehicle(sim, vehicle, &index, error);
    if (status != OTO_OK) {
        return status;
    }
    if (sim->config.vehicles[index].participant == 0) {
        return oto_fail(error, OTO_INVALID, "vehicle '%s' is moved by its plugin; the truth of one with `motion: {participant: "
                        "NAME}` can be given", vehicle);
    }
    struct given_truth *given = &sim->given[index];
    if (truth == NULL) {
        *given = (struct given_truth){.has_input = true, .held = true, .fresh = true, .reach = given->reach};
        return OTO_OK;
    }
    if (ticks == 0 || ticks > OTO_MAILBOX_MAX_RUN_TICKS) {
        return oto_fail(error, OTO_RANGE, "a truth %llu ticks ahead; 1 to %llu are accepted", (unsigned long long)ticks,
                        (unsigned long long)OTO_MAILBOX_MAX_RUN_TICKS);
    }
    const struct srv_clock_config *clock = &sim->config.clock;
    const uint64_t tick = sim->sim->tick;
    const bool continues = given->fresh ? (flags & OTO_TRUTH_CONTINUES) != 0 : (flags & OTO_TRUTH_JUMPS) == 0;
    struct oto_mailbox_record record = {.tick = tick + ticks, .flags = flags, .truth = *truth};
    const struct srv_answer_frame frame = {.tick = tick + ticks,
                                           .span_s = (double)ticks * (double)clock->rate_den / (double)clock->rate_num,
                                           .before = continues ? &sim->sim->vehicles[index].truth : NULL};
    const char *wrong = srv_answer_check(&frame, &record);
    if (wrong != NULL) {
        return oto_fail(error, OTO_INVALID, "the truth of '%s' for tick %llu: %s", vehicle,
                        (unsigned long long)(tick + ticks), wrong);
    }
    *given = (struct given_truth){.has_input = true,
                                  .reach = tick + ticks,
                                  .input = {.from_tick = tick,
                                            .to_tick = tick + ticks,
                                            .flags = record.flags & OTO_TRUTH_HAS_FLAGS,
                                            .alone = continues ? 0 : 1,
                                            .truth = record.truth}};
    return OTO_OK;
}

enum oto_status oto_sim_control(struct oto_sim *sim, const char *vehicle, const double *values, uint32_t count,
                                struct oto_error *error)
{
    double controls[OTO_CONTROLS] = {0.0};
    uint32_t index = 0;
    const enum oto_status status = find_vehicle(sim, vehicle, &index, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct srv_node *motion = sim->sim->vehicles[index].motion;
    if (motion == NULL || oto_plugin_control(motion->live.plugin) == NULL) {
        return oto_fail(error, OTO_UNSUPPORTED, "the motion of vehicle '%s' takes no controls", vehicle);
    }
    if (count > OTO_CONTROLS) {
        return oto_fail(error, OTO_RANGE, "%u controls for vehicle '%s'; at most %d are accepted", count, vehicle, OTO_CONTROLS);
    }
    memcpy(controls, values, count * sizeof *values);
    if (!srv_controls_are_finite(controls)) {
        return oto_fail(error, OTO_INVALID, "a control of vehicle '%s' is not finite", vehicle);
    }
    srv_sim_give_controls(sim->sim, index, controls);
    return OTO_OK;
}
