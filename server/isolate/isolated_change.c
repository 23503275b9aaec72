/*
 * Changed parameters and candidates of isolated nodes. `prepare` may read files, which a running host cannot. So each
 * change starts a new host with the new parameters or plugin beside the running one, and the group moves to it at a
 * boundary.
 */
#include <stdlib.h>
#include <time.h>

#include "base/monotonic.h"
#include "isolate/isolated.h"

#define KEEPER_PATIENCE_NS INT64_C(1000000000)

/* Waits until the host supervisor has noted the last change, from which this one starts. */
static void await_supervisor(const struct srv_group *group)
{
    const int64_t deadline_ns = srv_now_ns() + KEEPER_PATIENCE_NS;
    while (__atomic_load_n(&group->adopted, __ATOMIC_ACQUIRE) != NULL && srv_now_ns() < deadline_ns) {
        const struct timespec moment = {0, 100000};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    }
}

/* The instances of the next host. A copy, so that the host supervisor does not wait while a candidate prepares. */
struct draft {
    struct srv_host_instance_spec *specs; /* of the group, to be changed; `held` owns what they refer to */
    struct srv_host_instance_spec *held;  /* they own their parameters and have references to their plugins */
    uint32_t count;
    uint64_t revision;
};

static void drop(struct draft *draft)
{
    for (uint32_t i = 0; draft->held != NULL && i < draft->count; i++) {
        oto_params_free(&draft->held[i].params);
        (void)oto_plugin_close(draft->held[i].plugin);
    }
    free(draft->held);
    free(draft->specs);
}

static void copy_specs(struct srv_group *group, struct draft *draft)
{
    (void)pthread_mutex_lock(&group->lock);
    draft->revision = group->specs_revision + 1;
    for (uint32_t i = 0; i < draft->count; i++) {
        struct srv_host_instance_spec *held = &draft->held[i];
        *held = group->specs[i];
        held->plugin = oto_plugin_hold(held->plugin);
        held->params = oto_params_copy(&group->specs[i].params);
        draft->specs[i] = *held;
    }
    (void)pthread_mutex_unlock(&group->lock);
}

/* Copies the instances of the last change. The caller drops the draft, also on failure. */
static enum oto_status begin(struct srv_group *group, struct draft *draft, struct oto_error *error)
{
    await_supervisor(group);
    draft->count = group->member_count;
    draft->specs = calloc(draft->count, sizeof *draft->specs);
    draft->held = calloc(draft->count, sizeof *draft->held);
    if (draft->specs == NULL || draft->held == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a change of plugin host '%s'", group->name);
    }
    copy_specs(group, draft);
    return OTO_OK;
}

static enum oto_status start(const struct srv_group *group, const struct draft *draft, struct srv_change *change,
                             struct oto_error *error)
{
    uint32_t culprit = UINT32_MAX;
    const enum oto_status status =
        srv_host_start(draft->specs, draft->count, group->fifo_priority, NULL, NULL, &change->host, &culprit, error);
    if (status == OTO_OK) {
        change->host->revision = draft->revision;
        change->end_host = srv_host_end;
    }
    return status;
}

enum oto_status srv_member_make_parameter(struct srv_member *member, const struct srv_change_base *base, const char *key,
                                          const char *yaml, struct srv_node_change **out, struct oto_error *error)
{
    struct srv_group *group = member->group;
    enum oto_status status = srv_change_bind_parameter(base, key, yaml, out, error);
    if (status != OTO_OK) {
        return status;
    }
    struct srv_change *change = (struct srv_change *)(void *)*out;
    struct draft draft = {0};
    status = begin(group, &draft, error);
    if (status == OTO_OK) {
        draft.specs[member->slot].params = change->instance.params;
        draft.specs[member->slot].old_params = &base->params;
        status = start(group, &draft, change, error);
    }
    drop(&draft);
    if (status != OTO_OK) {
        (void)srv_change_free(*out);
        *out = NULL;
    }
    return status;
}

enum oto_status srv_member_make_candidate(struct srv_member *member, const struct srv_change_base *base,
                                          struct srv_change *change, struct oto_error *error)
{
    struct srv_group *group = member->group;
    struct srv_instance *next = &change->instance;
    const bool migrates = change->start == SRV_START_MIGRATE;
    struct draft draft = {0};
    const struct srv_node *node = member->node;
    enum oto_status status = srv_change_ready(base, change, true, error);
    if (status != OTO_OK) {
        return status;
    }
    change->last = srv_member_make_last(next->ports, next->port_count);
    if (node->is_estimator) {
        change->heard = calloc(node->inputs.count + 1, sizeof *change->heard);
        change->hears = calloc(node->inputs.count + 1, sizeof *change->hears);
    }
    if (change->last == NULL || (node->is_estimator && (change->heard == NULL || change->hears == NULL))) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for inputs and outputs of '%s'", base->topic);
    }
    status = begin(group, &draft, error);
    if (status == OTO_OK) {
        draft.specs[member->slot] =
            (struct srv_host_instance_spec){.topic = base->topic,
                                            .setup = *next->abi.setup,
                                            .plugin = next->plugin,
                                            .params = next->params,
                                            .inputs = node->is_estimator ? &node->inputs : NULL,
                                            .old_state_bytes = migrates ? change->snapshot_bytes : 0,
                                            .old_state_version = migrates ? change->snapshot_version : 0,
                                            .flags = SRV_SLOT_FRESH};
        status = start(group, &draft, change, error);
    }
    drop(&draft);
    return status;
}

enum oto_status srv_member_apply(struct srv_sim *sim, struct srv_member *member, struct srv_change *change,
                                 const char **reason)
{
    struct srv_group *group = member->group;
    struct srv_host *host = change->host;
    if (host == NULL || host->revision != group->revision + 1) {
        *reason = "another change of its plugin host was applied meanwhile; ask again";
        return OTO_CONFLICT;
    }
    if (group->swapped != NULL) {
        *reason = "a swap of a node in its plugin host is in its shadow or on probation: set it when that is over";
        return OTO_CONFLICT;
    }
    const enum oto_status status = srv_change_apply(member->node, change, reason);
    if (status != OTO_OK) {
        return status;
    }
    srv_group_settle(sim, group);
    group->revision = host->revision;
    group->kept = NULL;
    change->host = NULL;
    srv_group_adopt(group, (struct srv_host_link){.host = host});
    __atomic_store_n(&group->adopted, host, __ATOMIC_RELEASE);
    srv_host_supervisor_wake(sim);
    return OTO_OK;
}
