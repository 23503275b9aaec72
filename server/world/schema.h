/* The JSON Schema of each form of a value. [loop] */
#ifndef SRV_CONFIG_SCHEMA_H
#define SRV_CONFIG_SCHEMA_H

#include "base/json.h"
#include "world/section.h"

/* Writes the members that describe a value of the key's form. */
void srv_schema_form(struct oto_json *json, const struct srv_key *key);
/* Writes the members that describe a map of the section, in which keys may be missing. */
void srv_schema_part(struct oto_json *json, const struct srv_section *section);
/* As srv_schema_part, with the keys that are required. */
void srv_schema_section(struct oto_json *json, const struct srv_section *section);

#endif
