/*
 * A quantity as a function of another: a number, or rows [x, value] with linear interpolation and constant
 * extrapolation. Evaluation is pure [tick]; the rows belong to the configuration.
 */
#ifndef SRV_CONFIG_TABLE_H
#define SRV_CONFIG_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define SRV_TABLE_MAX_ROWS 10000u

struct srv_table_row {
    double x, value;
    double slope;    /* slope up to the next row; 0 in the last row */
    double integral; /* integral of the value from x = 0 to this row */
};

struct srv_table {
    double constant; /* the value if there are no rows */
    uint32_t count;
    struct srv_table_row *rows; /* x increases; heap */
};

/* The last row at or before x; NULL if x is before the first row. */
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

/* The integral of the value from 0 to x. */
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
