/*
 * Samples of several nodes of one plugin in one call of its `step_batch`: made ahead of their turn, published when it
 * comes. What a node says, its state and the order of everything that is said are those of single steps. Two things
 * differ where a plugin is broken: of a library that says FATAL the others of the batch have been stepped already, unseen
 * since they are quarantined; and a changed floating-point mode takes the whole batch out.
 */
#include "sim/fpu.h"
#include "sim/sim.h"

enum { CHUNK = 16, REACH = 64 }; /* nodes of one call, and among how many they are looked for */

struct item {
    struct srv_node *node;
    struct srv_looking_back back;
    struct oto_sensor_input input;
    struct oto_step step;
};

/* One library has one step_batch, whoever opened it. */
static bool is_ready(const struct srv_node *node, const struct oto_plugin_ops *ops, uint64_t tick)
{
    return node->live.ops->step_batch == ops->step_batch && node->member == NULL && node->trial == NULL && !node->is_estimator &&
           !node->live.quarantined && !node->ahead.made && srv_due_tick(&node->due) == tick;
}

/* The nodes to come, from this one on, that are due in this tick. */
static uint32_t gather(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *first, uint64_t tick,
                       struct item *items)
{
    const struct srv_vehicle *end = &sim->vehicles[sim->vehicle_count];
    uint32_t count = 0, reach = REACH;
    for (uint32_t i = (uint32_t)(first - vehicle->first_sensor); vehicle < end; vehicle++, i = 0) {
        for (; i < vehicle->sensor_count; i++) {
            struct srv_node *node = &vehicle->first_sensor[i];
            if (is_ready(node, first->live.ops, tick)) {
                items[count].node = node;
                items[count++].back = (struct srv_looking_back){sim, vehicle, node, srv_beat_at(&node->beat)};
            }
            if (count == CHUNK || --reach == 0) {
                return count;
            }
        }
    }
    return count;
}

static void expose(struct srv_sim *sim, uint64_t tick, struct item *item)
{
    struct srv_node *node = item->node;
    item->step = (struct oto_step){.size = sizeof item->step,
                                   .tick = tick,
                                   .n = node->beat.n,
                                   .at = item->back.at,
                                   .outputs = node->live.outputs,
                                   .sensor = {&item->input, srv_input_at, &item->back}};
    node->ahead.flags = srv_sample_input(sim, item->back.vehicle, node, &item->input);
    srv_outputs_clear(node->live.outputs, node->live.ports, node->live.port_count, item->back.at.t_ns);
}

static void run(struct srv_sim *sim, const struct item *items, uint32_t count)
{
    const struct oto_instance *instances[CHUNK];
    const struct oto_step *steps[CHUNK];
    enum oto_step_status statuses[CHUNK];
    uint32_t *breadcrumb = &sim->store.header->current_node;
    for (uint32_t i = 0; i < count; i++) {
        instances[i] = &items[i].node->live.abi;
        steps[i] = &items[i].step;
        statuses[i] = OTO_STEP_ERROR; /* of what the plugin does not answer */
    }
    srv_assert_tick_thread(sim);
    __atomic_store_n(breadcrumb, items[0].node->index + 1, __ATOMIC_RELAXED);
    items[0].node->live.ops->step_batch(instances, steps, count, statuses);
    __atomic_store_n(breadcrumb, 0, __ATOMIC_RELAXED);
    const bool kept_mode = srv_fpu_is_pinned();
    if (!kept_mode) {
        srv_fpu_pin();
    }
    for (uint32_t i = 0; i < count; i++) {
        items[i].node->ahead.made = true;
        items[i].node->ahead.said = kept_mode ? (uint32_t)statuses[i] : SRV_STEP_FLOAT_MODE;
    }
}

void srv_batch_make(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *first, uint64_t tick)
{
    struct item items[CHUNK];
    if (!is_ready(first, first->live.ops, tick)) {
        return;
    }
    const uint32_t count = gather(sim, vehicle, first, tick, items);
    if (count < 2) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        expose(sim, tick, &items[i]);
    }
    run(sim, items, count);
}
