#include "server_private.h"

#include "resources.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define WATCHDOG_MS 20
/*
 * Under supervision a step that takes longer is considered endless. In a world without a pace a tick may wait 5 s for a plugin host
 * and 5 s for its restart (isolate/isolated.h).
 */
#define STUCK_MS 12000

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
                                        .every = srv_server_journal_every(server)};
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

/* A run that a `restore` made has the directory of the previous run; another name in the world file needs another one. */
static enum oto_status claim_directory(struct srv_server *server, struct oto_error *error)
{
    if (srv_runtime_dir_is_of(&server->runtime, server->config.name)) {
        return OTO_OK;
    }
    srv_runtime_dir_release(&server->runtime);
    return srv_runtime_dir_claim(server->config.name, &server->runtime, error);
}

enum oto_status srv_server_run(struct srv_server *server, struct oto_error *error)
{
    const int failed = uv_loop_init(&server->loop);
    if (failed != 0) {
        return oto_fail(error, OTO_IO, "the main loop cannot be made: %s", uv_strerror(failed));
    }
    server->loop_open = true;
    srv_worker_init(&server->worker, &server->loop);
    srv_server_hold_signals(SIG_BLOCK); /* first: a signal would kill the process and leave the directory */
    enum oto_status status = claim_directory(server, error);
    srv_resources_start_worker(&server->loop, &server->first_job); /* signals are blocked in the worker */
    if (status == OTO_OK) {
        status = open_control(server, error);
    }
    if (status == OTO_OK) {
        open_handles(server);
        srv_server_hold_signals(SIG_UNBLOCK);
    }
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
