/* Reads a number, or rows [x, number]. */
#include "world/section.h"

#include <stdlib.h>

#include "world/table.h"

static enum oto_status read_row(const struct srv_key *key, const struct oto_value *value, struct srv_table *table,
                                struct oto_error *error)
{
    struct srv_table_row *row = &table->rows[table->count];
    const struct srv_table_row *before = table->count > 0 ? row - 1 : NULL;
    if (value->kind != OTO_VALUE_LIST || value->count != 2)
        return oto_value_fail(value, error, OTO_INVALID, "%s: expected rows of two numbers, [%s, value]", key->name,
                              key->row_text);
    enum oto_status status = oto_value_f64(value->items[0], &row->x, error);
    if (status == OTO_OK)
        status = srv_number_read(key, value->items[1], &row->value, error);
    if (status != OTO_OK)
        return status;
    if (row->x < 0)
        return oto_value_fail(value->items[0], error, OTO_RANGE, "%s: expected a %s from 0, got '%.60s'", key->name,
                              key->row_text, value->items[0]->text);
    if (before != NULL && !(row->x > before->x))
        return oto_value_fail(value->items[0], error, OTO_INVALID,
                              "%s: expected rows in which %s grows, got '%.60s' after %.10g", key->name, key->row_text,
                              value->items[0]->text, before->x);
    table->count++;
    return OTO_OK;
}

static void fill_slopes(struct srv_table *table)
{
    struct srv_table_row *rows = table->rows;
    rows[0].integral = rows[0].value * rows[0].x;
    for (uint32_t i = 0; i + 1 < table->count; i++) {
        const double step = rows[i + 1].x - rows[i].x;
        rows[i].slope = (rows[i + 1].value - rows[i].value) / step;
        rows[i + 1].integral = rows[i].integral + 0.5 * step * (rows[i].value + rows[i + 1].value);
    }
}

enum oto_status srv_table_read(const struct srv_key *key, const struct oto_value *value, void *target,
                               struct oto_error *error)
{
    struct srv_table table = {0};
    enum oto_status status = OTO_OK;
    if (value->kind == OTO_VALUE_SCALAR && (key->flags & SRV_KEY_ROWS_ONLY) == 0) {
        status = srv_number_read(key, value, &table.constant, error);
    } else if (value->kind != OTO_VALUE_LIST) {
        return oto_value_expected(value, error,
                                  (key->flags & SRV_KEY_ROWS_ONLY) != 0 ? "a list of rows [x, value]"
                                                                        : "a number or a list of rows [x, value]");
    } else if (value->count == 0 || value->count > SRV_TABLE_MAX_ROWS) {
        return oto_value_fail(value, error, OTO_LIMIT, "%s: expected 1 to %u rows, got %u", key->name,
                              SRV_TABLE_MAX_ROWS, value->count);
    } else {
        table.rows = calloc(value->count, sizeof *table.rows);
        status = table.rows != NULL ? OTO_OK : oto_value_fail(value, error, OTO_NO_MEMORY, "out of memory");
        for (uint32_t i = 0; i < value->count && status == OTO_OK; i++)
            status = read_row(key, value->items[i], &table, error);
        if (status == OTO_OK)
            fill_slopes(&table);
    }
    if (status != OTO_OK) {
        free(table.rows);
        return status;
    }
    memcpy((char *)target + key->offset, &table, sizeof table);
    return OTO_OK;
}
