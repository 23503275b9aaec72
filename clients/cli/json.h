/* JSON of the commands: members, and samples. Texts and numbers: base/json.h. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdio.h>

#include "base/json.h"
#include "otolith/client.h"

/* Writes `before`, the key and the number. */
void json_member(FILE *to, const char *before, const char *key, double number);
/* Writes JSON text in one line: line breaks and the indentation after them become one space. */
void json_line(FILE *to, const char *text);
/* Writes a sample with the structure of a wire frame: header, fields nested at their dots, otolith {sensor_time_ns, flags}. */
void json_sample(FILE *to, const struct oto_record_type *type, const char *frame_id, const struct oto_sample_head *head,
                 const void *payload);

#endif
