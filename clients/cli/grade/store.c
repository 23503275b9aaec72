/*
 * The files of a grade: chunks.csv has a row for each half minute of each drive and method, and only of finished drives;
 * grade.yaml has the settings that the drives have in common. A later call reads the finished drives and makes the others, also
 * those of more seeds.
 */
#include "grade/grade.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file_kind.h"
#include "calibrate/calibrate.h"
#include "output.h"

static const char header[] = "world,traffic,seed,method,minute,state,percent,true_roll_deg,true_pitch_deg,true_yaw_deg,roll_deg,"
                             "pitch_deg,yaw_deg,bound_roll_deg,bound_pitch_deg,bound_yaw_deg,first_accepted_s,worst_accepted_deg";
static const char *const axis_columns[] = {"accepted", "error_deg", "bound_deg", "worst_accepted_deg"};
enum { NUMBERS = 12 + 4 * OTO_CALIBRATION_AXES }; /* numbers of a row, after the state */

static const char *style_name(const char *style)
{
    return style[0] != '\0' ? style : "own";
}

void grade_path(const struct grade_plan *plan, const char *what, uint32_t world, uint32_t style, const char *end,
                char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%s/%s_%s%s%s.%s", plan->directory, what, plan->worlds[world].name,
                   plan->styles[style][0] != '\0' ? "_" : "", plan->styles[style], end);
}

uint64_t grade_drive_index(const struct grade_plan *plan, uint32_t world, uint32_t style, uint64_t seed_offset)
{
    return ((uint64_t)world * plan->style_count + style) * plan->seeds + seed_offset;
}

/* ---- rows ---- */

static void write_header(FILE *to)
{
    (void)fputs(header, to);
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        for (size_t c = 0; c < sizeof axis_columns / sizeof *axis_columns; c++) {
            (void)fprintf(to, ",%s_%s", grade_axis_names[i], axis_columns[c]);
        }
    }
    (void)fputc('\n', to);
}

static void write_chunk(FILE *to, const struct grade_plan *plan, const struct grade_chunk *chunk)
{
    for (int i = 0; i < GRADE_TIMES; i++) {
        const struct grade_point *point = &chunk->points[i];
        const double *t = chunk->true_rpy_deg, *r = point->rpy_deg, *b = point->bound_deg;
        (void)fprintf(to, "%s,%s,%" PRIu64 ",%s,%.1f,%s,%.4g,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.1f,%.6f",
                      plan->worlds[chunk->world].name, style_name(plan->styles[chunk->style]), chunk->seed,
                      plan->methods[chunk->method], grade_minutes(i), calibrate_state_name(point->state), point->percent, t[0],
                      t[1], t[2], r[0], r[1], r[2], b[0], b[1], b[2], chunk->first_accepted_s, chunk->worst_deg);
        for (int axis = 0; axis < OTO_CALIBRATION_AXES; axis++) {
            (void)fprintf(to, ",%u,%.6f,%.6f,%.6f", point->axes >> axis & 1u, point->axis_error_deg[axis],
                          point->axis_bound_deg[axis], chunk->worst_axis_deg[axis]);
        }
        (void)fputc('\n', to);
    }
}

static void write_drive(FILE *to, const struct grade_plan *plan, const struct grade_store *store, uint64_t drive)
{
    for (uint32_t m = 0; m < plan->method_count; m++) {
        write_chunk(to, plan, &store->chunks[drive * plan->method_count + m]);
    }
}

struct words {
    char world[48], style[16], method[16], state[16];
};

static uint32_t index_of(const char *word, const char *const *words, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && strcmp(word, style_name(words[i])) != 0) {
        i++;
    }
    return i;
}

static uint32_t world_of(const struct grade_plan *plan, const char *name)
{
    uint32_t i = 0;
    while (i < plan->world_count && strcmp(name, plan->worlds[i].name) != 0) {
        i++;
    }
    return i;
}

static uint32_t state_of(const char *name)
{
    uint32_t state = 0;
    while (state < OTO_CALIBRATION_INVALID && strcmp(name, calibrate_state_name(state)) != 0) {
        state++;
    }
    return state;
}

/* Reads exactly NUMBERS numbers from a text such as ",1,2,3\n". */
static bool take_numbers(const char *text, double *numbers)
{
    for (int i = 0; i < NUMBERS; i++) {
        char *end = NULL;
        if (*text != ',') {
            return false;
        }
        numbers[i] = strtod(text + 1, &end);
        if (end == text + 1) {
            return false;
        }
        text = end;
    }
    return strcmp(text, "\n") == 0;
}

static void fill_point(struct grade_chunk *chunk, int time, uint32_t state, const double *n)
{
    struct grade_point *point = &chunk->points[time];
    *point = (struct grade_point){.known = 1, .state = state, .percent = n[0]};
    memcpy(chunk->true_rpy_deg, n + 1, sizeof chunk->true_rpy_deg);
    memcpy(point->rpy_deg, n + 4, sizeof point->rpy_deg);
    memcpy(point->bound_deg, n + 7, sizeof point->bound_deg);
    chunk->first_accepted_s = n[10];
    chunk->worst_deg = n[11];
    for (uint32_t i = 0; i < OTO_CALIBRATION_AXES; i++) {
        const double *axis = n + 12 + 4 * (size_t)i;
        point->axes |= axis[0] != 0.0 ? 1u << i : 0;
        point->axis_error_deg[i] = axis[1];
        point->axis_bound_deg[i] = axis[2];
        chunk->worst_axis_deg[i] = axis[3];
    }
}

/* Stores a row of this plan in its chunk. Other rows, and rows that are not complete, are left out. */
static void take_row(const struct grade_plan *plan, struct grade_store *store, const char *line)
{
    struct words words;
    uint64_t seed;
    double minute, numbers[NUMBERS];
    int used = 0;
    if (sscanf(line, "%47[^,],%15[^,],%" SCNu64 ",%15[^,],%lf,%15[^,]%n", words.world, words.style, &seed, words.method, &minute,
               words.state, &used) != 6 || !take_numbers(line + used, numbers)) {
        return;
    }
    const uint32_t world = world_of(plan, words.world), style = index_of(words.style, plan->styles, plan->style_count);
    const uint32_t method = index_of(words.method, plan->methods, plan->method_count);
    const int time = (int)((minute - 2.0) * 2.0 + 0.5);
    if (world == plan->world_count || style == plan->style_count || method == plan->method_count || seed < plan->first_seed ||
        seed - plan->first_seed >= plan->seeds || time < 0 || time >= GRADE_TIMES) {
        return;
    }
    const uint64_t drive = grade_drive_index(plan, world, style, seed - plan->first_seed);
    struct grade_chunk *chunk = &store->chunks[drive * plan->method_count + method];
    chunk->world = world;
    chunk->style = style;
    chunk->method = method;
    chunk->seed = seed;
    fill_point(chunk, time, state_of(words.state), numbers);
}

static bool is_whole(const struct grade_plan *plan, const struct grade_store *store, uint64_t drive)
{
    for (uint32_t m = 0; m < plan->method_count; m++) {
        for (int i = 0; i < GRADE_TIMES; i++) {
            if (!store->chunks[drive * plan->method_count + m].points[i].known) {
                return false;
            }
        }
    }
    return true;
}

static void read_back(const struct grade_plan *plan, struct grade_store *store, const char *path)
{
    char line[1024];
    const char *why = NULL;
    FILE *from = srv_regular_fopen(path, &why);
    while (from != NULL && fgets(line, sizeof line, from) != NULL) {
        take_row(plan, store, line);
    }
    if (from != NULL) {
        (void)fclose(from);
    }
    for (uint64_t i = 0; i < store->drives; i++) {
        store->done[i] = is_whole(plan, store, i);
        store->kept += store->done[i];
    }
}

/* ---- what they have in common ---- */

static enum oto_status copy_text(const struct grade_plan *plan, const char *what, uint32_t world, const char *text,
                                 size_t length, struct oto_error *error)
{
    char path[4096];
    struct cli_output output = {0};
    grade_path(plan, what, world, 0, "yaml", path, sizeof path);
    enum oto_status status = cli_output_open(&output, path, error);
    if (status == OTO_OK) {
        (void)fwrite(text, 1, length, output.file);
    }
    return cli_output_close(&output, status, error);
}

static void describe(FILE *to, const struct grade_plan *plan)
{
    (void)fprintf(to, "# What the drives in chunks.csv have in common: worlds, traffic, methods and plugins. world_*.yaml and draws_*.yaml\n"
                      "# are copies of what was graded.\nhash: \"%016" PRIx64 "\"\nworlds:\n", plan->hash);
    for (uint32_t i = 0; i < plan->world_count; i++) {
        const struct grade_world *world = &plan->worlds[i];
        (void)fprintf(to, "  - {name: %s, world_hash: \"%016" PRIx64 "\", draws_hash: \"%016" PRIx64 "\"}\n", world->name,
                      oto_fnv1a64_more(OTO_FNV1A64_START, world->world_text, world->world_length),
                      oto_fnv1a64_more(OTO_FNV1A64_START, world->text, world->length));
    }
    (void)fputs("traffic: [", to);
    for (uint32_t i = 0; i < plan->style_count; i++) {
        (void)fprintf(to, "%s%s", i > 0 ? ", " : "", style_name(plan->styles[i]));
    }
    (void)fputs("]\nmethods: [", to);
    for (uint32_t i = 0; i < plan->method_count; i++) {
        (void)fprintf(to, "%s%s", i > 0 ? ", " : "", plan->methods[i]);
    }
    (void)fprintf(to, "]\nthreshold_deg: %.2f\ndrive_s: %.0f\n", GRADE_THRESHOLD_DEG, GRADE_DRIVE_S);
}

/* Refuses a directory whose grade.yaml has another hash, so that the chunks of two grades are not mixed. */
static enum oto_status check_common(const struct grade_plan *plan, const char *path, struct oto_error *error)
{
    char line[256], wanted[64];
    const char *why = NULL;
    FILE *from = srv_regular_fopen(path, &why);
    bool same = from == NULL;
    (void)snprintf(wanted, sizeof wanted, "hash: \"%016" PRIx64 "\"\n", plan->hash);
    while (from != NULL && !same && fgets(line, sizeof line, from) != NULL) {
        same = strcmp(line, wanted) == 0;
    }
    if (from != NULL) {
        (void)fclose(from);
    }
    return same ? OTO_OK
                : oto_fail(error, OTO_EXISTS, "%.256s is of a grade of other worlds, traffic, methods or plugins; give another --out, or "
                           "remove it", path);
}

static enum oto_status write_common(const struct grade_plan *plan, struct oto_error *error)
{
    char path[4096];
    struct cli_output output = {0};
    (void)snprintf(path, sizeof path, "%.3000s/grade.yaml", plan->directory);
    enum oto_status status = check_common(plan, path, error);
    if (status == OTO_OK) {
        status = cli_output_open(&output, path, error);
    }
    if (status == OTO_OK) {
        describe(output.file, plan);
    }
    status = cli_output_close(&output, status, error);
    for (uint32_t i = 0; status == OTO_OK && i < plan->world_count; i++) {
        const struct grade_world *world = &plan->worlds[i];
        status = copy_text(plan, "world", i, world->world_text, world->world_length, error);
        if (status == OTO_OK) {
            status = copy_text(plan, "draws", i, world->text, world->length, error);
        }
    }
    return status;
}

/* ---- the store ---- */

enum oto_status grade_store_open(const struct grade_plan *plan, struct grade_store *store, struct oto_error *error)
{
    char path[4096];
    struct cli_output output = {0};
    *store = (struct grade_store){.drives = (uint64_t)plan->world_count * plan->style_count * plan->seeds};
    store->chunks = calloc(store->drives * plan->method_count, sizeof *store->chunks);
    store->done = calloc(store->drives, 1);
    if (store->chunks == NULL || store->done == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %" PRIu64 " drives", store->drives);
    }
    if (mkdir(plan->directory, 0777) != 0 && errno != EEXIST) {
        return oto_fail(error, OTO_IO, "cannot make the directory '%.256s': %s", plan->directory, strerror(errno));
    }
    (void)snprintf(path, sizeof path, "%.3000s/chunks.csv", plan->directory);
    enum oto_status status = write_common(plan, error);
    if (status == OTO_OK) {
        read_back(plan, store, path);
        status = cli_output_open(&output, path, error);
    }
    if (status == OTO_OK) {
        write_header(output.file);
        for (uint64_t i = 0; i < store->drives; i++) {
            if (store->done[i]) {
                write_drive(output.file, plan, store, i);
            }
        }
    }
    status = cli_output_close(&output, status, error);
    store->file = status == OTO_OK ? fopen(path, "ae") : NULL;
    return status != OTO_OK || store->file != NULL ? status : oto_fail(error, OTO_IO, "cannot write '%.256s': %m", path);
}

enum oto_status grade_store_put(const struct grade_plan *plan, struct grade_store *store, uint64_t drive,
                                struct oto_error *error)
{
    write_drive(store->file, plan, store, drive);
    store->done[drive] = 1;
    return fflush(store->file) == 0 ? OTO_OK : oto_fail(error, OTO_IO, "cannot write %.256s/chunks.csv: %m", plan->directory);
}

void grade_store_close(struct grade_store *store)
{
    if (store->file != NULL) {
        (void)fclose(store->file);
    }
    free(store->chunks);
    free(store->done);
    *store = (struct grade_store){0};
}
