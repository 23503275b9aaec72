#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROVEN_NS INT64_C(5000000000)

static int add_files(posix_spawn_file_actions_t *actions, const struct srv_child_options *options)
{
    int failed = options->passed_fd < 0 ? 0 : posix_spawn_file_actions_adddup2(actions, options->passed_fd, options->passed_as);
    if (options->inherits || failed != 0) {
        return failed;
    }
    failed = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failed == 0) {
        failed = options->out_fd < 0 ? posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
                                     : posix_spawn_file_actions_adddup2(actions, options->out_fd, STDOUT_FILENO);
    }
    return failed;
}

int srv_child_start(const struct srv_child_options *options, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    if (options->own_group) {
        flags |= POSIX_SPAWN_SETPGROUP;
        (void)posix_spawnattr_setpgroup(&attributes, 0);
    }
    (void)posix_spawnattr_setflags(&attributes, flags);
    int failed = add_files(&actions, options);
    failed = failed != 0 ? failed : posix_spawn(pid, options->program, &actions, &attributes, options->arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
        *pid = 0;
    }
    return failed;
}

int64_t srv_back_off_next(struct srv_back_off limits, int64_t pause_ns, int64_t lived_ns)
{
    const int64_t next_ns = lived_ns >= PROVEN_NS ? limits.first_ns : 2 * pause_ns;
    return next_ns < limits.first_ns ? limits.first_ns : next_ns > limits.most_ns ? limits.most_ns : next_ns;
}

bool srv_child_has_ended(pid_t pid, siginfo_t *facts)
{
    *facts = (siginfo_t){0};
    if (waitid(P_PID, (id_t)pid, facts, WEXITED | WNOHANG) != 0) {
        facts->si_pid = pid;
        return errno == ECHILD;
    }
    return facts->si_pid != 0;
}

void srv_child_kill(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
