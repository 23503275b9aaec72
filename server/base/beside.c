/* Paths relative to the file that contains this code. */
#include "base/beside.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void cut_name(char *path)
{
    char *slash = strrchr(path, '/');
    *(slash != NULL ? slash : path) = '\0';
}

/* Puts `relative` in place of the file's name; each leading "../" removes a folder. */
static bool replace_name(const char *file, const char *relative, char *path, size_t bytes)
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", file);
    cut_name(folder);
    while (strncmp(relative, "../", 3) == 0) {
        cut_name(folder);
        relative += 3;
    }
    const int length = snprintf(path, bytes, "%s/%s", folder, relative);
    if (length < 0 || (size_t)length >= bytes) {
        path[0] = '\0';
        return false;
    }
    return true;
}

bool srv_beside_library(const char *relative, char *path, size_t bytes)
{
    static const char here; /* any address of this code's object */
    char file[PATH_MAX];
    Dl_info info;
    struct link_map *map = NULL;
    path[0] = '\0';
    return dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map->l_name[0] != '\0' && /* "": the program */
           realpath(map->l_name, file) != NULL && replace_name(file, relative, path, bytes);
}

bool srv_beside_program(const char *relative, char *path, size_t bytes)
{
    char file[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", file, sizeof file - 1);
    path[0] = '\0';
    file[length > 0 ? length : 0] = '\0';
    return length > 0 && replace_name(file, relative, path, bytes);
}
