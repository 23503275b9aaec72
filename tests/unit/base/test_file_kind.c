/* Files that never answer are refused at once. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file_kind.h"
#include "document/document.h"
#include "document/table.h"
#include "oto_test.h"

struct places {
    char root[64], file[80], link[80], fifo[80], socket[80], absent[80];
};

static int set_up(void **state)
{
    struct places *p = calloc(1, sizeof *p);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(p->root, sizeof p->root, "/tmp/oto-kind-XXXXXX");
    assert_non_null(mkdtemp(p->root));
    (void)snprintf(p->file, sizeof p->file, "%s/file", p->root);
    (void)snprintf(p->link, sizeof p->link, "%s/link", p->root);
    (void)snprintf(p->fifo, sizeof p->fifo, "%s/fifo", p->root);
    (void)snprintf(p->socket, sizeof p->socket, "%s/socket", p->root);
    (void)snprintf(p->absent, sizeof p->absent, "%s/absent", p->root);
    FILE *file = fopen(p->file, "w");
    assert_non_null(file);
    assert_true(fputs("key: value\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(symlink(p->file, p->link), 0);
    assert_int_equal(mkfifo(p->fifo, 0600), 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", p->socket);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    (void)close(fd);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct places *p = *state;
    const char *const paths[] = {p->file, p->link, p->fifo, p->socket};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(unlink(paths[i]), 0);
    }
    assert_int_equal(rmdir(p->root), 0);
    free(p);
    return 0;
}

static void only_regular_files_are_opened(void **state)
{
    const struct places *p = *state;
    const char *why = NULL;
    const int fd = srv_regular_open(p->link, 0, &why);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(srv_regular_open(p->link, O_NOFOLLOW, &why), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(srv_regular_open(p->absent, 0, &why), -1);
    assert_int_equal(errno, ENOENT);
    const char *const others[] = {p->fifo, p->root, "/dev/null", "/dev/zero"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(srv_regular_open(others[i], 0, &why), -1);
        assert_int_equal(errno, EINVAL);
        assert_string_equal(why, "it is not a regular file");
    }
}

static void a_file_is_read_to_its_end_or_beyond_the_limit(void **state)
{
    const struct places *p = *state;
    const char *why = NULL;
    char *text;
    size_t bytes;
    FILE *file = fopen(p->file, "w");
    assert_non_null(file);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(fwrite("\0\1\2", 1, 3, file), 3);
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(srv_regular_read(p->file, SIZE_MAX, &text, &bytes, &why), OTO_OK);
    assert_int_equal(bytes, 300000);
    assert_int_equal(text[299999], 2);
    assert_int_equal(text[300000], 0);
    free(text);
    assert_int_equal(srv_regular_read(p->file, 1000, &text, &bytes, &why), OTO_OK);
    assert_true(bytes > 1000 && bytes < 300000);
    free(text);
    assert_int_equal(srv_regular_read("/proc/self/cmdline", SIZE_MAX, &text, &bytes, &why), OTO_OK); /* its size is said to be 0 */
    assert_true(bytes > 0);
    free(text);
    assert_int_equal(srv_regular_read(p->absent, SIZE_MAX, &text, &bytes, &why), OTO_NOT_FOUND);
    assert_null(text);
    assert_int_equal(srv_regular_read(p->fifo, SIZE_MAX, &text, &bytes, &why), OTO_IO);
    assert_string_equal(why, "it is not a regular file");
}

static void documents_and_tables_of_a_fifo_are_refused(void **state)
{
    const struct places *p = *state;
    static const char *const columns[] = {"x"};
    struct oto_document *document = NULL;
    struct oto_table table;
    struct oto_error error = {0};
    assert_ok(oto_document_read(p->file, NULL, &document, &error), error);
    oto_document_close(document);
    assert_true(oto_document_read(p->fifo, NULL, &document, &error) != OTO_OK);
    assert_non_null(strstr(error.text, "not a regular file"));
    assert_true(oto_document_read("/dev/zero", NULL, &document, &error) != OTO_OK);
    assert_true(oto_table_read(p->fifo, columns, 1, &table, &error) != OTO_OK);
    assert_non_null(strstr(error.text, "not a regular file"));
}

static void a_socket_takes_the_place_of_a_socket_alone(void **state)
{
    const struct places *p = *state;
    assert_true(srv_path_accepts_socket(p->absent));
    assert_true(srv_path_accepts_socket(p->socket));
    assert_false(srv_path_accepts_socket(p->file));
    assert_false(srv_path_accepts_socket(p->link));
    assert_false(srv_path_accepts_socket(p->fifo));
    assert_false(srv_path_accepts_socket(p->root));
}

#define with_places(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_places(only_regular_files_are_opened),
        with_places(a_file_is_read_to_its_end_or_beyond_the_limit),
        with_places(documents_and_tables_of_a_fifo_are_refused),
        with_places(a_socket_takes_the_place_of_a_socket_alone),
    };
    return cmocka_run_group_tests_name("file_kind", tests, NULL, NULL);
}
