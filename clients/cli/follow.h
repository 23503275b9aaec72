/* What the commands that watch a world do when its run is over: wait for it to come again, say so, and go on. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli.h"

struct cli_follow {
    bool given; /* --wait: also for a world that ended in order */
    int64_t wait_ns;
};
extern const struct argp cli_follow_argp;

/* How long to wait for a world that died, or for a publisher that does not answer. */
int64_t cli_follow_wait_ns(const struct cli_follow *follow);

/*
 * Waits for the next run of the client's world, and attaches to it. OTO_OK: it is said on stderr; OTO_CLOSED: the world
 * ended in order, or the wait was interrupted; OTO_NOT_FOUND: it did not come; others as oto_client_reattach.
 */
enum oto_status cli_follow(struct oto_client *client, const struct cli_follow *follow, struct oto_error *error);

#endif
