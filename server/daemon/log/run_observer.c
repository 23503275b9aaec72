#include "daemon/log/run_observer.h"

#include <stdlib.h>

#include "daemon/thread/journal.h"

#define LOOK_MS 100 /* period of writing: a crash loses at most the last 100 ms of the log */

struct srv_run_observer {
    struct srv_engine *engine;
    struct srv_command_queue *command_queue;
    struct srv_log_writer *log;
    struct srv_replay *replay;
    uv_timer_t timer;
    struct srv_hashes hashes; /* hashes that are being received; `nodes` is owned */
    uint64_t *nodes;
    uint32_t expected, arrived;
    uint64_t lost;
    bool stopped, busy;
};

static void take_hashes(struct srv_run_observer *run_observer, const struct srv_journal_record *record)
{
    if (record->kind == SRV_JOURNAL_HASHES_BEGIN) {
        run_observer->hashes = (struct srv_hashes){record->tick, record->chain, record->count, run_observer->nodes};
        run_observer->arrived = 0;
        return;
    }
    for (uint32_t i = 0; i < record->count && record->node + i < run_observer->expected; i++) {
        run_observer->nodes[record->node + i] = record->hashes[i];
    }
    run_observer->arrived += record->tick == run_observer->hashes.tick ? record->count : 0;
    if (run_observer->arrived != run_observer->expected) {
        return;
    }
    if (run_observer->log != NULL) {
        srv_log_writer_hashes(run_observer->log, &run_observer->hashes);
    }
    if (run_observer->replay != NULL) {
        srv_replay_compare(run_observer->replay, &run_observer->hashes);
    }
}

static void take(struct srv_run_observer *run_observer, const struct srv_journal_record *record)
{
    if (record->kind == SRV_JOURNAL_HASHES_BEGIN || record->kind == SRV_JOURNAL_NODES) {
        take_hashes(run_observer, record);
        return;
    }
    if (run_observer->log != NULL) {
        srv_log_writer_record(run_observer->log, record);
    }
    if (run_observer->replay != NULL && record->kind == SRV_JOURNAL_COMMAND) {
        srv_replay_taken(run_observer->replay, record->id, (enum oto_status)record->status);
    }
}

static void drain(struct srv_run_observer *run_observer)
{
    struct srv_journal_record record;
    while (srv_engine_take_record(run_observer->engine, &record)) {
        take(run_observer, &record);
    }
    const uint64_t lost = srv_engine_records_lost(run_observer->engine);
    if (lost != run_observer->lost && run_observer->log != NULL) {
        srv_log_writer_lost(run_observer->log, lost - run_observer->lost);
    }
    run_observer->lost = lost;
}

static void on_sent(void *context, const struct srv_command *command)
{
    struct srv_run_observer *run_observer = context;
    if (!srv_journal_tells(command->kind)) {
        return;
    }
    if (run_observer->log != NULL) {
        srv_log_writer_sent(run_observer->log, command);
    }
    if (run_observer->replay != NULL) {
        srv_replay_sent(run_observer->replay, command->id);
    }
}

/* srv_replay_go_on polls the command queue, which may call this function again: `busy` prevents a second entry. */
static void go_on(struct srv_run_observer *run_observer)
{
    if (run_observer->replay != NULL && !run_observer->busy && !run_observer->stopped) {
        run_observer->busy = true;
        srv_replay_go_on(run_observer->replay);
        run_observer->busy = false;
    }
}

/* The replay reads the log first, so that it knows the expected hashes before the hashes of the run arrive. */
static void on_polled(void *context)
{
    struct srv_run_observer *run_observer = context;
    go_on(run_observer);
    drain(run_observer);
    go_on(run_observer);
}

void srv_run_observer_flush(struct srv_run_observer *run_observer)
{
    if (run_observer != NULL && run_observer->log != NULL && !run_observer->stopped) {
        drain(run_observer);
        srv_log_writer_flush(run_observer->log);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct srv_run_observer *run_observer = timer->data;
    on_polled(run_observer);
    srv_run_observer_flush(run_observer);
}

enum oto_status srv_run_observer_create(uv_loop_t *loop, struct srv_engine *engine,
                                        struct srv_command_queue *command_queue, struct srv_log_writer *log,
                                        struct srv_replay *replay, struct srv_run_observer **out,
                                        struct oto_error *error)
{
    struct srv_run_observer *run_observer = calloc(1, sizeof *run_observer);
    uint64_t *nodes = calloc((size_t)srv_engine_node_count(engine) + 1, sizeof *nodes);
    if (run_observer == NULL || nodes == NULL) {
        free(run_observer);
        free(nodes);
        srv_log_writer_destroy(log);
        srv_replay_destroy(replay);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the log of the run");
    }
    *run_observer = (struct srv_run_observer){.engine = engine,
                                              .command_queue = command_queue,
                                              .log = log,
                                              .replay = replay,
                                              .nodes = nodes,
                                              .expected = srv_engine_node_count(engine)};
    const struct srv_command_queue_observer observer = {run_observer, on_sent, on_polled};
    srv_command_queue_observe(command_queue, &observer);
    if (replay != NULL) {
        srv_replay_attach(replay, engine, command_queue);
    }
    (void)uv_timer_init(loop, &run_observer->timer);
    run_observer->timer.data = run_observer;
    (void)uv_timer_start(&run_observer->timer, on_timer, LOOK_MS, LOOK_MS);
    *out = run_observer;
    return OTO_OK;
}

bool srv_run_observer_stop(struct srv_run_observer *run_observer)
{
    if (run_observer == NULL || run_observer->stopped) {
        return true;
    }
    run_observer->stopped = true;
    drain(run_observer);
    const bool whole = run_observer->log == NULL || srv_log_writer_end(run_observer->log);
    uv_close((uv_handle_t *)&run_observer->timer, NULL);
    const bool same = run_observer->replay == NULL || srv_replay_end(run_observer->replay);
    return whole && same;
}

void srv_run_observer_destroy(struct srv_run_observer *run_observer)
{
    if (run_observer == NULL) {
        return;
    }
    srv_log_writer_destroy(run_observer->log);
    srv_replay_destroy(run_observer->replay);
    free(run_observer->nodes);
    free(run_observer);
}
