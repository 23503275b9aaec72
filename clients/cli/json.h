/* Samples as JSON. Everything else: base/json.h. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdio.h>

#include "base/json.h"
#include "otolith/client.h"

/* Writes a sample with the structure of a wire frame: header, fields nested at their dots, otolith {sensor_time_ns, flags}. */
void json_sample(FILE *to, const struct oto_record_type *type, const char *frame_id, const struct oto_sample_head *head,
                 const void *payload);

#endif
