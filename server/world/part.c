/* `part`, `mode` and `unit` of a node. The parameters of the part apply first; params_file and params replace them. */
#include <stdlib.h>

#include "world/binder.h"

struct srv_part_cache_entry {
    char *name;       /* as written in the world file */
    const char *file; /* the file that contains it: relative paths start there */
    struct oto_part *part;
};

/* Passes on an error with a place; other errors get the place where the world file names the part. */
static enum oto_status fail(const struct oto_value *place, struct oto_error *error, const struct oto_error *inner)
{
    if (strstr(inner->text, ": error: ") != NULL)
        return oto_fail(error, inner->status, "%s", inner->text);
    return oto_value_fail(place, error, inner->status, "%.400s", inner->text);
}

static enum oto_status open_new(struct srv_part_cache *cache, const struct oto_value *value, struct oto_error *error)
{
    struct srv_part_cache_entry *entries =
        realloc(cache->entries, (cache->count + 1) * sizeof(struct srv_part_cache_entry));
    if (entries == NULL)
        return oto_value_fail(value, error, OTO_NO_MEMORY, "out of memory");
    cache->entries = entries;
    struct srv_part_cache_entry *entry = &entries[cache->count];
    *entry = (struct srv_part_cache_entry){.name = strdup(value->text), .file = value->file};
    if (entry->name == NULL)
        return oto_value_fail(value, error, OTO_NO_MEMORY, "out of memory");
    enum oto_status status = oto_part_open(value->text, value->file, &entry->part, error);
    if (status == OTO_OK)
        cache->count++;
    else
        free(entry->name);
    return status;
}

static enum oto_status open_part(struct srv_part_cache *cache, const struct oto_value *value,
                                 const struct oto_part **part, struct oto_error *error)
{
    for (uint32_t i = 0; i < cache->count; i++) {
        const struct srv_part_cache_entry *entry = &cache->entries[i];
        if (strcmp(entry->name, value->text) == 0 && strcmp(entry->file, value->file) == 0) {
            *part = entry->part;
            return OTO_OK;
        }
    }
    enum oto_status status = open_new(cache, value, error);
    if (status == OTO_OK)
        *part = cache->entries[cache->count - 1].part;
    return status;
}

enum oto_status srv_apply_part(struct srv_binder *binder, const struct srv_raw_node *raw, struct srv_node_config *node)
{
    const struct oto_part *part = NULL;
    const struct oto_part_mode *mode = NULL;
    struct oto_error inner = {0};
    const char *name = oto_plugin_descriptor(node->plugin)->id;
    if (raw->part == NULL && raw->mode != NULL)
        return oto_value_fail(raw->mode, binder->error, OTO_INVALID, "`mode` needs a `part`");
    enum oto_status status = OTO_OK;
    if (raw->part != NULL) {
        status = open_part(&binder->parts, raw->part, &part, &inner);
        if (status == OTO_OK)
            status = oto_part_mode_find(part, raw->mode != NULL ? raw->mode->text : NULL, &mode, &inner);
        if (status == OTO_OK)
            status = oto_part_apply(part, mode, oto_plugin_descriptor(node->plugin), &node->params, binder->warn,
                                    binder->warn_context, &inner);
        if (status != OTO_OK)
            return fail(part != NULL && mode == NULL && raw->mode != NULL ? raw->mode : raw->part, binder->error,
                        &inner);
        name = part->name;
    }
    (void)snprintf(node->part_unit, sizeof node->part_unit, "%.80s/%u", name, raw->unit);
    return OTO_OK;
}

void srv_part_cache_finish(struct srv_part_cache *cache)
{
    for (uint32_t i = 0; i < cache->count; i++) {
        free(cache->entries[i].name);
        oto_part_close(cache->entries[i].part);
    }
    free(cache->entries);
    *cache = (struct srv_part_cache){0};
}

/* ---- warnings about a node's parameters ---- */

struct odd {
    const struct srv_binder *binder;
    const struct oto_value *place;
    const char *node;
};

static void say(void *context, const char *sentence)
{
    const struct odd *odd = context;
    srv_binder_warn(odd->binder, odd->place, "node '%s': %s", odd->node, sentence);
}

void srv_check_plausible(const struct srv_binder *binder, const struct oto_value *place,
                         const struct srv_node_config *node)
{
    struct odd odd = {binder, place, node->name};
    oto_params_check_plausible(oto_plugin_descriptor(node->plugin), &node->params, say, &odd);
}
