/* Parameter blocks: made of defaults, changed as a whole or by one key, copied, freed. [loop] */
#include "params.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

static struct param_table table_of(const struct oto_plugin_descriptor *descriptor)
{
    return (struct param_table){descriptor->params, descriptor->param_count};
}

/*
 * The value of a required parameter until it is set. Binding never writes this value, so the block itself shows which
 * parameters are missing.
 */
static void fill_unset(const struct oto_param *param, uint8_t *at)
{
    for (uint32_t i = 0; i < param->count; i++) {
        if (param->type == OTO_PARAM_F64) {
            const double unset = (double)NAN;
            memcpy(at + 8 * (size_t)i, &unset, sizeof unset);
        } else if (param->type == OTO_PARAM_I64 || param->type == OTO_PARAM_BOOL) {
            const int64_t unset = INT64_MIN;
            memcpy(at + 8 * (size_t)i, &unset, sizeof unset);
        }
    }
}

static void fill_default(const struct oto_param *param, uint8_t *at)
{
    for (uint32_t i = 0; i < param->count; i++) {
        if (param->type == OTO_PARAM_F64) {
            memcpy(at + 8 * (size_t)i, &param->default_value, sizeof param->default_value);
        } else if (param->type == OTO_PARAM_I64 || param->type == OTO_PARAM_BOOL) {
            const int64_t whole = (int64_t)param->default_value;
            memcpy(at + 8 * (size_t)i, &whole, sizeof whole);
        }
    }
    if ((param->type == OTO_PARAM_TEXT || param->type == OTO_PARAM_PATH) && param->default_text != NULL) {
        memcpy(at, param->default_text, strlen(param->default_text));
    }
}

void param_fill_defaults(struct param_table table, uint8_t *block)
{
    for (uint32_t i = 0; i < table.count; i++) {
        const struct oto_param *param = &table.params[i];
        uint8_t *at = block + param->offset;
        if (param->type == OTO_PARAM_IGNORED) {
            continue;
        }
        if ((param->flags & OTO_PARAM_REQUIRED) != 0) {
            fill_unset(param, at);
        } else {
            fill_default(param, at);
        }
    }
}

static bool is_unset(const struct oto_param *param, const uint8_t *at)
{
    double number;
    int64_t whole;
    switch (param->type) {
    case OTO_PARAM_F64: memcpy(&number, at, sizeof number); return isnan(number);
    case OTO_PARAM_I64:
    case OTO_PARAM_BOOL: memcpy(&whole, at, sizeof whole); return whole == INT64_MIN;
    case OTO_PARAM_LIST: memcpy(&whole, at, sizeof whole); return whole == 0;
    case OTO_PARAM_TEXT:
    case OTO_PARAM_PATH: return at[0] == '\0';
    default: return false;
    }
}

const struct oto_param *param_missing(struct param_table table, const uint8_t *block)
{
    for (uint32_t i = 0; i < table.count; i++) {
        const struct oto_param *param = &table.params[i];
        if ((param->flags & OTO_PARAM_REQUIRED) != 0 && param->type != OTO_PARAM_IGNORED &&
            is_unset(param, block + param->offset)) {
            return param;
        }
    }
    return NULL;
}

static void update_rate(const struct oto_plugin_descriptor *descriptor, struct oto_params *params)
{
    params->rate_hz = 0;
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        if ((param->flags & OTO_PARAM_RATE) != 0) {
            memcpy(&params->rate_hz, (const uint8_t *)params->block + param->offset, sizeof params->rate_hz);
        }
    }
    params->rate_hz = isfinite(params->rate_hz) ? params->rate_hz : 0;
}

/*
 * A long block consists mostly of empty places of lists. It has whole pages, and pages that would hold only zeros are never
 * written: they take no memory.
 */
#define PAGE_BYTES 4096u
#define PAGED_FROM_BYTES (4 * PAGE_BYTES)

/* The header in front of a parameter block. Copies share the block until one of them changes. */
struct shared {
    uint64_t holders;
    uint64_t bytes; /* of header and block */
    _Alignas(16) unsigned char block[];
};

static struct shared *shared_of(const struct oto_params *params)
{
    return (struct shared *)(void *)((unsigned char *)params->block - offsetof(struct shared, block));
}

/* Zeroed memory. */
static struct shared *alloc_shared(uint64_t bytes)
{
    if (bytes < PAGED_FROM_BYTES) {
        return calloc(1, bytes);
    }
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(pages, bytes, MADV_NOHUGEPAGE); /* a large page would include the pages of zeros */
    return pages;
}

static void free_shared(struct shared *shared)
{
    if (shared->bytes < PAGED_FROM_BYTES) {
        free(shared);
    } else {
        (void)munmap(shared, shared->bytes);
    }
}

/* Writes only to pages that differ. */
static void copy_values(const struct oto_params *to, const struct oto_params *from)
{
    unsigned char *target = to->block;
    const unsigned char *source = from->block;
    for (uint64_t at = 0; at < from->bytes; at += PAGE_BYTES) {
        const uint64_t rest = from->bytes - at, part = rest < PAGE_BYTES ? rest : PAGE_BYTES;
        if (memcmp(target + at, source + at, part) != 0) {
            memcpy(target + at, source + at, part);
        }
    }
}

static enum oto_status make_block(struct oto_params *params, const char *plugin, struct oto_error *error)
{
    const uint64_t bytes = sizeof(struct shared) + (params->bytes > 0 ? params->bytes : 8);
    struct shared *shared = alloc_shared(bytes);
    if (shared == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %llu bytes of parameters of plugin '%s'",
                        (unsigned long long)params->bytes, plugin);
    }
    shared->holders = 1;
    shared->bytes = bytes;
    params->block = shared->block;
    return OTO_OK;
}

enum oto_status oto_params_default(const struct oto_plugin_descriptor *descriptor, struct oto_params *params,
                                   struct oto_error *error)
{
    *params = (struct oto_params){.bytes = descriptor->params_bytes};
    if (make_block(params, descriptor->id, error) != OTO_OK) {
        return OTO_NO_MEMORY;
    }
    param_fill_defaults(table_of(descriptor), params->block);
    update_rate(descriptor, params);
    return OTO_OK;
}

struct oto_params oto_params_copy(const struct oto_params *from)
{
    (void)__atomic_add_fetch(&shared_of(from)->holders, 1, __ATOMIC_RELAXED);
    return *from;
}

/* Gives `to` a block of its own with the values of `from`. */
static enum oto_status copy_block(const struct oto_plugin_descriptor *descriptor, const struct oto_params *from,
                                  struct oto_params *to, struct oto_error *error)
{
    *to = (struct oto_params){.bytes = from->bytes, .rate_hz = from->rate_hz};
    const enum oto_status status = make_block(to, descriptor->id, error);
    if (status == OTO_OK) {
        copy_values(to, from);
    }
    return status;
}

void oto_params_free(struct oto_params *params)
{
    if (params == NULL) {
        return;
    }
    if (params->block != NULL && __atomic_sub_fetch(&shared_of(params)->holders, 1, __ATOMIC_ACQ_REL) == 0) {
        free_shared(shared_of(params));
    }
    *params = (struct oto_params){0};
}

const struct oto_param *oto_param_find(const struct oto_plugin_descriptor *descriptor, const char *key)
{
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        if (param->type != OTO_PARAM_IGNORED && strcmp(param->key, key) == 0) {
            return param;
        }
    }
    return NULL;
}

/* Takes `changed` in place of `params` if all went well, else drops it. A block that nobody shares stays where it is. */
static enum oto_status finish_change(const struct oto_plugin_descriptor *descriptor, enum oto_status status,
                                     struct oto_params *changed, struct oto_params *params)
{
    if (status == OTO_OK && __atomic_load_n(&shared_of(params)->holders, __ATOMIC_ACQUIRE) == 1) {
        copy_values(params, changed);
    } else if (status == OTO_OK) {
        const struct oto_params shared = *params;
        *params = *changed;
        *changed = shared;
    }
    if (status == OTO_OK) {
        update_rate(descriptor, params);
    }
    oto_params_free(changed);
    return status;
}

enum oto_status oto_params_apply(const struct oto_plugin_descriptor *descriptor, const struct oto_value *map,
                                 struct oto_params *params, struct oto_error *error)
{
    struct oto_problems problems = {.error = error};
    return oto_params_apply_all(descriptor, map, params, &problems);
}

enum oto_status oto_params_apply_all(const struct oto_plugin_descriptor *descriptor, const struct oto_value *map,
                                     struct oto_params *params, struct oto_problems *problems)
{
    static const struct param_path root = {"", ""};
    const struct param_binding binding = {.plugin = descriptor->id, .error = problems->error, .problems = problems};
    struct oto_params changed;
    if (copy_block(descriptor, params, &changed, problems->error) != OTO_OK) {
        return OTO_NO_MEMORY;
    }
    const enum oto_status status = param_bind_map(&binding, table_of(descriptor), &root, map, changed.block);
    return finish_change(descriptor, status, &changed, params);
}

/* Binds a value to a key: to a parameter, to one element of it, or, if the value is a map, to a section of keys. */
static enum oto_status set_value(const struct param_binding *binding, struct param_table table, const char *key,
                                 const struct oto_value *value, uint8_t *block)
{
    static const struct param_path root = {"", ""};
    struct param_path path = {"", ""};
    char suggestion[200];
    int64_t element = -1;
    const struct oto_param *param = param_lookup(table, key, &element);
    if (param != NULL) {
        return param_bind_value(binding, param, value, element, block);
    }
    (void)param_path_join(&root, key, &path);
    if (param_is_section(table, &path) && value->kind == OTO_VALUE_MAP) {
        return param_bind_map(binding, table, &path, value, block);
    }
    param_suggest(table, param_is_section(table, &path) ? &path : &root, &path, suggestion, sizeof suggestion);
    return oto_fail(binding->error, OTO_NOT_FOUND, "plugin '%s' has no parameter '%.96s'%s", binding->plugin, key,
                    suggestion);
}

enum oto_status oto_params_set(const struct oto_plugin_descriptor *descriptor, const char *key, const char *yaml,
                               bool running, struct oto_params *params, struct oto_error *error)
{
    const struct param_binding binding = {descriptor->id, running, true, error, NULL};
    struct oto_document *document = NULL;
    struct oto_params changed;
    enum oto_status status = oto_document_parse(key, yaml, strlen(yaml), NULL, &document, error);
    if (status != OTO_OK) {
        return status;
    }
    status = copy_block(descriptor, params, &changed, error);
    if (status == OTO_OK) {
        status = set_value(&binding, table_of(descriptor), key, oto_document_root(document), changed.block);
        status = finish_change(descriptor, status, &changed, params);
    }
    oto_document_close(document);
    return status;
}
