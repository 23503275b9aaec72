/* The end of a child process, also where the kernel keeps no exit status. */
#include <sched.h>
#include <spawn.h>
#include <unistd.h>

#include "base/child.h"
#include "oto_test.h"

static pid_t start(const char *line)
{
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)line, NULL};
    pid_t pid = 0;
    assert_int_equal(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_ends_with_its_code_or_signal),
        cmocka_unit_test(a_child_that_runs_has_not_ended),
        cmocka_unit_test(a_child_whose_status_was_discarded_has_ended),
    };
    return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
