#include "record/unpacked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary_directory.h"
#include "recording/names.h"
#include "sim/run_log.h"

enum { MOST_OVERRIDES = 4096 };

static enum oto_status no_memory(struct oto_error *error)
{
    return oto_fail(error, OTO_NO_MEMORY, "no memory for the files of a recording");
}

/* True if the path is absolute and has no component "..": a recording from an unknown source must not write elsewhere. */
static bool is_inside(const char *path)
{
    if (path[0] != '/') {
        return false;
    }
    while (*path != '\0') {
        path += 1;
        const size_t length = strcspn(path, "/");
        if (length == 0 || (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.')))) {
            return false;
        }
        path += length;
    }
    return true;
}

bool unpacked_path(const struct unpacked *unpacked, const char *path, char *to, size_t bytes)
{
    const int length = snprintf(to, bytes, "%s%s", unpacked->folder, path);
    return length > 0 && (size_t)length < bytes;
}

static bool make_folders(char *path, size_t from)
{
    for (char *slash = strchr(path + from + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made) {
            return false;
        }
    }
    return true;
}

enum oto_status unpacked_add(const struct unpacked *unpacked, const char *path, const void *data, size_t bytes,
                             struct oto_error *error)
{
    char to[2 * PATH_MAX];
    if (!is_inside(path) || !unpacked_path(unpacked, path, to, sizeof to)) {
        return oto_fail(error, OTO_CORRUPT, "the recording has a file '%.256s', which is no absolute path", path);
    }
    const bool made = make_folders(to, strlen(unpacked->folder));
    const int fd = made ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    const char *at = data;
    ssize_t written = 0;
    for (size_t left = bytes; fd >= 0 && left > 0 && written >= 0; left -= (size_t)written, at += written) {
        written = write(fd, at, left);
        written = written < 0 && errno == EINTR ? 0 : written;
    }
    const bool whole = fd >= 0 && written >= 0;
    const int why = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return whole ? OTO_OK : oto_fail(error, OTO_IO, "cannot write '%.256s': %s", to, strerror(why));
}

static enum oto_status add_files(const struct unpacked *unpacked, const struct recorded *recorded, struct oto_error *error)
{
    static const char folder[] = RECORDING_FILES "/";
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < oto_mcap_reader_attachment_count(recorded->reader) && status == OTO_OK; i++) {
        const char *name = oto_mcap_reader_attachment_name(recorded->reader, i);
        unsigned char *data = NULL;
        size_t bytes = 0;
        if (strncmp(name, folder, sizeof folder - 1) != 0) {
            continue;
        }
        status = oto_mcap_reader_attachment(recorded->reader, i, &data, &bytes, error);
        if (status == OTO_OK) {
            status = unpacked_add(unpacked, name + sizeof folder - 2, data, bytes, error);
        }
        free(data);
    }
    return status;
}

const char *unpacked_plugin(const char *path, char *name, size_t bytes)
{
    const char *slash = strrchr(path, '/'), *file = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(file);
    if (access(path, R_OK) == 0 || length <= 3) {
        return path;
    }
    (void)snprintf(name, bytes, "%.*s", (int)(length - 3), file);
    return name;
}

static enum oto_status add_override(struct unpacked *unpacked, const struct oto_run_log_line *line, struct oto_error *error)
{
    const char *place = oto_run_log_text(line, "place"), *path = oto_run_log_text(line, "path");
    char to[2 * PATH_MAX], *text = NULL;
    if (place == NULL || path == NULL || unpacked->override_count == MOST_OVERRIDES) {
        return oto_fail(error, OTO_CORRUPT, "the attachment '" RECORDING_PLACES "' is damaged");
    }
    if (strcmp(line->entry, "plugin") == 0) {
        char name[64];
        (void)snprintf(to, sizeof to, "%s", unpacked_plugin(path, name, sizeof name));
    } else if (!unpacked_path(unpacked, path, to, sizeof to) ||
               (strstr(path, "{i}") == NULL && access(to, R_OK) != 0)) {
        return OTO_OK; /* the file was too large to be recorded: the world uses the original */
    }
    char **more = realloc(unpacked->overrides, (unpacked->override_count + 1) * sizeof *more);
    if (more == NULL || asprintf(&text, strchr(to, '\'') == NULL ? "%s='%s'" : "%s=%s", place, to) < 0) {
        unpacked->overrides = more != NULL ? more : unpacked->overrides;
        return no_memory(error);
    }
    unpacked->overrides = more;
    more[unpacked->override_count++] = text;
    return OTO_OK;
}

static enum oto_status add_overrides(struct unpacked *unpacked, const struct recorded *recorded, struct oto_error *error)
{
    char *text = NULL, *rest = NULL;
    size_t bytes = 0;
    enum oto_status status = recorded_attachments(recorded, RECORDING_PLACES, &text, &bytes, error);
    for (char *row = text != NULL ? strtok_r(text, "\n", &rest) : NULL; row != NULL && status == OTO_OK;
         row = strtok_r(NULL, "\n", &rest)) {
        struct oto_run_log_line line;
        status = oto_run_log_parse(row, strlen(row), &line, error);
        status = status == OTO_OK ? add_override(unpacked, &line, error) : status;
    }
    free(text);
    return status;
}

enum oto_status unpacked_open(struct unpacked *unpacked, const struct recorded *recorded, struct oto_error *error)
{
    enum oto_status status = srv_temporary_directory_make("otolith-verify", unpacked->folder, sizeof unpacked->folder, error);
    if (status == OTO_OK) {
        status = add_files(unpacked, recorded, error);
    }
    return status == OTO_OK ? add_overrides(unpacked, recorded, error) : status;
}

void unpacked_close(struct unpacked *unpacked)
{
    srv_temporary_directory_remove(unpacked->folder);
    for (uint32_t i = 0; i < unpacked->override_count; i++) {
        free(unpacked->overrides[i]);
    }
    free(unpacked->overrides);
    *unpacked = (struct unpacked){0};
}
