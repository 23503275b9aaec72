#include "sdf/xml.h"

#include <expat.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/file_kind.h"
#include "document/internal.h"

struct oto_xml {
    struct doc_arena arena;
    struct oto_xml_element *root;
};

/* Text of an element that is still open. */
struct pending {
    char *text;
    size_t bytes, capacity;
};

struct builder {
    XML_Parser parser;
    struct oto_xml *xml;
    struct oto_error *error;
    const char *file;
    struct oto_xml_element *open;
    struct pending texts[OTO_XML_MAX_DEPTH];
    uint32_t depth, elements;
    enum oto_status status; /* the first failure */
};

static struct doc_place place_of(const struct builder *builder)
{
    return (struct doc_place){builder->file, (uint32_t)XML_GetCurrentLineNumber(builder->parser),
                              (uint32_t)XML_GetCurrentColumnNumber(builder->parser) + 1};
}

/* Ends the parse. */
static void stop(struct builder *builder, enum oto_status status, const char *sentence)
{
    if (builder->status == OTO_OK) {
        builder->status = doc_fail(place_of(builder), builder->error, status, "%s", sentence);
        (void)XML_StopParser(builder->parser, XML_FALSE);
    }
}

static void *take(struct builder *builder, size_t bytes)
{
    void *memory = doc_arena_alloc(&builder->xml->arena, bytes);
    if (memory == NULL) {
        stop(builder, OTO_NO_MEMORY, "out of memory");
    }
    return memory;
}

static const char *copy(struct builder *builder, const char *text)
{
    const char *own = doc_arena_text(&builder->xml->arena, text, strlen(text));
    if (own == NULL) {
        stop(builder, OTO_NO_MEMORY, "out of memory");
        return "";
    }
    return own;
}

static void copy_attributes(struct builder *builder, struct oto_xml_element *element, const XML_Char **pairs)
{
    uint32_t count = 0;
    while (pairs[2 * count] != NULL) {
        if (++count > OTO_XML_MAX_ATTRIBUTES) {
            stop(builder, OTO_LIMIT, "an element has more than 64 attributes, the most that is accepted");
            return;
        }
    }
    struct oto_xml_attribute *attributes = count > 0 ? take(builder, count * sizeof *attributes) : NULL;
    for (uint32_t i = 0; attributes != NULL && i < count; i++) {
        attributes[i] = (struct oto_xml_attribute){copy(builder, pairs[2 * i]), copy(builder, pairs[2 * i + 1])};
    }
    element->attributes = attributes;
    element->attribute_count = attributes != NULL ? count : 0;
}

static void link_child(struct oto_xml_element *parent, struct oto_xml_element *child)
{
    if (parent->last_child != NULL) {
        parent->last_child->next = child;
    } else {
        parent->first_child = child;
    }
    parent->last_child = child;
}

static void XMLCALL on_start(void *context, const XML_Char *name, const XML_Char **pairs)
{
    struct builder *builder = context;
    if (builder->status != OTO_OK) {
        return;
    }
    if (builder->depth == OTO_XML_MAX_DEPTH) {
        stop(builder, OTO_LIMIT, "elements are nested more than 32 deep, the most that is accepted");
        return;
    }
    if (++builder->elements > OTO_XML_MAX_ELEMENTS) {
        stop(builder, OTO_LIMIT, "there are more than 100000 elements, the most that is accepted");
        return;
    }
    struct oto_xml_element *element = take(builder, sizeof *element);
    if (element == NULL) {
        return;
    }
    const struct doc_place place = place_of(builder);
    element->name = copy(builder, name);
    element->text = "";
    element->file = builder->file;
    element->line = place.line;
    element->column = place.column;
    element->parent = builder->open;
    copy_attributes(builder, element, pairs);
    if (builder->open != NULL) {
        link_child(builder->open, element);
    } else {
        builder->xml->root = element;
    }
    builder->texts[builder->depth++].bytes = 0;
    builder->open = element;
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

static void XMLCALL on_end(void *context, const XML_Char *name)
{
    struct builder *builder = context;
    (void)name;
    if (builder->status != OTO_OK) {
        return;
    }
    const struct pending *pending = &builder->texts[--builder->depth];
    size_t from = 0, to = pending->bytes;
    while (from < to && is_blank(pending->text[from])) {
        from++;
    }
    while (to > from && is_blank(pending->text[to - 1])) {
        to--;
    }
    if (to > from) {
        const char *text = doc_arena_text(&builder->xml->arena, pending->text + from, to - from);
        builder->open->text = text != NULL ? text : "";
        if (text == NULL) {
            stop(builder, OTO_NO_MEMORY, "out of memory");
        }
    }
    builder->open = builder->open->parent;
}

static void XMLCALL on_text(void *context, const XML_Char *text, int length)
{
    struct builder *builder = context;
    if (builder->status != OTO_OK || builder->depth == 0) {
        return;
    }
    struct pending *pending = &builder->texts[builder->depth - 1];
    const size_t need = pending->bytes + (size_t)length;
    if (need > OTO_XML_MAX_TEXT) {
        stop(builder, OTO_LIMIT, "the text of an element is longer than 64 KiB, the most that is accepted");
        return;
    }
    if (need > pending->capacity) {
        char *grown = realloc(pending->text, 2 * need);
        if (grown == NULL) {
            stop(builder, OTO_NO_MEMORY, "out of memory");
            return;
        }
        pending->text = grown;
        pending->capacity = 2 * need;
    }
    memcpy(pending->text + pending->bytes, text, (size_t)length);
    pending->bytes = need;
}

/* A document type declaration can define entities and name other files: refused. */
static void XMLCALL on_doctype(void *context, const XML_Char *name, const XML_Char *system, const XML_Char *public_id,
                               int has_internal_subset)
{
    (void)name;
    (void)system;
    (void)public_id;
    (void)has_internal_subset;
    stop(context, OTO_SYNTAX, "a document type declaration (<!DOCTYPE>) is not accepted: it may declare entities");
}

static void run(struct builder *builder, const char *text, size_t bytes)
{
    XML_SetUserData(builder->parser, builder);
    XML_SetElementHandler(builder->parser, on_start, on_end);
    XML_SetCharacterDataHandler(builder->parser, on_text);
    XML_SetStartDoctypeDeclHandler(builder->parser, on_doctype);
    if (XML_Parse(builder->parser, text, (int)bytes, XML_TRUE) != XML_STATUS_OK && builder->status == OTO_OK) {
        builder->status = doc_fail(place_of(builder), builder->error, OTO_SYNTAX, "%s, expected well-formed XML",
                                   XML_ErrorString(XML_GetErrorCode(builder->parser)));
    }
    for (size_t i = 0; i < OTO_XML_MAX_DEPTH; i++) {
        free(builder->texts[i].text);
    }
}

static enum oto_status too_long(const char *name, struct oto_error *error)
{
    return oto_fail(error, OTO_LIMIT, "%.200s: error: it is longer than 4 MiB, the most that is accepted", name);
}

enum oto_status oto_xml_parse(const char *name, const char *text, size_t bytes, struct oto_xml **xml,
                              struct oto_error *error)
{
    *xml = NULL;
    if (bytes > OTO_XML_MAX_BYTES) {
        return too_long(name, error);
    }
    struct oto_xml *made = calloc(1, sizeof *made);
    struct builder *builder = calloc(1, sizeof *builder);
    XML_Parser parser = XML_ParserCreate(NULL);
    enum oto_status status = OTO_NO_MEMORY;
    if (made != NULL && builder != NULL && parser != NULL) {
        const char *file = doc_arena_text(&made->arena, name, strlen(name));
        *builder = (struct builder){.parser = parser, .xml = made, .error = error, .file = file != NULL ? file : "XML"};
        run(builder, text, bytes);
        status = builder->status;
    } else {
        (void)oto_fail(error, OTO_NO_MEMORY, "%.200s: error: out of memory", name);
    }
    if (parser != NULL) {
        XML_ParserFree(parser);
    }
    free(builder);
    if (status != OTO_OK) {
        oto_xml_close(made);
        return status;
    }
    *xml = made;
    return OTO_OK;
}

enum oto_status oto_xml_read(const char *path, struct oto_xml **xml, struct oto_error *error)
{
    const char *why = NULL;
    char *text;
    size_t bytes;
    *xml = NULL;
    enum oto_status status = srv_regular_read(path, OTO_XML_MAX_BYTES, &text, &bytes, &why);
    status = status != OTO_OK ? oto_fail(error, status, "%.300s cannot be read: %s", path, why)
                              : oto_xml_parse(path, text, bytes, xml, error);
    free(text);
    return status;
}

void oto_xml_close(struct oto_xml *xml)
{
    if (xml != NULL) {
        doc_arena_finish(&xml->arena);
        free(xml);
    }
}

const struct oto_xml_element *oto_xml_root(const struct oto_xml *xml)
{
    return xml->root;
}

const char *oto_xml_attribute(const struct oto_xml_element *element, const char *name)
{
    for (uint32_t i = 0; i < element->attribute_count; i++) {
        if (strcmp(element->attributes[i].name, name) == 0) {
            return element->attributes[i].value;
        }
    }
    return NULL;
}

enum oto_status oto_xml_fail(const struct oto_xml_element *element, struct oto_error *error, enum oto_status status,
                             const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)doc_vfail((struct doc_place){element->file, element->line, element->column}, error, status, format,
                    arguments);
    va_end(arguments);
    return status;
}
