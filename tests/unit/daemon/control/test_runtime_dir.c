/*
 * The runtime directory of a server. listen() is ours here: it looks whether clients could have found the socket before it. So is
 * flock(): in it a server that ends lets its directory go.
 */
#include "oto_test.h"

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attach/runtime.h"
#include "daemon/control/runtime_dir.h"

static char control_socket[128]; /* "": nobody asks */
static bool named_before_it_listened;

int listen(int fd, int backlog)
{
    named_before_it_listened = control_socket[0] != 0 && access(control_socket, F_OK) == 0;
    return (int)syscall(SYS_listen, fd, backlog);
}

static struct srv_runtime_dir *ending; /* removed while the next server tries the lock for the third time; NULL: nobody ends */
static uint32_t tries;

int flock(int fd, int operation)
{
    tries++;
    if (ending != NULL && tries == 3) {
        srv_runtime_dir_release(ending);
        ending = NULL;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

struct fixture {
    char root[64];
    char path[128];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    (void)snprintf(f->root, sizeof f->root, "/tmp/oto-dir-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    assert_int_equal(setenv("XDG_RUNTIME_DIR", f->root, 1), 0);
    (void)snprintf(f->path, sizeof f->path, "%s/otolith", f->root);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(rmdir(f->root), 0);
    free(f);
    return 0;
}

static void it_is_private_and_removed_at_the_end(void **state)
{
    struct fixture *f = *state;
    struct srv_runtime_dir dir;
    struct oto_error error = {0};
    struct stat facts;
    char path[128];
    assert_ok(srv_runtime_dir_claim("demo", &dir, &error), error);
    assert_int_equal(stat(dir.path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    assert_ok(srv_runtime_dir_write(&dir, "server.json", "{}\n", &error), error);
    assert_ok(srv_runtime_dir_write(&dir, "server.json", "{\"pid\": 1}\n", &error), error);
    assert_true(srv_runtime_dir_path(&dir, "server.json", path, sizeof path));
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_size, 11);
    assert_int_equal(facts.st_mode & 07777, 0600);
    srv_runtime_dir_release(&dir);
    assert_int_equal(stat(f->path, &facts), -1);
}

static void a_second_server_of_the_name_is_refused(void **state)
{
    struct srv_runtime_dir first, second, other;
    struct oto_error error = {0};
    (void)state;
    assert_ok(srv_runtime_dir_claim("demo", &first, &error), error);
    assert_ok(srv_runtime_dir_write(&first, "server.json", "{}\n", &error), error);
    tries = 0;
    assert_int_equal(srv_runtime_dir_claim("demo", &second, &error), OTO_EXISTS);
    assert_non_null(strstr(error.text, "'demo' runs already"));
    assert_int_equal(tries, 1); /* at once */
    assert_ok(srv_runtime_dir_claim("other", &other, &error), error);
    srv_runtime_dir_release(&first);
    assert_ok(srv_runtime_dir_claim("demo", &second, &error), error);
    srv_runtime_dir_release(&second);
    srv_runtime_dir_release(&other);
}

/* The reply to `shutdown` comes before the end of the server. */
static void a_server_that_ends_is_waited_for(void **state)
{
    struct srv_runtime_dir first, second;
    struct oto_error error = {0};
    (void)state;
    assert_ok(srv_runtime_dir_claim("demo", &first, &error), error);
    assert_ok(srv_runtime_dir_write(&first, "server.json", "{}\n", &error), error);
    srv_runtime_dir_retire(&first);
    ending = &first;
    tries = 0;
    assert_ok(srv_runtime_dir_claim("demo", &second, &error), error);
    assert_null(ending);
    srv_runtime_dir_release(&second);
}

static void the_next_run_has_the_directory_without_a_moment_for_others(void **state)
{
    struct srv_runtime_dir first, next, other;
    struct oto_error error = {0};
    char path[128];
    (void)state;
    assert_ok(srv_runtime_dir_claim("demo", &first, &error), error);
    const int fd = srv_runtime_dir_listen(&first, &error);
    assert_true(fd >= 0);
    assert_ok(srv_runtime_dir_write(&first, "server.json", "{}\n", &error), error);
    (void)close(fd);
    srv_runtime_dir_hand_over(&first, &next);
    srv_runtime_dir_release(&first);
    assert_true(srv_runtime_dir_is_of(&next, "demo"));
    assert_false(srv_runtime_dir_is_of(&first, "demo"));
    assert_false(srv_runtime_dir_is_of(&next, "other"));
    assert_int_equal(srv_runtime_dir_claim("demo", &other, &error), OTO_EXISTS);
    assert_true(srv_runtime_dir_path(&next, "server.json", path, sizeof path));
    assert_int_equal(access(path, F_OK), 0);
    assert_true(srv_runtime_dir_path(&next, "control.sock", path, sizeof path));
    assert_int_equal(access(path, F_OK), -1);
    const int again = srv_runtime_dir_listen(&next, &error);
    assert_true(again >= 0);
    (void)close(again);
    srv_runtime_dir_release(&next);
}

static void what_a_dead_server_left_is_replaced(void **state)
{
    struct srv_runtime_dir dir;
    struct oto_error error = {0};
    (void)state;
    assert_ok(srv_runtime_dir_claim("demo", &dir, &error), error);
    const int fd = srv_runtime_dir_listen(&dir, &error);
    assert_true(fd >= 0);
    (void)close(fd);
    (void)close(dir.dir_fd); /* as the kernel does it for a process that was killed */
    (void)close(dir.base_fd);
    assert_ok(srv_runtime_dir_claim("demo", &dir, &error), error);
    const int again = srv_runtime_dir_listen(&dir, &error);
    assert_true(again >= 0);
    (void)close(again);
    srv_runtime_dir_release(&dir);
}

/* A client that connects before listen() is refused, and says that no world is running. */
static void the_control_socket_is_found_only_when_it_listens(void **state)
{
    struct srv_runtime_dir dir;
    struct oto_error error = {0};
    struct stat facts;
    (void)state;
    assert_ok(srv_runtime_dir_claim("demo", &dir, &error), error);
    assert_true(srv_runtime_dir_path(&dir, "control.sock", control_socket, sizeof control_socket));
    const int fd = srv_runtime_dir_listen(&dir, &error);
    assert_true(fd >= 0);
    assert_false(named_before_it_listened);
    assert_int_equal(stat(control_socket, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0600);
    int64_t pid = 0;
    const int client = oto_runtime_connect(control_socket, 1000, &pid);
    assert_true(client >= 0);
    assert_int_equal(pid, getpid());
    control_socket[0] = 0;
    (void)close(client);
    (void)close(fd);
    srv_runtime_dir_release(&dir);
}

static void a_symlink_is_refused(void **state)
{
    struct fixture *f = *state;
    struct srv_runtime_dir dir;
    struct oto_error error = {0};
    assert_int_equal(symlink("/tmp", f->path), 0);
    assert_int_equal(srv_runtime_dir_claim("demo", &dir, &error), OTO_DENIED);
    assert_non_null(strstr(error.text, "symbolic link"));
    assert_int_equal(unlink(f->path), 0);
}

static void a_directory_that_others_may_enter_is_refused(void **state)
{
    struct fixture *f = *state;
    struct srv_runtime_dir dir;
    struct oto_error error = {0};
    assert_int_equal(mkdir(f->path, 0700), 0);
    assert_int_equal(chmod(f->path, 0755), 0);
    assert_int_equal(srv_runtime_dir_claim("demo", &dir, &error), OTO_DENIED);
    assert_non_null(strstr(error.text, "0755"));
    assert_int_equal(rmdir(f->path), 0);
}

static void a_path_too_long_for_a_socket_is_refused(void **state)
{
    struct srv_runtime_dir dir;
    struct oto_error error = {0};
    char name[64];
    (void)state;
    memset(name, 'w', sizeof name - 1);
    name[sizeof name - 1] = 0;
    char deep[128];
    (void)snprintf(deep, sizeof deep, "/tmp/%050d", 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", deep, 1), 0);
    assert_int_equal(srv_runtime_dir_claim(name, &dir, &error), OTO_LIMIT);
}

static void a_missing_base_directory_is_named(void **state)
{
    struct srv_runtime_dir dir;
    struct oto_error error = {0};
    (void)state;
    assert_int_equal(setenv("XDG_RUNTIME_DIR", "/nonexistent", 1), 0);
    assert_int_equal(srv_runtime_dir_claim("demo", &dir, &error), OTO_IO);
    assert_non_null(strstr(error.text, "/nonexistent/otolith"));
}

#define in_root(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_root(it_is_private_and_removed_at_the_end),
        in_root(a_second_server_of_the_name_is_refused),
        in_root(a_server_that_ends_is_waited_for),
        in_root(the_next_run_has_the_directory_without_a_moment_for_others),
        in_root(what_a_dead_server_left_is_replaced),
        in_root(the_control_socket_is_found_only_when_it_listens),
        in_root(a_symlink_is_refused),
        in_root(a_directory_that_others_may_enter_is_refused),
        in_root(a_path_too_long_for_a_socket_is_refused),
        in_root(a_missing_base_directory_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
