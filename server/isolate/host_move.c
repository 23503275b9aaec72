/* Isolated motions: their steps, and the truth at the instants that the server asks for. */
#include <string.h>

#include "host.h"
#include "base/fpu.h"

static bool is_good(uint32_t status)
{
    return status == OTO_STEP_OK || status == OTO_STEP_WARN || status == OTO_STEP_DISCARD;
}

/* The status of an operation, or SRV_STEP_FLOAT_MODE if it changed the floating-point mode, which is restored. */
static uint32_t status_of(enum oto_step_status status)
{
    if (srv_fpu_is_pinned()) {
        return (uint32_t)status;
    }
    srv_fpu_pin();
    return SRV_STEP_FLOAT_MODE;
}

/* Steps up to the requested tick: usually one step; after a restart also the missed ticks, each under its controls. */
static uint32_t step(const struct srv_host_mailbox *mailbox, const struct srv_host_slot *slot, const struct srv_instance *instance)
{
    const struct srv_host_controls *controls = (const void *)((const unsigned char *)mailbox + slot->controls_offset);
    struct srv_schedule schedule = slot->schedule;
    uint32_t status = OTO_STEP_OK, given = 0;
    for (uint32_t i = 0; i < slot->step_count && is_good(status); i++, srv_schedule_advance(&schedule)) {
        for (; given < slot->controls_count && controls[given].n <= schedule.n; given++) {
            oto_plugin_control(instance->plugin)->control(&instance->abi, controls[given].values, OTO_CONTROLS);
        }
        const struct oto_step now = oto_step_make(schedule.n - 1, schedule.n, srv_schedule_at(&schedule), NULL);
        status = status_of(instance->step(&instance->abi, &now));
    }
    return status;
}

void host_evaluate(struct srv_host_mailbox *mailbox, uint32_t index, const struct srv_instance *instance)
{
    const struct srv_host_slot *slot = srv_host_slot_at(mailbox, index);
    struct srv_host_instant *instants = (void *)((unsigned char *)mailbox + slot->instants_offset);
    host_mark_operation(mailbox, 1 + index, SRV_OPERATION_EVALUATE);
    for (uint32_t i = 0; i < slot->instant_count; i++) {
        struct srv_host_instant *instant = &instants[i];
        memset(&instant->truth, 0, sizeof instant->truth);
        instant->status = status_of(instance->evaluate(&instance->abi, instant->at, &instant->truth));
    }
}

uint32_t host_move(struct srv_host_mailbox *mailbox, uint32_t index, const struct srv_instance *instance)
{
    const uint32_t status = step(mailbox, srv_host_slot_at(mailbox, index), instance);
    if (is_good(status)) {
        host_evaluate(mailbox, index, instance);
    }
    return status;
}
