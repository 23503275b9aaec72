/*
 * Memory files (memfd) with seals: memory that another process maps, and bytes that must not change. Failures set
 * errno. [any]
 */
#ifndef SRV_BASE_SEALED_MEMORY_H
#define SRV_BASE_SEALED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum srv_seal {
    SRV_SEAL_SIZE,   /* the size is fixed, the content may be written */
    SRV_SEAL_CONTENT /* the size is fixed, and only existing mappings may write */
};

/*
 * Makes a file of `bytes` zeros that cannot be executed and has no seals yet; close-on-exec. Returns the descriptor, or
 * -1.
 */
int srv_memory_create(const char *name, uint64_t bytes);
/* Adds the seals, and a seal against further seals. */
bool srv_memory_seal(int fd, enum srv_seal seal);
bool srv_memory_is_sealed(int fd, enum srv_seal seal);
/* Makes memory of a fixed size, reserved and mapped for writing. Returns NULL, with *fd -1, on failure. */
void *srv_memory_share(const char *name, uint64_t bytes, int *fd);

#endif
