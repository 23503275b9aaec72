/* Mapping the sealed memfd that a server hands out. [any] */
#ifndef OTO_SEGMENT_MAP_H
#define OTO_SEGMENT_MAP_H

#include "otolith/status.h"

#include <stdint.h>

/*
 * Maps the segment read-only after its seals (no shrinking, growing or further writing) and its size have been seen to
 * be as announced: what is mapped can then never turn into SIGBUS. The descriptor stays the caller's.
 */
enum oto_status oto_segment_map(int fd, uint64_t bytes, const void **base, struct oto_error *error);
void oto_segment_unmap(const void *base, uint64_t bytes); /* NULL is allowed */

#endif
