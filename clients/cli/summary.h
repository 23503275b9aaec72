/* `--summary FILE` and `--json` of `otolith run`: the facts of a run and its timing, as JSON. */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "recorder.h"

/* Writes the file. `recorder` counts `lost` and `stale` of a topic; for other topics `lost` is 0 and `stale` is absent. */
enum oto_status summary_write(const char *path, struct oto_client *client, const struct recorder *recorder,
                              int64_t wall_ns, struct oto_error *error);
/* Prints the same as one line on standard output. */
enum oto_status summary_print(struct oto_client *client, const struct recorder *recorder, int64_t wall_ns, struct oto_error *error);

#endif
