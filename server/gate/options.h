/* The command line of otolith-gate, as otolithd writes it. */
#ifndef SRV_GATE_OPTIONS_H
#define SRV_GATE_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "otolith/client.h"
#include "publish/feed.h"

#define SRV_GATE_LISTEN_MAX 8
#define SRV_GATE_GRANTS_MAX 32
#define SRV_GATE_CONTROL_PREFIX "control+"

struct srv_gate_options {
    const char *socket_path;
    const char *listen[SRV_GATE_LISTEN_MAX]; /* tls+tcp://HOST:PORT, with the prefix "control+" for remote control */
    uint32_t listen_count;
    struct oto_tls_files files;
    const char *grants[SRV_GATE_GRANTS_MAX]; /* common names of the certificates that have a role */
    uint32_t grant_count;
    int64_t coalesce_ns;
    enum srv_feed_format format;
    const char *only; /* "": all topics */
    pid_t parent;
};

/* Ends the process with code 2 and a sentence if the command line is wrong. The texts of argv are borrowed. */
void srv_gate_options_parse(int argc, char **argv, struct srv_gate_options *options);
/* True for an address of remote control. */
bool srv_gate_is_control(const char *url);

#endif
