/*
 * The hash chain over a world's state (A19). Each vehicle hashes its states, truth and samples of a tick into lanes of its
 * own, which start with the chain. The next chain is the fold of the vehicles' digests in their order. Vehicles can
 * therefore be hashed in any order and by any thread. Eight lanes of 64 bits: each word is added to one lane, and the
 * product of its halves, keyed by its position, to the neighbour lane (the round of XXH3). Words are read as little-endian,
 * so the chain is the same on every machine. Not cryptographic. Pure. [any]
 */
#ifndef SRV_WORLD_STATE_HASH_H
#define SRV_WORLD_STATE_HASH_H

#include <stdint.h>
#include <stddef.h>

#define SRV_HASH_LANES 8

struct srv_state_hash {
    _Alignas(64) uint64_t lane[SRV_HASH_LANES];
};

void srv_state_hash_begin(struct srv_state_hash *hash, uint64_t chain);
/* Adds a block; `bytes` is a multiple of 8. The hash depends on where blocks begin and end. */
void srv_state_hash_absorb(struct srv_state_hash *hash, const void *data, size_t bytes);
/*
 * The same for a block of which only the first `read` bytes, a multiple of 64, have changed since srv_state_hash_rest: `rest`
 * has the contribution of the others, which is the same in every hash.
 */
void srv_state_hash_absorb_with(struct srv_state_hash *hash, const void *data, size_t read, size_t bytes,
                                const uint64_t rest[SRV_HASH_LANES]);
void srv_state_hash_rest(const void *data, size_t read, size_t bytes, uint64_t rest[SRV_HASH_LANES]);
uint64_t srv_state_hash_end(const struct srv_state_hash *hash);
/* Adds a digest to a fold. The result depends on the order. */
uint64_t srv_state_hash_fold(uint64_t fold, uint64_t digest);

#endif
