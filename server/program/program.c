#include "program/program.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

/* ---- the command line ---- */

void srv_program_options(const struct argp *argp, const char *version, int argc, char **argv, void *input)
{
    argp_program_version = version;
    argp_err_exit_status = SRV_EXIT_USAGE;
    const error_t unread = argp_parse(argp, argc, argv, 0, NULL, input);
    if (unread != 0) {
        (void)fprintf(stderr, "%s: the command line cannot be read: %s\n", program_invocation_short_name, strerror(unread));
        exit(EXIT_FAILURE);
    }
}

int64_t srv_program_number(const struct argp_state *state, const char *option, const char *text, int64_t least, int64_t most)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < least || number > most) {
        argp_error(state, "%s %s: %" PRId64 " to %" PRId64 " is accepted", option, text, least, most);
    }
    return number;
}

void srv_program_add(const struct argp_state *state, const char *option, const char **list, uint32_t *count, uint32_t most, const char *value)
{
    if (*count == most) {
        argp_error(state, "%s at most %" PRIu32 " times", option, most);
    }
    list[(*count)++] = value;
}

/* ---- signals ---- */

bool srv_program_follow_parent(pid_t parent)
{
    if (parent == 0) {
        return true;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == parent;
}

/* A hang-up that the caller ignores, as nohup does, does not end the program. */
static bool ends_at_hang_up(void)
{
    struct sigaction action;
    return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler != SIG_IGN;
}

bool srv_program_begin(struct srv_program *program)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    if (ends_at_hang_up()) {
        (void)sigaddset(&signals, SIGHUP);
    }
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    if (program->parent != 0) { /* Ctrl-C reaches the whole process group: the server decides when to end */
        (void)sigdelset(&signals, SIGINT);
        (void)sigdelset(&signals, SIGHUP);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    program->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return program->signal_fd >= 0 && srv_program_follow_parent(program->parent);
}

bool srv_program_must_end(struct srv_program *program)
{
    struct signalfd_siginfo facts;
    program->is_ending = program->is_ending || read(program->signal_fd, &facts, sizeof facts) == (ssize_t)sizeof facts;
    return program->is_ending;
}

bool srv_program_wait(struct srv_program *program, int fd, int64_t wait_ns)
{
    struct pollfd wanted[] = {{.fd = program->signal_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    const int64_t left_ns = wait_ns > 0 ? wait_ns : 0;
    const struct timespec wait = {.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000};
    if (ppoll(wanted, 2, &wait, NULL) <= 0) {
        return false;
    }
    (void)srv_program_must_end(program);
    return fd >= 0 && wanted[1].revents != 0;
}

/* ---- sentences and lines ---- */

void srv_program_print(const struct srv_program *program, const char *format, ...)
{
    char sentence[PATH_MAX + 512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "%s: %s\n", program->name, sentence);
}

void srv_program_report(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    const size_t bytes = length < (int)sizeof line ? (size_t)length : sizeof line - 1;
    line[bytes] = '\n';
    const ssize_t written = write(STDOUT_FILENO, line, bytes + 1);
    (void)written; /* without a reader the parent has ended, and PDEATHSIG ends this process */
}

void srv_program_report_endpoint(void *context, uint32_t index, const char *url)
{
    (void)context;
    srv_program_report("endpoint %u %s", index, url);
}

void srv_program_report_closed(void *context, uint32_t index)
{
    (void)context;
    srv_program_report("closed %u", index);
}

void srv_program_event(const struct srv_program *program, const char *sentence)
{
    if (program->parent != 0) {
        srv_program_report("event %s", sentence);
    } else {
        srv_program_print(program, "%s", sentence);
    }
}
