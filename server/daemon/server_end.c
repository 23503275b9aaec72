/* The end of a run: phases, each with a limit. */
#include "server_private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"

#define ENDING_MS 5
#define STOP_LIMIT_MS 4000 /* a busy machine may hold a tick for a second; `otolith run` kills a server 5 s after SIGTERM */
#define DRAIN_LIMIT_MS 5000
#define WORKER_LIMIT_MS 3000 /* added to the limit of the phase */
#define DISK_LIMIT_MS 60000

uint32_t srv_server_state(const struct srv_server *server)
{
    return __atomic_load_n(&srv_engine_segment(server->engine)->state, __ATOMIC_ACQUIRE);
}

static bool has_ended(const struct srv_server *server)
{
    const uint32_t state = srv_server_state(server);
    return state == OTO_SERVER_ENDED || state == OTO_SERVER_CLOSING || state == OTO_SERVER_FAULT;
}

static void enter_phase(struct srv_server *server, enum srv_phase phase, int64_t limit_ms)
{
    server->phase = phase;
    server->phase_limit_ms = limit_ms;
    server->phase_time = srv_wait_begin(srv_now_ns());
}

static bool is_late(const struct srv_server *server, int64_t more_ms)
{
    return server->phase_time.waited_ns >= (server->phase_limit_ms + more_ms) * 1000000;
}

static void on_ending(uv_timer_t *timer);

/* Sets exit code 1 if a child does not serve all addresses of the world file, even if the run reached its end time. */
static void judge_child(struct srv_server *server, const struct srv_supervisor *child, const char *what)
{
    if (child != NULL && !srv_supervisor_serves(child)) {
        char sentence[128];
        (void)snprintf(sentence, sizeof sentence, "not all addresses of %s were served: the exit code is 1", what);
        srv_server_say(NULL, sentence);
        server->exit_code = EXIT_FAILURE;
    }
}

void srv_server_close_handles(struct srv_server *server)
{
    judge_child(server, server->publisher, "`publish`");
    judge_child(server, server->gate, "`tls`");
    enter_phase(server, SRV_PHASE_CLOSING, 0);
    srv_server_hold_signals(SIG_BLOCK); /* its handles close: a signal would kill the process and leave its directory */
    if (server->publisher != NULL) {
        srv_supervisor_stop(server->publisher);
    }
    if (server->gate != NULL) {
        srv_supervisor_stop(server->gate);
    }
    if (server->web != NULL) {
        srv_supervisor_stop(server->web);
    }
    srv_control_stop(server->control);
    srv_checkpointer_stop(server->checkpointer);
    if (!srv_run_observer_stop(server->run_observer)) {
        server->exit_code = EXIT_FAILURE;
    }
    srv_command_queue_stop(server->command_queue);
    for (size_t i = 0; i < sizeof server->signals / sizeof *server->signals; i++) {
        uv_close((uv_handle_t *)&server->signals[i], NULL);
    }
    uv_close((uv_handle_t *)&server->watchdog, NULL);
    (void)uv_timer_start(&server->ending, on_ending, 0, ENDING_MS); /* this timer runs until the worker is idle */
    server->handles_open = false;
}

static void kill_child(const struct srv_supervisor *child)
{
    if (child != NULL && srv_supervisor_pid(child) != 0) {
        (void)kill(srv_supervisor_pid(child), SIGKILL);
    }
}

/* Ends the process when a thread is stuck in a plugin and cannot be joined; removes the runtime directory first. */
static void give_up(struct srv_server *server, const char *sentence)
{
    srv_server_say(NULL, sentence);
    kill_child(server->publisher);
    kill_child(server->gate);
    kill_child(server->web);
    srv_runtime_dir_release(&server->runtime);
    if (server->next == NULL) { /* otherwise the end is not marked, and the supervising parent restarts the world */
        srv_crash_page_ends(server->crash_page);
    }
    _exit(EXIT_FAILURE);
}

/*
 * Whether the worker is late at the end: a plugin has 3 s to return, checkpoints that are written have a minute together. Between two of
 * them the worker is idle.
 */
static bool worker_is_late(const struct srv_server *server)
{
    const bool writes = srv_worker_is_idle(&server->worker) || strncmp(srv_worker_doing(&server->worker), "checkpoint ", 11) == 0;
    return is_late(server, writes ? DISK_LIMIT_MS : WORKER_LIMIT_MS);
}

static void abandon_worker(struct srv_server *server)
{
    char sentence[256];
    (void)snprintf(sentence, sizeof sentence, "'%s' does not return (a stuck plugin or disk); the process ends without it",
                   srv_worker_doing(&server->worker));
    (void)srv_run_observer_stop(server->run_observer);
    give_up(server, sentence);
}

static void on_last_checkpoint(void *context, enum oto_status status, uint64_t tick, const char *text)
{
    struct srv_server *server = context;
    (void)tick;
    if (status != OTO_OK) {
        srv_server_say(NULL, text);
        server->exit_code = EXIT_FAILURE;
    }
}

static void on_ending(uv_timer_t *timer)
{
    struct srv_server *server = timer->data;
    (void)srv_wait_look(&server->phase_time, srv_now_ns());
    const bool late = is_late(server, 0);
    if (server->phase == SRV_PHASE_STOPPING) {
        if (has_ended(server)) {
            if (server->options->checkpoint_path != NULL) {
                srv_checkpointer_request(server->checkpointer, server->options->checkpoint_path, on_last_checkpoint,
                                         server);
            }
            enter_phase(server, SRV_PHASE_DRAINING, server->patient ? DRAIN_LIMIT_MS : 0);
        } else if (late) {
            give_up(server, "the tick thread did not stop within 4 seconds (a stuck plugin); the process ends without it");
        }
    } else if (server->phase == SRV_PHASE_DRAINING) {
        srv_checkpointer_retry(server->checkpointer);
        const bool saved = !srv_checkpointer_is_busy(server->checkpointer);
        if (saved && (late || !srv_control_lossless_pending(server->control))) {
            srv_server_close_handles(server);
        } else if (!saved && worker_is_late(server)) {
            abandon_worker(server);
        }
    } else if (srv_worker_is_idle(&server->worker)) {
        uv_close((uv_handle_t *)&server->ending, NULL);
    } else if (worker_is_late(server)) {
        abandon_worker(server);
    }
}

/* A request to end that comes while the run ends for a `restore` ends the process: the restored world does not run. */
static void forget_next(struct srv_server *server)
{
    if (server->next != NULL) {
        srv_server_destroy(server->next);
        server->next = NULL;
        srv_runtime_dir_retire(&server->runtime);
    }
}

void srv_server_end(struct srv_server *server, bool patient)
{
    if (server->phase == SRV_PHASE_DRAINING && !patient) {
        enter_phase(server, SRV_PHASE_DRAINING, 0); /* a second request to end: readers get no more time */
    }
    if (server->phase != SRV_PHASE_RUNNING) {
        forget_next(server);
        return;
    }
    if (server->next == NULL) {
        srv_runtime_dir_retire(&server->runtime);
    }
    server->patient = patient;
    if (!has_ended(server)) {
        const struct srv_command stop = {.kind = SRV_COMMAND_STOP};
        (void)srv_command_queue_send(server->command_queue, &stop, NULL, NULL);
    }
    enter_phase(server, SRV_PHASE_STOPPING, STOP_LIMIT_MS);
    (void)uv_timer_start(&server->ending, on_ending, 0, ENDING_MS);
}

void srv_server_on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    srv_server_end(signal->data, false);
}
