/* otolith-plugin-host: runs plugins in a process of their own, for otolithd. See README.md of this folder. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"
#include "otolith/version.h"
#include "sandbox.h"

#define EXIT_USAGE 2

bool host_send(const struct srv_host_message *message)
{
    ssize_t sent;
    do {
        sent = send(SRV_HOST_CONTROL_FD, message, sizeof *message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *message;
}

bool host_report(enum srv_host_message_kind kind, uint32_t slot, enum oto_status status, const char *text)
{
    struct srv_host_message message = {.kind = kind, .slot = slot, .status = status};
    (void)snprintf(message.text, sizeof message.text, "%s", text);
    return host_send(&message);
}

/* The start message and its descriptors: the memory, then the plugins. False: otolithd did not start this process. */
static bool receive(struct host_job *job, int *memory_fd)
{
    union {
        struct cmsghdr head;
        unsigned char bytes[CMSG_SPACE((1 + SRV_HOST_MAX_PLUGINS) * sizeof(int))];
    } control;
    struct iovec part = {&job->start, sizeof job->start};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t got;
    do {
        got = recvmsg(SRV_HOST_CONTROL_FD, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof job->start || job->start.magic != SRV_HOST_MAGIC ||
        job->start.version != SRV_HOST_VERSION || job->start.plugin_count > SRV_HOST_MAX_PLUGINS ||
        memchr(job->start.own_directory, '\0', sizeof job->start.own_directory) == NULL) {
        return false;
    }
    const struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    const size_t count = 1 + (size_t)job->start.plugin_count;
    if (rights == NULL || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS ||
        rights->cmsg_len != CMSG_LEN(count * sizeof(int))) {
        return false;
    }
    memcpy(memory_fd, CMSG_DATA(rights), sizeof *memory_fd);
    memcpy(job->plugin_fds, CMSG_DATA(rights) + sizeof(int), job->start.plugin_count * sizeof(int));
    return true;
}

static bool map(struct host_job *job, int memory_fd)
{
    struct stat facts;
    if (fstat(memory_fd, &facts) != 0 || (uint64_t)facts.st_size != job->start.bytes ||
        job->start.bytes < sizeof(struct srv_host_mailbox)) {
        return false;
    }
    job->memory = mmap(NULL, job->start.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory_fd, 0);
    (void)close(memory_fd);
    return job->memory != MAP_FAILED;
}

static int work(struct host_job *job)
{
    switch (job->start.work) {
    case SRV_HOST_RUN:
        return host_run(job);
    case SRV_HOST_PROBE:
        return host_probe(job);
    case SRV_HOST_DESCRIBE:
    case SRV_HOST_LOAD:
        return host_describe(job);
    default:
        return EXIT_USAGE;
    }
}

int main(int argc, char **argv)
{
    struct host_job job = {0};
    struct oto_error error = {0};
    int memory_fd = -1;
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        return printf("otolith-plugin-host %s\n", OTO_VERSION_STRING) > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (argc > 1 || !receive(&job, &memory_fd)) {
        (void)fprintf(stderr, "otolith-plugin-host is started by otolithd, for nodes with `isolation: process` and to try "
                              "plugins before a swap; it takes no arguments but --version\n");
        return EXIT_USAGE;
    }
    /* The server handles Ctrl-C and a closed terminal, so the host ignores their signals. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    if (host_sandbox_begin((pid_t)job.start.server_pid, job.start.own_directory, &job.landlock, &error) != OTO_OK) {
        (void)host_report(SRV_HOST_FAILED, UINT32_MAX, error.status, error.text);
        return EXIT_FAILURE;
    }
    if (!map(&job, memory_fd)) {
        (void)host_report(SRV_HOST_FAILED, UINT32_MAX, OTO_IO, "the shared memory cannot be mapped");
        return EXIT_FAILURE;
    }
    return work(&job);
}
