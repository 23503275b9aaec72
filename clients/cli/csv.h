/*
 * Samples as CSV: t_ns, seq, then one column for each element of each field. With flags: a last column `flags`, the number
 * of the sample's OTO_SAMPLE_… bits.
 */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include <stdbool.h>
#include <stdio.h>

#include "otolith/client.h"

void csv_header(FILE *to, const struct oto_record_type *type, bool with_flags);
void csv_sample(FILE *to, const struct oto_record_type *type, const struct oto_sample_head *head, const void *payload,
                bool with_flags);

/* A cell as RFC 4180 has it: quoted if it has a comma, quote or newline. */
void csv_cell(FILE *to, const char *text);

#endif
