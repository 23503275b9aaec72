/* Files of tagged lines, as Udacity's obj_pose-laser-radar: TAG, measured numbers, time in µs, the true state. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimate/estimate.h"

enum { MOST_CELLS = 32, TRUTHS = 6, TRUTHS_LEAST = 4 };

#define FIELD(name, index, unit) {name, OTO_FIELD_F64, 1, 8 * (index), unit, "", ""}
static const struct oto_field lidar_fields[] = {FIELD("px", 0, "m"), FIELD("py", 1, "m")};
static const struct oto_field radar_fields[] = {FIELD("rho", 0, "m"), FIELD("phi", 1, "rad"), FIELD("rho_dot", 2, "m/s")};
static const struct oto_field truth_fields[] = {FIELD("px", 0, "m"), FIELD("py", 1, "m"), FIELD("vx", 2, "m/s"),
                                                FIELD("vy", 3, "m/s"), FIELD("yaw", 4, "rad"), FIELD("yaw_rate", 5, "rad/s")};
static const struct oto_record_type lidar_type = {"lidar", 16, 2, lidar_fields};
static const struct oto_record_type radar_type = {"radar", 24, 3, radar_fields};
static const struct oto_record_type truth_type = {"truth", 8 * TRUTHS, TRUTHS, truth_fields};

static const struct tag {
    char letter;
    const struct oto_record_type *type;
} tags[] = {{'L', &lidar_type}, {'R', &radar_type}};
enum { TAGS = sizeof tags / sizeof *tags };

struct reading {
    const char *path;
    uint32_t line;
    struct tagged_logs *logs;
    struct oto_error *error;
};

static const struct tag *find_tag(const char *text)
{
    for (int i = 0; i < TAGS; i++) {
        if (text[0] == tags[i].letter && text[1] == '\0') {
            return &tags[i];
        }
    }
    return NULL;
}

/* Puts the two characters back after reading them: the file is read from its start later. */
bool tagged_is(FILE *file)
{
    const int letter = getc(file);
    const int blank = letter != EOF ? getc(file) : EOF;
    const char begin[] = {(char)letter, '\0'};
    (void)(blank != EOF && ungetc(blank, file));
    (void)(letter != EOF && ungetc(letter, file));
    return (blank == ' ' || blank == '\t') && find_tag(begin) != NULL;
}

static enum oto_status bad(const struct reading *reading, const char *sentence, const char *what)
{
    return oto_fail(reading->error, OTO_INVALID, "%.200s:%" PRIu32 ": error: %s%s%.60s%s", reading->path, reading->line,
                    sentence, what[0] != '\0' ? " '" : "", what, what[0] != '\0' ? "'" : "");
}

static enum oto_status take_numbers(const struct reading *reading, char **cells, uint32_t count, double *numbers)
{
    for (uint32_t i = 0; i < count; i++) {
        char *end;
        numbers[i] = strtod(cells[i], &end);
        if (end == cells[i] || *end != '\0') {
            return bad(reading, "expected a number, got", cells[i]);
        }
    }
    return OTO_OK;
}

static enum oto_status take_time(const struct reading *reading, const char *cell, int64_t *t_ns)
{
    char *end;
    errno = 0;
    const long long us = strtoll(cell, &end, 10);
    if (end == cell || *end != '\0' || errno != 0 || us > INT64_MAX / 1000 || us < INT64_MIN / 1000) {
        return bad(reading, "expected a time in whole microseconds, got", cell);
    }
    *t_ns = (int64_t)us * 1000;
    return OTO_OK;
}

static enum oto_status add(const struct reading *reading, struct oto_log *log, int64_t t_ns, const double *numbers)
{
    const struct oto_sample_head head = {.t_ns = t_ns, .sensor_time_ns = t_ns};
    struct oto_error why = {0};
    return oto_log_add(log, &head, numbers, &why) == OTO_OK ? OTO_OK : bad(reading, why.text, "");
}

static enum oto_status take_cells(const struct reading *reading, char **cells, uint32_t count)
{
    const struct tag *tag = count > 0 ? find_tag(cells[0]) : NULL;
    double measured[MOST_CELLS], truth[MOST_CELLS];
    int64_t t_ns = 0;
    if (count == 0) {
        return OTO_OK;
    }
    if (tag == NULL) {
        return bad(reading, "expected the tag L or R, got", cells[0]);
    }
    const uint32_t numbers = tag->type->field_count;
    if (count < 2 + numbers) {
        return bad(reading, tag->letter == 'L' ? "expected L, px, py, time" : "expected R, rho, phi, rho_dot, time", "");
    }
    const uint32_t truths = count - 2 - numbers;
    if (truths != 0 && truths != TRUTHS_LEAST && truths != TRUTHS) {
        return bad(reading, "behind the time expected no truth, or px, py, vx, vy, or these and yaw, yaw_rate", "");
    }
    for (uint32_t i = 0; i < TRUTHS; i++) {
        truth[i] = (double)NAN;
    }
    enum oto_status status = take_numbers(reading, cells + 1, numbers, measured);
    if (status == OTO_OK) {
        status = take_time(reading, cells[1 + numbers], &t_ns);
    }
    if (status == OTO_OK) {
        status = take_numbers(reading, cells + 2 + numbers, truths, truth);
    }
    if (status == OTO_OK) {
        status = add(reading, tag->letter == 'L' ? reading->logs->lidar : reading->logs->radar, t_ns, measured);
    }
    return status == OTO_OK && truths > 0 ? add(reading, reading->logs->truth, t_ns, truth) : status;
}

static enum oto_status take_line(const struct reading *reading, char *line)
{
    char *cells[MOST_CELLS], *rest = NULL;
    uint32_t count = 0;
    for (char *cell = strtok_r(line, " \t\r\n", &rest); cell != NULL; cell = strtok_r(NULL, " \t\r\n", &rest)) {
        if (count == MOST_CELLS) {
            return bad(reading, "more than 32 cells", "");
        }
        cells[count++] = cell;
    }
    return take_cells(reading, cells, count);
}

static enum oto_status create(const char *path, struct tagged_logs *logs, struct oto_error *error)
{
    enum oto_status status = oto_log_create(path, &lidar_type, &logs->lidar, error);
    if (status == OTO_OK) {
        status = oto_log_create(path, &radar_type, &logs->radar, error);
    }
    return status == OTO_OK ? oto_log_create(path, &truth_type, &logs->truth, error) : status;
}

/* Closes a log without samples and sets it to NULL. */
static void drop_empty(struct oto_log **log)
{
    if (*log != NULL && oto_log_count(*log) == 0) {
        oto_log_close(*log);
        *log = NULL;
    }
}

enum oto_status tagged_read(FILE *file, const char *path, struct tagged_logs *logs, struct oto_error *error)
{
    struct reading reading = {path, 0, logs, error};
    char *line = NULL;
    size_t capacity = 0;
    *logs = (struct tagged_logs){0};
    enum oto_status status = create(path, logs, error);
    while (status == OTO_OK && getline(&line, &capacity, file) >= 0) {
        reading.line++;
        status = take_line(&reading, line);
    }
    if (status == OTO_OK && ferror(file)) {
        status = oto_fail(error, OTO_IO, "%.200s: cannot be read", path);
    }
    free(line);
    if (status != OTO_OK) {
        oto_log_close(logs->lidar);
        oto_log_close(logs->radar);
        oto_log_close(logs->truth);
        *logs = (struct tagged_logs){0};
    }
    drop_empty(&logs->lidar);
    drop_empty(&logs->radar);
    drop_empty(&logs->truth);
    return status;
}
