/* Samples in memory: heads and payloads of one record type, one after the other. */
#include "estimate/log.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (UINT64_C(1) << 40)
enum { MOST_TEXT = 256 };

struct oto_log {
    char *source;
    struct oto_record_type type; /* with its fields and their texts in `fields` and `texts` */
    struct oto_field *fields;
    char *texts;
    size_t stride;
    uint64_t count, capacity;
    unsigned char *rows; /* head, payload */
};

/* ---- the type ---- */

static char *keep(char **at, const char *text)
{
    char *kept = *at;
    const size_t bytes = strnlen(text != NULL ? text : "", MOST_TEXT);
    memcpy(kept, text != NULL ? text : "", bytes);
    kept[bytes] = '\0';
    *at += bytes + 1;
    return kept;
}

static size_t text_bytes(const char *text)
{
    return text != NULL ? strnlen(text, MOST_TEXT) + 1 : 1;
}

static bool copy_type(struct oto_log *log, const struct oto_record_type *type)
{
    size_t bytes = text_bytes(type->name);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        bytes += text_bytes(field->name) + text_bytes(field->unit) + text_bytes(field->frame) + text_bytes(field->text);
    }
    log->fields = calloc(type->field_count + 1, sizeof *log->fields);
    log->texts = malloc(bytes);
    if (log->fields == NULL || log->texts == NULL) {
        return false;
    }
    char *at = log->texts;
    log->type = (struct oto_record_type){keep(&at, type->name), type->bytes, type->field_count, log->fields};
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        log->fields[i] = (struct oto_field){keep(&at, field->name), field->type,           field->count,
                                            field->offset,          keep(&at, field->unit), keep(&at, field->frame),
                                            keep(&at, field->text)};
    }
    return true;
}

enum oto_status oto_log_create(const char *source, const struct oto_record_type *type, struct oto_log **log,
                               struct oto_error *error)
{
    *log = NULL;
    if (type->bytes == 0 || type->bytes % 8 != 0 || type->bytes > OTO_RECORD_MAX_BYTES ||
        type->field_count > OTO_RECORD_MAX_FIELDS) {
        return oto_fail(error, OTO_LIMIT, "%.200s: records of %u bytes with %u fields; a multiple of 8 up to %d bytes and at "
                        "most %d fields are accepted", source, type->bytes, type->field_count, OTO_RECORD_MAX_BYTES,
                        OTO_RECORD_MAX_FIELDS);
    }
    struct oto_log *made = calloc(1, sizeof *made);
    if (made == NULL || (made->source = strdup(source)) == NULL || !copy_type(made, type)) {
        oto_log_close(made);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the log '%.200s'", source);
    }
    made->stride = sizeof(struct oto_sample_head) + type->bytes;
    *log = made;
    return OTO_OK;
}

void oto_log_close(struct oto_log *log)
{
    if (log != NULL) {
        free(log->source);
        free(log->fields);
        free(log->texts);
        free(log->rows);
        free(log);
    }
}

/* ---- the samples ---- */

static const struct oto_sample_head *head_at(const struct oto_log *log, uint64_t index)
{
    return (const struct oto_sample_head *)(const void *)(log->rows + index * log->stride);
}

static enum oto_status grow(struct oto_log *log, struct oto_error *error)
{
    const uint64_t capacity = log->capacity == 0 ? 256 : 2 * log->capacity;
    if (capacity > MOST_BYTES / log->stride) {
        return oto_fail(error, OTO_LIMIT, "%.200s: more than 2^40 bytes of samples", log->source);
    }
    unsigned char *rows = realloc(log->rows, capacity * log->stride);
    if (rows == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %llu samples of '%.200s'", (unsigned long long)capacity,
                        log->source);
    }
    log->rows = rows;
    log->capacity = capacity;
    return OTO_OK;
}

enum oto_status oto_log_add(struct oto_log *log, const struct oto_sample_head *head, const void *payload,
                            struct oto_error *error)
{
    if (log->count > 0 && head->t_ns < head_at(log, log->count - 1)->t_ns) {
        return oto_fail(error, OTO_INVALID, "time goes back from %.9f s to %.9f s; samples must come in the order of their "
                        "times", (double)head_at(log, log->count - 1)->t_ns * 1e-9, (double)head->t_ns * 1e-9);
    }
    const enum oto_status status = log->count == log->capacity ? grow(log, error) : OTO_OK;
    if (status != OTO_OK) {
        return status;
    }
    unsigned char *row = log->rows + log->count * log->stride;
    struct oto_sample_head own = *head;
    own.seq = head->seq != 0 ? head->seq : log->count + 1;
    own.bytes = log->type.bytes;
    memcpy(row, &own, sizeof own);
    memcpy(row + sizeof own, payload, log->type.bytes);
    log->count++;
    return OTO_OK;
}

const char *oto_log_source(const struct oto_log *log)
{
    return log->source;
}

const struct oto_record_type *oto_log_type(const struct oto_log *log)
{
    return &log->type;
}

uint64_t oto_log_count(const struct oto_log *log)
{
    return log->count;
}

struct oto_input_sample oto_log_sample(const struct oto_log *log, uint64_t index)
{
    const struct oto_sample_head *head = head_at(log, index);
    return (struct oto_input_sample){0, head->flags, head->seq, head->t_ns, head->sensor_time_ns, head + 1};
}

double oto_log_rate_hz(const struct oto_log *log)
{
    if (log->count < 2) {
        return 0.0;
    }
    const double span_ns = (double)head_at(log, log->count - 1)->t_ns - (double)head_at(log, 0)->t_ns;
    return span_ns > 0.0 ? (double)(log->count - 1) * 1e9 / span_ns : 0.0;
}
