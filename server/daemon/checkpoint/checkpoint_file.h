/*
 * Checkpoints on disk (sim/checkpoint_image.h says what is in them). A file is complete or it is not there: written beside its
 * name, synchronised, renamed. [loop]; may be called from a worker thread.
 */
#ifndef SRV_CHECKPOINT_FILE_H
#define SRV_CHECKPOINT_FILE_H

#include "daemon/thread/engine.h"
#include "sim/checkpoint_image.h"

/* As srv_checkpoint_describe: to be called when the reply of the snapshot is taken, before any later one. */
enum oto_status srv_checkpoint_describe_engine(const struct srv_engine *engine, const struct srv_world_config *config,
                                               struct srv_checkpoint *checkpoint, struct oto_error *error);
enum oto_status srv_checkpoint_write(const char *path, const struct srv_checkpoint *checkpoint, struct oto_error *error);
enum oto_status srv_checkpoint_read(const char *path, struct srv_checkpoint *checkpoint, struct oto_error *error);

#endif
