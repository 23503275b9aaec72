/*
 * Checkpoints on disk (sim/checkpoint_image.h describes their content). A checkpoint file is complete or does not exist: it is
 * written under a temporary name, synchronised and renamed. [loop]; may be called from a worker thread.
 */
#ifndef SRV_CHECKPOINT_FILE_H
#define SRV_CHECKPOINT_FILE_H

#include "daemon/thread/engine.h"
#include "sim/checkpoint_image.h"

/* As srv_checkpoint_describe. Call it when the reply to the snapshot command is taken, before any later reply is taken. */
enum oto_status srv_checkpoint_describe_engine(const struct srv_engine *engine, const struct srv_world_config *config,
                                               struct srv_checkpoint *checkpoint, struct oto_error *error);
enum oto_status srv_checkpoint_write(const char *path, const struct srv_checkpoint *checkpoint, struct oto_error *error);
enum oto_status srv_checkpoint_read(const char *path, struct srv_checkpoint *checkpoint, struct oto_error *error);

#endif
