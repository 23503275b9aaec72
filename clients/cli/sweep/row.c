/* Writes rows of the result as CSV, and splits them into cells. */
#include "sweep/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "csv.h"

static uint32_t count_of(const struct oto_value *map)
{
    return map != NULL ? map->count : 0;
}

uint32_t sweep_row_lead(const struct sweep_spec *spec)
{
    return 2 + count_of(spec->vary) + count_of(spec->draw);
}

uint32_t sweep_row_columns(const struct sweep_spec *spec)
{
    return sweep_row_lead(spec) + spec->column_count + 1;
}

void sweep_row_header(const struct sweep_spec *spec, FILE *to)
{
    const struct oto_value *const maps[] = {spec->vary, spec->draw};
    (void)fputs("run,seed", to);
    for (size_t m = 0; m < 2; m++) {
        for (uint32_t i = 0; i < count_of(maps[m]); i++) {
            (void)fputc(',', to);
            csv_cell(to, maps[m]->items[i]->key);
        }
    }
    for (uint32_t i = 0; i < spec->column_count; i++) {
        (void)fputc(',', to);
        csv_cell(to, spec->columns[i]);
    }
    (void)fputs(",error", to);
}

/* One line: control characters become spaces. */
static void write_failure(FILE *to, const char *failure)
{
    char text[OTO_ERROR_TEXT_BYTES];
    (void)snprintf(text, sizeof text, "%s", failure);
    for (char *c = text; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    }
    csv_cell(to, text);
}

void sweep_row_write(const struct sweep_spec *spec, const struct sweep_case *made, const double *results, const char *failure,
                     FILE *to)
{
    const uint32_t lead = sweep_row_lead(spec) - 2;
    (void)fprintf(to, "%" PRIu64 ",%" PRIu64, made->run, made->seed);
    for (uint32_t i = 0; i < lead; i++) {
        const uint32_t index = count_of(spec->set) + i; /* if making the case failed, it has fewer values */
        (void)fputc(',', to);
        csv_cell(to, index < made->count ? sweep_case_value(made, index) : "");
    }
    for (uint32_t i = 0; i < spec->column_count; i++) {
        (void)fputc(',', to);
        if (failure == NULL && isfinite(results[i])) {
            (void)fprintf(to, "%.12g", results[i]);
        }
    }
    (void)fputc(',', to);
    if (failure != NULL) {
        write_failure(to, failure);
    }
}

/* Removes the quotes of a cell in place; *at moves behind the cell. */
static char *unquote(char **at)
{
    char *const cell = *at + 1, *to = cell, *from = cell;
    while (*from != '\0' && (*from != '"' || from[1] == '"')) {
        from += *from == '"';
        *to++ = *from++;
    }
    *at = *from == '"' ? from + 1 : from;
    *to = '\0';
    return cell;
}

uint32_t sweep_row_split(char *row, char **cells, uint32_t most)
{
    uint32_t count = 0;
    for (char *at = row; at != NULL; count++) {
        char *cell = at;
        if (*at == '"') {
            cell = unquote(&at);
        }
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (count < most) {
            cells[count] = cell;
        }
        at = comma != NULL ? comma + 1 : NULL;
    }
    return count;
}
