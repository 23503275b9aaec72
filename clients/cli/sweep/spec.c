/* A spec: reading and checking it, and the hash of what its rows depend on. */
#include "sweep/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw_value.h"
#include "otolith/hash.h"
#include "world_plugins.h"

enum { ROWS_VERSION = 1 }; /* of rows and statistics: a change makes kept rows invalid */

enum oto_status sweep_spec_keys(const struct oto_value *map, const char *what, const char *const *keys, size_t count,
                                struct oto_error *error)
{
    if (map->kind != OTO_VALUE_MAP) {
        return oto_value_expected(map, error, what);
    }
    for (uint32_t i = 0; i < map->count; i++) {
        bool known = false;
        for (size_t k = 0; k < count; k++) {
            known = known || strcmp(map->items[i]->key, keys[k]) == 0;
        }
        if (!known) {
            const char *near = oto_nearest_word(map->items[i]->key, keys, count);
            return oto_value_fail_key(map->items[i], error, OTO_INVALID, "%s has no key '%.80s'%s%s%s", what, map->items[i]->key,
                                      near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
        }
    }
    return OTO_OK;
}

char *sweep_spec_beside(const struct sweep_spec *spec, const char *name)
{
    char *path;
    const char *slash = strrchr(spec->path, '/');
    const int folder = name[0] != '/' && slash != NULL ? (int)(slash - spec->path + 1) : 0;
    return asprintf(&path, "%.*s%s", folder, spec->path, name) < 0 ? NULL : path;
}

static enum oto_status no_memory(struct oto_error *error)
{
    return oto_fail(error, OTO_NO_MEMORY, "no memory for the spec of a sweep");
}

/* ---- parts of the spec ---- */

static enum oto_status read_world(struct sweep_spec *spec, const struct oto_value *value, struct oto_error *error)
{
    const char *name;
    enum oto_status status = oto_value_text(value, &name, error);
    if (status != OTO_OK) {
        return status;
    }
    spec->world_path = sweep_spec_beside(spec, name);
    if (spec->world_path == NULL) {
        return no_memory(error);
    }
    struct oto_error why = {0};
    status = cli_read_file(spec->world_path, &spec->world_text, &spec->world_length, &why);
    return status == OTO_OK ? OTO_OK : oto_value_fail(value, error, status, "%s", why.text);
}

static enum oto_status read_duration(struct sweep_spec *spec, const struct oto_value *value, struct oto_error *error)
{
    double duration_s;
    const enum oto_status status = oto_value_f64(value, &duration_s, error);
    if (status == OTO_OK && !(duration_s > 0.0 && duration_s <= 1e9)) {
        return oto_value_fail(value, error, OTO_RANGE, "duration_s is more than 0 and at most 1e9, not %g", duration_s);
    }
    spec->duration_ns = status == OTO_OK ? (int64_t)llround(duration_s * 1e9) : 0;
    return status;
}

static enum oto_status read_seed_list(struct sweep_spec *spec, const struct oto_value *value, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    spec->seed_count = value->count;
    spec->seeds = calloc(value->count > 0 ? value->count : 1, sizeof *spec->seeds);
    if (spec->seeds == NULL) {
        return no_memory(error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < value->count; i++) {
        status = oto_value_u64(value->items[i], &spec->seeds[i], error);
        for (uint32_t k = 0; status == OTO_OK && k < i; k++) {
            if (spec->seeds[k] == spec->seeds[i]) {
                status = oto_value_fail(value->items[i], error, OTO_CONFLICT, "seed %" PRIu64 " is listed twice", spec->seeds[i]);
            }
        }
    }
    return status;
}

/* Reads the seeds: a number as 100, a list as [3, 5, 8], or {first: 1000, count: 100}. */
static enum oto_status read_seeds(struct sweep_spec *spec, const struct oto_value *value, struct oto_error *error)
{
    static const char *const keys[] = {"first", "count"};
    const struct oto_value *count = value, *first = NULL;
    spec->first_seed = 1;
    enum oto_status status = OTO_OK;
    if (value->kind == OTO_VALUE_LIST) {
        status = read_seed_list(spec, value, error);
    } else {
        if (value->kind == OTO_VALUE_MAP) {
            status = sweep_spec_keys(value, "seeds", keys, 2, error);
            count = oto_value_get(value, "count");
            first = oto_value_get(value, "first");
        }
        if (status == OTO_OK && count == NULL) {
            status = oto_value_expected(value, error, "a number of seeds, a list of seeds, or {first: S, count: N}");
        }
        if (status == OTO_OK) {
            status = oto_value_u64(count, &spec->seed_count, error);
        }
        if (status == OTO_OK && first != NULL) {
            status = oto_value_u64(first, &spec->first_seed, error);
        }
    }
    if (status == OTO_OK && (spec->seed_count == 0 || spec->seed_count > SWEEP_MOST_RUNS ||
                             spec->first_seed > UINT64_MAX - spec->seed_count + 1)) {
        status = oto_value_fail(value, error, OTO_RANGE, "1 to %" PRIu64 " seeds of 64 bits are accepted", SWEEP_MOST_RUNS);
    }
    return status;
}

static enum oto_status check_lists(struct sweep_spec *spec, struct oto_error *error)
{
    spec->combinations = 1;
    for (uint32_t i = 0; spec->vary != NULL && i < spec->vary->count; i++) {
        const struct oto_value *list = spec->vary->items[i];
        if (list->kind != OTO_VALUE_LIST || list->count == 0) {
            return oto_value_expected(list, error, "a list of values; distributions stand under `draw`");
        }
        if (spec->combinations > SWEEP_MOST_RUNS / list->count) {
            return oto_value_fail(list, error, OTO_LIMIT, "the lists have more than %" PRIu64 " combinations", SWEEP_MOST_RUNS);
        }
        spec->combinations *= list->count;
    }
    return OTO_OK;
}

static enum oto_status check_laws(const struct sweep_spec *spec, struct oto_error *error)
{
    char text[CLI_DRAWN_BYTES];
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && spec->draw != NULL && i < spec->draw->count; i++) {
        status = cli_draw_value(spec->draw->items[i], 0, text, sizeof text, error);
    }
    return status;
}

/* Refuses a path that is in the spec twice, because it has one value in a run. */
static enum oto_status check_paths(const struct sweep_spec *spec, struct oto_error *error)
{
    const struct oto_value *const maps[] = {spec->set, spec->vary, spec->draw};
    for (size_t a = 0; a < 3; a++) {
        for (size_t b = a + 1; b < 3; b++) {
            for (uint32_t i = 0; maps[a] != NULL && maps[b] != NULL && i < maps[b]->count; i++) {
                if (oto_value_get(maps[a], maps[b]->items[i]->key) != NULL) {
                    return oto_value_fail_key(maps[b]->items[i], error, OTO_CONFLICT,
                                              "'%.200s' has a value under `%s` already", maps[b]->items[i]->key, maps[a]->key);
                }
            }
        }
    }
    return OTO_OK;
}

static enum oto_status read_maps(struct sweep_spec *spec, const struct oto_value *root, struct oto_error *error)
{
    const struct oto_value **const maps[] = {&spec->set, &spec->vary, &spec->draw};
    static const char *const keys[] = {"set", "vary", "draw"};
    for (size_t i = 0; i < 3; i++) {
        *maps[i] = oto_value_get(root, keys[i]);
        if (*maps[i] != NULL && (*maps[i])->kind != OTO_VALUE_MAP) {
            return oto_value_expected(*maps[i], error, "a map of paths in the world and values");
        }
    }
    enum oto_status status = check_lists(spec, error);
    if (status == OTO_OK) {
        status = check_laws(spec, error);
    }
    return status == OTO_OK ? check_paths(spec, error) : status;
}

static enum oto_status read_plot(struct sweep_spec *spec, const struct oto_value *plot, struct oto_error *error)
{
    static const char *const keys[] = {"x", "x_factor", "x_name", "y", "labels", "y_name", "title"};
    struct sweep_plot *to = &spec->plot;
    const struct {
        const char *key, **text;
    } texts[] = {{"x", &to->x}, {"x_name", &to->x_name}, {"y_name", &to->y_name}, {"title", &to->title}};
    enum oto_status status = sweep_spec_keys(plot, "plot", keys, sizeof keys / sizeof *keys, error);
    for (size_t i = 0; status == OTO_OK && i < sizeof texts / sizeof *texts; i++) {
        const struct oto_value *value = oto_value_get(plot, texts[i].key);
        status = value != NULL ? oto_value_text(value, texts[i].text, error) : OTO_OK;
    }
    to->x_factor = 1.0;
    const struct oto_value *factor = status == OTO_OK ? oto_value_get(plot, "x_factor") : NULL;
    if (factor != NULL) {
        status = oto_value_f64(factor, &to->x_factor, error);
    }
    to->y = status == OTO_OK ? oto_value_get(plot, "y") : NULL;
    if (status == OTO_OK && (to->x == NULL || to->y == NULL || to->y->kind != OTO_VALUE_LIST || to->y->count == 0)) {
        status = oto_value_expected(plot, error, "{x: PATH of `vary`, y: [columns of summary.csv]}");
    }
    to->labels = status == OTO_OK ? oto_value_get(plot, "labels") : NULL;
    if (to->labels != NULL && (to->labels->kind != OTO_VALUE_LIST || to->labels->count != to->y->count)) {
        status = oto_value_expected(to->labels, error, "a list with a name for each of `y`");
    }
    if (status == OTO_OK && (spec->vary == NULL || oto_value_get(spec->vary, to->x) == NULL)) {
        status = oto_value_fail(oto_value_get(plot, "x"), error, OTO_NOT_FOUND, "'%.200s' is not listed under `vary`", to->x);
    }
    return status;
}

/* ---- the spec ---- */

static enum oto_status read_root(struct sweep_spec *spec, struct oto_error *error)
{
    static const char *const keys[] = {"sweep", "world", "duration_s", "seeds", "set", "vary", "draw", "metrics", "plot"};
    static const char *const needed[] = {"sweep", "world", "duration_s", "metrics"};
    const struct oto_value *root = oto_document_root(spec->document);
    enum oto_status status = sweep_spec_keys(root, "a sweep", keys, sizeof keys / sizeof *keys, error);
    for (size_t i = 0; status == OTO_OK && i < sizeof needed / sizeof *needed; i++) {
        if (oto_value_get(root, needed[i]) == NULL) {
            status = oto_value_fail(root, error, OTO_INVALID,
                                    "a sweep needs `sweep`, `world`, `duration_s` and `metrics`; `%s` is missing", needed[i]);
        }
    }
    if (status == OTO_OK) {
        status = oto_value_text(oto_value_get(root, "sweep"), &spec->name, error);
    }
    if (status == OTO_OK) {
        status = read_world(spec, oto_value_get(root, "world"), error);
    }
    if (status == OTO_OK) {
        status = read_duration(spec, oto_value_get(root, "duration_s"), error);
    }
    spec->seed_count = spec->first_seed = 1;
    if (status == OTO_OK && oto_value_get(root, "seeds") != NULL) {
        status = read_seeds(spec, oto_value_get(root, "seeds"), error);
    }
    if (status == OTO_OK) {
        status = read_maps(spec, root, error);
    }
    if (status == OTO_OK && spec->combinations > SWEEP_MOST_RUNS / spec->seed_count) {
        status = oto_value_fail(root, error, OTO_LIMIT, "%" PRIu64 " combinations of %" PRIu64 " seeds are more than %" PRIu64 " runs",
                                spec->combinations, spec->seed_count, SWEEP_MOST_RUNS);
    }
    spec->runs = spec->combinations * spec->seed_count;
    spec->metrics_place = oto_value_get(root, "metrics");
    if (status == OTO_OK) {
        status = sweep_spec_metrics(spec, spec->metrics_place, error);
    }
    const struct oto_value *plot = status == OTO_OK ? oto_value_get(root, "plot") : NULL;
    return plot != NULL ? read_plot(spec, plot, error) : status;
}

enum oto_status sweep_spec_open(const char *path, struct sweep_spec *spec, struct oto_error *error)
{
    *spec = (struct sweep_spec){.path = path};
    enum oto_status status = cli_read_file(path, &spec->text, &spec->length, error);
    if (status == OTO_OK) {
        status = oto_document_parse(path, spec->text, spec->length, NULL, &spec->document, error);
    }
    return status == OTO_OK ? read_root(spec, error) : status;
}

void sweep_spec_close(struct sweep_spec *spec)
{
    for (uint32_t i = 0; i < spec->column_count; i++) {
        free(spec->columns[i]);
    }
    for (uint32_t i = 0; i < spec->function_count; i++) {
        free(spec->functions[i].file);
    }
    free(spec->columns);
    free(spec->metrics);
    free(spec->seeds);
    free(spec->world_path);
    free(spec->world_text);
    oto_document_close(spec->document);
    free(spec->text);
    *spec = (struct sweep_spec){0};
}

/* ---- the hash ---- */

static enum oto_status hash_value(const struct oto_value *value, uint64_t *hash, struct oto_error *error)
{
    char *text = NULL;
    size_t length = 0;
    if (value == NULL) {
        *hash = oto_fnv1a64_more(*hash, "-", 1);
        return OTO_OK;
    }
    FILE *to = open_memstream(&text, &length);
    if (to == NULL) {
        return no_memory(error);
    }
    cli_value_yaml(to, value);
    const bool written = fclose(to) == 0;
    *hash = written ? oto_fnv1a64_more(*hash, text, length + 1) : *hash;
    free(text);
    return written ? OTO_OK : no_memory(error);
}

static enum oto_status hash_function(const struct sweep_function *function, uint64_t *hash, struct oto_error *error)
{
    char *text = NULL;
    size_t length = 0;
    const enum oto_status status = cli_read_file(function->file, &text, &length, error);
    if (status == OTO_OK) {
        *hash = oto_fnv1a64_more(*hash, text, length);
    }
    free(text);
    return status;
}

enum oto_status sweep_spec_hash(const struct sweep_spec *spec, uint64_t *hash, struct oto_error *error)
{
    const struct oto_value *const values[] = {spec->set, spec->vary, spec->draw, spec->metrics_place};
    const uint64_t numbers[] = {ROWS_VERSION, (uint64_t)spec->duration_ns, spec->first_seed, spec->seed_count};
    enum oto_status status = OTO_OK;
    *hash = oto_fnv1a64_more(OTO_FNV1A64_START, numbers, sizeof numbers);
    for (uint64_t i = 0; spec->seeds != NULL && i < spec->seed_count; i++) {
        *hash = oto_fnv1a64_more(*hash, &spec->seeds[i], sizeof spec->seeds[i]);
    }
    for (size_t i = 0; status == OTO_OK && i < sizeof values / sizeof *values; i++) {
        status = hash_value(values[i], hash, error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < spec->function_count; i++) {
        status = hash_function(&spec->functions[i], hash, error);
    }
    *hash = oto_fnv1a64_more(*hash, spec->world_text, spec->world_length);
    return status == OTO_OK ? cli_hash_plugins(spec->world_path, spec->world_text, spec->world_length, hash, error) : status;
}
