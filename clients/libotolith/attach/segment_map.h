/* Maps the sealed memfd that a server passes. [any] */
#ifndef OTO_SEGMENT_MAP_H
#define OTO_SEGMENT_MAP_H

#include "otolith/status.h"

#include <stdint.h>

/*
 * Maps the segment read-only after checking its seals (no shrinking, growing or writing) and its size. The mapping can
 * then never cause SIGBUS. The caller keeps the descriptor.
 */
enum oto_status oto_segment_map(int fd, uint64_t bytes, const void **base, struct oto_error *error);
void oto_segment_unmap(const void *base, uint64_t bytes); /* NULL is allowed */

#endif
