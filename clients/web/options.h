/* The command line of otolith-web. */
#ifndef WEB_OPTIONS_H
#define WEB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WEB_ORIGINS_MAX 8

struct web_options {
    const char *world, *socket_path;
    char address[64];
    uint16_t port;
    bool read_without_token;
    const char *origins[WEB_ORIGINS_MAX];
    uint32_t origin_count;
    pid_t parent;
};

/* Ends the process on a wrong command line. */
void web_options_read(struct web_options *options, int argc, char **argv);
bool web_options_loopback(const struct web_options *options);

#endif
