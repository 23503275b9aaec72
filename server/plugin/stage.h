/*
 * A plugin's file as it will be loaded: copied into a sealed memfd while it is hashed, so that whatever happens to the
 * file afterwards, the bytes that were checked are the bytes that run (A15). [loop]
 */
#ifndef PLUGIN_STAGE_H
#define PLUGIN_STAGE_H

#include "otolith/plugin.h"

struct oto_stage {
    int fd; /* the sealed copy */
    size_t bytes;
    uint64_t content_hash;
};

/* Copies, seals and checks (file rules and ABI block); nothing of it has run. On failure nothing is left. */
enum oto_status oto_stage_open(const char *path, struct oto_stage *stage, struct oto_error *error);
/* Takes a duplicate of another's sealed copy, and checks it likewise. */
enum oto_status oto_stage_adopt(int fd, const char *path, struct oto_stage *stage, struct oto_error *error);
/* The further rules for plugins that run in a plugin host. */
enum oto_status oto_stage_check_isolated(const struct oto_stage *stage, const char *path, struct oto_error *error);
void oto_stage_close(struct oto_stage *stage);
/* Writes the copy to DIRECTORY/<file name without .so>-<hash>.so, whole or not at all. */
enum oto_status oto_stage_keep(const struct oto_stage *stage, const char *path, const char *directory,
                               struct oto_error *error);

#endif
