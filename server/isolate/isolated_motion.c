/*
 * Motion nodes in a plugin host. The request of a tick asks for the truth at the tick's end, at the instants of the
 * sensors that are due, and at the earlier instants that these sensors have read before their samples so far. Each
 * other instant costs a request of its own. A motion has no inputs but its controls, which are kept until the steps that
 * they belong to are answered, so a restarted host steps the ticks that it missed, and the truth is the same as without
 * the restart. [tick]
 */
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "isolate/isolated.h"

#define KEPT (2 * SRV_HOST_INSTANTS)

#define LAGS 16u /* most lags of one sensor */

/* The lags at which a sensor reads earlier truths; exact, measured at samples that lie on a whole nanosecond. */
struct lags {
    double ns[LAGS];
    uint32_t count; /* lags measured so far; a new one overwrites the oldest */
};

struct srv_truths {
    struct srv_host_controls *controls; /* SRV_HOST_CATCH_UP of them, by step; NULL: the motion takes none */
    uint32_t controls_count;
    struct srv_host_instant at[KEPT]; /* of this tick: its end, the instants of the sensors, then single requests */
    uint32_t count;
    uint32_t steps;     /* steps in the open request */
    bool current;       /* the state is that of the end of the last tick */
    bool missed;        /* the last instant that was read needed a request of its own */
    struct lags lags[]; /* one for each sensor of the vehicle */
};

enum oto_status srv_member_make_truths(struct srv_member *member, struct oto_error *error)
{
    const struct srv_truths *truths = NULL;
    const bool takes_controls = oto_plugin_control(member->node->live.plugin) != NULL;
    member->truths = calloc(1, sizeof *truths + member->vehicle->sensor_count * sizeof *truths->lags);
    if (member->truths != NULL && takes_controls) {
        member->truths->controls = calloc(SRV_HOST_CATCH_UP, sizeof *truths->controls);
    }
    return member->truths != NULL && (member->truths->controls != NULL || !takes_controls)
               ? OTO_OK
               : oto_fail(error, OTO_NO_MEMORY, "no memory for the truths of '%s'", member->node->topic);
}

void srv_member_free_truths(struct srv_member *member)
{
    if (member->truths != NULL) {
        free(member->truths->controls);
    }
    free(member->truths);
    member->truths = NULL;
}

/* ---- controls ---- */

static void drop_oldest_controls(struct srv_truths *truths, uint32_t count)
{
    truths->controls_count -= count;
    if (count > 0) {
        memmove(truths->controls, truths->controls + count, truths->controls_count * sizeof *truths->controls);
    }
}

/* Only a paced world whose host is away for longer than SRV_HOST_CATCH_UP ticks drops controls. */
void srv_member_control(struct srv_sim *sim, struct srv_member *member, const double *values)
{
    struct srv_truths *truths = member->truths;
    const uint64_t n = sim->schedule.n + 1;
    if (truths->controls_count > 0 && truths->controls[truths->controls_count - 1].n == n) {
        truths->controls_count--;
    } else if (truths->controls_count == SRV_HOST_CATCH_UP) {
        drop_oldest_controls(truths, 1);
    }
    struct srv_host_controls *controls = &truths->controls[truths->controls_count++];
    controls->n = n;
    memcpy(controls->values, values, sizeof controls->values);
}

void srv_member_forget_controls(struct srv_member *member)
{
    if (member->truths != NULL) {
        member->truths->controls_count = 0;
    }
}

/* Writes the controls of the next `steps` steps. */
static void put_controls(const struct srv_member *member, const struct srv_host *host, uint32_t steps)
{
    const struct srv_truths *truths = member->truths;
    const uint64_t end = member->node->schedule.n + steps;
    uint32_t count = 0;
    while (count < truths->controls_count && truths->controls[count].n < end) {
        count++;
    }
    if (count > 0) {
        memcpy(srv_host_at(host, host->layouts[member->slot].controls_offset), truths->controls, count * sizeof *truths->controls);
    }
    srv_host_slot(host, member->slot)->controls_count = count;
}

/* ---- requests ---- */

static struct srv_host_instant *find(struct srv_truths *truths, struct oto_instant at)
{
    for (uint32_t i = 0; i < truths->count; i++) {
        if (oto_instant_is_equal(truths->at[i].at, at)) {
            return &truths->at[i];
        }
    }
    return NULL;
}

static void want(struct srv_truths *truths, struct oto_instant at)
{
    if (truths->count < SRV_HOST_INSTANTS) {
        truths->at[truths->count++] = (struct srv_host_instant){.at = at};
    }
}

static void want_past(struct srv_sim *sim, const struct srv_vehicle *vehicle, struct srv_truths *truths,
                      const struct lags *lags, const struct srv_schedule *schedule)
{
    for (uint32_t i = 0; i < lags->count && i < LAGS; i++) {
        const struct oto_instant now = srv_schedule_at(schedule);
        const double off_ns = now.sub_ns - lags->ns[i];
        int64_t whole_ns = (int64_t)off_ns;
        whole_ns -= (double)whole_ns > off_ns;
        const struct oto_instant past = {now.t_ns + whole_ns, off_ns - (double)whole_ns};
        if (srv_motion_may_tell(sim, vehicle, past.t_ns) && find(truths, past) == NULL) {
            want(truths, past);
        }
    }
}

/* The instants of a sensor's samples in this tick, except the tick's end, and the earlier instants that it reads. */
static void want_samples(struct srv_sim *sim, const struct srv_vehicle *vehicle, struct srv_truths *truths,
                         uint32_t sensor)
{
    const struct srv_node *node = &vehicle->first_sensor[sensor];
    struct srv_schedule schedule = node->schedule;
    struct srv_due due = node->due;
    while (srv_due_tick(&due) == sim->tick && truths->count < SRV_HOST_INSTANTS) {
        if (!srv_due_at_end(&due)) {
            want(truths, srv_schedule_at(&schedule));
        }
        want_past(sim, vehicle, truths, &truths->lags[sensor], &schedule);
        srv_schedule_advance(&schedule);
        srv_due_advance(&due);
    }
}

void srv_member_note_past(struct srv_member *member, const struct srv_node *sensor, double lag_ns)
{
    struct srv_truths *truths = member->truths;
    struct lags *lags = &truths->lags[sensor - member->vehicle->first_sensor];
    bool known = !truths->missed;
    for (uint32_t i = 0; i < lags->count && i < LAGS; i++) {
        known = known || lags->ns[i] == lag_ns;
    }
    if (!known) {
        lags->ns[lags->count++ % LAGS] = lag_ns;
    }
    truths->missed = false;
}

static void put(const struct srv_member *member, const struct srv_host *host, const struct srv_host_instant *instants,
                uint32_t count, uint32_t steps)
{
    struct srv_host_slot *slot = srv_host_slot(host, member->slot);
    memcpy(srv_host_at(host, host->layouts[member->slot].instants_offset), instants, count * sizeof *instants);
    slot->instant_count = count;
    slot->step_count = steps;
    slot->schedule = member->node->schedule;
    put_controls(member, host, steps);
}

void srv_member_ask_motion(struct srv_sim *sim, struct srv_member *member, const struct srv_host *host)
{
    struct srv_truths *truths = member->truths;
    const struct srv_vehicle *vehicle = member->vehicle;
    const uint64_t missing = sim->schedule.n + 1 - member->node->schedule.n;
    truths->steps = (uint32_t)(missing < SRV_HOST_CATCH_UP ? missing : SRV_HOST_CATCH_UP);
    truths->count = 0;
    truths->current = false;
    if (truths->steps == missing) {
        want(truths, srv_schedule_at(&sim->schedule));
        for (uint32_t i = 0; i < vehicle->sensor_count; i++) {
            if (!vehicle->first_sensor[i].is_estimator) {
                want_samples(sim, vehicle, truths, i);
            }
        }
    }
    put(member, host, truths->at, truths->count, truths->steps);
}

/* ---- answers ---- */

/* Copies the truths once. Their instants are those of the request: the host is not trusted. */
static void take_truths(const struct srv_member *member, const struct srv_host *host, struct srv_host_instant *instants,
                        uint32_t count)
{
    const struct srv_host_instant *answered = srv_host_at(host, host->layouts[member->slot].instants_offset);
    for (uint32_t i = 0; i < count; i++) {
        instants[i].status = answered[i].status;
        instants[i].truth = answered[i].truth;
    }
}

void srv_member_take_motion(struct srv_member *member, const struct srv_host *host, bool in_time)
{
    struct srv_truths *truths = member->truths;
    uint32_t given = 0;
    for (uint32_t i = 0; i < truths->steps; i++) {
        srv_schedule_advance(&member->node->schedule);
    }
    while (given < truths->controls_count && truths->controls[given].n < member->node->schedule.n) {
        given++;
    }
    drop_oldest_controls(truths, given);
    if (in_time && truths->count > 0) {
        take_truths(member, host, truths->at, truths->count);
        truths->current = true;
    }
}

void srv_member_take_zero(struct srv_member *member, const struct srv_host *host)
{
    want(member->truths, (struct oto_instant){0, 0.0});
    take_truths(member, host, member->truths->at, 1);
    member->truths->current = true;
}

bool srv_member_move(struct srv_sim *sim, struct srv_member *member, uint32_t *status)
{
    srv_group_settle(sim, member->group);
    srv_due_advance(&member->node->due);
    if (member->now.asked && !member->node->live.quarantined && !member->truths->current) {
        srv_count(sim, OTO_COUNTER_STALE, 1);
        (void)__atomic_add_fetch(&member->group->stale, 1, __ATOMIC_RELAXED);
    }
    member->now.asked = false;
    *status = member->now.status;
    return member->truths->current && !member->node->live.quarantined;
}

/* ---- other instants ---- */

/* Whether a host can answer now; an unpaced world waits for a restarted host. */
static bool is_there(struct srv_sim *sim, struct srv_group *group, int64_t deadline_ns)
{
    const bool there = sim->paced
                           ? group->live.host != NULL && __atomic_load_n(&group->live.host->dead, __ATOMIC_ACQUIRE) == 0
                           : srv_group_await_restart(sim, group, deadline_ns);
    return there && !group->live.open;
}

/* Requests the truth of the present state at one more instant. */
static bool ask_for(struct srv_sim *sim, struct srv_member *member, struct srv_host_instant *instant)
{
    struct srv_group *group = member->group;
    const int64_t timeout_ns = srv_group_timeout_ns(sim, group);
    const int64_t deadline_ns = srv_now_ns() + 2 * srv_group_stuck_ns(sim);
    bool answered = false;
    while (!answered && is_there(sim, group, deadline_ns) && !member->node->live.quarantined) {
        const struct srv_host *host = group->live.host;
        for (uint32_t i = 0; i < group->member_count; i++) {
            srv_host_slot(host, i)->due = i == member->slot;
        }
        put(member, host, instant, 1, 0);
        srv_host_link_request(&group->live, 1);
        answered = srv_host_link_await(sim, group, &group->live, timeout_ns);
        if (answered) {
            group->live.open = false;
            take_truths(member, host, instant, 1);
        } else {
            srv_group_report_timeout(sim, group);
        }
    }
    return answered;
}

bool srv_member_evaluate(struct srv_sim *sim, struct srv_member *member, struct oto_instant at,
                         struct oto_truth_record *truth, enum oto_step_status *status)
{
    struct srv_truths *truths = member->truths;
    truths->missed = false;
    if (!truths->current) {
        return false;
    }
    struct srv_host_instant *instant = find(truths, at);
    truths->missed = instant == NULL;
    if (truths->missed) {
        instant = &truths->at[truths->count < KEPT ? truths->count++ : KEPT - 1];
        *instant = (struct srv_host_instant){.at = at};
        if (!ask_for(sim, member, instant)) {
            instant->at.t_ns = INT64_MIN; /* matches no request */
            return false;
        }
    }
    *truth = instant->truth;
    *status = instant->status <= OTO_STEP_FATAL ? (enum oto_step_status)instant->status : OTO_STEP_ERROR;
    return true;
}
