/* For commands that read a running world: when its run is over they wait for the next run, report it, and continue. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli.h"

struct cli_follow {
    bool has_wait; /* --wait: wait also after an orderly end */
    int64_t wait_ns;
};
extern const struct argp cli_follow_argp;

/* The time to wait for the restart of a world whose server died, or for a publisher that does not answer. */
int64_t cli_follow_wait_ns(const struct cli_follow *follow);

/*
 * Waits for the next run of the client's world and attaches to it. OTO_OK: attached, and reported on stderr; OTO_CLOSED: the
 * world ended in order, or a signal came; OTO_NOT_FOUND: no restart in time; other errors as of oto_client_reattach.
 */
enum oto_status cli_follow(struct oto_client *client, const struct cli_follow *follow, struct oto_error *error);

#endif
