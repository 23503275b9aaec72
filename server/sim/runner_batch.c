/*
 * Steps several nodes of one plugin in one call of its `step_batch`: ahead of their position in the order of nodes; the
 * records are published at that position. Records, state and order are those of single steps. Two cases differ, both of a
 * broken plugin: if one step reports FATAL, the others of the batch have been stepped already (not visible, since they are
 * quarantined); and a changed floating-point mode quarantines the whole batch.
 */
#include "base/fpu.h"
#include "sim/sim.h"

enum { CHUNK = 16, REACH = 64 }; /* most nodes of one call; number of nodes that are searched for them */

struct item {
    struct srv_node *node;
    struct srv_vehicle *vehicle;
    struct srv_turn_step turn;
};

/* Whether a node can join the batch: it runs the same library, which may have been opened several times. */
static bool is_ready(const struct srv_node *node, const struct oto_plugin_ops *ops, uint64_t tick)
{
    return node->runner == &srv_runner_batch && node->live.ops->step_batch == ops->step_batch && !node->live.quarantined &&
           !node->ahead.made && srv_due_tick(&node->due) == tick;
}

/* Collects the nodes that are due in this tick, beginning with `first`. */
static uint32_t gather(const struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *first, uint64_t tick,
                       struct item *items)
{
    const struct srv_vehicle *end = &sim->vehicles[sim->moved];
    uint32_t count = 0, reach = REACH;
    for (uint32_t i = (uint32_t)(first - vehicle->first_sensor); vehicle < end; vehicle++, i = 0) {
        for (; i < vehicle->sensor_count; i++) {
            struct srv_node *node = &vehicle->first_sensor[i];
            if (is_ready(node, first->live.ops, tick)) {
                items[count].node = node;
                items[count++].vehicle = vehicle;
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
    srv_turn_prepare(sim, item->vehicle, node, tick, &item->turn);
    node->ahead.flags = item->turn.flags;
    srv_outputs_clear(node->live.outputs, node->live.ports, node->live.ports_used, item->turn.step.at.t_ns);
}

static void run(struct srv_sim *sim, const struct item *items, uint32_t count)
{
    const struct oto_instance *instances[CHUNK];
    const struct oto_step *steps[CHUNK];
    enum oto_step_status statuses[CHUNK];
    uint32_t *breadcrumb = &sim->store.header->current_node;
    for (uint32_t i = 0; i < count; i++) {
        instances[i] = &items[i].node->live.abi;
        steps[i] = &items[i].turn.step;
        statuses[i] = OTO_STEP_ERROR; /* for instances without a status from the plugin */
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

static void make_batch(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *first, uint64_t tick)
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

static void take(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick)
{
    make_batch(sim, vehicle, node, tick);
    while (srv_due_tick(&node->due) == tick) {
        if (!node->ahead.made && !node->live.quarantined) {
            srv_direct_step(sim, vehicle, node, tick);
        } else if (!node->live.quarantined) {
            srv_node_publish(sim, node, srv_node_account(sim, node, node->ahead.said), node->ahead.flags);
        }
        node->ahead.made = false;
        srv_node_advance(node);
    }
}

static enum oto_status apply(struct srv_sim *sim, struct srv_node *node, struct srv_change *change, const char **reason)
{
    return srv_runner_direct.apply(sim, node, change, reason);
}

const struct srv_runner srv_runner_batch = {.take = take, .apply = apply};
