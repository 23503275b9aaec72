#include "attach/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/process_time.h"
#include "document/document.h"

#define PATH_BYTES 512
#define PROBE_MS 200
#define MAX_SHOWN 16

static bool is_directory(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

enum oto_status oto_runtime_directory(char *path, size_t bytes, struct oto_error *error)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    const unsigned long user = (unsigned long)geteuid();
    char run_user[64];
    (void)snprintf(run_user, sizeof run_user, "/run/user/%lu", user);
    int length;
    if (base != NULL && base[0] == '/') {
        length = snprintf(path, bytes, "%s/otolith", base);
    } else if (is_directory(run_user)) {
        length = snprintf(path, bytes, "%s/otolith", run_user);
    } else {
        length = snprintf(path, bytes, "/tmp/otolith-%lu", user);
    }
    if (length < 0 || (size_t)length >= bytes) {
        return oto_fail(error, OTO_LIMIT, "the runtime directory's path has %d bytes; at most %zu fit", length,
                        bytes - 1);
    }
    return OTO_OK;
}

/* Checks a directory. OTO_NOT_FOUND: it does not exist; OTO_DENIED: another user could have written into it. */
static enum oto_status check_private(const char *path, struct oto_error *error)
{
    struct stat facts;
    if (lstat(path, &facts) != 0) {
        return oto_fail(error, errno == ENOENT || errno == ENOTDIR ? OTO_NOT_FOUND : OTO_IO, "%s: %s", path,
                        strerror(errno));
    }
    if (!S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & 066) != 0) {
        return oto_fail(error, OTO_DENIED, "%s must be a directory of your own with mode 0700; it is mode %04o of user %lu",
                        path, (unsigned)facts.st_mode & 07777, (unsigned long)facts.st_uid);
    }
    return OTO_OK;
}

static bool set_address(struct sockaddr_un *address, const char *path)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    const size_t bytes = strlen(path);
    if (bytes >= sizeof address->sun_path) {
        return false;
    }
    memcpy(address->sun_path, path, bytes + 1);
    return true;
}

/* connect() to a unix socket with a full backlog fails with EAGAIN at once, and poll() cannot wait for it. */
static bool connect_until(int fd, const struct sockaddr_un *address, int64_t deadline_ms)
{
    for (;;) {
        if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0) {
            return true;
        }
        if (errno != EAGAIN && errno != EINTR) {
            return false;
        }
        if (srv_now_ms() >= deadline_ms) {
            errno = ETIMEDOUT;
            return false;
        }
        (void)poll(NULL, 0, 1);
    }
}

int oto_runtime_connect(const char *path, int timeout_ms, int64_t *server_pid)
{
    struct sockaddr_un address;
    if (!set_address(&address, path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    struct ucred peer = {.pid = 0};
    socklen_t bytes = sizeof peer;
    bool good = connect_until(fd, &address, srv_now_ms() + timeout_ms) &&
                getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0;
    if (good && peer.uid != geteuid() && peer.uid != 0) {
        errno = EPERM;
        good = false;
    }
    if (!good) {
        const int reason = errno;
        (void)close(fd);
        errno = reason;
        return -1;
    }
    if (server_pid != NULL) {
        *server_pid = peer.pid;
    }
    return fd;
}

/* A process that server.json names; 0: none. */
struct process {
    int64_t pid, start_time;
};

struct facts {
    struct process server, supervisor;
};

static int64_t number_of(const struct oto_document *document, const char *key)
{
    const struct oto_value *value = oto_value_get(oto_document_root(document), key);
    int64_t number = 0;
    return value != NULL && oto_value_i64(value, &number, NULL) == OTO_OK ? number : 0;
}

static struct facts read_facts(const char *directory)
{
    char path[PATH_BYTES + 16];
    const struct oto_document_limits limits = {.bytes = 65536, .nodes = 4096, .depth = 16, .text_bytes = 4096};
    struct oto_document *document = NULL;
    (void)snprintf(path, sizeof path, "%s/server.json", directory);
    if (oto_document_read(path, &limits, &document, NULL) != OTO_OK) {
        return (struct facts){0};
    }
    const struct facts facts = {{number_of(document, "pid"), number_of(document, "start_time")},
                                {number_of(document, "supervisor_pid"), number_of(document, "supervisor_start_time")}};
    oto_document_close(document);
    return facts;
}

static bool lives(struct process process)
{
    return process.pid > 0 && process.start_time > 0 && srv_process_start_time(process.pid) == (uint64_t)process.start_time;
}

bool oto_runtime_goes_on(const char *directory)
{
    const struct facts facts = read_facts(directory);
    return lives(facts.server) || lives(facts.supervisor);
}

/*
 * Inspects one directory; false: it is not that of a world. A world counts as running unless its socket refuses to connect and no
 * next run follows.
 */
static bool inspect(const char *base, const char *name, struct oto_world_entry *entry)
{
    char directory[PATH_BYTES], path[PATH_BYTES];
    if (name[0] == '.' || strlen(name) >= sizeof entry->name ||
        (size_t)snprintf(directory, sizeof directory, "%s/%s", base, name) >= sizeof directory ||
        check_private(directory, NULL) != OTO_OK ||
        (size_t)snprintf(path, sizeof path, "%.480s/control.sock", directory) >= sizeof path) {
        return false;
    }
    *entry = (struct oto_world_entry){.pid = 0};
    memcpy(entry->name, name, strlen(name) + 1);
    const int fd = oto_runtime_connect(path, PROBE_MS, &entry->pid);
    const int reason = fd < 0 ? errno : 0;
    const bool refused = reason == ECONNREFUSED || reason == ENOENT;
    entry->alive = refused ? oto_runtime_goes_on(directory) : reason != EPERM && reason != EACCES;
    if (fd >= 0) {
        (void)close(fd);
    } else {
        entry->pid = read_facts(directory).server.pid;
    }
    return true;
}

size_t oto_worlds_list(struct oto_world_entry *entries, size_t capacity)
{
    char base[PATH_BYTES];
    errno = 0;
    if (oto_runtime_directory(base, sizeof base, NULL) != OTO_OK || check_private(base, NULL) != OTO_OK) {
        return 0;
    }
    DIR *directory = opendir(base);
    if (directory == NULL) {
        return 0;
    }
    size_t count = 0;
    struct dirent *file;
    while ((file = readdir(directory)) != NULL) {
        struct oto_world_entry entry;
        if (inspect(base, file->d_name, &entry)) {
            if (count < capacity) {
                entries[count] = entry;
            }
            count++;
        }
    }
    (void)closedir(directory);
    errno = 0;
    return count;
}

/* Selects the only running world; otherwise the error lists the running ones. */
static enum oto_status pick_world(char *name, struct oto_error *error)
{
    struct oto_world_entry entries[64];
    size_t count = oto_worlds_list(entries, 64);
    const int reason = errno;
    count = count < 64 ? count : 64;
    size_t alive = 0, used = 0;
    char list[256] = "";
    for (size_t i = 0; i < count; i++) {
        if (!entries[i].alive) {
            continue;
        }
        memcpy(name, entries[i].name, sizeof entries[i].name);
        if (alive++ < MAX_SHOWN && used < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", alive > 1 ? ", " : "", entries[i].name);
        }
    }
    if (alive == 1) {
        return OTO_OK;
    }
    if (count == 0 && reason != 0 && reason != ENOENT) {
        return oto_fail(error, OTO_IO, "the directory of running worlds cannot be read: %s", strerror(reason));
    }
    if (alive == 0) {
        return oto_fail(error, OTO_NOT_FOUND, "no world is running; start one with `otolith run WORLD`");
    }
    return oto_fail(error, OTO_INVALID, "%zu worlds are running: %s; pick one with --world NAME or OTOLITH_WORLD", alive,
                    list);
}

enum oto_status oto_runtime_socket(const char *world, char *path, struct oto_error *error)
{
    char base[PATH_BYTES], directory[PATH_BYTES], name[OTO_WORLD_NAME_BYTES];
    enum oto_status status = oto_runtime_directory(base, sizeof base, error);
    if (status != OTO_OK) {
        return status;
    }
    if (world == NULL || world[0] == '\0') {
        world = getenv("OTOLITH_WORLD");
    }
    if (world == NULL || world[0] == '\0') {
        status = pick_world(name, error);
        if (status != OTO_OK) {
            return status;
        }
        world = name;
    }
    if (world[0] == '.' || strchr(world, '/') != NULL || strlen(world) >= OTO_WORLD_NAME_BYTES) {
        return oto_fail(error, OTO_INVALID, "'%.80s' is no name of a world: 1 to %d bytes without '/' are accepted", world,
                        OTO_WORLD_NAME_BYTES - 1);
    }
    if ((size_t)snprintf(directory, sizeof directory, "%s/%s", base, world) >= sizeof directory ||
        (size_t)snprintf(path, OTO_SOCKET_PATH_BYTES, "%.200s/control.sock", directory) >= OTO_SOCKET_PATH_BYTES) {
        return oto_fail(error, OTO_LIMIT, "%s/%s/control.sock is longer than the %d bytes that a socket's path may have",
                        base, world, OTO_SOCKET_PATH_BYTES - 1);
    }
    status = check_private(base, error);
    if (status == OTO_OK) {
        status = check_private(directory, error);
    }
    if (status == OTO_NOT_FOUND) {
        return oto_fail(error, OTO_NOT_FOUND, "no world '%s' is running (there is no %s); `otolith ls` shows those that are",
                        world, directory);
    }
    return status;
}
