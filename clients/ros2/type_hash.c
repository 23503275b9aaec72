#include "type_hash.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "sha256.h"

enum { NAME_BYTES = 128, MOST_BLOCKS = 64 };
enum { ID_NESTED = 1, ID_ARRAY = 48, ID_SEQUENCE = 144 }; /* type_description_interfaces/msg/FieldType */

/* One message of a definition: its name, and its lines up to the next block. */
struct block {
    char name[NAME_BYTES]; /* "std_msgs/msg/Header" */
    const char *from, *end;
};

struct definition {
    struct block blocks[MOST_BLOCKS]; /* the first one is the message itself */
    unsigned count;
};

static const char separator[] = "====";

static const struct {
    const char *text;
    unsigned id;
} primitives[] = {{"int8", 2},     {"uint8", 3},    {"int16", 4},  {"uint16", 5}, {"int32", 6}, {"uint32", 7}, {"int64", 8},
                  {"uint64", 9},   {"float32", 10}, {"float64", 11}, {"char", 13},  {"bool", 15}, {"byte", 16},  {"string", 17}};

static unsigned primitive_id(const char *type)
{
    for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++) {
        if (strcmp(primitives[i].text, type) == 0) {
            return primitives[i].id;
        }
    }
    return 0;
}

/* "std_msgs/Header" to "std_msgs/msg/Header". */
static bool full_name(const char *type, char name[NAME_BYTES])
{
    const char *slash = strchr(type, '/');
    const bool is_full = slash != NULL && strchr(slash + 1, '/') != NULL;
    const int length = slash == NULL ? -1
                       : is_full     ? snprintf(name, NAME_BYTES, "%s", type)
                                     : snprintf(name, NAME_BYTES, "%.*s/msg%s", (int)(slash - type), type, slash);
    return length > 0 && length < NAME_BYTES;
}

/* ---- blocks ---- */

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end != NULL ? end + 1 : line + strlen(line);
}

static bool split(const char *name, const char *text, struct definition *definition)
{
    struct block *block = &definition->blocks[0];
    bool good = full_name(name, block->name);
    block->from = text;
    definition->count = 1;
    for (const char *line = text; *line != '\0'; line = next_line(line)) {
        char type[NAME_BYTES];
        if (strncmp(line, separator, sizeof separator - 1) != 0) {
            continue;
        }
        block->end = line;
        line = next_line(line);
        good = good && definition->count < MOST_BLOCKS && sscanf(line, "MSG: %127s", type) == 1;
        if (!good) {
            return false;
        }
        block = &definition->blocks[definition->count++];
        good = full_name(type, block->name);
        block->from = next_line(line);
    }
    block->end = text + strlen(text);
    return good;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct block *)a)->name, ((const struct block *)b)->name);
}

/* ---- JSON, as Python's json.dumps writes it ---- */

static void put_type(struct oto_json *json, unsigned id, unsigned capacity, const char *nested)
{
    oto_json_open(json, "type", '{');
    oto_json_u64(json, "type_id", id);
    oto_json_u64(json, "capacity", capacity);
    oto_json_u64(json, "string_capacity", 0);
    oto_json_text(json, "nested_type_name", nested);
    oto_json_close(json, '}');
}

/* A field: "float64[9] covariance". */
static bool put_field(struct oto_json *json, char *type, const char *name)
{
    char nested[NAME_BYTES] = "";
    unsigned capacity = 0, list = 0;
    char *bracket = strchr(type, '[');
    if (bracket != NULL) {
        const bool is_sequence = bracket[1] == ']';
        if (!is_sequence && sscanf(bracket, "[%u]", &capacity) != 1) {
            return false;
        }
        list = is_sequence ? ID_SEQUENCE : ID_ARRAY;
        *bracket = '\0';
    }
    const unsigned primitive = primitive_id(type);
    if (primitive == 0 && !full_name(type, nested)) {
        return false;
    }
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "name", name);
    put_type(json, (primitive != 0 ? primitive : ID_NESTED) + list, capacity, nested);
    oto_json_close(json, '}');
    return true;
}

/* A line of a message: a field, a constant (NAME=VALUE, not part of the type), a comment, or nothing. */
static bool put_line(struct oto_json *json, const char *line, unsigned *fields)
{
    char type[NAME_BYTES], name[NAME_BYTES], text[2 * NAME_BYTES];
    const size_t length = strcspn(line, "#\n");
    if (length >= sizeof text) {
        return false;
    }
    memcpy(text, line, length);
    text[length] = '\0';
    if (sscanf(text, "%127s %127s", type, name) != 2) {
        return strspn(text, " ") == length;
    }
    if (strchr(text, '=') != NULL) {
        return true;
    }
    (*fields)++;
    return put_field(json, type, name);
}

static bool put_block(struct oto_json *json, const char *key, const struct block *block)
{
    unsigned fields = 0;
    bool good = true;
    oto_json_open(json, key, '{');
    oto_json_text(json, "type_name", block->name);
    oto_json_open(json, "fields", '[');
    for (const char *line = block->from; good && line < block->end; line = next_line(line)) {
        good = put_line(json, line, &fields);
    }
    if (fields == 0) { /* IDL has no empty structure */
        char type[] = "uint8";
        good = good && put_field(json, type, "structure_needs_at_least_one_member");
    }
    oto_json_close(json, ']');
    oto_json_close(json, '}');
    return good;
}

static bool put_description(FILE *to, struct definition *definition)
{
    struct oto_json json = {.to = to};
    bool good;
    qsort(definition->blocks + 1, definition->count - 1, sizeof *definition->blocks, by_name);
    oto_json_open(&json, NULL, '{');
    good = put_block(&json, "type_description", &definition->blocks[0]);
    oto_json_open(&json, "referenced_type_descriptions", '[');
    for (unsigned i = 1; i < definition->count; i++) {
        good = put_block(&json, NULL, &definition->blocks[i]) && good;
    }
    oto_json_close(&json, ']');
    oto_json_close(&json, '}');
    return good;
}

enum oto_status ros2_type_hash(const char *name, const char *definition, char hash[ROS2_TYPE_HASH_BYTES], struct oto_error *error)
{
    struct definition parts;
    unsigned char digest[ROS2_SHA256_BYTES];
    char *text = NULL;
    size_t bytes = 0;
    hash[0] = '\0';
    if (!split(name, definition, &parts)) {
        return oto_fail(error, OTO_CORRUPT, "the definition of message '%.96s' is not a ros2msg text", name);
    }
    FILE *to = open_memstream(&text, &bytes);
    const bool good = to != NULL && put_description(to, &parts);
    if (to == NULL || fclose(to) != 0 || !good) {
        free(text);
        return oto_fail(error, good ? OTO_NO_MEMORY : OTO_CORRUPT, "the definition of message '%.96s' has no type hash", name);
    }
    ros2_sha256(text, bytes, digest);
    free(text);
    size_t length = (size_t)snprintf(hash, ROS2_TYPE_HASH_BYTES, "RIHS01_");
    for (unsigned i = 0; i < ROS2_SHA256_BYTES; i++) {
        length += (size_t)snprintf(hash + length, ROS2_TYPE_HASH_BYTES - length, "%02x", digest[i]);
    }
    return OTO_OK;
}
