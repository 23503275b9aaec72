/* MCAP files that are written, cut, damaged and read again. */
#include "oto_test.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

#include "mcap/bytes.h"
#include "mcap/format.h"
#include "mcap/reader.h"
#include "mcap/writer.h"

enum { MESSAGES = 400 };

static int memory_file(void)
{
    const int fd = memfd_create("mcap", MFD_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static struct oto_mcap_writer *open_writer(int fd, int zstd_level)
{
    const struct oto_mcap_options options = {.fd = fd, .path = "file.mcap", .profile = "ros2", .library = "test",
                                             .parts = OTO_MCAP_ALL_PARTS, .zstd_level = zstd_level, .chunk_bytes = 2000};
    struct oto_mcap_writer *writer = NULL;
    struct oto_error error;
    assert_ok(oto_mcap_writer_open(&options, &writer, &error), error);
    return writer;
}

/* Two channels whose messages are not in the order of their times, and an attachment in their middle. */
static struct oto_mcap_writer *write_messages(int fd, int zstd_level)
{
    struct oto_mcap_writer *writer = open_writer(fd, zstd_level);
    struct oto_mcap_channel_spec spec = {.message_encoding = "cdr"};
    struct oto_error error;
    uint16_t channels[2];
    assert_ok(oto_mcap_add_schema(writer, "a/B", "ros2msg", "x", 1, &spec.schema, &error), error);
    for (int i = 0; i < 2; i++) {
        spec.topic = i == 0 ? "/one" : "/two";
        assert_ok(oto_mcap_add_channel(writer, &spec, &channels[i], &error), error);
    }
    for (uint32_t i = 0; i < MESSAGES; i++) {
        const uint64_t time = i % 10 == 0 ? i + 5 : i;
        const struct oto_mcap_message message = {.channel = channels[i % 2], .sequence = i, .log_time_ns = time,
                                                 .publish_time_ns = time, .data = &i, .bytes = sizeof i};
        assert_ok(oto_mcap_write(writer, &message, &error), error);
        if (i == MESSAGES / 2) {
            const struct oto_mcap_attachment attachment = {i, i, "world", "text/plain", "seed: 1", 7};
            assert_ok(oto_mcap_attach(writer, &attachment, &error), error);
        }
    }
    return writer;
}

static int write_file(int zstd_level)
{
    const int fd = memory_file();
    struct oto_error error;
    struct oto_mcap_writer *writer = write_messages(fd, zstd_level);
    assert_ok(oto_mcap_writer_finish(writer, &error), error);
    oto_mcap_writer_close(writer);
    return fd;
}

static enum oto_status open_copy(int fd, struct oto_mcap_reader **reader, struct oto_error *error)
{
    return oto_mcap_reader_open_fd(dup(fd), "file.mcap", reader, error);
}

static uint32_t count_messages(struct oto_mcap_reader *reader, bool sorted)
{
    struct oto_mcap_read_message message;
    struct oto_error error;
    uint32_t count = 0;
    uint64_t last = 0;
    enum oto_status status;
    while ((status = oto_mcap_reader_next(reader, &message, &error)) == OTO_OK) {
        uint32_t number;
        assert_int_equal(message.bytes, sizeof number);
        memcpy(&number, message.data, sizeof number);
        assert_int_equal(message.sequence, number);
        assert_true(!sorted || message.log_time_ns >= last);
        last = message.log_time_ns;
        count++;
    }
    assert_int_equal(status, OTO_CLOSED);
    return count;
}

static void what_is_written_is_read_in_the_order_of_time(void **state)
{
    (void)state;
    for (int level = 0; level < 2; level++) {
        const int fd = write_file(level);
        struct oto_mcap_reader *reader = NULL;
        struct oto_error error;
        assert_ok(open_copy(fd, &reader, &error), error);
        const struct oto_mcap_facts *facts = oto_mcap_reader_facts(reader);
        assert_true(facts->has_summary && facts->chunk_count > 5);
        assert_string_equal(facts->profile, "ros2");
        assert_int_equal(facts->end_ns, MESSAGES - 1);
        assert_int_equal(oto_mcap_reader_channel_count(reader), 2);
        assert_int_equal(oto_mcap_reader_channel(reader, 2)->messages, MESSAGES / 2);
        assert_int_equal(count_messages(reader, true), MESSAGES);
        oto_mcap_reader_close(reader);
        (void)close(fd);
    }
}

static void a_reader_may_keep_the_order_of_writing(void **state)
{
    (void)state;
    const int fd = write_file(0);
    struct oto_mcap_reader *reader = NULL;
    struct oto_mcap_read_message message;
    struct oto_error error;
    assert_ok(open_copy(fd, &reader, &error), error);
    oto_mcap_reader_as_written(reader);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        assert_int_equal(oto_mcap_reader_next(reader, &message, &error), OTO_OK);
        assert_int_equal(message.sequence, i);
    }
    oto_mcap_reader_close(reader);
    (void)close(fd);
}

static void a_seek_finds_the_first_message_at_or_after_a_time(void **state)
{
    (void)state;
    const int fd = write_file(1);
    struct oto_mcap_reader *reader = NULL;
    struct oto_mcap_read_message message;
    struct oto_error error;
    assert_ok(open_copy(fd, &reader, &error), error);
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t times[] = {301, 7, 398};
        oto_mcap_reader_seek(reader, times[i]);
        assert_int_equal(oto_mcap_reader_next(reader, &message, &error), OTO_OK);
        assert_int_equal(message.log_time_ns, times[i]);
    }
    oto_mcap_reader_seek(reader, 1000);
    assert_int_equal(oto_mcap_reader_next(reader, &message, &error), OTO_CLOSED);
    oto_mcap_reader_close(reader);
    (void)close(fd);
}

static void an_attachment_is_read_again_and_its_damage_is_found(void **state)
{
    (void)state;
    const int fd = write_file(1);
    struct oto_mcap_reader *reader = NULL;
    struct oto_error error;
    unsigned char *data = NULL;
    size_t bytes = 0;
    char file[65536];
    assert_ok(open_copy(fd, &reader, &error), error);
    assert_int_equal(oto_mcap_reader_attachment_count(reader), 1);
    assert_ok(oto_mcap_reader_attachment(reader, 0, &data, &bytes, &error), error);
    assert_int_equal(bytes, 7);
    assert_string_equal((char *)data, "seed: 1");
    free(data);
    const ssize_t size = pread(fd, file, sizeof file, 0);
    char *at = memmem(file, (size_t)size, "seed: 1", 7);
    assert_int_equal(pwrite(fd, "X", 1, at - file), 1);
    assert_int_equal(oto_mcap_reader_attachment(reader, 0, &data, &bytes, &error), OTO_CORRUPT);
    oto_mcap_reader_close(reader);
    (void)close(fd);
}

/* Each cut loses at most the chunk that it goes through. */
static void a_file_that_is_cut_anywhere_is_read_up_to_its_last_complete_chunk(void **state)
{
    (void)state;
    const int whole = write_file(1);
    unsigned char *bytes = malloc(1u << 20);
    const ssize_t size = pread(whole, bytes, 1u << 20, 0);
    uint32_t last = 0;
    for (ssize_t cut = 0; cut < size; cut += 3) {
        const int fd = memory_file();
        struct oto_mcap_reader *reader = NULL;
        struct oto_error error = {.status = OTO_OK};
        assert_int_equal(write(fd, bytes, (size_t)cut), cut);
        const enum oto_status status = open_copy(fd, &reader, &error);
        assert_true(status == OTO_OK || (cut < 64 && status == OTO_CORRUPT && error.text[0] != '\0'));
        const uint32_t count = status == OTO_OK ? count_messages(reader, true) : 0;
        assert_true(count >= last);
        assert_true(status != OTO_OK || !oto_mcap_reader_facts(reader)->has_summary);
        last = count;
        oto_mcap_reader_close(reader);
        (void)close(fd);
    }
    assert_int_equal(last, MESSAGES);
    free(bytes);
    (void)close(whole);
}

static void a_damaged_chunk_is_left_out_and_counted(void **state)
{
    (void)state;
    for (int level = 0; level < 2; level++) {
        const int fd = write_file(level);
        struct oto_mcap_reader *reader = NULL;
        struct oto_error error;
        unsigned char byte = 0;
        assert_ok(open_copy(fd, &reader, &error), error);
        assert_int_equal(pread(fd, &byte, 1, 150), 1); /* in the first chunk */
        byte ^= 0x40;
        assert_int_equal(pwrite(fd, &byte, 1, 150), 1);
        const uint32_t count = count_messages(reader, true);
        assert_int_equal(oto_mcap_reader_facts(reader)->damaged_chunks, 1);
        assert_true(count < MESSAGES && count > MESSAGES / 2);
        oto_mcap_reader_close(reader);
        (void)close(fd);
    }
}

/* Each message of channel 1 is kept with the next message, of channel 2: a reader that skips a chunk misses both. */
static void messages_that_belong_together_are_in_one_chunk(void **state)
{
    (void)state;
    const int fd = memory_file();
    struct oto_mcap_writer *writer = open_writer(fd, 0);
    struct oto_mcap_channel_spec spec = {.topic = "/one", .message_encoding = "cdr"};
    struct oto_mcap_message message = {.data = "0123456789abcdef"};
    struct oto_error error;
    assert_ok(oto_mcap_add_channel(writer, &spec, &message.channel, &error), error);
    spec.topic = "/two";
    assert_ok(oto_mcap_add_channel(writer, &spec, &message.channel, &error), error);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        message.sequence = i / 2;
        message.log_time_ns = i;
        message.bytes = i % 3; /* so that chunks would end after messages of both channels */
        message.channel = (uint16_t)(1 + i % 2);
        message.with_next = i % 2 == 0;
        assert_ok(oto_mcap_write(writer, &message, &error), error);
    }
    assert_ok(oto_mcap_writer_finish(writer, &error), error);
    oto_mcap_writer_close(writer);

    struct oto_mcap_reader *reader = NULL;
    assert_ok(open_copy(fd, &reader, &error), error);
    const uint32_t chunks = oto_mcap_reader_facts(reader)->chunk_count;
    oto_mcap_reader_close(reader);
    assert_true(chunks > 5);
    off_t place = 8; /* after the magic bytes */
    uint64_t length = 0;
    unsigned char opcode = 0;
    for (uint32_t damaged = 0; damaged < chunks; place += 9 + (off_t)length) {
        assert_int_equal(pread(fd, &opcode, 1, place), 1);
        assert_int_equal(pread(fd, &length, sizeof length, place + 1), sizeof length);
        if (opcode != OTO_MCAP_CHUNK) {
            continue;
        }
        unsigned char byte;
        const off_t middle = place + 9 + (off_t)length / 2;
        struct oto_mcap_read_message read;
        uint32_t counts[2] = {0};
        assert_int_equal(pread(fd, &byte, 1, middle), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, middle), 1);
        assert_ok(open_copy(fd, &reader, &error), error);
        while (oto_mcap_reader_next(reader, &read, &error) == OTO_OK) {
            counts[read.channel - 1]++;
        }
        damaged++;
        assert_int_equal(oto_mcap_reader_facts(reader)->damaged_chunks, damaged);
        assert_int_equal(counts[0], counts[1]);
        oto_mcap_reader_close(reader);
    }
    (void)close(fd);
}

/* The size of a file is limited as a full disk limits it. */
static void a_full_disk_leaves_a_file_that_ends_with_a_complete_chunk(void **state)
{
    (void)state;
    struct rlimit before, limit;
    const int fd = memory_file();
    struct oto_mcap_writer *writer = open_writer(fd, 0);
    const struct oto_mcap_channel_spec spec = {.topic = "/one", .message_encoding = "cdr"};
    struct oto_mcap_message message = {.data = "0123456789abcdef", .bytes = 16};
    struct oto_error error;
    assert_ok(oto_mcap_add_channel(writer, &spec, &message.channel, &error), error);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 50000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum oto_status status = OTO_OK;
    uint32_t written = 0;
    while (status == OTO_OK && written < 100000) {
        message.sequence = written;
        message.log_time_ns = written;
        status = oto_mcap_write(writer, &message, &error);
        written += status == OTO_OK;
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, OTO_IO);
    assert_non_null(strstr(error.text, "file.mcap"));
    assert_int_equal(oto_mcap_writer_finish(writer, &error), OTO_IO);
    struct oto_mcap_reader *reader = NULL;
    struct oto_mcap_read_message read;
    uint32_t count = 0;
    assert_ok(open_copy(fd, &reader, &error), error);
    while (oto_mcap_reader_next(reader, &read, &error) == OTO_OK) {
        assert_int_equal(read.sequence, count++);
    }
    assert_int_equal(oto_mcap_reader_facts(reader)->complete_bytes, oto_mcap_writer_bytes(writer));
    assert_true(count > 500 && count <= written);
    oto_mcap_reader_close(reader);
    oto_mcap_writer_close(writer);
    (void)close(fd);
}

static void the_crc_is_that_of_mcap_and_no_bytes_leave_it_as_it_is(void **state)
{
    (void)state;
    assert_int_equal(oto_mcap_crc32(0, "123456789", 9), 0xcbf43926); /* the check value of CRC-32 */
    assert_int_equal(oto_mcap_crc32(0xcbf43926, NULL, 0), 0xcbf43926); /* zlib alone would return 0 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_in_the_order_of_time),
        cmocka_unit_test(a_reader_may_keep_the_order_of_writing),
        cmocka_unit_test(a_seek_finds_the_first_message_at_or_after_a_time),
        cmocka_unit_test(an_attachment_is_read_again_and_its_damage_is_found),
        cmocka_unit_test(a_file_that_is_cut_anywhere_is_read_up_to_its_last_complete_chunk),
        cmocka_unit_test(a_damaged_chunk_is_left_out_and_counted),
        cmocka_unit_test(messages_that_belong_together_are_in_one_chunk),
        cmocka_unit_test(a_full_disk_leaves_a_file_that_ends_with_a_complete_chunk),
        cmocka_unit_test(the_crc_is_that_of_mcap_and_no_bytes_leave_it_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
