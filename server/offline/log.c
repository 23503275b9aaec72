/* Samples in memory: heads and payloads of one record type, one after the other. */
#include "offline/log.h"
#include "plugin/record_copy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (UINT64_C(1) << 40)

struct oto_log {
    char *source;
    struct oto_record_type *type;
    size_t stride;
    uint64_t count, capacity;
    unsigned char *rows; /* each row is a head and a payload */
};

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
    if (made == NULL || (made->source = strdup(source)) == NULL ||
        (made->type = oto_record_type_copy(type)) == NULL) {
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
        free(log->type);
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
        return oto_fail(error, OTO_INVALID, "time decreases from %.9f s to %.9f s; samples must be in the order of their times", (double)head_at(log, log->count - 1)->t_ns * 1e-9, (double)head->t_ns * 1e-9);
    }
    const enum oto_status status = log->count == log->capacity ? grow(log, error) : OTO_OK;
    if (status != OTO_OK) {
        return status;
    }
    unsigned char *row = log->rows + log->count * log->stride;
    struct oto_sample_head own = *head;
    own.seq = head->seq != 0 ? head->seq : log->count + 1;
    own.bytes = log->type->bytes;
    memcpy(row, &own, sizeof own);
    memcpy(row + sizeof own, payload, log->type->bytes);
    log->count++;
    return OTO_OK;
}

const char *oto_log_source(const struct oto_log *log)
{
    return log->source;
}

const struct oto_record_type *oto_log_type(const struct oto_log *log)
{
    return log->type;
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
    const double rate_hz = span_ns > 0.0 ? (double)(log->count - 1) * 1e9 / span_ns : 0.0;
    /* Rounding of times to ns makes a whole rate inexact, so a rate that is whole to a millionth is rounded. */
    return fabs(rate_hz - round(rate_hz)) < 1e-6 * rate_hz ? round(rate_hz) : rate_hz;
}
