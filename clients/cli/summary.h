/* `--summary FILE` of `otolith run`: the facts of a run and its timing, as JSON. */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "recorder.h"

/* `lost` and `stale` of a topic are those of its recording; a topic that is not recorded has `lost` 0 and no `stale`. */
enum oto_status summary_write(const char *path, struct oto_client *client, const struct recorder *recorder,
                              int64_t wall_ns, struct oto_error *error);

#endif
