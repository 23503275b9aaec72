/* Parameters and setup of a candidate. [loop] */
#include <stdlib.h>
#include <string.h>

#include "sim/change.h"
#include "parts/library.h"

static uint64_t param_bytes(const struct oto_param *param)
{
    switch (param->type) {
    case OTO_PARAM_TEXT:
    case OTO_PARAM_PATH:
        return param->count;
    case OTO_PARAM_LIST:
        return sizeof(uint64_t) + param->count * param->item_bytes;
    case OTO_PARAM_IGNORED:
        return 0;
    default:
        return 8 * (uint64_t)param->count;
    }
}

static bool same_shape(const struct oto_param *a, const struct oto_param *b)
{
    return a->type == b->type && a->count == b->count && a->item_bytes == b->item_bytes &&
           a->item_count == b->item_count;
}

/* Copies the values of parameters that have the same key and shape in both plugins; the others keep their defaults. */
static void carry_params(const struct srv_change_base *base, const struct oto_plugin_descriptor *next,
                         struct oto_params *params)
{
    const struct oto_plugin_descriptor *now = oto_plugin_descriptor(base->plugin);
    for (uint32_t i = 0; i < now->param_count; i++) {
        const struct oto_param *from = &now->params[i];
        const struct oto_param *to = from->key != NULL ? oto_param_find(next, from->key) : NULL;
        if (to != NULL && same_shape(from, to)) {
            memcpy((unsigned char *)params->block + to->offset,
                   (const unsigned char *)base->params.block + from->offset, param_bytes(from));
        }
    }
}

static enum oto_status apply_part(const struct srv_swap_options *options, const struct oto_plugin_descriptor *next,
                                  struct oto_params *params, char *name, size_t name_bytes, struct oto_error *error)
{
    struct oto_part *part = NULL;
    const struct oto_part_mode *mode = NULL;
    enum oto_status status = oto_part_open(options->part, NULL, &part, error);
    if (status == OTO_OK) {
        status = oto_part_mode_find(part, options->mode, &mode, error);
    }
    if (status == OTO_OK) {
        status = oto_part_apply(part, mode, next, params, NULL, NULL, error);
    }
    if (status == OTO_OK) {
        (void)snprintf(name, name_bytes, "%s", part->name);
    }
    oto_part_close(part);
    return status;
}

static enum oto_status apply_file(const struct srv_swap_options *options, const struct oto_plugin_descriptor *next,
                                  struct oto_params *params, struct oto_error *error)
{
    struct oto_document *document = NULL;
    enum oto_status status = oto_document_read(options->params_path, NULL, &document, error);
    if (status == OTO_OK) {
        status = oto_params_apply(next, oto_document_root(document), params, error);
    }
    oto_document_close(document);
    return status;
}

/* Whether the world file names this plugin for the node, with the same table of parameters. */
static bool is_configured(const struct srv_change_base *base, const struct oto_plugin_descriptor *next)
{
    const struct oto_plugin_descriptor *made_with = oto_plugin_descriptor(base->config->plugin);
    bool same = strcmp(made_with->id, next->id) == 0 && made_with->params_bytes == next->params_bytes &&
                made_with->param_count == next->param_count;
    for (uint32_t i = 0; same && i < next->param_count; i++) {
        const struct oto_param *a = &made_with->params[i], *b = &next->params[i];
        same = a->offset == b->offset && same_shape(a, b) && (a->key == NULL) == (b->key == NULL) &&
               (a->key == NULL || strcmp(a->key, b->key) == 0);
    }
    return same;
}

/* The part's name of the node's "part/unit", as in the world file. */
static void configured_unit(const struct srv_change_base *base, const struct oto_plugin_descriptor *next, char *name,
                            size_t bytes)
{
    const char *slash = strrchr(base->config->part_unit, '/');
    const bool same = strcmp(oto_plugin_descriptor(base->config->plugin)->id, next->id) == 0;
    if (same && slash != NULL) {
        (void)snprintf(name, bytes, "%.*s", (int)(slash - base->config->part_unit), base->config->part_unit);
    } else {
        (void)snprintf(name, bytes, "%s", next->id);
    }
}

static enum oto_status own_setup(const struct srv_change_base *base, const struct oto_setup *from, const char *unit,
                                 struct srv_change *change, struct oto_error *error)
{
    struct oto_setup *setup = malloc(sizeof *setup);
    if (setup == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the setup of '%s'", base->topic);
    }
    *setup = *from;
    if (unit != NULL) {
        setup->unit_key = oto_rng_key_make(0, unit);
    }
    change->instance.own_setup = setup;
    return OTO_OK;
}

static enum oto_status bind_new(const struct srv_change_base *base, const struct srv_swap_options *options,
                                struct srv_change *change, struct oto_error *error)
{
    const struct oto_plugin_descriptor *next = oto_plugin_descriptor(change->instance.plugin);
    struct oto_params *params = &change->instance.params;
    const bool same = strcmp(oto_plugin_descriptor(base->plugin)->id, next->id) == 0;
    const bool carried = same && options->part == NULL;
    char name[96], unit[112];
    const bool configured = !same && options->part == NULL && is_configured(base, next);
    enum oto_status status = OTO_OK;
    if (configured) {
        *params = oto_params_copy(&base->config->params);
    } else {
        status = oto_params_default(next, params, error);
    }
    if (status == OTO_OK && carried) {
        carry_params(base, next, params);
    }
    configured_unit(base, next, name, sizeof name);
    if (status == OTO_OK && options->part != NULL) {
        status = apply_part(options, next, params, name, sizeof name, error);
    }
    if (status == OTO_OK && options->params_path != NULL) {
        status = apply_file(options, next, params, error);
    }
    (void)snprintf(change->note, sizeof change->note, "parameters %s%s%.80s%s%.200s",
                   carried      ? "as they were"
                   : configured ? "of the world's file"
                                : "of its own", options->part != NULL ? ", of part " : "",
                   options->part != NULL ? name : "", options->params_path != NULL ? ", of " : "",
                   options->params_path != NULL ? options->params_path : "");
    if (options->unit_given) {
        (void)snprintf(unit, sizeof unit, "%.80s/%u", name, options->unit);
    } else {
        const char *slash = strrchr(base->config->part_unit, '/');
        (void)snprintf(unit, sizeof unit, "%.80s%.16s", name, slash != NULL ? slash : "/0");
    }
    const bool renamed = !same || options->part != NULL || options->unit_given;
    if (status == OTO_OK && (renamed || base->setup == &base->own_setup)) {
        status = own_setup(base, base->setup, renamed ? unit : NULL, change, error);
    }
    params->rate_hz = base->params.rate_hz;
    return status;
}

static enum oto_status bind_previous(const struct srv_change_base *base, const struct srv_previous *previous,
                                     struct srv_change *change, struct oto_error *error)
{
    change->instance.params = oto_params_copy(&previous->params);
    (void)snprintf(change->note, sizeof change->note, "parameters as they were before");
    return previous->has_setup ? own_setup(base, &previous->setup, NULL, change, error) : OTO_OK;
}

enum oto_status srv_change_bind(const struct srv_change_base *base, const struct srv_swap_options *options,
                                struct srv_change *change, struct oto_error *error)
{
    return options->previous != NULL ? bind_previous(base, options->previous, change, error)
                                     : bind_new(base, options, change, error);
}
