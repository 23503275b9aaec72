#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world/binder.h"
#include "world/section.h"

static enum oto_status set_all(const struct srv_world_source *source, bool of_defaults, struct oto_document *document,
                               struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < source->override_count && status == OTO_OK; i++)
        if ((strncmp(source->overrides[i].path, "defaults.", 9) == 0) == of_defaults)
            status = oto_document_set(document, source->overrides[i].path, source->overrides[i].value, error);
    return status;
}

/* The vehicles are completed by their defaults before `--set vehicles.…` changes them. */
static enum oto_status open_document(const struct srv_binder *binder, struct oto_document **document)
{
    const struct srv_world_source *source = binder->source;
    struct oto_error *error = binder->error;
    enum oto_status status = source->path != NULL
                                 ? oto_document_read(source->path, NULL, document, error)
                                 : oto_document_parse("world", source->text, strlen(source->text), NULL, document, error);
    if (status == OTO_OK)
        status = set_all(source, true, *document, error);
    if (status == OTO_OK)
        status = srv_defaults_apply(*document, error);
    return status == OTO_OK ? set_all(source, false, *document, error) : status;
}

/*
 * Makes the directory absolute, because the server may change its working directory. The default is beside the world
 * file.
 */
static enum oto_status take_checkpoint_directory(struct srv_raw_world *raw, struct oto_error *error)
{
    struct srv_checkpoint_config *checkpoint = &raw->config.checkpoint;
    const struct oto_value *root = oto_document_root(raw->config.document), *given = raw->checkpoint_directory;
    struct oto_value fallback = *root;
    char folder[PATH_MAX] = "";
    if (checkpoint->every_ns == 0)
        return OTO_OK;
    fallback.kind = OTO_VALUE_SCALAR;
    fallback.text = "checkpoints";
    char *path = srv_resolve_path(given != NULL ? given : &fallback);
    const bool relative = path != NULL && path[0] != '/';
    const bool known = !relative || getcwd(folder, sizeof folder) != NULL;
    const int length = path == NULL || !known ? -1
                                              : snprintf(checkpoint->directory, sizeof checkpoint->directory, "%s%s%s", folder,
                                                         relative ? "/" : "", path);
    free(path);
    if (length < 0 || (size_t)length >= sizeof checkpoint->directory)
        return oto_value_fail(given != NULL ? given : root, error, OTO_LIMIT, "the path of the checkpoint directory cannot be resolved");
    return OTO_OK;
}

/* Checks that a page without a read token listens on loopback only. */
static enum oto_status check_web(const struct srv_raw_world *raw, const struct oto_value *root, struct oto_error *error)
{
    const struct srv_web_config *web = &raw->config.web;
    const bool loopback = strncmp(web->listen, "127.", 4) == 0 || strncmp(web->listen, "[::1]:", 6) == 0;
    return loopback || web->read_token == SRV_READ_TOKEN_AUTO
               ? OTO_OK
               : oto_value_fail(oto_value_get(root, "web"), error, OTO_INVALID,
                                "`read_token: none` is accepted on loopback only, and %s can be reached from other machines: "
                                "use `read_token: auto`, or listen on 127.0.0.1", web->listen);
}

static enum oto_status read_world(struct srv_raw_world *raw, struct oto_problems *problems)
{
    const struct oto_value *root = oto_document_root(raw->config.document);
    struct oto_error *error = problems->error;
    srv_section_defaults(&srv_section_world, raw);
    enum oto_status status = srv_section_read_all(&srv_section_world, root, raw, problems);
    if (status != OTO_OK)
        return status;
    raw->config.publish.packed = raw->packed == 1;
    status = take_checkpoint_directory(raw, error);
    if (status == OTO_OK)
        status = check_web(raw, root, error);
    return status == OTO_OK ? srv_resolve_environment(raw, error) : status;
}

static enum oto_status open_here(const char *path, bool isolated, struct oto_plugin **plugin, struct oto_error *error)
{
    (void)isolated; /* never set: no node of this configuration is isolated */
    return oto_plugin_open(path, NULL, plugin, error);
}

/* Loads what follows the world's own keys. Each step needs a file without errors so far, except the loading of vehicles. */
static enum oto_status load_rest(struct srv_binder *binder, const struct srv_raw_world *raw)
{
    static enum oto_status (*const steps[])(struct srv_binder *) = {srv_bind_inputs, srv_check_topics};
    enum oto_status status = srv_load_roles(binder, raw->roles);
    if (srv_binder_goes_on(binder, status))
        status = srv_load_network(binder, raw);
    if (srv_binder_goes_on(binder, status))
        status = srv_load_participants(binder, raw);
    const bool goes_on = srv_binder_goes_on(binder, status);
    binder->is_world_sound = srv_binder_is_sound(binder);
    if (goes_on && raw->vehicles != NULL)
        status = srv_load_vehicles(binder, raw->vehicles);
    (void)srv_binder_goes_on(binder, status);
    if (status == OTO_OK && srv_binder_is_sound(binder))
        status = srv_check_participants(binder, raw);
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == OTO_OK && srv_binder_is_sound(binder); i++)
        status = steps[i](binder);
    (void)srv_binder_goes_on(binder, status);
    return srv_binder_result(binder, 0, status);
}

enum oto_status srv_world_config_load(const struct srv_world_source *source, oto_warn_function warn, void *warn_context,
                                      struct srv_world_config *config, struct oto_error *error)
{
    struct srv_raw_world raw = {0};
    struct oto_error own = {0};
    struct srv_binder binder = {.config = config, .source = source, .warn = warn, .warn_context = warn_context, .error = &own,
                                .plugins = {.loaded = source->loaded},
                                .problems = {.report = source->report, .context = source->report_context, .error = &own}};
    enum oto_status status = open_document(&binder, &raw.config.document);
    const bool is_open = srv_binder_goes_on(&binder, status) && status == OTO_OK;
    if (is_open)
        status = read_world(&raw, &binder.problems);
    *config = raw.config;
    config->open_plugin = source->open_plugin != NULL ? source->open_plugin : open_here;
    if (is_open && srv_binder_goes_on(&binder, status)) {
        srv_check_field(&binder, &raw);
        srv_check_defaults(&binder, &raw);
        const enum oto_status rest = load_rest(&binder, &raw);
        status = status == OTO_OK ? rest : status;
    }
    srv_binder_finish(&binder);
    if (status != OTO_OK)
        srv_world_config_finish(config);
    if (status != OTO_OK && error != NULL) {
        *error = own;
        error->status = status;
    }
    return status;
}

void srv_world_config_seed(struct srv_world_config *config, uint64_t seed)
{
    config->seed = seed;
    for (uint32_t i = 0; i < config->vehicle_count; i++)
        srv_vibration_seed(&config->vehicles[i].vibration, config->vehicles[i].name, seed);
}

void srv_world_config_finish(struct srv_world_config *config)
{
    if (config == NULL)
        return;
    for (uint32_t i = 0; i < config->node_count; i++) {
        oto_params_free(&config->nodes[i].params);
        free(config->nodes[i].inputs);
        free(config->nodes[i].faults);
        (void)oto_plugin_close(config->nodes[i].plugin);
        (void)oto_plugin_close(config->nodes[i].replacement.plugin);
        oto_params_free(&config->nodes[i].replacement.params);
    }
    for (uint32_t i = 0; i < config->vehicle_count; i++)
        srv_vibration_finish(&config->vehicles[i].vibration);
    free(config->environment.temperature_along_time_degc.rows);
    free(config->environment.pressure_along_time_pa.rows);
    free(config->nodes);
    free(config->vehicles);
    free(config->participants);
    oto_document_close(config->document);
    *config = (struct srv_world_config){0};
}
