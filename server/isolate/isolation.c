/* The plugin hosts of a world: made, handed to the simulator as its remote runners, and dropped. */
#include "isolate/isolation.h"

#include <stdlib.h>

#include "isolate/isolated.h"

static uint64_t *cursors_after(const struct srv_member *member)
{
    return member->after;
}

static struct srv_sample *waiting(const struct srv_member *member)
{
    return member->group->async ? &((struct srv_member *)(uintptr_t)member)->now : NULL;
}

static void give_states(struct srv_sim *sim)
{
    for (uint32_t i = 0; i < sim->isolation->group_count; i++) {
        struct srv_group *group = &sim->isolation->groups[i];
        for (uint32_t m = 0; m < group->member_count; m++) {
            srv_member_forget_controls(&group->members[m]);
        }
        srv_group_send_states(group);
    }
}

static const struct srv_remote_ops ops = {
    .collect = srv_groups_collect,
    .request = srv_groups_request,
    .take = srv_member_take,
    .was_asked = srv_member_was_asked,
    .ask = srv_member_request,
    .move = srv_member_move,
    .evaluate = srv_member_evaluate,
    .control = srv_member_control,
    .note_past = srv_member_note_past,
    .swap_conflict = srv_member_swap_conflict,
    .take_over = srv_member_take_over,
    .flip = srv_member_flip,
    .settle = srv_member_settle,
    .keep_candidate = srv_member_keep_candidate,
    .drop_candidate = srv_member_drop_candidate,
    .answer = srv_member_answer,
    .silence = srv_member_silence,
    .cursors_after = cursors_after,
    .keep_last = srv_member_keep_last,
    .repeat = srv_member_repeat,
    .apply = srv_member_apply,
    .make_parameter = srv_member_make_parameter,
    .make_candidate = srv_member_make_candidate,
    .waiting = waiting,
    .give_states = give_states,
};

enum oto_status srv_isolation_create(struct srv_sim *sim, const struct srv_isolation_hooks *hooks, oto_warn_function warn,
                                     void *warn_context, struct oto_error *error)
{
    struct srv_isolation *isolation = calloc(1, sizeof *isolation);
    if (isolation == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for plugin hosts");
    }
    isolation->sim = sim;
    isolation->hooks = *hooks;
    sim->isolation = isolation;
    enum oto_status status = srv_groups_make(sim, warn, warn_context, error);
    if (status == OTO_OK && isolation->group_count > 0) {
        sim->remote = &ops;
        status = srv_host_supervisor_start(sim, warn, warn_context, error);
    }
    return status;
}

void srv_isolation_destroy(struct srv_sim *sim)
{
    if (sim != NULL && sim->isolation != NULL) {
        srv_host_supervisor_stop(sim);
        srv_groups_drop(sim);
        free(sim->isolation);
        sim->isolation = NULL;
        sim->remote = NULL;
    }
}

void srv_isolation_quit(struct srv_sim *sim)
{
    if (sim->isolation != NULL) {
        __atomic_store_n(&sim->isolation->quit, 1, __ATOMIC_RELEASE);
    }
}

void srv_isolation_publish_events(struct srv_sim *sim)
{
    if (sim->remote != NULL) {
        srv_host_supervisor_write_events(sim);
    }
}
