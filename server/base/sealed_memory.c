#include "base/sealed_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h> /* memfd_create */
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL /* since Linux 6.3 */
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE /* since Linux 5.1 */
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/*
 * FUTURE_WRITE instead of WRITE: F_SEAL_WRITE waits until no other process holds a reference to a page, and fails with
 * EBUSY on a loaded machine (A9).
 */
static int seals_of(enum srv_seal seal)
{
    return F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (seal == SRV_SEAL_CONTENT ? F_SEAL_FUTURE_WRITE : 0);
}

static void close_keeping_errno(int fd)
{
    const int reason = errno;
    (void)close(fd);
    errno = reason;
}

int srv_memory_create(const char *name, uint64_t bytes)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) { /* an older kernel */
        fd = memfd_create(name, flags);
    }
    if (fd >= 0 && bytes > 0 && ftruncate(fd, (off_t)bytes) != 0) {
        close_keeping_errno(fd);
        return -1;
    }
    return fd;
}

bool srv_memory_seal(int fd, enum srv_seal seal)
{
    return fcntl(fd, F_ADD_SEALS, seals_of(seal)) == 0;
}

bool srv_memory_is_sealed(int fd, enum srv_seal seal)
{
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & seals_of(seal)) == seals_of(seal);
}

/* Reserves the pages, because a page that is not available later would cause SIGBUS. Returns 0 or an errno. */
static int reserve(int fd, uint64_t bytes)
{
    int cause;
    do {
        cause = posix_fallocate(fd, 0, (off_t)bytes);
    } while (cause == EINTR);
    return cause;
}

void *srv_memory_share(const char *name, uint64_t bytes, int *fd)
{
    *fd = srv_memory_create(name, 0);
    if (*fd < 0) {
        return NULL;
    }
    void *memory = MAP_FAILED;
    const int cause = reserve(*fd, bytes);
    errno = cause;
    if (cause == 0 && srv_memory_seal(*fd, SRV_SEAL_SIZE)) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, *fd, 0);
    }
    if (memory == MAP_FAILED) {
        close_keeping_errno(*fd);
        *fd = -1;
        return NULL;
    }
    return memory;
}
