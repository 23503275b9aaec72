#include "base/file_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool srv_path_accepts_socket(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0 ? S_ISSOCK(facts.st_mode) : errno == ENOENT;
}
