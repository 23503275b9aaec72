/* The files that a world names, as attachments of its recording. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_kind.h"
#include "otolith/hash.h"
#include "record/named_files.h"
#include "record/recording_private.h"
#include "sim/run_log.h"

#define FILE_MOST_BYTES (256u << 20)

/* Reads a file. OTO_LIMIT: the file is too large for a recording. */
static enum oto_status read_whole(const char *path, char **data, size_t *bytes, struct oto_error *error)
{
    const char *why = NULL;
    const enum oto_status status = srv_regular_read(path, FILE_MOST_BYTES, data, bytes, &why);
    if (status != OTO_OK) {
        return oto_fail(error, status, "cannot read '%.256s': %s", path, why);
    }
    return *bytes <= FILE_MOST_BYTES ? OTO_OK
                                     : oto_fail(error, OTO_LIMIT, "'%.256s' has more than %u bytes, the most that are recorded of a file",
                                                path, FILE_MOST_BYTES);
}

static bool is_attached(const struct named_files *files, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(files->files[i].path, files->files[index].path) == 0) {
            return true;
        }
    }
    return false;
}

static enum oto_status attach_file(struct recording *recording, const char *path, struct oto_error *error)
{
    char name[PATH_MAX + sizeof RECORDING_FILES];
    char *data;
    size_t bytes;
    enum oto_status status = read_whole(path, &data, &bytes, error);
    if (status == OTO_LIMIT) {
        cli_print_line(stderr, "otolith: %s; `otolith verify` will need the file", error->text);
        free(data);
        return OTO_OK;
    }
    if (status == OTO_OK) {
        (void)snprintf(name, sizeof name, "%s%s", RECORDING_FILES, path);
        status = recording_attach(recording, name, "application/octet-stream", data, bytes, error);
    }
    free(data);
    return status;
}

static void put_place(struct oto_json *to, const struct named_file *file)
{
    oto_run_log_put_begin(to, file->is_plugin ? "plugin" : "file");
    oto_json_text(to, "place", file->place);
    oto_json_text(to, "path", file->path);
    oto_run_log_put_end(to);
}

static enum oto_status attach_places(struct recording *recording, const struct named_files *files, struct oto_error *error)
{
    struct oto_json json = {.layout = OTO_JSON_LINE};
    for (uint32_t i = 0; i < files->count; i++) {
        if (files->files[i].place != NULL) {
            put_place(&json, &files->files[i]);
        }
    }
    enum oto_status status = !json.failed ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for a recording");
    if (status == OTO_OK && json.bytes > 0) {
        status = recording_attach(recording, RECORDING_PLACES, "application/jsonl", json.text, json.bytes, error);
    }
    oto_json_free(&json);
    return status;
}

enum oto_status recording_attach_files(struct recording *recording, const char *world_path, const char *const *overrides,
                                       uint32_t override_count, struct oto_error *error)
{
    struct named_files files = {0};
    enum oto_status status = named_files_find(world_path, overrides, override_count, &files, error);
    for (uint32_t i = 0; i < files.count && status == OTO_OK; i++) {
        if (!files.files[i].is_plugin && !files.files[i].is_pattern && !is_attached(&files, i)) {
            status = attach_file(recording, files.files[i].path, error);
        }
    }
    if (status == OTO_OK) {
        status = attach_places(recording, &files, error);
    }
    named_files_free(&files);
    return status;
}

enum oto_status recording_attach_restored(struct recording *recording, struct oto_error *error)
{
    struct oto_run_log_reader *log = NULL;
    struct oto_run_log_line line;
    enum oto_status status = oto_run_log_open(recording->log_path, &log, &line, error);
    while (status == OTO_OK && strcmp(line.entry, "start") != 0) {
        const char *path = strcmp(line.entry, "restore") == 0 ? oto_run_log_text(&line, "file") : NULL;
        status = path != NULL ? attach_file(recording, path, error) : OTO_OK;
        status = status == OTO_OK ? oto_run_log_next(log, &line, error) : status;
    }
    oto_run_log_close(log);
    return status == OTO_CLOSED ? OTO_OK : status;
}
