/*
 * A document: YAML or JSON, read into a tree in which every value has its place in the file (A23). Bytes, nodes, keys
 * and depth are limited; duplicate keys, aliases, anchors, tags and second documents are refused with file:line:column.
 * A document belongs to one thread. [loop]
 */
#ifndef OTOLITH_DOCUMENT_H
#define OTOLITH_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum oto_value_kind { OTO_VALUE_SCALAR = 1, OTO_VALUE_LIST = 2, OTO_VALUE_MAP = 3 };

/* One value of a tree. Read-only; valid as long as its document. */
struct oto_value {
    enum oto_value_kind kind;
    bool quoted;           /* a quoted scalar is text, never a number, bool or null */
    const char *file;      /* as passed to the parser */
    uint32_t line, column; /* from 1 */
    const char *key;       /* in a map: the value's key, else NULL */
    const char *text;      /* SCALAR: NUL-terminated */
    uint32_t count;        /* LIST, MAP */
    struct oto_value **items;
    const struct oto_value *parent;
    uint32_t key_line, key_column; /* in a map: place of the key; 0: set by oto_document_set */
};

struct oto_document_limits {
    size_t bytes, nodes, depth, text_bytes;
};
/* The default limits: 16 MiB, 200 000 nodes, depth 32, 64 KiB of one scalar. */
OTO_API extern const struct oto_document_limits oto_document_default_limits;

struct oto_document;

/* Errors: IO, SYNTAX, LIMIT, with file:line:column in the text. limits NULL: the default limits. */
OTO_API enum oto_status oto_document_read(const char *path, const struct oto_document_limits *limits,
                                  struct oto_document **document, struct oto_error *error);
/* `name` is shown as the file in messages. */
OTO_API enum oto_status oto_document_parse(const char *name, const char *text, size_t bytes,
                                   const struct oto_document_limits *limits, struct oto_document **document,
                                   struct oto_error *error);
OTO_API void oto_document_close(struct oto_document *document); /* NULL is allowed */
OTO_API const struct oto_value *oto_document_root(const struct oto_document *document);

/*
 * Sets the value at a dotted path (`vehicles.car.nodes.imu.params.law`). An item of a list of maps is named by its
 * `name` or by its index; "+" adds an item. The value is parsed as YAML. Missing maps on the path are created. The place of the new value
 * reads "--set PATH".
 */
OTO_API enum oto_status oto_document_set(struct oto_document *document, const char *path, const char *yaml,
                                 struct oto_error *error);

/*
 * Moves a value of the document to a dotted path below `base`, as oto_document_set puts one there. It keeps its place in the
 * file, where errors are shown.
 */
OTO_API enum oto_status oto_document_move(struct oto_document *document, const struct oto_value *base, const char *path,
                                  const struct oto_value *value, struct oto_error *error);
/*
 * Completes a map by the keys that `from` has and it lacks, as copies with the place of the original. Maps are completed key
 * by key, and lists whose items are all maps with a `name` by name, in the order of `from`; other values stay. A key that is
 * null is removed, and gets nothing.
 */
OTO_API enum oto_status oto_document_complete(struct oto_document *document, const struct oto_value *value,
                                      const struct oto_value *from, struct oto_error *error);
/*
 * Makes a value of the document a scalar with room for a text of `bytes`, NUL included, which the caller may write again
 * and again: for values that depend on an index. The room lives as long as the document. NULL: out of memory.
 */
OTO_API char *oto_document_rewritable(struct oto_document *document, const struct oto_value *value, size_t bytes);

/* The value of a key in a map; NULL if the key is absent or the value is no map. */
OTO_API const struct oto_value *oto_value_get(const struct oto_value *map, const char *key);
/* Fills error with "file:line:column: error: <sentence>". Returns status. */
OTO_API enum oto_status oto_value_fail(const struct oto_value *value, struct oto_error *error, enum oto_status status,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));
/* As oto_value_fail, at the place of the key: for keys that are unknown or not allowed here. */
OTO_API enum oto_status oto_value_fail_key(const struct oto_value *value, struct oto_error *error, enum oto_status status,
                                   const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Reports "expected <what>, got <description of the value>"; returns OTO_INVALID. */
OTO_API enum oto_status oto_value_expected(const struct oto_value *value, struct oto_error *error, const char *what);
/* An empty plain scalar, ~ or null. */
OTO_API bool oto_value_is_null(const struct oto_value *value);
/* Conversions; the error names the place and what was expected ("expected a number, got 'abc'"). NaN/inf are refused. */
OTO_API enum oto_status oto_value_f64(const struct oto_value *value, double *number, struct oto_error *error);
OTO_API enum oto_status oto_value_i64(const struct oto_value *value, int64_t *number, struct oto_error *error);
OTO_API enum oto_status oto_value_u64(const struct oto_value *value, uint64_t *number, struct oto_error *error);
OTO_API enum oto_status oto_value_bool(const struct oto_value *value, bool *flag, struct oto_error *error);
/* A rational rate: "1000", "60000/1001", "0.5"; exact. */
OTO_API enum oto_status oto_value_rational(const struct oto_value *value, uint64_t *num, uint64_t *den, struct oto_error *error);
/* The text of a scalar, quoted or not, but not null. Borrowed from the document. */
OTO_API enum oto_status oto_value_text(const struct oto_value *value, const char **text, struct oto_error *error);
/* The candidate nearest to `word`, for "did you mean"; NULL if none is near. */
OTO_API const char *oto_nearest_word(const char *word, const char *const *candidates, size_t count);

#ifdef __cplusplus
}
#endif

#endif
