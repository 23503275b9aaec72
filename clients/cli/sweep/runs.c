/* The world of a run by its number: seed, overrides, and values of the world file. */
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "draw_value.h"
#include "world/world_config.h"

uint64_t sweep_run_seed(const struct sweep_spec *spec, uint64_t run)
{
    const uint64_t index = run % spec->seed_count;
    return spec->seeds != NULL ? spec->seeds[index] : spec->first_seed + index;
}

uint32_t sweep_choice(const struct sweep_spec *spec, uint64_t combination, uint32_t item)
{
    for (uint32_t i = spec->vary->count - 1; i > item; i--) {
        combination /= spec->vary->items[i]->count;
    }
    return (uint32_t)(combination % spec->vary->items[item]->count);
}

/* ---- overrides ---- */

static enum oto_status no_memory(struct oto_error *error)
{
    return oto_fail(error, OTO_NO_MEMORY, "no memory for the values of a run");
}

static enum oto_status add_text(struct sweep_case *made, const char *path, const char *yaml, struct oto_error *error)
{
    if (asprintf(&made->overrides[made->count], "%s=%s", path, yaml) < 0) {
        return no_memory(error);
    }
    made->count++;
    return OTO_OK;
}

static enum oto_status add_value(struct sweep_case *made, const char *path, const struct oto_value *value, struct oto_error *error)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (to == NULL) {
        return no_memory(error);
    }
    cli_value_yaml(to, value);
    const enum oto_status status = fclose(to) == 0 ? add_text(made, path, text, error) : no_memory(error);
    free(text);
    return status;
}

static enum oto_status add_drawn(struct sweep_case *made, const struct oto_value *law, struct oto_error *error)
{
    char text[CLI_DRAWN_BYTES];
    const enum oto_status status = cli_draw_value(law, made->seed, text, sizeof text, error);
    return status == OTO_OK ? add_text(made, law->key, text, error) : status;
}

static uint32_t count_of(const struct oto_value *map)
{
    return map != NULL ? map->count : 0;
}

enum oto_status sweep_case_make(const struct sweep_spec *spec, uint64_t run, struct sweep_case *made, struct oto_error *error)
{
    const uint32_t sets = count_of(spec->set), lists = count_of(spec->vary), laws = count_of(spec->draw);
    enum oto_status status = OTO_OK;
    *made = (struct sweep_case){.run = run, .combination = run / spec->seed_count, .seed = sweep_run_seed(spec, run)};
    made->overrides = calloc(sets + lists + laws + 1, sizeof *made->overrides);
    if (made->overrides == NULL) {
        return no_memory(error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < sets; i++) {
        status = add_value(made, spec->set->items[i]->key, spec->set->items[i], error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < lists; i++) {
        const struct oto_value *list = spec->vary->items[i];
        status = add_value(made, list->key, list->items[sweep_choice(spec, made->combination, i)], error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < laws; i++) {
        status = add_drawn(made, spec->draw->items[i], error);
    }
    return status;
}

void sweep_case_finish(struct sweep_case *made)
{
    for (uint32_t i = 0; i < made->count; i++) {
        free(made->overrides[i]);
    }
    free(made->overrides);
    *made = (struct sweep_case){0};
}

const char *sweep_case_value(const struct sweep_case *made, uint32_t index)
{
    return strchr(made->overrides[index], '=') + 1;
}

/* ---- values of the world file ---- */

/* One step of a path: finds an item of a list by `name` or index, or a value of a map by key. *path moves behind the step. */
static const struct oto_value *descend(const struct oto_value *here, const char **path)
{
    char word[256];
    const size_t bytes = strcspn(*path, ".");
    (void)snprintf(word, sizeof word, "%.*s", (int)bytes, *path);
    *path += bytes + ((*path)[bytes] == '.');
    if (here->kind == OTO_VALUE_MAP) {
        return oto_value_get(here, word);
    }
    for (uint32_t i = 0; here->kind == OTO_VALUE_LIST && i < here->count; i++) {
        const struct oto_value *name = oto_value_get(here->items[i], "name");
        if (name != NULL && name->kind == OTO_VALUE_SCALAR && strcmp(name->text, word) == 0) {
            return here->items[i];
        }
    }
    char *end;
    const unsigned long index = strtoul(word, &end, 10);
    return here->kind == OTO_VALUE_LIST && *end == '\0' && end != word && index < here->count ? here->items[index] : NULL;
}

enum oto_status sweep_world_number(const struct sweep_spec *spec, const struct sweep_case *made, const struct sweep_reference *at,
                                   double *number, struct oto_error *error)
{
    struct oto_document *document;
    enum oto_status status = oto_document_parse(spec->world_path, spec->world_text, spec->world_length, NULL, &document, error);
    if (status != OTO_OK) {
        return status;
    }
    status = srv_defaults_apply(document, error);
    for (uint32_t i = 0; status == OTO_OK && i < made->count; i++) {
        char path[1024];
        const char *value = sweep_case_value(made, i);
        (void)snprintf(path, sizeof path, "%.*s", (int)(value - made->overrides[i] - 1), made->overrides[i]);
        status = oto_document_set(document, path, value, error);
    }
    const struct oto_value *here = oto_document_root(document);
    for (const char *path = at->path; status == OTO_OK && here != NULL && *path != '\0';) {
        here = descend(here, &path);
    }
    if (status == OTO_OK) {
        struct oto_error why = {0};
        status = here == NULL ? oto_value_fail(at->place, error, OTO_NOT_FOUND, "the world file has no value at '%.200s'", at->path)
                              : oto_value_f64(here, number, &why);
        if (why.status != OTO_OK) {
            status = oto_value_fail(at->place, error, why.status, "%s", why.text);
        }
    }
    oto_document_close(document);
    return status;
}

/* ---- places of errors ---- */

static bool names_path(const char *message, const char *path)
{
    const size_t length = strlen(path);
    for (const char *at = strstr(message, path); at != NULL; at = strstr(at + 1, path)) {
        if (strchr(" .:=", at[length]) != NULL) {
            return true;
        }
    }
    return false;
}

void sweep_place_error(const struct sweep_spec *spec, uint64_t run, struct oto_error *error)
{
    const struct oto_value *const maps[] = {spec->set, spec->vary, spec->draw};
    const struct oto_error why = *error;
    const char *set = strncmp(why.text, "--set ", 6) == 0 ? strstr(why.text, ": error: ") : NULL;
    const char *sentence = set != NULL ? set + strlen(": error: ") : why.text; /* without the leading "--set …" */
    for (size_t m = 0; m < 3; m++) {
        for (uint32_t i = 0; i < count_of(maps[m]); i++) {
            const struct oto_value *value = maps[m]->items[i];
            if (names_path(why.text, value->key)) {
                const struct oto_value *place = m == 1 ? value->items[sweep_choice(spec, run / spec->seed_count, i)] : value;
                (void)oto_value_fail(place, error, why.status, "%s", sentence);
                return;
            }
        }
    }
}
