/* The memory of a segment: sealed, between guard pages, and allocated from the start. */
#include "segment_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sim/ring_writer.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* Takes the C library's place: shared memory of a machine that has none left. */
static bool memory_is_full;
int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    return memory_is_full ? ENOSPC : fallocate(fd, 0, offset, bytes) == 0 ? 0 : errno;
}

static void nobody_can_map_it_writable_resize_it_or_reseal_it(void **unused)
{
    (void)unused;
    struct srv_segment segment = segment_make();
    const uint64_t bytes = segment.header->segment_bytes;
    char path[64];
    assert_true(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment.fd, 0) == MAP_FAILED);
    void *readable = mmap(NULL, bytes, PROT_READ, MAP_SHARED, segment.fd, 0);
    assert_true(readable != MAP_FAILED);
    assert_int_equal(mprotect(readable, bytes, PROT_READ | PROT_WRITE), -1);
    assert_int_equal(munmap(readable, bytes), 0);
    assert_int_equal(pwrite(segment.fd, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(segment.fd, 0), -1);
    assert_int_equal(ftruncate(segment.fd, (off_t)bytes * 2), -1);
    assert_int_equal(fallocate(segment.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
    assert_int_equal(fcntl(segment.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", segment.fd);
    const int again = open(path, O_RDWR | O_CLOEXEC);
    if (again >= 0) { /* opening succeeds; writing through it does not */
        assert_int_equal(pwrite(again, "x", 1, 0), -1);
        assert_true(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0) == MAP_FAILED);
        (void)close(again);
    }
    assert_int_equal(fcntl(segment.fd, F_GET_SEALS) & (F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
                     F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    srv_segment_finish(&segment);
}

static void a_world_too_large_for_memory_is_an_error_and_not_a_signal(void **unused)
{
    (void)unused;
    struct srv_channel_spec *specs = calloc(4096, sizeof *specs);
    struct srv_channel_spec two[2];
    struct srv_segment segment;
    struct oto_error error = {0};
    segment_specs(two);
    for (int i = 0; i < 4096; i++) {
        specs[i] = two[0];
        specs[i].capacity = 1 << 16;
    }
    const struct srv_segment_plan plan = {.world = "demo", .rate_num = 1000, .rate_den = 1, .channels = specs,
                                          .channel_count = 4096};
    assert_int_equal(srv_segment_create(&plan, &(struct srv_segment_identity){.epoch = 7}, &segment, &error), OTO_LIMIT);
    assert_non_null(strstr(error.text, "GiB"));
    assert_int_equal(segment.fd, -1);
    free(specs);
}

static uint64_t memory_bytes(const struct srv_segment *segment)
{
    struct stat facts;
    assert_int_equal(fstat(segment->fd, &facts), 0);
    return (uint64_t)facts.st_blocks * 512;
}

static void a_channel_that_is_asleep_takes_a_page_until_it_is_woken(void **unused)
{
    (void)unused;
    struct srv_channel_spec specs[2];
    struct srv_segment segment;
    struct oto_error error = {0};
    struct oto_sample_head head = {0};
    struct oto_imu_record record = {0};
    segment_specs(specs);
    specs[0].capacity = 4096;
    specs[0].asleep = true;
    const struct srv_segment_plan plan = {.world = "demo", .seed = 42, .rate_num = 1000, .rate_den = 1,
                                          .channels = specs, .channel_count = 2};
    assert_ok(srv_segment_create(&plan, &(struct srv_segment_identity){.epoch = 7}, &segment, &error), error);
    const uint64_t ring_bytes = segment.bytes - segment.directory[0].ring_offset; /* behind those in use */
    assert_true(segment.directory[0].ring_offset > segment.directory[1].ring_offset);
    assert_true(ring_bytes > 4096 * sizeof record);
    assert_int_equal(memory_bytes(&segment), segment.bytes - ring_bytes + OTO_SEGMENT_PAGE);
    const struct oto_ring_view view = oto_ring_view_make(segment.header, &segment.directory[0]);
    struct oto_cursor cursor = {.next = 1, .lost = 0};
    assert_int_equal(oto_ring_next(&view, &cursor, &head, &record), OTO_AGAIN);
    assert_int_equal(oto_ring_latest(&view, &head, &record), OTO_AGAIN);
    assert_int_equal(memory_bytes(&segment), segment.bytes - ring_bytes + OTO_SEGMENT_PAGE);
    assert_ok(srv_segment_wake(&segment, 1, &error), error);
    assert_int_equal(memory_bytes(&segment), segment.bytes - ring_bytes + OTO_SEGMENT_PAGE);
    memory_is_full = true;
    const enum oto_status refused = srv_segment_wake(&segment, 0, &error);
    memory_is_full = false;
    assert_int_equal(refused, OTO_NO_MEMORY);
    for (int i = 0; i < 2; i++) {
        assert_ok(srv_segment_wake(&segment, 0, &error), error);
        assert_int_equal(memory_bytes(&segment), segment.bytes);
    }
    struct srv_ring ring = srv_ring_make(segment.header, &segment.directory[0]);
    for (uint64_t seq = 1; seq <= 4096; seq++) {
        srv_ring_push(&ring, &head, &record);
    }
    assert_int_equal(oto_ring_latest(&view, &head, &record), OTO_OK);
    assert_int_equal(head.seq, 4096);
    srv_segment_finish(&segment);
}

static void no_room_for_the_memory_is_an_error_and_not_a_signal_later(void **unused)
{
    (void)unused;
    struct srv_channel_spec specs[2];
    struct srv_segment segment;
    struct oto_error error = {0};
    segment_specs(specs);
    const struct srv_segment_plan plan = {.world = "demo", .rate_num = 1000, .rate_den = 1, .channels = specs,
                                          .channel_count = 2};
    memory_is_full = true;
    const enum oto_status status = srv_segment_create(&plan, &(struct srv_segment_identity){.epoch = 7}, &segment, &error);
    memory_is_full = false;
    assert_int_equal(status, OTO_NO_MEMORY);
    assert_non_null(strstr(error.text, strerror(ENOSPC)));
    assert_int_equal(segment.fd, -1);
    assert_null(segment.header);
}

/* Whether a child that writes this byte dies of it. */
static bool is_deadly(volatile unsigned char *byte)
{
    int how = 0;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* cmocka has installed a handler */
        *byte = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFSIGNALED(how) ? WTERMSIG(how) == SIGSEGV : WIFEXITED(how));
    return WIFSIGNALED(how);
}

static void a_writer_that_runs_over_an_end_stops_at_once(void **unused)
{
    (void)unused;
    struct srv_segment segment = segment_make();
    volatile unsigned char *base = (volatile unsigned char *)segment.header;
    assert_false(is_deadly(&base[segment.bytes - 1]));
    assert_true(is_deadly(&base[segment.bytes]));
    assert_true(is_deadly(base - 1));
    srv_segment_finish(&segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_can_map_it_writable_resize_it_or_reseal_it),
        cmocka_unit_test(a_world_too_large_for_memory_is_an_error_and_not_a_signal),
        cmocka_unit_test(no_room_for_the_memory_is_an_error_and_not_a_signal_later),
        cmocka_unit_test(a_writer_that_runs_over_an_end_stops_at_once),
        cmocka_unit_test(a_channel_that_is_asleep_takes_a_page_until_it_is_woken),
    };
    return cmocka_run_group_tests_name("segment_memory", tests, NULL, NULL);
}
