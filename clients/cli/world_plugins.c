#include "world_plugins.h"

#include "document/document.h"
#include "otolith/hash.h"
#include "plugin/host.h"
#include "world/world_config.h"

static enum oto_status hash_plugin(const struct oto_value *node, uint64_t *hash, struct oto_error *error)
{
    char path[4096];
    const char *name;
    struct oto_plugin *plugin = NULL;
    const struct oto_value *value = oto_value_get(node, "plugin");
    if (value == NULL) {
        return OTO_OK;
    }
    enum oto_status status = oto_value_text(value, &name, error);
    if (status == OTO_OK) {
        status = oto_plugin_find(name, path, sizeof path, error);
    }
    if (status == OTO_OK) {
        status = oto_plugin_load(path, NULL, &plugin, error);
    }
    if (status == OTO_OK) {
        const uint64_t content = oto_plugin_content_hash(plugin);
        *hash = oto_fnv1a64_more(*hash, &content, sizeof content);
    }
    (void)oto_plugin_close(plugin);
    return status;
}

enum oto_status cli_hash_plugins(const char *path, const char *text, size_t length, uint64_t *hash, struct oto_error *error)
{
    struct oto_document *document;
    enum oto_status status = oto_document_parse(path, text, length, NULL, &document, error);
    if (status != OTO_OK) {
        return status;
    }
    status = srv_defaults_apply(document, error);
    const struct oto_value *vehicles = oto_value_get(oto_document_root(document), "vehicles");
    for (uint32_t v = 0; vehicles != NULL && vehicles->kind == OTO_VALUE_LIST && v < vehicles->count; v++) {
        const struct oto_value *nodes = oto_value_get(vehicles->items[v], "nodes");
        status = status == OTO_OK ? hash_plugin(oto_value_get(vehicles->items[v], "motion"), hash, error) : status;
        for (uint32_t i = 0; status == OTO_OK && nodes != NULL && nodes->kind == OTO_VALUE_LIST && i < nodes->count; i++) {
            status = hash_plugin(nodes->items[i], hash, error);
        }
    }
    oto_document_close(document);
    return status;
}
