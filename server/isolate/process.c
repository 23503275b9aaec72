/* The process otolith-plugin-host: messages go over a socket pair. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/child.h"
#include "base/monotonic.h"
#include "base/pass_fd.h"
#include "base/sealed_memory.h"
#include "isolate/plugin_host.h"

#define PROGRAM "otolith-plugin-host"
_Static_assert(1 + SRV_HOST_MAX_PLUGINS <= SRV_MOST_PASSED_FDS, "the memory and all plugins are passed at once");
#define END_TIMEOUT_MS 5000 /* longest time from the end of the process's connection to its exit */

static bool find_program(char *path, size_t bytes)
{
    const char *told = getenv("OTOLITH_PLUGIN_HOST");
    if (told != NULL && told[0] != '\0') {
        return (size_t)snprintf(path, bytes, "%s", told) < bytes;
    }
    return srv_beside_program(PROGRAM, path, bytes);
}

void *srv_host_memory(const char *name, uint64_t bytes, int *fd, struct oto_error *error)
{
    void *memory = srv_memory_share(name, bytes, fd);
    if (memory == NULL) {
        (void)oto_fail(error, OTO_NO_MEMORY, "no memory of %llu bytes to share with a plugin host: %s",
                       (unsigned long long)bytes, strerror(errno));
    }
    return memory;
}

static bool send_start(int control_fd, const struct srv_host_start_message *start, int memory_fd, const int *plugin_fds)
{
    int fds[1 + SRV_HOST_MAX_PLUGINS] = {memory_fd};
    memcpy(fds + 1, plugin_fds, start->plugin_count * sizeof(int));
    return srv_send_with_fds(control_fd, start, sizeof *start, fds, 1 + start->plugin_count, 0) == (ssize_t)sizeof *start;
}

/* Moves the child's end of the socket above the descriptors that the file actions overwrite. */
static bool open_sockets(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    const int high = fcntl(ends[1], F_DUPFD_CLOEXEC, SRV_HOST_CONTROL_FD + 1);
    (void)close(ends[1]);
    ends[1] = high;
    if (high < 0) {
        (void)close(ends[0]);
    }
    return high >= 0;
}

enum oto_status srv_host_spawn(const struct srv_host_spawn_options *order, struct srv_host_process *process,
                               struct oto_error *error)
{
    char program[4096] = "";
    int ends[2];
    struct srv_host_start_message start = {.magic = SRV_HOST_MAGIC,
                                                 .version = SRV_HOST_VERSION,
                                                 .work = order->work,
                                                 .plugin_count = order->plugin_count,
                                                 .server_pid = (int32_t)getpid(),
                                                 .bytes = order->bytes,
                                                 .fifo_priority = order->fifo_priority};
    *process = (struct srv_host_process){.pid_fd = -1, .control_fd = -1};
    if (order->own_directory != NULL) {
        (void)snprintf(start.own_directory, sizeof start.own_directory, "%s", order->own_directory);
    }
    if (!find_program(program, sizeof program) || access(program, X_OK) != 0) {
        return oto_fail(error, OTO_UNSUPPORTED, "the program " PROGRAM " is not there (%.200s): %s", program,
                        strerror(errno));
    }
    if (!open_sockets(ends)) {
        return oto_fail(error, OTO_IO, "no sockets for a plugin host: %s", strerror(errno));
    }
    char *const arguments[] = {(char *)(uintptr_t)PROGRAM, NULL};
    const struct srv_child_options options = {.program = program,
                                              .arguments = arguments,
                                              .out_fd = -1,
                                              .passed_fd = ends[1],
                                              .passed_as = SRV_HOST_CONTROL_FD,
                                              .own_group = true}; /* processes that a plugin started are killed too */
    const int failed = srv_child_start(&options, &process->pid);
    (void)close(ends[1]);
    process->control_fd = ends[0];
    process->pid_fd = failed == 0 ? pidfd_open(process->pid, 0) : -1;
    if (failed != 0 || process->pid_fd < 0 || !send_start(ends[0], &start, order->memory_fd, order->plugin_fds)) {
        const int reason = failed != 0 ? failed : errno;
        srv_host_process_end(process);
        return oto_fail(error, OTO_IO, "%.200s cannot be started: %s", program, strerror(reason));
    }
    return OTO_OK;
}

/*
 * Receives a message. It also watches for the exit of the process, because a child of the process may keep the connection
 * open.
 */
enum oto_status srv_host_receive(struct srv_host_process *process, int64_t deadline_ns, struct srv_host_message *message)
{
    for (;;) {
        struct pollfd ready[] = {{.fd = process->control_fd, .events = POLLIN}, {.fd = process->pid_fd, .events = POLLIN}};
        const int64_t left_ms = (deadline_ns - srv_now_ns()) / 1000000;
        const int got = left_ms > 0 ? poll(ready, 2, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms) : 0;
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got == 0) {
            return OTO_TIMEOUT;
        }
        const ssize_t heard = got > 0 ? recv(process->control_fd, message, sizeof *message, MSG_DONTWAIT) : -1;
        if (heard < 0 && errno == EINTR) {
            continue;
        }
        if (heard != (ssize_t)sizeof *message) {
            return OTO_CLOSED;
        }
        message->text[sizeof message->text - 1] = '\0';
        return OTO_OK;
    }
}

void srv_host_end_text(const struct srv_host_process *process, char *text, size_t bytes)
{
    struct pollfd ended = {.fd = process->pid_fd, .events = POLLIN};
    siginfo_t end = {0};
    const bool known = poll(&ended, 1, END_TIMEOUT_MS) == 1 &&
                       waitid(P_PIDFD, (id_t)process->pid_fd, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid != 0;
    if (!known) {
        (void)snprintf(text, bytes, "closed its connection");
    } else if (end.si_code == CLD_EXITED) {
        (void)snprintf(text, bytes, "exited with code %d", end.si_status);
    } else {
        (void)snprintf(text, bytes, "was ended by signal %d (%s)", end.si_status, strsignal(end.si_status));
    }
}

void srv_host_process_end(struct srv_host_process *process)
{
    if (process->pid > 0) {
        (void)kill(-process->pid, SIGKILL); /* its children too: a process that crashed cannot end them */
        srv_child_kill(process->pid);
    }
    if (process->pid_fd >= 0) {
        (void)close(process->pid_fd);
    }
    if (process->control_fd >= 0) {
        (void)close(process->control_fd);
    }
    *process = (struct srv_host_process){.pid_fd = -1, .control_fd = -1};
}
