#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpu.h"

bool srv_change_free(struct srv_node_change *open)
{
    if (open == NULL) {
        return true;
    }
    struct srv_change *change = (struct srv_change *)(void *)open;
    srv_comparison_finish(&change->comparison);
    free(change->last);
    free(change->heard);
    free(change->hears);
    free(change->snapshot);
    free(change->first_state);
    free(change->history);
    if (change->host != NULL) {
        change->end_host(change->host);
    }
    const bool unmapped = srv_instance_finish(&change->instance);
    free(change);
    return unmapped;
}

/* ---- what the node runs now ---- */

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

static enum oto_status begin_base(const struct srv_sim *sim, uint32_t index, struct srv_change_base *base,
                                  struct oto_error *error)
{
    const struct srv_clock_config *clock = &sim->config->clock;
    *base = (struct srv_change_base){.node = index};
    if (index >= sim->node_count) {
        return oto_fail(error, OTO_NOT_FOUND, "there is no node %u; the world has %u", index, sim->node_count);
    }
    const struct srv_node *node = &sim->nodes[index];
    *base = (struct srv_change_base){.node = index,
                                     .topic = node->topic,
                                     .config = node->config,
                                     .first_channel = sim->first_channels[index],
                                     .setup = node->setup,
                                     .node_setup = node->setup,
                                     .open_plugin = sim->config->open_plugin,
                                     .base_rate_num = clock->rate_num,
                                     .base_rate_den = clock->rate_den,
                                     .realtime = sim->hooks.step_time != NULL &&
                                                 __atomic_load_n(&sim->store.header->mode, __ATOMIC_RELAXED) ==
                                                     OTO_MODE_REALTIME};
    if (sim->hooks.fill_base != NULL) {
        sim->hooks.fill_base(sim->hooks.context, base);
    } else {
        srv_change_base_fill(base, node->live.plugin, &node->live.params, node->live.own_setup, node->revision);
    }
    return OTO_OK;
}

static void finish_base(struct srv_change_base *base)
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

/* ---- parameters ---- */

static struct srv_change *begin(const struct srv_change_base *base, struct oto_error *error)
{
    struct srv_change *change = calloc(1, sizeof *change);
    if (change == NULL) {
        (void)oto_fail(error, OTO_NO_MEMORY, "no memory for a change of '%s'", base->topic);
        return NULL;
    }
    change->open.node = base->node;
    change->revision = base->revision;
    return change;
}

enum oto_status srv_change_bind_parameter(const struct srv_change_base *base, const char *key, const char *yaml,
                                          struct srv_node_change **out, struct oto_error *error)
{
    struct srv_change *change = begin(base, error);
    *out = NULL;
    if (change == NULL) {
        return OTO_NO_MEMORY;
    }
    struct srv_instance *next = &change->instance;
    srv_instance_bind(next, oto_plugin_hold(base->plugin));
    next->abi.setup = base->setup;
    next->params = oto_params_copy(&base->params);
    const enum oto_status status = oto_params_set(next->descriptor, key, yaml, true, &next->params, error);
    (void)snprintf(change->text, sizeof change->text, "%.60s = %.80s", key, yaml);
    if (status != OTO_OK) {
        (void)srv_change_free(&change->open);
        return status;
    }
    *out = &change->open;
    return OTO_OK;
}

enum oto_status srv_sim_change_parameter(const struct srv_sim *sim, uint32_t node, const char *key, const char *yaml,
                                         struct srv_node_change **change, struct oto_error *error)
{
    struct srv_change_base base;
    *change = NULL;
    enum oto_status status = begin_base(sim, node, &base, error);
    if (status == OTO_OK) {
        status = srv_runner_make_parameter(sim, &base, key, yaml, change, error);
    }
    if (status == OTO_OK) {
        const struct srv_change *made = (const struct srv_change *)(const void *)*change;
        status = wake_ports(sim, &base, base.plugin, &made->instance.params, error);
        if (status != OTO_OK) {
            (void)srv_change_free(*change);
            *change = NULL;
        }
    }
    finish_base(&base);
    return status;
}

/* ---- may the candidate stand in this place ---- */

static enum oto_status compare_ports(const struct srv_change_base *base, const struct oto_plugin_descriptor *next,
                                     struct oto_error *error)
{
    const struct oto_plugin_descriptor *now = oto_plugin_descriptor(base->plugin);
    const struct oto_plugin_descriptor *made_with = oto_plugin_descriptor(base->config->plugin);
    if (strcmp(now->kind, next->kind) != 0) {
        return oto_fail(error, OTO_INVALID, "'%s' is a %s; plugin '%s' is a %s: only the same kind is accepted",
                        base->topic, now->kind, next->id, next->kind);
    }
    if (made_with->output_count == 0) {
        return OTO_OK;
    }
    const struct oto_port *ours = &made_with->outputs[0];
    const struct oto_port *theirs = next->output_count > 0 ? &next->outputs[0] : NULL;
    if (theirs == NULL || strcmp(ours->name, theirs->name) != 0 ||
        oto_record_type_hash(ours->type) != oto_record_type_hash(theirs->type)) {
        return oto_fail(error, OTO_INVALID,
                        "'%s' publishes records '%s', the first output of plugin '%s' is '%s'%s: a plugin whose first "
                        "output is that record is accepted",
                        base->topic, ours->type->name, next->id, theirs != NULL ? theirs->type->name : "none",
                        theirs != NULL && strcmp(ours->type->name, theirs->type->name) == 0 ? " with other fields" : "");
    }
    return OTO_OK;
}

/* Writes which channels will be silent and which ports of the candidate have no channel. */
static void note_ports(const struct srv_change_base *base, const struct oto_plugin_descriptor *next, char *note,
                       size_t bytes)
{
    const struct oto_plugin_descriptor *made_with = oto_plugin_descriptor(base->config->plugin);
    const struct oto_plugin_descriptor *sides[] = {made_with, next};
    static const char *const words[] = {"; silent now: ", "; dropped, having no channel: "};
    for (uint32_t side = 0; side < 2; side++) {
        const struct oto_plugin_descriptor *has = sides[side], *lacks = sides[1 - side];
        const char *before = words[side];
        for (uint32_t i = 0; i < has->output_count; i++) {
            bool found = false;
            for (uint32_t k = 0; k < lacks->output_count && !found; k++) {
                found = strcmp(has->outputs[i].name, lacks->outputs[k].name) == 0 &&
                        oto_record_type_hash(has->outputs[i].type) == oto_record_type_hash(lacks->outputs[k].type);
            }
            const size_t used = strlen(note);
            if (!found) {
                (void)snprintf(note + used, bytes - used, "%s%s", before, has->outputs[i].name);
                before = ", ";
            }
        }
    }
}

/* ---- how the candidate comes to its state ---- */

static bool state_is_same(const struct oto_plugin_descriptor *now, const struct oto_plugin_descriptor *next)
{
    return strcmp(now->id, next->id) == 0 && next->state_version == now->state_version &&
           next->state_bytes == now->state_bytes;
}

static bool state_migrates(const struct oto_plugin_descriptor *now, const struct oto_plugin_descriptor *next,
                           const struct oto_plugin_ops *ops)
{
    return strcmp(now->id, next->id) == 0 && ops->migrate != NULL && now->state_version < next->state_version &&
           now->state_version >= next->migrates_from;
}

static enum oto_status refuse_state(const struct srv_change_base *base, const struct oto_plugin *plugin,
                                    struct oto_error *error)
{
    const struct oto_plugin_descriptor *now = oto_plugin_descriptor(base->plugin), *next = oto_plugin_descriptor(plugin);
    return oto_fail(error, OTO_VERSION,
                    "'%s' has a state of version %u (%llu bytes, plugin %s %s); %s has version %u (%llu bytes) and takes "
                    "over from version %u at the oldest%s: with --reset-state it starts with a new state",
                    base->topic, now->state_version, (unsigned long long)now->state_bytes, now->id, now->version,
                    oto_plugin_path(plugin), next->state_version, (unsigned long long)next->state_bytes,
                    oto_plugin_ops(plugin)->migrate != NULL ? next->migrates_from : next->state_version,
                    next->state_version < now->state_version ? " (it is the older one)" : "");
}

/*
 * Chooses how the candidate gets its first state. Only srv_change_ready can check that a motion has `adopt`, because the
 * extension is not loaded yet.
 */
static enum oto_status choose_start(const struct srv_change_base *base, const struct srv_swap_options *options,
                                    struct srv_change *change, struct oto_error *error)
{
    const struct oto_plugin *plugin = change->instance.plugin;
    const struct oto_plugin_descriptor *now = oto_plugin_descriptor(base->plugin), *next = oto_plugin_descriptor(plugin);
    const bool motion = strcmp(next->kind, OTO_KIND_MOTION) == 0;
    change->start = motion ? SRV_START_ADOPT : SRV_START_COLD;
    if (options->reset_state || strcmp(now->id, next->id) != 0) {
        return OTO_OK;
    }
    if (state_is_same(now, next)) {
        change->start = SRV_START_COPY;
    } else if (state_migrates(now, next, oto_plugin_ops(plugin))) {
        change->start = SRV_START_MIGRATE;
    } else if (options->previous == NULL) {
        return refuse_state(base, plugin, error);
    }
    return OTO_OK;
}

static uint64_t ticks_of(const struct srv_change_base *base, int64_t ns)
{
    const double ticks = (double)ns * 1e-9 * (double)base->base_rate_num / (double)base->base_rate_den;
    return ns <= 0 ? 0 : ticks < 1.0 ? 1 : (uint64_t)(ticks + 0.5);
}

/*
 * The default budget of a step in mode realtime is half a tick's period, more than any one plugin should take. Other modes
 * have no default budget.
 */
static int64_t budget_of(const struct srv_change_base *base, const struct srv_swap_options *options)
{
    if (options->budget_ns >= 0) {
        return options->budget_ns;
    }
    return base->realtime ? (int64_t)(0.5e9 * (double)base->base_rate_den / (double)base->base_rate_num) : 0;
}

static enum oto_status open_candidate(const struct srv_change_base *base, const struct srv_swap_options *options,
                                      struct srv_change *change, struct oto_error *error)
{
    char path[4096];
    if (options->previous != NULL) {
        change->instance.plugin = oto_plugin_hold(options->previous->plugin);
        return OTO_OK;
    }
    const enum oto_status status = oto_plugin_find(options->plugin, path, sizeof path, error);
    if (status != OTO_OK) {
        return status;
    }
    return base->open_plugin(path, base->config->isolation.process, &change->instance.plugin, error);
}

static enum oto_status load_candidate(const struct srv_change_base *base, const struct srv_swap_options *options,
                                      struct srv_change *change, struct oto_error *error)
{
    enum oto_status status = open_candidate(base, options, change, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_plugin_descriptor *now = oto_plugin_descriptor(base->plugin);
    const struct oto_plugin_descriptor *next = oto_plugin_descriptor(change->instance.plugin);
    change->open.plugin = change->instance.plugin;
    (void)snprintf(change->text, sizeof change->text, "%.40s %.16s to %.40s %.16s", now->id, now->version, next->id,
                   next->version);
    status = compare_ports(base, next, error);
    if (status == OTO_OK) {
        status = choose_start(base, options, change, error);
    }
    if (status == OTO_OK) {
        status = srv_change_bind(base, options, change, error);
    }
    note_ports(base, next, change->note, sizeof change->note);
    change->snapshot_bytes = now->state_bytes;
    change->snapshot_version = now->state_version;
    change->snapshot = status == OTO_OK && options->probe != NULL ? srv_state_alloc(now->state_bytes) : NULL;
    if (status == OTO_OK && options->probe != NULL && change->snapshot == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for a copy of the state of '%s'", base->topic);
    }
    return status;
}

/* Steps 1 and 2 of a swap: stages, checks and maps the file; compares ports, kind and state; binds the parameters. */
static enum oto_status load(const struct srv_sim *sim, const struct srv_change_base *base,
                            const struct srv_swap_options *options, struct srv_node_change **out, struct oto_error *error)
{
    const struct srv_node *node = &sim->nodes[base->node];
    const char *refusal = srv_runner_refuse_swaps(node);
    if (refusal != NULL) {
        return oto_fail(error, OTO_UNSUPPORTED, "'%s' %s", base->topic, refusal);
    }
    struct srv_change *change = begin(base, error);
    if (change == NULL) {
        return OTO_NO_MEMORY;
    }
    change->open.swap = true;
    change->probation_ticks = ticks_of(base, options->probation_ns);
    change->shadow_tolerance = options->shadow_tolerance;
    change->budget_ns = budget_of(base, options);
    change->pace = options->pace;
    change->probe = options->probe;
    const enum oto_status status = load_candidate(base, options, change, error);
    srv_fpu_pin();
    if (status != OTO_OK) {
        (void)srv_change_free(&change->open);
        return status;
    }
    const bool warms_up = change->start == SRV_START_COLD &&
                          strcmp(oto_plugin_descriptor(base->plugin)->kind, OTO_KIND_ESTIMATOR) == 0;
    change->shadow_ticks =
        ticks_of(base, options->shadow_ns > 0 ? options->shadow_ns : warms_up ? SRV_WARM_UP_NS : 0);
    if (srv_runner_waiting(sim, node) != NULL && change->shadow_ticks == 0) {
        change->shadow_ticks = 1; /* the first sample after the flip is requested before it, from the candidate too */
    }
    *out = &change->open;
    return OTO_OK;
}

enum oto_status srv_sim_swap_load(const struct srv_sim *sim, uint32_t node, const struct srv_swap_options *options,
                                  struct srv_node_change **change, struct oto_error *error)
{
    struct srv_change_base base;
    *change = NULL;
    enum oto_status status = begin_base(sim, node, &base, error);
    if (status == OTO_OK) {
        status = load(sim, &base, options, change, error);
    }
    finish_base(&base);
    return status;
}

/* ---- trying it elsewhere, then making it ready here ---- */

bool srv_swap_wants_snapshot(const struct srv_node_change *change)
{
    return ((const struct srv_change *)(const void *)change)->probe != NULL;
}

/* Step 3 of a swap. */
static enum oto_status probe(const struct srv_change_base *base, const struct srv_probe_feed *feed, struct srv_change *change,
                             struct oto_error *error)
{
    struct srv_probe_result result;
    const size_t noted = strlen(change->note);
    const bool carries = change->start == SRV_START_COPY || change->start == SRV_START_MIGRATE;
    const struct srv_probe_request request = {
        .plugin_fd = oto_plugin_fd(change->instance.plugin),
        .plugin_path = oto_plugin_path(change->instance.plugin),
        .setup = change->instance.own_setup != NULL ? change->instance.own_setup : base->node_setup,
        .params = &change->instance.params,
        .start = change->start,
        .state = carries ? change->snapshot : NULL,
        .state_bytes = carries ? change->snapshot_bytes : 0,
        .state_version = change->snapshot_version,
        .truth = change->truth,
        .at = change->at,
        .inputs = feed->inputs,
        .input_count = SRV_PROBE_INPUTS,
        .samples = feed->samples,
        .sample_count = feed->sample_count,
        .timeout_ns = INT64_C(5000000000)};
    const enum oto_status status = change->probe(&request, &result, error);
    if (status == OTO_UNSUPPORTED) {
        (void)snprintf(change->note + noted, sizeof change->note - noted, "; not probed: no plugin host here");
        error->status = OTO_OK;
        return OTO_OK;
    }
    if (status == OTO_OK) {
        (void)snprintf(change->note + noted, sizeof change->note - noted, "; probed with %u steps", result.steps);
    }
    return status;
}

static enum oto_status try_candidate(const struct srv_sim *sim, const struct srv_change_base *base,
                                     struct srv_change *change, struct oto_error *error)
{
    struct srv_probe_feed feed;
    enum oto_status status = srv_probe_feed_make(sim, base->node, change->at, &feed, error);
    if (status == OTO_OK) {
        status = probe(base, &feed, change, error);
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

static enum oto_status check_motion(const struct srv_change_base *base, const struct srv_change *change,
                                    struct oto_error *error)
{
    const struct oto_motion_extension *motion = oto_plugin_motion(change->instance.plugin);
    if (oto_plugin_motion(base->plugin) == NULL) {
        return OTO_OK;
    }
    if (motion == NULL) {
        return oto_fail(error, OTO_INVALID, "'%s' is a motion node; %s does not offer the extension '%s'", base->topic,
                        oto_plugin_path(change->instance.plugin), OTO_EXTENSION_MOTION);
    }
    if (change->start == SRV_START_ADOPT && !oto_motion_adopts(motion)) {
        return oto_fail(error, OTO_UNSUPPORTED,
                        "'%s' moves, and %s cannot continue from a truth: a motion with `adopt`, or a version of the same "
                        "plugin that takes over its state, is accepted",
                        base->topic, oto_plugin_path(change->instance.plugin));
    }
    return OTO_OK;
}

/* Checks that a candidate estimator can run with the inputs of the node, which a swap does not change. */
static enum oto_status check_inputs(const struct srv_change_base *base, const struct srv_change *change,
                                    struct oto_error *error)
{
    const struct oto_plugin *plugin = change->instance.plugin;
    struct oto_error why = {0};
    if (strcmp(oto_plugin_descriptor(plugin)->kind, OTO_KIND_ESTIMATOR) != 0) {
        return OTO_OK;
    }
    const enum oto_status status =
        oto_inputs_check(oto_plugin_estimator(plugin), base->setup->estimator.inputs,
                         base->setup->estimator.input_count, &why);
    return status == OTO_OK ? OTO_OK
                            : oto_fail(error, status, "%s cannot run with the inputs of '%s': %.300s",
                                       oto_plugin_path(plugin), base->topic, why.text);
}

static enum oto_status keep_first_state(struct srv_change *change, struct oto_error *error)
{
    const struct srv_instance *instance = &change->instance;
    if (instance->evaluate == NULL || change->start == SRV_START_COPY) {
        return OTO_OK;
    }
    change->first_state = srv_state_alloc(instance->state_bytes);
    if (change->first_state == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a state of %llu bytes",
                        (unsigned long long)instance->state_bytes);
    }
    memcpy(change->first_state, instance->abi.state, instance->state_bytes);
    return OTO_OK;
}

/* Step 4 of a swap. */
enum oto_status srv_change_ready(const struct srv_change_base *base, struct srv_change *change, bool prepared_later,
                                 struct oto_error *error)
{
    struct srv_instance *instance = &change->instance;
    const struct srv_instance_place place = {.setup = base->node_setup,
                                             .channels = oto_plugin_descriptor(base->config->plugin),
                                             .first_channel = base->first_channel,
                                             .prepared_later = prepared_later};
    enum oto_status status = check_motion(base, change, error);
    if (status == OTO_OK) {
        status = check_inputs(base, change, error);
    }
    if (status == OTO_OK) {
        srv_instance_bind(instance, instance->plugin);
        status = srv_instance_make(instance, &place, error);
    }
    if (status == OTO_OK) {
        status = keep_first_state(change, error);
    }
    if (status == OTO_OK && change->shadow_ticks > 0) {
        const bool motion = instance->evaluate != NULL;
        status = srv_comparison_init(motion ? &oto_truth_type : instance->descriptor->outputs[0].type,
                                     &change->comparison, error);
    }
    srv_fpu_pin();
    return status;
}

static enum oto_status make_ready(const struct srv_sim *sim, const struct srv_change_base *base, struct srv_change *change,
                                  struct oto_error *error)
{
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

enum oto_status srv_sim_swap_ready(const struct srv_sim *sim, struct srv_node_change *change, struct oto_error *error)
{
    struct srv_change_base base;
    enum oto_status status = begin_base(sim, change->node, &base, error);
    if (status == OTO_OK) {
        status = make_ready(sim, &base, (struct srv_change *)(void *)change, error);
    }
    finish_base(&base);
    return status;
}

/* ---- at the boundary ---- */

static enum oto_status adopt(struct srv_change *change, const struct oto_truth_record *truth, struct oto_instant at,
                             const char **reason)
{
    struct srv_instance *next = &change->instance;
    if (oto_plugin_motion(next->plugin)->adopt(&next->abi, truth, at) != OTO_OK) {
        *reason = "the new motion cannot continue from the truth of the vehicle";
        return OTO_PLUGIN;
    }
    return OTO_OK;
}

enum oto_status srv_change_take_state(const struct srv_node *node, struct srv_change *change,
                                      const struct oto_truth_record *truth, struct oto_instant at,
                                      const char **reason)
{
    struct srv_instance *next = &change->instance;
    enum oto_status status = OTO_OK;
    if (change->first_state != NULL) {
        memcpy(next->abi.state, change->first_state, next->state_bytes);
    }
    if (change->start == SRV_START_COPY) {
        memcpy(next->abi.state, node->live.abi.state, node->live.state_bytes);
    } else if (change->start == SRV_START_MIGRATE) {
        status = next->ops->migrate(&next->abi, node->live.abi.state, node->live.state_bytes,
                                    node->live.descriptor->state_version);
        *reason = status != OTO_OK ? "the new plugin's migrate refused the state" : *reason;
    } else if (change->start == SRV_START_ADOPT) {
        status = adopt(change, truth, at, reason);
    }
    if (status == OTO_OK && next->ops->validate != NULL && next->ops->validate(&next->abi) != OTO_OK) {
        *reason = "the new plugin's validate refused the state";
        status = OTO_PLUGIN;
    }
    if (!srv_fpu_is_pinned()) {
        srv_fpu_pin();
        *reason = "the new plugin changed the floating-point mode";
        status = OTO_PLUGIN;
    }
    srv_instance_settle(next);
    return status == OTO_OK ? OTO_OK : OTO_PLUGIN;
}

void srv_change_flip(struct srv_node *node, struct srv_change *change)
{
    srv_instance_exchange(&node->live, &change->instance);
    node->generation++;
    node->revision++;
}

enum oto_status srv_change_apply(struct srv_node *node, struct srv_change *change, const char **reason)
{
    struct srv_instance *live = &node->live, *next = &change->instance;
    const struct oto_params params = live->params;
    const struct oto_prepared prepared = live->prepared;
    if (change->revision != node->revision) {
        *reason = "another change of this node was applied meanwhile; ask again";
        return OTO_CONFLICT;
    }
    live->params = next->params;
    live->prepared = next->prepared;
    next->params = params;
    next->prepared = prepared;
    live->abi.params = live->params.block;
    live->abi.data = live->prepared.data;
    srv_instance_settle(live);
    node->revision++;
    return OTO_OK;
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
