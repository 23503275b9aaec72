#include "document/internal.h"

#include <errno.h>
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

/* Reads the whole file. One byte more than the limit is enough to know that the file is too long. */
static enum oto_status slurp(const char *path, size_t limit, char **text, size_t *bytes, struct oto_error *error)
{
    size_t capacity = 64 * 1024, used = 0, got = 0;
    const char *why = NULL;
    FILE *file = srv_regular_fopen(path, &why);
    char *buffer = NULL;
    if (file == NULL)
        return oto_fail(error, errno == ENOENT ? OTO_NOT_FOUND : OTO_IO, "%s: cannot be read: %s", path, why);
    do {
        char *grown = realloc(buffer, capacity);
        if (grown == NULL)
            goto fail;
        buffer = grown;
        got = fread(buffer + used, 1, capacity - used, file);
        used += got;
        if (used == capacity)
            capacity *= 2;
    } while (got > 0 && used <= limit);
    if (ferror(file))
        goto fail;
    (void)fclose(file);
    *text = buffer;
    *bytes = used;
    return OTO_OK;
fail:;
    int reason = errno;
    (void)fclose(file);
    free(buffer);
    return oto_fail(error, reason == ENOMEM ? OTO_NO_MEMORY : OTO_IO, "%s: cannot be read: %s", path, strerror(reason));
}

enum oto_status oto_document_read(const char *path, const struct oto_document_limits *limits,
                                  struct oto_document **document, struct oto_error *error)
{
    const struct oto_document_limits *used = limits != NULL ? limits : &oto_document_default_limits;
    char *text = NULL;
    size_t bytes = 0;
    *document = NULL;
    enum oto_status status = slurp(path, used->bytes, &text, &bytes, error);
    if (status == OTO_OK)
        status = oto_document_parse(path, text, bytes, used, document, error);
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
