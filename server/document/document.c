#include "document/internal.h"

#include <stdlib.h>

#include "base/file_kind.h"

const struct oto_document_limits oto_document_default_limits = {
    .bytes = (size_t)16 << 20, .nodes = 200000, .depth = 32, .text_bytes = (size_t)64 << 10};

enum oto_status doc_parse_tree(struct doc_arena *arena, const char *file, const char *text, size_t bytes,
                               const struct oto_document_limits *limits, struct oto_value **root,
                               struct oto_error *error)
{
    struct doc_builder builder;
    enum oto_status status = doc_precheck(file, text, bytes, limits, error);
    if (status != OTO_OK)
        return status;
    const char *kept_name = doc_arena_text(arena, file, strlen(file));
    if (kept_name == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "out of memory while reading %s", file);
    status = doc_builder_init(&builder, arena, kept_name, limits, error);
    if (status == OTO_OK)
        status = doc_parse_events(&builder, text, bytes);
    *root = status == OTO_OK ? builder.root : NULL;
    doc_builder_finish(&builder);
    return status;
}

enum oto_status oto_document_parse(const char *name, const char *text, size_t bytes,
                                   const struct oto_document_limits *limits, struct oto_document **document,
                                   struct oto_error *error)
{
    struct oto_document *made = calloc(1, sizeof *made);
    enum oto_status status;
    *document = NULL;
    if (made == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "out of memory while reading %s", name);
    status = doc_parse_tree(&made->arena, name, text, bytes, limits != NULL ? limits : &oto_document_default_limits,
                            &made->root, error);
    if (status != OTO_OK) {
        oto_document_close(made);
        return status;
    }
    *document = made;
    return OTO_OK;
}

enum oto_status oto_document_read(const char *path, const struct oto_document_limits *limits,
                                  struct oto_document **document, struct oto_error *error)
{
    const struct oto_document_limits *used = limits != NULL ? limits : &oto_document_default_limits;
    const char *why = NULL;
    char *text;
    size_t bytes;
    *document = NULL;
    enum oto_status status = srv_regular_read(path, used->bytes, &text, &bytes, &why);
    status = status != OTO_OK ? oto_fail(error, status, "%s: cannot be read: %s", path, why)
                              : oto_document_parse(path, text, bytes, used, document, error);
    free(text);
    return status;
}

void oto_document_close(struct oto_document *document)
{
    if (document == NULL)
        return;
    doc_arena_finish(&document->arena);
    free(document);
}

const struct oto_value *oto_document_root(const struct oto_document *document)
{
    return document->root;
}
