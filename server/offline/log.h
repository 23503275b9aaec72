/* What the columns of a log's CSV are. [loop] */
#ifndef OTOLITH_ESTIMATE_LOG_H
#define OTOLITH_ESTIMATE_LOG_H

#include "offline/estimate.h"
#include "document/table.h"

enum log_role { LOG_LEFT_OUT, LOG_TIME, LOG_SEQ, LOG_FLAGS, LOG_SENSOR_TIME, LOG_FIELD };

struct log_column {
    enum log_role role;
    uint32_t field, element; /* LOG_FIELD */
    double ns;               /* LOG_TIME: one unit of it in ns, 1 for t_ns */
};

struct log_plan {
    struct log_column *columns; /* as many as the file has */
    struct oto_field *fields;
    char (*names)[OTO_FIELD_NAME_BYTES];
    struct oto_record_type type; /* over `fields` */
};

/* From the header and the first row. log_plan_finish also after a failure. */
enum oto_status log_plan_make(const struct oto_text_row *row, struct log_plan *plan, struct oto_error *error);
void log_plan_finish(struct log_plan *plan);

/* A number as a log may hold it: also NaN and infinities by name; an empty cell is NaN. */
bool log_number(const char *cell, double *number);
/* Decimal text times a unit (1 or 1e3, 1e6, 1e9) as whole ns, rounded, exact below; false: no number, or out of range. */
bool log_time(const char *cell, double unit_ns, int64_t *ns);

/* "FILE:LINE: error: row N, column 'C': <sentence>"; returns status. column NULL: left out. */
enum oto_status log_fail(const struct oto_text_row *row, const char *column, struct oto_error *error,
                         enum oto_status status, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
