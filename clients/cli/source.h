/* Where `echo`, `hz` and `info` get samples from: shared memory of a world on this machine, or nng from anywhere. */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include "cli.h"

struct cli_source_options {
    struct cli_common common;
    const char *topic;
    const char *connect; /* tcp://host:port, or NULL */
    bool nng;            /* --via nng */
};
/* --connect, --via and the shared options; the first argument is the topic. */
extern const struct argp cli_source_argp;

struct cli_source {
    struct oto_client *client; /* NULL with --connect */
    const struct oto_channel *channel;
    struct oto_subscriber *subscriber;
    struct oto_reader reader;
    uint64_t lost_before;
    unsigned char payload[OTO_RECORD_MAX_BYTES];
};

/* Says its errors itself; false on failure. */
bool cli_source_open(struct cli_source *source, const struct cli_source_options *options);
void cli_source_close(struct cli_source *source);
/* OTO_OK, OTO_TIMEOUT, OTO_CLOSED (the world ended), or an error. */
enum oto_status cli_source_next(struct cli_source *source, int32_t timeout_ms, struct oto_wire_sample *sample,
                                struct oto_error *error);

#endif
