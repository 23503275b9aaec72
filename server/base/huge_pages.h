/* Large pages for memory that each tick goes through: an address of a fleet's state otherwise costs a walk of the page table. */
#ifndef SRV_BASE_HUGE_PAGES_H
#define SRV_BASE_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define SRV_HUGE_PAGE UINT64_C(0x200000)
#define SRV_HUGE_PAGES_FROM_BYTES (8 * SRV_HUGE_PAGE) /* less is not worth the rest of the last page */

/* Asks for large pages in the whole ones of a range that is not used yet. A kernel without them changes nothing. */
static inline void srv_huge_pages(void *memory, uint64_t bytes)
{
    const uintptr_t start = ((uintptr_t)memory + SRV_HUGE_PAGE - 1) / SRV_HUGE_PAGE * SRV_HUGE_PAGE;
    const uintptr_t end = ((uintptr_t)memory + bytes) / SRV_HUGE_PAGE * SRV_HUGE_PAGE;
    if (memory != NULL && bytes >= SRV_HUGE_PAGES_FROM_BYTES && end > start) {
        (void)madvise((unsigned char *)memory + (start - (uintptr_t)memory), end - start, MADV_HUGEPAGE);
    }
}

#endif
