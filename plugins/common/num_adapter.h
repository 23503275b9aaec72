/* What adapters of sampled sensors share, beside their parameters (num_params.h) and timing (num_timing.h). [tick] */
#ifndef NUM_ADAPTER_H
#define NUM_ADAPTER_H

#include "otolith/plugin.h"

#define NUM_CHUNK 16 /* units whose jobs lie on the stack together */

typedef void num_step_chunk(const struct oto_instance *const *instances, const struct oto_step *const *steps,
                            uint32_t count, enum oto_step_status *statuses);

/* A `step_batch` of any size by one of at most NUM_CHUNK. */
void num_step_chunks(num_step_chunk *step_chunk, const struct oto_instance *const *instances,
                     const struct oto_step *const *steps, uint32_t count, enum oto_step_status *statuses);

/* A `migrate` to a state that has grown at its end since that version: what came to it begins as zero. VERSION for others. */
enum oto_status num_migrate_grown(const struct oto_instance *instance, const void *old_state, uint64_t old_bytes,
                                  uint32_t old_version, uint64_t known_bytes, uint32_t known_version);

#endif
