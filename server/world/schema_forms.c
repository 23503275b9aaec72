#include "world/schema.h"

static void write_bounds(struct oto_json *json, const struct srv_key *key)
{
    if (!(key->minimum < key->maximum))
        return;
    oto_json_number(json, (key->flags & SRV_KEY_OPEN_MIN) != 0 ? "exclusiveMinimum" : "minimum", key->minimum);
    oto_json_number(json, "maximum", key->maximum);
}

static void write_number(struct oto_json *json, const struct srv_key *key)
{
    oto_json_text(json, "type", "number");
    write_bounds(json, key);
}

static void write_integer(struct oto_json *json, const struct srv_key *key)
{
    oto_json_text(json, "type", "integer");
    write_bounds(json, key);
}

static void write_u64(struct oto_json *json, const struct srv_key *key)
{
    (void)key;
    oto_json_text(json, "type", "integer");
    oto_json_format(json, "minimum", "%s", "0");
    oto_json_format(json, "maximum", "%s", "18446744073709551615");
}

static void write_rate(struct oto_json *json, const struct srv_key *key)
{
    oto_json_open(json, "anyOf", '[');
    oto_json_open(json, NULL, '{');
    write_number(json, key);
    oto_json_close(json, '}');
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "type", "string");
    oto_json_text(json, "pattern", "^[0-9]+/[0-9]+$");
    oto_json_close(json, '}');
    oto_json_close(json, ']');
}

static void write_bool(struct oto_json *json, const struct srv_key *key)
{
    (void)key;
    oto_json_text(json, "type", "boolean");
}

static void write_text(struct oto_json *json, const struct srv_key *key)
{
    (void)key;
    oto_json_text(json, "type", "string");
    oto_json_format(json, "minLength", "%s", "1");
}

static void write_name(struct oto_json *json, const struct srv_key *key)
{
    char pattern[48];
    (void)snprintf(pattern, sizeof pattern, "^[A-Za-z0-9_-]{1,%u}$", key->bytes - 1);
    oto_json_text(json, "type", "string");
    oto_json_text(json, "pattern", pattern);
}

static void write_topic(struct oto_json *json, const struct srv_key *key)
{
    char pattern[48];
    (void)snprintf(pattern, sizeof pattern, "^[!-~]{1,%u}$", key->bytes - 1);
    oto_json_text(json, "type", "string");
    oto_json_text(json, "pattern", pattern);
}

static void write_vec3(struct oto_json *json, const struct srv_key *key)
{
    oto_json_text(json, "type", "array");
    oto_json_open(json, "items", '{');
    write_number(json, key);
    oto_json_close(json, '}');
    oto_json_format(json, "minItems", "%s", "3");
    oto_json_format(json, "maxItems", "%s", "3");
}

static void write_rows(struct oto_json *json, const struct srv_key *key)
{
    oto_json_text(json, "type", "array");
    oto_json_open(json, "items", '{');
    oto_json_text(json, "type", "array");
    oto_json_open(json, "prefixItems", '[');
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "type", "number");
    oto_json_format(json, "minimum", "%s", "0");
    oto_json_close(json, '}');
    oto_json_open(json, NULL, '{');
    write_number(json, key);
    oto_json_close(json, '}');
    oto_json_close(json, ']');
    oto_json_format(json, "minItems", "%s", "2");
    oto_json_format(json, "maxItems", "%s", "2");
    oto_json_close(json, '}');
    oto_json_format(json, "minItems", "%s", "1");
}

static void write_table(struct oto_json *json, const struct srv_key *key)
{
    if ((key->flags & SRV_KEY_ROWS_ONLY) != 0) {
        write_rows(json, key);
        return;
    }
    oto_json_open(json, "anyOf", '[');
    oto_json_open(json, NULL, '{');
    write_number(json, key);
    oto_json_close(json, '}');
    oto_json_open(json, NULL, '{');
    write_rows(json, key);
    oto_json_close(json, '}');
    oto_json_close(json, ']');
}

static void write_date(struct oto_json *json, const struct srv_key *key)
{
    (void)key;
    oto_json_text(json, "type", "string");
    oto_json_text(json, "pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$");
}

static void write_address(struct oto_json *json, const struct srv_key *key)
{
    (void)key;
    oto_json_text(json, "type", "string");
    oto_json_text(json, "pattern", "^([0-9.]+|[[][0-9a-fA-F:.]+[]]):[0-9]+$");
}

static void write_pattern(struct oto_json *json)
{
    oto_json_text(json, "type", "string");
    oto_json_format(json, "minLength", "%s", "1");
    oto_json_format(json, "maxLength", "%s", "255");
    oto_json_close(json, '}');
}

static void write_patterns(struct oto_json *json, const struct srv_key *key)
{
    (void)key;
    oto_json_open(json, "anyOf", '[');
    oto_json_open(json, NULL, '{');
    write_pattern(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "type", "array");
    oto_json_open(json, "items", '{');
    write_pattern(json);
    oto_json_format(json, "minItems", "%s", "1");
    oto_json_close(json, '}');
    oto_json_close(json, ']');
}

static void write_origins(struct oto_json *json, const struct srv_key *key)
{
    (void)key;
    oto_json_text(json, "type", "array");
    oto_json_format(json, "maxItems", "%s", "8");
    oto_json_open(json, "items", '{');
    oto_json_text(json, "type", "string");
    oto_json_text(json, "pattern", "^https?://[a-z0-9.:[\\]-]+$");
    oto_json_close(json, '}');
}

static void write_listen(struct oto_json *json, const struct srv_key *key)
{
    static const char url[] = "^(ipc|ipc://.+|tcp://.+|tls[+]tcp://.+|udp://.+)$";
    (void)key;
    oto_json_open(json, "anyOf", '[');
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "type", "string");
    oto_json_text(json, "pattern", url);
    oto_json_close(json, '}');
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "type", "array");
    oto_json_open(json, "items", '{');
    oto_json_text(json, "type", "string");
    oto_json_text(json, "pattern", url);
    oto_json_close(json, '}');
    oto_json_format(json, "minItems", "%s", "1");
    oto_json_format(json, "maxItems", "%s", "8");
    oto_json_format(json, "uniqueItems", "%s", "true");
    oto_json_close(json, '}');
    oto_json_close(json, ']');
}

static void write_map(struct oto_json *json, const struct srv_key *key)
{
    if (key->section != NULL)
        srv_schema_section(json, key->section);
    else
        oto_json_format(json, "type", "%s", (key->flags & SRV_KEY_MAY_BE_NULL) != 0 ? "[\"object\", \"null\"]" : "\"object\"");
}

static void write_list(struct oto_json *json, const struct srv_key *key)
{
    oto_json_text(json, "type", "array");
    oto_json_open(json, "items", '{');
    srv_schema_section(json, key->section);
    oto_json_close(json, '}');
    if ((key->flags & SRV_KEY_REQUIRED) != 0)
        oto_json_format(json, "minItems", "%s", "1");
}

/* Writes the schema of a path with its rule, or with a list of rules and numbers. */
static void write_spread(struct oto_json *json, const struct srv_key *key)
{
    oto_json_text(json, "type", "object");
    oto_json_open(json, "additionalProperties", '{');
    oto_json_open(json, "anyOf", '[');
    oto_json_open(json, NULL, '{');
    srv_schema_section(json, key->section);
    oto_json_close(json, '}');
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "type", "array");
    oto_json_open(json, "items", '{');
    oto_json_format(json, "type", "%s", "[\"object\", \"number\"]");
    oto_json_close(json, '}');
    oto_json_close(json, '}');
    oto_json_close(json, ']');
    oto_json_close(json, '}');
}

/* Writes the schema of a map from names to incomplete maps. */
static void write_named(struct oto_json *json, const struct srv_key *key)
{
    oto_json_text(json, "type", "object");
    oto_json_open(json, "additionalProperties", '{');
    srv_schema_part(json, key->section);
    oto_json_close(json, '}');
}

/* Write the schema of a value's own form. Their caller adds words, which may be combined with other forms. */
static void (*const writers[SRV_FORM_COUNT])(struct oto_json *json, const struct srv_key *key) = {
    [SRV_FORM_F64] = write_number,  [SRV_FORM_NS] = write_number, [SRV_FORM_U32] = write_integer,
    [SRV_FORM_I32] = write_integer, [SRV_FORM_U64] = write_u64,   [SRV_FORM_RATE] = write_rate,
    [SRV_FORM_BOOL] = write_bool,   [SRV_FORM_NAME] = write_name, [SRV_FORM_TOPIC] = write_topic,
    [SRV_FORM_VEC3] = write_vec3,   [SRV_FORM_TABLE] = write_table, [SRV_FORM_DATE] = write_date, [SRV_FORM_LISTEN] = write_listen,
    [SRV_FORM_PATTERNS] = write_patterns, [SRV_FORM_ORIGINS] = write_origins,
    [SRV_FORM_ADDRESS] = write_address, [SRV_FORM_VALUE] = write_text,  [SRV_FORM_MAP] = write_map,   [SRV_FORM_LIST] = write_list,
    [SRV_FORM_SPREAD] = write_spread, [SRV_FORM_NAMED] = write_named,
    [SRV_FORM_SECTION] = write_map,
};

void srv_schema_form(struct oto_json *json, const struct srv_key *key)
{
    if (writers[key->form] != NULL)
        writers[key->form](json, key);
}
