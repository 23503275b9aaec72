/* Writes indented JSON, and the JSON Schema of each form. [loop] */
#ifndef SRV_CONFIG_SCHEMA_H
#define SRV_CONFIG_SCHEMA_H

#include <stdio.h>

#include "world/section.h"

struct srv_json {
    FILE *out;
    int depth;
    bool first; /* the open object or list is empty */
};
/* Writes a name, or in a list (NULL) only a separator; one of the next functions must follow. */
void srv_json_name(struct srv_json *json, const char *name);
void srv_json_open(struct srv_json *json, const char *name, char bracket);
void srv_json_close(struct srv_json *json, char bracket);
void srv_json_text(struct srv_json *json, const char *name, const char *text);
void srv_json_raw(struct srv_json *json, const char *name, const char *text);
void srv_json_number(struct srv_json *json, const char *name, double number);

/* Writes the members that describe a value of the key's form. */
void srv_schema_form(struct srv_json *json, const struct srv_key *key);
/* Writes the members that describe a map of the section, in which keys may be missing. */
void srv_schema_part(struct srv_json *json, const struct srv_section *section);
/* As srv_schema_part, with the keys that are required. */
void srv_schema_section(struct srv_json *json, const struct srv_section *section);

#endif
