/* The host services of a plugin's `prepare`: memory that is freed at once, shared constants, tables from files, warnings. [loop] */
#include <stdlib.h>
#include <string.h>

#include "document/table.h"
#include "params.h"
#include "shared.h"

enum { LINE = 64 }; /* of the cache: the steps of a fleet read the memory of a plugin line by line */

struct block {
    struct block *next;
    size_t bytes;
    _Alignas(LINE) unsigned char memory[];
};

struct table_block {
    struct table_block *next;
    struct oto_table table;
};

struct shared_block {
    struct shared_block *next;
    struct plugin_shared *shared;
};

struct arena {
    struct block *blocks;
    struct shared_block *shared;
    struct table_block *tables;
    bool is_limited;
    uint64_t step_bytes;
    oto_warn_function warn;
    void *warn_context;
};

static void *host_alloc(void *context, size_t bytes)
{
    struct arena *arena = context;
    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    const size_t whole = (sizeof(struct block) + bytes + LINE - 1) / LINE * LINE;
    struct block *block = aligned_alloc(LINE, whole);
    if (block == NULL) {
        return NULL;
    }
    memset(block, 0, whole);
    block->bytes = bytes;
    block->next = arena->blocks;
    arena->blocks = block;
    return block->memory;
}

static const void *host_share(void *context, const void *bytes, size_t count)
{
    struct arena *arena = context;
    struct shared_block *block = bytes != NULL ? calloc(1, sizeof *block) : NULL;
    if (block == NULL || (block->shared = plugin_shared_hold(bytes, count)) == NULL) {
        free(block);
        return NULL;
    }
    block->next = arena->shared;
    arena->shared = block;
    return plugin_shared_bytes(block->shared);
}

static enum oto_status host_read_table(void *context, const char *path, const char *const *columns,
                                       uint32_t column_count, struct oto_table_view *view, struct oto_error *error)
{
    struct arena *arena = context;
    struct table_block *block = calloc(1, sizeof *block);
    if (block == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory to read '%.256s'", path);
    }
    const enum oto_status status = oto_table_read(path, columns, column_count, &block->table, error);
    if (status != OTO_OK) {
        free(block);
        return status;
    }
    block->next = arena->tables;
    arena->tables = block;
    *view = (struct oto_table_view){block->table.rows, block->table.columns, block->table.values};
    return OTO_OK;
}

static void host_warn(void *context, const char *sentence)
{
    const struct arena *arena = context;
    if (arena->warn != NULL && sentence != NULL) {
        arena->warn(arena->warn_context, sentence);
    }
}

static void host_limit_state(void *context, uint64_t bytes)
{
    struct arena *arena = context;
    arena->is_limited = true;
    arena->step_bytes = bytes;
}

static void arena_free(struct arena *arena)
{
    while (arena->blocks != NULL) {
        struct block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    while (arena->shared != NULL) {
        struct shared_block *block = arena->shared;
        arena->shared = block->next;
        plugin_shared_drop(block->shared);
        free(block);
    }
    while (arena->tables != NULL) {
        struct table_block *block = arena->tables;
        arena->tables = block->next;
        oto_table_free(&block->table);
        free(block);
    }
    free(arena);
}

/* Accepts the plugin's result only if the status exists and the sentence ends in a NUL. */
static enum oto_status check_result(const struct oto_plugin_descriptor *descriptor, enum oto_status status,
                            struct oto_error *reason, struct oto_error *error)
{
    reason->text[sizeof reason->text - 1] = '\0';
    const bool known = (int)status > OTO_OK && (int)status <= OTO_PLUGIN;
    status = known ? status : OTO_PLUGIN;
    return reason->text[0] != '\0' ? oto_fail(error, status, "%s", reason->text)
                                   : oto_fail(error, status, "plugin '%s' refused its parameters and gave no reason",
                                              descriptor->id);
}

enum oto_status oto_prepare(const struct oto_plugin *plugin, const struct oto_setup *setup,
                            const struct oto_params *params, oto_warn_function warn, void *warn_context,
                            struct oto_prepared *prepared, struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
    const struct oto_plugin_ops *ops = oto_plugin_ops(plugin);
    *prepared = (struct oto_prepared){0};
    const struct oto_param *missing =
        param_missing((struct param_table){descriptor->params, descriptor->param_count}, params->block);
    if (missing != NULL) {
        return oto_fail(error, OTO_INVALID, "plugin '%s' needs the parameter '%s' (%s)", descriptor->id, missing->key,
                        missing->text);
    }
    if (ops->prepare == NULL) {
        return OTO_OK;
    }
    struct arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory to prepare plugin '%s'", descriptor->id);
    }
    arena->warn = warn;
    arena->warn_context = warn_context;
    const struct oto_host host = {sizeof host, 0, arena, host_alloc, host_read_table, host_warn, host_share, host_limit_state};
    struct oto_error reason = {0};
    const void *data = NULL;
    const enum oto_status status = ops->prepare(&host, setup, params->block, &data, &reason);
    if (status != OTO_OK) {
        arena_free(arena);
        return check_result(descriptor, status, &reason, error);
    }
    *prepared = (struct oto_prepared){data, arena, arena->is_limited, arena->step_bytes};
    return OTO_OK;
}

void oto_prepared_free(struct oto_prepared *prepared)
{
    if (prepared != NULL && prepared->arena != NULL) {
        arena_free(prepared->arena);
    }
    if (prepared != NULL) {
        *prepared = (struct oto_prepared){0};
    }
}
