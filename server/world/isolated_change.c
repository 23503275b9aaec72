/*
 * Changed parameters of an isolated node, and candidates to take its place. `prepare` may read files, which a running host
 * cannot: so a change brings a host of its own, made ready beside the running one with the new parameters or plugin, and
 * the group moves over at a boundary.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "world/engine_private.h"

#define KEEPER_PATIENCE_NS INT64_C(1000000000)

/* A host like that of the group, but for one seat. The lock is held. */
static enum oto_status start(struct srv_group *group, uint32_t slot, const struct srv_box_seat *seat,
                             struct srv_change *change, struct oto_error *error)
{
    uint32_t culprit = UINT32_MAX;
    struct srv_box_seat *seats = calloc(group->member_count, sizeof *seats);
    if (seats == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a change of '%s'", seat->topic);
    }
    memcpy(seats, group->seats, group->member_count * sizeof *seats);
    seats[slot] = *seat;
    const enum oto_status status =
        srv_box_start(seats, group->member_count, group->fifo_priority, NULL, NULL, &change->box, &culprit, error);
    if (status == OTO_OK) {
        change->box->revision = group->seats_revision + 1;
    }
    free(seats);
    return status;
}

/* A change begins from what the last one brought; the keeper notes that at once. */
static void await_keeper(const struct srv_group *group)
{
    const int64_t deadline_ns = srv_now_ns() + KEEPER_PATIENCE_NS;
    while (__atomic_load_n(&group->adopted, __ATOMIC_ACQUIRE) != NULL && srv_now_ns() < deadline_ns) {
        const struct timespec moment = {0, 100000};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    }
}

enum oto_status srv_member_make_parameter(struct srv_member *member, const struct srv_change_base *base, const char *key,
                                          const char *yaml, struct srv_node_change **out, struct oto_error *error)
{
    struct srv_group *group = member->group;
    enum oto_status status = srv_change_make_parameter(base, key, yaml, out, error);
    if (status != OTO_OK) {
        return status;
    }
    struct srv_change *change = (struct srv_change *)(void *)*out;
    await_keeper(group);
    (void)pthread_mutex_lock(&group->lock);
    struct srv_box_seat seat = group->seats[member->slot];
    seat.params = change->params;
    seat.old_params = &base->params;
    status = start(group, member->slot, &seat, change, error);
    (void)pthread_mutex_unlock(&group->lock);
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
    struct srv_occupant *next = &change->occupant;
    const bool migrates = change->start == SRV_START_MIGRATE;
    const struct srv_box_seat seat = {.topic = base->topic,
                                      .setup = *next->instance.setup,
                                      .plugin = next->plugin,
                                      .params = next->params,
                                      .old_state_bytes = migrates ? change->snapshot_bytes : 0,
                                      .old_state_version = migrates ? change->snapshot_version : 0,
                                      .flags = SRV_SLOT_FRESH};
    change->last = srv_member_make_last(next->ports, next->port_count);
    if (change->last == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the outputs of '%s'", base->topic);
    }
    await_keeper(group);
    (void)pthread_mutex_lock(&group->lock);
    const enum oto_status status = start(group, member->slot, &seat, change, error);
    (void)pthread_mutex_unlock(&group->lock);
    return status;
}

enum oto_status srv_member_apply(struct srv_engine *engine, struct srv_member *member, struct srv_change *change,
                                 const char **reason)
{
    struct srv_group *group = member->group;
    struct srv_box *box = change->box;
    if (box == NULL || box->revision != group->revision + 1) {
        *reason = "another change of its plugin host was applied meanwhile; ask again";
        return OTO_CONFLICT;
    }
    if (group->tried != NULL) {
        *reason = "a swap of a node in its plugin host is in its shadow or on probation: set it when that is over";
        return OTO_CONFLICT;
    }
    const enum oto_status status = srv_change_apply(member->node, change, reason);
    if (status != OTO_OK) {
        return status;
    }
    srv_group_settle(engine, group);
    group->revision = box->revision;
    change->box = NULL;
    srv_group_adopt(group, (struct srv_talk){.box = box});
    __atomic_store_n(&group->adopted, box, __ATOMIC_RELEASE);
    srv_keeper_wake(engine);
    return OTO_OK;
}
