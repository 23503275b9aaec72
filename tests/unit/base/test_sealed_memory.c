/* Sealed memory: the operations that are still allowed, and that sealing never waits. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sealed_memory.h"
#include "oto_test.h"

#define BYTES 8192

static void sealed_content_can_neither_be_written_nor_resized_nor_resealed(void **unused)
{
    (void)unused;
    const int fd = srv_memory_create("test", BYTES);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "x", 1, 0), 1);
    assert_false(srv_memory_is_sealed(fd, SRV_SEAL_SIZE));
    assert_true(srv_memory_seal(fd, SRV_SEAL_CONTENT));
    assert_true(srv_memory_is_sealed(fd, SRV_SEAL_CONTENT));
    assert_true(srv_memory_is_sealed(fd, SRV_SEAL_SIZE));
    assert_int_equal(pwrite(fd, "y", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, 2 * BYTES), -1);
    assert_true(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    assert_false(srv_memory_seal(fd, SRV_SEAL_SIZE));
    assert_int_equal(close(fd), 0);
}

/* F_SEAL_WRITE would fail here with EBUSY after 150 ms: a pipe holds a page, as any other reader may for a moment. */
static void a_page_that_is_in_use_does_not_hinder_sealing(void **unused)
{
    (void)unused;
    int pipe_ends[2];
    loff_t from = 0;
    const int fd = srv_memory_create("test", BYTES);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "x", 1, 0), 1);
    assert_int_equal(pipe(pipe_ends), 0);
    assert_int_equal(splice(fd, &from, pipe_ends[1], NULL, BYTES / 2, 0), BYTES / 2);
    assert_true(srv_memory_seal(fd, SRV_SEAL_CONTENT));
    assert_int_equal(close(pipe_ends[0]), 0);
    assert_int_equal(close(pipe_ends[1]), 0);
    assert_int_equal(close(fd), 0);
}

static void shared_memory_has_a_fixed_size_and_can_be_written(void **unused)
{
    (void)unused;
    int fd;
    unsigned char *memory = srv_memory_share("test", BYTES, &fd);
    assert_non_null(memory);
    assert_true(srv_memory_is_sealed(fd, SRV_SEAL_SIZE));
    assert_false(srv_memory_is_sealed(fd, SRV_SEAL_CONTENT));
    memory[BYTES - 1] = 7;
    unsigned char *other = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(other != MAP_FAILED);
    assert_int_equal(other[BYTES - 1], 7);
    assert_int_equal(munmap(other, BYTES), 0);
    assert_int_equal(munmap(memory, BYTES), 0);
    assert_int_equal(close(fd), 0);
}

static void a_size_that_cannot_be_had_is_an_error(void **unused)
{
    (void)unused;
    int fd;
    assert_null(srv_memory_share("test", UINT64_MAX, &fd)); /* refused at once: nothing is allocated */
    assert_int_equal(errno, EINVAL);
    assert_int_equal(fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sealed_content_can_neither_be_written_nor_resized_nor_resealed),
        cmocka_unit_test(a_page_that_is_in_use_does_not_hinder_sealing),
        cmocka_unit_test(shared_memory_has_a_fixed_size_and_can_be_written),
        cmocka_unit_test(a_size_that_cannot_be_had_is_an_error),
    };
    return cmocka_run_group_tests_name("sealed_memory", tests, NULL, NULL);
}
