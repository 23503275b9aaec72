#include "document/internal.h"

struct setting {
    struct oto_document *document;
    const char *path; /* the path as the user wrote it */
    struct oto_error *error;
    struct oto_value *value; /* the value to set */
    bool from_file;          /* the value is part of the file; errors have its place */
};

static enum oto_status fail(struct setting *setting, enum oto_status status, const char *what, const char *word,
                            const char *more)
{
    if (setting->from_file)
        return oto_value_fail(setting->value, setting->error, status, "%s '%.80s'%s%.120s", what, word,
                              *more ? ", accepted: " : "", more);
    return oto_fail(setting->error, status, "--set %.200s: error: %s '%.80s'%s%.120s", setting->path, what, word,
                    *more ? ", accepted: " : "", more);
}

static enum oto_status no_memory(struct setting *setting)
{
    return oto_fail(setting->error, OTO_NO_MEMORY, "--set %.200s: error: out of memory", setting->path);
}

/* Stores a value in slot `at` of a container; the container grows by one if `at` equals its count. */
static enum oto_status put(struct setting *setting, struct oto_value *container, uint32_t at, const char *key,
                           size_t key_bytes, struct oto_value *value)
{
    struct doc_arena *arena = &setting->document->arena;
    if (at == container->count) {
        struct oto_value **items = doc_arena_alloc(arena, (at + 1) * sizeof(struct oto_value *));
        if (items == NULL)
            return no_memory(setting);
        if (at > 0)
            memcpy(items, container->items, at * sizeof(struct oto_value *));
        container->items = items;
        container->count++;
    }
    value->parent = container;
    value->key = key != NULL ? doc_arena_text(arena, key, key_bytes) : NULL;
    value->key_line = value->key_column = 0;
    container->items[at] = value;
    return key != NULL && value->key == NULL ? no_memory(setting) : OTO_OK;
}

/* Finds the longest run of path segments that is a key of the map, because a key may contain dots. */
static uint32_t find_key(const struct oto_value *map, const char *path, size_t *bytes)
{
    uint32_t best = map->count;
    size_t best_bytes = 0;
    for (uint32_t i = 0; i < map->count; i++) {
        size_t length = strlen(map->items[i]->key);
        if (length > best_bytes && strncmp(path, map->items[i]->key, length) == 0 &&
            (path[length] == '.' || path[length] == '\0')) {
            best = i;
            best_bytes = length;
        }
    }
    *bytes = best_bytes > 0 ? best_bytes : strcspn(path, ".");
    return best;
}

static bool is_named(const struct oto_value *item, const char *word, size_t bytes)
{
    const struct oto_value *name = oto_value_get(item, "name");
    return name != NULL && name->kind == OTO_VALUE_SCALAR && strlen(name->text) == bytes &&
           memcmp(name->text, word, bytes) == 0;
}

static void list_names(const struct oto_value *list, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < list->count && used + 1 < bytes; i++) {
        const struct oto_value *name = oto_value_get(list->items[i], "name");
        if (name != NULL && name->kind == OTO_VALUE_SCALAR)
            used += (size_t)snprintf(text + used, bytes - used, "%s%.40s", used > 0 ? ", " : "", name->text);
    }
    if (used == 0 && list->count > 0)
        (void)snprintf(text, bytes, "0 to %u", list->count - 1);
}

/* Finds an item of a list by its name, else by its index; "+" is the place after the last item. */
static enum oto_status find_member(struct setting *setting, const struct oto_value *list, const char *path,
                                   uint32_t *index, size_t *bytes)
{
    char word[24], names[120];
    uint64_t number = 0;
    *bytes = strcspn(path, ".");
    for (uint32_t i = 0; i < list->count; i++) {
        if (is_named(list->items[i], path, *bytes)) {
            *index = i;
            return OTO_OK;
        }
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)(*bytes < sizeof word ? *bytes : sizeof word - 1), path);
    if (doc_number_u64(word, &number) == DOC_NUMBER_OK && number < list->count) {
        *index = (uint32_t)number;
        return OTO_OK;
    }
    if (strcmp(word, "+") == 0) {
        *index = list->count;
        return OTO_OK;
    }
    list_names(list, names, sizeof names);
    return fail(setting, OTO_NOT_FOUND, "the list has no item", word, names);
}

static struct oto_value *empty_map(struct setting *setting)
{
    struct oto_value *map = doc_arena_alloc(&setting->document->arena, sizeof *map);
    if (map != NULL)
        *map = (struct oto_value){.kind = OTO_VALUE_MAP, .file = setting->value->file};
    return map;
}

/*
 * Follows one segment of the path. *container becomes the value that the rest of the path starts from, or NULL at the
 * end.
 */
static enum oto_status descend(struct setting *setting, struct oto_value **container, const char **path)
{
    struct oto_value *here = *container, *next = NULL;
    bool map = here->kind == OTO_VALUE_MAP;
    const char *segment = *path;
    uint32_t index = 0;
    size_t bytes = 0;
    if (map)
        index = find_key(here, segment, &bytes);
    else if (find_member(setting, here, segment, &index, &bytes) != OTO_OK)
        return OTO_NOT_FOUND;
    if (bytes == 0)
        return fail(setting, OTO_INVALID, "expected keys with one dot between, got", setting->path, "");
    bool last = segment[bytes] == '\0';
    *path = segment + bytes + !last;
    *container = NULL;
    if (!last) {
        next = index < here->count ? here->items[index] : NULL;
        if (next != NULL && next->kind != OTO_VALUE_SCALAR) {
            *container = next;
            return OTO_OK;
        }
        if (next != NULL && !oto_value_is_null(next))
            return fail(setting, OTO_INVALID, "nothing can be set inside the value", next->text, "");
        next = *container = empty_map(setting);
        if (next == NULL)
            return no_memory(setting);
    }
    return put(setting, here, index, map ? segment : NULL, bytes, last ? setting->value : next);
}

/* Parses the value of an override. Its place is the override, not a file. */
static enum oto_status parse_value(struct setting *setting, const char *yaml)
{
    char name[320];
    (void)snprintf(name, sizeof name, "--set %.300s", setting->path);
    enum oto_status status = doc_parse_tree(&setting->document->arena, name, yaml, strlen(yaml),
                                            &oto_document_default_limits, &setting->value, setting->error);
    if (status == OTO_OK && setting->value->kind == OTO_VALUE_SCALAR)
        setting->value->line = setting->value->column = 0;
    return status;
}

static enum oto_status put_below(struct setting *setting, struct oto_value *container)
{
    const char *path = setting->path;
    enum oto_status status = OTO_OK;
    size_t depth = 0;
    if (container->kind == OTO_VALUE_SCALAR)
        return fail(setting, OTO_INVALID, "nothing can be set inside the value", container->text, "");
    while (status == OTO_OK && container != NULL) {
        if (++depth > oto_document_default_limits.depth)
            return fail(setting, OTO_LIMIT, "a path with more than 32 keys, got", path, "");
        status = descend(setting, &container, &path);
    }
    return status;
}

enum oto_status oto_document_set(struct oto_document *document, const char *path, const char *yaml,
                                 struct oto_error *error)
{
    struct setting setting = {.document = document, .path = path, .error = error};
    const enum oto_status status = parse_value(&setting, yaml);
    return status == OTO_OK ? put_below(&setting, document->root) : status;
}

enum oto_status oto_document_move(struct oto_document *document, const struct oto_value *base, const char *path,
                                  const struct oto_value *value, struct oto_error *error)
{
    struct setting setting = {.document = document, .path = path, .error = error, .value = doc_own(value), .from_file = true};
    return put_below(&setting, doc_own(base));
}

char *oto_document_rewritable(struct oto_document *document, const struct oto_value *value, size_t bytes)
{
    char *text = doc_arena_alloc(&document->arena, bytes);
    if (text != NULL) {
        doc_own(value)->kind = OTO_VALUE_SCALAR;
        doc_own(value)->count = 0;
        doc_own(value)->quoted = false; /* "{i}" has quotes only because of YAML */
        doc_own(value)->text = text;
    }
    return text;
}
