/*
 * Shared by the files of parameter binding. A table is a descriptor's parameters, or the items of a list. [loop]
 */
#ifndef PLUGIN_PARAMS_H
#define PLUGIN_PARAMS_H

#include "plugin/host.h"

enum { PARAM_PATH_BYTES = 256 };

struct param_table {
    const struct oto_param *params;
    uint32_t count;
};

/* One change of a block. */
struct param_binding {
    const char *plugin;  /* plugin id, for messages */
    bool running;        /* accept only parameters that may change while the world runs */
    bool from_directory; /* relative paths start at the working directory, not at the directory of the file */
    struct oto_error *error;
    struct oto_problems *problems; /* NULL: a map is left at its first error */
};

/* The path of a key: in our notation, and in that of a foreign file. */
struct param_path {
    char dotted[PARAM_PATH_BYTES];
    char foreign[PARAM_PATH_BYTES]; /* joined by '/' */
};

/* Writes the defaults to a zeroed block. */
void param_fill_defaults(struct param_table table, uint8_t *block);
/* The first required parameter without a value; NULL if there is none. */
const struct oto_param *param_missing(struct param_table table, const uint8_t *block);

/* Binds every value of a map whose path is `prefix`. After a failure the block may be partly changed. */
enum oto_status param_bind_map(const struct param_binding *binding, struct param_table table,
                               const struct param_path *prefix, const struct oto_value *map, uint8_t *block);
/* Binds one value. element >= 0: only that element. */
enum oto_status param_bind_value(const struct param_binding *binding, const struct oto_param *param,
                                 const struct oto_value *value, int64_t element, uint8_t *block);

/* False if the path becomes too long. */
bool param_path_join(const struct param_path *prefix, const char *key, struct param_path *path);
/* True if the path is a proper beginning of keys or aliases. */
bool param_is_section(struct param_table table, const struct param_path *path);
/* Writes ", did you mean 'x'?" or "; accepted here are a, b"; or nothing. */
void param_suggest(struct param_table table, const struct param_path *prefix, const struct param_path *path, char *text,
                   size_t bytes);
/* The parameter with a dotted key, an alias, or "key.2" (then *element is 2, else -1). */
const struct oto_param *param_lookup(struct param_table table, const char *key, int64_t *element);

#endif
