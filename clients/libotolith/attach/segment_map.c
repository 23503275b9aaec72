#include "attach/segment_map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "otolith/segment.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define WANTED_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE)

enum oto_status oto_segment_map(int fd, uint64_t bytes, const void **base, struct oto_error *error)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return oto_fail(error, OTO_IO, "the segment cannot be inspected: %s", strerror(errno));
    }
    const int seals = fcntl(fd, F_GET_SEALS); /* -1 for a descriptor that cannot be sealed */
    if (seals < 0 || (seals & WANTED_SEALS) != WANTED_SEALS) {
        return oto_fail(error, OTO_DENIED,
                        "the segment's seals are 0x%x; shrinking, growing and writing must be sealed (0x%x)",
                        seals < 0 ? 0u : (unsigned)seals, (unsigned)WANTED_SEALS);
    }
    if (facts.st_size < 0 || (uint64_t)facts.st_size != bytes ||
        bytes < OTO_SEGMENT_HEADER_BYTES || bytes > OTO_SEGMENT_MAX_BYTES) {
        return oto_fail(error, OTO_CORRUPT, "the segment has %lld bytes; the server announced %llu",
                        (long long)facts.st_size, (unsigned long long)bytes);
    }
    void *mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) {
        return oto_fail(error, errno == ENOMEM ? OTO_NO_MEMORY : OTO_IO, "the segment of %llu bytes cannot be mapped: %s",
                        (unsigned long long)bytes, strerror(errno));
    }
    *base = mapped;
    return OTO_OK;
}

void oto_segment_unmap(const void *base, uint64_t bytes)
{
    if (base != NULL) {
        /* munmap takes a non-const pointer; the pages are never written. */
        (void)munmap((void *)(uintptr_t)base, bytes);
    }
}
