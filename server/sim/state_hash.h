/*
 * The hash chain over a world's state (A19): each tick's states, truths and samples are absorbed in order, and the
 * digest of one tick is where the next begins. Four lanes of 64 bits; each round (multiply, add, rotate, multiply, the
 * round of XXH64) is a bijection of its lane. Words are read as little-endian, so the chain is the same everywhere. Not
 * cryptographic. Pure. [any]
 */
#ifndef SRV_WORLD_STATE_HASH_H
#define SRV_WORLD_STATE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct srv_state_hash {
    uint64_t lane[4];
    uint64_t bytes;
    bool off; /* nothing is absorbed; set once, before the first begin */
};

void srv_state_hash_begin(struct srv_state_hash *hash, uint64_t chain);
/* `bytes` is a multiple of 8. */
void srv_state_hash_absorb(struct srv_state_hash *hash, const void *data, size_t bytes);
uint64_t srv_state_hash_end(const struct srv_state_hash *hash);

#endif
