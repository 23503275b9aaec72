/*
 * Taking over a segment's description. Nothing in a segment is believed: header, directory and field table are copied
 * to private memory first and the copies are checked, so that neither a damaged segment nor one that changes while we
 * look can lead a reader out of bounds. Pure over bytes: any thread.
 */
#ifndef OTO_SEGMENT_CHECK_H
#define OTO_SEGMENT_CHECK_H

#include "otolith/client.h"

struct oto_segment_directory {
    char world[OTO_WORLD_NAME_BYTES];
    uint64_t epoch, lineage;
    uint32_t channel_count;
    struct oto_channel *channels; /* views point into the segment, all else into the tables below */
    struct oto_segment_channel *entries;
    struct oto_segment_field *field_entries;
    struct oto_field *fields;
    const struct oto_segment_channel *shared_entries; /* in the segment: for what changes while it runs */
};

/*
 * Reads the `bytes` bytes at `base` (aligned to 64). OTO_OK; CORRUPT, VERSION, LIMIT or NO_MEMORY with a sentence, and
 * nothing held.
 */
enum oto_status oto_segment_read(const void *base, size_t bytes, struct oto_segment_directory *directory,
                                 struct oto_error *error);
void oto_segment_directory_finish(struct oto_segment_directory *directory); /* zeroed is allowed */

#endif
