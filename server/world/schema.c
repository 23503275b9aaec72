#include "world/schema.h"

#include <stdlib.h>

#include "base/json_text.h"
#include "world/world_config.h"

void srv_json_name(struct srv_json *json, const char *name)
{
    (void)fprintf(json->out, "%s\n%*s", json->first ? "" : ",", 2 * json->depth, "");
    json->first = false;
    if (name != NULL)
        (void)fprintf(json->out, "\"%s\": ", name);
}

void srv_json_open(struct srv_json *json, const char *name, char bracket)
{
    if (json->depth > 0)
        srv_json_name(json, name);
    (void)fputc(bracket, json->out);
    json->depth++;
    json->first = true;
}

void srv_json_close(struct srv_json *json, char bracket)
{
    json->depth--;
    (void)fprintf(json->out, "\n%*s%c", 2 * json->depth, "", bracket);
    json->first = false;
}

void srv_json_text(struct srv_json *json, const char *name, const char *text)
{
    srv_json_name(json, name);
    oto_json_text(json->out, text);
}

void srv_json_raw(struct srv_json *json, const char *name, const char *text)
{
    srv_json_name(json, name);
    (void)fputs(text, json->out);
}

void srv_json_number(struct srv_json *json, const char *name, double number)
{
    srv_json_name(json, name);
    (void)fprintf(json->out, "%.10g", number);
}

static void write_words(struct srv_json *json, const struct srv_key *key)
{
    srv_json_open(json, "enum", '[');
    for (uint32_t i = 0; i < key->word_count; i++)
        if (key->words[i].refused == NULL)
            srv_json_text(json, NULL, key->words[i].name);
    srv_json_close(json, ']');
}

static bool has_words(const struct srv_key *key)
{
    for (uint32_t i = 0; i < key->word_count; i++)
        if (key->words[i].refused == NULL)
            return true;
    return false;
}

/* Writes the schema of a value in each form that it may have. */
static void write_alternatives(struct srv_json *json, const struct srv_key *key)
{
    srv_json_open(json, "anyOf", '[');
    if (has_words(key)) {
        srv_json_open(json, NULL, '{');
        write_words(json, key);
        srv_json_close(json, '}');
    }
    if (key->form != SRV_FORM_WORD) {
        srv_json_open(json, NULL, '{');
        srv_schema_form(json, key);
        srv_json_close(json, '}');
    }
    if (key->section != NULL) {
        srv_json_open(json, NULL, '{');
        srv_schema_section(json, key->section);
        srv_json_close(json, '}');
    }
    srv_json_close(json, ']');
}

static void write_default(struct srv_json *json, const struct srv_key *key)
{
    const char *text = key->default_text;
    bool literal = strspn(text, "0123456789.-+e") == strlen(text) || *text == '[' || key->form == SRV_FORM_BOOL;
    if (literal && key->form != SRV_FORM_DATE)
        srv_json_raw(json, "default", text);
    else
        srv_json_text(json, "default", text);
}

static void write_key(struct srv_json *json, const struct srv_key *key)
{
    char text[240];
    bool in_place = key->form == SRV_FORM_BOOL || key->form == SRV_FORM_WORD;
    srv_json_open(json, key->name, '{');
    (void)snprintf(text, sizeof text, "%s%s%s%s", key->text, key->unit != NULL ? " [" : "",
                   key->unit != NULL ? key->unit : "", key->unit != NULL ? "]" : "");
    srv_json_text(json, "description", text);
    if ((key->section != NULL && in_place) || (has_words(key) && key->form != SRV_FORM_WORD))
        write_alternatives(json, key);
    else if (key->form == SRV_FORM_WORD)
        write_words(json, key);
    else
        srv_schema_form(json, key);
    if (key->default_text != NULL)
        write_default(json, key);
    srv_json_close(json, '}');
}

static void write_required(struct srv_json *json, const struct srv_section *section)
{
    bool any = false;
    for (uint32_t i = 0; i < section->key_count; i++) {
        if ((section->keys[i].flags & (SRV_KEY_REQUIRED | SRV_KEY_OF_DEFAULTS)) != SRV_KEY_REQUIRED)
            continue;
        if (!any)
            srv_json_open(json, "required", '[');
        any = true;
        srv_json_text(json, NULL, section->keys[i].name);
    }
    if (any)
        srv_json_close(json, ']');
}

void srv_schema_part(struct srv_json *json, const struct srv_section *section)
{
    srv_json_text(json, "type", "object");
    srv_json_raw(json, "additionalProperties", "false");
    srv_json_open(json, "properties", '{');
    for (uint32_t i = 0; i < section->key_count; i++)
        if (section->keys[i].form != SRV_FORM_LATER)
            write_key(json, &section->keys[i]);
    srv_json_close(json, '}');
}

void srv_schema_section(struct srv_json *json, const struct srv_section *section)
{
    srv_schema_part(json, section);
    write_required(json, section);
}

char *srv_world_config_schema(void)
{
    char *text = NULL;
    size_t bytes = 0;
    struct srv_json json = {.out = open_memstream(&text, &bytes)};
    if (json.out == NULL)
        return NULL;
    srv_json_open(&json, NULL, '{');
    srv_json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    srv_json_text(&json, "title", srv_section_world.text);
    srv_schema_section(&json, &srv_section_world);
    srv_json_close(&json, '}');
    (void)fputc('\n', json.out);
    if (fclose(json.out) == 0)
        return text;
    free(text);
    return NULL;
}
