/*
 * A checkpoint in memory, and as the bytes of a file: a header, the plugins and parameters that the world ran as YAML, and
 * its state (sim/checkpoint.h), each with its hash (A20). Pure. [loop]
 *
 *   0  magic "OTOCKPT1"      32  hash of the header, this field as 0
 *   8  version (4)           40  bytes of the description     56  hash of the description
 *  16  tick                  48  bytes of the state           64  hash of the state
 *  24  hash chain            72  spare (0)
 *  80  description, then state, each padded with zeros to 8 bytes
 *
 * All numbers are 64 bits, little-endian. The hashes are srv_state_hash's: they find damage, not malice; a checkpoint is
 * trusted as its world file is.
 */
#ifndef SRV_SIM_CHECKPOINT_IMAGE_H
#define SRV_SIM_CHECKPOINT_IMAGE_H

#include <stdint.h>

#include "document/document.h"
#include "world/world_config.h"

#define SRV_CHECKPOINT_MAX_BYTES (UINT64_C(1) << 36)

struct srv_checkpoint {
    uint64_t tick, chain;
    char *text; /* the description as YAML, padded with zeros to a multiple of 8 */
    uint64_t text_bytes;
    void *state; /* padded in the same way */
    uint64_t state_bytes;
    struct oto_document *document; /* the parsed description; made by srv_checkpoint_unpack */
};
void srv_checkpoint_finish(struct srv_checkpoint *checkpoint); /* NULL members are allowed */

/* The size of the file, and the writing of its bytes. `bytes` has room for srv_checkpoint_bytes. */
uint64_t srv_checkpoint_bytes(const struct srv_checkpoint *checkpoint);
void srv_checkpoint_pack(const struct srv_checkpoint *checkpoint, void *bytes);
/* Copies and checks the bytes of a file; `name` is the file's name in messages. On failure nothing remains allocated. */
enum oto_status srv_checkpoint_unpack(const char *name, const void *bytes, uint64_t count, struct srv_checkpoint *checkpoint,
                                      struct oto_error *error);

/* The plugin, parameters and unit that a node runs. Borrowed. */
struct srv_running_node {
    const struct oto_plugin *plugin; /* NULL: none */
    const struct oto_params *params;
    struct oto_rng_key unit_key;
    const char *name; /* "vehicle/node" */
};
typedef struct srv_running_node srv_running_node_function(const void *context, uint32_t node);

/* Writes the description of the nodes as they run now into checkpoint->text (malloc'ed). */
enum oto_status srv_checkpoint_describe(const struct srv_world_config *config, srv_running_node_function *node_of,
                                        const void *context, struct srv_checkpoint *checkpoint, struct oto_error *error);
/* Reads the seed of the saved world. Checkpoints before version 0.2 have no seed: then *seed does not change. */
enum oto_status srv_checkpoint_seed(const struct srv_checkpoint *checkpoint, uint64_t *seed, struct oto_error *error);
/*
 * Gives a configuration the plugins and parameters that the world ran with, so that a world made of it can load the state.
 */
enum oto_status srv_checkpoint_configure(const struct srv_checkpoint *checkpoint, struct srv_world_config *config,
                                         struct oto_error *error);

#endif
