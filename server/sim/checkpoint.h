/*
 * The state of a world at a boundary as one run of bytes, and back (A20). One walk over the engine saves and loads, so
 * that the two cannot differ. Nothing of the wall clock is in it, nor what stands in the world's file: plugins and
 * parameters are the caller's, who makes the engine that loads (server/daemon/checkpoint).
 */
#ifndef SRV_WORLD_CHECKPOINT_H
#define SRV_WORLD_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

struct srv_sim;

/* [tick] Writes at most `capacity` bytes; returns how many it takes, which may be more: then nothing can be used. */
uint64_t srv_checkpoint_save(struct srv_sim *sim, void *data, uint64_t capacity);
/* Whether this world can be saved now: OK, or CONFLICT where it can be soon. The groups were collected. [tick] */
enum oto_status srv_checkpoint_refusal(const struct srv_sim *sim, const char **reason);

/*
 * [loop] Before the engine is started: it goes on from the saved boundary. Everything is checked against the engine's own
 * shape; the error names what does not fit. After an error the engine is only good to be destroyed.
 */
enum oto_status srv_checkpoint_load(struct srv_sim *sim, const void *data, uint64_t bytes,
                                    struct oto_error *error);

#endif
