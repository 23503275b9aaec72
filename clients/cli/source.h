/* The source of samples of `echo`, `hz`, `info` and `allan`: shared memory of a world on this machine, or nng. */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include "follow.h"
#include "tls_options.h"

struct cli_source_options {
    struct cli_common common;
    const char *topic;
    bool many;           /* the topic may be a pattern (base/pattern.h) */
    struct cli_remote remote;
    bool nng;            /* --via nng */
    struct cli_follow follow;
};
/* The options --connect, --via, --wait and the shared options; the first argument is the topic. */
extern const struct argp cli_source_argp;

/* A topic in shared memory. */
struct cli_source_row {
    const struct oto_channel *channel;
    struct oto_reader reader;
    uint64_t lost_before;
};

struct cli_source {
    struct oto_client *client; /* NULL with --connect */
    const struct oto_channel *channel; /* the first channel that matches, or NULL */
    struct oto_subscriber *subscriber;
    struct cli_source_row *rows;
    uint32_t row_count, next_row;
    struct cli_follow follow;
    uint64_t epoch;       /* epoch of the newest sample; 0: no sample yet */
    int64_t silent_ns;    /* instant at which the connection was lost; 0: it is up */
    unsigned char payload[OTO_RECORD_MAX_BYTES];
};

/* NULL on failure, after the error is printed. */
struct cli_source *cli_source_open(const struct cli_source_options *options);
void cli_source_close(struct cli_source *source);
/*
 * Gets the next sample. It may be of the next run of the world: then stderr has a line about it, and the epoch of the sample
 * has changed. OTO_OK; OTO_TIMEOUT or OTO_AGAIN: no sample yet; OTO_CORRUPT: one frame is bad; OTO_CLOSED: the world ended
 * in order, or the wait was interrupted; other errors: the world, its publisher or the topic did not return in time.
 */
enum oto_status cli_source_next(struct cli_source *source, int32_t timeout_ms, struct oto_wire_sample *sample,
                                struct oto_error *error);

#endif
