/*
 * Writes the log of a run (README.md lists the entries). The text of a command's entry is made when the command is sent,
 * while its texts exist, and is written when the tick thread reports the boundary at which it was applied. [loop]
 */
#ifndef SRV_LOG_WRITER_H
#define SRV_LOG_WRITER_H

#include <stdio.h>

#include "base/json.h"
#include "world/world_config.h"
#include "daemon/thread/engine.h"

#define SRV_LOG_HASHES_EVERY 1000 /* ticks; default */

struct srv_log_writer;
struct srv_hashes;
struct srv_journal_record;

/* Content of a log's header. The texts are borrowed during the call. */
struct srv_log_facts {
    const char *path;
    const char *world_path;
    const struct srv_override *overrides;
    uint32_t override_count;
    const char *restore_path; /* checkpoint from which the run is restored; NULL: the run begins at tick 0 */
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
/* `count` records were lost, because a queue was full: the log is incomplete from here on. */
void srv_log_writer_lost(struct srv_log_writer *log, uint64_t count);
void srv_log_writer_flush(struct srv_log_writer *log);
/* Writes the last entry. False: records or bytes of the log are missing, which was reported on stderr. */
bool srv_log_writer_end(struct srv_log_writer *log);
void srv_log_writer_destroy(struct srv_log_writer *log); /* NULL is allowed */

/* FNV-1a-64 of a file's bytes. */
enum oto_status srv_log_file_hash(const char *path, uint64_t *hash, struct oto_error *error);

/* ---- actions.c ---- */

/* The name of a command's entry in a log. srv_log_describe: the entry's members after `tick`, malloc'ed; NULL: no memory. */
const char *srv_log_entry_name(enum srv_command_kind kind);
/* Writes a path as an absolute path, if it can be resolved. */
void srv_log_put_path(struct oto_json *to, const char *key, const char *path);
char *srv_log_describe(const struct srv_engine *engine, const struct srv_command *command);

#endif
