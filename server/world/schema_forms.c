#include "world/schema.h"

static void write_bounds(struct srv_json *json, const struct srv_key *key)
{
    if (!(key->minimum < key->maximum))
        return;
    srv_json_number(json, (key->flags & SRV_KEY_OPEN_MIN) != 0 ? "exclusiveMinimum" : "minimum", key->minimum);
    srv_json_number(json, "maximum", key->maximum);
}

static void write_number(struct srv_json *json, const struct srv_key *key)
{
    srv_json_text(json, "type", "number");
    write_bounds(json, key);
}

static void write_integer(struct srv_json *json, const struct srv_key *key)
{
    srv_json_text(json, "type", "integer");
    write_bounds(json, key);
}

static void write_u64(struct srv_json *json, const struct srv_key *key)
{
    (void)key;
    srv_json_text(json, "type", "integer");
    srv_json_raw(json, "minimum", "0");
    srv_json_raw(json, "maximum", "18446744073709551615");
}

static void write_rate(struct srv_json *json, const struct srv_key *key)
{
    srv_json_open(json, "anyOf", '[');
    srv_json_open(json, NULL, '{');
    write_number(json, key);
    srv_json_close(json, '}');
    srv_json_open(json, NULL, '{');
    srv_json_text(json, "type", "string");
    srv_json_text(json, "pattern", "^[0-9]+/[0-9]+$");
    srv_json_close(json, '}');
    srv_json_close(json, ']');
}

static void write_bool(struct srv_json *json, const struct srv_key *key)
{
    (void)key;
    srv_json_text(json, "type", "boolean");
}

static void write_text(struct srv_json *json, const struct srv_key *key)
{
    (void)key;
    srv_json_text(json, "type", "string");
    srv_json_raw(json, "minLength", "1");
}

static void write_name(struct srv_json *json, const struct srv_key *key)
{
    char pattern[48];
    (void)snprintf(pattern, sizeof pattern, "^[A-Za-z0-9_-]{1,%u}$", key->bytes - 1);
    srv_json_text(json, "type", "string");
    srv_json_text(json, "pattern", pattern);
}

static void write_topic(struct srv_json *json, const struct srv_key *key)
{
    char pattern[48];
    (void)snprintf(pattern, sizeof pattern, "^[!-~]{1,%u}$", key->bytes - 1);
    srv_json_text(json, "type", "string");
    srv_json_text(json, "pattern", pattern);
}

static void write_vec3(struct srv_json *json, const struct srv_key *key)
{
    srv_json_text(json, "type", "array");
    srv_json_open(json, "items", '{');
    write_number(json, key);
    srv_json_close(json, '}');
    srv_json_raw(json, "minItems", "3");
    srv_json_raw(json, "maxItems", "3");
}

static void write_rows(struct srv_json *json, const struct srv_key *key)
{
    srv_json_text(json, "type", "array");
    srv_json_open(json, "items", '{');
    srv_json_text(json, "type", "array");
    srv_json_open(json, "prefixItems", '[');
    srv_json_open(json, NULL, '{');
    srv_json_text(json, "type", "number");
    srv_json_raw(json, "minimum", "0");
    srv_json_close(json, '}');
    srv_json_open(json, NULL, '{');
    write_number(json, key);
    srv_json_close(json, '}');
    srv_json_close(json, ']');
    srv_json_raw(json, "minItems", "2");
    srv_json_raw(json, "maxItems", "2");
    srv_json_close(json, '}');
    srv_json_raw(json, "minItems", "1");
}

static void write_table(struct srv_json *json, const struct srv_key *key)
{
    if ((key->flags & SRV_KEY_ROWS_ONLY) != 0) {
        write_rows(json, key);
        return;
    }
    srv_json_open(json, "anyOf", '[');
    srv_json_open(json, NULL, '{');
    write_number(json, key);
    srv_json_close(json, '}');
    srv_json_open(json, NULL, '{');
    write_rows(json, key);
    srv_json_close(json, '}');
    srv_json_close(json, ']');
}

static void write_date(struct srv_json *json, const struct srv_key *key)
{
    (void)key;
    srv_json_text(json, "type", "string");
    srv_json_text(json, "pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$");
}

static void write_address(struct srv_json *json, const struct srv_key *key)
{
    (void)key;
    srv_json_text(json, "type", "string");
    srv_json_text(json, "pattern", "^([0-9.]+|[[][0-9a-fA-F:.]+[]]):[0-9]+$");
}

static void write_pattern(struct srv_json *json)
{
    srv_json_text(json, "type", "string");
    srv_json_raw(json, "minLength", "1");
    srv_json_raw(json, "maxLength", "255");
    srv_json_close(json, '}');
}

static void write_patterns(struct srv_json *json, const struct srv_key *key)
{
    (void)key;
    srv_json_open(json, "anyOf", '[');
    srv_json_open(json, NULL, '{');
    write_pattern(json);
    srv_json_open(json, NULL, '{');
    srv_json_text(json, "type", "array");
    srv_json_open(json, "items", '{');
    write_pattern(json);
    srv_json_raw(json, "minItems", "1");
    srv_json_close(json, '}');
    srv_json_close(json, ']');
}

static void write_origins(struct srv_json *json, const struct srv_key *key)
{
    (void)key;
    srv_json_text(json, "type", "array");
    srv_json_raw(json, "maxItems", "8");
    srv_json_open(json, "items", '{');
    srv_json_text(json, "type", "string");
    srv_json_text(json, "pattern", "^https?://[a-z0-9.:[\\]-]+$");
    srv_json_close(json, '}');
}

static void write_listen(struct srv_json *json, const struct srv_key *key)
{
    static const char url[] = "^(ipc|ipc://.+|tcp://.+|tls[+]tcp://.+|udp://.+)$";
    (void)key;
    srv_json_open(json, "anyOf", '[');
    srv_json_open(json, NULL, '{');
    srv_json_text(json, "type", "string");
    srv_json_text(json, "pattern", url);
    srv_json_close(json, '}');
    srv_json_open(json, NULL, '{');
    srv_json_text(json, "type", "array");
    srv_json_open(json, "items", '{');
    srv_json_text(json, "type", "string");
    srv_json_text(json, "pattern", url);
    srv_json_close(json, '}');
    srv_json_raw(json, "minItems", "1");
    srv_json_raw(json, "maxItems", "8");
    srv_json_raw(json, "uniqueItems", "true");
    srv_json_close(json, '}');
    srv_json_close(json, ']');
}

static void write_map(struct srv_json *json, const struct srv_key *key)
{
    if (key->section != NULL)
        srv_schema_section(json, key->section);
    else
        srv_json_raw(json, "type", (key->flags & SRV_KEY_MAY_BE_NULL) != 0 ? "[\"object\", \"null\"]" : "\"object\"");
}

static void write_list(struct srv_json *json, const struct srv_key *key)
{
    srv_json_text(json, "type", "array");
    srv_json_open(json, "items", '{');
    srv_schema_section(json, key->section);
    srv_json_close(json, '}');
    if ((key->flags & SRV_KEY_REQUIRED) != 0)
        srv_json_raw(json, "minItems", "1");
}

/* Writes the schema of a path with its rule, or with a list of rules and numbers. */
static void write_spread(struct srv_json *json, const struct srv_key *key)
{
    srv_json_text(json, "type", "object");
    srv_json_open(json, "additionalProperties", '{');
    srv_json_open(json, "anyOf", '[');
    srv_json_open(json, NULL, '{');
    srv_schema_section(json, key->section);
    srv_json_close(json, '}');
    srv_json_open(json, NULL, '{');
    srv_json_text(json, "type", "array");
    srv_json_open(json, "items", '{');
    srv_json_raw(json, "type", "[\"object\", \"number\"]");
    srv_json_close(json, '}');
    srv_json_close(json, '}');
    srv_json_close(json, ']');
    srv_json_close(json, '}');
}

/* Writes the schema of a map from names to incomplete maps. */
static void write_named(struct srv_json *json, const struct srv_key *key)
{
    srv_json_text(json, "type", "object");
    srv_json_open(json, "additionalProperties", '{');
    srv_schema_part(json, key->section);
    srv_json_close(json, '}');
}

/* Write the schema of a value's own form. Their caller adds words, which may be combined with other forms. */
static void (*const writers[SRV_FORM_COUNT])(struct srv_json *json, const struct srv_key *key) = {
    [SRV_FORM_F64] = write_number,  [SRV_FORM_NS] = write_number, [SRV_FORM_U32] = write_integer,
    [SRV_FORM_I32] = write_integer, [SRV_FORM_U64] = write_u64,   [SRV_FORM_RATE] = write_rate,
    [SRV_FORM_BOOL] = write_bool,   [SRV_FORM_NAME] = write_name, [SRV_FORM_TOPIC] = write_topic,
    [SRV_FORM_VEC3] = write_vec3,   [SRV_FORM_TABLE] = write_table, [SRV_FORM_DATE] = write_date, [SRV_FORM_LISTEN] = write_listen,
    [SRV_FORM_PATTERNS] = write_patterns, [SRV_FORM_ORIGINS] = write_origins,
    [SRV_FORM_ADDRESS] = write_address, [SRV_FORM_VALUE] = write_text,  [SRV_FORM_MAP] = write_map,   [SRV_FORM_LIST] = write_list,
    [SRV_FORM_SPREAD] = write_spread, [SRV_FORM_NAMED] = write_named,
    [SRV_FORM_SECTION] = write_map,
};

void srv_schema_form(struct srv_json *json, const struct srv_key *key)
{
    if (writers[key->form] != NULL)
        writers[key->form](json, key);
}
