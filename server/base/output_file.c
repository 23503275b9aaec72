#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* as in the kernel */

static bool directory_of(const char *path, char directory[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL || slash == path ? 1 : (size_t)(slash - path);
    if (length >= PATH_MAX) {
        return false;
    }
    memcpy(directory, slash == NULL ? "." : path, length);
    directory[length] = '\0';
    return true;
}

/* Joins `name`, which may be relative, to `directory`. */
static bool join(const char *directory, const char *name, char result[PATH_MAX])
{
    const bool absolute = name[0] == '/';
    const int length = snprintf(result, PATH_MAX, "%s%s%s", absolute ? "" : directory,
                                absolute || strcmp(directory, "/") == 0 ? "" : "/", name);
    return length > 0 && length < PATH_MAX;
}

/* Resolves a path whose directory exists and whose last part does not. */
static bool resolve_new(const char *path, char target[PATH_MAX])
{
    char directory[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    return directory_of(path, directory) && realpath(directory, real) != NULL &&
           join(real, slash != NULL ? slash + 1 : path, target);
}

/* realpath() that also accepts a last part that does not exist, or a link to one. False: see errno. */
static bool resolve(const char *path, char target[PATH_MAX])
{
    char current[PATH_MAX], directory[PATH_MAX], link[PATH_MAX];
    errno = ENAMETOOLONG;
    if (strlen(path) >= sizeof current) {
        return false;
    }
    memcpy(current, path, strlen(path) + 1);
    for (int i = 0; i < MOST_LINKS; i++) {
        if (realpath(current, target) != NULL) {
            return true;
        }
        if (errno != ENOENT) {
            return false;
        }
        const ssize_t length = readlink(current, link, sizeof link - 1);
        if (length < 0) {
            return resolve_new(current, target);
        }
        link[length] = '\0';
        if (!directory_of(current, directory) || !join(directory, link, current)) {
            errno = ENAMETOOLONG;
            return false;
        }
    }
    errno = ELOOP;
    return false;
}

bool oto_output_file_is_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    char target_a[PATH_MAX], target_b[PATH_MAX];
    if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0) {
        return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino && !S_ISCHR(of_a.st_mode);
    }
    return resolve(a, target_a) && resolve(b, target_b) && strcmp(target_a, target_b) == 0;
}

/* Makes a stream, or closes the descriptor if there is no memory. */
static FILE *stream_of(int fd)
{
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL && fd >= 0) {
        const int reason = errno;
        (void)close(fd);
        errno = reason;
    }
    return file;
}

/* Does not wait for the reader of a FIFO: without one errno is ENXIO. Later writes wait, unless OTO_OUTPUT_NO_WAIT is set. */
static FILE *open_in_place(const struct oto_output_file *output)
{
    const mode_t mode = (output->flags & OTO_OUTPUT_PRIVATE) != 0 ? 0600 : 0666;
    const int fd = open(output->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, mode);
    if (fd >= 0 && (output->flags & OTO_OUTPUT_NO_WAIT) == 0) {
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    }
    return stream_of(fd);
}

static mode_t mode_of(const struct oto_output_file *output, const struct stat *previous)
{
    if ((output->flags & OTO_OUTPUT_PRIVATE) != 0) {
        return 0600;
    }
    if (previous != NULL) {
        return previous->st_mode & 0777;
    }
    const mode_t mask = umask(0);
    (void)umask(mask);
    return 0666 & ~mask;
}

/*
 * True if the file could be opened for writing. A file that must not be written must not be replaced either, and the
 * kernel refuses links of other users in a directory such as /tmp (fs.protected_symlinks).
 */
static bool is_allowed(const char *path)
{
    const int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0 || errno == ENOENT;
}

/* Opens a temporary file beside the target. `previous`: the file that will be replaced, or NULL. */
static FILE *open_temporary(struct oto_output_file *output, const struct stat *previous)
{
    (void)snprintf(output->temporary, sizeof output->temporary, "%s.XXXXXX.tmp", output->target);
    const int fd = mkostemps(output->temporary, (int)strlen(".tmp"), O_CLOEXEC);
    if (fd < 0) {
        output->temporary[0] = '\0';
        return NULL;
    }
    (void)fchmod(fd, mode_of(output, previous)); /* a file system without modes keeps its own */
    FILE *file = stream_of(fd);
    if (file == NULL) {
        const int reason = errno;
        (void)unlink(output->temporary);
        output->temporary[0] = '\0';
        errno = reason;
    }
    return file;
}

enum oto_status oto_output_file_open(struct oto_output_file *output, const char *path, uint32_t flags,
                                     struct oto_error *error)
{
    struct stat previous;
    *output = (struct oto_output_file){.path = path, .flags = flags};
    const bool exists = stat(path, &previous) == 0;
    if ((flags & OTO_OUTPUT_IN_PLACE) != 0 || (exists && !S_ISREG(previous.st_mode))) {
        output->file = open_in_place(output);
    } else if (is_allowed(path) && resolve(path, output->target)) {
        output->file = open_temporary(output, exists ? &previous : NULL);
    }
    if (output->file != NULL) {
        return OTO_OK;
    }
    const bool unread = errno == ENXIO && exists && S_ISFIFO(previous.st_mode);
    return oto_fail(error, OTO_IO, "cannot write '%.256s': %s", path,
                    unread ? "it is a FIFO that nobody reads: start its reader first" : strerror(errno));
}

/* Synchronises the directory of the target with the disk. Returns 0 or an errno, as the functions below. */
static int sync_directory(const char *target)
{
    char directory[PATH_MAX];
    if (!directory_of(target, directory)) {
        return ENAMETOOLONG;
    }
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int reason = fd >= 0 && fsync(fd) == 0 ? 0 : errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return reason;
}

/* Flushes the output, and synchronises it if required. A device or FIFO that cannot be synchronised is no error. */
static int write_out(const struct oto_output_file *output)
{
    if (fflush(output->file) != 0) {
        return errno;
    }
    if (ferror(output->file) != 0) {
        return EIO; /* an earlier write failed; its errno is not known any more */
    }
    const bool durable = (output->flags & OTO_OUTPUT_DURABLE) != 0;
    return durable && fsync(fileno(output->file)) != 0 && errno != EINVAL && errno != EROFS ? errno : 0;
}

static int take_name(const struct oto_output_file *output)
{
    if (rename(output->temporary, output->target) != 0) {
        return errno;
    }
    return (output->flags & OTO_OUTPUT_DURABLE) != 0 ? sync_directory(output->target) : 0;
}

enum oto_status oto_output_file_take_name(struct oto_output_file *output, struct oto_error *error)
{
    const int reason = output->temporary[0] != '\0' ? take_name(output) : 0;
    if (reason != 0) {
        return oto_fail(error, OTO_IO, "cannot write '%.256s': %s", output->path, strerror(reason));
    }
    output->temporary[0] = '\0';
    return OTO_OK;
}

enum oto_status oto_output_file_close(struct oto_output_file *output, enum oto_status status, struct oto_error *error)
{
    if (output->file == NULL) {
        return status;
    }
    int reason = write_out(output);
    if (fclose(output->file) != 0 && reason == 0) {
        reason = errno;
    }
    const bool whole = status == OTO_OK && reason == 0;
    if (whole && output->temporary[0] != '\0') {
        reason = take_name(output);
    }
    if (output->temporary[0] != '\0' && (!whole || reason != 0)) {
        (void)unlink(output->temporary);
    }
    output->file = NULL;
    output->temporary[0] = '\0';
    return status != OTO_OK || reason == 0
               ? status
               : oto_fail(error, OTO_IO, "cannot write '%.256s': %s", output->path, strerror(reason));
}
