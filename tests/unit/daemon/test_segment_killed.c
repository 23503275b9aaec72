/*
 * A writer that is killed anywhere inside a record, a reading of the clock or an identity. It is run instruction by
 * instruction; a writer that stands still has left in memory what a killed one has, so readers look after each step, and
 * at some of them the writer is really killed.
 */
#include "oto_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "otolith/records.h"
#include "daemon/segment/segment.h"
#include "sim/ring_writer.h"

#define WORDS (sizeof(struct oto_imu_record) / 8)
#define CAPACITY 16u
#define BEFORE 40u /* records and readings of the clock that stand when the writer starts on the next: slots are used again */
#define KILLS 50u
#define STEPS_MAX 200000u

static void fill_record(uint64_t seq, uint64_t words[WORDS])
{
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = seq * UINT64_C(0x9e3779b97f4a7c15) + i;
    }
}

static struct oto_clock clock_of(uint64_t tick)
{
    return (struct oto_clock){.tick = tick,
                              .sim_time_ns = (int64_t)tick * 3,
                              .start_mono_ns = (int64_t)tick * 5,
                              .work_ns = (int64_t)tick * 7,
                              .real_time_factor = (double)tick,
                              .scale = (double)tick * 2.0,
                              .state_hash = tick * 11};
}

static void write_all(struct srv_segment *segment, uint64_t seq)
{
    static const char *const names[] = {"mems_imu", "an_imu_with_a_longer_name"};
    struct srv_ring ring = srv_ring_make(segment->header, segment->directory);
    struct oto_sample_head head = {.t_ns = (int64_t)seq * 5, .sensor_time_ns = (int64_t)seq * 6, .flags = (uint32_t)seq};
    uint64_t words[WORDS];
    fill_record(seq, words);
    srv_ring_push(&ring, &head, words);
    const struct oto_clock clock = clock_of(seq);
    srv_clock_publish(segment->header, &clock);
    srv_channel_identify(segment->directory, names[seq % 2], names[seq % 2], (uint32_t)seq);
}

static struct srv_segment make(void)
{
    static const struct srv_channel_spec spec = {.topic = "w/car/imu", .node = "w/car/imu", .plugin = "", .plugin_version = "",
                                                 .frame_id = "", .type = &oto_imu_type, .rate_num = 200, .rate_den = 1,
                                                 .capacity = CAPACITY};
    const struct srv_segment_plan plan = {.world = "w", .rate_num = 1000, .rate_den = 1, .channels = &spec,
                                          .channel_count = 1};
    struct srv_segment segment;
    struct oto_error error = {0};
    assert_ok(srv_segment_create(&plan, &(struct srv_segment_identity){.epoch = 7}, &segment, &error), error);
    assert_int_equal(segment.directory[0].capacity, CAPACITY);
    for (uint64_t seq = 1; seq <= BEFORE; seq++) {
        write_all(&segment, seq);
    }
    return segment;
}

/* ---- what readers may see ---- */

static bool is_whole(const struct oto_sample_head *head, const uint64_t words[WORDS], uint64_t seq)
{
    uint64_t expected[WORDS];
    fill_record(seq, expected);
    return head->seq == seq && head->t_ns == (int64_t)seq * 5 && head->sensor_time_ns == (int64_t)seq * 6 &&
           head->flags == seq && memcmp(words, expected, sizeof expected) == 0;
}

/* Record `seq` is OK and whole, or what `otherwise` says. */
static bool is_whole_or(const struct oto_ring_view *view, uint64_t seq, enum oto_status otherwise)
{
    struct oto_sample_head head;
    uint64_t words[WORDS];
    const enum oto_status status = oto_ring_read_at(view, seq, &head, words);
    return status == OTO_OK ? is_whole(&head, words, seq) : status == otherwise;
}

/* A reader anywhere behind comes to the end, with whole records, and loses what is overwritten or nearly so. */
static bool reads_on_from(const struct oto_ring_view *view, uint64_t first, uint64_t newest)
{
    struct oto_cursor cursor = {.next = first};
    struct oto_sample_head head;
    uint64_t words[WORDS], got = 0;
    bool whole = true;
    while (whole && oto_ring_next(view, &cursor, &head, words) == OTO_OK) {
        whole = is_whole(&head, words, cursor.next - 1);
        got++;
    }
    const uint64_t oldest = newest + 1 - (CAPACITY - CAPACITY / 8);
    return whole && cursor.next == newest + 1 && got + cursor.lost == cursor.next - first &&
           cursor.lost <= (first < oldest ? oldest - first : 0);
}

static bool ring_is_sound(const struct oto_ring_view *view)
{
    struct oto_sample_head head;
    uint64_t words[WORDS];
    const uint64_t newest = oto_ring_newest(view);
    bool sound = (newest == BEFORE || newest == BEFORE + 1) && is_whole_or(view, BEFORE + 1, OTO_AGAIN) &&
                 is_whole_or(view, BEFORE + 1 - CAPACITY, OTO_LAPPED) && is_whole_or(view, BEFORE, OTO_OK);
    sound = sound && oto_ring_latest(view, &head, words) == OTO_OK && is_whole(&head, words, newest);
    for (uint64_t first = newest - CAPACITY; sound && first <= newest + 1; first++) {
        sound = reads_on_from(view, first, newest);
    }
    return sound;
}

static bool clock_is_sound(const struct oto_segment_header *header)
{
    struct oto_clock clock;
    if (oto_segment_clock(header, &clock) != OTO_OK || clock.tick < BEFORE || clock.tick > BEFORE + 1) {
        return false;
    }
    const struct oto_clock expected = clock_of(clock.tick);
    return memcmp(&clock, &expected, sizeof clock) == 0;
}

/* A writer that died in the middle leaves an identity that is marked as incomplete. */
static bool identity_is_sound(const struct oto_segment_channel *channel)
{
    struct oto_channel_identity identity;
    if (oto_channel_identity_read(channel, &identity) != OTO_OK) {
        return true;
    }
    return (identity.generation == BEFORE || identity.generation == BEFORE + 1) &&
           strcmp(identity.plugin, identity.generation % 2 == 0 ? "mems_imu" : "an_imu_with_a_longer_name") == 0 &&
           strncmp(identity.plugin_version, identity.plugin, 15) == 0;
}

static void assert_sound(const struct srv_segment *segment, uint64_t step)
{
    const struct oto_ring_view view = oto_ring_view_make(segment->header, segment->directory);
    const bool ring = ring_is_sound(&view), clock = clock_is_sound(segment->header);
    const bool identity = identity_is_sound(segment->directory);
    if (!ring || !clock || !identity) {
        print_error("after %llu instructions: ring %d, clock %d, identity %d\n", (unsigned long long)step, ring, clock,
                    identity);
    }
    assert_true(ring && clock && identity);
}

/* ---- the writer, step by step ---- */

static pid_t start_writer(struct srv_segment *segment)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(errno);
        }
        (void)raise(SIGSTOP);
        write_all(segment, BEFORE + 1);
        _exit(0);
    }
    return pid;
}

/* Waits for the writer; true: it stands still, false: it has ended, with *code. */
static bool stands(pid_t pid, int *code)
{
    int how = 0;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    *code = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
    return WIFSTOPPED(how);
}

/* Whether this process may trace its children at all; otherwise the tests skip with a message. */
static void need_tracing(void)
{
#ifdef OTO_SANITIZED_BUILD
    print_message("skipped: instrumented code is not stepped through\n");
    skip();
#endif
    struct srv_segment segment = make();
    int code = 0;
    const pid_t pid = start_writer(&segment);
    const bool may = stands(pid, &code) && kill(pid, SIGKILL) == 0;
    if (may) {
        (void)stands(pid, &code);
    }
    srv_segment_finish(&segment);
    if (!may) {
        print_message("skipped: processes may not be traced here (%s)\n", strerror(code));
        skip();
    }
}

/* Steps through a writer and looks after each instruction. Returns how many there were. */
static uint64_t look_at_every_step(void)
{
    struct srv_segment segment = make();
    int code = 0;
    uint64_t steps = 0;
    const pid_t pid = start_writer(&segment);
    for (; stands(pid, &code) && steps < STEPS_MAX; steps++) {
        assert_sound(&segment, steps);
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
    }
    assert_int_equal(code, 0);
    const struct oto_ring_view view = oto_ring_view_make(segment.header, segment.directory);
    assert_int_equal(oto_ring_newest(&view), BEFORE + 1);
    srv_segment_finish(&segment);
    return steps;
}

static void no_instruction_leaves_half_a_record(void **unused)
{
    (void)unused;
    need_tracing();
    const uint64_t steps = look_at_every_step();
    print_message("%llu instructions\n", (unsigned long long)steps);
    assert_true(steps > WORDS);
}

static void a_killed_writer_leaves_whole_records_and_can_be_succeeded(void **unused)
{
    (void)unused;
    need_tracing();
    const uint64_t steps = look_at_every_step();
    for (uint64_t kill_no = 0; kill_no < KILLS; kill_no++) {
        struct srv_segment segment = make();
        int code = 0;
        const uint64_t last = kill_no * steps / KILLS;
        const pid_t pid = start_writer(&segment);
        assert_true(stands(pid, &code));
        for (uint64_t step = 0; step < last; step++) {
            assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
            assert_true(stands(pid, &code));
        }
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_false(stands(pid, &code));
        assert_sound(&segment, last);
        srv_segment_finish(&segment);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_instruction_leaves_half_a_record),
        cmocka_unit_test(a_killed_writer_leaves_whole_records_and_can_be_succeeded),
    };
    return cmocka_run_group_tests_name("segment_killed", tests, NULL, NULL);
}
