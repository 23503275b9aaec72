/*
 * Tables of numbers in CSV files with a header line: recorded motion, truth and logs. Errors name file, line and
 * column. [loop]
 */
#ifndef OTOLITH_TABLE_H
#define OTOLITH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "otolith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct oto_table {
    uint64_t rows;
    uint32_t columns;
    double *values;    /* row-major, rows × columns; freed by oto_table_free */
    uint32_t *present; /* for each requested column: 1 if the file has it */
};

/*
 * Reads the named columns in this order. A column whose name begins with '?' is optional and NaN where the file lacks
 * it. With column_count 0 every column is read. A file whose name ends in .gz is refused with a hint. Empty cells,
 * text, NaN and infinities are errors in columns that exist. At most 2^31 values. Regular files
 * only; oto_table_open reads pipes too.
 */
OTO_API enum oto_status oto_table_read(const char *path, const char *const *columns, uint32_t column_count,
                               struct oto_table *table, struct oto_error *error);
/* One row during reading. Pointers are valid until the callback returns. */
struct oto_row {
    const char *path;
    uint32_t line;   /* in the file, from 1 */
    uint64_t number; /* index of the row, from 0 */
    uint32_t columns;
    const char *const *names;
    const double *values;
};
/* Any result other than OTO_OK ends the reading with that status. */
typedef enum oto_status (*oto_row_function)(void *context, const struct oto_row *row, struct oto_error *error);
/* As oto_table_read, one row at a time: for files larger than memory. */
OTO_API enum oto_status oto_table_each(const char *path, const char *const *columns, uint32_t column_count,
                                       oto_row_function each, void *context, struct oto_error *error);

/* Finds a column by its name; false: there is none. */
OTO_API bool oto_column_find(const char *const *names, uint32_t columns, const char *name, uint32_t *column);

/* A row with every column as text: quotes are removed, numbers are not parsed. */
struct oto_text_row {
    const char *path;
    uint32_t line;
    uint64_t number;
    uint32_t columns;
    const char *const *names;
    const char *const *cells;
};
typedef enum oto_status (*oto_text_row_function)(void *context, const struct oto_text_row *row, struct oto_error *error);
/* As oto_table_each, for files that contain words as well as numbers. */
OTO_API enum oto_status oto_table_each_text(const char *path, oto_text_row_function each, void *context,
                                            struct oto_error *error);

/*
 * Opens a file or a pipe as the readers above do (not compressed). It is for callers that read the first lines
 * themselves, because a pipe can be read only once: oto_table_each_text_of then reads from the current position to the
 * end. `path` is the name in messages.
 */
OTO_API enum oto_status oto_table_open(const char *path, FILE **file, struct oto_error *error);
OTO_API enum oto_status oto_table_each_text_of(FILE *file, const char *path, oto_text_row_function each, void *context,
                                               struct oto_error *error);

OTO_API void oto_table_free(struct oto_table *table);

#ifdef __cplusplus
}
#endif

#endif
