/*
 * Files in memory (memfd) with seals, for memory that another process maps and for bytes that must not change any more.
 * Failures set errno. [any]
 */
#ifndef SRV_BASE_SEALED_MEMORY_H
#define SRV_BASE_SEALED_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum srv_seal {
    SRV_SEAL_SIZE,   /* the size is fixed, the content may be written */
    SRV_SEAL_CONTENT /* the size is fixed, and only mappings that exist already may write */
};

/* A file of `bytes` zeros that cannot be executed and has no seals yet; close-on-exec. Returns the descriptor, or -1. */
int srv_memory_create(const char *name, uint64_t bytes);
/* The seals themselves are sealed as well. */
bool srv_memory_seal(int fd, enum srv_seal seal);
bool srv_memory_is_sealed(int fd, enum srv_seal seal);
/* Memory of a fixed size, reserved and mapped for writing. Returns NULL, with *fd -1, where there is none. */
void *srv_memory_share(const char *name, uint64_t bytes, int *fd);

#endif
