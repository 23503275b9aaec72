#include "recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pattern.h"
#include "csv.h"

enum {
    BATCH = 256,
    FLUSH_BYTES = 4096, /* short, because a kill may split a write between two pages */
    MOST_GAPS_SHOWN = 8, /* of a topic */
};

enum oto_status recorder_add(struct recorder *recorder, char *argument, struct oto_error *error)
{
    char *equals = strchr(argument, '=');
    if (equals == NULL || equals == argument || equals[1] == '\0') {
        return oto_fail(error, OTO_INVALID, "--csv takes TOPIC=FILE, not '%s'", argument);
    }
    if (srv_is_pattern(argument) && strcspn(argument, "*?[") < (size_t)(equals - argument)) {
        return oto_fail(error, OTO_INVALID, "'%.*s' is a pattern, and --csv writes one topic to a file; --mcap records all topics, and "
                        "`otolith record` those of a pattern", (int)(equals - argument), argument);
    }
    if (recorder->count == RECORDER_MAX) {
        return oto_fail(error, OTO_LIMIT, "at most %d topics can be recorded", (int)RECORDER_MAX);
    }
    *equals = '\0';
    recorder->rows[recorder->count++] = (struct recorder_row){.topic = argument, .path = equals + 1};
    return OTO_OK;
}

/* ---- files ---- */

static bool write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t written = write(fd, text, bytes);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        text += written > 0 ? written : 0;
        bytes -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* Writes the whole lines in memory. After an error the incomplete last line of a regular file is cut off. */
static void flush(struct recorder_row *row)
{
    struct stat info;
    if (fflush(row->lines) != 0) {
        row->write_error = row->write_error != 0 ? row->write_error : ENOMEM;
    }
    if (row->write_error == 0 && write_all(row->fd, row->text, row->text_bytes)) {
        row->whole_bytes += row->text_bytes;
    } else if (row->write_error == 0) {
        row->write_error = errno;
        if (row->output.file != NULL && fstat(row->fd, &info) == 0 && S_ISREG(info.st_mode)) {
            (void)ftruncate(row->fd, (off_t)row->whole_bytes);
        }
    }
    rewind(row->lines);
}

static enum oto_status open_row(struct recorder_row *row, struct oto_error *error)
{
    row->fd = STDOUT_FILENO;
    if (strcmp(row->path, "-") != 0) {
        const enum oto_status status = oto_output_file_open(&row->output, row->path, OTO_OUTPUT_IN_PLACE, error);
        if (status != OTO_OK) {
            return status;
        }
        row->fd = fileno(row->output.file);
    }
    row->lines = open_memstream(&row->text, &row->text_bytes);
    if (row->lines == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    csv_header(row->lines, &row->channel->type);
    flush(row);
    return OTO_OK;
}

static enum oto_status close_row(struct recorder_row *row, struct oto_error *error)
{
    struct oto_error ignored;
    enum oto_status status = OTO_OK;
    if (row->lines != NULL) {
        flush(row);
        (void)fclose(row->lines);
        free(row->text);
        row->lines = NULL;
    }
    if (row->write_error != 0) {
        status = oto_fail(error, OTO_IO, "cannot write '%.256s': %s; the recording ends after %" PRIu64 " bytes", row->path,
                          strerror(row->write_error), row->whole_bytes);
    }
    return oto_output_file_close(&row->output, status, status == OTO_OK ? error : &ignored);
}

/* ---- samples ---- */

static void acknowledge(struct recorder *recorder)
{
    uint64_t next[RECORDER_MAX];
    for (uint32_t i = 0; i < recorder->count; i++) {
        next[i] = oto_reader_position(&recorder->rows[i].reader);
    }
    (void)oto_lossless_acknowledge(recorder->client, next, recorder->count);
}

/* Becomes a lossless reader, for which a world that is not paced waits. */
enum oto_status recorder_resume(struct recorder *recorder, struct oto_error *error)
{
    const struct oto_channel *channels[RECORDER_MAX];
    for (uint32_t i = 0; i < recorder->count; i++) {
        channels[i] = recorder->rows[i].channel;
    }
    if (recorder->count == 0) {
        return OTO_OK;
    }
    const enum oto_status status = oto_lossless_begin(recorder->client, channels, recorder->count, error);
    if (status == OTO_OK) {
        acknowledge(recorder); /* the world counts from its newest records, but the readers begin at the oldest */
    }
    return status;
}

/* Finds all topics before it opens the files, because opening truncates a file. */
enum oto_status recorder_start(struct recorder *recorder, struct oto_client *client, struct oto_error *error)
{
    recorder->client = client;
    for (uint32_t i = 0; i < recorder->count; i++) {
        struct recorder_row *row = &recorder->rows[i];
        row->channel = oto_client_find(client, row->topic, error);
        if (row->channel == NULL) {
            return error->status;
        }
        row->reader = oto_reader_make(row->channel, OTO_READ_FROM_OLDEST);
        row->last_seq = row->reader.cursor.next - 1;
    }
    recorder->heads = malloc(BATCH * sizeof *recorder->heads);
    recorder->payloads = malloc((size_t)BATCH * OTO_RECORD_MAX_BYTES);
    if (recorder->heads == NULL || recorder->payloads == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < recorder->count; i++) {
        const enum oto_status status = open_row(&recorder->rows[i], error);
        if (status != OTO_OK) {
            return status;
        }
    }
    recorder->ready = true;
    return recorder_resume(recorder, error);
}

static void report_gap(struct recorder_row *row, const struct oto_sample_head *head)
{
    if (row->gaps++ < MOST_GAPS_SHOWN) {
        cli_print_line(stderr, "otolith: %" PRIu64 " samples of %s were lost between %.9g s and %.9g s: they are not in '%s'",
                       head->seq - row->last_seq - 1, row->channel->topic, (double)row->last_t_ns * 1e-9,
                       (double)head->t_ns * 1e-9, row->path);
    }
}

static void put_sample(struct recorder_row *row, const struct oto_sample_head *head, const void *payload, bool has_lost)
{
    if (has_lost && head->seq > row->last_seq + 1) {
        report_gap(row, head);
    }
    row->last_seq = head->seq;
    row->last_t_ns = head->t_ns;
    row->samples++;
    row->stale += (head->flags & OTO_SAMPLE_STALE) != 0;
    csv_sample(row->lines, &row->channel->type, head, payload);
    if (ftello(row->lines) >= FLUSH_BYTES) {
        flush(row);
    }
}

static size_t drain_row(struct recorder *recorder, struct recorder_row *row)
{
    const size_t count = oto_reader_read(&row->reader, recorder->heads, recorder->payloads, BATCH);
    const bool has_lost = row->reader.cursor.lost != row->lost;
    for (size_t k = 0; k < count; k++) {
        put_sample(row, &recorder->heads[k], recorder->payloads + k * row->channel->type.bytes, has_lost);
    }
    row->lost = row->reader.cursor.lost;
    return count;
}

uint64_t recorder_drain(struct recorder *recorder)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < recorder->count && recorder->ready; i++) {
        total += drain_row(recorder, &recorder->rows[i]);
    }
    if (total > 0) {
        acknowledge(recorder);
    }
    return total;
}

/* ---- the end ---- */

static void report_row(const struct recorder_row *row)
{
    if (row->lost > 0) {
        cli_print_line(stderr, "otolith: '%s' lacks %" PRIu64 " of %" PRIu64 " samples of %s, in %" PRIu64
                       " gaps: the recorder was too slow; --allow-loss accepts this", row->path, row->lost,
                       row->samples + row->lost, row->channel->topic, row->gaps);
    }
    if (row->stale > 0) {
        cli_print_line(stderr, "otolith: %" PRIu64 " of %" PRIu64 " samples of %s in '%s' are stale: the plugin host did not answer "
                       "in time, and the previous record was repeated; column flags marks them", row->stale, row->samples,
                       row->channel->topic, row->path);
    }
}

enum oto_status recorder_finish(struct recorder *recorder, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    struct oto_error more;
    while (recorder_drain(recorder) > 0) {
    }
    recorder->ready = false;
    for (uint32_t i = 0; i < recorder->count; i++) {
        struct recorder_row *row = &recorder->rows[i];
        report_row(row);
        const enum oto_status closed = close_row(row, status == OTO_OK ? error : &more);
        status = status == OTO_OK ? closed : status;
    }
    free(recorder->heads);
    free(recorder->payloads);
    recorder->heads = NULL;
    recorder->payloads = NULL;
    return status;
}

uint64_t recorder_lost(const struct recorder *recorder)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; i < recorder->count; i++) {
        lost += recorder->rows[i].lost;
    }
    return lost;
}

const struct recorder_row *recorder_find(const struct recorder *recorder, uint32_t channel)
{
    for (uint32_t i = 0; i < recorder->count; i++) {
        if (recorder->rows[i].channel != NULL && recorder->rows[i].channel->index == channel) {
            return &recorder->rows[i];
        }
    }
    return NULL;
}
