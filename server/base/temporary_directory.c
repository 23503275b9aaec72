#include "base/temporary_directory.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_FILES 16

enum oto_status srv_temporary_directory_make(const char *name, char *path, size_t bytes, struct oto_error *error)
{
    const char *base = getenv("TMPDIR");
    const int length = snprintf(path, bytes, "%s/%s-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp", name);
    if (length < 0 || (size_t)length >= bytes) {
        path[0] = '\0';
        return oto_fail(error, OTO_RANGE, "TMPDIR: '%.200s' is too long: at most %zu characters are accepted", base,
                        bytes - strlen(name) - sizeof "/-XXXXXX");
    }
    if (mkdtemp(path) == NULL) {
        const enum oto_status status =
            oto_fail(error, OTO_IO, "the temporary directory '%.200s' cannot be made: %s", path, strerror(errno));
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

void srv_temporary_directory_remove(const char *path)
{
    if (path[0] != '\0') {
        (void)nftw(path, remove_one, OPEN_FILES, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    }
}
