#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *open_temporary(struct cli_output *output)
{
    const mode_t mask = umask(0);
    (void)umask(mask);
    (void)snprintf(output->temporary, sizeof output->temporary, "%s.XXXXXX", output->target);
    const int fd = mkostemp(output->temporary, O_CLOEXEC);
    FILE *file = fd >= 0 && fchmod(fd, 0666 & ~mask) == 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL && fd >= 0) {
        const int reason = errno;
        (void)close(fd);
        (void)unlink(output->temporary);
        errno = reason;
    }
    output->temporary[file == NULL ? 0 : strlen(output->temporary)] = '\0';
    return file;
}

enum oto_status cli_output_open(struct cli_output *output, const char *path, struct oto_error *error)
{
    struct stat info;
    char resolved[PATH_MAX];
    *output = (struct cli_output){.path = path};
    if (path == NULL || strcmp(path, "-") == 0) {
        output->file = stdout;
        return OTO_OK;
    }
    const bool exists = stat(path, &info) == 0;
    const char *target = exists && realpath(path, resolved) != NULL ? resolved : path;
    if ((size_t)snprintf(output->target, sizeof output->target, "%s", target) >= sizeof output->target) {
        return oto_fail(error, OTO_LIMIT, "the path '%.64s…' is too long", path);
    }
    output->file = exists && !S_ISREG(info.st_mode) ? fopen(path, "we") : open_temporary(output);
    return output->file != NULL ? OTO_OK : oto_fail(error, OTO_IO, "cannot write '%.256s': %m", path);
}

enum oto_status cli_output_close(struct cli_output *output, enum oto_status status, struct oto_error *error)
{
    bool good = output->file == NULL || (fflush(output->file) == 0 && ferror(output->file) == 0);
    if (output->file != NULL && output->file != stdout) {
        good = fclose(output->file) == 0 && good;
    }
    if (output->temporary[0] != '\0') {
        good = good && (status != OTO_OK || rename(output->temporary, output->target) == 0);
        if (status != OTO_OK || !good) {
            (void)unlink(output->temporary);
        }
    }
    output->file = NULL;
    output->temporary[0] = '\0';
    return status != OTO_OK || good ? status
                                    : oto_fail(error, OTO_IO, "cannot write '%.256s': %m",
                                               output->path != NULL ? output->path : "-");
}
