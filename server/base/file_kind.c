#include "base/file_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_BYTES (64u * 1024)

/* Checks that `fd` is a regular file. If not, returns -1 and sets errno and *why. */
static int check_kind(int fd, const char **why)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        *why = strerror(errno);
        return -1;
    }
    if (!S_ISREG(facts.st_mode)) {
        *why = "it is not a regular file";
        errno = EINVAL;
        return -1;
    }
    return 0;
}

int srv_regular_open(const char *path, int more, const char **why)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | more);
    if (fd < 0) {
        *why = strerror(errno);
        return -1;
    }
    if (check_kind(fd, why) != 0) {
        const int reason = errno;
        (void)close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

FILE *srv_regular_fopen(const char *path, const char **why)
{
    const int fd = srv_regular_open(path, 0, why);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && file == NULL) {
        *why = strerror(errno);
        (void)close(fd);
        errno = ENOMEM;
    }
    return file;
}

/* False: an error with errno. */
static bool read_on(FILE *file, size_t limit, char **text, size_t *bytes)
{
    size_t capacity = 0, got;
    do {
        if (capacity - *bytes < 2) {
            capacity = capacity == 0 ? FIRST_BYTES : 2 * capacity;
            char *grown = realloc(*text, capacity);
            if (grown == NULL) {
                return false;
            }
            *text = grown;
        }
        got = fread(*text + *bytes, 1, capacity - 1 - *bytes, file);
        *bytes += got;
    } while (got > 0 && *bytes <= limit);
    (*text)[*bytes] = '\0';
    return ferror(file) == 0;
}

enum oto_status srv_regular_read(const char *path, size_t limit, char **text, size_t *bytes, const char **why)
{
    FILE *file = srv_regular_fopen(path, why);
    *text = NULL;
    *bytes = 0;
    if (file == NULL) {
        return errno == ENOENT ? OTO_NOT_FOUND : OTO_IO;
    }
    enum oto_status status = OTO_OK;
    if (!read_on(file, limit, text, bytes)) {
        status = errno == ENOMEM ? OTO_NO_MEMORY : OTO_IO;
        *why = strerror(errno);
        free(*text);
        *text = NULL;
    }
    (void)fclose(file);
    return status;
}

bool srv_path_accepts_socket(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0 ? S_ISSOCK(facts.st_mode) : errno == ENOENT;
}
