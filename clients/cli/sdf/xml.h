/*
 * XML as a tree; every element has its place in the file. Limits on bytes, elements, depth and text; a document type
 * declaration is refused, so that only the five entities of XML exist. Only xml.c uses expat. [loop]
 */
#ifndef OTOLITH_SDF_XML_H
#define OTOLITH_SDF_XML_H

#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

struct oto_xml_attribute {
    const char *name, *value;
};

struct oto_xml_element {
    const char *name; /* with its prefix, "otolith:gravity_m_s2" */
    const char *text; /* text of this element without that of its children and without blanks around it; never NULL */
    const struct oto_xml_attribute *attributes;
    uint32_t attribute_count;
    uint32_t line, column; /* of its start tag, from 1 */
    const char *file;
    struct oto_xml_element *parent, *first_child, *last_child, *next;
};

enum {
    OTO_XML_MAX_BYTES = 4 << 20,
    OTO_XML_MAX_ELEMENTS = 100000,
    OTO_XML_MAX_DEPTH = 32,
    OTO_XML_MAX_TEXT = 64 << 10,
    OTO_XML_MAX_ATTRIBUTES = 64
};

struct oto_xml;

/* Errors: IO, NOT_FOUND, SYNTAX, LIMIT, NO_MEMORY, with file:line:column. */
enum oto_status oto_xml_read(const char *path, struct oto_xml **xml, struct oto_error *error);
/* `name` is the name of the file in messages. */
enum oto_status oto_xml_parse(const char *name, const char *text, size_t bytes, struct oto_xml **xml,
                              struct oto_error *error);
void oto_xml_close(struct oto_xml *xml); /* NULL is allowed */
const struct oto_xml_element *oto_xml_root(const struct oto_xml *xml);

/* The value of an attribute; NULL: the element does not have it. */
const char *oto_xml_attribute(const struct oto_xml_element *element, const char *name);
/* Fills `error` with "file:line:column: error: <sentence>" and returns status. */
enum oto_status oto_xml_fail(const struct oto_xml_element *element, struct oto_error *error, enum oto_status status,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
