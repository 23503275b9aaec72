/* What the programs of this folder share: signals as a descriptor, real time, and sentences on standard error. */
#ifndef AUTOPILOT_PROGRAM_H
#define AUTOPILOT_PROGRAM_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

struct program {
    const char *name;
    int signal_fd;
    bool is_ending; /* SIGINT or SIGTERM was received */
};

/* SIGINT and SIGTERM are read from a descriptor from now on. */
bool program_begin(struct program *program, const char *name);
int64_t program_now_ns(void);
/* Waits until `fd` (negative: none) can be read, a signal comes or `wait_ns` is over. True: it can be read. */
bool program_wait(struct program *program, int fd, int64_t wait_ns);
void program_say(const struct program *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "ADDRESS:PORT" or "PORT", of IPv4; without an address 127.0.0.1. False: it is neither. */
bool program_address(const char *text, uint32_t *address, uint16_t *port);
int64_t program_number(const struct argp_state *state, const char *option, const char *text, int64_t least, int64_t most);

#endif
