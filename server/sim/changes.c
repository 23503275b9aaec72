#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

enum oto_status srv_change_base_of(const struct srv_sim *sim, uint32_t index, struct srv_change_base *base,
                                   struct oto_error *error)
{
    memset(base, 0, sizeof *base);
    if (index >= sim->node_count) {
        return oto_fail(error, OTO_NOT_FOUND, "there is no node %u; the world has %u", index, sim->node_count);
    }
    const struct srv_node *node = &sim->nodes[index];
    srv_change_base_begin(sim, index, base);
    srv_change_base_fill(base, node->live.plugin, &node->live.params, node->live.own_setup, node->revision);
    return OTO_OK;
}

void srv_change_base_begin(const struct srv_sim *sim, uint32_t index, struct srv_change_base *base)
{
    const struct srv_node *node = &sim->nodes[index];
    const struct srv_clock_config *clock = &sim->config->clock;
    *base = (struct srv_change_base){.node = index,
                                     .topic = node->topic,
                                     .config = node->config,
                                     .first_channel = sim->first_channels[index],
                                     .setup = node->setup,
                                     .node_setup = node->setup,
                                     .open_plugin = sim->config->open_plugin,
                                     .base_rate_num = clock->rate_num,
                                     .base_rate_den = clock->rate_den,
                                     .realtime = sim->hooks.now_ns != NULL &&
                                                 __atomic_load_n(&sim->store.header->mode, __ATOMIC_RELAXED) ==
                                                     OTO_MODE_REALTIME};
}

void srv_change_base_fill(struct srv_change_base *base, struct oto_plugin *plugin, const struct oto_params *params,
                          const struct oto_setup *own_setup, uint64_t revision)
{
    base->plugin = oto_plugin_hold(plugin);
    base->params = oto_params_copy(params);
    base->revision = revision;
    if (own_setup != NULL) {
        base->own_setup = *own_setup;
        base->setup = &base->own_setup;
    }
}

void srv_change_base_finish(struct srv_change_base *base)
{
    oto_params_free(&base->params);
    if (base->plugin != NULL) {
        (void)oto_plugin_close(base->plugin);
    }
    memset(base, 0, sizeof *base);
}

/* Reserves the memory of every channel that the changed node will publish, before the tick thread receives the change. */
static enum oto_status wake_ports(const struct srv_sim *sim, const struct srv_change_base *base,
                                  const struct oto_plugin *plugin, const struct oto_params *params,
                                  struct oto_error *error)
{
    return srv_ports_wake(oto_plugin_descriptor(plugin), base->config, base->first_channel, params, &sim->store,
                          error);
}

static enum oto_status wake_changed(const struct srv_sim *sim, const struct srv_change_base *base,
                                    struct srv_node_change **open, struct oto_error *error)
{
    const struct srv_change *change = (const struct srv_change *)(const void *)*open;
    const enum oto_status status = wake_ports(sim, base, base->plugin, &change->instance.params, error);
    if (status != OTO_OK) {
        (void)srv_change_free(*open);
        *open = NULL;
    }
    return status;
}

enum oto_status srv_sim_change_parameter(const struct srv_sim *sim, const struct srv_change_base *base, const char *key,
                                         const char *yaml, struct srv_node_change **change, struct oto_error *error)
{
    *change = NULL;
    const enum oto_status status = srv_runner_make_parameter(sim, base, key, yaml, change, error);
    return status == OTO_OK ? wake_changed(sim, base, change, error) : status;
}

/* ---- swaps ---- */

enum oto_status srv_sim_swap_load(const struct srv_sim *sim, const struct srv_change_base *base,
                                  const struct srv_swap_options *options, struct srv_node_change **out,
                                  struct oto_error *error)
{
    const struct srv_node *node = &sim->nodes[base->node];
    struct srv_change *change = NULL;
    *out = NULL;
    const char *refusal = srv_runner_refuse_swaps(node);
    if (refusal != NULL) {
        return oto_fail(error, OTO_UNSUPPORTED, "'%s' %s", base->topic, refusal);
    }
    const enum oto_status status = srv_change_load_plugin(base, options, &change, error);
    if (status == OTO_OK && srv_runner_waiting(sim, node) != NULL && change->shadow_ticks == 0) {
        change->shadow_ticks = 1; /* the first sample after the flip is requested before it, from the candidate too */
    }
    *out = change != NULL ? &change->open : NULL;
    return status;
}

bool srv_swap_wants_snapshot(const struct srv_node_change *change)
{
    return ((const struct srv_change *)(const void *)change)->probe != NULL;
}

static enum oto_status try_candidate(const struct srv_sim *sim, const struct srv_change_base *base,
                                     struct srv_change *change, struct oto_error *error)
{
    struct srv_probe_feed feed;
    enum oto_status status = srv_probe_feed_make(sim, base->node, change->at, &feed, error);
    if (status == OTO_OK) {
        status = srv_change_try(base, &feed, change, error);
    }
    srv_probe_feed_free(&feed);
    return status;
}

/*
 * Allocates a history. A vehicle whose motion can be evaluated at any time keeps none, but after a swap its earlier truth
 * can come only from a history.
 */
static enum oto_status make_history(const struct srv_sim *sim, struct srv_change *change, struct oto_error *error)
{
    const struct srv_clock_config *clock = &sim->config->clock;
    if (change->instance.evaluate == NULL) {
        return OTO_OK;
    }
    change->history = calloc(srv_history_capacity(clock->rate_num, clock->rate_den), sizeof *change->history);
    return change->history != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for one second of truth");
}

enum oto_status srv_sim_swap_ready(const struct srv_sim *sim, const struct srv_change_base *base,
                                   struct srv_node_change *open, struct oto_error *error)
{
    struct srv_change *change = (struct srv_change *)(void *)open;
    enum oto_status status = OTO_OK;
    if (base->revision != change->revision) {
        return oto_fail(error, OTO_CONFLICT, "another change of '%s' was applied meanwhile; ask again", base->topic);
    }
    if (change->probe != NULL) {
        status = try_candidate(sim, base, change, error);
    }
    if (status == OTO_OK) {
        status = srv_runner_make_candidate(sim, base, change, error);
    }
    if (status == OTO_OK) {
        status = make_history(sim, change, error);
    }
    return status == OTO_OK ? wake_ports(sim, base, change->instance.plugin, &change->instance.params, error) : status;
}

void srv_swap_tell(const struct srv_node_change *open, struct srv_swap_facts *facts)
{
    const struct srv_change *change = (const struct srv_change *)(const void *)open;
    *facts = (struct srv_swap_facts){.plugin = change->instance.plugin,
                                     .params = &change->instance.params,
                                     .setup = change->instance.own_setup,
                                     .begins_anew = change->start == SRV_START_COLD || change->start == SRV_START_ADOPT,
                                     .probation_ticks = change->probation_ticks,
                                     .shadow_ticks = change->shadow_ticks,
                                     .shadow_tolerance = change->shadow_tolerance};
}

/* ---- texts about a swap ---- */

void srv_swap_describe(const struct srv_node_change *open, char *text, size_t bytes)
{
    static const char *const starts[] = {[SRV_START_COLD] = "new state", [SRV_START_COPY] = "state kept",
                                         [SRV_START_MIGRATE] = "state migrated",
                                         [SRV_START_ADOPT] = "continues from the truth"};
    const struct srv_change *change = (const struct srv_change *)(const void *)open;
    char shadow[512];
    srv_swap_describe_shadow(open, shadow, sizeof shadow);
    (void)snprintf(text, bytes, "%s; %s; %s%s%s", change->text, starts[change->start], change->note,
                   shadow[0] != '\0' ? "; in the shadow: " : "", shadow);
}

void srv_swap_describe_shadow(const struct srv_node_change *open, char *text, size_t bytes)
{
    const struct srv_change *change = (const struct srv_change *)(const void *)open;
    text[0] = '\0';
    if (change->shadow_ticks > 0 && change->comparison.type != NULL) {
        srv_comparison_text(&change->comparison, text, bytes);
    }
}

void srv_swap_describe_end(const struct srv_node_change *open, char *text, size_t bytes)
{
    const struct srv_trial *trial = &((const struct srv_change *)(const void *)open)->trial;
    const double mean_us = trial->steps > 0 ? (double)trial->step_sum_ns * 1e-3 / (double)trial->steps : 0.0;
    (void)snprintf(text, bytes, "%s%s; its steps took %.3g us on average, %.3g us at most",
                   trial->rolled_back ? "rolled back: it " : "kept after its probation",
                   trial->rolled_back ? trial->failure : "", mean_us, (double)trial->step_max_ns * 1e-3);
}

/* ---- the way back ---- */

void srv_swap_previous(const struct srv_node_change *open, struct srv_previous *previous)
{
    const struct srv_instance *was = &((const struct srv_change *)(const void *)open)->instance;
    *previous = (struct srv_previous){.plugin = oto_plugin_hold(was->plugin),
                                      .params = oto_params_copy(&was->params),
                                      .has_setup = was->own_setup != NULL};
    if (was->own_setup != NULL) {
        previous->setup = *was->own_setup;
    }
}

void srv_previous_copy(const struct srv_previous *from, struct srv_previous *to)
{
    *to = *from;
    to->params = oto_params_copy(&from->params);
    to->plugin = oto_plugin_hold(from->plugin);
}

void srv_previous_finish(struct srv_previous *previous)
{
    oto_params_free(&previous->params);
    (void)oto_plugin_close(previous->plugin);
    memset(previous, 0, sizeof *previous);
}
