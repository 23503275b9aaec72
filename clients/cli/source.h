/* Where `echo`, `hz` and `info` get samples from: shared memory of a world on this machine, or nng from anywhere. */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include "follow.h"

struct cli_source_options {
    struct cli_common common;
    const char *topic;
    const char *connect; /* tcp://host:port, or NULL */
    bool nng;            /* --via nng */
    struct cli_follow follow;
};
/* --connect, --via, --wait and the shared options; the first argument is the topic. */
extern const struct argp cli_source_argp;

struct cli_source {
    struct oto_client *client; /* NULL with --connect */
    const struct oto_channel *channel;
    struct oto_subscriber *subscriber;
    struct oto_reader reader;
    struct cli_follow follow;
    uint64_t lost_before;
    uint64_t epoch;       /* of the samples so far; 0 before the first */
    int64_t silent_ns;    /* since when no publisher answers; 0: one does */
    unsigned char payload[OTO_RECORD_MAX_BYTES];
};

/* Says its errors itself; false on failure. */
bool cli_source_open(struct cli_source *source, const struct cli_source_options *options);
void cli_source_close(struct cli_source *source);
/*
 * The next sample, if need be of the next run of the world: then it is said on stderr, and the sample's epoch is another.
 * OTO_OK; OTO_TIMEOUT or OTO_AGAIN; OTO_CORRUPT: one frame; OTO_CLOSED: the world ended in order, or the wait was
 * interrupted; else the world, its publisher or the topic does not come again.
 */
enum oto_status cli_source_next(struct cli_source *source, int32_t timeout_ms, struct oto_wire_sample *sample,
                                struct oto_error *error);

#endif
