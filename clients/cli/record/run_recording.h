/*
 * `--mcap FILE` of `otolith run`: a recording with its own client. Without --log the server logs its inputs to a temporary
 * file, from which the recording copies them while the file grows.
 */
#ifndef CLI_RECORD_RUN_RECORDING_H
#define CLI_RECORD_RUN_RECORDING_H

#include <limits.h>

#include "cli.h"
#include "record/recording.h"

struct run_recording {
    const char *path; /* NULL: nothing is recorded, and every function does nothing */
    char directory[PATH_MAX], log[PATH_MAX + 16]; /* of the temporary log; "": the log of --log is read */
    struct oto_client *client;
    struct recording *recording;
    enum oto_status status; /* of the first failure, after which the recording has ended */
    struct oto_error error;
    struct recording_counts counts; /* at the end of the recording */
};

/* Makes the directory of the temporary log if *log is NULL (no --log). *log becomes the log that the server is to write. */
enum oto_status run_recording_prepare(struct run_recording *run, const char **log, struct oto_error *error);
/* To be called while the world is paused at its start. */
enum oto_status run_recording_start(struct run_recording *run, const char *world, const char *log, struct oto_error *error);
/* To be called while the next run of the world is paused at its start. */
enum oto_status run_recording_resume(struct run_recording *run, struct oto_error *error);
/* Writes the new samples and returns their number; returns 0 after a failure. */
uint64_t run_recording_drain(struct run_recording *run);
/* Ends the file and removes the temporary log. */
enum oto_status run_recording_finish(struct run_recording *run, struct oto_error *error);

#endif
