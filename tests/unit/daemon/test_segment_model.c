/*
 * The protocols of the segment under the memory order of C11, all of it: the server's writers and the readers of
 * segment.h and libotolith, compiled against a model of memory (weak_memory.h). What a lock or a fence is for is seen by
 * taking it away.
 */
#include "oto_test.h"

#include "otolith/client.h"
#include "sim/ring_writer.h"
#include "weak_memory.h"

static uint64_t word_of(uint64_t seq, uint64_t index)
{
    return seq * UINT64_C(0x9e3779b97f4a7c15) + index;
}

/* ---- rings: records of one word, in two slots ---- */

#define SLOTS 2u
#define STRIDE 64u
#define READS 4

static _Alignas(64) unsigned char memory[sizeof(struct oto_ring) + SLOTS * STRIDE];
static const struct oto_segment_channel ring_channel = {.capacity = SLOTS, .slot_stride = STRIDE, .payload_bytes = 8};

struct ring_story {
    uint64_t records; /* that the writer writes */
    uint64_t asked;   /* by read_one */
    /* what a run of the reader came to */
    uint64_t newest;
    struct {
        enum oto_status status;
        uint64_t newest; /* before it was read */
        struct oto_sample_head head;
        uint64_t word;
    } reads[READS];
    struct oto_cursor cursor;
};

static void write_ring(void *context)
{
    const struct ring_story *story = context;
    struct srv_ring ring = srv_ring_make(memory, &ring_channel);
    for (uint64_t seq = 1; seq <= story->records; seq++) {
        struct oto_sample_head head = {.t_ns = (int64_t)seq, .sensor_time_ns = -(int64_t)seq, .flags = (uint32_t)seq};
        const uint64_t word = word_of(seq, 0);
        srv_ring_push(&ring, &head, &word);
    }
}

static bool is_whole(const struct oto_sample_head *head, uint64_t word, uint64_t seq)
{
    return head->seq == seq && head->t_ns == (int64_t)seq && head->sensor_time_ns == -(int64_t)seq &&
           head->flags == seq && head->bytes == 8 && word == word_of(seq, 0);
}

static void read_one(void *context)
{
    struct ring_story *story = context;
    const struct oto_ring_view view = oto_ring_view_make(memory, &ring_channel);
    story->reads[0].status = oto_ring_read_at(&view, story->asked, &story->reads[0].head, &story->reads[0].word);
}

static bool one_is_whole(const void *context)
{
    const struct ring_story *story = context;
    return story->reads[0].status != OTO_OK ||
           is_whole(&story->reads[0].head, story->reads[0].word, story->asked);
}

static void read_newest(void *context)
{
    struct ring_story *story = context;
    const struct oto_ring_view view = oto_ring_view_make(memory, &ring_channel);
    story->newest = oto_ring_newest(&view);
    if (story->newest > 0) {
        story->reads[0].status = oto_ring_read_at(&view, story->newest, &story->reads[0].head, &story->reads[0].word);
    }
}

/* What the head tells of has been written: it may be overwritten, but not be still to come. */
static bool newest_is_there(const void *context)
{
    const struct ring_story *story = context;
    return story->newest == 0 || story->reads[0].status == OTO_LAPPED ||
           (story->reads[0].status == OTO_OK && is_whole(&story->reads[0].head, story->reads[0].word, story->newest));
}

static void read_latest(void *context)
{
    struct ring_story *story = context;
    const struct oto_ring_view view = oto_ring_view_make(memory, &ring_channel);
    story->reads[0].status = oto_ring_latest(&view, &story->reads[0].head, &story->reads[0].word);
}

static bool latest_is_whole(const void *context)
{
    const struct ring_story *story = context;
    return story->reads[0].status != OTO_OK ||
           is_whole(&story->reads[0].head, story->reads[0].word, story->reads[0].head.seq);
}

static void read_in_order(void *context)
{
    struct ring_story *story = context;
    const struct oto_channel channel = {.type.bytes = 8, .view = oto_ring_view_make(memory, &ring_channel)};
    struct oto_reader reader = {.channel = &channel, .cursor = {.next = 1}};
    for (int i = 0; i < READS; i++) {
        story->reads[i].newest = oto_ring_newest(&channel.view);
        story->reads[i].status = oto_reader_next(&reader, &story->reads[i].head, &story->reads[i].word, 8);
    }
    story->cursor = reader.cursor;
}

/* Records arrive in order, complete and once. Missing ones are counted. Without overwriting none is missing or late. */
static bool order_and_account_hold(const void *context)
{
    const struct ring_story *story = context;
    uint64_t got = 0, last = 0;
    for (int i = 0; i < READS; i++) {
        if (story->reads[i].status != OTO_OK) {
            if (story->records <= SLOTS && story->reads[i].newest > last) {
                return false;
            }
            continue;
        }
        const uint64_t seq = story->reads[i].head.seq;
        if (seq <= last || !is_whole(&story->reads[i].head, story->reads[i].word, seq)) {
            return false;
        }
        got++;
        last = seq;
    }
    return story->cursor.next - 1 == got + story->cursor.lost && story->cursor.next - 1 <= story->records &&
           (story->records > SLOTS || story->cursor.lost == 0);
}

/* ---- the clock: one more reading than there are slots ---- */

struct clock_story {
    enum oto_status status;
    struct oto_clock clock;
};

static struct oto_segment_header header;

static struct oto_clock clock_of(uint64_t written)
{
    return (struct oto_clock){.tick = written,
                              .sim_time_ns = (int64_t)word_of(written, 1),
                              .start_mono_ns = (int64_t)word_of(written, 2),
                              .work_ns = (int64_t)word_of(written, 3),
                              .real_time_factor = (double)written,
                              .scale = -(double)written,
                              .state_hash = word_of(written, 6)};
}

static void write_clock(void *context)
{
    (void)context;
    for (uint64_t written = 1; written <= OTO_CLOCK_SLOTS + 1; written++) {
        const struct oto_clock clock = clock_of(written);
        srv_clock_publish(&header, &clock);
    }
}

static void read_clock(void *context)
{
    struct clock_story *story = context;
    story->status = oto_segment_clock(&header, &story->clock);
}

static bool clock_is_whole(const void *context)
{
    const struct clock_story *story = context;
    const struct oto_clock expected = clock_of(story->clock.tick);
    return story->status != OTO_OK || memcmp(&story->clock, &expected, sizeof expected) == 0;
}

/* ---- the identity of a channel, changed twice ---- */

struct identity_story {
    enum oto_status status;
    struct oto_channel_identity identity;
};

static struct oto_segment_channel identified;

static const char *const plugins[] = {"", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"};
static const char *const versions[] = {"", "1.1.1.1.1.1.1", "2.2.2.2.2.2.2"};

static void write_identity(void *context)
{
    (void)context;
    for (uint32_t generation = 1; generation <= 2; generation++) {
        srv_channel_identify(&identified, plugins[generation], versions[generation], generation);
    }
}

static void read_identity(void *context)
{
    struct identity_story *story = context;
    story->status = oto_channel_identity_read(&identified, &story->identity);
}

static bool identity_is_whole(const void *context)
{
    const struct identity_story *story = context;
    const uint32_t generation = story->identity.generation;
    return story->status != OTO_OK || (generation <= 2 && strcmp(story->identity.plugin, plugins[generation]) == 0 &&
                                       strcmp(story->identity.plugin_version, versions[generation]) == 0);
}

/* ---- explorations ---- */

/*
 * Readers try several times. What an attempt may see is not more than what a first one may, since a reader that knows
 * more has fewer values to choose from: where several attempts would be too many runs, the reader is cut off in the
 * second.
 */
static struct ring_story two = {.records = 2}, four = {.records = 4}, five = {.records = 5, .asked = 3};
static struct clock_story clock_story;
static struct identity_story identity_story;

enum { ONE, NEWEST, LATEST, IN_ORDER, LAPPED, CLOCK, IDENTITY };

static const struct {
    const char *name;
    struct weak_model model;
} explorations[] = {
    [ONE] = {"one record", {write_ring, read_one, one_is_whole, &five, 0}},
    [NEWEST] = {"the newest record", {write_ring, read_newest, newest_is_there, &five, 0}},
    [LATEST] = {"the latest record", {write_ring, read_latest, latest_is_whole, &four, 0}},
    [IN_ORDER] = {"records in order", {write_ring, read_in_order, order_and_account_hold, &two, 0}},
    [LAPPED] = {"records in order, lapped", {write_ring, read_in_order, order_and_account_hold, &four, 0}},
    [CLOCK] = {"the clock", {write_clock, read_clock, clock_is_whole, &clock_story, 0}},
    [IDENTITY] = {"an identity", {write_identity, read_identity, identity_is_whole, &identity_story, 12}},
};

static void no_reader_sees_what_was_not_written(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof explorations / sizeof *explorations; i++) {
        const struct weak_result result = weak_explore(&explorations[i].model, NULL);
        print_message("%s: %llu executions, %llu cut off, %llu broken\n", explorations[i].name,
                      (unsigned long long)result.runs, (unsigned long long)result.cut,
                      (unsigned long long)result.broken);
        assert_true(result.runs - result.cut > 1);
        assert_int_equal(result.broken, 0);
    }
}

static void assert_found(size_t exploration, const struct weak_mutation *mutation)
{
    const struct weak_result result = weak_explore(&explorations[exploration].model, mutation);
    if (result.broken == 0) {
        print_error("%s: nothing is broken in %llu executions though %s\n", explorations[exploration].name,
                    (unsigned long long)result.runs, mutation->name);
    }
    assert_true(result.broken > 0);
}

/* Whoever has acquired the head knows all of the records before it: there the lock only tells of later ones. */
static void each_part_of_a_lock_is_needed(void **unused)
{
    (void)unused;
    enum { BEHIND_A_HEAD = 3, ALONE = 5 };
    static const struct weak_mutation mutations[ALONE] = {
        {"the odd lock is not written", WEAK_STORE, __ATOMIC_RELAXED, NULL, true},
        {"the writer has no fence", WEAK_FENCE, __ATOMIC_RELEASE, NULL, false},
        {"the reader has no fence", WEAK_FENCE, __ATOMIC_ACQUIRE, NULL, false},
        {"the even lock does not release", WEAK_STORE, __ATOMIC_RELEASE, NULL, false},
        {"the first look at the lock does not acquire", WEAK_LOAD, __ATOMIC_ACQUIRE, NULL, false},
    };
    const struct {
        size_t exploration;
        const void *lock;
        size_t needed;
    } locks[] = {{ONE, memory + sizeof(struct oto_ring), ALONE},
                 {LATEST, memory + sizeof(struct oto_ring), BEHIND_A_HEAD},
                 {LAPPED, memory + sizeof(struct oto_ring), BEHIND_A_HEAD},
                 {CLOCK, &header.clock[0].lock, BEHIND_A_HEAD},
                 {IDENTITY, &identified.identity_lock, ALONE}};
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++) {
        for (size_t k = 0; k < locks[i].needed; k++) {
            struct weak_mutation mutation = mutations[k];
            mutation.address = mutation.step == WEAK_FENCE ? NULL : locks[i].lock;
            assert_found(locks[i].exploration, &mutation);
        }
    }
}

static void the_head_must_release_and_be_acquired(void **unused)
{
    (void)unused;
    const struct weak_mutation unreleased = {"the head does not release", WEAK_STORE, __ATOMIC_RELEASE, memory, false};
    const struct weak_mutation unacquired = {"the head is not acquired", WEAK_LOAD, __ATOMIC_ACQUIRE, memory, false};
    assert_found(NEWEST, &unreleased);
    assert_found(NEWEST, &unacquired);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_reader_sees_what_was_not_written),
        cmocka_unit_test(each_part_of_a_lock_is_needed),
        cmocka_unit_test(the_head_must_release_and_be_acquired),
    };
    return cmocka_run_group_tests_name("segment_model", tests, NULL, NULL);
}
