/* Binds a map of parameters, nested along the dots of our keys or along the sections of a foreign file. [loop] */
#include <stdlib.h>

#include "params.h"

/* State of one walk: which parameter already has a value, so that none is set twice. */
struct walk {
    const struct param_binding *binding;
    struct param_table table;
    const struct oto_value **given;
    uint8_t *block;
};

static const struct oto_param *match(struct param_table table, const struct param_path *path)
{
    for (uint32_t i = 0; i < table.count; i++) {
        const struct oto_param *param = &table.params[i];
        if ((param->type != OTO_PARAM_IGNORED && strcmp(param->key, path->dotted) == 0) ||
            (param->alias != NULL && strcmp(param->alias, path->foreign) == 0)) {
            return param;
        }
    }
    return NULL;
}

static enum oto_status give(struct walk *walk, const struct oto_param *param, const struct oto_value *value,
                            int64_t element)
{
    const struct oto_value **given = &walk->given[param - walk->table.params];
    if (param->type == OTO_PARAM_IGNORED) {
        return OTO_OK;
    }
    if (*given != NULL && element < 0) {
        return oto_value_fail_key(value, walk->binding->error, OTO_CONFLICT, "'%s' is given twice, first in line %u",
                                  param->key, (*given)->line);
    }
    *given = value;
    return param_bind_value(walk->binding, param, value, element, walk->block);
}

static enum oto_status unknown(const struct walk *walk, const struct param_path *prefix, const struct param_path *path,
                               const struct oto_value *value)
{
    char suggestion[220];
    param_suggest(walk->table, prefix, path, suggestion, sizeof suggestion);
    return oto_value_fail_key(value, walk->binding->error, OTO_NOT_FOUND, "plugin '%s' has no parameter '%.96s'%s",
                              walk->binding->plugin, path->dotted, suggestion);
}

static enum oto_status walk_map(struct walk *walk, const struct param_path *prefix, const struct oto_value *map);

static enum oto_status walk_member(struct walk *walk, const struct param_path *prefix, const struct oto_value *value)
{
    struct param_path path;
    int64_t element = -1;
    if (!param_path_join(prefix, value->key, &path)) {
        return oto_value_fail_key(value, walk->binding->error, OTO_LIMIT, "the key '%.40s…' is longer than any parameter",
                                  value->key);
    }
    const struct oto_param *param = match(walk->table, &path);
    if (param == NULL && param_is_section(walk->table, &path)) {
        return walk_map(walk, &path, value);
    }
    if (param == NULL) {
        param = param_lookup(walk->table, path.dotted, &element);
    }
    /* `key: {2: value}`, which `--set key.2=value` produces. */
    if (param != NULL && param->count > 1 && value->kind == OTO_VALUE_MAP && param->type <= OTO_PARAM_BOOL) {
        return walk_map(walk, &path, value);
    }
    return param != NULL ? give(walk, param, value, element) : unknown(walk, prefix, &path, value);
}

static enum oto_status walk_map(struct walk *walk, const struct param_path *prefix, const struct oto_value *map)
{
    if (oto_value_is_null(map)) {
        return OTO_OK; /* a section in which every line is commented out */
    }
    if (map->kind != OTO_VALUE_MAP) {
        char what[PARAM_PATH_BYTES + 32];
        (void)snprintf(what, sizeof what, prefix->dotted[0] != '\0' ? "a map for '%s'" : "a map of parameters%s",
                       prefix->dotted);
        return oto_value_expected(map, walk->binding->error, what);
    }
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < map->count; i++) {
        const enum oto_status member = walk_member(walk, prefix, map->items[i]);
        status = status == OTO_OK ? member : status;
        if (member != OTO_OK && (walk->binding->problems == NULL || !oto_problems_note(walk->binding->problems, member))) {
            return status;
        }
    }
    return status;
}

enum oto_status param_bind_map(const struct param_binding *binding, struct param_table table,
                               const struct param_path *prefix, const struct oto_value *map, uint8_t *block)
{
    struct walk walk = {binding, table, calloc(table.count + 1u, sizeof *walk.given), block};
    if (walk.given == NULL) {
        return oto_fail(binding->error, OTO_NO_MEMORY, "no memory for %u parameters of plugin '%s'", table.count,
                        binding->plugin);
    }
    const enum oto_status status = walk_map(&walk, prefix, map);
    free(walk.given);
    return status;
}
