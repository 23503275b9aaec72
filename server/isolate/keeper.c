/*
 * The keeper: a thread that watches the plugin hosts of a world, says how they died, and starts new ones. A plugin that
 * ended its host three times within a minute is left out of the next; a host that somebody else ended is just started
 * again. Processes it started end with it (they are its children, and ask for the signal of a parent's death).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "isolate/isolated.h"

#define PROVEN_NS INT64_C(5000000000) /* a host that lived so long begins anew with the pauses below */
#define PAUSE_FIRST_NS INT64_C(20000000)
#define PAUSE_MAX_NS INT64_C(2000000000)
#define BLAMELESS_FIRST_NS INT64_C(5000000) /* ended by somebody else: soon again, but never in a loop */
#define BLAMELESS_MAX_NS INT64_C(100000000)
#define NEWS_CAPACITY 256u

struct srv_keeper {
    struct srv_sim *sim;
    pthread_t thread;
    bool started;
    int wake_fd;
    uint32_t quit;
    struct srv_queue news; /* of events, to the tick thread */
    oto_warn_function warn;
    void *warn_context;
};

void srv_keeper_wake(struct srv_sim *sim)
{
    const uint64_t one = 1;
    if (sim->isolation->keeper != NULL) {
        (void)!write(sim->isolation->keeper->wake_fd, &one, sizeof one);
    }
}

/* ---- what it says ------------------------------------------------------------------------------------------------ */

static void tell(struct srv_keeper *keeper, const struct srv_group *group, const char *topic, uint32_t severity,
                 const char *text)
{
    struct oto_event_record event = {.kind = OTO_EVENT_PLUGIN_HOST, .severity = severity, .value = group->pid};
    char sentence[400];
    (void)snprintf(event.source, sizeof event.source, "%.63s", topic != NULL ? topic : group->name);
    (void)snprintf(event.text, sizeof event.text, "%.151s", text);
    (void)srv_queue_push(&keeper->news, &event); /* full: the tick thread is stuck, and the text below is left */
    keeper->sim->isolation->hooks.wake(keeper->sim->isolation->hooks.context);
    if (keeper->warn != NULL && severity > 0) {
        (void)snprintf(sentence, sizeof sentence, "%s: %s", event.source, text);
        keeper->warn(keeper->warn_context, sentence);
    }
}

void srv_keeper_news(struct srv_sim *sim)
{
    struct oto_event_record event;
    while (srv_queue_pop(&sim->isolation->keeper->news, &event)) {
        srv_event_push(sim, &event);
    }
}

/* ---- deaths ------------------------------------------------------------------------------------------------------ */

/* Counts a crash; true when it is one too many. */
static bool is_too_many(struct srv_member *member, int64_t now_ns)
{
    const uint32_t at = member->crashes++ % SRV_CRASHES_ALLOWED;
    member->crash_ns[at] = now_ns;
    const int64_t oldest_ns = member->crash_ns[member->crashes % SRV_CRASHES_ALLOWED];
    return member->crashes >= SRV_CRASHES_ALLOWED && now_ns - oldest_ns < SRV_CRASH_WINDOW_NS;
}

static void blame(struct srv_keeper *keeper, struct srv_member *member)
{
    if (is_too_many(member, srv_now_ns())) {
        member->off = true;
        (void)pthread_mutex_lock(&member->group->lock);
        member->group->seats[member->slot].flags |= SRV_SLOT_OFF;
        (void)pthread_mutex_unlock(&member->group->lock);
        __atomic_store_n(&member->condemned, 1, __ATOMIC_RELEASE);
        tell(keeper, member->group, member->node->topic, 2,
             "ended its plugin host three times within a minute: it is left out from now on");
    }
}

/* Nobody can be named: the group cannot go on as it is. */
static void blame_all(struct srv_keeper *keeper, struct srv_group *group)
{
    for (uint32_t i = 0; i < group->member_count; i++) {
        if (!group->members[i].off) {
            blame(keeper, &group->members[i]);
        }
    }
}

static bool anybody_left(const struct srv_group *group)
{
    for (uint32_t i = 0; i < group->member_count; i++) {
        if (!group->members[i].off) {
            return true;
        }
    }
    return false;
}

static void plan_restart(struct srv_group *group, bool guilty)
{
    const int64_t now_ns = srv_now_ns();
    const int64_t first_ns = guilty ? PAUSE_FIRST_NS : BLAMELESS_FIRST_NS;
    const int64_t most_ns = guilty ? PAUSE_MAX_NS : BLAMELESS_MAX_NS;
    int64_t pause_ns = now_ns - group->started_ns >= PROVEN_NS ? first_ns : 2 * group->pause_ns;
    pause_ns = pause_ns < first_ns ? first_ns : pause_ns;
    group->pause_ns = pause_ns > most_ns ? most_ns : pause_ns;
    group->restart_ns = anybody_left(group) ? now_ns + group->pause_ns : 0;
}

static void on_death(struct srv_keeper *keeper, struct srv_group *group)
{
    struct srv_box *box = group->watched;
    char how[300];
    const bool guilty = srv_box_is_guilty(box);
    const uint32_t culprit = srv_box_culprit(box);
    struct srv_member *member = culprit < group->member_count ? &group->members[culprit] : NULL;
    char sentence[400];
    srv_box_tell_death(box, how, sizeof how);
    (void)snprintf(sentence, sizeof sentence, "the plugin host %s", how);
    tell(keeper, group, member != NULL ? member->node->topic : NULL, guilty ? 2 : 1, sentence);
    if (guilty && member != NULL) {
        blame(keeper, member);
    } else if (guilty) {
        blame_all(keeper, group);
    }
    group->watched = NULL;
    __atomic_store_n(&group->pid, 0, __ATOMIC_RELAXED);
    /* If the tick thread has not taken it yet, it never will. */
    struct srv_box *waiting = box;
    if (__atomic_compare_exchange_n(&group->next, &waiting, NULL, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        srv_box_end(box);
    }
    plan_restart(group, guilty);
}

/* The candidate of a swap has ended: what follows is the tick thread's, who asks it for each sample. */
static void look_at_candidate(struct srv_keeper *keeper, struct srv_group *group)
{
    struct srv_box *box = __atomic_load_n(&group->candidate, __ATOMIC_ACQUIRE);
    char how[300], sentence[400];
    if (box == NULL || box == group->watched || box->dead != 0 || !srv_box_reap(box)) {
        return;
    }
    const uint32_t culprit = srv_box_culprit(box);
    srv_box_tell_death(box, how, sizeof how);
    (void)snprintf(sentence, sizeof sentence, "the plugin host of a swap's candidate %s", how);
    tell(keeper, group, culprit < group->member_count ? group->members[culprit].node->topic : NULL, 2, sentence);
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

static void on_failed_start(struct srv_keeper *keeper, struct srv_group *group, uint32_t culprit,
                            const struct oto_error *error)
{
    struct srv_member *member = culprit < group->member_count ? &group->members[culprit] : NULL;
    tell(keeper, group, member != NULL ? member->node->topic : NULL, 2, error->text);
    if (member != NULL) {
        blame(keeper, member);
    }
    plan_restart(group, true);
}

static void restart(struct srv_keeper *keeper, struct srv_group *group)
{
    struct oto_error error = {0};
    struct srv_box *box = NULL;
    uint32_t culprit = UINT32_MAX;
    char sentence[152];
    group->restart_ns = 0;
    group->started_ns = srv_now_ns();
    (void)pthread_mutex_lock(&group->lock);
    const enum oto_status status = srv_box_start(group->seats, group->member_count, group->fifo_priority, NULL, NULL, &box,
                                                 &culprit, &error);
    const uint64_t revision = group->seats_revision;
    (void)pthread_mutex_unlock(&group->lock);
    if (status != OTO_OK) {
        on_failed_start(keeper, group, culprit, &error);
        return;
    }
    box->revision = revision;
    group->watched = box;
    __atomic_store_n(&group->pid, (int32_t)box->pid, __ATOMIC_RELAXED);
    (void)__atomic_add_fetch(&group->restarts, 1, __ATOMIC_RELAXED);
    srv_count(keeper->sim, OTO_COUNTER_HOST_RESTARTS, 1);
    (void)snprintf(sentence, sizeof sentence, "the plugin host runs again (pid %ld)", (long)box->pid);
    srv_box_end(__atomic_exchange_n(&group->next, box, __ATOMIC_ACQ_REL)); /* one that a pause kept from being taken */
    tell(keeper, group, NULL, 0, sentence);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static void take_released(struct srv_group *group)
{
    struct srv_box *box = NULL;
    while (srv_queue_pop(&group->released, &box)) {
        group->watched = group->watched == box ? NULL : group->watched;
        srv_box_end(box);
    }
}

/* A change of parameters came with a host of its own. */
static void take_adopted(struct srv_keeper *keeper, struct srv_group *group)
{
    struct oto_error error = {0};
    struct srv_box *box = __atomic_load_n(&group->adopted, __ATOMIC_ACQUIRE);
    if (box == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&group->lock);
    const enum oto_status status = srv_group_take_seats(group, box, &error);
    (void)pthread_mutex_unlock(&group->lock);
    if (status != OTO_OK) {
        tell(keeper, group, NULL, 2, error.text);
    }
    group->watched = box;
    group->restart_ns = 0;
    __atomic_store_n(&group->pid, (int32_t)box->pid, __ATOMIC_RELAXED);
    /* Another may have been adopted meanwhile: then it is its turn next. */
    (void)__atomic_compare_exchange_n(&group->adopted, &box, NULL, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void look_after(struct srv_keeper *keeper, struct srv_group *group)
{
    take_adopted(keeper, group);
    if (group->watched != NULL && __atomic_exchange_n(&group->kill_wanted, 0, __ATOMIC_ACQ_REL) != 0) {
        group->watched->was_stuck = true;
        (void)kill(group->watched->pid, SIGKILL);
    }
    if (group->watched != NULL && srv_box_reap(group->watched)) {
        on_death(keeper, group);
    }
    look_at_candidate(keeper, group);
    take_released(group);
    if (group->restart_ns != 0 && srv_now_ns() >= group->restart_ns) {
        __atomic_store_n(&group->kill_wanted, 0, __ATOMIC_RELEASE);
        restart(keeper, group);
    }
}

/* Until the next planned start; -1: for ever. */
static int pause_ms(const struct srv_sim *sim)
{
    int64_t next_ns = INT64_MAX;
    for (uint32_t i = 0; i < sim->isolation->group_count; i++) {
        const int64_t planned_ns = sim->isolation->groups[i].restart_ns;
        next_ns = planned_ns != 0 && planned_ns < next_ns ? planned_ns : next_ns;
    }
    const int64_t left_ns = next_ns - srv_now_ns();
    return next_ns == INT64_MAX ? -1 : left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0;
}

static void sleep_until_news(struct srv_keeper *keeper)
{
    struct pollfd news[1 + 2 * SRV_GROUP_MAX] = {{.fd = keeper->wake_fd, .events = POLLIN}};
    const struct srv_sim *sim = keeper->sim;
    uint64_t count;
    for (uint32_t i = 0; i < sim->isolation->group_count; i++) {
        const struct srv_box *watched = sim->isolation->groups[i].watched;
        const struct srv_box *candidate = __atomic_load_n(&sim->isolation->groups[i].candidate, __ATOMIC_ACQUIRE);
        const bool lives = candidate != NULL && candidate->dead == 0;
        news[1 + 2 * i] = (struct pollfd){.fd = watched != NULL ? watched->pid_fd : -1, .events = POLLIN};
        news[2 + 2 * i] = (struct pollfd){.fd = lives ? candidate->pid_fd : -1, .events = POLLIN};
    }
    (void)poll(news, 1 + 2 * sim->isolation->group_count, pause_ms(sim));
    (void)!read(keeper->wake_fd, &count, sizeof count);
}

static void *keep(void *context)
{
    struct srv_keeper *keeper = context;
    while (__atomic_load_n(&keeper->quit, __ATOMIC_ACQUIRE) == 0) {
        for (uint32_t i = 0; i < keeper->sim->isolation->group_count; i++) {
            look_after(keeper, &keeper->sim->isolation->groups[i]);
        }
        sleep_until_news(keeper);
    }
    return NULL;
}

enum oto_status srv_keeper_start(struct srv_sim *sim, oto_warn_function warn, void *warn_context,
                                 struct oto_error *error)
{
    sigset_t all, before;
    if (sim->isolation->group_count == 0) {
        return OTO_OK;
    }
    struct srv_keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the keeper of plugin hosts");
    }
    sim->isolation->keeper = keeper;
    keeper->sim = sim;
    keeper->warn = warn;
    keeper->warn_context = warn_context;
    keeper->news = (struct srv_queue){.capacity = NEWS_CAPACITY, .item_bytes = sizeof(struct oto_event_record)};
    keeper->news.items = calloc(NEWS_CAPACITY, sizeof(struct oto_event_record));
    keeper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    keeper->started = keeper->news.items != NULL && keeper->wake_fd >= 0 &&
                      pthread_create(&keeper->thread, NULL, keep, keeper) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return keeper->started ? OTO_OK : oto_fail(error, OTO_IO, "the keeper of plugin hosts cannot be started");
}

void srv_keeper_stop(struct srv_sim *sim)
{
    struct srv_keeper *keeper = sim->isolation->keeper;
    if (keeper == NULL) {
        return;
    }
    __atomic_store_n(&keeper->quit, 1, __ATOMIC_RELEASE);
    srv_keeper_wake(sim);
    if (keeper->started) {
        (void)pthread_join(keeper->thread, NULL);
    }
    if (keeper->wake_fd >= 0) {
        (void)close(keeper->wake_fd);
    }
    free(keeper->news.items);
    free(keeper);
    sim->isolation->keeper = NULL;
}
