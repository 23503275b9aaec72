#include "document/table_header.h"

#include <stdlib.h>

#include "document/table.h"

static uint32_t find(const struct table_header *header, const char *name)
{
    uint32_t column;
    return oto_column_find((const char *const *)header->names, header->count, name, &column) ? column : TABLE_UNWANTED;
}

enum oto_status table_header_add(struct table_header *header, struct doc_place place, const char *name, size_t bytes,
                                 struct oto_error *error)
{
    if (bytes > TABLE_MAX_NAME || header->count == TABLE_MAX_COLUMNS)
        return doc_fail(place, error, OTO_LIMIT, "expected at most %d columns with names of at most %d bytes",
                        TABLE_MAX_COLUMNS, TABLE_MAX_NAME);
    if (memchr(name, '\0', bytes) != NULL)
        return doc_fail(place, error, OTO_SYNTAX, "the name of column %u has a NUL byte in it", header->count + 1);
    if (header->count == 0 && bytes >= 3 && memcmp(name, "\xef\xbb\xbf", 3) == 0) {
        name += 3; /* byte-order mark, which spreadsheet programs write */
        bytes -= 3;
    }
    char **names = realloc(header->names, (header->count + 1) * sizeof(char *));
    if (names == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "out of memory while reading %s", place.file);
    header->names = names;
    names[header->count] = strndup(name, bytes);
    if (names[header->count] == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "out of memory while reading %s", place.file);
    uint32_t same = find(header, names[header->count]);
    header->count++;
    if (same != TABLE_UNWANTED && names[same][0] != '\0')
        return doc_fail(place, error, OTO_SYNTAX, "two columns are called '%s'", names[same]);
    return OTO_OK;
}

static enum oto_status missing(const struct table_header *header, struct doc_place place, const char *name,
                               struct oto_error *error)
{
    char list[200] = "";
    size_t used = 0;
    const char *near = oto_nearest_word(name, (const char *const *)header->names, header->count);
    for (uint32_t i = 0; i < header->count && used + 1 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", header->names[i]);
    if (near != NULL)
        return doc_fail(place, error, OTO_NOT_FOUND, "there is no column '%s': did you mean '%s'?", name, near);
    return doc_fail(place, error, OTO_NOT_FOUND, "there is no column '%s', there are: %s", name, list);
}

enum oto_status table_header_match(struct table_header *header, struct doc_place place, const char *const *columns,
                                   uint32_t count, uint32_t *present, struct oto_error *error)
{
    header->targets = malloc(((size_t)header->count + 1) * sizeof *header->targets);
    if (header->targets == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "out of memory while reading %s", place.file);
    for (uint32_t i = 0; i < header->count; i++)
        header->targets[i] = count == 0 ? i : TABLE_UNWANTED;
    for (uint32_t j = 0; j < count; j++) {
        bool optional = columns[j][0] == '?';
        uint32_t i = find(header, columns[j] + optional);
        if (i == TABLE_UNWANTED && !optional)
            return missing(header, place, columns[j], error);
        present[j] = i != TABLE_UNWANTED;
        if (i == TABLE_UNWANTED)
            continue;
        if (header->targets[i] != TABLE_UNWANTED)
            return doc_fail(place, error, OTO_INVALID, "the column '%s' is requested twice", header->names[i]);
        header->targets[i] = j;
    }
    return OTO_OK;
}

void table_header_finish(struct table_header *header)
{
    for (uint32_t i = 0; i < header->count; i++)
        free(header->names[i]);
    free(header->names);
    free(header->targets);
    *header = (struct table_header){0};
}

bool oto_column_find(const char *const *names, uint32_t columns, const char *name, uint32_t *column)
{
    for (uint32_t i = 0; i < columns; i++) {
        if (strcmp(names[i], name) == 0) {
            *column = i;
            return true;
        }
    }
    return false;
}
