/*
 * Writes the log of a run (README.md has its entries). A command is described when it is sent, while its texts exist, and
 * written when the tick thread reports the boundary at which it was applied. [loop]
 */
#ifndef SRV_LOG_WRITER_H
#define SRV_LOG_WRITER_H

#include <stdio.h>

#include "world/world_config.h"
#include "daemon/thread/engine.h"

#define SRV_LOG_HASHES_EVERY 1000 /* ticks; default */

struct srv_log_writer;
struct srv_hashes;
struct srv_journal_record;

/* Texts are borrowed during the call. */
struct srv_log_facts {
    const char *path;
    const char *world_path;
    const struct srv_override *overrides;
    uint32_t override_count;
    const char *restore_path; /* NULL: the run begins at tick 0 */
    const char *const *quarantine; /* nodes that are not stepped */
    uint32_t quarantine_count;
    uint64_t every;
};

/* Creates or truncates the file and writes its header. The engine is borrowed and not yet started. */
enum oto_status srv_log_writer_create(const struct srv_log_facts *facts, const struct srv_world_config *config,
                                      struct srv_engine *engine, struct srv_log_writer **log, struct oto_error *error);
void srv_log_writer_sent(struct srv_log_writer *log, const struct srv_command *command);
void srv_log_writer_record(struct srv_log_writer *log, const struct srv_journal_record *record);
void srv_log_writer_hashes(struct srv_log_writer *log, const struct srv_hashes *hashes);
/* Records found no room: from here on the log does not tell everything. */
void srv_log_writer_lost(struct srv_log_writer *log, uint64_t count);
void srv_log_writer_flush(struct srv_log_writer *log);
/* Writes the last entry. False: records or bytes of the log are missing, which was reported on stderr. */
bool srv_log_writer_end(struct srv_log_writer *log);
void srv_log_writer_destroy(struct srv_log_writer *log); /* NULL is allowed */

/* FNV-1a-64 of a file's bytes. */
enum oto_status srv_log_file_hash(const char *path, uint64_t *hash, struct oto_error *error);

/* ---- actions.c ---- */

/* What a command is called in a log, and its members as they stand behind the tick; malloc'ed, NULL without memory. */
const char *srv_log_entry_name(enum srv_command_kind kind);
/* A path that is good from any folder. */
void srv_log_put_path(FILE *to, const char *key, const char *path);
char *srv_log_describe(const struct srv_engine *engine, const struct srv_command *command);

#endif
