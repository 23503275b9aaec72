/* Groups of isolated nodes: from the configuration to their first states. [loop] */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/isolated.h"

#define RELEASED_CAPACITY 64u /* a power of two; the host supervisor empties it at once */

static struct srv_group *find_group(struct srv_sim *sim, const char *name)
{
    for (uint32_t i = 0; i < sim->isolation->group_count; i++) {
        if (strcmp(sim->isolation->groups[i].name, name) == 0) {
            return &sim->isolation->groups[i];
        }
    }
    return NULL;
}

static const char *group_name(const struct srv_node *node)
{
    const char *name = node->config->isolation.group;
    return name[0] != '\0' ? name : node->setup->node;
}

/* Reports an error of a node, at the place of its `isolation` in the file if there is one. */
static enum oto_status __attribute__((format(printf, 4, 5)))
refuse(const struct srv_node *node, struct oto_error *error, enum oto_status status, const char *format, ...)
{
    const struct oto_value *place = node->config->place;
    char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return place != NULL ? oto_value_fail(oto_value_get(place, "isolation"), error, status, "node '%s' %s", node->topic, sentence)
                         : oto_fail(error, status, "node '%s' %s", node->topic, sentence);
}

static enum oto_status check_node(struct srv_sim *sim, const struct srv_node *node, struct oto_error *error)
{
    const struct srv_clock_config *clock = &sim->config->clock;
    const struct srv_node_config *config = node->config;
    if (node->live.evaluate != NULL && config->isolation.async) {
        return refuse(node, error, OTO_UNSUPPORTED, "is a motion: the sensors of a tick need its truth in that tick, which "
                      "`mode: async` would give them in the next; `mode: sync` is accepted");
    }
    if ((__uint128_t)config->rate_num * clock->rate_den > (__uint128_t)clock->rate_num * config->rate_den) {
        return refuse(node, error, OTO_UNSUPPORTED, "samples faster than the clock ticks; in a plugin host at most one sample "
                      "a tick is accepted");
    }
    return OTO_OK;
}

static enum srv_turn turn_of(const struct srv_node *node)
{
    return node->live.evaluate != NULL ? SRV_TURN_MOTIONS : node->is_estimator ? SRV_TURN_ESTIMATORS : SRV_TURN_SENSORS;
}

static int64_t budget_of(const struct srv_node *node)
{
    return node->config->isolation.budget_ns > 0 ? node->config->isolation.budget_ns : SRV_GROUP_BUDGET_NS;
}

static struct srv_group *add_group(struct srv_sim *sim, const struct srv_node *node)
{
    const struct srv_clock_config *clock = &sim->config->clock;
    struct srv_group *group = &sim->isolation->groups[sim->isolation->group_count++];
    group->isolation = sim->isolation;
    (void)pthread_mutex_init(&group->lock, NULL);
    group->turn = turn_of(node);
    group->async = node->config->isolation.async;
    group->budget_ns = budget_of(node);
    group->fifo_priority = clock->mode == OTO_MODE_REALTIME && clock->fifo_priority > 1 ? clock->fifo_priority - 1 : 0;
    (void)snprintf(group->name, sizeof group->name, "%s", group_name(node));
    return group;
}

/* Nodes of one group must have the same kind, mode and budget. */
static enum oto_status join(struct srv_sim *sim, const struct srv_node *node, struct oto_error *error)
{
    static const char *const turns[] = {
        [SRV_TURN_MOTIONS] = "motions", [SRV_TURN_SENSORS] = "sensors", [SRV_TURN_ESTIMATORS] = "estimators"};
    const bool async = node->config->isolation.async;
    struct srv_group *group = find_group(sim, group_name(node));
    if (group == NULL && sim->isolation->group_count == SRV_GROUP_MAX) {
        return refuse(node, error, OTO_LIMIT, "asks for plugin host number %u; at most %u are accepted: nodes share one with "
                      "`isolation: {process: NAME}`", sim->isolation->group_count + 1, SRV_GROUP_MAX);
    }
    if (group == NULL) {
        group = add_group(sim, node);
    }
    if (group->turn != turn_of(node)) {
        return refuse(node, error, OTO_CONFLICT,
                      "is one of the %s, and plugin host '%s' runs %s: they are stepped at "
                      "other times of a tick; a host of another name is accepted",
                      turns[turn_of(node)], group->name, turns[group->turn]);
    }
    if (group->async != async || group->budget_ns != budget_of(node)) {
        return refuse(node, error, OTO_CONFLICT, "gives plugin host '%s' mode %s and %lld us, an earlier one mode %s and %lld "
                      "us: one of each is accepted", group->name, async ? "async" : "sync",
                      (long long)(budget_of(node) / 1000), group->async ? "async" : "sync",
                      (long long)(group->budget_ns / 1000));
    }
    group->member_count++;
    return OTO_OK;
}

void *srv_member_make_last(const struct srv_port *ports, uint32_t port_count)
{
    uint64_t payload_bytes = 0;
    for (uint32_t i = 0; i < port_count; i++) {
        payload_bytes += srv_state_rounded(ports[i].payload_bytes);
    }
    return srv_state_alloc(payload_bytes);
}

static enum oto_status make_member(struct srv_sim *sim, struct srv_group *group, uint32_t slot,
                                   struct srv_node *node, struct oto_error *error)
{
    struct srv_member *member = &group->members[slot];
    *member = (struct srv_member){.node = node, .vehicle = &sim->vehicles[node->vehicle], .group = group, .slot = slot};
    member->last = srv_member_make_last(node->live.ports, node->live.port_count);
    node->member = member;
    if (node->is_estimator) {
        member->ready_at = srv_estimator_ready_at(sim, node);
        member->after = calloc(node->inputs.count + 1, sizeof *member->after);
    }
    if (node->live.evaluate != NULL && srv_member_make_truths(member, error) != OTO_OK) {
        return OTO_NO_MEMORY;
    }
    return member->last != NULL && (member->after != NULL || !node->is_estimator)
               ? OTO_OK
               : oto_fail(error, OTO_NO_MEMORY, "no memory for the outputs of '%s'", node->topic);
}

static enum oto_status fill(struct srv_sim *sim, struct srv_group *group, struct oto_error *error)
{
    uint32_t slot = 0;
    enum oto_status status = OTO_OK;
    group->members = calloc(group->member_count, sizeof *group->members);
    group->released = (struct srv_queue){.capacity = RELEASED_CAPACITY, .item_bytes = sizeof(struct srv_host *)};
    group->released.items = calloc(RELEASED_CAPACITY, sizeof(struct srv_host *));
    if (group->members == NULL || group->released.items == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for plugin host '%s'", group->name);
    }
    for (uint32_t i = 0; status == OTO_OK && i < sim->node_count; i++) {
        struct srv_node *node = &sim->nodes[i];
        if (node->config->isolation.process && find_group(sim, group_name(node)) == group) {
            status = make_member(sim, group, slot++, node, error);
        }
    }
    return status;
}

static enum oto_status make_specs(struct srv_group *group, struct oto_error *error)
{
    group->specs = calloc(group->member_count, sizeof *group->specs);
    if (group->specs == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for plugin host '%s'", group->name);
    }
    for (uint32_t i = 0; i < group->member_count; i++) {
        const struct srv_node *node = group->members[i].node;
        group->specs[i] = (struct srv_host_instance_spec){.topic = node->topic,
                                                          .setup = *node->live.abi.setup,
                                                          .plugin = oto_plugin_hold(node->live.plugin),
                                                          .params = oto_params_copy(&node->live.params),
                                                          .flags = SRV_SLOT_FRESH,
                                                          .inputs = node->is_estimator ? &node->inputs : NULL};
    }
    return OTO_OK;
}

/* Records the plugin that a swap brought in, for the next host. It has no crashes yet, so it is not quarantined. */
static void take_plugin(struct srv_member *member, struct srv_host_instance_spec *spec,
                        const struct srv_host_layout *layout)
{
    if (layout->plugin == spec->plugin) {
        return;
    }
    (void)oto_plugin_close(spec->plugin);
    spec->plugin = oto_plugin_hold(layout->plugin);
    spec->setup = layout->setup;
    spec->flags &= ~SRV_SLOT_OFF;
    member->off = false;
    member->crashes = 0;
}

void srv_group_take_specs(struct srv_group *group, const struct srv_host *host)
{
    for (uint32_t i = 0; i < group->member_count; i++) {
        oto_params_free(&group->specs[i].params);
        group->specs[i].params = oto_params_copy(&host->layouts[i].params);
        take_plugin(&group->members[i], &group->specs[i], &host->layouts[i]);
    }
    group->specs_revision = host->revision;
}

static void note_unsaved(struct srv_member *member, bool unsaved)
{
    (void)snprintf(member->unsaved, sizeof member->unsaved, "plugin '%.40s' of '%.96s' cannot save its whole state, so this world has "
                   "no checkpoints", oto_plugin_descriptor(member->node->live.plugin)->id, member->node->topic);
    member->node->unsaved = unsaved ? member->unsaved : NULL;
}

/* Starts the first host of a group, whose instances make the first states. */
static enum oto_status start(struct srv_group *group, oto_warn_function warn, void *warn_context,
                             struct oto_error *error)
{
    uint32_t culprit = 0;
    enum oto_status status = make_specs(group, error);
    if (status == OTO_OK) {
        status = srv_host_start(group->specs, group->member_count, group->fifo_priority, warn, warn_context,
                                &group->live.host, &culprit, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    group->watched = group->live.host;
    group->pid = (int32_t)group->live.host->pid;
    group->landlock = group->live.host->landlock;
    for (uint32_t i = 0; i < group->member_count; i++) {
        const struct srv_host_layout *layout = &group->live.host->layouts[i];
        memcpy(group->members[i].node->live.abi.state, srv_host_at(group->live.host, layout->state_offset),
               layout->state_bytes);
        if (group->members[i].truths != NULL) {
            srv_member_take_zero(&group->members[i], group->live.host);
        }
        group->specs[i].flags = 0;
        note_unsaved(&group->members[i], srv_host_slot(group->live.host, i)->unsaved != 0);
    }
    return OTO_OK;
}

enum oto_status srv_groups_make(struct srv_sim *sim, oto_warn_function warn, void *warn_context,
                                struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    sim->isolation->groups = calloc(SRV_GROUP_MAX, sizeof *sim->isolation->groups);
    if (sim->isolation->groups == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for plugin hosts");
    }
    for (uint32_t i = 0; status == OTO_OK && i < sim->node_count; i++) {
        const struct srv_node *node = &sim->nodes[i];
        if (node->config->isolation.process) {
            status = check_node(sim, node, error);
            status = status == OTO_OK ? join(sim, node, error) : status;
        }
    }
    for (uint32_t i = 0; status == OTO_OK && i < sim->isolation->group_count; i++) {
        status = fill(sim, &sim->isolation->groups[i], error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < sim->isolation->group_count; i++) {
        status = start(&sim->isolation->groups[i], warn, warn_context, error);
    }
    return status;
}

bool srv_isolation_group(const struct srv_sim *sim, uint32_t index, struct srv_group_facts *facts)
{
    if (sim->isolation == NULL || index >= sim->isolation->group_count) {
        return false;
    }
    const struct srv_group *group = &sim->isolation->groups[index];
    *facts = (struct srv_group_facts){.name = group->name,
                                      .nodes = group->member_count,
                                      .async = group->async,
                                      .budget_ns = group->budget_ns,
                                      .pid = __atomic_load_n(&group->pid, __ATOMIC_RELAXED),
                                      .landlock = group->landlock,
                                      .restarts = __atomic_load_n(&group->restarts, __ATOMIC_RELAXED),
                                      .stale = __atomic_load_n(&group->stale, __ATOMIC_RELAXED)};
    return true;
}

const char *srv_isolation_group_node(const struct srv_sim *sim, uint32_t index, uint32_t member)
{
    const bool known = sim->isolation != NULL && index < sim->isolation->group_count && member < sim->isolation->groups[index].member_count;
    return known ? sim->isolation->groups[index].members[member].node->topic : NULL;
}

static void finish_group(struct srv_group *group)
{
    struct srv_host *host = NULL;
    while (group->released.items != NULL && srv_queue_pop(&group->released, &host)) {
        srv_host_end(host);
    }
    srv_host_end(group->next);
    srv_host_end(group->live.host);
    srv_host_end(group->trial.host);
    for (uint32_t i = 0; group->members != NULL && i < group->member_count; i++) {
        free(group->members[i].last);
        free(group->members[i].after);
        srv_member_free_truths(&group->members[i]);
    }
    for (uint32_t i = 0; group->specs != NULL && i < group->member_count; i++) {
        oto_params_free(&group->specs[i].params);
        (void)oto_plugin_close(group->specs[i].plugin);
    }
    (void)pthread_mutex_destroy(&group->lock);
    free(group->specs);
    free(group->released.items);
    free(group->members);
}

void srv_groups_drop(struct srv_sim *sim)
{
    for (uint32_t i = 0; i < sim->isolation->group_count; i++) {
        finish_group(&sim->isolation->groups[i]);
    }
    free(sim->isolation->groups);
    sim->isolation->groups = NULL;
    sim->isolation->group_count = 0;
}
