#include "daemon/control/runtime_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "otolith/client.h"

#define LISTEN_BACKLOG 128
#define CLAIM_ATTEMPTS 8
#define END_LIMIT_MS 5000 /* a server that ends has this time to remove its directory */
#define END_POLL_MS 5

#define NEW_SOCKET "control.new" /* the control socket until it listens; not longer than its final name */

#define FACTS "server.json"

static const char *const contents[] = {FACTS, FACTS ".new", "control.sock", NEW_SOCKET, "pub.ipc"};

/* Opens a directory that only this user may access. AGAIN: another process has removed the directory. */
static enum oto_status open_private(int parent, const char *name, const char *shown, int *fd, struct oto_error *error)
{
    if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST) {
        if (errno == ENOENT && parent != AT_FDCWD) {
            return OTO_AGAIN;
        }
        return oto_fail(error, OTO_IO, "the runtime directory %s cannot be made: %s", shown, strerror(errno));
    }
    const int opened = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0) {
        const int reason = errno;
        struct stat facts;
        if (reason == ENOENT) {
            return OTO_AGAIN;
        }
        if (fstatat(parent, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(facts.st_mode)) {
            return oto_fail(error, OTO_DENIED, "the runtime directory %s is a symbolic link: a real directory is needed",
                            shown);
        }
        const bool refused = reason == EACCES || reason == EPERM || reason == ENOTDIR || reason == ELOOP;
        return oto_fail(error, refused ? OTO_DENIED : OTO_IO, "the runtime directory %s cannot be opened: %s", shown,
                        strerror(reason));
    }
    struct stat facts;
    if (fstat(opened, &facts) != 0) {
        const int reason = errno;
        (void)close(opened);
        return oto_fail(error, OTO_IO, "the runtime directory %s cannot be looked at: %s", shown, strerror(reason));
    }
    if (facts.st_uid != geteuid()) {
        (void)close(opened);
        return oto_fail(error, OTO_DENIED, "the runtime directory %s belongs to user %ld, not to user %ld", shown,
                        (long)facts.st_uid, (long)geteuid());
    }
    if ((facts.st_mode & 0066) != 0) {
        (void)close(opened);
        return oto_fail(error, OTO_DENIED, "the runtime directory %s has mode %04o: it must be 0700, for its owner alone",
                        shown, (unsigned)(facts.st_mode & 07777));
    }
    *fd = opened;
    return OTO_OK;
}

/* Whether the path still leads to the directory that is locked, and not to a newer one of the same name. */
static bool is_current(const struct srv_runtime_dir *dir)
{
    struct stat held, named;
    return fstat(dir->dir_fd, &held) == 0 && fstatat(dir->base_fd, dir->world, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

static void close_both(struct srv_runtime_dir *dir)
{
    if (dir->dir_fd >= 0) {
        (void)close(dir->dir_fd);
    }
    if (dir->base_fd >= 0) {
        (void)close(dir->base_fd);
    }
    dir->dir_fd = dir->base_fd = -1;
}

static void remove_contents(const struct srv_runtime_dir *dir)
{
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        (void)unlinkat(dir->dir_fd, contents[i], 0);
    }
}

/* Returns 0, or the reason why the lock is not taken. */
static int try_lock(const struct srv_runtime_dir *dir)
{
    return flock(dir->dir_fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

/* A server without server.json ends, or has not begun to serve. */
static bool holder_serves(const struct srv_runtime_dir *dir)
{
    return faccessat(dir->dir_fd, FACTS, F_OK, 0) == 0;
}

static enum oto_status lock(const struct srv_runtime_dir *dir, struct oto_error *error)
{
    const int64_t deadline_ms = srv_now_ms() + END_LIMIT_MS;
    int reason = try_lock(dir);
    while (reason == EWOULDBLOCK && !holder_serves(dir) && srv_now_ms() < deadline_ms) {
        (void)poll(NULL, 0, END_POLL_MS);
        reason = try_lock(dir);
    }
    if (reason == 0) {
        return OTO_OK;
    }
    return reason == EWOULDBLOCK
               ? oto_fail(error, OTO_EXISTS,
                          "a world named '%s' runs already (%s is locked): stop it, or start this one with --name",
                          dir->world, dir->path)
               : oto_fail(error, OTO_IO, "the runtime directory %s cannot be locked: %s", dir->path, strerror(reason));
}

/* Removes what a failed claim made. A directory with files, or of another user, stays. */
static void remove_empty(const char *base, const struct srv_runtime_dir *dir)
{
    (void)rmdir(dir->path);
    (void)rmdir(base);
}

/* One attempt; AGAIN: another server removed the directory meanwhile. */
static enum oto_status claim_once(const char *base, struct srv_runtime_dir *dir, struct oto_error *error)
{
    enum oto_status status = open_private(AT_FDCWD, base, base, &dir->base_fd, error);
    if (status == OTO_OK) {
        status = open_private(dir->base_fd, dir->world, dir->path, &dir->dir_fd, error);
    }
    if (status == OTO_OK) {
        status = lock(dir, error);
    }
    if (status == OTO_OK && !is_current(dir)) {
        status = OTO_AGAIN;
    }
    if (status != OTO_OK) {
        close_both(dir);
    }
    return status;
}

enum oto_status srv_runtime_dir_claim(const char *world, struct srv_runtime_dir *dir, struct oto_error *error)
{
    *dir = (struct srv_runtime_dir){.base_fd = -1, .dir_fd = -1};
    char base[512];
    enum oto_status status = oto_runtime_directory(base, sizeof base, error);
    if (status != OTO_OK) {
        return status;
    }
    if (strlen(world) >= sizeof dir->world || strlen(base) + 1 + strlen(world) >= sizeof dir->path) {
        return oto_fail(error, OTO_LIMIT, "the runtime directory %s/%s is too long for a socket: at most %d characters",
                        base, world, SRV_RUNTIME_PATH_BYTES - 1);
    }
    (void)snprintf(dir->world, sizeof dir->world, "%s", world);
    (void)stpcpy(stpcpy(stpcpy(dir->path, base), "/"), world);
    status = OTO_AGAIN;
    for (int attempt = 0; attempt < CLAIM_ATTEMPTS && status == OTO_AGAIN; attempt++) {
        status = claim_once(base, dir, error);
    }
    if (status == OTO_AGAIN) {
        return oto_fail(error, OTO_IO, "the runtime directory %s is removed again and again by another process",
                        dir->path);
    }
    if (status == OTO_OK) {
        remove_contents(dir);
    } else if (status != OTO_EXISTS && status != OTO_DENIED) {
        remove_empty(base, dir);
    }
    return status;
}

enum oto_status srv_runtime_dir_share(const struct srv_runtime_dir *dir, struct oto_error *error)
{
    if (fchmod(dir->base_fd, 0711) != 0 || fchmod(dir->dir_fd, 0711) != 0 ||
        fchmodat(dir->dir_fd, "control.sock", 0666, 0) != 0) {
        return oto_fail(error, OTO_IO, "%s cannot be opened for those whom `control: roles:` names: %s", dir->path,
                        strerror(errno));
    }
    return OTO_OK;
}

void srv_runtime_dir_retire(const struct srv_runtime_dir *dir)
{
    (void)unlinkat(dir->dir_fd, FACTS, 0);
}

void srv_runtime_dir_hand_over(struct srv_runtime_dir *dir, struct srv_runtime_dir *next)
{
    if (dir->path[0] == 0 || dir->dir_fd < 0) {
        return;
    }
    for (size_t i = 1; i < sizeof contents / sizeof *contents; i++) { /* the first is server.json */
        (void)unlinkat(dir->dir_fd, contents[i], 0);
    }
    (void)fchmod(dir->dir_fd, 0700); /* as if it were claimed: the next run shares it again if its file gives roles */
    *next = *dir;
    dir->dir_fd = dir->base_fd = -1;
}

bool srv_runtime_dir_is_of(const struct srv_runtime_dir *dir, const char *world)
{
    return dir->path[0] != 0 && dir->dir_fd >= 0 && strcmp(dir->world, world) == 0;
}

void srv_runtime_dir_release(struct srv_runtime_dir *dir)
{
    if (dir == NULL || dir->path[0] == 0 || dir->dir_fd < 0) {
        return;
    }
    remove_contents(dir);
    (void)unlinkat(dir->base_fd, dir->world, AT_REMOVEDIR);
    char base[SRV_RUNTIME_PATH_BYTES];
    (void)snprintf(base, sizeof base, "%.*s", (int)(strlen(dir->path) - strlen(dir->world) - 1), dir->path);
    (void)rmdir(base); /* fails while other worlds use it */
    close_both(dir);
}

int srv_runtime_dir_path(const struct srv_runtime_dir *dir, const char *name, char *path, size_t bytes)
{
    const int length = snprintf(path, bytes, "%s/%s", dir->path, name);
    return length > 0 && (size_t)length < bytes;
}

static bool write_all(int fd, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        const ssize_t written = write(fd, text, left);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        text += written;
        left -= (size_t)written;
    }
    return true;
}

enum oto_status srv_runtime_dir_write(const struct srv_runtime_dir *dir, const char *name, const char *text,
                                      struct oto_error *error)
{
    char fresh[64];
    (void)snprintf(fresh, sizeof fresh, "%s.new", name);
    (void)unlinkat(dir->dir_fd, fresh, 0);
    const int fd = openat(dir->dir_fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool written = fd >= 0 && write_all(fd, text);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (!written || renameat(dir->dir_fd, fresh, dir->dir_fd, name) != 0) {
        const int reason = errno;
        (void)unlinkat(dir->dir_fd, fresh, 0);
        return oto_fail(error, OTO_IO, "%s/%s cannot be written: %s", dir->path, name, strerror(reason));
    }
    return OTO_OK;
}

/* Clients take a socket that refuses them for that of a dead server, so the socket gets its name when it listens. */
static bool listen_then_name(const struct srv_runtime_dir *dir, int fd, const struct sockaddr_un *address)
{
    return bind(fd, (const struct sockaddr *)address, sizeof *address) == 0 && chmod(address->sun_path, 0600) == 0 &&
           listen(fd, LISTEN_BACKLOG) == 0 && renameat(dir->dir_fd, NEW_SOCKET, dir->dir_fd, "control.sock") == 0;
}

int srv_runtime_dir_listen(const struct srv_runtime_dir *dir, struct oto_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!srv_runtime_dir_path(dir, NEW_SOCKET, address.sun_path, sizeof address.sun_path)) {
        (void)oto_fail(error, OTO_LIMIT, "the socket path %s/control.sock is too long", dir->path);
        return -1;
    }
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || !listen_then_name(dir, fd, &address)) {
        (void)oto_fail(error, OTO_IO, "the control socket %s/control.sock cannot be opened: %s", dir->path, strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
        return -1;
    }
    return fd;
}
