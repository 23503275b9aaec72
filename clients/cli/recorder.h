/*
 * `--csv TOPIC=FILE` of `otolith run`: writes every sample of some topics. A world that is not paced waits for the recorder;
 * in a paced world a recorder that is too slow loses samples, which are counted and reported. A file grows by whole lines.
 */
#ifndef CLI_RECORDER_H
#define CLI_RECORDER_H

#include <stdio.h>

#include "base/output_file.h"
#include "cli.h"

enum { RECORDER_MAX = 32 };

struct recorder_row {
    const char *topic; /* as the user typed it */
    const char *path;
    struct oto_output_file output; /* not used for standard output */
    int fd;
    FILE *lines; /* writes to `text`: whole lines that are not in the file yet */
    char *text;
    size_t text_bytes;
    uint64_t whole_bytes; /* bytes of the file up to the end of the last whole line */
    int write_error;      /* errno of the first write that failed; nothing is written after it */
    struct oto_reader reader;
    const struct oto_channel *channel;
    uint64_t samples, stale;
    uint64_t lost, gaps; /* samples that were overwritten before they were read, and the number of their gaps */
    uint64_t last_seq;
    int64_t last_t_ns;
};

struct recorder {
    struct oto_client *client;
    struct recorder_row rows[RECORDER_MAX];
    uint32_t count;
    bool ready; /* all files are open */
    struct oto_sample_head *heads;
    unsigned char *payloads;
};

/* Takes "TOPIC=FILE" (FILE "-": standard output). */
enum oto_status recorder_add(struct recorder *recorder, char *argument, struct oto_error *error);
/* Finds the topics, opens the files, becomes a lossless reader. To be called while the world is paused at its start. */
enum oto_status recorder_start(struct recorder *recorder, struct oto_client *client, struct oto_error *error);
/* To be called after the client has attached to the next run, which is paused at its start. The previous run is drained. */
enum oto_status recorder_resume(struct recorder *recorder, struct oto_error *error);
/* Writes the new samples and returns their number. */
uint64_t recorder_drain(struct recorder *recorder);
/* Drains, reports lost and stale samples on stderr, and closes the files. OTO_IO after a write error. */
enum oto_status recorder_finish(struct recorder *recorder, struct oto_error *error);
/* Lost samples of all topics together. */
uint64_t recorder_lost(const struct recorder *recorder);
/* The row of a channel; NULL: it is not recorded. */
const struct recorder_row *recorder_find(const struct recorder *recorder, uint32_t channel);

#endif
