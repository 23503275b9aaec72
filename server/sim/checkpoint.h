/*
 * Saves the state of a world at a boundary as one block of bytes, and loads it (A20). One walk over the engine does both,
 * so that the two cannot differ. The block contains no wall-clock time and nothing of the world file: the caller supplies
 * plugins and parameters with the engine that loads (server/daemon/checkpoint).
 */
#ifndef SRV_WORLD_CHECKPOINT_H
#define SRV_WORLD_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

struct srv_sim;

/* [tick] Writes at most `capacity` bytes and returns the needed size. If that is larger, the written bytes are useless. */
uint64_t srv_checkpoint_save(struct srv_sim *sim, void *data, uint64_t capacity);
/*
 * [tick] Whether this world can be saved now. CONFLICT, TIMEOUT: not now, but later. Call after the answers of all plugin
 * hosts were collected.
 */
enum oto_status srv_checkpoint_refusal(const struct srv_sim *sim, const char **reason);

/*
 * [loop] Loads a saved state before the first tick: the engine then continues from the saved boundary. Everything is
 * checked against the engine's own shape; the error names what does not fit. After an error the engine can only be
 * destroyed.
 */
enum oto_status srv_checkpoint_load(struct srv_sim *sim, const void *data, uint64_t bytes,
                                    struct oto_error *error);

#endif
