/*
 * Tables of numbers in CSV files with a header line: how recorded motion, truth and logs come in. Errors name file,
 * line and column. [loop]
 */
#ifndef OTOLITH_TABLE_H
#define OTOLITH_TABLE_H

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
    double *values;    /* row-major, rows × columns; oto_table_free */
    uint32_t *present; /* for each asked column: 1 if the file has it */
};

/*
 * Reads the named columns, in this order; a name that begins with '?' is optional and NaN where absent. With
 * column_count 0 every column is read. A file whose name ends in .gz is refused with a hint. Empty cells of present
 * columns, text, NaN and inf are errors. At most 2^31 values. Regular files only; oto_table_open reads pipes too.
 */
OTO_API enum oto_status oto_table_read(const char *path, const char *const *columns, uint32_t column_count,
                               struct oto_table *table, struct oto_error *error);
/* One row, as it passes by. Pointers live until the callback returns. */
struct oto_row {
    const char *path;
    uint32_t line;   /* in the file, from 1 */
    uint64_t number; /* of the row, from 0 */
    uint32_t columns;
    const char *const *names;
    const double *values;
};
/* Anything but OTO_OK ends the reading with that status. */
typedef enum oto_status (*oto_row_function)(void *context, const struct oto_row *row, struct oto_error *error);
/* As oto_table_read, but row by row: for files larger than memory. */
OTO_API enum oto_status oto_table_each(const char *path, const char *const *columns, uint32_t column_count,
                                       oto_row_function each, void *context, struct oto_error *error);

/* A row of every column as text, quotes resolved, not read as numbers. */
struct oto_text_row {
    const char *path;
    uint32_t line;
    uint64_t number;
    uint32_t columns;
    const char *const *names;
    const char *const *cells;
};
typedef enum oto_status (*oto_text_row_function)(void *context, const struct oto_text_row *row, struct oto_error *error);
/* As oto_table_each, for files that hold words beside numbers. */
OTO_API enum oto_status oto_table_each_text(const char *path, oto_text_row_function each, void *context,
                                            struct oto_error *error);

/* For who looks at a file's beginning first, as a pipe can be read but once: opened as the readers above do (a file or a
 * pipe, not compressed), and read on from where it stands to its end. `path` is its name in messages. */
OTO_API enum oto_status oto_table_open(const char *path, FILE **file, struct oto_error *error);
OTO_API enum oto_status oto_table_each_text_of(FILE *file, const char *path, oto_text_row_function each, void *context,
                                               struct oto_error *error);

OTO_API void oto_table_free(struct oto_table *table);

#ifdef __cplusplus
}
#endif

#endif
