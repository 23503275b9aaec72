#include "program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

bool program_begin(struct program *program, const char *name)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    *program = (struct program){.name = name, .signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
    return program->signal_fd >= 0;
}

int64_t program_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool program_wait(struct program *program, int fd, int64_t wait_ns)
{
    struct signalfd_siginfo facts;
    struct pollfd wanted[] = {{.fd = program->signal_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    const int64_t left_ns = wait_ns > 0 ? wait_ns : 0;
    const struct timespec wait = {.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000};
    if (ppoll(wanted, 2, &wait, NULL) <= 0) {
        return false;
    }
    if (wanted[0].revents != 0 && read(program->signal_fd, &facts, sizeof facts) == (ssize_t)sizeof facts) {
        program->is_ending = true;
    }
    return fd >= 0 && wanted[1].revents != 0;
}

void program_say(const struct program *program, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "%s: %s\n", program->name, sentence);
}

bool program_address(const char *text, uint32_t *address, uint16_t *port)
{
    char host[64] = "127.0.0.1", *end;
    const char *colon = strrchr(text, ':');
    struct in_addr parsed;
    if (colon != NULL && (size_t)(colon - text) < sizeof host) {
        memcpy(host, text, (size_t)(colon - text));
        host[colon - text] = '\0';
    }
    const char *digits = colon != NULL ? colon + 1 : text;
    errno = 0;
    const unsigned long number = strtoul(digits, &end, 10);
    if (end == digits || *end != '\0' || errno != 0 || number > UINT16_MAX || inet_pton(AF_INET, host, &parsed) != 1) {
        return false;
    }
    *address = parsed.s_addr;
    *port = (uint16_t)number;
    return true;
}

int64_t program_number(const struct argp_state *state, const char *option, const char *text, int64_t least, int64_t most)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < least || number > most) {
        argp_error(state, "%s %s: %" PRId64 " to %" PRId64 " is accepted", option, text, least, most);
    }
    return number;
}
