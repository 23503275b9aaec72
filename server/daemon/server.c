#include "server_private.h"

#include "base/schedule.h"
#include "resources.h"
#include "isolate/describe.h"
#include "sim/external.h"
#include "sim/sim.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define WATCHDOG_MS 20
#define STUCK_MS 5000 /* under supervision a step that takes longer is considered endless */

/* ---- loading ----------------------------------------------------------------------------------------------------- */

struct srv_server *srv_server_create(const struct srv_options *options, uint32_t run)
{
    struct srv_server *server = calloc(1, sizeof *server);
    if (server != NULL) {
        server->options = options;
        server->check_report.json = options->json;
        server->run = run;
        server->runtime.base_fd = server->runtime.dir_fd = -1;
        server->asked_by.fd = -1;
    }
    return server;
}

struct srv_server *srv_server_create_again(struct srv_server *failed)
{
    struct srv_server *again = srv_server_create(failed->options, failed->run + 1);
    if (again != NULL) {
        again->crash_page = failed->crash_page;
        again->began_with = failed->began_with;
        again->beginning = failed->beginning;
        again->asked_by = failed->asked_by;
        failed->began_with = NULL;
        failed->beginning = (struct srv_checkpoint){0};
        failed->asked_by.fd = -1;
    }
    return again;
}

static enum oto_status read_checkpoint(struct srv_server *server, struct oto_error *error)
{
    struct srv_clock_config *clock = &server->config.clock;
    struct srv_checkpoint *beginning = &server->beginning;
    enum oto_status status = beginning->state == NULL ? srv_checkpoint_read(server->began_with, beginning, error) : OTO_OK;
    if (status == OTO_OK) {
        status = srv_checkpoint_configure(beginning, &server->config, srv_server_warn, NULL, error);
    }
    if (status == OTO_OK && server->options->for_ns > 0 && server->options->again == NULL) {
        clock->until_ns += srv_instant_ns(beginning->tick, clock->rate_num, clock->rate_den, NULL);
    }
    return status;
}

/* Loads the state of the checkpoint. Tick and hash chain in the file's header, for tools, must equal those of the state. */
static enum oto_status load_state(struct srv_server *server, struct oto_error *error)
{
    const struct srv_checkpoint *beginning = &server->beginning;
    const enum oto_status status = srv_engine_load(server->engine, beginning->state, beginning->state_bytes, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct srv_sim *sim = srv_engine_sim(server->engine);
    return sim->tick == beginning->tick && sim->chain == beginning->chain
               ? OTO_OK
               : oto_fail(error, OTO_CORRUPT, "'%.200s' is damaged: its header says tick %llu and its state tick %llu, or "
                          "their hash chains differ", server->began_with, (unsigned long long)beginning->tick,
                          (unsigned long long)sim->tick);
}

/* Ticks between two records of hashes; 0: none are recorded. */
static uint64_t journal_every(const struct srv_server *server)
{
    const struct srv_options *options = server->options;
    if (options->log_hashes > 0 || (options->log_path == NULL && server->replay == NULL)) {
        return options->log_path != NULL || server->replay != NULL ? options->log_hashes : 0;
    }
    return server->replay != NULL ? srv_replay_source(server->replay)->every : SRV_LOG_HASHES_EVERY;
}

static enum oto_status make_engine(struct srv_server *server, struct oto_error *error)
{
    struct srv_engine_options options = {.start_paused = server->options->start_paused,
                                         .journal_every = journal_every(server),
                                         .trap_exits = server->crash_page != NULL,
                                         .replay = server->replay != NULL};
    enum oto_status status = OTO_OK;
    if (getrandom(&options.epoch, sizeof options.epoch, 0) != (ssize_t)sizeof options.epoch) {
        return oto_fail(error, OTO_IO, "there are no random numbers for the run's epoch: %s", strerror(errno));
    }
    if (server->crash_page != NULL && server->options->again && server->run == 0) {
        options.lineage = server->crash_page->lineage; /* the samples lost in the crash are computed again: clients continue */
    }
    if (server->began_with != NULL) {
        status = read_checkpoint(server, error);
    }
    if (status == OTO_OK && server->replay != NULL) {
        status = srv_replay_check(server->replay, &server->config, error);
    }
    if (status == OTO_OK) {
        status = srv_engine_create(&server->config, &options, srv_server_warn, NULL, &server->engine, error);
    }
    if (status == OTO_OK && server->began_with != NULL) {
        status = load_state(server, error);
    }
    if (status == OTO_OK && server->options->again != NULL && server->run == 0) {
        srv_engine_tell(server->engine, OTO_EVENT_CRASH, 2, "server", server->options->again);
    }
    for (uint32_t i = 0; status == OTO_OK && i < server->options->quarantine_count; i++) {
        status = srv_engine_quarantine(server->engine, server->options->quarantine[i],
                                       server->options->again != NULL ? "crashed the server; quarantined"
                                                                      : "quarantined by the command line",
                                       error);
    }
    return status;
}

/* A supervised world without `checkpoint:` is saved once a second. */
static void save_for_supervisor(struct srv_server *server)
{
    struct srv_checkpoint_config *checkpoint = &server->config.checkpoint;
    if (server->options->checkpoint_directory != NULL && checkpoint->every_ns == 0) {
        checkpoint->every_ns = SRV_NS_PER_S;
        checkpoint->keep = 2;
        (void)snprintf(checkpoint->directory, sizeof checkpoint->directory, "%s", server->options->checkpoint_directory);
    }
}

/* Takes world and overrides of the log, then the overrides of the command line. */
static enum oto_status load_replay(struct srv_server *server, const struct srv_options *options, struct oto_error *error)
{
    struct srv_options *own = &server->as_logged;
    enum oto_status status =
        srv_replay_open(options->replay_path, options->replay_anyway, srv_server_warn, NULL, &server->replay, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct srv_replay_source *source = srv_replay_source(server->replay);
    if (source->override_count + options->override_count > SRV_MAX_OVERRIDES) {
        return oto_fail(error, OTO_LIMIT, "more than %d values are set, those of the log counted", SRV_MAX_OVERRIDES);
    }
    *own = *options;
    own->world_path = source->world_path;
    own->restore_path = source->restore_path;
    own->quarantine_count = source->quarantine_count;
    for (uint32_t i = 0; i < source->quarantine_count; i++) {
        own->quarantine[i] = source->quarantine[i];
    }
    for (uint32_t i = 0; i < source->override_count; i++) {
        own->overrides[i] = source->overrides[i];
    }
    for (uint32_t i = 0; i < options->override_count; i++) {
        own->overrides[source->override_count + i] = options->overrides[i];
    }
    own->override_count = source->override_count + options->override_count;
    server->options = own;
    return OTO_OK;
}

/* A replay has no participants and no client that steps: it runs as fast as it can. */
static void choose_replay_mode(struct srv_server *server)
{
    enum oto_clock_mode *mode = &server->config.clock.mode;
    if (*mode == OTO_MODE_LOCKSTEP || *mode == OTO_MODE_EXTERNAL ||
        (*mode == OTO_MODE_STEP && !server->options->mode_given)) {
        *mode = OTO_MODE_ASAP;
    }
}

static enum oto_status map_crash_page(struct srv_server *server, struct oto_error *error)
{
    if (server->options->crash_page_fd > 0 && server->crash_page == NULL) {
        server->crash_page = srv_crash_page_map(server->options->crash_page_fd, error);
        return server->crash_page != NULL ? OTO_OK : error->status;
    }
    return OTO_OK;
}

enum oto_status srv_server_load_from(struct srv_server *server, const char *restore_path, struct oto_error *error)
{
    const struct srv_options *options = server->options;
    if (restore_path != NULL && (server->began_with = strdup(restore_path)) == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "the server is out of memory");
    }
    enum oto_status status = map_crash_page(server, error);
    if (status == OTO_OK) {
        const struct srv_world_source source = {.path = options->world_path,
                                                .overrides = options->overrides,
                                                .override_count = options->override_count,
                                                .open_plugin = srv_plugin_open_checked,
                                                .given_motion = srv_external_entry(),
                                                .report = options->check ? srv_check_report_error : NULL,
                                                .report_context = &server->check_report};
        status = srv_world_config_load(&source, srv_server_warn, NULL, &server->config, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    if (options->for_ns > 0) {
        server->config.clock.until_ns = options->for_ns;
    }
    save_for_supervisor(server);
    if (server->replay != NULL) {
        choose_replay_mode(server);
    }
    return make_engine(server, error);
}

enum oto_status srv_server_load(struct srv_server *server, struct oto_error *error)
{
    enum oto_status status = srv_resources_check(error);
    if (status == OTO_OK && server->options->replay_path != NULL) {
        status = load_replay(server, server->options, error);
    }
    return status == OTO_OK ? srv_server_load_from(server, server->options->restore_path, error) : status;
}

/* ---- checks while it runs ------------------------------------------------------------------------------- */

static void look_for_stall(struct srv_server *server)
{
    char sentence[256];
    if (srv_engine_watchdog(server->engine, sentence, sizeof sentence)) {
        srv_server_say(NULL, sentence); /* the engine has counted the stall and posted its event */
    }
    if (server->crash_page != NULL && srv_engine_stuck_looks(server->engine) > STUCK_MS / WATCHDOG_MS) {
        srv_server_say(NULL, "the step does not end: the server gives up, and its parent brings the world back without "
                             "that node");
        srv_crash_give_up(server->crash_page, server->engine);
    }
}

/* If a job of the worker does not return, e.g. a plugin's `prepare`, refuses the requests that wait for the worker. */
static void look_at_worker(struct srv_server *server)
{
    char sentence[256];
    const bool stuck = srv_worker_is_stuck(&server->worker, sentence, sizeof sentence);
    if (stuck && !server->worker_stuck) {
        srv_server_say(NULL, sentence);
        srv_control_refuse_waiting(server->control, sentence);
        srv_checkpointer_refuse_waiting(server->checkpointer);
        srv_server_give_up_restore(server);
    }
    server->worker_stuck = stuck;
}

static void on_watchdog(uv_timer_t *timer)
{
    struct srv_server *server = timer->data;
    if (server->phase != SRV_PHASE_RUNNING) {
        return;
    }
    const uint32_t state = srv_server_state(server);
    if (state == OTO_SERVER_ENDED || (state == OTO_SERVER_FAULT && server->config.clock.until_ns > 0)) {
        server->exit_code = state == OTO_SERVER_FAULT ? EXIT_FAILURE : server->exit_code;
        srv_server_end(server, true);
        return;
    }
    look_for_stall(server);
    look_at_worker(server);
    if (!server->worker_stuck) {
        srv_checkpointer_retry(server->checkpointer);
        srv_checkpointer_look(server->checkpointer, srv_server_warn, NULL);
    }
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static void on_saved(void *context, const char *path)
{
    const struct srv_server *server = context;
    srv_crash_page_saved(server->crash_page, path);
}

/* Copies the checkpoint with which this run began: after a crash before the first save the world continues from the copy. */
static void keep_for_supervisor(const struct srv_server *server)
{
    char path[4096];
    struct oto_error error = {0};
    const char *folder = server->options->checkpoint_directory;
    (void)snprintf(path, sizeof path, "%s/restored-%u.ckpt", folder != NULL ? folder : "", server->run);
    if (folder == NULL || srv_checkpoint_write(path, &server->beginning, &error) != OTO_OK) {
        (void)snprintf(path, sizeof path, "%s", server->began_with);
    }
    srv_crash_page_saved(server->crash_page, path);
}

static enum oto_status watch_crashes(struct srv_server *server, struct oto_error *error)
{
    if (server->crash_page != NULL) {
        server->crash_page->lineage = srv_engine_segment(server->engine)->lineage;
        if (server->run > 0) {
            keep_for_supervisor(server);
        }
    }
    return srv_crash_watch(server->crash_page, server->engine, error);
}

/*
 * Chooses the path of the log. A run that continues from a checkpoint, after a restore or a crash, does not overwrite the log
 * of the previous run: it writes the first of FILE, FILE.1, FILE.2, … that does not exist.
 */
static void choose_log(const struct srv_server *server, char *path, size_t bytes)
{
    const bool goes_on = server->run > 0 || server->options->again != NULL;
    (void)snprintf(path, bytes, "%s", server->options->log_path);
    for (uint32_t i = 1; goes_on && access(path, F_OK) == 0; i++) {
        (void)snprintf(path, bytes, "%s.%u", server->options->log_path, i);
    }
}

/*
 * Copies the checkpoint with which this run began to a file beside the log, for example FILE.1.ckpt, because the original may
 * be removed soon. If the copy cannot be written, the log names the original.
 */
static bool keep_beginning(const struct srv_server *server, const char *log_path, char *kept, size_t bytes)
{
    struct oto_error error = {0};
    (void)snprintf(kept, bytes, "%s.ckpt", log_path);
    const enum oto_status status = srv_checkpoint_write(kept, &server->beginning, &error);
    if (status != OTO_OK) {
        srv_server_warn(NULL, error.text);
    }
    return status == OTO_OK;
}

static enum oto_status open_log(struct srv_server *server, struct srv_log_writer **log, struct oto_error *error)
{
    const struct srv_options *options = server->options;
    const char *began_with = server->began_with;
    char path[4096], kept[4096 + 8];
    choose_log(server, path, sizeof path);
    if (began_with != NULL && (options->again != NULL || server->run > 0) &&
        keep_beginning(server, path, kept, sizeof kept)) {
        began_with = kept;
    }
    const struct srv_log_facts facts = {.path = path,
                                        .world_path = options->world_path,
                                        .overrides = options->overrides,
                                        .override_count = options->override_count,
                                        .restore_path = began_with,
                                        .quarantine = options->quarantine,
                                        .quarantine_count = options->quarantine_count,
                                        .every = journal_every(server)};
    return srv_log_writer_create(&facts, &server->config, server->engine, log, error);
}

static enum oto_status open_run_observer(struct srv_server *server, struct oto_error *error)
{
    struct srv_log_writer *log = NULL;
    struct srv_replay *replay = server->replay;
    enum oto_status status = server->options->log_path != NULL ? open_log(server, &log, error) : OTO_OK;
    if (status == OTO_OK && (log != NULL || replay != NULL)) {
        server->replay = NULL;
        status = srv_run_observer_create(&server->loop, server->engine, server->command_queue, log, replay,
                                         &server->run_observer, error);
    }
    return status;
}

static enum oto_status open_control(struct srv_server *server, struct oto_error *error)
{
    const int listen_fd = srv_runtime_dir_listen(&server->runtime, error);
    if (listen_fd < 0) {
        return error->status;
    }
    enum oto_status status =
        server->config.control.user_rule_count > 0 ? srv_runtime_dir_share(&server->runtime, error) : OTO_OK;
    if (status == OTO_OK) {
        status = srv_command_queue_create(&server->loop, server->engine, &server->command_queue, error);
    }
    if (status != OTO_OK) {
        (void)close(listen_fd);
        return status;
    }
    status = open_run_observer(server, error);
    if (status != OTO_OK) {
        (void)close(listen_fd);
        return status;
    }
    server->checkpointer = srv_checkpointer_create(&server->worker, server->engine, &server->config,
                                                   server->command_queue, on_saved, server);
    if (server->checkpointer == NULL) {
        (void)close(listen_fd);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the control socket");
    }
    const struct srv_control_hooks hooks = srv_server_control_hooks(server);
    return srv_control_create(&server->loop, server->engine, server->command_queue, &hooks, listen_fd, &server->control,
                              error);
}

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

/* Blocks or unblocks the signals that end a run. They wait while the server cannot end in order, at the start and the end. */
void srv_server_hold_signals(int how)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++) {
        (void)sigaddset(&signals, ending_signals[i]);
    }
    (void)pthread_sigmask(how, &signals, NULL);
}

static void open_handles(struct srv_server *server)
{
    for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; i++) {
        (void)uv_signal_init(&server->loop, &server->signals[i]);
        server->signals[i].data = server;
        (void)uv_signal_start(&server->signals[i], srv_server_on_signal, ending_signals[i]);
    }
    (void)uv_timer_init(&server->loop, &server->watchdog);
    (void)uv_timer_init(&server->loop, &server->ending);
    server->watchdog.data = server->ending.data = server;
    (void)uv_timer_start(&server->watchdog, on_watchdog, WATCHDOG_MS, WATCHDOG_MS);
    server->handles_open = true;
}

/* Starts the tick thread with all signals blocked, so that the main thread gets them. */
static enum oto_status start_ticking(struct srv_server *server, struct oto_error *error)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const enum oto_status status =
        srv_engine_start(server->engine, server->privileges, sizeof server->privileges, error);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* After a failed start: closes what was opened. */
static void unwind(struct srv_server *server)
{
    if (server->control != NULL) {
        srv_control_stop(server->control);
    }
    if (server->checkpointer != NULL) {
        srv_checkpointer_stop(server->checkpointer);
    }
    (void)srv_run_observer_stop(server->run_observer);
    if (server->command_queue != NULL) {
        srv_command_queue_stop(server->command_queue);
    }
    if (server->handles_open) {
        (void)uv_timer_stop(&server->watchdog);
        srv_server_close_handles(server);
    }
}

/* Reports the participants that the first tick waits for. */
static void say_participants(const struct srv_server *server)
{
    for (uint32_t i = 0; i < server->config.participant_count; i++) {
        const struct srv_participant_config *participant = &server->config.participants[i];
        const bool waits = participant->on_timeout == OTO_TIMEOUT_WAIT || participant->on_timeout == OTO_TIMEOUT_FAULT;
        if (waits && srv_participant_is_waited_for(participant)) {
            (void)fprintf(stderr, "otolithd: %s waits for participant '%s' to join\n", server->config.name,
                          participant->name);
        }
    }
}

enum oto_status srv_server_run(struct srv_server *server, struct oto_error *error)
{
    const int failed = uv_loop_init(&server->loop);
    if (failed != 0) {
        return oto_fail(error, OTO_IO, "the main loop cannot be made: %s", uv_strerror(failed));
    }
    server->loop_open = true;
    srv_worker_init(&server->worker, &server->loop);
    enum oto_status status = srv_runtime_dir_claim(server->config.name, &server->runtime, error);
    srv_server_hold_signals(SIG_BLOCK);
    srv_resources_start_worker(&server->loop, &server->first_job); /* signals are blocked in the worker */
    if (status == OTO_OK) {
        status = open_control(server, error);
    }
    if (status == OTO_OK) {
        open_handles(server);
    }
    srv_server_hold_signals(SIG_UNBLOCK);
    if (status == OTO_OK) {
        status = watch_crashes(server, error);
    }
    if (status == OTO_OK) {
        status = start_ticking(server, error);
    }
    if (status == OTO_OK) {
        status = srv_server_start_publishing(server, error);
    }
    if (status == OTO_OK) {
        status = srv_server_start_gate(server, error);
    }
    if (status == OTO_OK) {
        srv_server_start_web(server);
        srv_server_write_facts(server);
        (void)fprintf(stderr, "otolithd: %s runs (pid %ld): %s\n", server->config.name, (long)getpid(),
                      server->privileges);
        say_participants(server);
        srv_crash_page_serves(server->crash_page);
        srv_late_reply_send(&server->asked_by, OTO_OK, server->beginning.tick, "restored");
        srv_checkpoint_finish(&server->beginning);
    } else {
        unwind(server);
    }
    (void)uv_run(&server->loop, UV_RUN_DEFAULT);
    return status;
}

void srv_server_destroy(struct srv_server *server)
{
    if (server == NULL) {
        return;
    }
    if (server->loop_open) {
        (void)uv_loop_close(&server->loop);
    }
    srv_supervisor_destroy(server->publisher);
    srv_supervisor_destroy(server->gate);
    srv_supervisor_destroy(server->web);
    srv_control_destroy(server->control);
    srv_checkpointer_destroy(server->checkpointer);
    srv_run_observer_destroy(server->run_observer);
    srv_replay_destroy(server->replay);
    srv_command_queue_destroy(server->command_queue);
    srv_crash_forget(server->engine);
    srv_engine_destroy(server->engine);
    srv_world_config_finish(&server->config);
    srv_runtime_dir_release(&server->runtime);
    srv_late_reply_send(&server->asked_by, OTO_CLOSED, 0, "the server ended before the restored world could run");
    srv_checkpoint_finish(&server->beginning);
    free(server->began_with);
    free(server);
}
