#include "world/binder.h"

#include <stdlib.h>

enum { PATH_BYTES = 4096 };

struct srv_plugin_cache_entry {
    char *name; /* the name in the world file */
    bool isolated;
    struct oto_plugin *plugin;
};

char *srv_resolve_path(const struct oto_value *value)
{
    const char *slash = strrchr(value->file, '/');
    char *path = NULL;
    bool from_file = strncmp(value->file, "--set ", 6) != 0 && slash != NULL && value->text[0] != '/';
    int length = from_file ? (int)(slash - value->file) + 1 : 0;
    return asprintf(&path, "%.*s%s", length, value->file, value->text) >= 0 ? path : NULL;
}

static bool is_path(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 3 && strcmp(name + length - 3, ".so") == 0);
}

static struct srv_plugin_cache_entry *find(const struct srv_plugin_cache *cache, const char *name, bool isolated)
{
    for (uint32_t i = 0; i < cache->count; i++)
        if (strcmp(cache->entries[i].name, name) == 0 && cache->entries[i].isolated == isolated)
            return &cache->entries[i];
    return NULL;
}

/* The plugin of this file that another world has loaded; NULL: none. */
static struct oto_plugin *find_loaded(const struct srv_world_config *loaded, const char *path)
{
    struct oto_plugin *found = NULL;
    for (uint32_t i = 0; loaded != NULL && i < loaded->node_count && found == NULL; i++)
        if (strcmp(oto_plugin_path(loaded->nodes[i].plugin), path) == 0)
            found = loaded->nodes[i].plugin;
    return found;
}

static enum oto_status open_new(struct srv_plugin_cache *cache, const struct oto_value *value, const char *name,
                                srv_open_plugin_function *open, bool isolated, struct oto_error *error)
{
    char path[PATH_BYTES];
    struct oto_error inner = {0};
    struct srv_plugin_cache_entry *entries =
        realloc(cache->entries, (cache->count + 1) * sizeof(struct srv_plugin_cache_entry));
    if (entries == NULL)
        return oto_value_fail(value, error, OTO_NO_MEMORY, "out of memory");
    cache->entries = entries;
    struct srv_plugin_cache_entry *entry = &entries[cache->count];
    *entry = (struct srv_plugin_cache_entry){.name = strdup(name), .isolated = isolated};
    if (entry->name == NULL)
        return oto_value_fail(value, error, OTO_NO_MEMORY, "out of memory");
    enum oto_status status = oto_plugin_find(name, path, sizeof path, &inner);
    struct oto_plugin *loaded = status == OTO_OK && !isolated ? find_loaded(cache->loaded, path) : NULL;
    if (loaded != NULL)
        entry->plugin = oto_plugin_hold(loaded);
    else if (status == OTO_OK)
        status = open(path, isolated, &entry->plugin, &inner);
    if (status == OTO_OK)
        cache->count++;
    else
        free(entry->name);
    return status == OTO_OK ? status : oto_value_fail(value, error, status, "%.400s", inner.text);
}

enum oto_status srv_plugin_cache_open(struct srv_plugin_cache *cache, const struct oto_value *value,
                                      srv_open_plugin_function *open, bool isolated, struct oto_plugin **plugin, struct oto_error *error)
{
    char *name = is_path(value->text) ? srv_resolve_path(value) : strdup(value->text);
    enum oto_status status = OTO_OK;
    if (name == NULL)
        return oto_value_fail(value, error, OTO_NO_MEMORY, "out of memory");
    if (find(cache, name, isolated) == NULL)
        status = open_new(cache, value, name, open, isolated, error);
    if (status == OTO_OK)
        *plugin = oto_plugin_hold(find(cache, name, isolated)->plugin);
    free(name);
    return status;
}

void srv_plugin_cache_finish(struct srv_plugin_cache *cache)
{
    for (uint32_t i = 0; i < cache->count; i++) {
        free(cache->entries[i].name);
        (void)oto_plugin_close(cache->entries[i].plugin);
    }
    free(cache->entries);
    *cache = (struct srv_plugin_cache){0};
}
