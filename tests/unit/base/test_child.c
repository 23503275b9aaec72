/* Start, pause before a restart, and end of a child process, also where the kernel keeps no exit status. */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "base/child.h"
#include "oto_test.h"

static pid_t start(const char *line)
{
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)line, NULL};
    pid_t pid = 0;
    assert_int_equal(
        srv_child_start(&(struct srv_child_options){.program = "/bin/sh", .arguments = argv, .inherits = true, .passed_fd = -1}, &pid), 0);
    return pid;
}

static void await_end(pid_t pid, siginfo_t *facts)
{
    for (uint32_t turn = 0; !srv_child_has_ended(pid, facts); turn++) {
        assert_true(turn < 10000000);
        (void)sched_yield();
    }
}

static void a_child_ends_with_its_code_or_signal(void **unused)
{
    (void)unused;
    siginfo_t facts;
    pid_t pid = start("exit 3");
    await_end(pid, &facts);
    assert_int_equal(facts.si_code, CLD_EXITED);
    assert_int_equal(facts.si_status, 3);
    pid = start("kill -9 $$");
    await_end(pid, &facts);
    assert_int_equal(facts.si_code, CLD_KILLED);
    assert_int_equal(facts.si_status, SIGKILL);
}

static void a_child_that_runs_has_not_ended(void **unused)
{
    (void)unused;
    siginfo_t facts;
    const pid_t pid = start("exec sleep 100");
    assert_false(srv_child_has_ended(pid, &facts));
    assert_int_equal(kill(pid, SIGKILL), 0);
    await_end(pid, &facts);
}

/* waitid says ECHILD for ever, and a pidfd stays readable. */
static void a_child_whose_status_was_discarded_has_ended(void **unused)
{
    (void)unused;
    siginfo_t facts;
    assert_true(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    const pid_t pid = start("exit 3");
    await_end(pid, &facts);
    assert_int_equal(facts.si_code, 0);
    assert_int_equal(facts.si_pid, pid);
    assert_true(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
}

static void a_child_gets_its_output_and_a_descriptor_and_no_blocked_signal(void **unused)
{
    (void)unused;
    int ends[2], passed[2];
    char text[200] = "";
    size_t bytes = 0;
    siginfo_t facts;
    pid_t pid = 0;
    sigset_t all, before;
    char *const arguments[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"grep SigBlk /proc/self/status; read line; echo \"in:$line\"; echo passed >&7"}, NULL};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(passed), 0);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    assert_int_equal(srv_child_start(&(struct srv_child_options){.program = "/bin/sh",
                                                                 .arguments = arguments,
                                                                 .out_fd = ends[1],
                                                                 .passed_fd = passed[1],
                                                                 .passed_as = 7,
                                                                 .own_group = true},
                                     &pid),
                     0);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(getpgid(pid), pid);
    (void)close(ends[1]);
    (void)close(passed[1]);
    for (ssize_t got = 1; got > 0; bytes += (size_t)(got > 0 ? got : 0)) {
        got = read(ends[0], text + bytes, sizeof text - 1 - bytes);
    }
    assert_string_equal(text, "SigBlk:\t0000000000000000\nin:\n");
    assert_int_equal(read(passed[0], text, sizeof text), 7);
    (void)close(ends[0]);
    (void)close(passed[0]);
    await_end(pid, &facts);
}

static void a_program_that_does_not_exist_is_an_errno(void **unused)
{
    (void)unused;
    char *const arguments[] = {(char[]){"nothing"}, NULL};
    pid_t pid = 5;
    assert_int_equal(srv_child_start(&(struct srv_child_options){.program = "/nothing", .arguments = arguments, .out_fd = -1, .passed_fd = -1}, &pid),
                     ENOENT);
    assert_int_equal(pid, 0);
}

static void the_pause_doubles_up_to_its_limit_and_starts_again_after_a_long_life(void **unused)
{
    (void)unused;
    const struct srv_back_off limits = {.first_ns = 50, .most_ns = 300};
    int64_t pause_ns = 0;
    for (const int64_t *wanted = (const int64_t[]){50, 100, 200, 300, 300, 0}; *wanted != 0; wanted++) {
        pause_ns = srv_back_off_next(limits, pause_ns, INT64_C(4999999999));
        assert_int_equal(pause_ns, *wanted);
    }
    assert_int_equal(srv_back_off_next(limits, pause_ns, INT64_C(5000000000)), 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_ends_with_its_code_or_signal),
        cmocka_unit_test(a_child_that_runs_has_not_ended),
        cmocka_unit_test(a_child_gets_its_output_and_a_descriptor_and_no_blocked_signal),
        cmocka_unit_test(a_program_that_does_not_exist_is_an_errno),
        cmocka_unit_test(the_pause_doubles_up_to_its_limit_and_starts_again_after_a_long_life),
        cmocka_unit_test(a_child_whose_status_was_discarded_has_ended),
    };
    return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
