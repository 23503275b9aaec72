/* Completes a value of a document by another one: what `defaults` of a world file are made of. [loop] */
#include "document/internal.h"

/* Pairs of keys are compared, so the number of those on one side is limited. */
enum { MOST_ITEMS = 1000 };

struct completion {
    struct oto_document *document;
    struct oto_error *error;
};

static enum oto_status no_memory(const struct completion *completion, const struct oto_value *value)
{
    return oto_value_fail(value, completion->error, OTO_NO_MEMORY, "out of memory");
}

static enum oto_status copy(struct completion *completion, const struct oto_value *from, const struct oto_value *parent,
                            struct oto_value **made)
{
    struct doc_arena *arena = &completion->document->arena;
    struct oto_value *value = doc_arena_alloc(arena, sizeof *value);
    struct oto_value **items = doc_arena_alloc(arena, from->count * sizeof(struct oto_value *) + 1);
    enum oto_status status = OTO_OK;
    if (value == NULL || items == NULL)
        return no_memory(completion, from);
    if (++completion->document->copied > oto_document_default_limits.nodes)
        return oto_value_fail(from, completion->error, OTO_LIMIT,
                              "more than %zu values with those of `defaults`, the most that is accepted: use `count` for vehicles "
                              "that are alike", oto_document_default_limits.nodes);
    *value = *from;
    value->items = items;
    value->parent = parent;
    for (uint32_t i = 0; i < from->count && status == OTO_OK; i++)
        status = copy(completion, from->items[i], value, &items[i]);
    *made = value;
    return status;
}

/* What identifies an item: its key in a map, its `name` in a list; NULL: nothing. */
static const char *id_of(const struct oto_value *item)
{
    const struct oto_value *name = item->key == NULL ? oto_value_get(item, "name") : NULL;
    return item->key != NULL ? item->key : name != NULL && name->kind == OTO_VALUE_SCALAR ? name->text : NULL;
}

static struct oto_value *find(const struct oto_value *container, const char *id)
{
    for (uint32_t i = 0; i < container->count; i++)
        if (strcmp(id_of(container->items[i]), id) == 0)
            return container->items[i];
    return NULL;
}

/* Maps, and lists in which every item is a map with a name. */
static bool has_ids(const struct oto_value *value)
{
    bool has = value->kind != OTO_VALUE_SCALAR;
    for (uint32_t i = 0; i < value->count && has; i++)
        has = id_of(value->items[i]) != NULL;
    return has;
}

static enum oto_status complete(struct completion *completion, struct oto_value *value, const struct oto_value *from);

/*
 * Takes the value's own item, completed by the other; without an own item, a copy of the other. An own null removes the
 * item.
 */
static enum oto_status take(struct completion *completion, struct oto_value *value, const struct oto_value *item,
                            struct oto_value **items, uint32_t *count)
{
    struct oto_value *own = find(value, id_of(item));
    if (own == NULL)
        return copy(completion, item, value, &items[(*count)++]);
    if (oto_value_is_null(own))
        return OTO_OK;
    items[(*count)++] = own;
    return own->kind == item->kind && has_ids(own) && has_ids(item) ? complete(completion, own, item) : OTO_OK;
}

static enum oto_status complete(struct completion *completion, struct oto_value *value, const struct oto_value *from)
{
    const size_t room = (size_t)value->count + from->count;
    struct oto_value **items = doc_arena_alloc(&completion->document->arena, room * sizeof(struct oto_value *) + 1);
    enum oto_status status = OTO_OK;
    uint32_t count = 0;
    if (items == NULL)
        return no_memory(completion, value);
    if (from->count > MOST_ITEMS)
        return oto_value_fail(from, completion->error, OTO_LIMIT, "%u keys or items of a default, at most %d are accepted",
                              from->count, MOST_ITEMS);
    for (uint32_t i = 0; i < from->count && status == OTO_OK; i++)
        status = take(completion, value, from->items[i], items, &count);
    for (uint32_t i = 0; i < value->count && status == OTO_OK; i++) {
        struct oto_value *own = value->items[i];
        const bool taken = find(from, id_of(own)) != NULL && find(value, id_of(own)) == own;
        if (!taken)
            items[count++] = own; /* also a second item of the same name, which the reader refuses later */
    }
    value->items = items;
    value->count = count;
    return status;
}

enum oto_status oto_document_complete(struct oto_document *document, const struct oto_value *value, const struct oto_value *from,
                                      struct oto_error *error)
{
    struct completion completion = {document, error};
    return complete(&completion, doc_own(value), from);
}
