#include "isolate/own_directory.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_FILES 16

enum oto_status srv_own_directory_make(char *path, size_t bytes, struct oto_error *error)
{
    const char *base = getenv("TMPDIR");
    const int length = snprintf(path, bytes, "%s/otolith-host-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
    if (length < 0 || (size_t)length >= bytes) {
        path[0] = '\0';
        return oto_fail(error, OTO_RANGE, "TMPDIR: '%.200s' is too long for the directory of a plugin host; at most %zu characters are "
                        "accepted", base, bytes - sizeof "/otolith-host-XXXXXX");
    }
    if (mkdtemp(path) == NULL) {
        const int reason = errno;
        enum oto_status status = oto_fail(error, OTO_IO, "a plugin host needs a directory, and '%.200s' cannot be made: %s", path,
                                          strerror(reason));
        path[0] = '\0';
        return status;
    }
    return OTO_OK;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

void srv_own_directory_remove(const char *path)
{
    if (path[0] != '\0') {
        (void)nftw(path, remove_one, OPEN_FILES, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    }
}
