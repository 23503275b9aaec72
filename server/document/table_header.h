/* The header line of a CSV file, and which of its columns are requested. [loop] */
#ifndef OTOLITH_DOC_TABLE_HEADER_H
#define OTOLITH_DOC_TABLE_HEADER_H

#include "document/internal.h"

enum { TABLE_MAX_COLUMNS = 4096, TABLE_MAX_NAME = 255 };
#define TABLE_UNWANTED UINT32_MAX

struct table_header {
    char **names;      /* names of the columns, in the order of the file */
    uint32_t *targets; /* for each column of the file: index of the requested column, or TABLE_UNWANTED */
    uint32_t count;
};

enum oto_status table_header_add(struct table_header *header, struct doc_place place, const char *name, size_t bytes,
                                 struct oto_error *error);
/* Fills `targets` and `present`; count 0 requests every column. */
enum oto_status table_header_match(struct table_header *header, struct doc_place place, const char *const *columns,
                                   uint32_t count, uint32_t *present, struct oto_error *error);
void table_header_finish(struct table_header *header);

#endif
