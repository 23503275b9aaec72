#include "daemon/log/replay_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log/run_observer.h"
#include "daemon/thread/journal.h"

#define EXPECTED_MOST 1024u
#define TRUTH_WORDS (sizeof(struct oto_truth_record) / 8)

void srv_replay_attach(struct srv_replay *replay, struct srv_engine *engine, struct srv_command_queue *command_queue)
{
    replay->engine = engine;
    replay->command_queue = command_queue;
}

static uint64_t tick_now(const struct srv_replay *replay)
{
    struct oto_clock clock = {0};
    (void)oto_segment_clock(srv_engine_segment(replay->engine), &clock);
    return clock.tick;
}

/* Ends the replay at the current tick, because the run cannot follow the log any further. */
static void give_up(struct srv_replay *replay, const char *why)
{
    char sentence[600];
    (void)snprintf(sentence, sizeof sentence, "the replay ends at tick %" PRIu64 ": %s", tick_now(replay), why);
    replay->warn(replay->warn_context, sentence);
    replay->failed = true;
    replay->read_all = true;
    replay->has_line = false;
    replay->last_tick = tick_now(replay);
}

/* ---- lines ---- */

static bool take_input(const struct oto_run_log_line *line, struct srv_participant_input *input)
{
    uint64_t participant, vehicle, flags = 0, words[TRUTH_WORDS];
    memset(input, 0, sizeof *input);
    if (!oto_run_log_number(line, "participant", &participant) || !oto_run_log_number(line, "vehicle", &vehicle) ||
        participant > UINT32_MAX || vehicle > UINT32_MAX) {
        return false;
    }
    input->tick = line->tick;
    input->participant = (uint32_t)participant;
    input->vehicle = (uint32_t)vehicle;
    if (oto_run_log_truth(line, "held")) {
        input->kind = SRV_INPUT_HELD;
        return true;
    }
    if (oto_run_log_words(line, "controls", words, OTO_CONTROLS)) {
        input->kind = SRV_INPUT_CONTROLS;
        memcpy(input->controls, words, sizeof input->controls);
        return true;
    }
    input->external.alone = oto_run_log_truth(line, "alone");
    const bool whole = oto_run_log_number(line, "from", &input->external.from_tick) &&
                       oto_run_log_number(line, "to", &input->external.to_tick) && oto_run_log_number(line, "flags", &flags) &&
                       oto_run_log_words(line, "truth", words, TRUTH_WORDS);
    input->external.flags = (uint32_t)flags;
    memcpy(&input->external.truth, words, whole ? sizeof words : 0);
    return whole && input->external.from_tick <= line->tick && input->external.to_tick > line->tick;
}

static const char *check_input(const struct srv_replay *replay, const struct srv_participant_input *input)
{
    return srv_engine_takes_input(replay->engine, input)
               ? NULL
               : "an input is for a vehicle that no such participant of this world moves or controls, or is not finite";
}

/* Injects the input of the current line. False: the engine's queue is full, and the line waits. */
static bool feed(struct srv_replay *replay)
{
    struct srv_participant_input input;
    const bool whole = take_input(&replay->line, &input);
    const char *wrong = whole ? check_input(replay, &input) : "an input is not whole";
    if (wrong != NULL) {
        struct oto_error error;
        (void)oto_run_log_wrong(replay->reader, &error, OTO_CORRUPT, "%s", wrong);
        give_up(replay, error.text);
        return true;
    }
    return srv_engine_feed(replay->engine, &input);
}

static bool expect(struct srv_replay *replay, uint32_t count)
{
    struct srv_expected *expected =
        replay->expected_count < EXPECTED_MOST ? calloc(1, sizeof *expected + count * sizeof(uint64_t)) : NULL;
    if (expected == NULL) {
        return false;
    }
    expected->tick = replay->line.tick;
    expected->count = count;
    replay->first_tick = replay->has_first ? replay->first_tick : expected->tick;
    replay->has_first = true;
    if (!oto_run_log_word(&replay->line, "chain", &expected->chain) ||
        (count > 0 && !oto_run_log_words(&replay->line, "nodes", expected->nodes, count))) {
        struct oto_error error;
        (void)oto_run_log_wrong(replay->reader, &error, OTO_CORRUPT, "hashes are not whole");
        free(expected);
        give_up(replay, error.text);
        return true;
    }
    *replay->last = expected;
    replay->last = &expected->next;
    replay->expected_count++;
    return true;
}

/* Carries out the action of the current line. False: the engine has not reached the action's tick. */
static bool act(struct srv_replay *replay)
{
    struct oto_error error = {0};
    if (tick_now(replay) < replay->line.tick) {
        return false;
    }
    srv_command_queue_poll(replay->command_queue); /* takes replies, which update the plugins of the nodes */
    if (srv_replay_act(replay, &error) != OTO_OK) {
        give_up(replay, error.text);
        return true;
    }
    replay->actions++;
    return true;
}

static bool deal_with_line(struct srv_replay *replay)
{
    const char *entry = replay->line.entry;
    if (replay->line.has_tick) {
        srv_engine_allow(replay->engine, replay->line.tick);
    }
    if (strcmp(entry, "input") == 0) {
        return feed(replay);
    }
    if (strcmp(entry, "hashes") == 0) {
        return expect(replay, srv_engine_node_count(replay->engine));
    }
    if (strcmp(entry, "lost") == 0) {
        replay->warn(replay->warn_context, "the log is incomplete from here on: what comes may not be what was");
        return true;
    }
    return !srv_replay_is_action(&replay->line) || act(replay);
}

static bool read_line(struct srv_replay *replay)
{
    struct oto_error error = {0};
    const enum oto_status status = oto_run_log_next(replay->reader, &replay->line, &error);
    replay->has_line = status == OTO_OK;
    replay->read_all = status != OTO_OK;
    if (status == OTO_OK) {
        replay->last_tick = replay->line.tick;
    } else if (status != OTO_CLOSED) {
        give_up(replay, error.text);
    } else if (oto_run_log_was_cut(replay->reader)) {
        replay->warn(replay->warn_context, "the log was cut off in its last line: it is followed as far as it goes");
    }
    return true;
}

/* A log without ticks is at its end before the world, which began paused, is resumed. */
static bool waits_for_resume(const struct srv_replay *replay)
{
    const struct oto_segment_header *header = srv_engine_segment(replay->engine);
    const uint32_t state = __atomic_load_n(&header->state, __ATOMIC_ACQUIRE);
    const uint32_t mode = __atomic_load_n(&header->mode, __ATOMIC_ACQUIRE);
    return state == OTO_SERVER_INIT || (state == OTO_SERVER_PAUSED && mode != OTO_MODE_STEP);
}

static bool finish(struct srv_replay *replay)
{
    const struct srv_command stop = {.kind = SRV_COMMAND_STOP};
    srv_engine_allow(replay->engine, replay->last_tick);
    if (tick_now(replay) >= replay->last_tick && !waits_for_resume(replay)) {
        replay->stopped = true;
        (void)srv_command_queue_send(replay->command_queue, &stop, NULL, NULL);
    }
    return false;
}

void srv_replay_go_on(struct srv_replay *replay)
{
    bool more = true;
    while (more && !replay->stopped && !replay->awaits) {
        if (replay->has_line) {
            more = deal_with_line(replay);
            replay->has_line = replay->has_line && !more;
        } else {
            more = replay->read_all ? finish(replay) : read_line(replay);
        }
    }
}

/* ---- replies ---- */

void srv_replay_sent(struct srv_replay *replay, uint64_t id)
{
    replay->sent_id = id;
}

void srv_replay_taken(struct srv_replay *replay, uint64_t id, enum oto_status status)
{
    if (!replay->awaits || id != replay->sent_id) {
        return;
    }
    replay->awaits = false;
    if (status != OTO_OK) {
        replay->warn(replay->warn_context, "the world refused an action of the log");
    }
}

/* Adds the names of nodes whose hashes differ, at most three, so that the sentence stays short. */
static void name_nodes(const struct srv_replay *replay, const struct srv_expected *expected,
                       const struct srv_hashes *hashes, char *text, size_t bytes)
{
    uint32_t named = 0;
    for (uint32_t i = 0; i < expected->count && i < hashes->count && named < 3; i++) {
        if (expected->nodes[i] != hashes->nodes[i]) {
            const size_t used = strlen(text);
            (void)snprintf(text + used, bytes - used, "%s%s", named++ > 0 ? ", " : "; it is seen in ",
                           srv_engine_node_setup(replay->engine, i)->node);
        }
    }
}

static void say_difference(struct srv_replay *replay, const struct srv_expected *expected,
                           const struct srv_hashes *hashes)
{
    char sentence[600];
    (void)snprintf(sentence, sizeof sentence, "the replay is not what was logged: at tick %" PRIu64 " the hash is %016" PRIx64
                   ", and was %016" PRIx64, hashes->tick, hashes->chain, expected->chain);
    name_nodes(replay, expected, hashes, sentence, sizeof sentence);
    replay->warn(replay->warn_context, sentence);
    replay->differs = true;
}

void srv_replay_compare(struct srv_replay *replay, const struct srv_hashes *hashes)
{
    while (replay->first != NULL && replay->first->tick <= hashes->tick) {
        struct srv_expected *expected = replay->first;
        if (expected->tick == hashes->tick && expected->chain != hashes->chain && !replay->differs) {
            say_difference(replay, expected, hashes);
        }
        const bool due = expected->tick == hashes->tick;
        replay->compared += due;
        replay->compared_tick = due ? expected->tick : replay->compared_tick;
        replay->first = expected->next;
        replay->last = replay->first == NULL ? &replay->first : replay->last;
        replay->expected_count--;
        free(expected);
    }
}

bool srv_replay_end(struct srv_replay *replay)
{
    const bool good = !replay->differs && !replay->failed;
    const uint64_t tick = tick_now(replay);
    (void)fprintf(stderr, "otolithd: replayed %" PRIu64 " ticks and %" PRIu64 " actions%s: %s\n",
                  tick > replay->first_tick ? tick - replay->first_tick : 0, replay->actions,
                  replay->read_all && tick >= replay->last_tick ? "" : ", not to the log's end",
                  replay->differs      ? "NOT what was logged"
                  : replay->compared > 0 ? "the same as logged, to the last bit"
                                         : "there was no hash to compare");
    return good;
}
