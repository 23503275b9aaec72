#include <oto_test.h>

#include "attach/segment_check.h"
#include "sample_segment.h"

/* Reads whatever the segment says there is; the sanitizers see whether it leads outside. */
static void read_everything(const struct oto_segment_directory *directory)
{
    for (uint32_t i = 0; i < directory->channel_count; i++) {
        const struct oto_channel *channel = &directory->channels[i];
        struct oto_reader reader = oto_reader_make(channel, OTO_READ_FROM_OLDEST);
        struct oto_sample_head head;
        uint64_t payload[OTO_RECORD_MAX_BYTES / 8];
        char text[512];
        (void)oto_channel_latest(channel, &head, payload, sizeof payload);
        for (int k = 0; k < 20 && oto_reader_next(&reader, &head, payload, sizeof payload) == OTO_OK; k++) {
            for (uint32_t f = 0; f < channel->type.field_count; f++) {
                (void)oto_field_number(&channel->type.fields[f], payload, channel->type.fields[f].count - 1);
                (void)oto_field_format(&channel->type.fields[f], payload, 0, text, sizeof text);
            }
        }
    }
}

static enum oto_status read_segment(const unsigned char *base, struct oto_error *error)
{
    struct oto_segment_directory directory;
    const enum oto_status status = oto_segment_read(base, SAMPLE_SEGMENT_BYTES, &directory, error);
    if (status == OTO_OK) {
        read_everything(&directory);
    }
    oto_segment_directory_finish(&directory);
    return status;
}

static void a_sound_segment_is_taken_over(void **state)
{
    (void)state;
    unsigned char *base = sample_segment_make();
    struct oto_segment_directory directory;
    struct oto_error error = {0};
    assert_ok(oto_segment_read(base, SAMPLE_SEGMENT_BYTES, &directory, &error), error);
    assert_string_equal(directory.world, "demo");
    assert_int_equal(directory.channel_count, SAMPLE_CHANNELS);
    memset(base + SAMPLE_FIELDS_AT, 0xff, 12288); /* nothing is looked up in the segment any more */
    for (uint32_t i = 0; i < SAMPLE_CHANNELS; i++) {
        assert_string_equal(directory.channels[i].topic, sample_segment_topics[i]);
        assert_true(oto_record_type_hash(&directory.channels[i].type) == oto_record_type_hash(sample_segment_types[i]));
    }
    oto_segment_directory_finish(&directory);
    free(base);
}

static void a_reader_reads_in_order_and_counts_loss(void **state)
{
    (void)state;
    unsigned char *base = sample_segment_make();
    struct oto_segment_directory directory;
    struct oto_error error = {0};
    struct oto_sample_head heads[8];
    struct oto_imu_record imu[8];
    assert_ok(oto_segment_read(base, SAMPLE_SEGMENT_BYTES, &directory, &error), error);
    const struct oto_channel *channel = &directory.channels[1];
    struct oto_reader reader = oto_reader_make(channel, OTO_READ_FROM_NOW);
    assert_int_equal(oto_channel_latest(channel, heads, imu, sizeof *imu), OTO_AGAIN);
    for (uint64_t seq = 1; seq <= 5; seq++) {
        sample_segment_push(base, 1, seq);
    }
    assert_int_equal(oto_reader_next(&reader, heads, imu, sizeof *imu - 8), OTO_INVALID);
    assert_int_equal(oto_reader_read(&reader, heads, imu, 3), 3);
    assert_int_equal(oto_reader_read(&reader, heads, imu, 8), 2);
    assert_true(heads[1].seq == 5 && imu[1].orientation_x == 5.0 && reader.cursor.lost == 0);
    for (uint64_t seq = 6; seq <= 105; seq++) {
        sample_segment_push(base, 1, seq);
    }
    const size_t count = oto_reader_read(&reader, heads, imu, 8);
    assert_int_equal(count, 8);
    assert_int_equal(heads[0].seq, 6 + reader.cursor.lost);
    assert_int_equal(heads[0].seq, 105 - (SAMPLE_SLOTS - 1 - (SAMPLE_SLOTS - 1) / 8));
    assert_int_equal(oto_channel_latest(channel, heads, imu, sizeof *imu), OTO_OK);
    assert_int_equal(heads[0].seq, 105);
    reader = oto_reader_make(channel, OTO_READ_FROM_OLDEST);
    assert_int_equal(oto_reader_next(&reader, heads, imu, sizeof *imu), OTO_OK);
    assert_int_equal(reader.cursor.lost, 0);
    oto_segment_directory_finish(&directory);
    free(base);
}

/* Every byte of what is believed least; fewer of the live part of the header and of the fields after the first ones. */
static size_t step_after(size_t at)
{
    return at >= 256 && at < SAMPLE_FIELDS_AT ? 97 : at >= SAMPLE_FIELDS_AT + 1024 && at < SAMPLE_DIRECTORY_AT ? 13 : 1;
}

/* Bytes of header, directory and fields, with and without a hash that fits. */
static void no_changed_byte_leads_outside(void **state)
{
    (void)state;
    unsigned char *base = sample_segment_make();
    static const unsigned char values[] = {0, 1, 0x40, 0x7f, 0xff};
    for (uint32_t i = 0; i < SAMPLE_CHANNELS; i++) {
        sample_segment_push(base, i, 1);
    }
    for (size_t i = 0; i < SAMPLE_RINGS_AT + 256; i += step_after(i)) {
        const unsigned char kept = base[i];
        for (size_t k = 0; k < sizeof values; k++) {
            base[i] = values[k];
            (void)read_segment(base, NULL);
            if (i >= SAMPLE_FIELDS_AT) {
                sample_segment_hash(base);
                (void)read_segment(base, NULL);
            }
        }
        base[i] = kept;
        sample_segment_hash(base);
    }
    assert_int_equal(read_segment(base, NULL), OTO_OK);
    free(base);
}

static void every_damage_has_its_own_sentence(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint32_t bytes;
        uint64_t value;
        enum oto_status status;
        const char *why;
    } cases[] = {
#define HEADER(member) offsetof(struct oto_segment_header, member), sizeof(((struct oto_segment_header *)0)->member)
#define CHANNEL(member)                                                                                                \
    SAMPLE_DIRECTORY_AT + sizeof(struct oto_segment_channel) + offsetof(struct oto_segment_channel, member),           \
        sizeof(((struct oto_segment_channel *)0)->member)
        {HEADER(magic), 0, OTO_CORRUPT, "magic"},
        {HEADER(endian), 0x04030201, OTO_VERSION, "byte order"},
        {HEADER(major), 2, OTO_VERSION, "major version is 0x2; 0x1 is accepted"},
        {HEADER(header_bytes), 4096, OTO_CORRUPT, "header's size"},
        {HEADER(page_bytes), 0, OTO_CORRUPT, "page size"},
        {HEADER(segment_bytes), SAMPLE_SEGMENT_BYTES + 4096, OTO_CORRUPT, "segment's size"},
        {HEADER(layout_hash), 1, OTO_CORRUPT, "hash of directory"},
        {HEADER(field_stride), 128, OTO_CORRUPT, "size of a field"},
        {HEADER(channel_stride), 0, OTO_CORRUPT, "size of a channel"},
        {HEADER(channel_count), 0, OTO_LIMIT, "0 channels"},
        {HEADER(channel_count), UINT32_MAX, OTO_LIMIT, "4294967295 channels"},
        {HEADER(channel_count), 60000, OTO_CORRUPT, "outside"},
        {HEADER(field_count), 1u << 20, OTO_CORRUPT, "outside"},
        {HEADER(field_offset), UINT64_MAX - 7, OTO_CORRUPT, "outside"},
        {HEADER(field_offset), 0, OTO_CORRUPT, "outside"},
        {HEADER(directory_offset), SAMPLE_DIRECTORY_AT + 4, OTO_CORRUPT, "outside"},
        {HEADER(rate_den), 0, OTO_CORRUPT, "base rate"},
        {CHANNEL(ring_offset), SAMPLE_SEGMENT_BYTES - 64, OTO_CORRUPT, "ring"},
        {CHANNEL(ring_offset), 0, OTO_CORRUPT, "ring"},
        {CHANNEL(ring_offset), UINT64_MAX - 63, OTO_CORRUPT, "ring"},
        {CHANNEL(capacity), 0, OTO_CORRUPT, "ring"},
        {CHANNEL(capacity), 15, OTO_CORRUPT, "ring"},
        {CHANNEL(capacity), 1u << 31, OTO_CORRUPT, "ring"},
        {CHANNEL(slot_stride), 64, OTO_CORRUPT, "ring"},
        {CHANNEL(payload_bytes), 4104, OTO_CORRUPT, "ring"},
        {CHANNEL(rate_den), 0, OTO_CORRUPT, "ring"},
        {CHANNEL(first_field), 100000, OTO_CORRUPT, "fields of channel 'demo/car/imu'"},
        {CHANNEL(field_count), UINT32_MAX, OTO_LIMIT, "fields"},
        {CHANNEL(first_field), 0, OTO_CORRUPT, "demo/car/imu"},
        {CHANNEL(type_hash), 0, OTO_CORRUPT, "type of channel"},
        {CHANNEL(payload_bytes), 8, OTO_CORRUPT, "demo/car/imu"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char *base = sample_segment_make();
        struct oto_error error = {0};
        memcpy(base + cases[i].at, &cases[i].value, cases[i].bytes);
        if (cases[i].at >= SAMPLE_DIRECTORY_AT) {
            sample_segment_hash(base);
        }
        const enum oto_status status = read_segment(base, &error);
        if (status != cases[i].status || strstr(error.text, cases[i].why) == NULL) {
            fail_msg("case %zu: status %d, '%s' does not say '%s'", i, (int)status, error.text, cases[i].why);
        }
        free(base);
    }
}

static void texts_without_an_end_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at, bytes;
    } texts[] = {{offsetof(struct oto_segment_header, world), OTO_WORLD_NAME_BYTES},
                 {SAMPLE_DIRECTORY_AT + offsetof(struct oto_segment_channel, topic), OTO_TOPIC_BYTES},
                 {SAMPLE_DIRECTORY_AT + offsetof(struct oto_segment_channel, node), OTO_TOPIC_BYTES},
                 {SAMPLE_DIRECTORY_AT + offsetof(struct oto_segment_channel, plugin), 32},
                 {SAMPLE_DIRECTORY_AT + offsetof(struct oto_segment_channel, plugin_version), 16},
                 {SAMPLE_DIRECTORY_AT + offsetof(struct oto_segment_channel, type_name), OTO_RECORD_NAME_BYTES},
                 {SAMPLE_DIRECTORY_AT + offsetof(struct oto_segment_channel, frame_id), OTO_WORLD_NAME_BYTES},
                 {SAMPLE_FIELDS_AT + offsetof(struct oto_segment_field, name), OTO_FIELD_NAME_BYTES},
                 {SAMPLE_FIELDS_AT + offsetof(struct oto_segment_field, unit), OTO_FIELD_UNIT_BYTES},
                 {SAMPLE_FIELDS_AT + offsetof(struct oto_segment_field, frame), OTO_FIELD_FRAME_BYTES},
                 {SAMPLE_FIELDS_AT + offsetof(struct oto_segment_field, text), 96}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        unsigned char *base = sample_segment_make();
        memset(base + texts[i].at, 'x', texts[i].bytes);
        sample_segment_hash(base);
        assert_int_equal(read_segment(base, NULL), OTO_CORRUPT);
        free(base);
    }
}

static void every_size_but_its_own_is_refused(void **state)
{
    (void)state;
    unsigned char *base = sample_segment_make();
    struct oto_segment_directory directory;
    for (size_t bytes = 0; bytes < SAMPLE_SEGMENT_BYTES; bytes += 64) {
        assert_int_equal(oto_segment_read(base, bytes, &directory, NULL), OTO_CORRUPT);
    }
    free(base);
}

static void a_ring_that_lies_never_yields_a_record(void **state)
{
    (void)state;
    unsigned char *base = sample_segment_make();
    struct oto_segment_directory directory;
    struct oto_sample_head head;
    struct oto_imu_record imu;
    struct oto_error error = {0};
    assert_ok(oto_segment_read(base, SAMPLE_SEGMENT_BYTES, &directory, &error), error);
    struct oto_ring *ring = (struct oto_ring *)(void *)(base + SAMPLE_RINGS_AT + SAMPLE_RING_BYTES);
    static const struct {
        uint64_t head;
        enum oto_status status;
    } lies[] = {{1, OTO_AGAIN},
                {16, OTO_AGAIN},
                {17, OTO_AGAIN},
                {OTO_SEQ_MAX, OTO_AGAIN},
                {OTO_SEQ_MAX + 1, OTO_CORRUPT},
                {UINT64_MAX - 1, OTO_CORRUPT},
                {UINT64_MAX, OTO_CORRUPT}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        ring->head = lies[i].head;
        struct oto_reader reader = oto_reader_make(&directory.channels[1], OTO_READ_FROM_OLDEST);
        assert_int_equal(oto_reader_next(&reader, &head, &imu, sizeof imu), lies[i].status);
        assert_int_equal(reader.cursor.lost, 0);
        assert_int_equal(oto_channel_latest(&directory.channels[1], &head, &imu, sizeof imu), lies[i].status);
        reader = oto_reader_make(&directory.channels[1], OTO_READ_FROM_NOW);
        assert_int_not_equal(oto_reader_next(&reader, &head, &imu, sizeof imu), OTO_OK);
        assert_int_equal(reader.cursor.lost, 0);
    }
    ring->head = 5;
    ring->first = 7;
    struct oto_reader reader = {
        .channel = &directory.channels[1], .cursor = {.next = 1}, .lineage = directory.channels[1].lineage};
    assert_int_equal(oto_reader_next(&reader, &head, &imu, sizeof imu), OTO_CORRUPT);
    assert_int_equal(reader.cursor.lost, 0);
    oto_segment_directory_finish(&directory);
    free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_segment_is_taken_over),
        cmocka_unit_test(a_reader_reads_in_order_and_counts_loss),
        cmocka_unit_test(no_changed_byte_leads_outside),
        cmocka_unit_test(every_damage_has_its_own_sentence),
        cmocka_unit_test(texts_without_an_end_are_refused),
        cmocka_unit_test(every_size_but_its_own_is_refused),
        cmocka_unit_test(a_ring_that_lies_never_yields_a_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
