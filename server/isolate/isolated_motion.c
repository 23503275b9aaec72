/*
 * Vehicles that are moved by a plugin host. With the steps of a tick the host is asked for the truth at its end, at the
 * instants of the sensors that are due, and as long before these as they looked back at other samples; what else is
 * wanted is asked for one by one. A motion has no inputs, so that what its host missed while it was away is stepped once
 * it is back: the truth is then where it would have been. [tick]
 */
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "isolate/isolated.h"

#define CATCH_UP_TICKS 256u /* of one request */

#define KEPT (2 * SRV_BOX_INSTANTS)

#define LAGS 16u /* of one sensor */

/* How long before its samples a sensor looked; exact, learned where a sample stands at a whole nanosecond. */
struct lags {
    double ns[LAGS];
    uint32_t count; /* learned so far: with more than there is room for the oldest goes */
};

struct srv_truths {
    struct srv_box_instant at[KEPT]; /* of this tick: its end, those that its sensors want, then those asked for one by one */
    uint32_t count;
    uint32_t steps; /* that were asked for */
    bool current;   /* the state is that of the last tick's end */
    bool missed;    /* the instant that was wanted last was not at hand */
    struct lags lags[]; /* of each sensor of the vehicle */
};

enum oto_status srv_member_make_truths(struct srv_member *member, struct oto_error *error)
{
    const struct srv_truths *truths = NULL;
    member->truths = calloc(1, sizeof *truths + member->vehicle->sensor_count * sizeof *truths->lags);
    return member->truths != NULL ? OTO_OK
                                  : oto_fail(error, OTO_NO_MEMORY, "no memory for the truths of '%s'", member->node->topic);
}

/* ---- what is asked for ---- */

static struct srv_box_instant *find(struct srv_truths *truths, struct oto_instant at)
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
    if (truths->count < SRV_BOX_INSTANTS) {
        truths->at[truths->count++] = (struct srv_box_instant){.at = at};
    }
}

static void want_past(struct srv_sim *sim, const struct srv_vehicle *vehicle, struct srv_truths *truths,
                      const struct lags *lags, const struct srv_beat *beat)
{
    for (uint32_t i = 0; i < lags->count && i < LAGS; i++) {
        const struct oto_instant now = srv_beat_at(beat);
        const double off_ns = now.sub_ns - lags->ns[i];
        int64_t whole_ns = (int64_t)off_ns;
        whole_ns -= (double)whole_ns > off_ns;
        const struct oto_instant past = {now.t_ns + whole_ns, off_ns - (double)whole_ns};
        if (srv_motion_may_tell(sim, vehicle, past.t_ns) && find(truths, past) == NULL) {
            want(truths, past);
        }
    }
}

/* The instants of a sensor's samples in this tick that are not the tick's end, and those that it will look back at. */
static void want_samples(struct srv_sim *sim, const struct srv_vehicle *vehicle, struct srv_truths *truths,
                         uint32_t sensor)
{
    const struct srv_node *node = &vehicle->first_sensor[sensor];
    struct srv_beat beat = node->beat;
    struct srv_due due = node->due;
    while (srv_due_tick(&due) == sim->tick && truths->count < SRV_BOX_INSTANTS) {
        if (!srv_due_at_end(&due)) {
            want(truths, srv_beat_at(&beat));
        }
        want_past(sim, vehicle, truths, &truths->lags[sensor], &beat);
        srv_beat_advance(&beat);
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

static void put(const struct srv_member *member, const struct srv_box *box, const struct srv_box_instant *instants,
                uint32_t count, uint32_t steps)
{
    struct srv_box_slot *slot = srv_box_slot(box, member->slot);
    memcpy(srv_box_at(box, box->places[member->slot].instants_offset), instants, count * sizeof *instants);
    slot->instant_count = count;
    slot->step_count = steps;
    slot->beat = member->node->beat;
}

void srv_member_ask_motion(struct srv_sim *sim, struct srv_member *member, const struct srv_box *box)
{
    struct srv_truths *truths = member->truths;
    const struct srv_vehicle *vehicle = member->vehicle;
    const uint64_t missing = sim->beat.n + 1 - member->node->beat.n;
    truths->steps = (uint32_t)(missing < CATCH_UP_TICKS ? missing : CATCH_UP_TICKS);
    truths->count = 0;
    truths->current = false;
    if (truths->steps == missing) {
        want(truths, srv_beat_at(&sim->beat));
        for (uint32_t i = 0; i < vehicle->sensor_count; i++) {
            if (!vehicle->first_sensor[i].is_estimator) {
                want_samples(sim, vehicle, truths, i);
            }
        }
    }
    put(member, box, truths->at, truths->count, truths->steps);
}

/* ---- what was answered ---- */

/* Copied once; which instants they are of is our own knowledge. */
static void take_truths(const struct srv_member *member, const struct srv_box *box, struct srv_box_instant *instants,
                        uint32_t count)
{
    const struct srv_box_instant *answered = srv_box_at(box, box->places[member->slot].instants_offset);
    for (uint32_t i = 0; i < count; i++) {
        instants[i].status = answered[i].status;
        instants[i].truth = answered[i].truth;
    }
}

void srv_member_take_motion(struct srv_member *member, const struct srv_box *box, bool in_time)
{
    struct srv_truths *truths = member->truths;
    for (uint32_t i = 0; i < truths->steps; i++) {
        srv_beat_advance(&member->node->beat);
    }
    if (in_time && truths->count > 0) {
        take_truths(member, box, truths->at, truths->count);
        truths->current = true;
    }
}

void srv_member_take_zero(struct srv_member *member, const struct srv_box *box)
{
    want(member->truths, (struct oto_instant){0, 0.0});
    take_truths(member, box, member->truths->at, 1);
    member->truths->current = true;
}

bool srv_member_move(struct srv_sim *sim, struct srv_member *member, uint32_t *said)
{
    srv_group_settle(sim, member->group);
    srv_due_advance(&member->node->due);
    if (member->now.asked && !member->node->live.quarantined && !member->truths->current) {
        srv_count(sim, OTO_COUNTER_STALE, 1);
        (void)__atomic_add_fetch(&member->group->stale, 1, __ATOMIC_RELAXED);
    }
    member->now.asked = false;
    *said = member->now.status;
    return member->truths->current && !member->node->live.quarantined;
}

/* ---- other instants ---- */

/* A host that can be asked now; without a pace there is time to wait for one. */
static bool is_there(struct srv_sim *sim, struct srv_group *group, int64_t deadline_ns)
{
    const bool there = srv_group_is_paced(sim)
                           ? group->live.box != NULL && __atomic_load_n(&group->live.box->dead, __ATOMIC_ACQUIRE) == 0
                           : srv_group_revive(sim, group, deadline_ns);
    return there && !group->live.open;
}

/* Asks for one more instant, of the state as it is. */
static bool ask_for(struct srv_sim *sim, struct srv_member *member, struct srv_box_instant *instant)
{
    struct srv_group *group = member->group;
    const int64_t patience_ns = srv_group_patience_ns(sim, group);
    const int64_t deadline_ns = srv_now_ns() + 2 * SRV_GROUP_STUCK_NS;
    bool answered = false;
    while (!answered && is_there(sim, group, deadline_ns) && !member->node->live.quarantined) {
        const struct srv_box *box = group->live.box;
        for (uint32_t i = 0; i < group->member_count; i++) {
            srv_box_slot(box, i)->due = i == member->slot;
        }
        put(member, box, instant, 1, 0);
        srv_talk_ask(&group->live, 1);
        answered = srv_talk_await(sim, group, &group->live, patience_ns);
        if (answered) {
            group->live.open = false;
            take_truths(member, box, instant, 1);
        } else {
            srv_group_note_silence(sim, group);
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
    struct srv_box_instant *instant = find(truths, at);
    truths->missed = instant == NULL;
    if (truths->missed) {
        instant = &truths->at[truths->count < KEPT ? truths->count++ : KEPT - 1];
        *instant = (struct srv_box_instant){.at = at};
        if (!ask_for(sim, member, instant)) {
            instant->at.t_ns = INT64_MIN; /* nobody asks for it */
            return false;
        }
    }
    *truth = instant->truth;
    *status = instant->status <= OTO_STEP_FATAL ? (enum oto_step_status)instant->status : OTO_STEP_ERROR;
    return true;
}
