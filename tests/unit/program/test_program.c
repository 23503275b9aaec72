/* Signals, the parent and the lines of a program. Each case runs in a child process, which keeps its mask of signals. */
#include <signal.h>
#include <sys/wait.h>

#include "oto_test.h"
#include "program/program.h"

#define LONG_NS INT64_C(60000000000)

/* Whether the case holds in a child process. */
static bool holds_in_child(bool (*is_so)(void))
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        _exit(is_so() ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool ends_by_sigterm(void)
{
    struct srv_program program = {.name = "test"};
    const bool began = srv_program_begin(&program) && !srv_program_must_end(&program);
    (void)raise(SIGTERM);
    return began && !srv_program_wait(&program, -1, LONG_NS) && program.is_ending && srv_program_must_end(&program);
}

static bool ends_by_sighup(void)
{
    struct srv_program program = {.name = "test"};
    (void)signal(SIGHUP, SIG_DFL); /* the test itself may run under nohup */
    const bool began = srv_program_begin(&program);
    (void)raise(SIGHUP);
    return began && srv_program_must_end(&program);
}

static bool ignores_sighup_as_its_caller(void)
{
    struct srv_program program = {.name = "test"};
    (void)signal(SIGHUP, SIG_IGN);
    const bool began = srv_program_begin(&program);
    (void)raise(SIGHUP);
    return began && !srv_program_must_end(&program);
}

static bool leaves_ctrl_c_to_its_parent(void)
{
    struct srv_program program = {.name = "test", .parent = getppid()};
    const bool began = srv_program_begin(&program);
    (void)raise(SIGINT);
    const bool ends_early = srv_program_must_end(&program);
    (void)raise(SIGTERM);
    return began && !ends_early && srv_program_must_end(&program);
}

static bool begins_without_its_parent(void)
{
    struct srv_program program = {.name = "test", .parent = getpid()};
    return srv_program_begin(&program);
}

static void signals_to_end_are_read_from_the_descriptor(void **unused)
{
    (void)unused;
    assert_true(holds_in_child(ends_by_sigterm));
    assert_true(holds_in_child(ends_by_sighup));
}

static void a_hang_up_that_the_caller_ignores_does_not_end_the_program(void **unused)
{
    (void)unused;
    assert_true(holds_in_child(ignores_sighup_as_its_caller));
}

static void a_program_with_a_parent_ends_by_sigterm_and_not_by_ctrl_c(void **unused)
{
    (void)unused;
    assert_true(holds_in_child(leaves_ctrl_c_to_its_parent));
}

static void a_program_whose_parent_has_ended_does_not_begin(void **unused)
{
    (void)unused;
    assert_false(holds_in_child(begins_without_its_parent));
}

static bool writes_a_long_line(void)
{
    srv_program_report("event %0600d", 7);
    srv_program_report("alive");
    return true;
}

static void a_line_that_is_cut_still_ends(void **unused)
{
    char text[1024] = {0};
    int ends[2];
    (void)unused;
    assert_int_equal(pipe(ends), 0);
    const int before = dup(STDOUT_FILENO);
    assert_true(fflush(stdout) == 0 && dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
    const bool wrote = holds_in_child(writes_a_long_line);
    (void)dup2(before, STDOUT_FILENO);
    assert_true(wrote);
    assert_int_equal(read(ends[0], text, sizeof text - 1), 512 + 6);
    assert_string_equal(text + 511, "\nalive\n");
    (void)close(before);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_to_end_are_read_from_the_descriptor),
        cmocka_unit_test(a_hang_up_that_the_caller_ignores_does_not_end_the_program),
        cmocka_unit_test(a_program_with_a_parent_ends_by_sigterm_and_not_by_ctrl_c),
        cmocka_unit_test(a_program_whose_parent_has_ended_does_not_begin),
        cmocka_unit_test(a_line_that_is_cut_still_ends),
    };
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
