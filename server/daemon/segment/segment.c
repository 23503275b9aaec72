#include "daemon/segment/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h> /* memfd_create */
#include <unistd.h>

#include "base/process_time.h"
#include "otolith/ring.h"

#ifndef MFD_NOEXEC_SEAL /* since Linux 6.3; older kernels refuse this flag, and the call is repeated without it */
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_POPULATE_WRITE /* since Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

#define CHECK_MEMORY_FROM_BYTES (UINT64_C(64) << 20)

/* Available memory in bytes, as the kernel reports it; 0: unknown. */
static uint64_t available_bytes(void)
{
    unsigned long long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) {
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return (uint64_t)kib * 1024;
}

static enum oto_status open_memory(struct srv_segment *segment, uint64_t bytes, struct oto_error *error)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    segment->fd = memfd_create("otolith-segment", flags | MFD_NOEXEC_SEAL);
    if (segment->fd < 0 && errno == EINVAL) {
        segment->fd = memfd_create("otolith-segment", flags);
    }
    if (segment->fd < 0) {
        return oto_fail(error, OTO_IO, "cannot make shared memory (memfd_create: %s)", strerror(errno));
    }
    if (ftruncate(segment->fd, (off_t)bytes) != 0) {
        return oto_fail(error, OTO_NO_MEMORY, "cannot make shared memory of %.1f MiB (%s)", (double)bytes / 0x1p20,
                        strerror(errno));
    }
    return OTO_OK;
}

/* Maps the memory between two inaccessible pages, so that an overrun faults at once. */
static enum oto_status map_memory(struct srv_segment *segment, uint64_t bytes, struct oto_error *error)
{
    const uint64_t whole = bytes + 2 * OTO_SEGMENT_PAGE;
    unsigned char *reserved = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) {
        return oto_fail(error, OTO_NO_MEMORY, "cannot map %.1f MiB (%s)", (double)whole / 0x1p20, strerror(errno));
    }
    segment->reservation = reserved;
    segment->reservation_bytes = whole;
    void *base =
        mmap(reserved + OTO_SEGMENT_PAGE, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, segment->fd, 0);
    if (base == MAP_FAILED) {
        return oto_fail(error, OTO_NO_MEMORY, "cannot map %.1f MiB of shared memory (%s)", (double)bytes / 0x1p20,
                        strerror(errno));
    }
    segment->header = base;
    segment->bytes = bytes;
    /* From here on no process, this one included, can map the memory writable again, resize it or change the seals (A9). */
    if (fcntl(segment->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return oto_fail(error, OTO_IO, "cannot seal shared memory (%s); a kernel of 5.1 or later is needed",
                        strerror(errno));
    }
    return OTO_OK;
}

/* ---- memory behind the mapping ---- */

static uint64_t page_up(uint64_t bytes)
{
    return (bytes + OTO_SEGMENT_PAGE - 1) / OTO_SEGMENT_PAGE * OTO_SEGMENT_PAGE;
}

static uint64_t ring_end(const struct oto_segment_channel *channel)
{
    return page_up(channel->ring_offset + sizeof(struct oto_ring) + (uint64_t)channel->capacity * channel->slot_stride);
}

/* Maps pages that are already reserved. A kernel before 5.14 cannot map them in one call: there each page is read once. */
static void touch(const unsigned char *base, uint64_t bytes)
{
    if (madvise((void *)(uintptr_t)base, bytes, MADV_POPULATE_WRITE) != 0) {
        for (uint64_t at = 0; at < bytes; at += OTO_SEGMENT_PAGE) {
            (void)__atomic_load_n(base + at, __ATOMIC_RELAXED);
        }
    }
}

/* Reserves and touches whole pages from `from` to before `end`; 0 or an errno. */
static int reserve(const struct srv_segment *segment, uint64_t from, uint64_t end)
{
    int cause;
    do {
        cause = posix_fallocate(segment->fd, (off_t)from, (off_t)(end - from));
    } while (cause == EINTR);
    if (cause == 0) {
        touch((const unsigned char *)segment->header + from, end - from);
    }
    return cause;
}

static enum oto_status reserve_awake(const struct srv_segment_plan *plan, const struct srv_layout *layout,
                                     const struct srv_segment *segment, struct oto_error *error)
{
    uint64_t wanted = layout->awake_bytes;
    for (uint32_t i = 0; i < plan->channel_count; i++) {
        segment->awake[i] = !plan->channels[i].asleep;
        wanted += plan->channels[i].asleep ? OTO_SEGMENT_PAGE : 0;
    }
    const uint64_t available = wanted >= CHECK_MEMORY_FROM_BYTES ? available_bytes() : 0;
    int cause = available != 0 && wanted > available ? ENOMEM : reserve(segment, 0, layout->awake_bytes);
    for (uint32_t i = 0; i < plan->channel_count && cause == 0; i++) {
        const uint64_t offset = layout->directory[i].ring_offset;
        cause = segment->awake[i] ? 0 : reserve(segment, offset, offset + OTO_SEGMENT_PAGE);
    }
    if (cause != 0) {
        return oto_fail(error, OTO_NO_MEMORY,
                        "cannot reserve %.1f MiB of shared memory for the world (%s); free memory, or make rings "
                        "shorter or the world smaller",
                        (double)wanted / 0x1p20, strerror(cause));
    }
    return OTO_OK;
}

enum oto_status srv_segment_wake(const struct srv_segment *segment, uint32_t index, struct oto_error *error)
{
    const struct oto_segment_channel *channel = &segment->directory[index];
    if (__atomic_load_n(&segment->awake[index], __ATOMIC_RELAXED)) {
        return OTO_OK;
    }
    const uint64_t end = ring_end(channel);
    const int cause = reserve(segment, channel->ring_offset, end);
    if (cause != 0) {
        return oto_fail(error, OTO_NO_MEMORY, "cannot reserve %.1f MiB of shared memory for channel '%s' (%s)",
                        (double)(end - channel->ring_offset) / 0x1p20, channel->topic, strerror(cause));
    }
    __atomic_store_n(&segment->awake[index], 1, __ATOMIC_RELAXED);
    return OTO_OK;
}

static void fill_segment(const struct srv_segment_plan *plan, const struct srv_segment_identity *identity,
                         const struct srv_layout *layout, struct srv_segment *segment)
{
    struct srv_store store;
    srv_store_fill(&store, segment->header, plan, layout);
    segment->header->epoch = identity->epoch;
    segment->header->lineage = identity->lineage;
    segment->header->writer_pid = (uint32_t)getpid();
    segment->header->writer_start_time = srv_process_start_time(getpid());
    segment->directory = store.directory;
    __atomic_store_n(&segment->header->magic, OTO_SEGMENT_MAGIC, __ATOMIC_RELEASE);
}

static enum oto_status reserve_channel(void *context, uint32_t channel, struct oto_error *error)
{
    return srv_segment_wake(context, channel, error);
}

void srv_segment_store(struct srv_segment *segment, struct srv_store *store)
{
    *store = (struct srv_store){.header = segment->header,
                                .directory = segment->directory,
                                .bytes = segment->bytes,
                                .reserve = reserve_channel,
                                .context = segment};
}

enum oto_status srv_segment_create(const struct srv_segment_plan *plan, const struct srv_segment_identity *identity,
                                   struct srv_segment *segment, struct oto_error *error)
{
    struct srv_layout layout;
    memset(segment, 0, sizeof *segment);
    segment->fd = -1;
    enum oto_status status = srv_layout_make(plan, &layout, error);
    if (status != OTO_OK) {
        return status;
    }
    segment->awake = calloc(plan->channel_count, 1);
    status = segment->awake != NULL ? open_memory(segment, layout.bytes, error)
                                    : oto_fail(error, OTO_NO_MEMORY, "no memory for %u channels", plan->channel_count);
    if (status == OTO_OK) {
        status = map_memory(segment, layout.bytes, error);
    }
    if (status == OTO_OK) {
        status = reserve_awake(plan, &layout, segment, error);
    }
    if (status == OTO_OK) {
        fill_segment(plan, identity, &layout, segment);
    } else {
        srv_segment_finish(segment);
    }
    srv_layout_finish(&layout);
    return status;
}

void srv_segment_finish(struct srv_segment *segment)
{
    if (segment == NULL) {
        return;
    }
    if (segment->reservation != NULL) {
        (void)munmap(segment->reservation, segment->reservation_bytes);
    }
    if (segment->fd > 0) {
        (void)close(segment->fd);
    }
    free(segment->awake);
    memset(segment, 0, sizeof *segment);
    segment->fd = -1;
}
