/*
 * Journals: DIR/journal/K_of_N/HOST.PID.NUMBER.rows. A process writes a file of its own and never changes a row, so any number
 * of processes, on any number of machines, may work on one directory. A line is a checksum, a space, a row. A line that is cut
 * off by a kill has no newline or another checksum, and does not count.
 */
#include "base/file_kind.h"
#include "base/monotonic.h"
#include "sweep/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "otolith/hash.h"

enum { CHECKSUM_LETTERS = 16 };
#define SYNC_EVERY_NS INT64_C(1000000000)

struct sweep_shard sweep_shard_make(const struct sweep_spec *spec, uint64_t number, uint64_t of)
{
    const unsigned __int128 runs = spec->runs;
    return (struct sweep_shard){.number = number, .of = of, .first = (uint64_t)(runs * (number - 1) / of), .end = (uint64_t)(runs * number / of)};
}

/* ---- writing ---- */

static enum oto_status make_folder(const char *path, struct oto_error *error)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST
               ? OTO_OK
               : oto_fail(error, OTO_IO, "cannot make the directory '%.256s': %s", path, strerror(errno));
}

enum oto_status sweep_journal_create(struct sweep_journal *journal, const char *directory, const struct sweep_shard *shard,
                                     struct oto_error *error)
{
    char folder[3400], host[64] = "host";
    *journal = (struct sweep_journal){.file = -1};
    (void)snprintf(folder, sizeof folder, "%.3000s/journal", directory);
    enum oto_status status = make_folder(folder, error);
    (void)snprintf(folder, sizeof folder, "%.3000s/journal/%" PRIu64 "_of_%" PRIu64, directory, shard->number, shard->of);
    if (status == OTO_OK) {
        status = make_folder(folder, error);
    }
    (void)gethostname(host, sizeof host - 1);
    for (int number = 1; status == OTO_OK && journal->file < 0; number++) {
        (void)snprintf(journal->path, sizeof journal->path, "%s/%.63s.%ld.%d.rows", folder, host, (long)getpid(), number);
        journal->file = open(journal->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (journal->file < 0 && errno != EEXIST) {
            status = oto_fail(error, OTO_IO, "cannot create '%.256s': %s", journal->path, strerror(errno));
        }
    }
    return status;
}

static enum oto_status synchronise(struct sweep_journal *journal, struct oto_error *error)
{
    journal->synced_ns = srv_now_ns();
    journal->is_dirty = false;
    return fdatasync(journal->file) == 0
               ? OTO_OK
               : oto_fail(error, OTO_IO, "cannot synchronise '%.256s' with the disk: %s", journal->path, strerror(errno));
}

static enum oto_status write_all(const struct sweep_journal *journal, const char *bytes, size_t length, struct oto_error *error)
{
    while (length > 0) {
        const ssize_t written = write(journal->file, bytes, length);
        if (written < 0 && errno != EINTR) {
            return oto_fail(error, OTO_IO, "cannot write '%.256s': %s", journal->path, strerror(errno));
        }
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return OTO_OK;
}

enum oto_status sweep_journal_add(struct sweep_journal *journal, const char *row, size_t length, struct oto_error *error)
{
    char *line = NULL;
    const int bytes = asprintf(&line, "%016" PRIx64 " %.*s\n", oto_fnv1a64_more(OTO_FNV1A64_START, row, length), (int)length, row);
    if (bytes < 0) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a row");
    }
    enum oto_status status = write_all(journal, line, (size_t)bytes, error);
    free(line);
    journal->is_dirty = true;
    if (status == OTO_OK && srv_now_ns() - journal->synced_ns > SYNC_EVERY_NS) {
        status = synchronise(journal, error);
    }
    return status;
}

enum oto_status sweep_journal_close(struct sweep_journal *journal, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    if (journal->file >= 0) {
        status = journal->is_dirty ? synchronise(journal, error) : OTO_OK;
        (void)close(journal->file);
    }
    journal->file = -1;
    return status;
}

/* ---- reading ---- */

enum oto_status sweep_rows_open(struct sweep_rows *rows, const struct sweep_shard *shard, struct oto_error *error)
{
    *rows = (struct sweep_rows){.shard = *shard};
    rows->rows = calloc(shard->end - shard->first + 1, sizeof *rows->rows);
    return rows->rows != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for %" PRIu64 " rows", shard->end - shard->first);
}

void sweep_rows_close(struct sweep_rows *rows)
{
    for (uint32_t i = 0; i < rows->map_count; i++) {
        (void)munmap(rows->maps[i].bytes, rows->maps[i].length);
        free(rows->maps[i].path);
    }
    free(rows->maps);
    free(rows->rows);
    *rows = (struct sweep_rows){0};
}

/* The last cell of a row is its error: empty for a success. */
static bool has_failed(const char *row, uint32_t length)
{
    return length > 0 && row[length - 1] != ',';
}

/* Stores a row of a run. A row of a success replaces one of a failure; two rows of successes must be equal. */
static enum oto_status keep_row(struct sweep_rows *rows, uint64_t run, const struct sweep_row_at *row, struct oto_error *error)
{
    struct sweep_row_at *kept = &rows->rows[run - rows->shard.first];
    const bool failed = has_failed(row->text, row->length);
    if (kept->text != NULL && has_failed(kept->text, kept->length) == failed) {
        const bool same = kept->length == row->length && memcmp(kept->text, row->text, row->length) == 0;
        return same || failed ? OTO_OK
                              : oto_fail(error, OTO_CONFLICT, "run %" PRIu64 " has two different results, in '%.180s' and '%.180s'; the "
                                         "machines or programs differ", run, rows->maps[kept->file].path, rows->maps[row->file].path);
    }
    if (kept->text != NULL && failed) {
        return OTO_OK;
    }
    rows->failed += failed;
    rows->failed -= kept->text != NULL;
    rows->known += kept->text == NULL;
    *kept = *row;
    return OTO_OK;
}

static enum oto_status read_line(struct sweep_rows *rows, const char *line, size_t length, bool retry_failed, struct oto_error *error)
{
    char letters[CHECKSUM_LETTERS + 1] = "", number[24], *end;
    if (length < CHECKSUM_LETTERS + 2 || length > UINT32_MAX || line[CHECKSUM_LETTERS] != ' ') {
        return OTO_OK;
    }
    const struct sweep_row_at row = {.text = line + CHECKSUM_LETTERS + 1, .length = (uint32_t)(length - CHECKSUM_LETTERS - 1),
                                     .file = rows->map_count - 1};
    memcpy(letters, line, CHECKSUM_LETTERS);
    (void)snprintf(number, sizeof number, "%.*s", (int)(row.length < 23 ? row.length : 23), row.text);
    const uint64_t run = strtoull(number, &end, 10);
    if (strtoull(letters, NULL, 16) != oto_fnv1a64_more(OTO_FNV1A64_START, row.text, row.length) || *end != ',' ||
        run < rows->shard.first || run >= rows->shard.end || (retry_failed && has_failed(row.text, row.length))) {
        return OTO_OK;
    }
    return keep_row(rows, run, &row, error);
}

static enum oto_status map_file(struct sweep_rows *rows, const char *path, struct oto_error *error)
{
    struct stat facts;
    struct sweep_map *maps = realloc(rows->maps, (rows->map_count + 1) * sizeof *maps);
    rows->maps = maps != NULL ? maps : rows->maps;
    const char *why = "out of memory";
    const int file = maps != NULL ? srv_regular_open(path, 0, &why) : -1;
    if (file < 0 || fstat(file, &facts) != 0) {
        if (file >= 0) {
            (void)close(file);
        }
        return oto_fail(error, OTO_IO, "cannot read '%.256s': %s", path, why);
    }
    void *bytes = facts.st_size > 0 ? mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0) : NULL;
    (void)close(file);
    if (bytes == NULL) {
        return OTO_AGAIN; /* an empty journal: no run was finished yet */
    }
    char *name = bytes != MAP_FAILED ? strdup(path) : NULL;
    if (name == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "cannot map '%.256s': %s", path, strerror(errno));
    }
    rows->maps[rows->map_count++] = (struct sweep_map){.path = name, .bytes = bytes, .length = (size_t)facts.st_size};
    return OTO_OK;
}

static enum oto_status read_file(struct sweep_rows *rows, const char *path, bool retry_failed, struct oto_error *error)
{
    enum oto_status status = map_file(rows, path, error);
    if (status != OTO_OK) {
        return status == OTO_AGAIN ? OTO_OK : status;
    }
    const struct sweep_map *map = &rows->maps[rows->map_count - 1];
    const char *line = map->bytes, *end = line + map->length, *next;
    for (; status == OTO_OK && (next = memchr(line, '\n', (size_t)(end - line))) != NULL; line = next + 1) {
        status = read_line(rows, line, (size_t)(next - line), retry_failed, error);
    }
    return status;
}

static enum oto_status read_folder(struct sweep_rows *rows, const char *folder, bool retry_failed, struct oto_error *error)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, NULL, alphasort);
    enum oto_status status = OTO_OK;
    for (int i = 0; i < count; i++) {
        char path[4096];
        const char *end = strrchr(entries[i]->d_name, '.');
        if (status == OTO_OK && end != NULL && strcmp(end, ".rows") == 0) {
            (void)snprintf(path, sizeof path, "%.3500s/%s", folder, entries[i]->d_name);
            status = read_file(rows, path, retry_failed, error);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* Each shard has a folder for its journals. A shard reads its folder; the whole sweep reads all folders. */
enum oto_status sweep_rows_read(struct sweep_rows *rows, const char *directory, bool retry_failed, struct oto_error *error)
{
    char path[4096];
    struct dirent **entries = NULL;
    enum oto_status status = OTO_OK;
    if (rows->shard.of > 1) {
        (void)snprintf(path, sizeof path, "%.3000s/journal/%" PRIu64 "_of_%" PRIu64, directory, rows->shard.number, rows->shard.of);
        status = read_folder(rows, path, retry_failed, error);
    }
    (void)snprintf(path, sizeof path, "%.3000s/journal", directory);
    const int count = rows->shard.of == 1 ? scandir(path, &entries, NULL, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "%.3000s/journal/%s", directory, entries[i]->d_name);
        if (status == OTO_OK && entries[i]->d_name[0] != '.') {
            status = read_folder(rows, path, retry_failed, error);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}
