/* Loading: world file, checkpoint and log of inputs become an engine that can run. */
#include "server_private.h"

#include "base/schedule.h"
#include "isolate/describe.h"
#include "resources.h"
#include "sim/external.h"
#include "sim/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct srv_server *srv_server_create(const struct srv_options *options, uint32_t run)
{
    struct srv_server *server = calloc(1, sizeof *server);
    if (server != NULL) {
        server->options = options;
        server->check_report.json = options->json;
        server->run = run;
        server->runtime.base_fd = server->runtime.dir_fd = -1;
        server->asked_by.fd = -1;
    }
    return server;
}

struct srv_server *srv_server_create_again(struct srv_server *failed)
{
    struct srv_server *again = srv_server_create(failed->options, failed->run + 1);
    if (again != NULL) {
        again->crash_page = failed->crash_page;
        again->began_with = failed->began_with;
        again->beginning = failed->beginning;
        again->asked_by = failed->asked_by;
        failed->began_with = NULL;
        failed->beginning = (struct srv_checkpoint){0};
        failed->asked_by.fd = -1;
        srv_runtime_dir_hand_over(&failed->runtime, &again->runtime);
    }
    return again;
}

static enum oto_status read_checkpoint(struct srv_server *server, struct oto_error *error)
{
    struct srv_clock_config *clock = &server->config.clock;
    struct srv_checkpoint *beginning = &server->beginning;
    enum oto_status status = beginning->state == NULL ? srv_checkpoint_read(server->began_with, beginning, error) : OTO_OK;
    if (status == OTO_OK) {
        status = srv_checkpoint_configure(beginning, &server->config, error);
    }
    if (status == OTO_OK && server->options->for_ns > 0 && server->options->again == NULL) {
        clock->until_ns += srv_instant_ns(beginning->tick, clock->rate_num, clock->rate_den, NULL);
    }
    return status;
}

/* Loads the state of the checkpoint. Tick and hash chain in the file's header, for tools, must equal those of the state. */
static enum oto_status load_state(struct srv_server *server, struct oto_error *error)
{
    const struct srv_checkpoint *beginning = &server->beginning;
    const enum oto_status status = srv_engine_load(server->engine, beginning->state, beginning->state_bytes, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct srv_sim *sim = srv_engine_sim(server->engine);
    return sim->tick == beginning->tick && sim->chain == beginning->chain
               ? OTO_OK
               : oto_fail(error, OTO_CORRUPT, "'%.200s' is damaged: its header says tick %llu and its state tick %llu, or "
                          "their hash chains differ", server->began_with, (unsigned long long)beginning->tick,
                          (unsigned long long)sim->tick);
}

uint64_t srv_server_journal_every(const struct srv_server *server)
{
    const struct srv_options *options = server->options;
    if (options->log_hashes > 0 || (options->log_path == NULL && server->replay == NULL)) {
        return options->log_path != NULL || server->replay != NULL ? options->log_hashes : 0;
    }
    return server->replay != NULL ? srv_replay_source(server->replay)->every : SRV_LOG_HASHES_EVERY;
}

static enum oto_status make_engine(struct srv_server *server, struct oto_error *error)
{
    struct srv_engine_options options = {.start_paused = server->options->start_paused,
                                         .journal_every = srv_server_journal_every(server),
                                         .trap_exits = true,
                                         .replay = server->replay != NULL};
    enum oto_status status = OTO_OK;
    if (getrandom(&options.epoch, sizeof options.epoch, 0) != (ssize_t)sizeof options.epoch) {
        return oto_fail(error, OTO_IO, "there are no random numbers for the run's epoch: %s", strerror(errno));
    }
    if (server->crash_page != NULL && server->options->again && server->run == 0) {
        options.lineage = server->crash_page->lineage; /* the samples lost in the crash are computed again: clients continue */
    }
    if (server->began_with != NULL) {
        status = read_checkpoint(server, error);
    }
    if (status == OTO_OK && server->replay != NULL) {
        status = srv_replay_check(server->replay, &server->config, error);
    }
    if (status == OTO_OK) {
        status = srv_engine_create(&server->config, &options, srv_server_warn, NULL, &server->engine, error);
    }
    if (status == OTO_OK && server->began_with != NULL) {
        status = load_state(server, error);
    }
    if (status == OTO_OK && server->options->again != NULL && server->run == 0) {
        srv_engine_tell(server->engine, OTO_EVENT_CRASH, 2, "server", server->options->again);
    }
    for (uint32_t i = 0; status == OTO_OK && i < server->options->quarantine_count; i++) {
        status = srv_engine_quarantine(server->engine, server->options->quarantine[i],
                                       server->options->again != NULL ? "crashed the server; quarantined"
                                                                      : "quarantined by the command line",
                                       error);
    }
    return status;
}

/* A supervised world without `checkpoint:` is saved once a second. */
static void save_for_supervisor(struct srv_server *server)
{
    struct srv_checkpoint_config *checkpoint = &server->config.checkpoint;
    if (server->options->checkpoint_directory != NULL && checkpoint->every_ns == 0) {
        checkpoint->every_ns = SRV_NS_PER_S;
        checkpoint->keep = 2;
        (void)snprintf(checkpoint->directory, sizeof checkpoint->directory, "%s", server->options->checkpoint_directory);
    }
}

/* Takes world and overrides of the log, then the overrides of the command line. */
static enum oto_status load_replay(struct srv_server *server, const struct srv_options *options, struct oto_error *error)
{
    struct srv_options *own = &server->as_logged;
    enum oto_status status =
        srv_replay_open(options->replay_path, options->replay_anyway, srv_server_warn, NULL, &server->replay, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct srv_replay_source *source = srv_replay_source(server->replay);
    if (source->override_count + options->override_count > SRV_MAX_OVERRIDES) {
        return oto_fail(error, OTO_LIMIT, "more than %d values are set, those of the log counted", SRV_MAX_OVERRIDES);
    }
    *own = *options;
    own->world_path = source->world_path;
    own->restore_path = source->restore_path;
    own->quarantine_count = source->quarantine_count;
    for (uint32_t i = 0; i < source->quarantine_count; i++) {
        own->quarantine[i] = source->quarantine[i];
    }
    for (uint32_t i = 0; i < source->override_count; i++) {
        own->overrides[i] = source->overrides[i];
    }
    for (uint32_t i = 0; i < options->override_count; i++) {
        own->overrides[source->override_count + i] = options->overrides[i];
    }
    own->override_count = source->override_count + options->override_count;
    server->options = own;
    return OTO_OK;
}

/* A replay has no participants and no client that steps: it runs as fast as it can. */
static void choose_replay_mode(struct srv_server *server)
{
    enum oto_clock_mode *mode = &server->config.clock.mode;
    if (*mode == OTO_MODE_LOCKSTEP || *mode == OTO_MODE_EXTERNAL ||
        (*mode == OTO_MODE_STEP && !server->options->mode_given)) {
        *mode = OTO_MODE_ASAP;
    }
}

static enum oto_status map_crash_page(struct srv_server *server, struct oto_error *error)
{
    if (server->options->crash_page_fd > 0 && server->crash_page == NULL) {
        server->crash_page = srv_crash_page_map(server->options->crash_page_fd, error);
        return server->crash_page != NULL ? OTO_OK : error->status;
    }
    return OTO_OK;
}

enum oto_status srv_server_load_from(struct srv_server *server, const char *restore_path, struct oto_error *error)
{
    const struct srv_options *options = server->options;
    if (restore_path != NULL && (server->began_with = strdup(restore_path)) == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "the server is out of memory");
    }
    enum oto_status status = map_crash_page(server, error);
    if (status == OTO_OK) {
        const struct srv_world_source source = {.path = options->world_path,
                                                .overrides = options->overrides,
                                                .override_count = options->override_count,
                                                .open_plugin = srv_plugin_open_checked,
                                                .given_motion = srv_external_entry(),
                                                .report = options->check ? srv_check_report_error : NULL,
                                                .report_context = &server->check_report};
        status = srv_world_config_load(&source, srv_server_warn, NULL, &server->config, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    if (options->for_ns > 0) {
        server->config.clock.until_ns = options->for_ns;
    }
    save_for_supervisor(server);
    if (server->replay != NULL) {
        choose_replay_mode(server);
    }
    return make_engine(server, error);
}

enum oto_status srv_server_load(struct srv_server *server, struct oto_error *error)
{
    enum oto_status status = srv_resources_check(error);
    if (status == OTO_OK && server->options->replay_path != NULL) {
        status = load_replay(server, server->options, error);
    }
    return status == OTO_OK ? srv_server_load_from(server, server->options->restore_path, error) : status;
}
