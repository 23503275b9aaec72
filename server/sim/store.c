#include "sim/store.h"

#include <string.h>
#include <sys/mman.h>

#include "base/huge_pages.h"

#define LARGE_PAGES_UP_TO_RING_BYTES (SRV_HUGE_PAGE / 16)

void srv_store_fill(struct srv_store *store, void *memory, const struct srv_segment_plan *plan,
                    const struct srv_layout *layout)
{
    unsigned char *base = memory;
    struct oto_segment_header *header = memory;
    header->major = OTO_SEGMENT_MAJOR;
    header->minor = OTO_SEGMENT_MINOR;
    header->header_bytes = OTO_SEGMENT_HEADER_BYTES;
    header->endian = OTO_SEGMENT_ENDIAN;
    header->page_bytes = OTO_SEGMENT_PAGE;
    header->segment_bytes = layout->bytes;
    header->layout_hash = layout->hash;
    header->field_offset = layout->field_offset;
    header->field_count = layout->field_count;
    header->field_stride = sizeof(struct oto_segment_field);
    header->directory_offset = layout->directory_offset;
    header->channel_count = plan->channel_count;
    header->channel_stride = sizeof(struct oto_segment_channel);
    header->boot = 1;
    header->rate_num = plan->rate_num;
    header->rate_den = plan->rate_den;
    header->seed = plan->seed;
    memcpy(header->world, plan->world, strnlen(plan->world, sizeof header->world - 1));
    header->state = OTO_SERVER_INIT;
    memcpy(base + layout->field_offset, layout->fields, layout->field_count * sizeof *layout->fields);
    memcpy(base + layout->directory_offset, layout->directory, plan->channel_count * sizeof *layout->directory);
    store->header = header;
    store->directory = (void *)(base + layout->directory_offset);
    store->bytes = layout->bytes;
}

enum oto_status srv_store_reserve(const struct srv_store *store, uint32_t channel, struct oto_error *error)
{
    return store->reserve != NULL ? store->reserve(store->context, channel, error) : OTO_OK;
}

/*
 * Each tick writes to one place of each ring. A large page serves many of these places only where the rings are short. With
 * long rings it would make memory resident that is not written for a long time.
 */
static void choose_pages(void *memory, const struct srv_layout *layout)
{
    if (layout->awake_bytes / layout->channel_count <= LARGE_PAGES_UP_TO_RING_BYTES) {
        srv_huge_pages(memory, layout->awake_bytes);
    }
}

/* Pages that were never written take no memory, so a ring costs only what is written to it. */
enum oto_status srv_store_make_heap(void *context, const struct srv_segment_plan *plan, struct srv_store *store,
                                    struct oto_error *error)
{
    struct srv_layout layout;
    (void)context;
    enum oto_status status = srv_layout_make(plan, &layout, error);
    if (status != OTO_OK) {
        return status;
    }
    void *memory = mmap(NULL, layout.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for the %.1f MiB of the world's records",
                          (double)layout.bytes / 0x1p20);
    } else {
        choose_pages(memory, &layout);
        srv_store_fill(store, memory, plan, &layout);
    }
    srv_layout_finish(&layout);
    return status;
}

void srv_store_free_heap(struct srv_store *store)
{
    if (store->header != NULL) {
        (void)munmap(store->header, store->bytes);
    }
    memset(store, 0, sizeof *store);
}
