/* `--summary FILE.json` of `otolith run`: what the run was and how it kept time. */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "recorder.h"
#include "view.h"

/* Written beside and renamed into place, so that a reader never sees half of it. */
enum oto_status summary_write(const char *path, struct oto_client *client, const struct view *view,
                              const struct recorder *recorder, int64_t wall_ns, struct oto_error *error);

#endif
