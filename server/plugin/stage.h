/*
 * Stages a plugin's file: copies it into a sealed memfd and hashes it. The bytes that are checked are then the bytes
 * that run, whatever happens to the file (A15). [loop]
 */
#ifndef PLUGIN_STAGE_H
#define PLUGIN_STAGE_H

#include "otolith/plugin.h"

struct oto_stage {
    int fd; /* the sealed copy */
    size_t bytes;
    uint64_t content_hash;
    bool host_only; /* its instances run in a plugin host only */
};

/* Copies, seals and checks the file (file rules and ABI block). No code of it runs. On failure nothing remains. */
enum oto_status oto_stage_open(const char *path, struct oto_stage *stage, struct oto_error *error);
/* Takes a duplicate of the descriptor of another process' sealed copy, and checks it in the same way. content_hash is 0. */
enum oto_status oto_stage_adopt(int fd, const char *path, struct oto_stage *stage, struct oto_error *error);
/* Checks the additional rules for plugins that run in a plugin host. */
enum oto_status oto_stage_check_isolated(struct oto_stage *stage, const char *path, struct oto_error *error);
/* Fills content_hash of an adopted copy. */
void oto_stage_hash(struct oto_stage *stage);
void oto_stage_close(struct oto_stage *stage);
/*
 * Writes the copy to DIRECTORY/<file name without .so>-<hash>.so, completely or not at all. NULL: the directory is the
 * environment variable OTOLITH_KEEP_PLUGINS, and nothing is written if it is not set.
 */
enum oto_status oto_stage_keep(const struct oto_stage *stage, const char *path, const char *directory,
                               struct oto_error *error);

#endif
