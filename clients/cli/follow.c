#include "follow.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/monotonic.h"

#define RESTART_TIMEOUT_NS INT64_C(10000000000) /* a supervised server restarts within a second */
#define SLICE_NS 100000000               /* between checks for a signal */

enum { KEY_WAIT = 0x200 };

static error_t parse_follow(int key, char *argument, struct argp_state *state)
{
    struct cli_follow *follow = state->input;
    if (key != KEY_WAIT) {
        return ARGP_ERR_UNKNOWN;
    }
    follow->wait_ns = cli_option_duration(state, "--wait", argument, 0);
    follow->has_wait = true;
    return 0;
}

static const struct argp_option follow_options[] = {
    {"wait", KEY_WAIT, "DURATION", 0,
     "time to wait for the restart of a world (default: 10s after its server died, 0s after it ended)", 6},
    {0},
};
const struct argp cli_follow_argp = {.options = follow_options, .parser = parse_follow};

int64_t cli_follow_wait_ns(const struct cli_follow *follow)
{
    return follow->has_wait ? follow->wait_ns : RESTART_TIMEOUT_NS;
}

static bool process_lives(uint32_t pid)
{
    return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

/* Waits for the next run, in slices, so that a signal ends the wait. The end of process `server` (0: none) ends it too. */
static enum oto_status wait_for_next(struct oto_client *client, int64_t wait_ns, uint32_t server, struct oto_error *error)
{
    const int64_t deadline_ns = srv_now_ns() + wait_ns;
    while (!cli_interrupted()) {
        const int64_t left_ns = deadline_ns - srv_now_ns();
        const int64_t slice_ns = left_ns < SLICE_NS ? left_ns : SLICE_NS;
        const bool lives = server == 0 || process_lives(server);
        const enum oto_status status = oto_client_reattach(client, slice_ns > 0 ? (int32_t)(slice_ns / 1000000) : 0, error);
        if (status != OTO_TIMEOUT) {
            return status;
        }
        if (left_ns <= 0 || !lives) {
            return OTO_TIMEOUT;
        }
    }
    return OTO_CLOSED;
}

/*
 * After an orderly end the server process starts another run if it restores a checkpoint. Otherwise the process ends, and
 * its end ends the wait. After a FAULT the server process stays, but starts no other run.
 */
enum oto_status cli_follow(struct oto_client *client, const struct cli_follow *follow, struct oto_error *error)
{
    const struct oto_segment_header *header = oto_client_header(client);
    const uint32_t state = __atomic_load_n(&header->state, __ATOMIC_ACQUIRE);
    const bool died = state < OTO_SERVER_FAULT, waits = died || follow->has_wait;
    const double wait_s = (double)cli_follow_wait_ns(follow) * 1e-9;
    if (!waits && state == OTO_SERVER_FAULT) {
        return OTO_CLOSED;
    }
    if (waits) {
        cli_print_line(stderr, "otolith: the %s of world '%s' has %s; waiting %g s for its restart", died ? "server" : "run",
                       header->world, died ? "died" : "ended", wait_s);
    }
    const enum oto_status status =
        wait_for_next(client, cli_follow_wait_ns(follow), waits ? 0 : header->writer_pid, error);
    if (status == OTO_OK) {
        header = oto_client_header(client);
        cli_print_line(stderr, "otolith: world '%s' restarted with epoch %" PRIu64, header->world, header->epoch);
    }
    if (status != OTO_TIMEOUT) {
        return status;
    }
    return waits ? oto_fail(error, OTO_NOT_FOUND, "world '%s' did not restart within %g s; --wait sets the time to wait",
                            header->world, wait_s)
                 : OTO_CLOSED;
}
