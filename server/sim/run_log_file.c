/* Reads the file of a run's log, one line at a time. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/run_log.h"

#define FIRST_BYTES 65536u

struct oto_run_log_reader {
    FILE *file;
    char *path;
    char *buffer;
    size_t capacity;
    uint64_t number, tick;
    bool cut;
};

enum oto_status oto_run_log_wrong(const struct oto_run_log_reader *reader, struct oto_error *error, enum oto_status status,
                              const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return oto_fail(error, status, "%.200s line %" PRIu64 ": %s", reader->path, reader->number, text);
}

static enum oto_status grow(struct oto_run_log_reader *reader, struct oto_error *error)
{
    const size_t most = OTO_RUN_LOG_LINE_BYTES, wanted = reader->capacity > 0 ? 2 * reader->capacity : FIRST_BYTES;
    const size_t capacity = wanted < most ? wanted : most;
    if (capacity == reader->capacity) {
        return oto_run_log_wrong(reader, error, OTO_LIMIT, "a line is longer than 4 MiB");
    }
    char *buffer = realloc(reader->buffer, capacity);
    if (buffer == NULL) {
        return oto_run_log_wrong(reader, error, OTO_NO_MEMORY, "no memory for a line");
    }
    reader->buffer = buffer;
    reader->capacity = capacity;
    return OTO_OK;
}

/* Reads a line without its '\n'. OTO_CLOSED: no complete line is left. */
static enum oto_status read_line(struct oto_run_log_reader *reader, size_t *bytes, struct oto_error *error)
{
    reader->number++;
    for (*bytes = 0;;) {
        if (*bytes + 1 >= reader->capacity) {
            const enum oto_status status = grow(reader, error);
            if (status != OTO_OK) {
                return status;
            }
        }
        const int c = getc_unlocked(reader->file);
        if (c == '\n') {
            return OTO_OK;
        }
        if (c == EOF && ferror(reader->file)) {
            return oto_run_log_wrong(reader, error, OTO_IO, "cannot be read: %s", strerror(errno));
        }
        if (c == EOF) {
            reader->cut = *bytes > 0;
            return OTO_CLOSED;
        }
        reader->buffer[(*bytes)++] = (char)c;
    }
}

enum oto_status oto_run_log_next(struct oto_run_log_reader *reader, struct oto_run_log_line *line, struct oto_error *error)
{
    struct oto_error reason = {0};
    size_t bytes;
    const enum oto_status status = read_line(reader, &bytes, error);
    if (status != OTO_OK) {
        return status;
    }
    line->tick = reader->tick;
    line->number = reader->number;
    if (oto_run_log_parse(reader->buffer, bytes, line, &reason) != OTO_OK) {
        return oto_run_log_wrong(reader, error, reason.status, "%s", reason.text);
    }
    reader->tick = line->tick;
    return OTO_OK;
}

bool oto_run_log_was_cut(const struct oto_run_log_reader *reader)
{
    return reader->cut;
}

void oto_run_log_close(struct oto_run_log_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    if (reader->file != NULL) {
        (void)fclose(reader->file);
    }
    free(reader->buffer);
    free(reader->path);
    free(reader);
}

/* Refuses pipes and devices, which could block a server. */
static enum oto_status open_file(struct oto_run_log_reader *reader, const char *path, struct oto_error *error)
{
    struct stat facts;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool known = fd >= 0 && fstat(fd, &facts) == 0;
    if (!known) {
        (void)oto_fail(error, OTO_IO, "the log '%.300s' cannot be opened: %s", path, strerror(errno));
    } else if (!S_ISREG(facts.st_mode)) {
        (void)oto_fail(error, OTO_INVALID, "the log '%.300s' is no file", path);
    } else {
        reader->file = fdopen(fd, "r");
    }
    if (reader->file == NULL && fd >= 0) {
        (void)close(fd);
    }
    return reader->file != NULL ? OTO_OK : error->status != OTO_OK ? error->status
                                                                   : oto_fail(error, OTO_NO_MEMORY, "out of memory");
}

static enum oto_status check_header(const struct oto_run_log_reader *reader, const struct oto_run_log_line *header,
                                    struct oto_error *error)
{
    const char *format = oto_run_log_text(header, "format");
    uint64_t version = 0;
    if (strcmp(header->entry, "header") != 0 || format == NULL || strcmp(format, OTO_RUN_LOG_FORMAT) != 0) {
        return oto_run_log_wrong(reader, error, OTO_CORRUPT, "this is no log of a run: its header is missing");
    }
    if (!oto_run_log_number(header, "version", &version) || version != OTO_RUN_LOG_VERSION) {
        return oto_run_log_wrong(reader, error, OTO_VERSION, "a log of version %" PRIu64 "; version %u is read", version,
                             OTO_RUN_LOG_VERSION);
    }
    return OTO_OK;
}

enum oto_status oto_run_log_open(const char *path, struct oto_run_log_reader **out, struct oto_run_log_line *header,
                             struct oto_error *error)
{
    struct oto_run_log_reader *reader = calloc(1, sizeof *reader);
    struct oto_error own = {0};
    error = error != NULL ? error : &own;
    error->status = OTO_OK;
    *out = NULL;
    if (reader == NULL || (reader->path = strdup(path)) == NULL) {
        free(reader);
        return oto_fail(error, OTO_NO_MEMORY, "no memory to read a log");
    }
    enum oto_status status = open_file(reader, path, error);
    if (status == OTO_OK) {
        status = oto_run_log_next(reader, header, error);
        status = status == OTO_CLOSED ? oto_run_log_wrong(reader, error, OTO_CORRUPT, "the log is empty") : status;
    }
    if (status == OTO_OK) {
        status = check_header(reader, header, error);
    }
    if (status != OTO_OK) {
        oto_run_log_close(reader);
        return status;
    }
    *out = reader;
    return OTO_OK;
}
