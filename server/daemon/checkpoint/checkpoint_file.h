/*
 * Checkpoints on disk: a header, what the world was made of as YAML, and its state as the engine saved it, each with its
 * hash. A file is complete or it is not there: written beside its name, synchronised, renamed (A20). [loop]
 *
 *   0  magic "OTOCKPT1"      32  hash of the header, this field as 0
 *   8  version (2)           40  bytes of the description     56  hash of the description
 *  16  tick                  48  bytes of the state           64  hash of the state
 *  24  hash chain            72  spare (0)
 *  80  description, then state, each padded with zeros to 8 bytes
 *
 * All numbers are 64 bits, little-endian. The hashes are srv_state_hash's: they find damage, not malice; a checkpoint is
 * believed as its world file is.
 */
#ifndef SRV_CHECKPOINT_FILE_H
#define SRV_CHECKPOINT_FILE_H

#include <stdint.h>

#include "world/world_config.h"
#include "daemon/thread/engine.h"

#define SRV_CHECKPOINT_MAX_BYTES (UINT64_C(1) << 36)

struct srv_checkpoint {
    uint64_t tick, chain;
    char *text; /* the description, with a NUL behind it */
    uint64_t text_bytes;
    void *state;
    uint64_t state_bytes;
    struct oto_document *document; /* of the description; made by read */
};
void srv_checkpoint_finish(struct srv_checkpoint *checkpoint); /* NULL members are allowed */

/* What the engine runs: to be called when the reply of the snapshot is taken, before any later one. `text` is malloc'ed. */
enum oto_status srv_checkpoint_describe(const struct srv_engine *engine, const struct srv_world_config *config,
                                        struct srv_checkpoint *checkpoint, struct oto_error *error);
/* May be called from a worker thread. */
enum oto_status srv_checkpoint_write(const char *path, const struct srv_checkpoint *checkpoint, struct oto_error *error);
enum oto_status srv_checkpoint_read(const char *path, struct srv_checkpoint *checkpoint, struct oto_error *error);

/* Gives the configuration the plugins and parameters that the world ran with, so that an engine made of it can load the
 * state. */
enum oto_status srv_checkpoint_configure(const struct srv_checkpoint *checkpoint, struct srv_world_config *config,
                                         oto_warn_function warn, void *warn_context, struct oto_error *error);

#endif
