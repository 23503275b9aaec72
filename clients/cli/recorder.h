/* `--csv TOPIC=FILE` of `otolith run`: writes every sample of some topics, lossless in the modes that can wait. */
#ifndef CLI_RECORDER_H
#define CLI_RECORDER_H

#include <stdio.h>

#include "cli.h"

enum { RECORDER_MAX = 32 };

struct recorder_row {
    const char *topic; /* as given */
    const char *path;
    FILE *file;
    struct oto_reader reader;
    const struct oto_channel *channel;
};

struct recorder {
    struct oto_client *client;
    struct recorder_row rows[RECORDER_MAX];
    uint32_t count;
    bool lossless;
    struct oto_sample_head *heads;
    unsigned char *payloads;
};

/* Takes "TOPIC=FILE" (FILE "-": standard output). */
enum oto_status recorder_add(struct recorder *recorder, char *argument, struct oto_error *error);
/* Opens files, finds topics, declares itself lossless. To be called while the world is paused at its start. */
enum oto_status recorder_start(struct recorder *recorder, struct oto_client *client, struct oto_error *error);
/* The client has attached to another run, paused as at its start: goes on there. What stood in the old one was drained. */
enum oto_status recorder_resume(const struct recorder *recorder, struct oto_error *error);
/* Writes what is new; returns how many samples. */
uint64_t recorder_drain(struct recorder *recorder);
/* Drains, closes the files; an error of writing shows here. */
enum oto_status recorder_finish(struct recorder *recorder, struct oto_error *error);
/* Samples of a topic that could not be recorded. */
uint64_t recorder_lost(const struct recorder *recorder, uint32_t channel);

#endif
