#include "daemon/log/chronicle.h"

#include <stdlib.h>

#include "daemon/thread/journal.h"

#define LOOK_MS 100 /* period of writing: a crash loses at most this */

struct srv_chronicle {
    struct srv_engine *engine;
    struct srv_courier *courier;
    struct srv_log_writer *log;
    struct srv_replay *replay;
    uv_timer_t timer;
    struct srv_hashes hashes; /* hashes that are being received; `nodes` is owned */
    uint64_t *nodes;
    uint32_t expected, arrived;
    uint64_t lost;
    bool stopped, busy;
};

static void take_hashes(struct srv_chronicle *chronicle, const struct srv_journal_record *record)
{
    if (record->kind == SRV_JOURNAL_HASHES_BEGIN) {
        chronicle->hashes = (struct srv_hashes){record->tick, record->chain, record->count, chronicle->nodes};
        chronicle->arrived = 0;
        return;
    }
    for (uint32_t i = 0; i < record->count && record->node + i < chronicle->expected; i++) {
        chronicle->nodes[record->node + i] = record->hashes[i];
    }
    chronicle->arrived += record->tick == chronicle->hashes.tick ? record->count : 0;
    if (chronicle->arrived != chronicle->expected) {
        return;
    }
    if (chronicle->log != NULL) {
        srv_log_writer_hashes(chronicle->log, &chronicle->hashes);
    }
    if (chronicle->replay != NULL) {
        srv_replay_compare(chronicle->replay, &chronicle->hashes);
    }
}

static void take(struct srv_chronicle *chronicle, const struct srv_journal_record *record)
{
    if (record->kind == SRV_JOURNAL_HASHES_BEGIN || record->kind == SRV_JOURNAL_NODES) {
        take_hashes(chronicle, record);
        return;
    }
    if (chronicle->log != NULL) {
        srv_log_writer_record(chronicle->log, record);
    }
    if (chronicle->replay != NULL && record->kind == SRV_JOURNAL_COMMAND) {
        srv_replay_taken(chronicle->replay, record->id, (enum oto_status)record->status);
    }
}

static void drain(struct srv_chronicle *chronicle)
{
    struct srv_journal_record record;
    while (srv_engine_take_record(chronicle->engine, &record)) {
        take(chronicle, &record);
    }
    const uint64_t lost = srv_engine_records_lost(chronicle->engine);
    if (lost != chronicle->lost && chronicle->log != NULL) {
        srv_log_writer_lost(chronicle->log, lost - chronicle->lost);
    }
    chronicle->lost = lost;
}

static void on_sent(void *context, const struct srv_command *command)
{
    struct srv_chronicle *chronicle = context;
    if (!srv_journal_tells(command->kind)) {
        return;
    }
    if (chronicle->log != NULL) {
        srv_log_writer_sent(chronicle->log, command);
    }
    if (chronicle->replay != NULL) {
        srv_replay_sent(chronicle->replay, command->id);
    }
}

/* A replay polls the courier itself, so it must not be entered twice. */
static void go_on(struct srv_chronicle *chronicle)
{
    if (chronicle->replay != NULL && !chronicle->busy && !chronicle->stopped) {
        chronicle->busy = true;
        srv_replay_go_on(chronicle->replay);
        chronicle->busy = false;
    }
}

/* The replay reads ahead first, because hashes are compared as they arrive. */
static void on_polled(void *context)
{
    struct srv_chronicle *chronicle = context;
    go_on(chronicle);
    drain(chronicle);
    go_on(chronicle);
}

static void on_timer(uv_timer_t *timer)
{
    struct srv_chronicle *chronicle = timer->data;
    on_polled(chronicle);
    if (chronicle->log != NULL) {
        srv_log_writer_flush(chronicle->log);
    }
}

enum oto_status srv_chronicle_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_courier *courier,
                                     struct srv_log_writer *log, struct srv_replay *replay,
                                     struct srv_chronicle **out, struct oto_error *error)
{
    struct srv_chronicle *chronicle = calloc(1, sizeof *chronicle);
    uint64_t *nodes = calloc((size_t)srv_engine_node_count(engine) + 1, sizeof *nodes);
    if (chronicle == NULL || nodes == NULL) {
        free(chronicle);
        free(nodes);
        srv_log_writer_destroy(log);
        srv_replay_destroy(replay);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the log of the run");
    }
    *chronicle = (struct srv_chronicle){.engine = engine,
                                        .courier = courier,
                                        .log = log,
                                        .replay = replay,
                                        .nodes = nodes,
                                        .expected = srv_engine_node_count(engine)};
    const struct srv_courier_observer observer = {chronicle, on_sent, on_polled};
    srv_courier_observe(courier, &observer);
    if (replay != NULL) {
        srv_replay_attach(replay, engine, courier);
    }
    (void)uv_timer_init(loop, &chronicle->timer);
    chronicle->timer.data = chronicle;
    (void)uv_timer_start(&chronicle->timer, on_timer, LOOK_MS, LOOK_MS);
    *out = chronicle;
    return OTO_OK;
}

bool srv_chronicle_stop(struct srv_chronicle *chronicle)
{
    if (chronicle == NULL || chronicle->stopped) {
        return true;
    }
    chronicle->stopped = true;
    drain(chronicle);
    const bool whole = chronicle->log == NULL || srv_log_writer_end(chronicle->log);
    uv_close((uv_handle_t *)&chronicle->timer, NULL);
    const bool same = chronicle->replay == NULL || srv_replay_end(chronicle->replay);
    return whole && same;
}

void srv_chronicle_destroy(struct srv_chronicle *chronicle)
{
    if (chronicle == NULL) {
        return;
    }
    srv_log_writer_destroy(chronicle->log);
    srv_replay_destroy(chronicle->replay);
    free(chronicle->nodes);
    free(chronicle);
}
