#include "segment_fixture.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "sim/ring_writer.h"

static void the_header_says_what_a_reader_must_check(void **unused)
{
    (void)unused;
    struct srv_segment segment = segment_make();
    const struct oto_segment_header *header = segment.header;
    struct stat facts;
    assert_int_equal(fstat(segment.fd, &facts), 0);
    assert_int_equal(header->magic, OTO_SEGMENT_MAGIC);
    assert_int_equal(header->segment_bytes, facts.st_size);
    assert_int_equal(header->epoch, 7);
    assert_int_equal(header->seed, 42);
    assert_int_equal(header->writer_pid, getpid());
    assert_true(header->writer_start_time > 0);
    assert_string_equal(header->world, "demo");
    assert_int_equal(header->channel_count, 2);
    assert_int_equal(header->field_count, oto_imu_type.field_count); /* shared by both channels */
    const struct oto_segment_field *fields = (const void *)((const char *)header + header->field_offset);
    assert_int_equal(header->layout_hash, oto_segment_layout_hash(fields, header->field_count, segment.directory, 2));
    for (int i = 0; i < 2; i++) {
        const struct oto_segment_channel *channel = &segment.directory[i];
        assert_int_equal(channel->capacity, 128);
        assert_int_equal(channel->slot_stride % 64, 0);
        assert_true(channel->ring_offset + sizeof(struct oto_ring) + (uint64_t)channel->capacity * channel->slot_stride <=
                    header->segment_bytes);
        assert_int_equal(channel->type_hash, oto_record_type_hash(&oto_imu_type));
    }
    srv_segment_finish(&segment);
}

static void records_that_do_not_fit_their_type_are_refused(void **unused)
{
    (void)unused;
    static const struct oto_field beyond[] = {{"x", OTO_FIELD_F64, 2, 8, "", "", ""}};
    static const struct oto_record_type types[] = {
        {"odd", 12, 1, beyond}, {"beyond", 16, 1, beyond}, {"none", 16, 0, beyond}, {"large", 8192, 1, beyond}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct srv_channel_spec specs[2];
        struct srv_layout layout;
        struct oto_error error = {0};
        segment_specs(specs);
        specs[1].type = &types[i];
        const struct srv_segment_plan plan = {.world = "demo", .rate_num = 1, .rate_den = 1, .channels = specs,
                                              .channel_count = 2};
        assert_int_equal(srv_layout_make(&plan, &layout, &error), OTO_INVALID);
        assert_non_null(strstr(error.text, types[i].name));
    }
}

/* ---- rings ---- */

#define WORDS (sizeof(struct oto_imu_record) / 8)

static void fill_record(uint64_t seq, uint64_t words[WORDS])
{
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = seq * UINT64_C(0x9e3779b97f4a7c15) + i;
    }
}

static void push(struct srv_ring *ring, uint64_t seq)
{
    uint64_t words[WORDS];
    struct oto_sample_head head = {.t_ns = (int64_t)(5 * seq), .sensor_time_ns = (int64_t)(5 * seq)};
    fill_record(seq, words);
    srv_ring_push(ring, &head, words);
}

static void a_reader_gets_every_record_in_order(void **unused)
{
    (void)unused;
    struct srv_segment segment = segment_make();
    struct srv_ring ring = srv_ring_make(segment.header, &segment.directory[1]);
    const struct oto_ring_view view = oto_ring_view_make(segment.header, &segment.directory[1]);
    struct oto_cursor cursor = {1, 0};
    struct oto_sample_head head;
    uint64_t words[WORDS], expected[WORDS];
    assert_int_equal(oto_ring_latest(&view, &head, words), OTO_AGAIN);
    for (uint64_t seq = 1; seq <= 1000; seq++) {
        push(&ring, seq);
        assert_int_equal(oto_ring_next(&view, &cursor, &head, words), OTO_OK);
        fill_record(seq, expected);
        assert_int_equal(head.seq, seq);
        assert_int_equal(head.bytes, sizeof words);
        assert_memory_equal(words, expected, sizeof words);
        assert_int_equal(oto_ring_next(&view, &cursor, &head, words), OTO_AGAIN);
    }
    assert_int_equal(cursor.lost, 0);
    srv_segment_finish(&segment);
}

static void a_lapped_reader_learns_exactly_what_it_lost(void **unused)
{
    (void)unused;
    struct srv_segment segment = segment_make();
    struct srv_ring ring = srv_ring_make(segment.header, &segment.directory[0]);
    const struct oto_ring_view view = oto_ring_view_make(segment.header, &segment.directory[0]);
    for (uint64_t laps = 0; laps < 6; laps++) {
        struct oto_cursor cursor = {ring.head + 1, 0};
        const uint64_t pushed = laps * 128 + 37;
        uint64_t read = 0, words[WORDS];
        struct oto_sample_head head;
        const uint64_t first = ring.head;
        for (uint64_t i = 1; i <= pushed; i++) {
            push(&ring, first + i);
        }
        while (oto_ring_next(&view, &cursor, &head, words) == OTO_OK) {
            read++;
        }
        assert_int_equal(read + cursor.lost, pushed);
        assert_int_equal(cursor.next, ring.head + 1);
    }
    srv_segment_finish(&segment);
}

/* A ring in which half of the largest possible number of records has been written. */
static void sequence_numbers_end_where_their_locks_do(void **unused)
{
    (void)unused;
    struct srv_segment segment = segment_make();
    struct srv_ring ring = srv_ring_make(segment.header, &segment.directory[0]);
    const struct oto_ring_view view = oto_ring_view_make(segment.header, &segment.directory[0]);
    struct oto_sample_head head;
    uint64_t words[WORDS], expected[WORDS];
    const uint64_t start = OTO_SEQ_MAX - 300;
    assert_int_equal(oto_ring_read_at(&view, OTO_SEQ_MAX + 1, &head, words), OTO_AGAIN); /* its lock would be that of nothing */
    ring.head = ring.ring->head = start;
    ring.ring->first = start + 1;
    struct oto_cursor behind = {1, 0}, beside = {start + 1, 0};
    for (uint64_t seq = start + 1; seq <= OTO_SEQ_MAX; seq++) {
        push(&ring, seq);
        assert_int_equal(oto_ring_next(&view, &beside, &head, words), OTO_OK);
        fill_record(seq, expected);
        assert_int_equal(head.seq, seq);
        assert_memory_equal(words, expected, sizeof words);
        assert_int_equal(oto_ring_read_at(&view, seq + 1, &head, words), OTO_AGAIN);
        assert_int_equal(oto_ring_next(&view, &beside, &head, words), OTO_AGAIN);
    }
    assert_int_equal(beside.lost, 0);
    assert_int_equal(oto_ring_latest(&view, &head, words), OTO_OK);
    assert_int_equal(head.seq, OTO_SEQ_MAX);
    assert_int_equal(oto_ring_read_at(&view, OTO_SEQ_MAX - 128, &head, words), OTO_LAPPED);
    uint64_t got = 0;
    while (oto_ring_next(&view, &behind, &head, words) == OTO_OK) {
        got++;
    }
    assert_int_equal(behind.next, OTO_SEQ_MAX + 1);
    assert_int_equal(got + behind.lost, OTO_SEQ_MAX);
    assert_true(got > 64 && got <= 128);
    srv_segment_finish(&segment);
}

struct hunt {
    struct srv_segment *segment;
    uint32_t stop;
    uint64_t read, torn, lost, out_of_order;
};

static void *hunt_torn_records(void *argument)
{
    struct hunt *hunt = argument;
    const struct oto_ring_view view = oto_ring_view_make(hunt->segment->header, &hunt->segment->directory[0]);
    struct oto_cursor cursor = {1, 0};
    uint64_t words[WORDS], expected[WORDS], last = 0;
    struct oto_sample_head head;
    while (__atomic_load_n(&hunt->stop, __ATOMIC_ACQUIRE) == 0) {
        if (oto_ring_next(&view, &cursor, &head, words) == OTO_OK) {
            fill_record(head.seq, expected);
            hunt->torn += memcmp(words, expected, sizeof words) != 0 || head.t_ns != (int64_t)head.seq * 5;
            hunt->out_of_order += head.seq <= last;
            last = head.seq;
            hunt->read++;
        }
        if (oto_ring_latest(&view, &head, words) == OTO_OK) {
            fill_record(head.seq, expected);
            hunt->torn += memcmp(words, expected, sizeof words) != 0;
        }
    }
    hunt->lost = cursor.lost;
    return NULL;
}

static void readers_of_a_writer_that_never_rests_see_nothing_torn(void **unused)
{
    (void)unused;
    struct srv_segment segment = segment_make();
    struct srv_ring ring = srv_ring_make(segment.header, &segment.directory[0]);
    struct hunt hunts[2] = {{.segment = &segment}, {.segment = &segment}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, hunt_torn_records, &hunts[i]), 0);
    }
    struct timespec start, now;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < 10000; i++) {
            push(&ring, ring.head + 1);
        }
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < 2);
    for (int i = 0; i < 2; i++) {
        __atomic_store_n(&hunts[i].stop, 1, __ATOMIC_RELEASE);
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(hunts[i].torn, 0);
        assert_int_equal(hunts[i].out_of_order, 0);
        assert_true(hunts[i].read + hunts[i].lost <= ring.head);
    }
    srv_segment_finish(&segment);
}

static void a_half_written_record_is_not_readable(void **unused)
{
    (void)unused;
    struct srv_segment segment = segment_make();
    struct srv_ring ring = srv_ring_make(segment.header, &segment.directory[0]);
    const struct oto_ring_view view = oto_ring_view_make(segment.header, &segment.directory[0]);
    struct oto_sample_head head;
    uint64_t words[WORDS];
    push(&ring, 1);
    push(&ring, 2);
    __atomic_store_n((uint64_t *)(void *)(ring.slots + 2 * (size_t)ring.stride), 2 * 3 + 1, __ATOMIC_RELEASE);
    assert_int_equal(oto_ring_read_at(&view, 3, &head, words), OTO_AGAIN);
    assert_int_equal(oto_ring_latest(&view, &head, words), OTO_OK);
    assert_int_equal(head.seq, 2);
    srv_segment_finish(&segment);
}

static void the_clock_is_read_whole(void **unused)
{
    (void)unused;
    struct srv_segment segment = segment_make();
    struct oto_clock clock;
    assert_int_equal(oto_segment_clock(segment.header, &clock), OTO_AGAIN);
    for (uint64_t tick = 1; tick <= 100; tick++) {
        const struct oto_clock written = {.tick = tick, .sim_time_ns = (int64_t)tick * 1000000, .state_hash = tick * 3};
        srv_clock_publish(segment.header, &written);
        assert_int_equal(oto_segment_clock(segment.header, &clock), OTO_OK);
        assert_memory_equal(&clock, &written, sizeof clock);
    }
    srv_segment_finish(&segment);
}

static void a_histogram_keeps_count_and_maximum(void **unused)
{
    (void)unused;
    struct srv_segment segment = segment_make();
    struct oto_histogram *histogram = &segment.header->lateness;
    const int64_t values[] = {-5, 0, 7, 8, 1000, 1001, INT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        srv_histogram_add(histogram, values[i]);
    }
    assert_int_equal(histogram->count[0], 2);
    assert_int_equal(histogram->count[7], 1);
    assert_int_equal(histogram->count[oto_histogram_bucket(1000)], 2);
    assert_int_equal(histogram->count[OTO_HISTOGRAM_BUCKETS - 1], 1);
    assert_int_equal(histogram->max_ns, (uint64_t)INT64_MAX);
    srv_segment_finish(&segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_says_what_a_reader_must_check),
        cmocka_unit_test(records_that_do_not_fit_their_type_are_refused),
        cmocka_unit_test(a_reader_gets_every_record_in_order),
        cmocka_unit_test(a_lapped_reader_learns_exactly_what_it_lost),
        cmocka_unit_test(sequence_numbers_end_where_their_locks_do),
        cmocka_unit_test(readers_of_a_writer_that_never_rests_see_nothing_torn),
        cmocka_unit_test(a_half_written_record_is_not_readable),
        cmocka_unit_test(the_clock_is_read_whole),
        cmocka_unit_test(a_histogram_keeps_count_and_maximum),
    };
    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
