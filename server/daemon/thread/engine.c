#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sim/fifo.h"
#include "daemon/thread/engine_private.h"
#include "sim/journal.h"

#define EVENT_CAPACITY 1024u
#define STOP_PATIENCE_NS INT64_C(2000000000)
#ifdef OTO_SANITIZED_BUILD
#define STACK_BYTES (8 * 1024 * 1024) /* the sanitizers' own data of a thread stand in it */
#else
#define STACK_BYTES (512 * 1024)
#endif

/* ---- checks ---- */

/* Modes that follow somebody need somebody to follow. */
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

static enum oto_status check_world(const struct srv_world_config *config, struct oto_error *error)
{
    if (config->node_count == 0 || config->node_count > SRV_MAX_NODES || config->vehicle_count == 0 ||
        config->vehicle_count > SRV_MAX_VEHICLES) {
        return oto_fail(error, OTO_LIMIT, "world '%s' has %u vehicles with %u nodes; 1 to %d and 1 to %d are accepted",
                        config->name, config->vehicle_count, config->node_count, SRV_MAX_VEHICLES, SRV_MAX_NODES);
    }
    for (uint32_t v = 0; v < config->vehicle_count; v++) {
        const struct srv_vehicle_config *vehicle = &config->vehicles[v];
        if (vehicle->motion >= config->node_count || vehicle->first_node > config->node_count ||
            vehicle->node_count > config->node_count - vehicle->first_node) {
            return oto_fail(error, OTO_INVALID, "vehicle '%s' names nodes beyond the world's %u", vehicle->name,
                            config->node_count);
        }
    }
    const enum oto_status status = check_participants(config, error);
    return status == OTO_OK ? check_clock(&config->clock, error) : status;
}

/* ---- parts of creation ---- */

static enum oto_status make_nodes(struct srv_engine *engine, oto_warn_function warn, void *warn_context,
                                  struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    engine->nodes = calloc(engine->config->node_count, sizeof *engine->nodes);
    engine->views = calloc(engine->config->node_count, sizeof *engine->views);
    engine->first_channels = calloc(engine->config->node_count, sizeof *engine->first_channels);
    if (engine->nodes == NULL || engine->views == NULL || engine->first_channels == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u nodes", engine->config->node_count);
    }
    for (uint32_t i = 0; status == OTO_OK && i < engine->config->node_count; i++) {
        struct srv_node *node = &engine->nodes[i];
        status = srv_node_init(engine->config, i, warn, warn_context, node, error);
        if (status == OTO_OK) {
            status = srv_faults_load(engine, node, error);
            engine->node_count = i + 1;
            engine->first_channels[i] = engine->channel_count;
            engine->channel_count += srv_node_channel_count(node);
            engine->views[i].plugin = node->plugin;
            engine->views[i].params = node->params;
            engine->views[i].own_setup = node->own_setup;
        }
    }
    engine->event_channel = engine->channel_count++;
    return status == OTO_OK ? srv_estimators_make(engine, error) : status;
}

static void describe_events(const struct srv_world_config *config, struct srv_channel_spec *spec)
{
    memset(spec, 0, sizeof *spec);
    (void)snprintf(spec->topic, sizeof spec->topic, "%s/@events", config->name);
    (void)snprintf(spec->node, sizeof spec->node, "%s/@events", config->name);
    spec->plugin = "";
    spec->plugin_version = "";
    spec->frame_id = "";
    spec->type = &oto_event_type;
    spec->rate_den = 1;
    spec->capacity = EVENT_CAPACITY;
    spec->node_index = UINT32_MAX;
    spec->flags = OTO_CHANNEL_EVENTS | OTO_CHANNEL_ENABLED;
}

static enum oto_status make_segment(struct srv_engine *engine, struct oto_error *error)
{
    const struct srv_world_config *config = engine->config;
    struct srv_channel_spec *specs = calloc(engine->channel_count, sizeof *specs);
    if (specs == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u channels", engine->channel_count);
    }
    enum oto_status status = OTO_OK;
    for (uint32_t n = 0; status == OTO_OK && n < engine->node_count; n++) {
        const uint32_t first = engine->first_channels[n];
        for (uint32_t i = 0; status == OTO_OK && i < srv_node_channel_count(&engine->nodes[n]); i++) {
            status = srv_node_describe(config, &engine->nodes[n], i, &specs[first + i], error);
        }
    }
    describe_events(config, &specs[engine->event_channel]);
    const struct srv_segment_plan plan = {.world = config->name,
                                          .epoch = engine->options.epoch,
                                          .lineage = engine->options.lineage != 0 ? engine->options.lineage
                                                                                 : engine->options.epoch,
                                          .seed = config->seed,
                                          .rate_num = config->clock.rate_num,
                                          .rate_den = config->clock.rate_den,
                                          .channels = specs,
                                          .channel_count = engine->channel_count};
    if (status == OTO_OK) {
        status = srv_segment_create(&plan, &engine->segment, error);
    }
    free(specs);
    return status;
}

static enum oto_status make_history(struct srv_engine *engine, struct srv_vehicle *vehicle, struct oto_error *error)
{
    const struct srv_clock_config *clock = &engine->config->clock;
    const uint64_t capacity = srv_history_capacity(clock->rate_num, clock->rate_den);
    vehicle->history.records = calloc(capacity, sizeof *vehicle->history.records);
    vehicle->history.mask = capacity - 1;
    vehicle->history.rate_num = clock->rate_num;
    vehicle->history.rate_den = clock->rate_den;
    if (vehicle->history.records == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for one second of truth at %llu/%llu Hz",
                        (unsigned long long)clock->rate_num, (unsigned long long)clock->rate_den);
    }
    return OTO_OK;
}

static enum oto_status make_vehicles(struct srv_engine *engine, struct oto_error *error)
{
    const struct srv_world_config *config = engine->config;
    enum oto_status status = OTO_OK;
    engine->vehicles = calloc(config->vehicle_count, sizeof *engine->vehicles);
    engine->truth_runs = calloc(oto_truth_type.field_count, sizeof *engine->truth_runs);
    if (engine->vehicles == NULL || engine->truth_runs == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u vehicles", config->vehicle_count);
    }
    engine->truth_run_count = oto_float_runs(&oto_truth_type, engine->truth_runs);
    engine->vehicle_count = config->vehicle_count;
    for (uint32_t v = 0; status == OTO_OK && v < engine->vehicle_count; v++) {
        const struct srv_vehicle_config *from = &config->vehicles[v];
        struct srv_vehicle *vehicle = &engine->vehicles[v];
        vehicle->motion = &engine->nodes[from->motion];
        vehicle->first_sensor = &engine->nodes[from->first_node];
        vehicle->vibration = from->vibration.line_count > 0 ? &from->vibration : NULL;
        vehicle->sensor_count = from->node_count;
        vehicle->any_time = (vehicle->motion->motion_flags & OTO_MOTION_ANY_TIME) != 0;
        vehicle->truth_zero.q_enu_from_body = oto_quat_identity();
        vehicle->truth = vehicle->truth_zero;
        status = vehicle->any_time ? OTO_OK : make_history(engine, vehicle, error);
    }
    return status;
}

static void attach_channels(struct srv_engine *engine)
{
    void *base = engine->segment.header;
    for (uint32_t i = 0; i < engine->node_count; i++) {
        srv_node_attach(&engine->nodes[i], &engine->segment, engine->first_channels[i]);
    }
    for (uint32_t v = 0; v < engine->vehicle_count; v++) {
        struct srv_vehicle *vehicle = &engine->vehicles[v];
        const uint32_t channel = engine->first_channels[vehicle->motion->index];
        vehicle->ring = srv_ring_make(base, &engine->segment.directory[channel]);
    }
    srv_estimators_attach(engine);
    engine->events = srv_ring_make(base, &engine->segment.directory[engine->event_channel]);
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
    srv_beat_init(&engine->beat, clock->rate_num, clock->rate_den);
    srv_pacer_init(&engine->pacer, clock);
    srv_driver_init(&engine->driver, clock->driver, &engine->waiter);
    engine->segment.header->mode = (uint32_t)clock->mode;
}

static enum oto_status build(struct srv_engine *engine, oto_warn_function warn, void *warn_context,
                             struct oto_error *error)
{
    enum oto_status status = check_world(engine->config, error);
    if (status == OTO_OK) {
        status = make_nodes(engine, warn, warn_context, error);
    }
    if (status == OTO_OK) {
        status = make_segment(engine, error);
    }
    if (status == OTO_OK) {
        status = make_vehicles(engine, error);
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
        status = srv_groups_make(engine, warn, warn_context, error);
    }
    if (status == OTO_OK) {
        status = srv_keeper_start(engine, warn, warn_context, error);
    }
    if (status == OTO_OK) {
        srv_environment_init(&engine->environment, engine->config);
        attach_channels(engine);
    }
    for (uint32_t i = 0; status == OTO_OK && i < engine->node_count; i++) {
        status = srv_fifo_make(&engine->nodes[i], error);
    }
    if (status == OTO_OK) {
        begin_clock(engine);
        srv_tick_begin_world(engine);
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
    engine->notify_fd = -1;
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

/* ---- start and stop ---- */

/* Signals are the main thread's: the new thread is born with all of them blocked, but for those that its own faults are. */
static int start_thread(struct srv_engine *engine)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
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
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    result = pthread_create(&engine->thread, &attributes, srv_tick_thread, engine);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return result;
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
    const int result = start_thread(engine);
    if (result != 0) {
        return oto_fail(error, OTO_IO, "cannot start the tick thread (%s)", strerror(result));
    }
    engine->started = true;
    while (sem_wait(&engine->ready) != 0 && errno == EINTR) {
    }
    say_rights(engine, privileges, privileges_bytes);
    return OTO_OK;
}

/* False: the thread is stuck in a plugin and did not come back in time. */
static bool stop_thread(struct srv_engine *engine)
{
    const int64_t deadline_ns = srv_now_ns() + STOP_PATIENCE_NS;
    if (!engine->started) {
        return true;
    }
    __atomic_store_n(&engine->quit, 1, __ATOMIC_RELEASE);
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

/* Changes that were posted but never applied, and replies that nobody took, still own what they carry. */
static void drop_queues(struct srv_engine *engine)
{
    struct srv_command command;
    struct srv_reply reply;
    while (engine->commands.items != NULL && srv_queue_pop(&engine->commands, &command)) {
        /* what waits to be settled is among the trials */
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
            srv_mailbox_close(reply.mailbox); /* a join that was refused, a leave that was done */
        }
    }
    srv_trials_finish(engine);
    srv_fault_free(engine->retired_faults);
    free(engine->commands.items);
    free(engine->replies.items);
}

static void close_segment(struct srv_engine *engine)
{
    if (engine->segment.header != NULL) {
        __atomic_store_n(&engine->segment.header->state, OTO_SERVER_CLOSING, __ATOMIC_RELEASE);
        srv_wake_readers(engine);
    }
    srv_segment_finish(&engine->segment);
}

void srv_engine_destroy(struct srv_engine *engine)
{
    if (engine == NULL) {
        return;
    }
    if (!stop_thread(engine)) {
        /* What a stuck step still uses cannot be taken from under it: all is left to the end of the process. */
        __atomic_store_n(&engine->segment.header->state, OTO_SERVER_CLOSING, __ATOMIC_RELEASE);
        srv_wake_readers(engine);
        return;
    }
    drop_queues(engine);
    srv_keeper_stop(engine);
    srv_groups_drop(engine);
    srv_participants_close(engine);
    srv_participants_finish(engine);
    close_segment(engine);
    for (uint32_t v = 0; v < engine->vehicle_count; v++) {
        free(engine->vehicles[v].history.records);
    }
    for (uint32_t i = 0; i < engine->node_count; i++) {
        srv_node_finish(&engine->nodes[i]);
    }
    srv_lossless_finish(engine);
    srv_journal_drop(engine);
    srv_waiter_close(&engine->waiter);
    srv_rights_drop(&engine->rights);
    if (engine->notify_fd >= 0) {
        (void)close(engine->notify_fd);
    }
    (void)pthread_mutex_destroy(&engine->views_lock);
    (void)sem_destroy(&engine->ready);
    free(engine->vehicles);
    free(engine->truth_runs);
    free(engine->nodes);
    free(engine->views);
    free(engine->estimators);
    free(engine->first_channels);
    free(engine);
}
