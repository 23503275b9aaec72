/* Samples as CSV: t_ns, seq, then one column for each element of each field. */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include <stdio.h>

#include "otolith/client.h"

void csv_header(FILE *to, const struct oto_record_type *type);
void csv_sample(FILE *to, const struct oto_record_type *type, const struct oto_sample_head *head, const void *payload);

#endif
