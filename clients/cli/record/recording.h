/*
 * The recording of a world as an MCAP file (profile ros2), for `otolith record` and `otolith run --mcap`: every sample of the
 * chosen topics as a ROS message, standard messages beside them (/tf, /clock, Odometry, Log, diagnostics), and as attachments
 * what `otolith verify` needs to run the world again: world file, field tables, parameters, and the log of inputs as it grows.
 *
 * A world that is not paced waits for the recording; in a paced world, lost samples are counted. Each second, and each MiB, the
 * file grows by a complete chunk (mcap/writer.h), so that a kill costs no more than that.
 */
#ifndef CLI_RECORD_RECORDING_H
#define CLI_RECORD_RECORDING_H

#include "cli.h"

struct recording;

struct recording_options {
    const char *path;
    const char *const *topics; /* none: all of them */
    uint32_t topic_count;
    int64_t for_ns;        /* simulated time from the first record on; 0: no end */
    const char *log_path;  /* the log of inputs; NULL: the log that the server reports */
    bool plain;            /* chunks are not compressed */
};

/* Creates the file and becomes a lossless reader. The client is borrowed; it may have no other lossless reader. */
enum oto_status recording_open(const struct recording_options *options, struct oto_client *client,
                               struct recording **recording, struct oto_error *error);
/* To be called after the client has attached to the next run of the world. */
enum oto_status recording_resume(struct recording *recording, struct oto_error *error);
/* Writes the new samples and returns their number in *count. OTO_CLOSED: the time of `for_ns` is over. */
enum oto_status recording_drain(struct recording *recording, uint64_t *count, struct oto_error *error);
/*
 * Drains, writes the end of the file and closes it. To be called also after an error; the complete part of the file remains.
 * Returns the first error.
 */
enum oto_status recording_close(struct recording *recording, struct oto_error *error);

struct recording_counts {
    uint64_t samples, lost, bytes;
};
struct recording_counts recording_counts(const struct recording *recording);

#endif
