/*
 * Reads the description of a segment. Nothing in a segment is trusted: header, directory and field table are first
 * copied to private memory, then the copies are checked. Neither a damaged segment nor one that changes during the
 * check can lead a reader out of bounds. Pure over bytes: any thread.
 */
#ifndef OTO_SEGMENT_CHECK_H
#define OTO_SEGMENT_CHECK_H

#include "otolith/client.h"

struct oto_segment_directory {
    char world[OTO_WORLD_NAME_BYTES];
    uint64_t epoch, lineage;
    uint32_t channel_count;
    struct oto_channel *channels; /* views point into the segment, everything else into the tables below */
    struct oto_segment_channel *entries;
    struct oto_segment_field *field_entries;
    struct oto_field *fields;
    const struct oto_segment_channel *shared_entries; /* in the segment, for values that change while it runs */
};

/*
 * Reads `bytes` bytes at `base` (aligned to 64). Returns OTO_OK; or CORRUPT, VERSION, LIMIT or NO_MEMORY with a
 * sentence, with nothing allocated.
 */
enum oto_status oto_segment_read(const void *base, size_t bytes, struct oto_segment_directory *directory,
                                 struct oto_error *error);
void oto_segment_directory_finish(struct oto_segment_directory *directory); /* zeroed is allowed */

#endif
