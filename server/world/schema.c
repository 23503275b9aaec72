#include "world/schema.h"

#include "base/json.h"
#include "world/world_config.h"

static void write_words(struct oto_json *json, const struct srv_key *key)
{
    oto_json_open(json, "enum", '[');
    for (uint32_t i = 0; i < key->word_count; i++)
        if (key->words[i].refused == NULL)
            oto_json_text(json, NULL, key->words[i].name);
    oto_json_close(json, ']');
}

static bool has_words(const struct srv_key *key)
{
    for (uint32_t i = 0; i < key->word_count; i++)
        if (key->words[i].refused == NULL)
            return true;
    return false;
}

/* Writes the schema of a value in each form that it may have. */
static void write_alternatives(struct oto_json *json, const struct srv_key *key)
{
    oto_json_open(json, "anyOf", '[');
    if (has_words(key)) {
        oto_json_open(json, NULL, '{');
        write_words(json, key);
        oto_json_close(json, '}');
    }
    if (key->form != SRV_FORM_WORD) {
        oto_json_open(json, NULL, '{');
        srv_schema_form(json, key);
        oto_json_close(json, '}');
    }
    if (key->section != NULL) {
        oto_json_open(json, NULL, '{');
        srv_schema_section(json, key->section);
        oto_json_close(json, '}');
    }
    oto_json_close(json, ']');
}

static void write_default(struct oto_json *json, const struct srv_key *key)
{
    const char *text = key->default_text;
    bool literal = strspn(text, "0123456789.-+e") == strlen(text) || *text == '[' || key->form == SRV_FORM_BOOL;
    if (literal && key->form != SRV_FORM_DATE)
        oto_json_format(json, "default", "%s", text);
    else
        oto_json_text(json, "default", text);
}

static void write_key(struct oto_json *json, const struct srv_key *key)
{
    char text[240];
    bool in_place = key->form == SRV_FORM_BOOL || key->form == SRV_FORM_WORD;
    oto_json_open(json, key->name, '{');
    (void)snprintf(text, sizeof text, "%s%s%s%s", key->text, key->unit != NULL ? " [" : "",
                   key->unit != NULL ? key->unit : "", key->unit != NULL ? "]" : "");
    oto_json_text(json, "description", text);
    if ((key->section != NULL && in_place) || (has_words(key) && key->form != SRV_FORM_WORD))
        write_alternatives(json, key);
    else if (key->form == SRV_FORM_WORD)
        write_words(json, key);
    else
        srv_schema_form(json, key);
    if (key->default_text != NULL)
        write_default(json, key);
    oto_json_close(json, '}');
}

static void write_required(struct oto_json *json, const struct srv_section *section)
{
    bool any = false;
    for (uint32_t i = 0; i < section->key_count; i++) {
        if ((section->keys[i].flags & (SRV_KEY_REQUIRED | SRV_KEY_OF_DEFAULTS)) != SRV_KEY_REQUIRED)
            continue;
        if (!any)
            oto_json_open(json, "required", '[');
        any = true;
        oto_json_text(json, NULL, section->keys[i].name);
    }
    if (any)
        oto_json_close(json, ']');
}

void srv_schema_part(struct oto_json *json, const struct srv_section *section)
{
    oto_json_text(json, "type", "object");
    oto_json_flag(json, "additionalProperties", false);
    oto_json_open(json, "properties", '{');
    for (uint32_t i = 0; i < section->key_count; i++)
        if (section->keys[i].form != SRV_FORM_LATER)
            write_key(json, &section->keys[i]);
    oto_json_close(json, '}');
}

void srv_schema_section(struct oto_json *json, const struct srv_section *section)
{
    srv_schema_part(json, section);
    write_required(json, section);
}

char *srv_world_config_schema(void)
{
    struct oto_json json = {.layout = OTO_JSON_INDENTED};
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    oto_json_text(&json, "title", srv_section_world.text);
    srv_schema_section(&json, &srv_section_world);
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
    if (!json.failed)
        return json.text;
    oto_json_free(&json);
    return NULL;
}
