#include "document/internal.h"

#include <stdlib.h>

enum oto_status doc_builder_init(struct doc_builder *builder, struct doc_arena *arena, const char *file,
                                 const struct oto_document_limits *limits, struct oto_error *error)
{
    *builder = (struct doc_builder){.arena = arena, .limits = *limits, .error = error, .file = file};
    builder->frames = calloc(limits->depth + 1, sizeof *builder->frames);
    return builder->frames != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "out of memory while reading %s", file);
}

void doc_builder_finish(struct doc_builder *builder)
{
    for (size_t i = 0; builder->frames != NULL && i <= builder->limits.depth; i++)
        free(builder->frames[i].items);
    free(builder->frames);
    builder->frames = NULL;
}

static enum oto_status no_memory(struct doc_builder *builder)
{
    return oto_fail(builder->error, OTO_NO_MEMORY, "out of memory while reading %s", builder->file);
}

static struct doc_frame *top_frame(const struct doc_builder *builder)
{
    return builder->depth > 0 ? &builder->frames[builder->depth - 1] : NULL;
}

/* Adds a value to the list or map that is open, or makes it the root. */
static enum oto_status add(struct doc_builder *builder, struct doc_place place, enum oto_value_kind kind,
                           struct oto_value **added)
{
    struct doc_frame *frame = top_frame(builder);
    if (++builder->nodes > builder->limits.nodes)
        return doc_fail(place, builder->error, OTO_LIMIT, "more than %zu values, the most that is accepted",
                        builder->limits.nodes);
    struct oto_value *value = doc_arena_alloc(builder->arena, sizeof *value);
    if (value == NULL)
        return no_memory(builder);
    *value = (struct oto_value){.kind = kind, .file = builder->file, .line = place.line, .column = place.column};
    *added = value;
    if (frame == NULL) {
        builder->root = value;
        return OTO_OK;
    }
    if (frame->value->count == frame->capacity) {
        uint32_t capacity = frame->capacity == 0 ? 8 : 2 * frame->capacity;
        struct oto_value **items = realloc(frame->items, capacity * sizeof(struct oto_value *));
        if (items == NULL)
            return no_memory(builder);
        frame->items = items;
        frame->capacity = capacity;
    }
    value->parent = frame->value;
    value->key = frame->key;
    value->key_line = frame->key_line;
    value->key_column = frame->key_column;
    frame->items[frame->value->count++] = value;
    frame->key = NULL;
    frame->has_key = false;
    return OTO_OK;
}

static enum oto_status take_key(struct doc_builder *builder, struct doc_frame *frame, struct doc_place place,
                                const char *text, size_t bytes, bool quoted)
{
    if (!quoted && bytes == 2 && memcmp(text, "<<", 2) == 0)
        return doc_fail(place, builder->error, OTO_SYNTAX, "merge keys (<<) are not accepted: write the keys out, or once under `defaults:` of a world");
    if (bytes == 0)
        return doc_fail(place, builder->error, OTO_SYNTAX, "a key is missing before the ':'");
    if (++builder->nodes > builder->limits.nodes)
        return doc_fail(place, builder->error, OTO_LIMIT, "more than %zu values, the most that is accepted",
                        builder->limits.nodes);
    frame->key = doc_arena_text(builder->arena, text, bytes);
    frame->key_line = place.line;
    frame->key_column = place.column;
    frame->has_key = true;
    return frame->key != NULL ? OTO_OK : no_memory(builder);
}

enum oto_status doc_builder_scalar(struct doc_builder *builder, struct doc_place place, const char *text, size_t bytes,
                                   bool quoted)
{
    struct doc_frame *frame = top_frame(builder);
    struct oto_value *value = NULL;
    bool wants_key = frame != NULL && frame->value->kind == OTO_VALUE_MAP && !frame->has_key;
    if (place.line == 0 && frame != NULL) {
        /*
         * An empty scalar has no place of its own. It gets the place of its key, or of the list or map that contains
         * it.
         */
        place.line = frame->has_key ? frame->key_line : frame->value->line;
        place.column = frame->has_key ? frame->key_column : frame->value->column;
    }
    if (bytes > builder->limits.text_bytes)
        return doc_fail(place, builder->error, OTO_LIMIT, "a text of more than %zu bytes, the most that is accepted",
                        builder->limits.text_bytes);
    if (bytes > 0 && memchr(text, '\0', bytes) != NULL)
        return doc_fail(place, builder->error, OTO_SYNTAX, "a text must not hold the character \\0");
    if (wants_key)
        return take_key(builder, frame, place, text, bytes, quoted);
    enum oto_status status = add(builder, place, OTO_VALUE_SCALAR, &value);
    if (status != OTO_OK)
        return status;
    value->quoted = quoted;
    value->text = doc_arena_text(builder->arena, text, bytes);
    return value->text != NULL ? OTO_OK : no_memory(builder);
}

enum oto_status doc_builder_open(struct doc_builder *builder, struct doc_place place, enum oto_value_kind kind)
{
    struct doc_frame *frame = top_frame(builder);
    struct oto_value *value = NULL;
    if (frame != NULL && frame->value->kind == OTO_VALUE_MAP && !frame->has_key)
        return doc_fail(place, builder->error, OTO_SYNTAX, "expected a word as key, got a %s",
                        kind == OTO_VALUE_MAP ? "map" : "list");
    if (builder->depth == builder->limits.depth)
        return doc_fail(place, builder->error, OTO_LIMIT, "nested deeper than %zu, the most that is accepted",
                        builder->limits.depth);
    enum oto_status status = add(builder, place, kind, &value);
    if (status != OTO_OK)
        return status;
    frame = &builder->frames[builder->depth++];
    frame->value = value;
    frame->key = NULL;
    frame->has_key = false;
    return OTO_OK;
}

static int by_key_then_place(const void *a, const void *b)
{
    const struct oto_value *first = *(struct oto_value *const *)a, *second = *(struct oto_value *const *)b;
    int order = strcmp(first->key, second->key);
    if (order == 0)
        order = (first->key_line > second->key_line) - (first->key_line < second->key_line);
    return order != 0 ? order : (first->key_column > second->key_column) - (first->key_column < second->key_column);
}

/* Sorts a copy of the keys. libfyaml's own check compares each pair, which takes minutes for 100 000 keys. */
static enum oto_status refuse_duplicates(struct doc_builder *builder, const struct doc_frame *frame)
{
    uint32_t count = frame->value->count;
    enum oto_status status = OTO_OK;
    if (count < 2)
        return OTO_OK;
    struct oto_value **sorted = malloc(count * sizeof(struct oto_value *));
    if (sorted == NULL)
        return no_memory(builder);
    memcpy(sorted, frame->items, count * sizeof(struct oto_value *));
    qsort(sorted, count, sizeof(struct oto_value *), by_key_then_place);
    for (uint32_t i = 1; i < count && status == OTO_OK; i++) {
        const struct oto_value *first = sorted[i - 1], *second = sorted[i];
        if (strcmp(first->key, second->key) == 0)
            status = doc_fail((struct doc_place){builder->file, second->key_line, second->key_column}, builder->error,
                              OTO_SYNTAX, "duplicate key '%.64s', first at %u:%u", second->key, first->key_line,
                              first->key_column);
    }
    free(sorted);
    return status;
}

enum oto_status doc_builder_close(struct doc_builder *builder)
{
    struct doc_frame *frame = top_frame(builder);
    struct oto_value *value = frame->value;
    enum oto_status status = OTO_OK;
    if (value->kind == OTO_VALUE_MAP)
        status = refuse_duplicates(builder, frame);
    if (status != OTO_OK)
        return status;
    value->items = doc_arena_alloc(builder->arena, value->count * sizeof(struct oto_value *) + 1);
    if (value->items == NULL)
        return no_memory(builder);
    if (value->count > 0)
        memcpy(value->items, frame->items, value->count * sizeof(struct oto_value *));
    builder->depth--;
    return OTO_OK;
}

bool doc_builder_inside(const struct doc_builder *builder, struct doc_place *place, enum oto_value_kind *kind)
{
    const struct doc_frame *frame = top_frame(builder);
    if (frame == NULL || frame->value->parent == NULL)
        return false;
    *place = (struct doc_place){builder->file, frame->value->line, frame->value->column};
    *kind = frame->value->kind;
    return true;
}
