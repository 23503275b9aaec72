/*
 * Samples as CSV: t_ns, seq, one column for each element of each field, then sensor_time_ns, the reading of the sensor's own
 * clock, and flags, the number of the sample's OTO_SAMPLE_… bits.
 */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include <stdio.h>

#include "otolith/client.h"

void csv_header(FILE *to, const struct oto_record_type *type);
void csv_sample(FILE *to, const struct oto_record_type *type, const struct oto_sample_head *head, const void *payload);
/* Writes the row of a missing sample: it has a time, and all other cells are empty. */
void csv_empty(FILE *to, const struct oto_record_type *type, int64_t t_ns);

/* Writes a cell in the format of RFC 4180: in quotes if the text has a comma, quote or newline. */
void csv_cell(FILE *to, const char *text);

#endif
