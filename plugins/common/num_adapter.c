#include "num_adapter.h"

#include <string.h>

void num_step_chunks(num_step_chunk *step_chunk, const struct oto_instance *const *instances,
                     const struct oto_step *const *steps, uint32_t count, enum oto_step_status *statuses)
{
    for (uint32_t done = 0; done < count; done += NUM_CHUNK) {
        const uint32_t left = count - done;
        step_chunk(&instances[done], &steps[done], left < NUM_CHUNK ? left : NUM_CHUNK, &statuses[done]);
    }
}

enum oto_status num_migrate_grown(const struct oto_instance *instance, const void *old_state, uint64_t old_bytes,
                                  uint32_t old_version, uint64_t known_bytes, uint32_t known_version)
{
    if (old_version != known_version || old_bytes != known_bytes) {
        return OTO_VERSION;
    }
    memcpy(instance->state, old_state, known_bytes);
    return OTO_OK;
}
