/* Large pages for memory that each tick reads and writes: with small pages the state of a fleet causes many TLB misses. */
#ifndef SRV_BASE_HUGE_PAGES_H
#define SRV_BASE_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define SRV_HUGE_PAGE UINT64_C(0x200000)
#define SRV_HUGE_PAGES_FROM_BYTES (8 * SRV_HUGE_PAGE) /* for smaller memory the unused rest of the last page would cost too much */

/* Requests large pages for a range of memory that is not used yet. Without support in the kernel nothing changes. */
static inline void srv_huge_pages(void *memory, uint64_t bytes)
{
    const uintptr_t start = ((uintptr_t)memory + SRV_HUGE_PAGE - 1) / SRV_HUGE_PAGE * SRV_HUGE_PAGE;
    const uintptr_t end = ((uintptr_t)memory + bytes) / SRV_HUGE_PAGE * SRV_HUGE_PAGE;
    if (memory != NULL && bytes >= SRV_HUGE_PAGES_FROM_BYTES && end > start) {
        (void)madvise((unsigned char *)memory + (start - (uintptr_t)memory), end - start, MADV_HUGEPAGE);
    }
}

#endif
