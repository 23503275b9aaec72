/* Loaded into a program under test: wraps the calls that can fail, and lets the one fail that the page names. */
#include "inject.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_FRAMES 40
#define OWN_FRAMES 2 /* fails() and the wrapper */
#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

static struct inject_page *page;
static __thread bool inside __attribute__((tls_model("initial-exec")));

/* ---- stacks ---- */

/* Where a module lies differs from run to run; where an address lies in its module does not. */
static uint64_t hash_of(const char *call, void *const *frames, int count)
{
    uint64_t hash = HASH_START;
    for (const char *at = call; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * HASH_PRIME;
    }
    for (int i = 0; i < count; i++) {
        struct dl_find_object found;
        const bool known = _dl_find_object(frames[i], &found) == 0;
        const uint64_t offset = known ? (uint64_t)((const char *)frames[i] - (const char *)found.dlfo_map_start) : 0;
        hash = (hash ^ offset) * HASH_PRIME;
    }
    return hash | 1;
}

static void describe(char *text, const char *what, void *const *frames, int count)
{
    int length = snprintf(text, INJECT_TEXT_BYTES, "%s", what);
    for (int i = 0; i < count && length < INJECT_TEXT_BYTES - 96; i++) {
        struct dl_find_object found;
        if (_dl_find_object(frames[i], &found) != 0) {
            continue;
        }
        const char *name = found.dlfo_link_map->l_name;
        const char *slash = strrchr(name, '/');
        name = name[0] == '\0' ? program_invocation_short_name : slash != NULL ? slash + 1 : name;
        length += snprintf(text + length, 96, "\n  %.60s+0x%tx", name,
                           (const char *)frames[i] - (const char *)found.dlfo_link_map->l_addr);
    }
}

/* ---- recording and failing ---- */

static void note(uint64_t hash, const char *call, uint32_t variants)
{
    for (uint64_t i = hash, tries = 0; tries < INJECT_PLACES; i++, tries++) {
        struct inject_place *place = &page->places[i % INJECT_PLACES];
        uint64_t found = 0;
        if (__atomic_compare_exchange_n(&place->hash, &found, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            place->variants = variants;
            (void)snprintf(place->call, sizeof place->call, "%s", call);
            place->order = __atomic_fetch_add(&page->place_count, 1, __ATOMIC_RELAXED);
            found = hash;
        }
        if (found == hash) {
            (void)__atomic_fetch_add(&place->hits, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

/* Of all threads and processes, one call fails. */
static bool is_its_turn(void)
{
    return __atomic_load_n(&page->fired, __ATOMIC_RELAXED) == 0 &&
           __atomic_fetch_sub(&page->skip, 1, __ATOMIC_ACQ_REL) == 0 &&
           __atomic_exchange_n(&page->fired, 1, __ATOMIC_ACQ_REL) == 0;
}

/* The error with which this call fails; 0: it does not. */
__attribute__((noinline)) static int fails(const char *call, const int *errors, uint32_t variants)
{
    const uint32_t mode = page != NULL ? __atomic_load_n(&page->mode, __ATOMIC_ACQUIRE) : INJECT_OFF;
    if (mode == INJECT_OFF || inside || strcmp(page->program, program_invocation_short_name) != 0) {
        return 0;
    }
    inside = true;
    const int before = errno;
    void *frames[MAX_FRAMES];
    const int count = backtrace(frames, MAX_FRAMES) - OWN_FRAMES;
    const int told = count < (int)page->depth ? count : (int)page->depth;
    const uint64_t hash = hash_of(call, frames + OWN_FRAMES, told);
    int error = 0;
    if (mode == INJECT_RECORD) {
        note(hash, call, variants);
    } else if (hash == page->hash && is_its_turn()) {
        error = errors[page->variant % variants];
        describe(page->fired_text, call, frames + OWN_FRAMES, count);
    }
    errno = error != 0 ? error : before;
    inside = false;
    return error;
}

/* ---- how a program died ---- */

static void note_crash(int number)
{
    void *frames[MAX_FRAMES];
    uint32_t none = 0;
    inside = true;
    if (page != NULL && strcmp(page->program, program_invocation_short_name) == 0 &&
        __atomic_compare_exchange_n(&page->crashed, &none, (uint32_t)number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        describe(page->crash_text, strsignal(number), frames, backtrace(frames, MAX_FRAMES));
    }
}

static void on_crash(int number)
{
    note_crash(number);
    (void)signal(number, SIG_DFL); /* what crashed is done again */
}

_Noreturn void abort(void)
{
    note_crash(SIGABRT);
    sigset_t all;
    (void)sigfillset(&all);
    (void)signal(SIGABRT, SIG_DFL);
    (void)sigprocmask(SIG_UNBLOCK, &all, NULL);
    (void)raise(SIGABRT);
    _exit(127);
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv(INJECT_ENVIRONMENT);
    const int fd = path != NULL ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    void *frames[1];
    if (fd < 0) {
        return;
    }
    void *shared = (void *)syscall(SYS_mmap, NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)syscall(SYS_close, fd);
    (void)backtrace(frames, 1); /* loads its library now */
    const struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        (void)sigaction(signals[i], &action, NULL);
    }
    page = shared != MAP_FAILED ? shared : NULL;
}

/* ---- the calls ---- */

#define FAILS(name, ...)                                                                                               \
    static const int errors_[] = {__VA_ARGS__};                                                                        \
    const int error_ = fails(name, errors_, sizeof errors_ / sizeof *errors_)

/* A call that returns `failure` and sets errno. */
#define FAULTY(type, failure, name, params, args, ...)                                                                 \
    type name params;                                                                                                  \
    type name params                                                                                                   \
    {                                                                                                                  \
        static type(*real) params;                                                                                     \
        FAILS(#name, __VA_ARGS__);                                                                                     \
        if (error_ != 0) {                                                                                             \
            return failure;                                                                                            \
        }                                                                                                              \
        if (real == NULL) {                                                                                            \
            real = (type(*) params)dlsym(RTLD_NEXT, #name);                                                            \
        }                                                                                                              \
        return real args;                                                                                              \
    }

/* Ways in which reading or writing fails: a file's disk can, what blocks can be interrupted, other descriptors do not. */
static uint32_t variants_of(int fd)
{
    struct stat facts;
    const int error = errno;
    const bool file = syscall(SYS_newfstatat, fd, "", &facts, AT_EMPTY_PATH) == 0 && S_ISREG(facts.st_mode);
    const bool blocks = (syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK) == 0;
    errno = error;
    return file ? 2 : blocks ? 1 : 0;
}

#define FAULTY_FILE(name, params, args, error)                                                                         \
    ssize_t name params;                                                                                               \
    ssize_t name params                                                                                                \
    {                                                                                                                  \
        static ssize_t(*real) params;                                                                                  \
        static const int errors[] = {EINTR, error};                                                                    \
        const uint32_t variants = page != NULL ? variants_of(fd) : 0;                                                  \
        if (variants > 0 && fails(#name, errors, variants) != 0) {                                                              \
            return -1;                                                                                                 \
        }                                                                                                              \
        if (real == NULL) {                                                                                            \
            real = (ssize_t(*) params)dlsym(RTLD_NEXT, #name);                                                         \
        }                                                                                                              \
        return real args;                                                                                              \
    }

/* A call that returns its error. */
#define FAULTY_CODE(name, params, args, ...) FAULTY(int, error_, name, params, args, __VA_ARGS__)

/* The allocator is asked by its own name: dlsym() may need it. */
#define FAULTY_MEMORY(name, params, args)                                                                              \
    void *__libc_##name params;                                                                                        \
    void *name params;                                                                                                 \
    void *name params                                                                                                  \
    {                                                                                                                  \
        FAILS(#name, ENOMEM);                                                                                          \
        return error_ != 0 ? NULL : __libc_##name args;                                                                \
    }

FAULTY_MEMORY(malloc, (size_t bytes), (bytes))
FAULTY_MEMORY(calloc, (size_t count, size_t bytes), (count, bytes))
FAULTY_MEMORY(realloc, (void *old, size_t bytes), (old, bytes))
FAULTY_MEMORY(memalign, (size_t boundary, size_t bytes), (boundary, bytes))
FAULTY(void *, NULL, aligned_alloc, (size_t boundary, size_t bytes), (boundary, bytes), ENOMEM)
FAULTY_CODE(posix_memalign, (void **memory, size_t boundary, size_t bytes), (memory, boundary, bytes), ENOMEM)

#define FAULTY_OPEN(name)                                                                                              \
    int name(const char *path, int flags, ...);                                                                        \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        static int (*real)(const char *, int, ...);                                                                    \
        FAILS(#name, EMFILE, EINTR);                                                                                   \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, unsigned) : 0;                       \
        va_end(rest);                                                                                                  \
        if (real == NULL) {                                                                                            \
            real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);                                           \
        }                                                                                                              \
        return error_ != 0 ? -1 : real(path, flags, mode);                                                             \
    }
#define FAULTY_OPENAT(name)                                                                                            \
    int name(int folder, const char *path, int flags, ...);                                                            \
    int name(int folder, const char *path, int flags, ...)                                                             \
    {                                                                                                                  \
        static int (*real)(int, const char *, int, ...);                                                               \
        FAILS(#name, EMFILE, EINTR);                                                                                   \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, unsigned) : 0;                       \
        va_end(rest);                                                                                                  \
        if (real == NULL) {                                                                                            \
            real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #name);                                      \
        }                                                                                                              \
        return error_ != 0 ? -1 : real(folder, path, flags, mode);                                                     \
    }

FAULTY_OPEN(open)
FAULTY_OPEN(open64)
FAULTY_OPENAT(openat)
FAULTY_OPENAT(openat64)
FAULTY(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode), EMFILE)
FAULTY(FILE *, NULL, fopen64, (const char *path, const char *mode), (path, mode), EMFILE)
FAULTY(FILE *, NULL, fdopen, (int fd, const char *mode), (fd, mode), ENOMEM)
FAULTY(DIR *, NULL, opendir, (const char *path), (path), EMFILE)
FAULTY(int, EOF, fflush, (FILE * file), (file), ENOSPC)
FAULTY_FILE(read, (int fd, void *data, size_t bytes), (fd, data, bytes), EIO)
FAULTY_FILE(pread, (int fd, void *data, size_t bytes, off_t at), (fd, data, bytes, at), EIO)
FAULTY_FILE(pread64, (int fd, void *data, size_t bytes, off64_t at), (fd, data, bytes, at), EIO)
FAULTY_FILE(write, (int fd, const void *data, size_t bytes), (fd, data, bytes), ENOSPC)
FAULTY_FILE(pwrite, (int fd, const void *data, size_t bytes, off_t at), (fd, data, bytes, at), ENOSPC)
FAULTY_FILE(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), ENOSPC)
FAULTY(int, -1, ftruncate, (int fd, off_t bytes), (fd, bytes), ENOSPC)
FAULTY(int, -1, ftruncate64, (int fd, off64_t bytes), (fd, bytes), ENOSPC)
FAULTY_CODE(posix_fallocate, (int fd, off_t at, off_t bytes), (fd, at, bytes), ENOSPC, EINTR)
FAULTY_CODE(posix_fallocate64, (int fd, off64_t at, off64_t bytes), (fd, at, bytes), ENOSPC, EINTR)
FAULTY(int, -1, fsync, (int fd), (fd), EIO)
FAULTY(int, -1, fdatasync, (int fd), (fd), EIO)
FAULTY(int, -1, rename, (const char *from, const char *to), (from, to), ENOSPC)
FAULTY(int, -1, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), ENOSPC)
FAULTY(int, -1, mkdir, (const char *path, mode_t mode), (path, mode), ENOSPC)
FAULTY(int, -1, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), ENOSPC)
FAULTY(int, -1, flock, (int fd, int how), (fd, how), ENOLCK, EINTR)
FAULTY(int, -1, chmod, (const char *path, mode_t mode), (path, mode), EPERM)
FAULTY(int, -1, fstat, (int fd, struct stat *facts), (fd, facts), ENOMEM)
FAULTY(int, -1, stat, (const char *path, struct stat *facts), (path, facts), ENOMEM)
FAULTY(int, -1, fstatat, (int folder, const char *path, struct stat *facts, int flags), (folder, path, facts, flags), ENOMEM)
FAULTY(char *, NULL, realpath, (const char *path, char *room), (path, room), ENOMEM)
FAULTY(ssize_t, -1, readlink, (const char *path, char *text, size_t bytes), (path, text, bytes), ENOMEM)
FAULTY(char *, NULL, getcwd, (char *text, size_t bytes), (text, bytes), ENOMEM)
FAULTY(ssize_t, -1, getrandom, (void *data, size_t bytes, unsigned flags), (data, bytes, flags), ENOSYS)

FAULTY(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags), EMFILE, ENOMEM)
FAULTY(void *, MAP_FAILED, mmap, (void *at, size_t bytes, int access, int flags, int fd, off_t from),
       (at, bytes, access, flags, fd, from), ENOMEM)
FAULTY(void *, MAP_FAILED, mmap64, (void *at, size_t bytes, int access, int flags, int fd, off64_t from),
       (at, bytes, access, flags, fd, from), ENOMEM)
FAULTY(int, -1, mprotect, (void *at, size_t bytes, int access), (at, bytes, access), ENOMEM)
FAULTY(int, -1, mlockall, (int flags), (flags), ENOMEM)

FAULTY(int, -1, socket, (int family, int type, int protocol), (family, type, protocol), EMFILE, ENOBUFS)
FAULTY(int, -1, socketpair, (int family, int type, int protocol, int ends[2]), (family, type, protocol, ends), EMFILE)
FAULTY(int, -1, bind, (int fd, const struct sockaddr *address, socklen_t bytes), (fd, address, bytes), ENOMEM)
FAULTY(int, -1, listen, (int fd, int backlog), (fd, backlog), EADDRINUSE)
FAULTY(int, -1, connect, (int fd, const struct sockaddr *address, socklen_t bytes), (fd, address, bytes), EINTR, ENOMEM)
FAULTY(int, -1, accept, (int fd, struct sockaddr *address, socklen_t *bytes), (fd, address, bytes), EMFILE, EINTR, ECONNABORTED, ENOBUFS)
FAULTY(int, -1, accept4, (int fd, struct sockaddr *address, socklen_t *bytes, int flags), (fd, address, bytes, flags),
       EMFILE, EINTR, ECONNABORTED, ENOBUFS)
FAULTY(int, -1, setsockopt, (int fd, int level, int name, const void *value, socklen_t bytes), (fd, level, name, value, bytes), ENOMEM)
FAULTY(int, -1, getsockname, (int fd, struct sockaddr *address, socklen_t *bytes), (fd, address, bytes), ENOBUFS)
FAULTY(ssize_t, -1, send, (int fd, const void *data, size_t bytes, int flags), (fd, data, bytes, flags), EINTR, ENOBUFS)
FAULTY(ssize_t, -1, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), EINTR, ENOBUFS)
FAULTY(ssize_t, -1, recv, (int fd, void *data, size_t bytes, int flags), (fd, data, bytes, flags), EINTR, ENOMEM)
FAULTY(ssize_t, -1, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), EINTR, ENOMEM)

FAULTY(int, -1, pipe, (int ends[2]), (ends), EMFILE)
FAULTY(int, -1, pipe2, (int ends[2], int flags), (ends, flags), EMFILE)
FAULTY(int, -1, eventfd, (unsigned count, int flags), (count, flags), EMFILE)
FAULTY(int, -1, timerfd_create, (int clock, int flags), (clock, flags), EMFILE)
FAULTY(int, -1, signalfd, (int fd, const sigset_t *signals, int flags), (fd, signals, flags), EMFILE)
FAULTY(int, -1, epoll_create1, (int flags), (flags), EMFILE)
FAULTY(int, -1, epoll_wait, (int fd, struct epoll_event *events, int room, int wait_ms), (fd, events, room, wait_ms), EINTR)
FAULTY(int, -1, poll, (struct pollfd * fds, nfds_t count, int wait_ms), (fds, count, wait_ms), EINTR)
FAULTY(int, -1, ppoll, (struct pollfd * fds, nfds_t count, const struct timespec *wait, const sigset_t *mask),
       (fds, count, wait, mask), EINTR)
FAULTY(int, -1, inotify_init1, (int flags), (flags), EMFILE)
FAULTY(int, -1, inotify_add_watch, (int fd, const char *path, uint32_t mask), (fd, path, mask), ENOSPC)

FAULTY(pid_t, -1, fork, (void), (), EAGAIN)
FAULTY_CODE(posix_spawn, (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *how, char *const *argv, char *const *environment),
            (pid, path, actions, how, argv, environment), EAGAIN)
FAULTY_CODE(posix_spawnp, (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *how, char *const *argv, char *const *environment),
            (pid, path, actions, how, argv, environment), EAGAIN)
FAULTY(pid_t, -1, waitpid, (pid_t pid, int *how, int flags), (pid, how, flags), EINTR)
FAULTY(int, -1, waitid, (idtype_t kind, id_t id, siginfo_t *facts, int flags), (kind, id, facts, flags), EINTR)
FAULTY(int, -1, pidfd_open, (pid_t pid, unsigned flags), (pid, flags), EMFILE)
FAULTY_CODE(pthread_create, (pthread_t * thread, const pthread_attr_t *how, void *(*run)(void *), void *context),
            (thread, how, run, context), EAGAIN)

/* As the loader itself fails, so that dlerror() has something to say. */
void *dlopen(const char *path, int flags)
{
    static void *(*real)(const char *, int);
    FAILS("dlopen", ENOMEM);
    if (real == NULL) {
        real = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    }
    return real(error_ != 0 ? "/nonexistent/injected" : path, flags);
}

/* Only what is added needs memory. */
int epoll_ctl(int fd, int what, int other, struct epoll_event *event)
{
    static int (*real)(int, int, int, struct epoll_event *);
    static const int errors[] = {ENOMEM};
    if (what == EPOLL_CTL_ADD && fails("epoll_ctl", errors, 1) != 0) {
        return -1;
    }
    if (real == NULL) {
        real = (int (*)(int, int, int, struct epoll_event *))dlsym(RTLD_NEXT, "epoll_ctl");
    }
    return real(fd, what, other, event);
}

/* What makes a descriptor, or seals what others may have mapped. */
int fcntl(int fd, int what, ...)
{
    static int (*real)(int, int, ...);
    static const int errors[] = {EMFILE, EBUSY};
    va_list rest;
    va_start(rest, what);
    void *value = va_arg(rest, void *);
    va_end(rest);
    const int error_ = what == F_DUPFD_CLOEXEC || what == F_DUPFD ? fails("fcntl", errors, 1)
                       : what == F_ADD_SEALS                      ? fails("fcntl", errors + 1, 1)
                                                                  : 0;
    if (real == NULL) {
        real = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl");
    }
    return error_ != 0 ? -1 : real(fd, what, value);
}

/* The bytes are lost as on a full disk, and the file is closed all the same. */
int fclose(FILE *file)
{
    static int (*real)(FILE *);
    FAILS("fclose", ENOSPC);
    if (real == NULL) {
        real = (int (*)(FILE *))dlsym(RTLD_NEXT, "fclose");
    }
    const int closed = real(file);
    errno = error_ != 0 ? error_ : errno;
    return error_ != 0 ? EOF : closed;
}
