#include "daemon/thread/journal.h"

#include <stdlib.h>

#include "daemon/thread/engine_private.h"

#define NO_ROOM_NS 1000000
#define ROOM_FOR_COMMANDS 64u

/* ---- [loop] ---- */

static enum oto_status make_queue(struct srv_queue *queue, size_t item_bytes, struct oto_error *error)
{
    queue->capacity = SRV_JOURNAL_RECORDS;
    queue->item_bytes = item_bytes;
    queue->items = calloc(queue->capacity, item_bytes);
    return queue->items != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for the journal of a run");
}

enum oto_status srv_journal_make(struct srv_engine *engine, struct oto_error *error)
{
    const struct srv_engine_options *options = &engine->options;
    enum oto_status status = OTO_OK;
    if (options->journal_every > 0) {
        engine->journal = srv_state_alloc(sizeof *engine->journal);
        status = engine->journal != NULL
                     ? make_queue(&engine->journal->queue, sizeof(struct srv_journal_record), error)
                     : oto_fail(error, OTO_NO_MEMORY, "no memory for the journal of a run");
    }
    if (status == OTO_OK && options->journal_every > 0) {
        engine->journal->every = options->journal_every;
    }
    if (status == OTO_OK && options->replay) {
        engine->inputs = &srv_inputs_of_log;
        engine->logged = srv_state_alloc(sizeof *engine->logged);
        status = engine->logged != NULL ? make_queue(&engine->logged->queue, sizeof(struct srv_participant_input), error)
                                        : oto_fail(error, OTO_NO_MEMORY, "no memory for a replay");
    }
    return status;
}

void srv_journal_drop(struct srv_engine *engine)
{
    if (engine->journal != NULL) {
        free(engine->journal->queue.items);
        free(engine->journal);
        engine->journal = NULL;
    }
    if (engine->logged != NULL) {
        free(engine->logged->queue.items);
        free(engine->logged);
        engine->logged = NULL;
    }
}

bool srv_engine_take_record(struct srv_engine *engine, struct srv_journal_record *record)
{
    return engine->journal != NULL && srv_queue_pop(&engine->journal->queue, record);
}

uint64_t srv_engine_records_lost(const struct srv_engine *engine)
{
    return engine->journal != NULL ? __atomic_load_n(&engine->journal->lost, __ATOMIC_RELAXED) : 0;
}

bool srv_engine_takes_input(const struct srv_engine *engine, const struct srv_participant_input *input)
{
    if (input->vehicle >= engine->sim->vehicle_count || input->participant >= engine->participants.count) {
        return false;
    }
    const struct srv_vehicle_config *vehicle = &engine->config->vehicles[input->vehicle];
    if (input->kind == SRV_INPUT_CONTROLS) {
        return vehicle->controller == input->participant + 1 && srv_controls_are_finite(input->controls);
    }
    if (vehicle->participant != input->participant + 1) {
        return false;
    }
    return oto_record_is_finite(engine->sim->truth_runs, engine->sim->truth_run_count, &input->external.truth);
}

bool srv_engine_feed(struct srv_engine *engine, const struct srv_participant_input *input)
{
    return srv_queue_push(&engine->logged->queue, input);
}

void srv_engine_allow(struct srv_engine *engine, uint64_t tick)
{
    struct srv_logged_inputs *logged = engine->logged;
    if (tick > __atomic_load_n(&logged->horizon, __ATOMIC_RELAXED)) {
        __atomic_store_n(&logged->horizon, tick, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&logged->waits, __ATOMIC_SEQ_CST) != 0) {
            srv_waiter_wake(&engine->waiter);
        }
    }
}

/* ---- [tick]: telling ---- */

static uint64_t used(const struct srv_queue *queue)
{
    return queue->tail - __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE);
}

static void tell(struct srv_engine *engine, const struct srv_journal_record *record)
{
    struct srv_journal *journal = engine->journal;
    if (!srv_queue_push(&journal->queue, record)) {
        __atomic_fetch_add(&journal->lost, 1, __ATOMIC_RELAXED);
    } else if (used(&journal->queue) == journal->queue.capacity / 2) {
        srv_notify_main(engine);
    }
}

void srv_journal_command(struct srv_engine *engine, const struct srv_command *command, const struct srv_reply *reply)
{
    if (engine->journal == NULL || !srv_journal_tells(command->kind)) {
        return;
    }
    const struct srv_journal_record record = {.kind = SRV_JOURNAL_COMMAND,
                                              .command = (uint32_t)command->kind,
                                              .status = (uint32_t)reply->status,
                                              .paced = engine->sim->paced,
                                              .tick = engine->sim->tick,
                                              .id = command->id};
    tell(engine, &record);
    srv_notify_main(engine); /* a replay waits for this record */
}

void srv_journal_input(struct srv_engine *engine, const struct srv_participant_input *input)
{
    if (engine->journal != NULL) {
        struct srv_journal_record record = {.kind = SRV_JOURNAL_INPUT, .tick = engine->sim->tick};
        record.input = *input;
        tell(engine, &record);
    }
}

void srv_journal_slow(struct srv_engine *engine, uint32_t node)
{
    if (engine->journal != NULL) {
        const struct srv_journal_record record = {.kind = SRV_JOURNAL_SLOW, .node = node, .tick = engine->sim->tick};
        tell(engine, &record);
    }
}

void srv_journal_hashes(struct srv_engine *engine)
{
    struct srv_journal_record record = {
        .kind = SRV_JOURNAL_HASHES_BEGIN, .tick = engine->sim->tick, .chain = engine->sim->chain, .count = engine->sim->node_count};
    if (engine->journal == NULL) {
        return;
    }
    tell(engine, &record);
    record.kind = SRV_JOURNAL_NODES;
    for (record.node = 0; record.node < engine->sim->node_count; record.node += record.count) {
        for (record.count = 0; record.count < SRV_JOURNAL_HASHES && record.node + record.count < engine->sim->node_count;
             record.count++) {
            record.hashes[record.count] = srv_sim_node_hash(engine->sim, &engine->sim->nodes[record.node + record.count]);
        }
        tell(engine, &record);
    }
}

void srv_journal_tick(struct srv_engine *engine)
{
    if (engine->journal != NULL && engine->sim->tick % engine->journal->every == 0) {
        srv_journal_hashes(engine);
    }
}

bool srv_journal_clear(struct srv_engine *engine)
{
    if (engine->journal == NULL) {
        return true;
    }
    const struct srv_queue *queue = &engine->journal->queue;
    const uint64_t most = (uint64_t)ROOM_FOR_COMMANDS + engine->sim->vehicle_count + engine->sim->node_count / SRV_JOURNAL_HASHES + 2;
    if (used(queue) + most <= queue->capacity || used(queue) == 0) {
        return true;
    }
    srv_notify_main(engine);
    srv_waiter_wait(&engine->waiter, srv_now_ns() + NO_ROOM_NS);
    return false;
}

/* ---- [tick]: inputs from the log ---- */

static bool allows(struct srv_engine *engine)
{
    return engine->sim->tick < __atomic_load_n(&engine->logged->horizon, __ATOMIC_ACQUIRE);
}

static void wait(struct srv_engine *engine)
{
    struct srv_logged_inputs *logged = engine->logged;
    __atomic_store_n(&logged->waits, 1, __ATOMIC_SEQ_CST);
    if (engine->sim->tick >= __atomic_load_n(&logged->horizon, __ATOMIC_SEQ_CST)) {
        srv_notify_main(engine);
        if (engine->wake_pending) {
            srv_wake_readers(engine);
        }
        srv_waiter_wait(&engine->waiter, SRV_WAIT_FOR_EVER);
        engine->anchored = false; /* the wait for inputs of the log makes no tick late */
    }
    __atomic_store_n(&logged->waits, 0, __ATOMIC_RELAXED);
}

static bool clear(struct srv_engine *engine)
{
    (void)engine;
    return true;
}

static void apply(struct srv_engine *engine)
{
    struct srv_queue *queue = &engine->logged->queue;
    const struct srv_participant_input *next;
    while (!srv_queue_is_empty(queue)) {
        next = (const struct srv_participant_input *)(const void *)(queue->items +
                                                                    (queue->head & (queue->capacity - 1)) * queue->item_bytes);
        if (next->tick != engine->sim->tick) {
            return;
        }
        struct srv_participant_input input;
        (void)srv_queue_pop(queue, &input);
        srv_participant_apply(engine, &input);
    }
}

static void grant(struct srv_engine *engine)
{
    (void)engine;
}

static const char *refuse_mode(const struct srv_engine *engine, enum oto_clock_mode mode)
{
    (void)engine;
    return mode == OTO_MODE_LOCKSTEP || mode == OTO_MODE_EXTERNAL
               ? "a replay follows its log: modes realtime, asap and step are accepted"
               : NULL;
}

static enum oto_status join(struct srv_engine *engine, struct srv_mailbox *mailbox, const char **reason)
{
    (void)engine;
    (void)mailbox;
    *reason = "this is a replay: what participants gave comes from its log";
    return OTO_UNSUPPORTED;
}

const struct srv_input_source srv_inputs_of_log = {allows, wait, clear, apply, grant, refuse_mode, join};
