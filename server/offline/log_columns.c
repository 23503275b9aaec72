/* Makes a record type from a CSV's header: finds the column of time, the fields, and their names. */
#include "offline/log.h"

#include <stdlib.h>
#include <string.h>

/* Short names in logs for fields of the standard records. */
static const struct {
    const char *column, *field;
} aliases[] = {
    {"ax", "linear_acceleration.x"}, {"ay", "linear_acceleration.y"}, {"az", "linear_acceleration.z"},
    {"gx", "angular_velocity.x"},    {"gy", "angular_velocity.y"},    {"gz", "angular_velocity.z"},
    {"v_m_s", "speed_m_s"},
};

/* Columns that are not fields. Of the columns of time, the first one in this table is used. */
static const struct {
    const char *name;
    enum log_role role;
    double ns;
} heads[] = {
    {"t_ns", LOG_TIME, 1.0}, {"t_us", LOG_TIME, 1e3},   {"t_ms", LOG_TIME, 1e6},
    {"t_s", LOG_TIME, 1e9},  {"seq", LOG_SEQ, 0},       {"flags", LOG_FLAGS, 0}, {"sensor_time_ns", LOG_SENSOR_TIME, 0},
};
enum { HEADS = sizeof heads / sizeof *heads };

static const char *field_name(const char *column)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (strcmp(aliases[i].column, column) == 0) {
            return aliases[i].field;
        }
    }
    return column;
}

static bool find_head(const char *name, size_t *index)
{
    for (*index = 0; *index < HEADS; (*index)++) {
        if (strcmp(heads[*index].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum oto_status plan_heads(const struct oto_text_row *row, struct log_plan *plan, struct oto_error *error)
{
    size_t best = HEADS, index;
    uint32_t time_column = 0;
    for (uint32_t i = 0; i < row->columns; i++) {
        plan->columns[i].role = LOG_FIELD;
        if (!find_head(row->names[i], &index)) {
            continue;
        }
        plan->columns[i] = (struct log_column){.role = heads[index].role, .ns = heads[index].ns};
        if (heads[index].role == LOG_TIME) {
            time_column = index < best ? i : time_column;
            best = index < best ? index : best;
            plan->columns[i].role = LOG_LEFT_OUT;
        }
    }
    if (best == HEADS) {
        return oto_fail(error, OTO_NOT_FOUND, "%.200s:1: error: there is no column of time: t_ns, t_us, t_ms or t_s is "
                        "expected", row->path);
    }
    plan->columns[time_column].role = LOG_TIME;
    return OTO_OK;
}

/* Splits "name.3", which recordings use for element 3 of the field `name`. False for any other name. */
static bool is_element(const char *name, size_t *stem, uint32_t *element)
{
    const char *dot = strrchr(name, '.');
    if (dot == NULL || dot == name || dot[1] < '0' || dot[1] > '9' || (dot[1] == '0' && dot[2] != '\0') ||
        strlen(dot) > 5) {
        return false;
    }
    char *end;
    *element = (uint32_t)strtoul(dot + 1, &end, 10);
    *stem = (size_t)(dot - name);
    return *end == '\0';
}

/* True if the column is the next element of the last field. */
static bool continues(const struct log_plan *plan, const char *name)
{
    size_t stem = 0;
    uint32_t element = 0;
    if (plan->type.field_count == 0 || !is_element(name, &stem, &element) || element == 0) {
        return false;
    }
    const uint32_t last = plan->type.field_count - 1;
    return strlen(plan->names[last]) == stem && strncmp(plan->names[last], name, stem) == 0 &&
           plan->fields[last].count == element;
}

static enum oto_status add_field(const struct oto_text_row *row, struct log_plan *plan, uint32_t column,
                                 struct oto_error *error)
{
    const char *name = field_name(row->names[column]);
    size_t stem = strlen(name);
    uint32_t element = 0;
    if (continues(plan, name)) {
        struct oto_field *last = &plan->fields[plan->type.field_count - 1];
        plan->columns[column] = (struct log_column){
            .role = LOG_FIELD, .field = plan->type.field_count - 1, .element = last->count++};
        plan->type.bytes += 8;
        return OTO_OK;
    }
    if (is_element(name, &stem, &element) && element != 0) {
        stem = strlen(name); /* an element that does not follow its predecessor is a field of its own */
    }
    if (stem >= OTO_FIELD_NAME_BYTES || plan->type.field_count == OTO_RECORD_MAX_FIELDS) {
        return oto_fail(error, OTO_LIMIT, "%.200s:1: error: column '%.64s': at most %d fields with names of at most %d bytes "
                        "are accepted", row->path, name, OTO_RECORD_MAX_FIELDS, OTO_FIELD_NAME_BYTES - 1);
    }
    const uint32_t index = plan->type.field_count;
    (void)snprintf(plan->names[index], OTO_FIELD_NAME_BYTES, "%.*s", (int)stem, name);
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(plan->names[i], plan->names[index]) == 0) {
            return oto_fail(error, OTO_CONFLICT, "%.200s:1: error: column '%s': the field '%s' exists already", row->path,
                            row->names[column], plan->names[index]);
        }
    }
    plan->fields[index] = (struct oto_field){plan->names[index], OTO_FIELD_F64, 1, plan->type.bytes, "", "", ""};
    plan->columns[column] = (struct log_column){.role = LOG_FIELD, .field = index};
    plan->type.field_count++;
    plan->type.bytes += 8;
    return OTO_OK;
}

enum oto_status log_plan_make(const struct oto_text_row *row, struct log_plan *plan, struct oto_error *error)
{
    double number;
    *plan = (struct log_plan){.columns = calloc(row->columns + 1, sizeof *plan->columns),
                              .fields = calloc(OTO_RECORD_MAX_FIELDS, sizeof *plan->fields),
                              .names = calloc(OTO_RECORD_MAX_FIELDS, sizeof *plan->names)};
    if (plan->columns == NULL || plan->fields == NULL || plan->names == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory to read '%.200s'", row->path);
    }
    plan->type = (struct oto_record_type){.name = "log", .fields = plan->fields};
    enum oto_status status = plan_heads(row, plan, error);
    for (uint32_t i = 0; status == OTO_OK && i < row->columns; i++) {
        if (plan->columns[i].role != LOG_FIELD) {
            continue;
        }
        plan->columns[i].role = LOG_LEFT_OUT;
        if (row->names[i][0] != '\0' && log_number(row->cells[i], &number)) {
            status = add_field(row, plan, i, error);
        }
    }
    if (status == OTO_OK && plan->type.bytes == 0) {
        status = oto_fail(error, OTO_INVALID, "%.200s:1: error: there is no column of numbers beside the time", row->path);
    }
    if (status == OTO_OK && plan->type.bytes > OTO_RECORD_MAX_BYTES) {
        status = oto_fail(error, OTO_LIMIT, "%.200s:1: error: %u columns of numbers; at most %d are accepted", row->path,
                          plan->type.bytes / 8, OTO_RECORD_MAX_BYTES / 8);
    }
    return status;
}

void log_plan_finish(struct log_plan *plan)
{
    free(plan->columns);
    free(plan->fields);
    free(plan->names);
    *plan = (struct log_plan){0};
}
