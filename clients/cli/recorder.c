#include "recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"

enum { BATCH = 256 };

enum oto_status recorder_add(struct recorder *recorder, char *argument, struct oto_error *error)
{
    char *equals = strchr(argument, '=');
    if (equals == NULL || equals == argument || equals[1] == '\0') {
        return oto_fail(error, OTO_INVALID, "--csv takes TOPIC=FILE, not '%s'", argument);
    }
    if (recorder->count == RECORDER_MAX) {
        return oto_fail(error, OTO_LIMIT, "at most %d topics can be recorded", (int)RECORDER_MAX);
    }
    *equals = '\0';
    recorder->rows[recorder->count++] = (struct recorder_row){.topic = argument, .path = equals + 1};
    return OTO_OK;
}

static enum oto_status open_row(struct recorder_row *row, struct oto_client *client, struct oto_error *error)
{
    row->channel = oto_client_find(client, row->topic, error);
    if (row->channel == NULL) {
        return error->status;
    }
    row->file = strcmp(row->path, "-") == 0 ? stdout : fopen(row->path, "we");
    if (row->file == NULL) {
        return oto_fail(error, OTO_IO, "%s: cannot be written: %s", row->path, strerror(errno));
    }
    row->reader = oto_reader_make(row->channel, OTO_READ_FROM_OLDEST);
    csv_header(row->file, &row->channel->type);
    return OTO_OK;
}

/* The world is to wait for what is recorded. */
enum oto_status recorder_resume(const struct recorder *recorder, struct oto_error *error)
{
    const struct oto_channel *channels[RECORDER_MAX];
    for (uint32_t i = 0; i < recorder->count; i++) {
        channels[i] = recorder->rows[i].channel;
    }
    return recorder->count == 0 ? OTO_OK : oto_lossless_begin(recorder->client, channels, recorder->count, error);
}

enum oto_status recorder_start(struct recorder *recorder, struct oto_client *client, struct oto_error *error)
{
    recorder->client = client;
    for (uint32_t i = 0; i < recorder->count; i++) {
        const enum oto_status status = open_row(&recorder->rows[i], client, error);
        if (status != OTO_OK) {
            return status;
        }
    }
    recorder->heads = malloc(BATCH * sizeof *recorder->heads);
    recorder->payloads = malloc((size_t)BATCH * OTO_RECORD_MAX_BYTES);
    if (recorder->heads == NULL || recorder->payloads == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    recorder->lossless = recorder->count > 0;
    return recorder_resume(recorder, error);
}

static void acknowledge(struct recorder *recorder)
{
    uint64_t next[RECORDER_MAX];
    for (uint32_t i = 0; i < recorder->count; i++) {
        next[i] = oto_reader_position(&recorder->rows[i].reader);
    }
    (void)oto_lossless_acknowledge(recorder->client, next, recorder->count);
}

uint64_t recorder_drain(struct recorder *recorder)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < recorder->count; i++) {
        struct recorder_row *row = &recorder->rows[i];
        const size_t count = oto_reader_read(&row->reader, recorder->heads, recorder->payloads, BATCH);
        for (size_t k = 0; k < count; k++) {
            csv_sample(row->file, &row->channel->type, &recorder->heads[k],
                       recorder->payloads + k * row->channel->type.bytes);
        }
        total += count;
    }
    if (total > 0 && recorder->lossless) {
        acknowledge(recorder);
    }
    return total;
}

enum oto_status recorder_finish(struct recorder *recorder, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    while (recorder->heads != NULL && recorder->payloads != NULL && recorder_drain(recorder) > 0) {
    }
    for (uint32_t i = 0; i < recorder->count; i++) {
        struct recorder_row *row = &recorder->rows[i];
        if (row->file == NULL) {
            continue;
        }
        const bool bad = ferror(row->file) != 0;
        const bool closed = row->file == stdout ? fflush(stdout) == 0 : fclose(row->file) == 0;
        if ((bad || !closed) && status == OTO_OK) {
            status = oto_fail(error, OTO_IO, "%s: not everything could be written", row->path);
        }
        row->file = NULL;
    }
    free(recorder->heads);
    free(recorder->payloads);
    recorder->heads = NULL;
    recorder->payloads = NULL;
    return status;
}

uint64_t recorder_lost(const struct recorder *recorder, uint32_t channel)
{
    for (uint32_t i = 0; i < recorder->count; i++) {
        if (recorder->rows[i].channel != NULL && recorder->rows[i].channel->index == channel) {
            return recorder->rows[i].reader.cursor.lost;
        }
    }
    return 0;
}
