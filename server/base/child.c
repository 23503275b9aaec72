#include "base/child.h"

#include <errno.h>
#include <sys/wait.h>

bool srv_child_has_ended(pid_t pid, siginfo_t *facts)
{
    *facts = (siginfo_t){0};
    if (waitid(P_PID, (id_t)pid, facts, WEXITED | WNOHANG) != 0) {
        facts->si_pid = pid;
        return errno == ECHILD;
    }
    return facts->si_pid != 0;
}
