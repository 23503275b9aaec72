/* The engine's creation, start and end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/thread/journal.h"
#include "daemon/thread/engine_private.h"
#include "daemon/thread/exit_trap.h"
#include "daemon/thread/workers.h"
#include "base/fpu.h"
#include "sim/checkpoint.h"

#define STOP_TIMEOUT_NS INT64_C(2000000000)
#ifdef OTO_SANITIZED_BUILD
#define STACK_BYTES (8 * 1024 * 1024) /* sanitizers keep data of a thread on its stack */
#else
#define STACK_BYTES (512 * 1024)
#endif
#define GUARD_BYTES (256 * 1024) /* so large that a step with a large stack frame does not jump over the guard */

/* ---- checks ---- */

/* Mode lockstep needs a participant that ticks wait for; mode external needs a master. */
static enum oto_status check_participants(const struct srv_world_config *config, struct oto_error *error)
{
    bool waited_for = false;
    if (config->participant_count > SRV_MAX_PARTICIPANTS || config->clock.master > config->participant_count) {
        return oto_fail(error, OTO_LIMIT, "world '%s' has %u participants, of which %u is the clock's master; at most %d "
                        "are accepted", config->name, config->participant_count, config->clock.master,
                        SRV_MAX_PARTICIPANTS);
    }
    for (uint32_t p = 0; p < config->participant_count; p++) {
        waited_for = waited_for || srv_participant_is_waited_for(&config->participants[p]);
    }
    if (config->clock.mode == OTO_MODE_LOCKSTEP && !waited_for) {
        return oto_fail(error, OTO_UNSUPPORTED, "mode lockstep needs a participant, and world '%s' has none",
                        config->name);
    }
    if (config->clock.mode == OTO_MODE_EXTERNAL && config->clock.master == 0) {
        return oto_fail(error, OTO_UNSUPPORTED, "mode external needs a clock.master, and world '%s' has none",
                        config->name);
    }
    return OTO_OK;
}

static enum oto_status check_clock(const struct srv_clock_config *clock, struct oto_error *error)
{
    const enum oto_status status = srv_rate_check("the clock's rate", clock->rate_num, clock->rate_den, error);
    if (status != OTO_OK) {
        return status;
    }
    if (clock->mode < OTO_MODE_REALTIME || clock->mode > OTO_MODE_EXTERNAL) {
        return oto_fail(error, OTO_UNSUPPORTED, "clock mode %d; realtime, asap, step, lockstep and external are accepted",
                        (int)clock->mode);
    }
    if (!(clock->scale >= SRV_SCALE_MIN && clock->scale <= SRV_SCALE_MAX)) {
        return oto_fail(error, OTO_RANGE, "clock scale %g; from %g to %g is accepted", clock->scale, SRV_SCALE_MIN,
                        SRV_SCALE_MAX);
    }
    return OTO_OK;
}

/* ---- creation ---- */

static enum oto_status make_segment(void *context, const struct srv_segment_plan *plan, struct srv_store *store,
                                    struct oto_error *error)
{
    struct srv_engine *engine = context;
    const uint64_t epoch = engine->options.epoch;
    const struct srv_segment_identity identity = {
        .epoch = epoch, .lineage = engine->options.lineage != 0 ? engine->options.lineage : epoch};
    const enum oto_status status = srv_segment_create(plan, &identity, &engine->segment, error);
    if (status == OTO_OK) {
        srv_segment_store(&engine->segment, store);
    }
    return status;
}

static void on_reply(void *context, const struct srv_reply *reply)
{
    srv_reply_send_now(context, reply);
}

static void on_over_budget(void *context, uint32_t node)
{
    srv_journal_slow(context, node);
}

static bool may_tick(const void *context)
{
    const struct srv_engine *engine = context;
    return !engine->on_thread || pthread_equal(pthread_self(), engine->tick_identity);
}

static void run_lanes(void *context, void (*work)(void *work_context, uint32_t lane), void *work_context, uint32_t lanes)
{
    struct srv_engine *engine = context;
    for (uint32_t lane = 0; engine->workers == NULL && lane < lanes; lane++) {
        work(work_context, lane); /* without workers the calling thread does all lanes */
    }
    if (engine->workers != NULL) {
        srv_workers_run(engine->workers, work, work_context, lanes);
    }
}

static void on_host_events(void *context)
{
    struct srv_engine *engine = context;
    srv_waiter_wake(&engine->waiter);
}

static enum oto_status make_sim(struct srv_engine *engine, oto_warn_function warn, void *warn_context,
                                struct oto_error *error)
{
    const struct srv_sim_options options = {
        .hooks = {engine, on_reply, on_over_budget, srv_now_ns, srv_step_time_read, srv_views_fill_base, may_tick, run_lanes},
        .lanes = srv_workers_wanted(engine->config),
        .single_steps = engine->options.single_steps,
        .make_store = make_segment,
        .store_context = engine};
    return srv_sim_create(engine->config, &options, warn, warn_context, &engine->sim, error);
}

/* Copies facts of the nodes for the main thread, which must not read the nodes. */
static enum oto_status make_views(struct srv_engine *engine, struct oto_error *error)
{
    engine->views = calloc(engine->sim->node_count, sizeof *engine->views);
    if (engine->views == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u nodes", engine->sim->node_count);
    }
    for (uint32_t i = 0; i < engine->sim->node_count; i++) {
        const struct srv_node *node = &engine->sim->nodes[i];
        engine->views[i] = (struct srv_node_view){
            .plugin = node->live.plugin, .params = node->live.params, .own_setup = node->live.own_setup, .revision = node->revision};
    }
    engine->last_fault_id = engine->sim->newest_fault;
    return OTO_OK;
}

static enum oto_status make_queue(struct srv_queue *queue, uint64_t capacity, size_t item_bytes,
                                  struct oto_error *error)
{
    queue->capacity = capacity;
    queue->item_bytes = item_bytes;
    queue->items = calloc(capacity, item_bytes);
    return queue->items != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for the command queue");
}

static enum oto_status make_shell(struct srv_engine *engine, struct oto_error *error)
{
    enum oto_status status = make_queue(&engine->commands, 2 * SRV_COMMAND_CAPACITY, sizeof(struct srv_command), error);
    if (status == OTO_OK) {
        status = make_queue(&engine->replies, SRV_COMMAND_CAPACITY, sizeof(struct srv_reply), error);
    }
    if (status == OTO_OK) {
        status = srv_waiter_open(&engine->waiter, error);
    }
    engine->signal_stack = malloc(SRV_SIGNAL_STACK_BYTES);
    if (status == OTO_OK && engine->signal_stack == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for the stack of signals");
    }
    engine->notify_fd = status == OTO_OK ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (status == OTO_OK && engine->notify_fd < 0) {
        status = oto_fail(error, OTO_IO, "cannot make an eventfd (%s)", strerror(errno));
    }
    return status;
}

static void begin_clock(struct srv_engine *engine)
{
    const struct srv_clock_config *clock = &engine->config->clock;
    engine->mode = clock->mode;
    engine->paused = engine->options.start_paused;
    const int64_t until_ns = clock->until_ns > 0 && clock->until_ns < SRV_TIME_MAX_NS ? clock->until_ns : SRV_TIME_MAX_NS;
    engine->last_tick = srv_events_until(until_ns, clock->rate_num, clock->rate_den);
    srv_pacer_init(&engine->pacer, clock);
    srv_driver_init(&engine->driver, clock->driver, &engine->waiter);
    engine->sim->store.header->mode = (uint32_t)clock->mode;
}

static enum oto_status build(struct srv_engine *engine, oto_warn_function warn, void *warn_context,
                             struct oto_error *error)
{
    const struct srv_isolation_hooks hooks = {engine, on_host_events, engine->options.candidate_timeout_ns};
    enum oto_status status = check_participants(engine->config, error);
    if (status == OTO_OK) {
        status = check_clock(&engine->config->clock, error);
    }
    if (status == OTO_OK) {
        status = make_sim(engine, warn, warn_context, error);
    }
    if (status == OTO_OK) {
        status = make_views(engine, error);
    }
    if (status == OTO_OK) {
        status = srv_participants_begin(engine, error);
    }
    if (status == OTO_OK) {
        status = make_shell(engine, error);
    }
    if (status == OTO_OK) {
        status = srv_journal_make(engine, error);
    }
    if (status == OTO_OK) {
        status = srv_isolation_create(engine->sim, &hooks, warn, warn_context, error);
    }
    if (status == OTO_OK) {
        begin_clock(engine);
        status = srv_sim_begin(engine->sim, error);
    }
    return status;
}

enum oto_status srv_engine_create(const struct srv_world_config *config, const struct srv_engine_options *options,
                                  oto_warn_function warn, void *warn_context, struct srv_engine **out,
                                  struct oto_error *error)
{
    struct srv_engine *engine = srv_state_alloc(sizeof *engine);
    *out = NULL;
    if (engine == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a world");
    }
    engine->config = config;
    engine->options = *options;
    engine->inputs = &srv_inputs_of_participants;
    engine->notify_fd = -1;
    engine->segment.fd = -1;
    (void)pthread_mutex_init(&engine->views_lock, NULL);
    (void)sem_init(&engine->ready, 0, 0);
    const enum oto_status status = build(engine, warn, warn_context, error);
    if (status != OTO_OK) {
        srv_engine_destroy(engine);
        return status;
    }
    *out = engine;
    return OTO_OK;
}

enum oto_status srv_engine_load(struct srv_engine *engine, const void *state, uint64_t bytes, struct oto_error *error)
{
    const enum oto_status status = srv_checkpoint_load(engine->sim, state, bytes, error);
    for (uint32_t i = 0; status == OTO_OK && i < engine->sim->node_count; i++) {
        engine->views[i].revision = engine->sim->nodes[i].revision;
    }
    engine->last_fault_id = engine->sim->newest_fault;
    return status;
}

/* ---- start and stop ---- */

int srv_thread_start(pthread_t *thread, void *(*body)(void *argument), void *argument)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
    pthread_attr_t attributes;
    sigset_t all, before;
    (void)sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        (void)sigdelset(&all, faults[i]);
    }
    int result = pthread_attr_init(&attributes);
    if (result != 0) {
        return result;
    }
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)pthread_attr_setguardsize(&attributes, GUARD_BYTES);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    result = pthread_create(thread, &attributes, body, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return result;
}

/* Gives a worker thread the same rights and settings as the tick thread. */
static void begin_worker(void *context)
{
    const struct srv_engine *engine = context;
    struct srv_rights rights = engine->rights; /* a copy, because the tick thread changes the original */
    srv_rights_prepare_thread();
    srv_fpu_pin();
    if (engine->options.trap_exits) {
        srv_exit_trap_set();
    }
    srv_rights_set_thread(&rights, engine->config->clock.mode == OTO_MODE_REALTIME);
}

static enum oto_status start_workers(struct srv_engine *engine, struct oto_error *error)
{
    const uint32_t lanes = srv_lanes_count(engine->sim->lanes);
    return lanes > 1 ? srv_workers_start(lanes - 1, begin_worker, engine, &engine->workers, error) : OTO_OK;
}

static void say_rights(struct srv_engine *engine, char *privileges, size_t privileges_bytes)
{
    char text[256];
    struct srv_command command;
    memset(&command, 0, sizeof command);
    const bool granted = srv_rights_text(&engine->rights, text, sizeof text);
    (void)snprintf(privileges, privileges_bytes, "%s", text);
    command.kind = SRV_COMMAND_EVENT;
    command.event.kind = OTO_EVENT_REALTIME;
    command.event.severity = granted ? 0 : 1;
    (void)snprintf(command.event.source, sizeof command.event.source, "clock");
    (void)snprintf(command.event.text, sizeof command.event.text, "%.150s", text);
    (void)srv_engine_post(engine, &command);
}

enum oto_status srv_engine_start(struct srv_engine *engine, char *privileges, size_t privileges_bytes,
                                 struct oto_error *error)
{
    const struct srv_clock_config *clock = &engine->config->clock;
    if (engine->started) {
        return oto_fail(error, OTO_INVALID, "world '%s' ticks already", engine->config->name);
    }
    srv_rights_take(&engine->rights, clock->fifo_priority, clock->mode == OTO_MODE_REALTIME);
    const enum oto_status status = start_workers(engine, error);
    if (status != OTO_OK) {
        return status;
    }
    const int result = srv_thread_start(&engine->thread, srv_tick_thread, engine);
    if (result != 0) {
        return oto_fail(error, OTO_IO, "cannot start the tick thread (%s)", strerror(result));
    }
    engine->started = true;
    while (sem_wait(&engine->ready) != 0 && errno == EINTR) {
    }
    say_rights(engine, privileges, privileges_bytes);
    return OTO_OK;
}

/* Stops the tick thread. False: the thread is stuck in a plugin and did not end within STOP_TIMEOUT_NS. */
static bool stop_thread(struct srv_engine *engine)
{
    const int64_t deadline_ns = srv_now_ns() + STOP_TIMEOUT_NS;
    if (!engine->started) {
        return true;
    }
    __atomic_store_n(&engine->quit, 1, __ATOMIC_RELEASE);
    srv_isolation_quit(engine->sim);
    srv_waiter_wake(&engine->waiter);
    srv_participants_wake(engine);
    while (__atomic_load_n(&engine->gone, __ATOMIC_ACQUIRE) == 0 && srv_now_ns() < deadline_ns) {
        struct pollfd news = {.fd = engine->notify_fd, .events = POLLIN};
        uint64_t count;
        (void)poll(&news, 1, 100);
        (void)!read(engine->notify_fd, &count, sizeof count);
    }
    return __atomic_load_n(&engine->gone, __ATOMIC_ACQUIRE) != 0 && pthread_join(engine->thread, NULL) == 0;
}

/* Frees changes that were posted but not applied, and replies that were not taken. */
static void drop_queues(struct srv_engine *engine)
{
    struct srv_command command;
    struct srv_reply reply;
    while (engine->commands.items != NULL && srv_queue_pop(&engine->commands, &command)) {
        /* the simulator owns a change that waits for SETTLE */
        (void)srv_change_free(command.kind == SRV_COMMAND_SETTLE ? NULL : command.change);
        srv_fault_free(command.fault);
        if (command.kind == SRV_COMMAND_JOIN) {
            srv_mailbox_close(command.mailbox);
        }
    }
    while (engine->replies.items != NULL && srv_queue_pop(&engine->replies, &reply)) {
        (void)srv_change_free(reply.settling ? NULL : reply.change);
        srv_fault_free(reply.faults);
        if ((reply.kind == SRV_COMMAND_JOIN) == (reply.status != OTO_OK)) {
            srv_mailbox_close(reply.mailbox); /* after a refused join or a completed leave the mailbox is not in use */
        }
    }
    free(engine->commands.items);
    free(engine->replies.items);
}

static void say_closing(struct srv_engine *engine)
{
    if (engine->segment.header != NULL) {
        __atomic_store_n(&engine->segment.header->state, OTO_SERVER_CLOSING, __ATOMIC_RELEASE);
        srv_wake_readers(engine);
    }
}

void srv_engine_destroy(struct srv_engine *engine)
{
    if (engine == NULL) {
        return;
    }
    if (!stop_thread(engine)) {
        say_closing(engine); /* a stuck step still uses the engine, which therefore is not freed */
        return;
    }
    srv_workers_stop(engine->workers);
    drop_queues(engine);
    srv_isolation_destroy(engine->sim);
    srv_participants_close(engine);
    srv_participants_finish(engine);
    say_closing(engine);
    srv_sim_destroy(engine->sim);
    srv_segment_finish(&engine->segment);
    srv_lossless_finish(engine);
    srv_journal_drop(engine);
    srv_waiter_close(&engine->waiter);
    srv_rights_drop(&engine->rights);
    if (engine->notify_fd >= 0) {
        (void)close(engine->notify_fd);
    }
    (void)pthread_mutex_destroy(&engine->views_lock);
    (void)sem_destroy(&engine->ready);
    free(engine->signal_stack);
    free(engine->views);
    free(engine);
}
