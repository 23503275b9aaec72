#include "record/rerun.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_kind.h"
#include "otolith/hash.h"
#include "plugin/host.h"
#include "sim/logged_swap.h"
#include "sim/oto_sim.h"
#include "sim/run_log.h"

#define TRUTH_WORDS (sizeof(struct oto_truth_record) / 8)
enum { MOST_OVERRIDES = 256 };

struct logged_node {
    char *node;
    uint64_t hash; /* hash of the plugin's file */
};

struct rerun {
    struct oto_run_log_reader *log;
    struct oto_run_log_line line;
    bool has_line; /* `line` is not applied yet */
    struct oto_sim *sim;
    struct rerun_facts facts;
    /* from the first entries of the log */
    char *world_path, *restore_path;
    uint64_t world_hash, seed;
    char *overrides[MOST_OVERRIDES];
    uint32_t override_count;
    struct logged_node *logged; /* nodes whose plugin is a file */
    uint32_t logged_count;
};

static enum oto_status wrong(const struct rerun *rerun, struct oto_error *error)
{
    return oto_run_log_wrong(rerun->log, error, OTO_CORRUPT, "the entry '%.40s' is not whole", rerun->line.entry);
}

/* ---- the beginning of the log ---- */

static enum oto_status next_line(struct rerun *rerun, struct oto_error *error)
{
    const enum oto_status status = oto_run_log_next(rerun->log, &rerun->line, error);
    rerun->has_line = status == OTO_OK;
    if (rerun->has_line && rerun->line.has_tick) {
        rerun->facts.last_tick = rerun->line.tick;
    }
    return status == OTO_CLOSED ? OTO_OK : status;
}

static enum oto_status take_header(struct rerun *rerun, struct oto_error *error)
{
    const char *path = oto_run_log_text(&rerun->line, "file");
    if (path == NULL || !oto_run_log_word(&rerun->line, "file_hash", &rerun->world_hash) ||
        !oto_run_log_number(&rerun->line, "seed", &rerun->seed)) {
        return wrong(rerun, error);
    }
    rerun->facts.inputs_unknown = oto_run_log_truth(&rerun->line, "inputs_unknown");
    rerun->world_path = strdup(path);
    return rerun->world_path != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "out of memory");
}

static enum oto_status take_override(struct rerun *rerun, struct oto_error *error)
{
    const char *path = oto_run_log_text(&rerun->line, "path"), *value = oto_run_log_text(&rerun->line, "value");
    if (path == NULL || value == NULL || rerun->override_count == MOST_OVERRIDES) {
        return wrong(rerun, error);
    }
    const size_t bytes = strlen(path) + strlen(value) + 2;
    char *text = malloc(bytes);
    if (text == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    (void)snprintf(text, bytes, "%s=%s", path, value);
    rerun->overrides[rerun->override_count++] = text;
    return OTO_OK;
}

static enum oto_status take_node(struct rerun *rerun, struct oto_error *error)
{
    const char *node = oto_run_log_text(&rerun->line, "node");
    uint64_t hash = 0;
    if (node == NULL || !oto_run_log_word(&rerun->line, "file_hash", &hash)) {
        return node != NULL ? OTO_OK : wrong(rerun, error);
    }
    struct logged_node *more = realloc(rerun->logged, (rerun->logged_count + 1) * sizeof *more);
    if (more == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    rerun->logged = more;
    more[rerun->logged_count] = (struct logged_node){.node = strdup(node), .hash = hash};
    return more[rerun->logged_count++].node != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "out of memory");
}

static enum oto_status take_beginning(struct rerun *rerun, struct oto_error *error)
{
    enum oto_status status = take_header(rerun, error);
    while (status == OTO_OK && (status = next_line(rerun, error)) == OTO_OK && rerun->has_line &&
           strcmp(rerun->line.entry, "start") != 0) {
        if (strcmp(rerun->line.entry, "override") == 0) {
            status = take_override(rerun, error);
        } else if (strcmp(rerun->line.entry, "node") == 0) {
            status = take_node(rerun, error);
        } else if (strcmp(rerun->line.entry, "restore") == 0) {
            const char *path = oto_run_log_text(&rerun->line, "file");
            rerun->restore_path = path != NULL ? strdup(path) : NULL;
            status = rerun->restore_path != NULL ? OTO_OK : wrong(rerun, error);
        } else if (strcmp(rerun->line.entry, "quarantine") == 0) {
            return oto_fail(error, OTO_UNSUPPORTED, "the run began with node '%.90s' quarantined after a crash: such a run can be "
                            "replayed by `otolith run --replay` alone", oto_run_log_text(&rerun->line, "node"));
        }
    }
    return status == OTO_OK ? next_line(rerun, error) : status;
}

/* ---- opening ---- */

/* Puts the log into a memory file without a name, which the log's reader opens by its descriptor. */
static enum oto_status open_log(struct rerun *rerun, const char *inputs, size_t bytes, struct oto_error *error)
{
    char path[64];
    const int fd = memfd_create("inputs", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < bytes) {
        const ssize_t written = write(fd, inputs + done, bytes - done);
        if (written <= 0 && errno != EINTR) {
            (void)close(fd);
            return oto_fail(error, OTO_NO_MEMORY, "no memory for the log of inputs");
        }
        done += written > 0 ? (size_t)written : 0;
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const enum oto_status status = oto_run_log_open(path, &rerun->log, &rerun->line, error);
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

/* True if the world file at the path in the log exists and has another content than the recorded one. */
static bool has_changed(const struct rerun *rerun)
{
    struct oto_error ignored;
    char *text = NULL;
    size_t bytes = 0;
    const bool other = cli_read_file(rerun->world_path, &text, &bytes, &ignored) == OTO_OK &&
                       oto_fnv1a64_more(OTO_FNV1A64_START, text, bytes) != rerun->world_hash;
    free(text);
    return other;
}

/* Opens the world with the overrides of the log, then with those that replace paths by the unpacked files. */
static enum oto_status open_sim(struct rerun *rerun, const struct unpacked *files, const char *path, struct oto_error *error)
{
    const uint32_t count = rerun->override_count + files->override_count;
    const char **overrides = calloc((size_t)count + 1, sizeof *overrides);
    if (overrides == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        overrides[i] = i < rerun->override_count ? rerun->overrides[i] : files->overrides[i - rerun->override_count];
    }
    const struct oto_sim_options options = {.size = sizeof options,
                                            .path = path,
                                            .overrides = overrides,
                                            .override_count = count,
                                            .has_seed = true,
                                            .seed = rerun->seed};
    const enum oto_status status = oto_sim_open(&options, &rerun->sim, error);
    free(overrides);
    return status;
}

/* Opens the world from the files of the recording, and ignores the files at the original paths. */
static enum oto_status open_world(struct rerun *rerun, const struct rerun_source *source, struct oto_error *error)
{
    char path[2 * PATH_MAX];
    if (source->world == NULL || oto_fnv1a64_more(OTO_FNV1A64_START, source->world, source->world_bytes) != rerun->world_hash) {
        return oto_fail(error, OTO_CONFLICT, "the recording has no copy of the world file '%.256s' of its log", rerun->world_path);
    }
    enum oto_status status = unpacked_add(source->files, rerun->world_path, source->world, source->world_bytes, error);
    if (status != OTO_OK || !unpacked_path(source->files, rerun->world_path, path, sizeof path)) {
        return status;
    }
    rerun->facts.world_changed = has_changed(rerun);
    return open_sim(rerun, source->files, path, error);
}

static void note_other_plugin(struct rerun *rerun)
{
    struct oto_error ignored;
    for (uint32_t i = 0; i < rerun->logged_count; i++) {
        const uint32_t index = srv_sim_node_find(rerun->sim->sim, rerun->logged[i].node, &ignored);
        if (index != UINT32_MAX && rerun->facts.other_plugin[0] == '\0' &&
            oto_plugin_content_hash(rerun->sim->sim->nodes[index].live.plugin) != rerun->logged[i].hash) {
            (void)snprintf(rerun->facts.other_plugin, sizeof rerun->facts.other_plugin, "%s", rerun->logged[i].node);
        }
    }
}

static enum oto_status restore(struct rerun *rerun, const struct unpacked *files, struct oto_error *error)
{
    char path[2 * PATH_MAX];
    const char *why = NULL;
    char *bytes;
    size_t count;
    const bool inside = unpacked_path(files, rerun->restore_path, path, sizeof path) && access(path, R_OK) == 0;
    const char *from = inside ? path : rerun->restore_path;
    enum oto_status status = srv_regular_read(from, SIZE_MAX, &bytes, &count, &why);
    status = status != OTO_OK ? oto_fail(error, status, "cannot read '%.256s': %s", from, why)
                              : oto_sim_restore(rerun->sim, bytes, count, error);
    free(bytes);
    return status;
}

enum oto_status rerun_open(const struct rerun_source *source, struct rerun **out, struct oto_error *error)
{
    struct rerun *rerun = calloc(1, sizeof *rerun);
    *out = NULL;
    if (rerun == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    enum oto_status status = open_log(rerun, source->inputs, source->inputs_bytes, error);
    if (status == OTO_OK) {
        status = take_beginning(rerun, error);
    }
    if (status == OTO_OK) {
        status = open_world(rerun, source, error);
    }
    if (status == OTO_OK && rerun->restore_path != NULL) {
        status = restore(rerun, source->files, error);
    }
    if (status == OTO_OK) {
        note_other_plugin(rerun);
    }
    if (status != OTO_OK) {
        rerun_close(rerun);
        return status;
    }
    *out = rerun;
    return OTO_OK;
}

void rerun_close(struct rerun *rerun)
{
    if (rerun == NULL) {
        return;
    }
    for (uint32_t i = 0; i < rerun->override_count; i++) {
        free(rerun->overrides[i]);
    }
    oto_run_log_close(rerun->log);
    oto_sim_close(rerun->sim);
    for (uint32_t i = 0; i < rerun->logged_count; i++) {
        free(rerun->logged[i].node);
    }
    free(rerun->logged);
    free(rerun->world_path);
    free(rerun->restore_path);
    free(rerun);
}

struct oto_sim *rerun_sim(const struct rerun *rerun)
{
    return rerun->sim;
}

const struct rerun_facts *rerun_facts(const struct rerun *rerun)
{
    return &rerun->facts;
}

/* ---- inputs ---- */

static enum oto_status act_set(struct rerun *rerun, const char *node, struct oto_error *error)
{
    const char *key = oto_run_log_text(&rerun->line, "key"), *value = oto_run_log_text(&rerun->line, "value");
    return key != NULL && value != NULL ? oto_sim_set(rerun->sim, node, key, value, error) : wrong(rerun, error);
}

static enum oto_status act_fault(struct rerun *rerun, const char *node, struct oto_error *error)
{
    const char *spec = oto_run_log_text(&rerun->line, "spec");
    uint64_t logged = 0, id = 0;
    if (spec == NULL || !oto_run_log_number(&rerun->line, "fault", &logged)) {
        return wrong(rerun, error);
    }
    const enum oto_status status = oto_sim_fault(rerun->sim, node, spec, &id, error);
    return status != OTO_OK || id == logged
               ? status
               : oto_run_log_wrong(rerun->log, error, OTO_CONFLICT, "fault %" PRIu64 " of the log would be fault %" PRIu64, logged, id);
}

static enum oto_status act_clear(struct rerun *rerun, const char *node, struct oto_error *error)
{
    uint64_t id = 0;
    return oto_run_log_number(&rerun->line, "fault", &id) ? oto_sim_clear_faults(rerun->sim, node, id, error)
                                                          : wrong(rerun, error);
}

static enum oto_status act_undo(struct rerun *rerun, const char *node, struct oto_error *error)
{
    struct oto_swap swap = OTO_SWAP_DEFAULTS;
    swap.undo = true;
    return oto_sim_swap(rerun->sim, node, &swap, error);
}

static enum oto_status act_cancel(struct rerun *rerun, const char *node, struct oto_error *error)
{
    struct oto_swap swap = OTO_SWAP_DEFAULTS;
    swap.cancel = true;
    return oto_sim_swap(rerun->sim, node, &swap, error);
}

static enum oto_status act_swap(struct rerun *rerun, const char *name, struct oto_error *error)
{
    char file[64];
    struct srv_previous as;
    struct srv_swap_options options;
    const char *logged = oto_run_log_text(&rerun->line, "file");
    const uint32_t index = srv_sim_node_find(rerun->sim->sim, name, error);
    if (index == UINT32_MAX) {
        return OTO_NOT_FOUND;
    }
    enum oto_status status =
        srv_logged_swap_read(rerun->sim->sim, index, rerun->log, &rerun->line,
                             logged != NULL ? unpacked_plugin(logged, file, sizeof file) : NULL, "", &as, &options, error);
    if (status == OTO_OK) {
        status = oto_sim_swap_as_(rerun->sim, index, name, &options, error);
    }
    srv_previous_finish(&as);
    return status;
}

/* Applies the truth that a participant gave for a vehicle, or marks it as missing. */
static enum oto_status take_input(struct rerun *rerun, struct oto_error *error)
{
    uint64_t vehicle, flags = 0, words[TRUTH_WORDS];
    if (!oto_run_log_number(&rerun->line, "vehicle", &vehicle) || vehicle >= rerun->sim->sim->vehicle_count) {
        return wrong(rerun, error);
    }
    struct given_truth *given = &rerun->sim->given[vehicle];
    if (oto_run_log_truth(&rerun->line, "held")) {
        given->has_input = true;
        given->held = true;
        return OTO_OK;
    }
    struct srv_external_input *input = &given->input;
    if (!oto_run_log_number(&rerun->line, "from", &input->from_tick) || !oto_run_log_number(&rerun->line, "to", &input->to_tick) ||
        !oto_run_log_number(&rerun->line, "flags", &flags) || !oto_run_log_words(&rerun->line, "truth", words, TRUTH_WORDS)) {
        return wrong(rerun, error);
    }
    input->flags = (uint32_t)flags;
    input->alone = oto_run_log_truth(&rerun->line, "alone");
    memcpy(&input->truth, words, sizeof words);
    given->has_input = true;
    given->held = false;
    given->reach = input->to_tick;
    return OTO_OK;
}

/* Compares the hash chain with that of the log at this boundary. */
static enum oto_status compare(struct rerun *rerun, struct oto_error *error)
{
    uint64_t chain;
    if (!oto_run_log_word(&rerun->line, "chain", &chain)) {
        return wrong(rerun, error);
    }
    if (chain == oto_sim_state_hash(rerun->sim)) {
        rerun->facts.hashes += !rerun->facts.differs;
    } else if (!rerun->facts.differs) {
        rerun->facts.differs = true;
        rerun->facts.differs_tick = rerun->line.tick;
    }
    return OTO_OK;
}

static enum oto_status apply(struct rerun *rerun, struct oto_error *error)
{
    static const struct {
        const char *entry;
        enum oto_status (*act)(struct rerun *rerun, const char *node, struct oto_error *error);
    } actions[] = {{"set", act_set},     {"swap", act_swap},     {"fault", act_fault}, {"clear_faults", act_clear},
                   {"undo", act_undo},   {"slow", act_undo},     {"cancel", act_cancel}};
    const char *entry = rerun->line.entry, *node = oto_run_log_text(&rerun->line, "node");
    if (strcmp(entry, "hashes") == 0 || strcmp(entry, "end") == 0) {
        return compare(rerun, error);
    }
    if (strcmp(entry, "input") == 0) {
        rerun->facts.inputs++;
        return take_input(rerun, error);
    }
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(entry, actions[i].entry) == 0) {
            rerun->facts.inputs++;
            return node != NULL ? actions[i].act(rerun, node, error) : wrong(rerun, error);
        }
    }
    return OTO_OK; /* an entry that changes no state */
}

enum oto_status rerun_tick(struct rerun *rerun, struct oto_error *error)
{
    const uint64_t tick = oto_sim_tick(rerun->sim);
    while (rerun->has_line && rerun->line.tick <= tick) {
        enum oto_status status = rerun->line.has_tick ? apply(rerun, error) : OTO_OK;
        if (status == OTO_OK) {
            status = next_line(rerun, error);
        }
        if (status != OTO_OK) {
            return status;
        }
    }
    return oto_sim_step(rerun->sim, 1, error);
}

enum oto_status rerun_record(const struct rerun *rerun, uint32_t channel, uint64_t seq, struct oto_sample_head *head,
                             void *payload)
{
    const struct srv_store *store = &rerun->sim->sim->store;
    const struct oto_ring_view view = oto_ring_view_make(store->header, &store->directory[channel]);
    return seq > oto_ring_newest(&view) ? OTO_AGAIN : oto_ring_read_at(&view, seq, head, payload);
}
