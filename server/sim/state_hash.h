/*
 * The hash chain over a world's state (A19). Each vehicle absorbs its states, truth and samples of a tick into lanes of its own,
 * which begin with the chain; the chain of the next tick is the fold of the digests in the order of the vehicles. Vehicles can
 * therefore be absorbed in any order and by any thread. Eight lanes of 64 bits: a word is added to one lane, and the product of
 * its halves, keyed by its place, to the neighbour (the round of XXH3). Words are read as little-endian, so the chain is the same
 * everywhere. Not cryptographic. Pure. [any]
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
/* `bytes` is a multiple of 8. Where one piece ends and the next begins matters. */
void srv_state_hash_absorb(struct srv_state_hash *hash, const void *data, size_t bytes);
uint64_t srv_state_hash_end(const struct srv_state_hash *hash);
/* One more digest of a fold, whose result depends on the order. */
uint64_t srv_state_hash_fold(uint64_t fold, uint64_t digest);

#endif
