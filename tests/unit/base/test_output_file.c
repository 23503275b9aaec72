/* Output files: complete or not at all, links followed, devices and FIFOs left in place. */
#include "oto_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/output_file.h"

#define LIMIT_BYTES 4096

struct place {
    char directory[64];
    char path[128], other[128];
};

static int enter(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    (void)snprintf(place->directory, sizeof place->directory, "/tmp/otolith-output-XXXXXX");
    if (place == NULL || mkdtemp(place->directory) == NULL) {
        return -1;
    }
    (void)snprintf(place->path, sizeof place->path, "%s/file", place->directory);
    (void)snprintf(place->other, sizeof place->other, "%s/other", place->directory);
    *state = place;
    return 0;
}

static int leave(void **state)
{
    struct place *place = *state;
    (void)unlink(place->path);
    (void)unlink(place->other);
    const int left = rmdir(place->directory); /* fails where a temporary file was left */
    free(place);
    return left;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_content(const char *path, const char *text)
{
    char content[64] = "";
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    (void)fread(content, 1, sizeof content - 1, file);
    (void)fclose(file);
    assert_string_equal(content, text);
}

static mode_t type_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & S_IFMT;
}

/* Writes `text` through the module, and ends with `status`. */
static enum oto_status write_text(const char *path, uint32_t flags, const char *text, enum oto_status status,
                                  struct oto_error *error)
{
    struct oto_output_file output;
    const enum oto_status opened = oto_output_file_open(&output, path, flags, error);
    if (opened != OTO_OK) {
        return opened;
    }
    (void)fputs(text, output.file);
    return oto_output_file_close(&output, status, error);
}

static void a_file_is_replaced_only_when_it_is_complete(void **state)
{
    const struct place *place = *state;
    struct oto_error error = {0};
    struct oto_output_file output;
    put(place->path, "previous");
    assert_ok(oto_output_file_open(&output, place->path, 0, &error), error);
    assert_true(fputs("new", output.file) >= 0 && fflush(output.file) == 0);
    assert_content(place->path, "previous");
    assert_ok(oto_output_file_close(&output, OTO_OK, &error), error);
    assert_content(place->path, "new");
}

static void a_file_may_take_its_name_early_and_grows_under_it(void **state)
{
    const struct place *place = *state;
    struct oto_output_file output;
    struct oto_error error = {0};
    put(place->path, "previous");
    assert_ok(oto_output_file_open(&output, place->path, 0, &error), error);
    assert_true(fputs("begin", output.file) >= 0 && fflush(output.file) == 0);
    assert_content(place->path, "previous");
    assert_ok(oto_output_file_take_name(&output, &error), error);
    assert_content(place->path, "begin");
    assert_true(fputs(", end", output.file) >= 0);
    assert_int_equal(oto_output_file_close(&output, OTO_IO, &error), OTO_IO); /* it stays, as far as it is written */
    assert_content(place->path, "begin, end");
}

static void the_previous_file_stays_after_a_failure(void **state)
{
    const struct place *place = *state;
    struct oto_error error = {0};
    put(place->path, "previous");
    assert_int_equal(write_text(place->path, 0, "new", OTO_INVALID, &error), OTO_INVALID);
    assert_content(place->path, "previous");
    assert_int_equal(write_text(place->other, OTO_OUTPUT_DURABLE, "new", OTO_INVALID, &error), OTO_INVALID);
    assert_int_equal(access(place->other, F_OK), -1);
}

/* RLIMIT_FSIZE stands for a full disk. */
static void the_previous_file_stays_where_the_disk_is_full(void **state)
{
    const struct place *place = *state;
    struct oto_error error = {0};
    struct rlimit before;
    char text[2 * LIMIT_BYTES] = "";
    memset(text, 'x', sizeof text - 1);
    put(place->path, "previous");
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit full = {LIMIT_BYTES, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    const enum oto_status status = write_text(place->path, 0, text, OTO_OK, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, OTO_IO);
    assert_non_null(strstr(error.text, place->path));
    assert_content(place->path, "previous");
}

static void a_symbolic_link_is_followed_and_stays(void **state)
{
    const struct place *place = *state;
    struct oto_error error = {0};
    assert_int_equal(symlink("other", place->path), 0); /* relative, and to a file that does not exist yet */
    assert_ok(write_text(place->path, 0, "new", OTO_OK, &error), error);
    assert_int_equal(type_of(place->path), S_IFLNK);
    assert_int_equal(type_of(place->other), S_IFREG);
    assert_content(place->other, "new");
    assert_ok(write_text(place->path, OTO_OUTPUT_DURABLE, "newer", OTO_OK, &error), error);
    assert_int_equal(type_of(place->path), S_IFLNK);
    assert_content(place->other, "newer");
}

static void a_link_to_itself_is_refused(void **state)
{
    const struct place *place = *state;
    struct oto_error error = {0};
    assert_int_equal(symlink("file", place->path), 0);
    assert_int_equal(write_text(place->path, 0, "new", OTO_OK, &error), OTO_IO);
    assert_int_equal(type_of(place->path), S_IFLNK);
}

static void a_fifo_is_written_and_stays(void **state)
{
    const struct place *place = *state;
    struct oto_error error = {0};
    char text[8] = "";
    assert_int_equal(mkfifo(place->path, 0600), 0);
    const int reader = open(place->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_ok(write_text(place->path, OTO_OUTPUT_DURABLE, "new", OTO_OK, &error), error);
    assert_int_equal(read(reader, text, sizeof text - 1), 3);
    assert_string_equal(text, "new");
    assert_int_equal(write_text(place->path, 0, "bad", OTO_INVALID, &error), OTO_INVALID);
    (void)close(reader);
    assert_int_equal(type_of(place->path), S_IFIFO);
}

static void a_fifo_without_a_reader_is_refused(void **state)
{
    const struct place *place = *state;
    struct oto_error error = {0};
    assert_int_equal(mkfifo(place->path, 0600), 0);
    static const uint32_t flags[] = {0, OTO_OUTPUT_IN_PLACE, OTO_OUTPUT_NO_WAIT};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        assert_int_equal(write_text(place->path, flags[i], "new", OTO_OK, &error), OTO_IO);
        assert_non_null(strstr(error.text, "it is a FIFO that nobody reads"));
    }
    assert_int_equal(type_of(place->path), S_IFIFO);
}

static void a_device_is_written_and_stays(void **state)
{
    (void)state;
    struct oto_error error = {0};
    assert_ok(write_text("/dev/null", OTO_OUTPUT_DURABLE | OTO_OUTPUT_PRIVATE, "new", OTO_OK, &error), error);
    assert_int_equal(write_text("/dev/full", 0, "new", OTO_OK, &error), OTO_IO);
    assert_non_null(strstr(error.text, "'/dev/full': No space left on device"));
    assert_int_equal(type_of("/dev/null"), S_IFCHR);
    assert_int_equal(type_of("/dev/full"), S_IFCHR);
}

static void the_mode_is_kept_or_private(void **state)
{
    const struct place *place = *state;
    struct oto_error error = {0};
    struct stat info;
    put(place->path, "previous");
    assert_int_equal(chmod(place->path, 0640), 0);
    assert_ok(write_text(place->path, 0, "new", OTO_OK, &error), error);
    assert_int_equal(stat(place->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_ok(write_text(place->path, OTO_OUTPUT_PRIVATE, "new", OTO_OK, &error), error);
    assert_int_equal(stat(place->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void a_missing_directory_is_reported(void **state)
{
    const struct place *place = *state;
    struct oto_error error = {0};
    char path[160];
    (void)snprintf(path, sizeof path, "%s/none/file", place->directory);
    assert_int_equal(write_text(path, 0, "new", OTO_OK, &error), OTO_IO);
    assert_non_null(strstr(error.text, "none/file': No such file or directory"));
}

static void two_names_of_one_file_are_the_same_output(void **state)
{
    const struct place *place = *state;
    char detour[256];
    (void)snprintf(detour, sizeof detour, "%s/../%s/file", place->directory, strrchr(place->directory, '/') + 1);
    assert_true(oto_output_file_is_same(place->path, detour)); /* neither exists */
    assert_false(oto_output_file_is_same(place->path, place->other));
    assert_int_equal(symlink("file", place->other), 0);
    assert_true(oto_output_file_is_same(place->path, place->other));
    put(place->path, "previous");
    assert_true(oto_output_file_is_same(place->path, place->other));
    assert_true(oto_output_file_is_same(place->path, detour));
    assert_false(oto_output_file_is_same("/dev/null", "/dev/null"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_replaced_only_when_it_is_complete, enter, leave),
        cmocka_unit_test_setup_teardown(a_file_may_take_its_name_early_and_grows_under_it, enter, leave),
        cmocka_unit_test_setup_teardown(the_previous_file_stays_after_a_failure, enter, leave),
        cmocka_unit_test_setup_teardown(the_previous_file_stays_where_the_disk_is_full, enter, leave),
        cmocka_unit_test_setup_teardown(a_symbolic_link_is_followed_and_stays, enter, leave),
        cmocka_unit_test_setup_teardown(a_link_to_itself_is_refused, enter, leave),
        cmocka_unit_test_setup_teardown(a_fifo_is_written_and_stays, enter, leave),
        cmocka_unit_test_setup_teardown(a_fifo_without_a_reader_is_refused, enter, leave),
        cmocka_unit_test(a_device_is_written_and_stays),
        cmocka_unit_test_setup_teardown(the_mode_is_kept_or_private, enter, leave),
        cmocka_unit_test_setup_teardown(a_missing_directory_is_reported, enter, leave),
        cmocka_unit_test_setup_teardown(two_names_of_one_file_are_the_same_output, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
