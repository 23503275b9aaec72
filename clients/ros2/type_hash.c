#include "type_hash.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void put_type(FILE *to, unsigned id, unsigned capacity, const char *nested)
{
    (void)fprintf(to, "{\"type_id\": %u, \"capacity\": %u, \"string_capacity\": 0, \"nested_type_name\": \"%s\"}", id, capacity, nested);
}

/* A field: "float64[9] covariance". */
static bool put_field(FILE *to, char *type, const char *name, bool is_first)
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
    (void)fprintf(to, "%s{\"name\": \"%s\", \"type\": ", is_first ? "" : ", ", name);
    put_type(to, (primitive != 0 ? primitive : ID_NESTED) + list, capacity, nested);
    (void)fputs("}", to);
    return true;
}

/* A line of a message: a field, a constant (NAME=VALUE, not part of the type), a comment, or nothing. */
static bool put_line(FILE *to, const char *line, unsigned *fields)
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
    return put_field(to, type, name, (*fields)++ == 0);
}

static bool put_block(FILE *to, const struct block *block)
{
    unsigned fields = 0;
    bool good = true;
    (void)fprintf(to, "{\"type_name\": \"%s\", \"fields\": [", block->name);
    for (const char *line = block->from; good && line < block->end; line = next_line(line)) {
        good = put_line(to, line, &fields);
    }
    if (fields == 0) { /* IDL has no empty structure */
        char type[] = "uint8";
        good = good && put_field(to, type, "structure_needs_at_least_one_member", true);
    }
    (void)fputs("]}", to);
    return good;
}

static bool put_description(FILE *to, struct definition *definition)
{
    bool good;
    qsort(definition->blocks + 1, definition->count - 1, sizeof *definition->blocks, by_name);
    (void)fputs("{\"type_description\": ", to);
    good = put_block(to, &definition->blocks[0]);
    (void)fputs(", \"referenced_type_descriptions\": [", to);
    for (unsigned i = 1; i < definition->count; i++) {
        (void)fputs(i > 1 ? ", " : "", to);
        good = put_block(to, &definition->blocks[i]) && good;
    }
    (void)fputs("]}", to);
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
