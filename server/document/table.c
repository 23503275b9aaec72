/* Reads CSV with libcsv, line by line, so that every cell has a place. The only file that includes libcsv. */
#include "document/table.h"

#include "base/file_kind.h"
#include "document/table_header.h"

#include <csv.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { MAX_LINE_BYTES = 1 << 20 };
#define MAX_VALUES (UINT64_C(1) << 31)

/* The cells of one row as consecutive NUL-terminated texts. */
struct row_text {
    oto_text_row_function each; /* NULL: cells are read as numbers */
    void *context;
    char *text;
    size_t bytes, capacity;
    const char **cells;
    size_t *starts; /* offset of each cell in `text`; offsets, because `text` may move while the row grows */
};

struct reader {
    const char *path;
    const char *const *columns;
    uint32_t column_count;
    struct oto_table *table; /* with `each`, it holds one row at a time */
    oto_row_function each;   /* NULL: rows are collected in `table` */
    void *each_context;
    struct oto_error *error;
    enum oto_status status;
    struct table_header header;
    bool has_header;
    uint64_t capacity; /* in values */
    const char *line;
    size_t line_bytes;
    uint32_t line_number, field;
    struct row_text row_text;
};

/* The column where the current cell begins: after as many commas outside quotes as cells were read. */
static struct doc_place place_of(const struct reader *reader)
{
    uint32_t column = 1, commas = 0;
    bool quoted = false;
    for (size_t i = 0; i < reader->line_bytes && commas < reader->field; i++) {
        quoted ^= reader->line[i] == '"';
        commas += !quoted && reader->line[i] == ',';
        column = (uint32_t)i + 2;
    }
    return (struct doc_place){reader->path, reader->line_number, commas == reader->field ? column : 1};
}

static uint64_t gathered_values(const struct reader *reader)
{
    return reader->each != NULL ? 0 : reader->table->rows * reader->table->columns;
}

static double *row_values(const struct reader *reader)
{
    return reader->table->values + gathered_values(reader);
}

static enum oto_status begin_row(struct reader *reader)
{
    struct oto_table *table = reader->table;
    uint64_t used = gathered_values(reader);
    if (used + table->columns > MAX_VALUES)
        return doc_fail(place_of(reader), reader->error, OTO_LIMIT, "more than 2^31 values, the most that is accepted");
    if (used + table->columns > reader->capacity) {
        uint64_t capacity = reader->capacity == 0 ? 1024 + table->columns : 2 * reader->capacity;
        double *values = realloc(table->values, capacity * sizeof *values);
        if (values == NULL)
            return oto_fail(reader->error, OTO_NO_MEMORY, "out of memory while reading %s", reader->path);
        table->values = values;
        reader->capacity = capacity;
    }
    for (uint32_t i = 0; i < table->columns; i++)
        row_values(reader)[i] = NAN;
    return OTO_OK;
}

static enum oto_status keep_cell(struct reader *reader, const char *text, size_t bytes)
{
    struct row_text *row = &reader->row_text;
    if (row->bytes + bytes + 1 > row->capacity) {
        size_t capacity = 2 * (row->bytes + bytes + 1) + 1024;
        char *grown = realloc(row->text, capacity);
        if (grown == NULL)
            return oto_fail(reader->error, OTO_NO_MEMORY, "out of memory while reading %s", reader->path);
        row->text = grown;
        row->capacity = capacity;
    }
    row->starts[reader->field] = row->bytes;
    if (bytes > 0)
        memcpy(row->text + row->bytes, text, bytes);
    row->text[row->bytes + bytes] = '\0';
    row->bytes += bytes + 1;
    return OTO_OK;
}

static enum oto_status take_cell(struct reader *reader, const char *text, size_t bytes)
{
    double number = 0;
    if (reader->field >= reader->header.count)
        return doc_fail(place_of(reader), reader->error, OTO_SYNTAX, "more cells than the header has columns (%u)",
                        reader->header.count);
    if (reader->row_text.each != NULL)
        return keep_cell(reader, text, bytes);
    uint32_t target = reader->header.targets[reader->field];
    const char *name = reader->header.names[reader->field];
    if (target == TABLE_UNWANTED)
        return OTO_OK;
    if (bytes == 0)
        return doc_fail(place_of(reader), reader->error, OTO_INVALID,
                        "expected a number in column '%s', got an empty cell", name);
    if (strlen(text) != bytes || doc_number_f64(text, &number) != DOC_NUMBER_OK)
        return doc_fail(place_of(reader), reader->error, OTO_INVALID,
                        "expected a finite number in column '%s', got '%.60s'", name, text);
    row_values(reader)[target] = number;
    return OTO_OK;
}

static void on_cell(void *text, size_t bytes, void *context)
{
    struct reader *reader = context;
    if (reader->status != OTO_OK)
        return;
    if (!reader->has_header) {
        reader->status = table_header_add(&reader->header, place_of(reader), text, bytes, reader->error);
    } else {
        if (reader->field == 0 && reader->row_text.each == NULL)
            reader->status = begin_row(reader);
        if (reader->status == OTO_OK)
            reader->status = take_cell(reader, text, bytes);
    }
    reader->field++;
}

static enum oto_status end_header(struct reader *reader)
{
    struct oto_table *table = reader->table;
    reader->has_header = true;
    table->columns = reader->column_count > 0 ? reader->column_count : reader->header.count;
    table->present = malloc(table->columns * sizeof *table->present + 1);
    reader->row_text.starts = calloc(table->columns + 1, sizeof *reader->row_text.starts);
    reader->row_text.cells = calloc(table->columns + 1, sizeof *reader->row_text.cells);
    if (table->present == NULL || reader->row_text.starts == NULL || reader->row_text.cells == NULL)
        return oto_fail(reader->error, OTO_NO_MEMORY, "out of memory while reading %s", reader->path);
    for (uint32_t i = 0; i < table->columns; i++)
        table->present[i] = 1;
    struct doc_place place = {reader->path, reader->line_number, 1};
    return table_header_match(&reader->header, place, reader->columns, reader->column_count, table->present,
                              reader->error);
}

static enum oto_status end_text_row(struct reader *reader)
{
    struct row_text *text = &reader->row_text;
    struct oto_text_row row = {.path = reader->path,
                               .line = reader->line_number,
                               .number = reader->table->rows,
                               .columns = reader->header.count,
                               .names = (const char *const *)reader->header.names,
                               .cells = text->cells};
    for (uint32_t i = 0; i < reader->header.count; i++)
        text->cells[i] = text->text + text->starts[i];
    text->bytes = 0;
    reader->table->rows++;
    return text->each(text->context, &row, reader->error);
}

static enum oto_status end_row(struct reader *reader)
{
    if (reader->row_text.each != NULL)
        return end_text_row(reader);
    struct oto_row row = {.path = reader->path,
                          .line = reader->line_number,
                          .number = reader->table->rows,
                          .columns = reader->table->columns,
                          .names =
                              reader->column_count > 0 ? reader->columns : (const char *const *)reader->header.names,
                          .values = row_values(reader)};
    enum oto_status status = reader->each != NULL ? reader->each(reader->each_context, &row, reader->error) : OTO_OK;
    reader->table->rows++;
    return status;
}

static void on_row(int terminator, void *context)
{
    struct reader *reader = context;
    (void)terminator;
    if (reader->status != OTO_OK)
        return;
    if (!reader->has_header)
        reader->status = end_header(reader);
    else if (reader->field < reader->header.count)
        reader->status = doc_fail(place_of(reader), reader->error, OTO_SYNTAX,
                                  "the row has %u cells, the header %u columns", reader->field, reader->header.count);
    else
        reader->status = end_row(reader);
    reader->field = 0;
}

static enum oto_status take_line(struct reader *reader, struct csv_parser *parser)
{
    if (reader->line_bytes > MAX_LINE_BYTES)
        return doc_fail((struct doc_place){reader->path, reader->line_number, 1}, reader->error, OTO_LIMIT,
                        "a line of more than %d bytes", MAX_LINE_BYTES);
    size_t taken = csv_parse(parser, reader->line, reader->line_bytes, on_cell, on_row, reader);
    if (reader->status != OTO_OK)
        return reader->status;
    if (taken != reader->line_bytes)
        return doc_fail(place_of(reader), reader->error, OTO_SYNTAX, "a quote (\") is not allowed here");
    if (csv_get_buffer_size(parser) > MAX_LINE_BYTES)
        return doc_fail(place_of(reader), reader->error, OTO_SYNTAX, "the closing quote (\") of a cell is missing");
    return OTO_OK;
}

static enum oto_status read_lines(struct reader *reader, FILE *file, struct csv_parser *parser)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t bytes = 0;
    while (reader->status == OTO_OK && (bytes = getline(&line, &capacity, file)) >= 0) {
        reader->line = line;
        reader->line_bytes = (size_t)bytes;
        reader->line_number++;
        reader->status = take_line(reader, parser);
    }
    if (reader->status == OTO_OK && ferror(file))
        reader->status = oto_fail(reader->error, OTO_IO, "%s: cannot be read: %s", reader->path, strerror(errno));
    if (reader->status == OTO_OK && csv_fini(parser, on_cell, on_row, reader) != 0)
        reader->status = doc_fail((struct doc_place){reader->path, reader->line_number, 1}, reader->error, OTO_SYNTAX,
                                  "the closing quote (\") of a cell is missing");
    if (reader->status == OTO_OK && !reader->has_header)
        reader->status = doc_fail((struct doc_place){reader->path, 1, 1}, reader->error, OTO_SYNTAX,
                                  "expected a header line with the names of the columns, got nothing");
    free(line);
    return reader->status;
}

static enum oto_status refuse_compressed(const char *path, struct oto_error *error)
{
    const size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0
               ? oto_fail(error, OTO_UNSUPPORTED, "%s: compressed files are not read: unpack it first (gunzip -k %s)",
                          path, path)
               : OTO_OK;
}

enum oto_status oto_table_open(const char *path, FILE **file, struct oto_error *error)
{
    struct stat about;
    const enum oto_status status = refuse_compressed(path, error);
    if (status != OTO_OK)
        return status;
    *file = fopen(path, "rbe");
    if (*file == NULL)
        return oto_fail(error, errno == ENOENT ? OTO_NOT_FOUND : OTO_IO, "%s: cannot be read: %s", path,
                        strerror(errno));
    if (fstat(fileno(*file), &about) == 0 && (S_ISREG(about.st_mode) || S_ISFIFO(about.st_mode)))
        return OTO_OK;
    (void)fclose(*file);
    *file = NULL;
    return oto_fail(error, OTO_IO, "%s: cannot be read: it is not a file", path);
}

static enum oto_status read_open_file(struct reader *reader, FILE *file)
{
    struct csv_parser parser;
    enum oto_status status = OTO_OK;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
        status = oto_fail(reader->error, OTO_NO_MEMORY, "out of memory while reading %s", reader->path);
    else
        status = read_lines(reader, file, &parser);
    csv_free(&parser);
    table_header_finish(&reader->header);
    free(reader->row_text.text);
    free(reader->row_text.starts);
    free(reader->row_text.cells);
    return status;
}

enum oto_status oto_table_read(const char *path, const char *const *columns, uint32_t column_count,
                               struct oto_table *table, struct oto_error *error)
{
    struct reader reader = {
        .path = path, .columns = columns, .column_count = column_count, .table = table, .error = error};
    const char *why = NULL;
    *table = (struct oto_table){0};
    enum oto_status status = refuse_compressed(path, error);
    if (status != OTO_OK)
        return status;
    FILE *file = srv_regular_fopen(path, &why); /* regular files only, because a server must not wait for a pipe */
    if (file == NULL)
        return oto_fail(error, errno == ENOENT ? OTO_NOT_FOUND : OTO_IO, "%s: cannot be read: %s", path, why);
    status = read_open_file(&reader, file);
    (void)fclose(file);
    if (status != OTO_OK)
        oto_table_free(table);
    return status;
}

enum oto_status oto_table_each(const char *path, const char *const *columns, uint32_t column_count,
                               oto_row_function each, void *context, struct oto_error *error)
{
    struct oto_table row = {0};
    struct reader reader = {.path = path,
                            .columns = columns,
                            .column_count = column_count,
                            .table = &row,
                            .each = each,
                            .each_context = context,
                            .error = error};
    FILE *file = NULL;
    enum oto_status status = oto_table_open(path, &file, error);
    if (status == OTO_OK) {
        status = read_open_file(&reader, file);
        (void)fclose(file);
    }
    oto_table_free(&row);
    return status;
}

enum oto_status oto_table_each_text_of(FILE *file, const char *path, oto_text_row_function each, void *context,
                                       struct oto_error *error)
{
    struct oto_table row = {0};
    struct reader reader = {
        .path = path, .table = &row, .row_text = {.each = each, .context = context}, .error = error};
    enum oto_status status = read_open_file(&reader, file);
    oto_table_free(&row);
    return status;
}

enum oto_status oto_table_each_text(const char *path, oto_text_row_function each, void *context, struct oto_error *error)
{
    FILE *file = NULL;
    enum oto_status status = oto_table_open(path, &file, error);
    if (status == OTO_OK) {
        status = oto_table_each_text_of(file, path, each, context, error);
        (void)fclose(file);
    }
    return status;
}

void oto_table_free(struct oto_table *table)
{
    if (table == NULL)
        return;
    free(table->values);
    free(table->present);
    *table = (struct oto_table){0};
}
