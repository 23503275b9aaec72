#include "world/section.h"

#include <stdlib.h>

enum { MAX_KEYS = 24, NAMES_BYTES = 240 };

static const struct srv_key *find_key(const struct srv_section *section, const char *name)
{
    for (uint32_t i = 0; i < section->key_count; i++)
        if (strcmp(section->keys[i].name, name) == 0)
            return &section->keys[i];
    return NULL;
}

static enum oto_status unknown_key(const struct srv_section *section, const struct oto_value *value,
                                   struct oto_error *error)
{
    const char *names[MAX_KEYS];
    char list[NAMES_BYTES] = "";
    size_t count = 0, used = 0;
    for (uint32_t i = 0; i < section->key_count && count < MAX_KEYS; i++)
        if (section->keys[i].form != SRV_FORM_LATER)
            names[count++] = section->keys[i].name;
    const char *near = oto_nearest_word(value->key, names, count);
    if (near != NULL)
        return oto_value_fail_key(value, error, OTO_INVALID, "unknown key '%.64s' in %s: did you mean '%s'?",
                                  value->key, section->name, near);
    for (size_t i = 0; i < count && used + 1 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
    return oto_value_fail_key(value, error, OTO_INVALID, "unknown key '%.64s' in %s, accepted: %s", value->key,
                              section->name, list);
}

/* True if the key's section is a map whose keys are members of the same struct. */
static bool is_in_place(const struct srv_key *key)
{
    return key->section != NULL && key->form != SRV_FORM_MAP && key->form != SRV_FORM_LIST && key->form != SRV_FORM_SPREAD &&
           key->form != SRV_FORM_NAMED;
}

static enum oto_status read_key(const struct srv_key *key, const struct oto_value *value, void *target,
                                struct oto_problems *problems)
{
    if ((key->flags & SRV_KEY_MAY_BE_NULL) != 0 && oto_value_is_null(value))
        return OTO_OK;
    if (is_in_place(key) && value->kind == OTO_VALUE_MAP) {
        if (key->form == SRV_FORM_BOOL)
            *(bool *)((char *)target + key->offset) = true;
        return srv_section_read_all(key->section, value, target, problems);
    }
    if (key->words != NULL && value->kind == OTO_VALUE_SCALAR)
        return srv_word_read(key, value, target, problems->error);
    return srv_form_readers[key->form](key, value, target, problems->error);
}

static enum oto_status require_keys(const struct srv_section *section, const struct oto_value *map,
                                    struct oto_problems *problems)
{
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < section->key_count; i++) {
        const struct srv_key *key = &section->keys[i];
        if ((key->flags & SRV_KEY_REQUIRED) == 0 || oto_value_get(map, key->name) != NULL)
            continue;
        status = oto_value_fail(map, problems->error, OTO_INVALID, "the key '%s' is missing in %s: %s", key->name, section->name,
                                key->text);
        if (!oto_problems_note(problems, status))
            return status;
    }
    return status;
}

enum oto_status srv_section_read_all(const struct srv_section *section, const struct oto_value *map, void *target,
                                     struct oto_problems *problems)
{
    enum oto_status status = OTO_OK;
    char what[80];
    if (map->kind != OTO_VALUE_MAP) {
        (void)snprintf(what, sizeof what, "a map with the keys of %s", section->name);
        return oto_value_expected(map, problems->error, what);
    }
    for (uint32_t i = 0; i < map->count; i++) {
        const struct srv_key *key = find_key(section, map->items[i]->key);
        const enum oto_status read = key == NULL ? unknown_key(section, map->items[i], problems->error)
                                                 : read_key(key, map->items[i], target, problems);
        status = status == OTO_OK ? read : status;
        if (!oto_problems_note(problems, read))
            return status;
    }
    const enum oto_status required = require_keys(section, map, problems);
    return status == OTO_OK ? required : status;
}

enum oto_status srv_section_read(const struct srv_section *section, const struct oto_value *map, void *target,
                                 struct oto_error *error)
{
    struct oto_problems problems = {.error = error};
    return srv_section_read_all(section, map, target, &problems);
}

static void set_default(const struct srv_key *key, void *target)
{
    struct oto_value value = {.kind = OTO_VALUE_SCALAR, .file = "default", .key = key->name, .text = key->default_text};
    struct oto_problems problems = {0};
    if (key->form == SRV_FORM_VEC3 && *key->default_text == '[') {
        const char *at = key->default_text;
        for (size_t i = 0; i < 3; i++) {
            char *end = NULL;
            ((double *)(void *)((char *)target + key->offset))[i] = strtod(at + 1, &end);
            at = end;
        }
        return;
    }
    (void)read_key(key, &value, target, &problems);
}

void srv_section_defaults(const struct srv_section *section, void *target)
{
    for (uint32_t i = 0; i < section->key_count; i++) {
        const struct srv_key *key = &section->keys[i];
        if (key->default_text != NULL)
            set_default(key, target);
        if (is_in_place(key))
            srv_section_defaults(key->section, target);
    }
}
