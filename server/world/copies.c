#include "world/copies.h"

#include <stdlib.h>

#include "world/section.h"

#define INDEX "{i}"
enum { INDEX_BYTES = sizeof INDEX - 1, NUMBER_BYTES = 32 };

/* A value that depends on the index: a number by a rule, or a text with "{i}". */
struct srv_copies_slot {
    const struct oto_value *value;
    const char *pattern; /* NULL: `rule` applies */
    struct srv_spread_rule rule;
    char *text; /* text of the value, written again for each vehicle */
    size_t bytes;
};

struct maker {
    struct oto_document *document;
    struct srv_copies *copies;
    struct oto_error *error;
};

static enum oto_status no_memory(const struct maker *maker)
{
    return oto_value_fail(maker->copies->map, maker->error, OTO_NO_MEMORY, "out of memory");
}

static enum oto_status add_slot(struct maker *maker, struct srv_copies_slot slot)
{
    struct srv_copies *copies = maker->copies;
    struct srv_copies_slot *slots = realloc(copies->slots, (copies->slot_count + 1) * sizeof *slots);
    if (slots == NULL)
        return no_memory(maker);
    copies->slots = slots;
    slot.text = oto_document_rewritable(maker->document, slot.value, slot.bytes);
    if (slot.text == NULL)
        return no_memory(maker);
    slots[copies->slot_count++] = slot;
    return OTO_OK;
}

/* ---- spread ---- */

static enum oto_status add_rule(struct maker *maker, const struct oto_value *value)
{
    struct srv_copies_slot slot = {.value = value, .bytes = NUMBER_BYTES};
    srv_section_defaults(&srv_section_spread, &slot.rule);
    const enum oto_status status = srv_section_read(&srv_section_spread, value, &slot.rule, maker->error);
    return status == OTO_OK ? add_slot(maker, slot) : status;
}

/* Reads a rule, or a list of rules and numbers for a parameter of several numbers. */
static enum oto_status add_spread(struct maker *maker, const struct oto_value *value)
{
    enum oto_status status = OTO_OK;
    if (value->kind == OTO_VALUE_MAP)
        return add_rule(maker, value);
    if (value->kind != OTO_VALUE_LIST)
        return oto_value_expected(value, maker->error, "a rule {first, step, every, wrap}, or a list of rules and numbers");
    for (uint32_t i = 0; i < value->count && status == OTO_OK; i++)
        if (value->items[i]->kind == OTO_VALUE_MAP)
            status = add_rule(maker, value->items[i]);
    return status;
}

static enum oto_status move_spread(struct maker *maker, const struct oto_value *spread)
{
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; spread != NULL && i < spread->count && status == OTO_OK; i++) {
        const struct oto_value *value = spread->items[i];
        const char *path = value->key;
        if (strncmp(path, "motion.", 7) != 0 && strncmp(path, "nodes.", 6) != 0 && strncmp(path, "vibration.", 10) != 0)
            return oto_value_fail_key(value, maker->error, OTO_INVALID,
                                      "spread of '%.96s': expected a path below motion, nodes or vibration, such as "
                                      "motion.params.position_enu_m or nodes.imu.unit", path);
        status = add_spread(maker, value);
        if (status == OTO_OK)
            status = oto_document_move(maker->document, maker->copies->map, path, value, maker->error);
    }
    return status;
}

/* ---- texts ---- */

static size_t room_for(const char *pattern)
{
    size_t bytes = strlen(pattern) + 1;
    for (const char *at = pattern; (at = strstr(at, INDEX)) != NULL; at += INDEX_BYTES)
        bytes += SRV_INDEX_DIGITS;
    return bytes;
}

/* Recursive, which is safe because the depth of a document is limited. */
static enum oto_status find_texts(struct maker *maker, const struct oto_value *value)
{
    enum oto_status status = OTO_OK;
    if (value->kind == OTO_VALUE_SCALAR && value->text != NULL && strstr(value->text, INDEX) != NULL)
        return add_slot(maker, (struct srv_copies_slot){.value = value, .pattern = value->text, .bytes = room_for(value->text)});
    for (uint32_t i = 0; i < value->count && status == OTO_OK; i++)
        status = find_texts(maker, value->items[i]);
    return status;
}

static void write_text(struct srv_copies_slot *slot, uint32_t index)
{
    const char *at = slot->pattern, *found;
    size_t used = 0;
    while ((found = strstr(at, INDEX)) != NULL) {
        used += (size_t)snprintf(slot->text + used, slot->bytes - used, "%.*s%u", (int)(found - at), at, index);
        at = found + INDEX_BYTES;
    }
    (void)snprintf(slot->text + used, slot->bytes - used, "%s", at);
}

static void write_number(struct srv_copies_slot *slot, uint32_t index)
{
    const struct srv_spread_rule *rule = &slot->rule;
    const uint32_t group = index / rule->every, turn = rule->wrap > 0 ? group % rule->wrap : group;
    (void)snprintf(slot->text, slot->bytes, "%.17g", rule->first + rule->step * turn);
}

/* ---- the entry ---- */

enum oto_status srv_copies_make(struct oto_document *document, const struct oto_value *map, const struct srv_raw_vehicle *raw,
                                struct srv_copies *copies, struct oto_error *error)
{
    const struct oto_value *const parts[] = {raw->motion, raw->nodes, raw->vibration};
    struct maker maker = {document, copies, error};
    *copies = (struct srv_copies){.map = map, .count = raw->count};
    if (raw->count == 0)
        return raw->spread == NULL ? OTO_OK
                                   : oto_value_fail_key(raw->spread, error, OTO_INVALID, "`spread` needs a `count`");
    if (strlen(raw->name) + 1 + SRV_INDEX_DIGITS >= SRV_NAME_BYTES)
        return oto_value_fail(oto_value_get(map, "name"), error, OTO_LIMIT,
                              "the name '%s' with its index is longer than %d bytes", raw->name, SRV_NAME_BYTES - 1);
    enum oto_status status = move_spread(&maker, raw->spread);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == OTO_OK; i++)
        if (parts[i] != NULL)
            status = find_texts(&maker, parts[i]);
    return status;
}

void srv_copies_finish(struct srv_copies *copies)
{
    free(copies->slots);
    *copies = (struct srv_copies){0};
}

uint32_t srv_copies_count(const struct srv_copies *copies)
{
    return copies->count > 0 ? copies->count : 1;
}

void srv_copies_name(const struct srv_copies *copies, const char *name, uint32_t index, char text[SRV_NAME_BYTES])
{
    if (copies->count > 0)
        (void)snprintf(text, SRV_NAME_BYTES, "%.26s_%0*u", name, SRV_INDEX_DIGITS, index);
    else
        (void)snprintf(text, SRV_NAME_BYTES, "%.31s", name);
}

void srv_copies_select(const struct srv_copies *copies, uint32_t index)
{
    for (uint32_t i = 0; i < copies->slot_count; i++) {
        struct srv_copies_slot *slot = &copies->slots[i];
        if (slot->pattern != NULL)
            write_text(slot, index);
        else
            write_number(slot, index);
    }
}

bool srv_copies_vary(const struct srv_copies *copies, const struct oto_value *part)
{
    for (uint32_t i = 0; i < copies->slot_count; i++)
        for (const struct oto_value *at = copies->slots[i].value; at != NULL; at = at->parent)
            if (at == part)
                return true;
    return false;
}
