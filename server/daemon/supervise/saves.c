#include "daemon/supervise/saves.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "otolith-saves-"

static const char *base_folder(void)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    return base != NULL && base[0] == '/' ? base : "/tmp";
}

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void srv_saves_remove(const char *path)
{
    DIR *folder = path[0] != '\0' ? opendir(path) : NULL;
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL; entry = readdir(folder)) {
        (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder != NULL) {
        (void)closedir(folder);
        (void)rmdir(path);
    }
}

/* Whether a folder belongs to this user and neither a parent nor a server holds its lock. */
static bool is_stale(const char *path)
{
    struct stat facts;
    const int fd = open_folder(path);
    const bool stale = fd >= 0 && fstat(fd, &facts) == 0 && facts.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return stale;
}

static void remove_stale(const char *base)
{
    DIR *folder = opendir(base);
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL; entry = readdir(folder)) {
        char path[PATH_MAX];
        const int length = snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 && length < (int)sizeof path && is_stale(path)) {
            srv_saves_remove(path);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}

/* Takes the lock of a folder. False: another parent removed the folder before it was locked. */
static bool hold(const char *path)
{
    struct stat facts;
    const int fd = open_folder(path);
    return fd >= 0 && flock(fd, LOCK_SH) == 0 && fstat(fd, &facts) == 0 && facts.st_nlink > 0;
}

void srv_saves_hold(const char *path)
{
    (void)hold(path);
}

bool srv_saves_make(char *path, size_t bytes)
{
    const char *base = base_folder();
    remove_stale(base);
    for (int attempt = 0; attempt < 3; attempt++) {
        const int length = snprintf(path, bytes, "%s/" PREFIX "XXXXXX", base);
        if (length < 0 || (size_t)length >= bytes || mkdtemp(path) == NULL) {
            break;
        }
        if (hold(path)) {
            return true;
        }
    }
    path[0] = '\0';
    return false;
}
