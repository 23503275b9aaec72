#include "world/engine_private.h"

#include <stdlib.h>
#include <string.h>

/* A private copy of what a node runs, so that the main thread may take replies while a worker prepares. */
static enum oto_status begin_change(const struct srv_engine *engine, uint32_t node, struct srv_change_base *base,
                                    struct oto_error *error)
{
    struct srv_engine *locked = (struct srv_engine *)(uintptr_t)engine; /* only its lock is touched */
    memset(base, 0, sizeof *base);
    if (node >= engine->node_count) {
        return oto_fail(error, OTO_NOT_FOUND, "there is no node %u; the world has %u", node, engine->node_count);
    }
    base->node = node;
    base->topic = engine->nodes[node].topic;
    base->config = engine->nodes[node].config;
    base->first_channel = engine->first_channels[node];
    base->setup = base->node_setup = engine->nodes[node].setup;
    base->isolated = engine->nodes[node].member != NULL;
    base->base_rate_num = engine->config->clock.rate_num;
    base->base_rate_den = engine->config->clock.rate_den;
    base->realtime = __atomic_load_n(&engine->segment.header->mode, __ATOMIC_RELAXED) == OTO_MODE_REALTIME;
    (void)pthread_mutex_lock(&locked->views_lock);
    const struct srv_node_view *view = &engine->views[node];
    base->plugin = oto_plugin_hold(view->plugin);
    base->revision = view->revision;
    if (view->own_setup != NULL) {
        base->own_setup = *view->own_setup;
        base->setup = &base->own_setup;
    }
    const enum oto_status status = oto_params_copy(&view->params, &base->params, error);
    (void)pthread_mutex_unlock(&locked->views_lock);
    return status;
}

static void end_change(struct srv_change_base *base)
{
    oto_params_free(&base->params);
    if (base->plugin != NULL) {
        (void)oto_plugin_close(base->plugin);
    }
}

/* What a change will publish has its memory before it is handed to the tick thread. */
static enum oto_status wake_ports(const struct srv_engine *engine, const struct srv_change_base *base,
                                  const struct oto_plugin *plugin, const struct oto_params *params,
                                  struct oto_error *error)
{
    return srv_ports_wake(oto_plugin_descriptor(plugin), base->config, base->first_channel, params, &engine->segment,
                          error);
}

static enum oto_status wake_changed(const struct srv_engine *engine, const struct srv_change_base *base,
                                    struct srv_node_change **open, struct oto_error *error)
{
    const struct srv_change *change = (const struct srv_change *)(const void *)*open;
    const enum oto_status status = wake_ports(engine, base, base->plugin, &change->params, error);
    if (status != OTO_OK) {
        (void)srv_change_free(*open);
        *open = NULL;
    }
    return status;
}

enum oto_status srv_change_parameter(const struct srv_engine *engine, uint32_t node, const char *key, const char *yaml,
                                     struct srv_node_change **change, struct oto_error *error)
{
    struct srv_change_base base;
    *change = NULL;
    enum oto_status status = begin_change(engine, node, &base, error);
    if (status == OTO_OK && base.isolated) {
        status = srv_member_make_parameter(engine->nodes[node].member, &base, key, yaml, change, error);
    } else if (status == OTO_OK) {
        status = srv_change_make_parameter(&base, key, yaml, change, error);
    }
    if (status == OTO_OK) {
        status = wake_changed(engine, &base, change, error);
    }
    end_change(&base);
    return status;
}

/* ---- swaps ---- */

enum oto_status srv_swap_load(const struct srv_engine *engine, uint32_t node, const struct srv_swap_options *options,
                              struct srv_node_change **out, struct oto_error *error)
{
    struct srv_change_base base;
    struct srv_change *change = NULL;
    *out = NULL;
    enum oto_status status = begin_change(engine, node, &base, error);
    if (status == OTO_OK && srv_external_is(base.plugin)) {
        status = oto_fail(error, OTO_UNSUPPORTED, "'%s' is moved by a participant: it has no plugin that could be swapped",
                          base.topic);
    }
    if (status == OTO_OK && base.isolated && engine->nodes[node].member->group->turn == SRV_TURN_MOTIONS) {
        status = oto_fail(error, OTO_UNSUPPORTED, "'%s' is a motion in a plugin host, where motions are not swapped; without "
                          "`isolation` it is accepted", base.topic);
    }
    if (status == OTO_OK) {
        status = srv_change_load_plugin(&base, options, &change, error);
    }
    if (status == OTO_OK && base.isolated && engine->nodes[node].member->group->async && change->shadow_ticks == 0) {
        change->shadow_ticks = 1; /* the sample that is published after the flip was taken before it, by the candidate too */
    }
    end_change(&base);
    *out = change != NULL ? &change->open : NULL;
    return status;
}

bool srv_swap_wants_snapshot(const struct srv_node_change *change)
{
    return ((const struct srv_change *)(const void *)change)->probe != NULL;
}

/* The last truths that were published, carried to the node: what a sensor would have been exposed to. */
static void make_inputs(const struct srv_engine *engine, const struct srv_node *node, struct srv_probe_input *inputs)
{
    const struct srv_vehicle *vehicle = &engine->vehicles[node->config->vehicle];
    const uint32_t channel = engine->first_channels[vehicle->motion->index];
    const struct oto_ring_view view =
        oto_ring_view_make(engine->segment.header, &engine->segment.directory[channel]);
    const uint64_t newest = oto_ring_newest(&view);
    const uint64_t oldest = newest > SRV_PROBE_INPUTS ? newest - SRV_PROBE_INPUTS + 1 : 1;
    const struct srv_clock_config *clock = &engine->config->clock;
    for (uint64_t i = 0; i < SRV_PROBE_INPUTS; i++) {
        struct srv_probe_input *input = &inputs[i];
        struct oto_sample_head head;
        memset(input, 0, sizeof *input);
        const uint64_t seq = oldest + i;
        if (oto_ring_read_at(&view, seq <= newest ? seq : newest, &head, &input->input.truth) != OTO_OK) {
            input->input.truth = vehicle->truth_zero;
        }
        uint64_t rest;
        input->tick = seq - 1;
        input->at.t_ns = srv_instant_ns(seq, clock->rate_num, clock->rate_den, &rest);
        input->at.sub_ns = (double)rest / (double)clock->rate_num;
        input->n = seq;
        const struct srv_exposure exposure = {vehicle->vibration, input->at};
        srv_environment_fill(&engine->environment, node->setup, &exposure, &input->input);
    }
}

static enum oto_status try_candidate(const struct srv_engine *engine, const struct srv_change_base *base,
                                     struct srv_change *change, struct oto_error *error)
{
    struct srv_probe_input *inputs = calloc(SRV_PROBE_INPUTS, sizeof *inputs);
    if (inputs == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the probe of '%s'", base->topic);
    }
    make_inputs(engine, &engine->nodes[base->node], inputs);
    const enum oto_status status = srv_change_try(base, inputs, SRV_PROBE_INPUTS, change, error);
    free(inputs);
    return status;
}

/* A vehicle whose motion can be asked about any time keeps no history; after a swap its past is the other one's. */
static enum oto_status make_history(const struct srv_engine *engine, struct srv_change *change, struct oto_error *error)
{
    const struct srv_clock_config *clock = &engine->config->clock;
    if (change->occupant.evaluate == NULL) {
        return OTO_OK;
    }
    change->history = calloc(srv_history_capacity(clock->rate_num, clock->rate_den), sizeof *change->history);
    return change->history != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for one second of truth");
}

enum oto_status srv_swap_ready(const struct srv_engine *engine, struct srv_node_change *open, struct oto_error *error)
{
    struct srv_change *change = (struct srv_change *)(void *)open;
    struct srv_change_base base;
    enum oto_status status = begin_change(engine, open->node, &base, error);
    if (status == OTO_OK && base.revision != change->revision) {
        status = oto_fail(error, OTO_CONFLICT, "another change of '%s' was applied meanwhile; ask again", base.topic);
    }
    if (status == OTO_OK && change->probe != NULL) {
        status = try_candidate(engine, &base, change, error);
    }
    if (status == OTO_OK) {
        status = srv_change_ready(&base, change, error);
    }
    if (status == OTO_OK && base.isolated) {
        status = srv_member_make_candidate(engine->nodes[open->node].member, &base, change, error);
    }
    if (status == OTO_OK) {
        status = make_history(engine, change, error);
    }
    if (status == OTO_OK) {
        status = wake_ports(engine, &base, change->occupant.plugin, &change->occupant.params, error);
    }
    end_change(&base);
    return status;
}

enum oto_status srv_change_plugin(const struct srv_engine *engine, uint32_t node, const char *path,
                                  struct srv_node_change **change, struct oto_error *error)
{
    const struct srv_swap_options options = {.plugin = path};
    enum oto_status status = srv_swap_load(engine, node, &options, change, error);
    if (status == OTO_OK) {
        status = srv_swap_ready(engine, *change, error);
        if (status != OTO_OK) {
            (void)srv_change_free(*change);
            *change = NULL;
        }
    }
    return status;
}

void srv_swap_tell(const struct srv_node_change *open, struct srv_swap_facts *facts)
{
    const struct srv_change *change = (const struct srv_change *)(const void *)open;
    *facts = (struct srv_swap_facts){.plugin = change->occupant.plugin,
                                     .params = &change->occupant.params,
                                     .setup = change->occupant.own_setup,
                                     .begins_anew = change->start == SRV_START_COLD || change->start == SRV_START_ADOPT,
                                     .probation_ticks = change->probation_ticks,
                                     .shadow_ticks = change->shadow_ticks,
                                     .shadow_tolerance = change->shadow_tolerance};
}

/* ---- what is said of a swap ---- */

void srv_swap_describe(const struct srv_node_change *open, char *text, size_t bytes)
{
    static const char *const starts[] = {[SRV_START_COLD] = "state begun anew", [SRV_START_COPY] = "state kept",
                                         [SRV_START_MIGRATE] = "state migrated",
                                         [SRV_START_ADOPT] = "going on from the truth"};
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

enum oto_status srv_swap_previous(const struct srv_node_change *open, struct srv_previous *previous)
{
    const struct srv_occupant *was = &((const struct srv_change *)(const void *)open)->occupant;
    memset(previous, 0, sizeof *previous);
    const enum oto_status status = oto_params_copy(&was->params, &previous->params, NULL);
    if (status == OTO_OK) {
        previous->plugin = oto_plugin_hold(was->plugin);
        previous->has_setup = was->own_setup != NULL;
        if (was->own_setup != NULL) {
            previous->setup = *was->own_setup;
        }
    }
    return status;
}

enum oto_status srv_previous_copy(const struct srv_previous *from, struct srv_previous *to)
{
    *to = *from;
    to->params = (struct oto_params){.block = NULL};
    to->plugin = NULL;
    const enum oto_status status = oto_params_copy(&from->params, &to->params, NULL);
    to->plugin = status == OTO_OK ? oto_plugin_hold(from->plugin) : NULL;
    return status;
}

enum oto_status srv_previous_of_file(const struct srv_engine *engine, uint32_t node, struct srv_previous *previous)
{
    const struct srv_node_config *config = engine->nodes[node].config;
    memset(previous, 0, sizeof *previous);
    if (config->standin.plugin == NULL || config->standin.plugin == config->plugin) {
        return OTO_OK;
    }
    const enum oto_status status = oto_params_copy(&config->params, &previous->params, NULL);
    previous->plugin = status == OTO_OK ? oto_plugin_hold(config->plugin) : NULL;
    return status;
}

void srv_previous_finish(struct srv_previous *previous)
{
    oto_params_free(&previous->params);
    (void)oto_plugin_close(previous->plugin);
    memset(previous, 0, sizeof *previous);
}

void srv_views_update(struct srv_engine *engine, const struct srv_reply *reply)
{
    if (reply->plugin == NULL || reply->change == NULL) {
        return;
    }
    struct srv_node_view *view = &engine->views[reply->change->node];
    (void)pthread_mutex_lock(&engine->views_lock);
    view->plugin = reply->plugin;
    view->params = reply->params;
    view->own_setup = reply->own_setup;
    view->revision = reply->revision;
    (void)pthread_mutex_unlock(&engine->views_lock);
}
