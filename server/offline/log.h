/* The columns of a log's CSV. [loop] */
#ifndef OTOLITH_ESTIMATE_LOG_H
#define OTOLITH_ESTIMATE_LOG_H

#include "offline/estimate.h"
#include "document/table.h"

enum log_role { LOG_LEFT_OUT, LOG_TIME, LOG_SEQ, LOG_FLAGS, LOG_SENSOR_TIME, LOG_FIELD };

struct log_column {
    enum log_role role;
    uint32_t field, element; /* for LOG_FIELD */
    double ns;               /* for LOG_TIME: the unit in ns, 1 for t_ns */
};

struct log_plan {
    struct log_column *columns; /* one for each column of the file */
    struct oto_field *fields;
    char (*names)[OTO_FIELD_NAME_BYTES];
    struct oto_record_type type; /* its fields are `fields` */
};

/* Makes the plan from the header and the first row. Call log_plan_finish also after a failure. */
enum oto_status log_plan_make(const struct oto_text_row *row, struct log_plan *plan, struct oto_error *error);
void log_plan_finish(struct log_plan *plan);

/* Parses a number of a log: NaN and infinities are accepted by name, and an empty cell is NaN. */
bool log_number(const char *cell, double *number);
/* Parses decimal text times a unit (1, 1e3, 1e6 or 1e9) to whole ns, rounded. False: no number, or out of range. */
bool log_time(const char *cell, double unit_ns, int64_t *ns);

/* Reports "FILE:LINE: error: row N, column 'C': <sentence>"; returns status. column NULL: omitted. */
enum oto_status log_fail(const struct oto_text_row *row, const char *column, struct oto_error *error,
                         enum oto_status status, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
