/*
 * Shared by the files of this folder: the document's memory, the builder that makes a tree from parser events within
 * limits, and the parsing of numbers. Only parse.c includes libfyaml, only table.c includes libcsv. [loop]
 */
#ifndef OTOLITH_DOC_INTERNAL_H
#define OTOLITH_DOC_INTERNAL_H

#include "document/document.h"

/* ---- memory that is freed at once ---- */

struct doc_block;
struct doc_arena {
    struct doc_block *blocks;
};
void *doc_arena_alloc(struct doc_arena *arena, size_t bytes); /* zeroed, aligned to 8; NULL: out of memory */
char *doc_arena_text(struct doc_arena *arena, const char *text, size_t bytes);
void doc_arena_finish(struct doc_arena *arena);

struct oto_document {
    struct doc_arena arena;
    struct oto_value *root;
    size_t copied; /* values that oto_document_complete added */
};

/* The document's own values are not constant; callers only see them so. */
static inline struct oto_value *doc_own(const struct oto_value *value)
{
    return (struct oto_value *)(uintptr_t)value;
}

/* ---- places ---- */

/* A place in a source. Line 0: only the source is known. */
struct doc_place {
    const char *file;
    uint32_t line, column;
};
/* "file:line:column: error: <sentence>"; returns status. */
enum oto_status doc_fail(struct doc_place place, struct oto_error *error, enum oto_status status, const char *format,
                         ...) __attribute__((format(printf, 4, 5)));
enum oto_status doc_vfail(struct doc_place place, struct oto_error *error, enum oto_status status, const char *format,
                          va_list arguments) __attribute__((format(printf, 4, 0)));

/* ---- from events to a tree ---- */

struct doc_frame {
    struct oto_value *value; /* the list or map that is open */
    struct oto_value **items;
    uint32_t capacity;
    bool has_key;
    const char *key;
    uint32_t key_line, key_column;
};

struct doc_builder {
    struct doc_arena *arena;
    struct oto_document_limits limits;
    struct oto_error *error;
    const char *file;
    size_t nodes, depth;
    struct doc_frame *frames; /* array of limits.depth items */
    struct oto_value *root;
};
enum oto_status doc_builder_init(struct doc_builder *builder, struct doc_arena *arena, const char *file,
                                 const struct oto_document_limits *limits, struct oto_error *error);
void doc_builder_finish(struct doc_builder *builder);
enum oto_status doc_builder_scalar(struct doc_builder *builder, struct doc_place place, const char *text, size_t bytes,
                                   bool quoted);
enum oto_status doc_builder_open(struct doc_builder *builder, struct doc_place place, enum oto_value_kind kind);
enum oto_status doc_builder_close(struct doc_builder *builder);
/* Gets the place where the open list or map begins; false at the root. */
bool doc_builder_inside(const struct doc_builder *builder, struct doc_place *place, enum oto_value_kind *kind);

/* Refuses text that libfyaml would misread or could not process within its limits, before libfyaml reads it. */
enum oto_status doc_precheck(const char *file, const char *text, size_t bytes, const struct oto_document_limits *limits,
                             struct oto_error *error);
/* Parses with libfyaml and passes its events to the builder. */
enum oto_status doc_parse_events(struct doc_builder *builder, const char *text, size_t bytes);
/* Parses text to a tree in the arena: check, events, tree. */
enum oto_status doc_parse_tree(struct doc_arena *arena, const char *file, const char *text, size_t bytes,
                               const struct oto_document_limits *limits, struct oto_value **root,
                               struct oto_error *error);

/* ---- number texts (YAML 1.2 core, no .nan, no .inf), independent of the locale ---- */

enum doc_number { DOC_NUMBER_OK = 0, DOC_NUMBER_NOT, DOC_NUMBER_NOT_FINITE, DOC_NUMBER_RANGE };
enum doc_number doc_number_f64(const char *text, double *number);
enum doc_number doc_number_u64(const char *text, uint64_t *number);
enum doc_number doc_number_i64(const char *text, int64_t *number);
enum doc_number doc_number_rational(const char *text, uint64_t *num, uint64_t *den);

#endif
