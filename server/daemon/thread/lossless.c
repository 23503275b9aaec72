#include <stdlib.h>

#include "sim/fifo.h"
#include "daemon/thread/engine_private.h"
#include "base/text.h"

#define READER_TIMEOUT_NS INT64_C(5000000000)
#define EVENT_MARGIN 64u /* most events that one tick is expected to write */
#define NEVER UINT64_MAX

/* Most records that one tick writes to a channel. */
static uint64_t records_per_tick(const struct srv_engine *engine, const struct oto_segment_channel *channel)
{
    if (channel->rate_num == 0) {
        return EVENT_MARGIN;
    }
    const struct srv_clock_config *clock = &engine->config->clock;
    const double ratio = (double)channel->rate_num / (double)channel->rate_den * (double)clock->rate_den /
                         (double)clock->rate_num;
    const uint64_t whole = (uint64_t)ratio;
    return (double)whole < ratio ? whole + 1 : whole;
}

/* Records that a FIFO may publish in the next tick in addition to the record of that tick. */
static uint64_t records_waiting(const struct srv_engine *engine, const struct oto_segment_channel *channel)
{
    const bool waits = channel->node_index < engine->sim->node_count && engine->sim->nodes[channel->node_index].fifo != NULL;
    return waits ? engine->sim->nodes[channel->node_index].fifo->samples - 1 : 0;
}

/* Ticks that may be made before a record of this channel would be overwritten unread. */
static uint64_t ticks_of_channel(const struct srv_engine *engine, uint32_t index, uint64_t next)
{
    const struct oto_segment_channel *channel = &engine->sim->store.directory[index];
    const struct oto_ring *ring =
        (const void *)((const unsigned char *)engine->sim->store.header + channel->ring_offset);
    const uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    const uint64_t unread = head + 1 > next ? head + 1 - next : 0;
    const uint64_t taken = unread + records_waiting(engine, channel);
    const uint64_t room = taken < channel->capacity ? channel->capacity - taken : 0;
    return room / records_per_tick(engine, channel);
}

static uint64_t ticks_of_reader(const struct srv_engine *engine, const struct srv_lossless_reader *reader)
{
    uint64_t ticks = NEVER;
    const uint32_t count = __atomic_load_n(&reader->count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t channel = __atomic_load_n(&reader->channels[i], __ATOMIC_RELAXED);
        const uint64_t next = __atomic_load_n(&reader->next[i], __ATOMIC_RELAXED);
        const uint64_t mine = ticks_of_channel(engine, channel, next);
        ticks = mine < ticks ? mine : ticks;
    }
    return ticks;
}

static uint64_t safe_ticks(const struct srv_engine *engine)
{
    uint64_t ticks = NEVER;
    for (uint32_t i = 0; i < SRV_LOSSLESS_READERS; i++) {
        const struct srv_lossless_reader *reader = &engine->lossless[i];
        if (__atomic_load_n(&reader->active, __ATOMIC_ACQUIRE) == 1) {
            const uint64_t mine = ticks_of_reader(engine, reader);
            ticks = mine < ticks ? mine : ticks;
        }
    }
    return ticks;
}

static void demote(struct srv_engine *engine)
{
    for (uint32_t i = 0; i < SRV_LOSSLESS_READERS; i++) {
        struct srv_lossless_reader *reader = &engine->lossless[i];
        uint32_t expected = 1;
        if (__atomic_load_n(&reader->active, __ATOMIC_ACQUIRE) != 1 || ticks_of_reader(engine, reader) != 0) {
            continue;
        }
        if (__atomic_compare_exchange_n(&reader->active, &expected, 2, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            char source[32];
            struct srv_text words = srv_text_begin(source, sizeof source);
            srv_text_add(&words, "lossless reader ");
            srv_text_add_u64(&words, i);
            srv_count(engine->sim, OTO_COUNTER_LOSSLESS_DEMOTED, 1);
            srv_event_write(engine->sim, OTO_EVENT_LOSSLESS_DEMOTED, 1, (int64_t)i, source,
                            "did not read for 5 s; the world goes on without waiting for it");
        }
    }
}

/* Waits for an acknowledge, a command or the next look at the readers' timeout. */
static void wait_for_readers(struct srv_engine *engine)
{
    engine->now_ns = srv_now_ns();
    if (!engine->lossless_late) {
        engine->lossless_late = true;
        engine->lossless_wait = srv_wait_begin(engine->now_ns);
        srv_count(engine->sim, OTO_COUNTER_LOSSLESS_WAITS, 1);
    }
    if (srv_wait_look(&engine->lossless_wait, engine->now_ns) >= READER_TIMEOUT_NS) {
        demote(engine);
        engine->lossless_late = false;
        return;
    }
    /* Wakes the readers that the thread waits for. An acknowledge after the flag is set wakes this thread. */
    srv_wake_readers(engine);
    __atomic_store_n(&engine->lossless_waiting, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&engine->lossless_epoch, __ATOMIC_SEQ_CST) == engine->lossless_seen_epoch) {
        srv_waiter_wait(&engine->waiter, engine->now_ns + SRV_WAIT_LOOK_NS / 2);
    }
    __atomic_store_n(&engine->lossless_waiting, 0, __ATOMIC_RELAXED);
}

bool srv_lossless_clear(struct srv_engine *engine)
{
    const uint64_t epoch = __atomic_load_n(&engine->lossless_epoch, __ATOMIC_ACQUIRE);
    if (epoch != engine->lossless_seen_epoch || engine->lossless_safe_ticks == 0) {
        engine->lossless_seen_epoch = epoch;
        engine->lossless_safe_ticks = safe_ticks(engine);
    }
    if (engine->lossless_safe_ticks == 0) {
        wait_for_readers(engine);
        return false;
    }
    engine->lossless_safe_ticks--;
    engine->lossless_late = false;
    return true;
}

/* ---- main thread ---- */

static void changed(struct srv_engine *engine)
{
    (void)__atomic_fetch_add(&engine->lossless_epoch, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&engine->lossless_waiting, __ATOMIC_SEQ_CST) != 0) {
        srv_waiter_wake(&engine->waiter);
    }
}

static bool has_room(struct srv_engine *engine, struct srv_lossless_reader *reader)
{
    if (reader->channels == NULL) {
        reader->channels = calloc(engine->sim->channel_count, sizeof *reader->channels);
    }
    if (reader->next == NULL) {
        reader->next = calloc(engine->sim->channel_count, sizeof *reader->next);
    }
    return reader->channels != NULL && reader->next != NULL;
}

bool srv_engine_lossless_extend(struct srv_engine *engine, int slot, const uint32_t *channels, uint32_t count)
{
    struct srv_lossless_reader *reader = &engine->lossless[slot];
    uint32_t used = __atomic_load_n(&reader->count, __ATOMIC_RELAXED);
    if (count > engine->sim->channel_count - used) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++, used++) {
        if (channels[i] >= engine->sim->channel_count) {
            return false;
        }
        const struct oto_segment_channel *channel = &engine->sim->store.directory[channels[i]];
        const struct oto_ring *ring =
            (const void *)((const unsigned char *)engine->sim->store.header + channel->ring_offset);
        /* The cursor starts after the newest record; the reader's first acknowledge sets its real cursor. */
        __atomic_store_n(&reader->channels[used], channels[i], __ATOMIC_RELAXED);
        __atomic_store_n(&reader->next[used], __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) + 1, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&reader->count, used, __ATOMIC_RELEASE);
    changed(engine);
    return true;
}

int srv_engine_lossless_begin(struct srv_engine *engine, const uint32_t *channels, uint32_t count)
{
    for (int slot = 0; slot < SRV_LOSSLESS_READERS; slot++) {
        struct srv_lossless_reader *reader = &engine->lossless[slot];
        if (__atomic_load_n(&reader->active, __ATOMIC_ACQUIRE) != 0 || !has_room(engine, reader)) {
            continue;
        }
        __atomic_store_n(&reader->count, 0, __ATOMIC_RELAXED);
        if (!srv_engine_lossless_extend(engine, slot, channels, count)) {
            return -1;
        }
        __atomic_store_n(&reader->active, 1, __ATOMIC_RELEASE);
        changed(engine);
        return slot;
    }
    return -1;
}

void srv_engine_lossless_acknowledge(struct srv_engine *engine, int slot, uint32_t first, const uint64_t *next, uint32_t count)
{
    if (slot < 0 || slot >= SRV_LOSSLESS_READERS) {
        return;
    }
    struct srv_lossless_reader *reader = &engine->lossless[slot];
    const uint32_t known = __atomic_load_n(&reader->count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < count && first + i < known; i++) {
        __atomic_store_n(&reader->next[first + i], next[i], __ATOMIC_RELAXED);
    }
    changed(engine);
}

void srv_engine_lossless_end(struct srv_engine *engine, int slot)
{
    if (slot >= 0 && slot < SRV_LOSSLESS_READERS) {
        __atomic_store_n(&engine->lossless[slot].active, 0, __ATOMIC_RELEASE);
        changed(engine);
    }
}

void srv_lossless_finish(struct srv_engine *engine)
{
    for (int slot = 0; slot < SRV_LOSSLESS_READERS; slot++) {
        free(engine->lossless[slot].channels);
        free(engine->lossless[slot].next);
    }
}
