/*
 * The host supervisor: a thread that checks the plugin hosts of a world, reports how they ended, and restarts them. A
 * node whose plugin ended its host three times within a minute is quarantined. A host that another process ended is
 * restarted and no node is blamed. The hosts are children of this process and end with it (PR_SET_PDEATHSIG).
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/child.h"
#include "base/monotonic.h"
#include "isolate/isolated.h"

#define EVENT_CAPACITY 256u

struct srv_host_supervisor {
    struct srv_sim *sim;
    pthread_t thread;
    bool started;
    int wake_fd;
    uint32_t quit;
    struct srv_queue events; /* events for the tick thread to publish */
    oto_warn_function warn;
    void *warn_context;
};

void srv_host_supervisor_wake(struct srv_sim *sim)
{
    const uint64_t one = 1;
    if (sim->isolation->supervisor != NULL) {
        (void)!write(sim->isolation->supervisor->wake_fd, &one, sizeof one);
    }
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void report_event(struct srv_host_supervisor *supervisor, const struct srv_group *group, const char *topic,
                         uint32_t severity, const char *text)
{
    struct oto_event_record event = {.kind = OTO_EVENT_PLUGIN_HOST, .severity = severity, .value = group->pid};
    char sentence[400];
    (void)snprintf(event.source, sizeof event.source, "%.63s", topic != NULL ? topic : group->name);
    (void)snprintf(event.text, sizeof event.text, "%.151s", text);
    (void)srv_queue_push(&supervisor->events, &event); /* full if the tick thread is stuck: the warning below remains */
    supervisor->sim->isolation->hooks.wake(supervisor->sim->isolation->hooks.context);
    if (supervisor->warn != NULL && severity > 0) {
        (void)snprintf(sentence, sizeof sentence, "%s: %s", event.source, text);
        supervisor->warn(supervisor->warn_context, sentence);
    }
}

void srv_host_supervisor_write_events(struct srv_sim *sim)
{
    struct oto_event_record event;
    while (srv_queue_pop(&sim->isolation->supervisor->events, &event)) {
        srv_event_push(sim, &event);
    }
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* Counts a crash. True if SRV_CRASHES_ALLOWED crashes happened within SRV_CRASH_WINDOW_NS. */
static bool is_too_many(struct srv_member *member, int64_t now_ns)
{
    const uint32_t at = member->crashes++ % SRV_CRASHES_ALLOWED;
    member->crash_ns[at] = now_ns;
    const int64_t oldest_ns = member->crash_ns[member->crashes % SRV_CRASHES_ALLOWED];
    return member->crashes >= SRV_CRASHES_ALLOWED && now_ns - oldest_ns < SRV_CRASH_WINDOW_NS;
}

static void blame(struct srv_host_supervisor *supervisor, struct srv_member *member)
{
    if (is_too_many(member, srv_now_ns())) {
        member->off = true;
        (void)pthread_mutex_lock(&member->group->lock);
        member->group->specs[member->slot].flags |= SRV_SLOT_OFF;
        (void)pthread_mutex_unlock(&member->group->lock);
        __atomic_store_n(&member->quarantine_wanted, 1, __ATOMIC_RELEASE);
        report_event(supervisor, member->group, member->node->topic, 2,
                     "ended its plugin host three times within a minute: it is left out from now on");
    }
}

/* The crash cannot be attributed to a node, so it counts for each node of the group. */
static void blame_all(struct srv_host_supervisor *supervisor, struct srv_group *group)
{
    for (uint32_t i = 0; i < group->member_count; i++) {
        if (!group->members[i].off) {
            blame(supervisor, &group->members[i]);
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

static void plan_restart(struct srv_group *group, bool by_plugin)
{
    static const struct srv_back_off of_plugin = {INT64_C(20000000), INT64_C(2000000000)};
    static const struct srv_back_off of_others = {INT64_C(5000000), INT64_C(100000000)}; /* another process ended the host */
    const int64_t now_ns = srv_now_ns();
    group->pause_ns = srv_back_off_next(by_plugin ? of_plugin : of_others, group->pause_ns, now_ns - group->started_ns);
    group->restart_ns = anybody_left(group) ? now_ns + group->pause_ns : 0;
}

static void on_end(struct srv_host_supervisor *supervisor, struct srv_group *group)
{
    struct srv_host *host = group->watched;
    char how[300];
    const bool by_plugin = srv_host_was_ended_by_plugin(host);
    const uint32_t culprit = srv_host_culprit(host);
    struct srv_member *member = culprit < group->member_count ? &group->members[culprit] : NULL;
    char sentence[400];
    srv_host_describe_end(host, how, sizeof how);
    (void)snprintf(sentence, sizeof sentence, "the plugin host %s", how);
    report_event(supervisor, group, member != NULL ? member->node->topic : NULL, by_plugin ? 2 : 1, sentence);
    if (by_plugin && member != NULL) {
        blame(supervisor, member);
    } else if (by_plugin) {
        blame_all(supervisor, group);
    }
    group->watched = NULL;
    __atomic_store_n(&group->pid, 0, __ATOMIC_RELAXED);
    /* The tick thread may not have taken this host yet: withdraw it. */
    struct srv_host *waiting = host;
    if (__atomic_compare_exchange_n(&group->next, &waiting, NULL, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        srv_host_end(host);
    }
    plan_restart(group, by_plugin);
}

/* Reports the end of a candidate's host. The tick thread notices it at the next request and ends the swap. */
static void check_candidate(struct srv_host_supervisor *supervisor, struct srv_group *group)
{
    struct srv_host *host = __atomic_load_n(&group->candidate, __ATOMIC_ACQUIRE);
    char how[300], sentence[400];
    if (host == NULL || host == group->watched || host->dead != 0 || !srv_host_reap(host)) {
        return;
    }
    const uint32_t culprit = srv_host_culprit(host);
    srv_host_describe_end(host, how, sizeof how);
    (void)snprintf(sentence, sizeof sentence, "the plugin host of a swap's candidate %s", how);
    report_event(supervisor, group, culprit < group->member_count ? group->members[culprit].node->topic : NULL, 2,
                 sentence);
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

static void on_failed_start(struct srv_host_supervisor *supervisor, struct srv_group *group, uint32_t culprit,
                            const struct oto_error *error)
{
    struct srv_member *member = culprit < group->member_count ? &group->members[culprit] : NULL;
    report_event(supervisor, group, member != NULL ? member->node->topic : NULL, 2, error->text);
    if (member != NULL) {
        blame(supervisor, member);
    }
    plan_restart(group, true);
}

static void restart(struct srv_host_supervisor *supervisor, struct srv_group *group)
{
    struct oto_error error = {0};
    struct srv_host *host = NULL;
    uint32_t culprit = UINT32_MAX;
    char sentence[152];
    group->restart_ns = 0;
    group->started_ns = srv_now_ns();
    (void)pthread_mutex_lock(&group->lock);
    const enum oto_status status =
        srv_host_start(group->specs, group->member_count, group->fifo_priority, NULL, NULL, &host, &culprit, &error);
    const uint64_t revision = group->specs_revision;
    (void)pthread_mutex_unlock(&group->lock);
    if (status != OTO_OK) {
        on_failed_start(supervisor, group, culprit, &error);
        return;
    }
    host->revision = revision;
    group->watched = host;
    __atomic_store_n(&group->pid, (int32_t)host->pid, __ATOMIC_RELAXED);
    (void)__atomic_add_fetch(&group->restarts, 1, __ATOMIC_RELAXED);
    srv_count(supervisor->sim, OTO_COUNTER_HOST_RESTARTS, 1);
    (void)snprintf(sentence, sizeof sentence, "the plugin host runs again (pid %ld)", (long)host->pid);
    /* a paused world may not have taken the previous new host, which is then ended */
    srv_host_end(__atomic_exchange_n(&group->next, host, __ATOMIC_ACQ_REL));
    report_event(supervisor, group, NULL, 0, sentence);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static void take_released(struct srv_group *group)
{
    struct srv_host *host = NULL;
    while (srv_queue_pop(&group->released, &host)) {
        group->watched = group->watched == host ? NULL : group->watched;
        srv_host_end(host);
    }
}

/* Accepts the host that a change started: it is checked from now on, and the next host gets the same plugins. */
static void take_adopted(struct srv_group *group)
{
    struct srv_host *host = __atomic_load_n(&group->adopted, __ATOMIC_ACQUIRE);
    if (host == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&group->lock);
    srv_group_take_specs(group, host);
    (void)pthread_mutex_unlock(&group->lock);
    group->watched = host;
    group->restart_ns = 0;
    __atomic_store_n(&group->pid, (int32_t)host->pid, __ATOMIC_RELAXED);
    /* A second change may have stored another host meanwhile: it is taken in the next pass. */
    (void)__atomic_compare_exchange_n(&group->adopted, &host, NULL, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void check_group(struct srv_host_supervisor *supervisor, struct srv_group *group)
{
    take_adopted(group);
    if (group->watched != NULL && __atomic_exchange_n(&group->kill_wanted, 0, __ATOMIC_ACQ_REL) != 0) {
        group->watched->was_stuck = true;
        (void)kill(group->watched->pid, SIGKILL);
    }
    if (group->watched != NULL && srv_host_reap(group->watched)) {
        on_end(supervisor, group);
    }
    check_candidate(supervisor, group);
    take_released(group);
    if (group->restart_ns != 0 && srv_now_ns() >= group->restart_ns) {
        __atomic_store_n(&group->kill_wanted, 0, __ATOMIC_RELEASE);
        restart(supervisor, group);
    }
}

/* The time until the next planned restart; -1: none is planned. */
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

static void sleep_until_notified(struct srv_host_supervisor *supervisor)
{
    struct pollfd polled[1 + 2 * SRV_GROUP_MAX] = {{.fd = supervisor->wake_fd, .events = POLLIN}};
    const struct srv_sim *sim = supervisor->sim;
    uint64_t count;
    for (uint32_t i = 0; i < sim->isolation->group_count; i++) {
        const struct srv_host *watched = sim->isolation->groups[i].watched;
        const struct srv_host *candidate = __atomic_load_n(&sim->isolation->groups[i].candidate, __ATOMIC_ACQUIRE);
        const bool lives = candidate != NULL && candidate->dead == 0;
        polled[1 + 2 * i] = (struct pollfd){.fd = watched != NULL ? watched->pid_fd : -1, .events = POLLIN};
        polled[2 + 2 * i] = (struct pollfd){.fd = lives ? candidate->pid_fd : -1, .events = POLLIN};
    }
    (void)poll(polled, 1 + 2 * sim->isolation->group_count, pause_ms(sim));
    (void)!read(supervisor->wake_fd, &count, sizeof count);
}

static void *run(void *context)
{
    struct srv_host_supervisor *supervisor = context;
    while (__atomic_load_n(&supervisor->quit, __ATOMIC_ACQUIRE) == 0) {
        for (uint32_t i = 0; i < supervisor->sim->isolation->group_count; i++) {
            check_group(supervisor, &supervisor->sim->isolation->groups[i]);
        }
        sleep_until_notified(supervisor);
    }
    return NULL;
}

enum oto_status srv_host_supervisor_start(struct srv_sim *sim, oto_warn_function warn, void *warn_context,
                                          struct oto_error *error)
{
    sigset_t all, before;
    if (sim->isolation->group_count == 0) {
        return OTO_OK;
    }
    struct srv_host_supervisor *supervisor = calloc(1, sizeof *supervisor);
    if (supervisor == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the host supervisor");
    }
    sim->isolation->supervisor = supervisor;
    supervisor->sim = sim;
    supervisor->warn = warn;
    supervisor->warn_context = warn_context;
    supervisor->events =
        (struct srv_queue){.capacity = EVENT_CAPACITY, .item_bytes = sizeof(struct oto_event_record)};
    supervisor->events.items = calloc(EVENT_CAPACITY, sizeof(struct oto_event_record));
    supervisor->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    supervisor->started = supervisor->events.items != NULL && supervisor->wake_fd >= 0 &&
                          pthread_create(&supervisor->thread, NULL, run, supervisor) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return supervisor->started ? OTO_OK : oto_fail(error, OTO_IO, "the host supervisor cannot be started");
}

void srv_host_supervisor_stop(struct srv_sim *sim)
{
    struct srv_host_supervisor *supervisor = sim->isolation->supervisor;
    if (supervisor == NULL) {
        return;
    }
    __atomic_store_n(&supervisor->quit, 1, __ATOMIC_RELEASE);
    srv_host_supervisor_wake(sim);
    if (supervisor->started) {
        (void)pthread_join(supervisor->thread, NULL);
    }
    if (supervisor->wake_fd >= 0) {
        (void)close(supervisor->wake_fd);
    }
    free(supervisor->events.items);
    free(supervisor);
    sim->isolation->supervisor = NULL;
}
