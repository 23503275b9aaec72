#include "daemon/log/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_kind.h"
#include "base/output_file.h"
#include "daemon/log/run_observer.h"
#include "otolith/hash.h"
#include "otolith/version.h"
#include "sim/run_log.h"
#include "daemon/thread/journal.h"

#define TRUTH_WORDS (sizeof(struct oto_truth_record) / 8)

/* A command that was sent, and that the tick thread has not reported as applied. */
struct pending {
    struct pending *next;
    uint64_t id;
    char *text;
};

struct srv_log_writer {
    struct oto_output_file output;
    struct oto_json json; /* writes to the file of output */
    char *path;
    struct srv_engine *engine;
    const struct srv_world_config *config;
    struct pending *first, **last;
    bool incomplete; /* the log is incomplete, which was reported on stderr */
};

/* ---- the header ---- */

enum oto_status srv_log_file_hash(const char *path, uint64_t *hash, struct oto_error *error)
{
    unsigned char buffer[4096];
    size_t bytes;
    const char *why = NULL;
    FILE *file = srv_regular_fopen(path, &why);
    if (file == NULL) {
        return oto_fail(error, OTO_IO, "'%.300s' cannot be read: %s", path, why);
    }
    *hash = OTO_FNV1A64_START;
    while ((bytes = fread(buffer, 1, sizeof buffer, file)) > 0) {
        *hash = oto_fnv1a64_more(*hash, buffer, bytes);
    }
    const bool whole = ferror(file) == 0;
    (void)fclose(file);
    return whole ? OTO_OK : oto_fail(error, OTO_IO, "'%.300s' cannot be read to its end", path);
}

static enum oto_status put_file(struct oto_json *to, const char *path, struct oto_error *error)
{
    uint64_t hash = 0;
    const enum oto_status status = srv_log_file_hash(path, &hash, error);
    srv_log_put_path(to, "file", path);
    oto_run_log_put_words(to, "file_hash", &hash, 1);
    return status;
}

static void put_nodes(struct srv_log_writer *log)
{
    for (uint32_t i = 0; i < srv_engine_node_count(log->engine); i++) {
        const struct oto_plugin *plugin = srv_engine_node_plugin(log->engine, i);
        const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
        const uint64_t hash = oto_plugin_content_hash(plugin);
        oto_run_log_put_begin(&log->json, "node");
        oto_json_text(&log->json, "node", srv_engine_node_setup(log->engine, i)->node);
        oto_json_text(&log->json, "plugin", descriptor->id);
        oto_json_text(&log->json, "plugin_version", descriptor->version);
        if (hash != 0) { /* 0: the plugin is part of the server and has no file */
            srv_log_put_path(&log->json, "file", oto_plugin_path(plugin));
            oto_run_log_put_words(&log->json, "file_hash", &hash, 1);
        }
        oto_run_log_put_end(&log->json);
    }
}

static enum oto_status put_header(struct srv_log_writer *log, const struct srv_log_facts *facts,
                                  struct oto_error *error)
{
    struct oto_json *to = &log->json;
    oto_run_log_put_begin(to, "header");
    oto_json_text(to, "format", OTO_RUN_LOG_FORMAT);
    oto_json_u64(to, "version", OTO_RUN_LOG_VERSION);
    oto_json_text(to, "otolith", OTO_VERSION_STRING);
    oto_json_text(to, "world", log->config->name);
    oto_json_u64(to, "seed", log->config->seed);
    oto_json_u64(to, "hashes_every", facts->every);
    enum oto_status status = put_file(to, facts->world_path, error);
    oto_run_log_put_end(to);
    for (uint32_t i = 0; i < facts->override_count; i++) {
        oto_run_log_put_begin(to, "override");
        oto_json_text(to, "path", facts->overrides[i].path);
        oto_json_text(to, "value", facts->overrides[i].value);
        oto_run_log_put_end(to);
    }
    for (uint32_t i = 0; i < facts->quarantine_count; i++) {
        oto_run_log_put_begin(to, "quarantine");
        oto_json_text(to, "node", facts->quarantine[i]);
        oto_run_log_put_end(to);
    }
    if (facts->restore_path != NULL && status == OTO_OK) {
        oto_run_log_put_begin(to, "restore");
        status = put_file(to, facts->restore_path, error);
        oto_run_log_put_end(to);
    }
    put_nodes(log);
    oto_run_log_put_begin(to, "start");
    oto_run_log_put_end(to);
    return status;
}

/* The log is written under its final name from the start, so that it exists after a crash of the server. */
static enum oto_status open_file(struct srv_log_writer *log, struct oto_error *error)
{
    const enum oto_status status = oto_output_file_open(
        &log->output, log->path, OTO_OUTPUT_IN_PLACE | OTO_OUTPUT_PRIVATE | OTO_OUTPUT_NO_WAIT, error);
    log->json.to = log->output.file;
    return status;
}

enum oto_status srv_log_writer_create(const struct srv_log_facts *facts, const struct srv_world_config *config,
                                      struct srv_engine *engine, struct srv_log_writer **out, struct oto_error *error)
{
    struct srv_log_writer *log = calloc(1, sizeof *log);
    *out = NULL;
    if (log == NULL || (log->path = strdup(facts->path)) == NULL) {
        free(log);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the log of the run");
    }
    log->engine = engine;
    log->config = config;
    log->last = &log->first;
    enum oto_status status = open_file(log, error);
    if (status == OTO_OK) {
        status = put_header(log, facts, error);
    }
    if (status == OTO_OK && fflush(log->json.to) != 0) {
        status = oto_fail(error, OTO_IO, "the log '%.300s' cannot be written: %s", facts->path, strerror(errno));
    }
    if (status != OTO_OK) {
        srv_log_writer_destroy(log);
        return status;
    }
    *out = log;
    return OTO_OK;
}

/* ---- commands ---- */

void srv_log_writer_sent(struct srv_log_writer *log, const struct srv_command *command)
{
    struct pending *pending = calloc(1, sizeof *pending);
    if (pending == NULL) {
        return;
    }
    pending->id = command->id;
    pending->text = srv_log_describe(log->engine, command);
    *log->last = pending;
    log->last = &pending->next;
}

/* Finds a command that was sent; the search is short, because commands are applied almost in order. NULL: memory was short. */
static struct pending *find(struct srv_log_writer *log, uint64_t id)
{
    for (struct pending **link = &log->first; *link != NULL; link = &(*link)->next) {
        struct pending *pending = *link;
        if (pending->id == id) {
            *link = pending->next;
            log->last = log->last == &pending->next ? link : log->last;
            return pending;
        }
    }
    return NULL;
}

static void drop(struct pending *pending)
{
    if (pending != NULL) {
        free(pending->text);
        free(pending);
    }
}

static void begin(struct srv_log_writer *log, const char *entry, uint64_t tick)
{
    oto_run_log_put_begin(&log->json, entry);
    oto_json_u64(&log->json, "tick", tick);
}

/* Whether a command is logged. A refused swap is logged too, because it may have ended the probation of the previous swap. */
static bool counts(const struct srv_journal_record *record)
{
    const bool swap = record->command == SRV_COMMAND_SWAP && record->status != OTO_CONFLICT &&
                      record->status != OTO_CLOSED && record->status != OTO_INVALID;
    return record->status == OTO_OK || swap;
}

static void put_command(struct srv_log_writer *log, const struct srv_journal_record *record)
{
    struct pending *pending = find(log, record->id);
    if (counts(record) && (pending == NULL || pending->text == NULL)) {
        srv_log_writer_lost(log, 1);
    } else if (counts(record)) {
        begin(log, srv_log_entry_name((enum srv_command_kind)record->command), record->tick);
        if (pending->text[0] != '\0') {
            oto_json_format(&log->json, NULL, "%s", pending->text);
        }
        if (record->command == SRV_COMMAND_SWAP) {
            oto_json_flag(&log->json, "paced", record->paced != 0);
        }
        oto_run_log_put_end(&log->json);
    }
    drop(pending);
}

static void put_input(struct srv_log_writer *log, const struct srv_journal_record *record)
{
    const struct srv_participant_input *input = &record->input;
    uint64_t words[TRUTH_WORDS];
    begin(log, "input", record->tick);
    oto_json_u64(&log->json, "participant", input->participant);
    oto_json_u64(&log->json, "vehicle", input->vehicle);
    if (input->kind == SRV_INPUT_CONTROLS) {
        memcpy(words, input->controls, sizeof input->controls);
        oto_run_log_put_words(&log->json, "controls", words, OTO_CONTROLS);
    } else if (input->kind == SRV_INPUT_HELD) {
        oto_json_flag(&log->json, "held", true);
    } else {
        memcpy(words, &input->external.truth, sizeof words);
        oto_json_u64(&log->json, "from", input->external.from_tick);
        oto_json_u64(&log->json, "to", input->external.to_tick);
        oto_json_u64(&log->json, "flags", input->external.flags);
        oto_json_flag(&log->json, "alone", input->external.alone != 0);
        oto_run_log_put_words(&log->json, "truth", words, TRUTH_WORDS);
    }
    oto_run_log_put_end(&log->json);
}

void srv_log_writer_record(struct srv_log_writer *log, const struct srv_journal_record *record)
{
    if (record->kind == SRV_JOURNAL_COMMAND) {
        put_command(log, record);
    } else if (record->kind == SRV_JOURNAL_INPUT) {
        put_input(log, record);
    } else {
        begin(log, "slow", record->tick);
        oto_json_text(&log->json, "node", srv_engine_node_setup(log->engine, record->node)->node);
        oto_run_log_put_end(&log->json);
    }
}

void srv_log_writer_hashes(struct srv_log_writer *log, const struct srv_hashes *hashes)
{
    begin(log, "hashes", hashes->tick);
    oto_run_log_put_words(&log->json, "chain", &hashes->chain, 1);
    oto_run_log_put_words(&log->json, "nodes", hashes->nodes, hashes->count);
    oto_run_log_put_end(&log->json);
}

void srv_log_writer_lost(struct srv_log_writer *log, uint64_t count)
{
    oto_run_log_put_begin(&log->json, "lost");
    oto_json_u64(&log->json, "records", count);
    oto_run_log_put_end(&log->json);
    log->incomplete = true;
    (void)fprintf(stderr, "otolithd: the log '%s' is incomplete: %llu records found no room\n", log->path,
                  (unsigned long long)count);
}

void srv_log_writer_flush(struct srv_log_writer *log)
{
    if ((fflush(log->json.to) != 0 || ferror(log->json.to)) && !log->incomplete) {
        log->incomplete = true;
        (void)fprintf(stderr, "otolithd: the log '%s' cannot be written: %s; it is incomplete\n", log->path,
                      strerror(errno));
    }
}

bool srv_log_writer_end(struct srv_log_writer *log)
{
    struct oto_clock clock;
    const struct oto_segment_header *header = srv_engine_segment(log->engine);
    if (oto_segment_clock(header, &clock) == OTO_OK) {
        begin(log, "end", clock.tick);
        oto_run_log_put_words(&log->json, "chain", &clock.state_hash, 1);
        oto_run_log_put_end(&log->json);
    }
    srv_log_writer_flush(log);
    return !log->incomplete;
}

void srv_log_writer_destroy(struct srv_log_writer *log)
{
    if (log == NULL) {
        return;
    }
    for (struct pending *pending = log->first, *next; pending != NULL; pending = next) {
        next = pending->next;
        drop(pending);
    }
    struct oto_error ignored; /* srv_log_writer_end() has reported write errors */
    (void)oto_output_file_close(&log->output, OTO_OK, &ignored);
    free(log->path);
    free(log);
}
