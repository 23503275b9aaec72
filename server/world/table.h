/*
 * A quantity along another, as a world file gives it: a number, or rows [x, value] with straight lines between them and
 * the first and last value beyond. Reading them is pure [tick]; the rows are the configuration's.
 */
#ifndef SRV_CONFIG_TABLE_H
#define SRV_CONFIG_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define SRV_TABLE_MAX_ROWS 10000u

struct srv_table_row {
    double x, value;
    double slope;    /* up to the next row; 0 in the last */
    double integral; /* of the value, from x = 0 to this row */
};

struct srv_table {
    double constant; /* the value where there are no rows */
    uint32_t count;
    struct srv_table_row *rows; /* x grows; heap */
};

/* The last row at or before x, NULL where x lies before the first. */
static inline const struct srv_table_row *srv_table_row_at(const struct srv_table *table, double x)
{
    uint32_t low = 0, high = table->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (table->rows[middle].x <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &table->rows[low - 1] : NULL;
}

static inline double srv_table_value(const struct srv_table *table, double x)
{
    if (table->count == 0)
        return table->constant;
    const struct srv_table_row *row = srv_table_row_at(table, x);
    return row != NULL ? row->value + row->slope * (x - row->x) : table->rows[0].value;
}

static inline double srv_table_slope(const struct srv_table *table, double x)
{
    const struct srv_table_row *row = table->count > 0 ? srv_table_row_at(table, x) : NULL;
    return row != NULL ? row->slope : 0.0;
}

/* Of the value from 0 to x. */
static inline double srv_table_integral(const struct srv_table *table, double x)
{
    if (table->count == 0)
        return table->constant * x;
    const struct srv_table_row *row = srv_table_row_at(table, x);
    if (row == NULL)
        return table->rows[0].value * x;
    const double d = x - row->x;
    return row->integral + d * (row->value + 0.5 * row->slope * d);
}

#endif
