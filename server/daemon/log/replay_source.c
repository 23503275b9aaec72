/* Reads which world a log belongs to, and checks that files and plugins are unchanged. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log/replay_private.h"
#include "daemon/log/writer.h"

static enum oto_status no_memory(struct oto_error *error)
{
    return oto_fail(error, OTO_NO_MEMORY, "no memory to read a log");
}

static enum oto_status copy_text(const struct srv_replay *replay, const struct oto_run_log_line *line, const char *key,
                                 char **to, struct oto_error *error)
{
    const char *text = oto_run_log_text(line, key);
    if (text == NULL) {
        return oto_run_log_wrong(replay->reader, error, OTO_CORRUPT, "the text '%s' is missing", key);
    }
    *to = strdup(text);
    return *to != NULL ? OTO_OK : no_memory(error);
}

/* Refuses a file or plugin that differs from the log; with --replay-anyway only warns. */
static enum oto_status differ(const struct srv_replay *replay, const char *sentence, struct oto_error *error)
{
    if (!replay->anyway) {
        return oto_fail(error, OTO_CONFLICT, "%s; --replay-anyway continues with it", sentence);
    }
    replay->warn(replay->warn_context, sentence);
    return OTO_OK;
}

static enum oto_status check_file(const struct srv_replay *replay, const struct oto_run_log_line *line, const char *path,
                                  struct oto_error *error)
{
    uint64_t logged, found;
    char sentence[512];
    if (!oto_run_log_word(line, "file_hash", &logged)) {
        return oto_run_log_wrong(replay->reader, error, OTO_CORRUPT, "'file_hash' is missing, 16 hexadecimal digits");
    }
    const enum oto_status status = srv_log_file_hash(path, &found, error);
    if (status != OTO_OK || found == logged) {
        return status;
    }
    (void)snprintf(sentence, sizeof sentence, "'%.300s' is not the file of the log any more (hash %016" PRIx64
                   ", then %016" PRIx64 ")", path, found, logged);
    return differ(replay, sentence, error);
}

static enum oto_status take_header(struct srv_replay *replay, const struct oto_run_log_line *line, struct oto_error *error)
{
    if (!oto_run_log_number(line, "hashes_every", &replay->source.every) || replay->source.every == 0) {
        return oto_run_log_wrong(replay->reader, error, OTO_CORRUPT, "'hashes_every' is missing, a number from 1");
    }
    const enum oto_status status = copy_text(replay, line, "file", &replay->source.world_path, error);
    return status == OTO_OK ? check_file(replay, line, replay->source.world_path, error) : status;
}

static enum oto_status take_override(struct srv_replay *replay, const struct oto_run_log_line *line,
                                     struct oto_error *error)
{
    struct srv_replay_source *source = &replay->source;
    char *path = NULL, *value = NULL;
    if (source->override_count == SRV_MAX_OVERRIDES) {
        return oto_run_log_wrong(replay->reader, error, OTO_LIMIT, "more than %d values are set", SRV_MAX_OVERRIDES);
    }
    enum oto_status status = copy_text(replay, line, "path", &path, error);
    if (status == OTO_OK) {
        status = copy_text(replay, line, "value", &value, error);
    }
    struct srv_override *more =
        status == OTO_OK ? realloc(source->overrides, (source->override_count + 1) * sizeof *more) : NULL;
    if (more == NULL) {
        free(path);
        free(value);
        return status == OTO_OK ? no_memory(error) : status;
    }
    source->overrides = more;
    more[source->override_count++] = (struct srv_override){path, value};
    return OTO_OK;
}

static enum oto_status take_restore(struct srv_replay *replay, const struct oto_run_log_line *line, struct oto_error *error)
{
    if (replay->source.restore_path != NULL) {
        return oto_run_log_wrong(replay->reader, error, OTO_CORRUPT, "a second checkpoint to begin with");
    }
    const enum oto_status status = copy_text(replay, line, "file", &replay->source.restore_path, error);
    return status == OTO_OK ? check_file(replay, line, replay->source.restore_path, error) : status;
}

static enum oto_status take_quarantine(struct srv_replay *replay, const struct oto_run_log_line *line,
                                       struct oto_error *error)
{
    struct srv_replay_source *source = &replay->source;
    if (source->quarantine_count == SRV_MAX_QUARANTINE) {
        return oto_run_log_wrong(replay->reader, error, OTO_LIMIT, "more than %d nodes are quarantined", SRV_MAX_QUARANTINE);
    }
    const enum oto_status status = copy_text(replay, line, "node", &source->quarantine[source->quarantine_count], error);
    source->quarantine_count += status == OTO_OK;
    return status;
}

static enum oto_status take_node(struct srv_replay *replay, const struct oto_run_log_line *line, struct oto_error *error)
{
    struct srv_replay_node node = {0};
    enum oto_status status = copy_text(replay, line, "node", &node.node, error);
    if (status == OTO_OK) {
        status = copy_text(replay, line, "plugin", &node.plugin, error);
    }
    (void)oto_run_log_word(line, "file_hash", &node.hash);
    struct srv_replay_node *more =
        status == OTO_OK ? realloc(replay->nodes, ((size_t)replay->node_count + 1) * sizeof *more) : NULL;
    if (more == NULL) {
        free(node.node);
        free(node.plugin);
        return status == OTO_OK ? no_memory(error) : status;
    }
    replay->nodes = more;
    more[replay->node_count++] = node;
    return OTO_OK;
}

static enum oto_status take_preamble(struct srv_replay *replay, struct oto_error *error)
{
    static const struct {
        const char *entry;
        enum oto_status (*take)(struct srv_replay *replay, const struct oto_run_log_line *line, struct oto_error *error);
    } takers[] = {{"override", take_override}, {"restore", take_restore}, {"quarantine", take_quarantine},
                  {"node", take_node}};
    struct oto_run_log_line line;
    for (;;) {
        enum oto_status status = oto_run_log_next(replay->reader, &line, error);
        if (status == OTO_CLOSED) {
            return oto_fail(error, OTO_CORRUPT, "the log '%.300s' ends before its run begins", replay->path);
        }
        if (status == OTO_OK && strcmp(line.entry, "start") == 0) {
            return OTO_OK;
        }
        size_t i = 0;
        while (status == OTO_OK && i < sizeof takers / sizeof *takers && strcmp(line.entry, takers[i].entry) != 0) {
            i++;
        }
        if (status == OTO_OK && i == sizeof takers / sizeof *takers) {
            status = oto_run_log_wrong(replay->reader, error, OTO_CORRUPT, "'%.40s' stands before the start", line.entry);
        } else if (status == OTO_OK) {
            status = takers[i].take(replay, &line, error);
        }
        if (status != OTO_OK) {
            return status;
        }
    }
}

enum oto_status srv_replay_open(const char *path, bool anyway, oto_warn_function warn, void *warn_context,
                                struct srv_replay **out, struct oto_error *error)
{
    struct srv_replay *replay = calloc(1, sizeof *replay);
    struct oto_run_log_line header;
    *out = NULL;
    if (replay == NULL || (replay->path = strdup(path)) == NULL) {
        free(replay);
        return no_memory(error);
    }
    replay->anyway = anyway;
    replay->warn = warn;
    replay->warn_context = warn_context;
    replay->last = &replay->first;
    enum oto_status status = oto_run_log_open(path, &replay->reader, &header, error);
    if (status == OTO_OK) {
        status = take_header(replay, &header, error);
    }
    if (status == OTO_OK) {
        status = take_preamble(replay, error);
    }
    if (status != OTO_OK) {
        srv_replay_destroy(replay);
        return status;
    }
    *out = replay;
    return OTO_OK;
}

const struct srv_replay_source *srv_replay_source(const struct srv_replay *replay)
{
    return &replay->source;
}

/* Whether `name` is the full name of the node, VEHICLE/NODE. */
static bool is_node(const struct srv_world_config *config, uint32_t node, const char *name)
{
    char ours[2 * SRV_NAME_BYTES];
    (void)snprintf(ours, sizeof ours, "%s/%s", config->vehicles[config->nodes[node].vehicle].name,
                   config->nodes[node].name);
    return strcmp(ours, name) == 0;
}

enum oto_status srv_replay_check(const struct srv_replay *replay, const struct srv_world_config *config,
                                 struct oto_error *error)
{
    char sentence[512];
    enum oto_status status = OTO_OK;
    if (replay->node_count != config->node_count) {
        return oto_fail(error, OTO_CONFLICT, "the log is of a world of %u nodes; this one has %u", replay->node_count,
                        config->node_count);
    }
    for (uint32_t i = 0; i < config->node_count && status == OTO_OK; i++) {
        const struct srv_replay_node *logged = &replay->nodes[i];
        const struct srv_node_config *node = &config->nodes[i];
        const struct oto_plugin *plugin = node->replacement.plugin != NULL ? node->replacement.plugin : node->plugin;
        if (!is_node(config, i, logged->node)) {
            return oto_fail(error, OTO_CONFLICT, "node %u of the log is '%.90s': it is of another world", i, logged->node);
        }
        if (plugin != NULL && logged->hash != 0 && oto_plugin_content_hash(plugin) != logged->hash) {
            (void)snprintf(sentence, sizeof sentence,
                           "'%.90s' ran plugin '%.60s' of another build when the log was made", logged->node, logged->plugin);
            status = differ(replay, sentence, error);
        }
    }
    return status;
}

void srv_replay_destroy(struct srv_replay *replay)
{
    if (replay == NULL) {
        return;
    }
    for (uint32_t i = 0; i < replay->source.override_count; i++) {
        free((void *)(uintptr_t)replay->source.overrides[i].path);
        free((void *)(uintptr_t)replay->source.overrides[i].value);
    }
    for (uint32_t i = 0; i < replay->source.quarantine_count; i++) {
        free(replay->source.quarantine[i]);
    }
    for (uint32_t i = 0; i < replay->node_count; i++) {
        free(replay->nodes[i].node);
        free(replay->nodes[i].plugin);
    }
    for (struct srv_expected *expected = replay->first, *next; expected != NULL; expected = next) {
        next = expected->next;
        free(expected);
    }
    oto_run_log_close(replay->reader);
    free(replay->source.overrides);
    free(replay->source.world_path);
    free(replay->source.restore_path);
    free(replay->nodes);
    free(replay->path);
    free(replay);
}
