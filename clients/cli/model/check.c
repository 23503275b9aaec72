/* otolith model check: whether a model can follow a trajectory, and whether the trajectory approaches a target. */
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/table.h"

/* The cosine of the angle by which a heading may turn away from the target between two rows (Autoware.Auto, trajectory_checks). */
#define HEADING_SLACK 0.006

enum { X, Y, HEADING, TARGET_NUMBERS };

struct check {
    const struct model_options *options;
    struct oto_model *model;
    double tolerance; /* relative to the expected number, or to 1 if its magnitude is smaller than 1 */
    double target[TARGET_NUMBERS];
    int target_count;
    const char *columns[OTO_MODEL_MAX_STATES + 1]; /* t_s, then the states */
    uint32_t size;
    int64_t last_ns;
    double last_distance_sq_m2, last_alignment;
    uint64_t rows;
    uint64_t infeasible, astray; /* number of the first row that is infeasible or astray, from 1; 0: none */
    char why[160];
};

static void compare(struct check *check, const struct oto_row *row, const double *expected)
{
    for (uint32_t i = 0; i < check->size && check->infeasible == 0; i++) {
        const double got = row->values[i + 1], allowed = check->tolerance * fmax(1.0, fabs(expected[i]));
        if (!(fabs(got - expected[i]) <= allowed)) {
            check->infeasible = row->number + 1;
            (void)snprintf(check->why, sizeof check->why, "%s is %.9g, expected %.9g +- %.3g", check->columns[i + 1], got,
                           expected[i], allowed);
        }
    }
}

/* Checks that the squared distance to the target does not grow and that the heading does not turn away from it. */
static void approach(struct check *check, const struct oto_row *row)
{
    struct oto_truth_record truth;
    oto_model_to_truth(check->model, &truth);
    const double dx = check->target[X] - truth.position_enu_m.x, dy = check->target[Y] - truth.position_enu_m.y;
    const double heading = oto_rpy_from_quat(truth.q_enu_from_body).z;
    const double distance_sq = dx * dx + dy * dy;
    const double alignment = check->target_count > HEADING ? cos(heading - check->target[HEADING]) : 1.0;
    const bool away = distance_sq > check->last_distance_sq_m2 || alignment < check->last_alignment - HEADING_SLACK;
    if (row->number > 0 && away && check->astray == 0) {
        check->astray = row->number + 1;
    }
    check->last_distance_sq_m2 = distance_sq;
    check->last_alignment = alignment;
}

static enum oto_status each_row(void *context, const struct oto_row *row, struct oto_error *error)
{
    struct check *check = context;
    double expected[OTO_MODEL_MAX_STATES];
    struct oto_error why = {0};
    enum oto_status status = OTO_OK;
    if (cli_interrupted()) {
        return oto_fail(error, OTO_CLOSED, "interrupted after %" PRIu64 " rows", check->rows);
    }
    if (fabs(row->values[0]) > 9e9) {
        return oto_fail(error, OTO_RANGE, "%.128s:%" PRIu32 ": error: t_s is beyond 9e9 s either way", row->path, row->line);
    }
    const int64_t now_ns = (int64_t)llround(row->values[0] * 1e9);
    if (row->number > 0) {
        status = oto_model_predict_to(check->model, now_ns - check->last_ns, expected, &why);
        if (status == OTO_OK) {
            compare(check, row, expected);
        }
    }
    if (status == OTO_OK) {
        status = oto_model_reset(check->model, row->values + 1, &why);
    }
    if (status != OTO_OK) {
        return oto_fail(error, status, "%.128s:%" PRIu32 ": error: %.300s", row->path, row->line, why.text);
    }
    if (check->target_count > 0) {
        approach(check, row);
    }
    check->last_ns = now_ns;
    check->rows++;
    return OTO_OK;
}

static enum oto_status read_target(struct check *check, struct oto_error *error)
{
    const char *text = check->options->target;
    char *copy = strdup(text != NULL ? text : ""), *rest = NULL;
    enum oto_status status = copy != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for --target");
    for (char *word = copy != NULL ? strtok_r(copy, ",", &rest) : NULL; word != NULL && status == OTO_OK;
         word = strtok_r(NULL, ",", &rest)) {
        double extra;
        struct oto_error why = {0};
        status = model_number(word, check->target_count < TARGET_NUMBERS ? &check->target[check->target_count] : &extra, &why);
        status = status == OTO_OK ? OTO_OK : oto_fail(error, status, "--target: %s", why.text);
        check->target_count++;
    }
    free(copy);
    if (status == OTO_OK && text != NULL && (check->target_count < 2 || check->target_count > TARGET_NUMBERS)) {
        return oto_fail(error, OTO_INVALID, "--target is '%.60s'; X,Y or X,Y,HEADING (m, rad) is accepted", text);
    }
    return status;
}

static enum oto_status run(struct check *check, struct oto_error *error)
{
    enum oto_status status = read_target(check, error);
    check->tolerance = 0.05;
    if (status == OTO_OK && check->options->tolerance != NULL) {
        double percent;
        status = cli_positive(check->options->tolerance, &percent, error);
        check->tolerance = 0.01 * percent;
    }
    if (status == OTO_OK) {
        status = model_open(check->options, &check->model, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    check->size = oto_model_size(check->model);
    check->columns[0] = "t_s";
    for (uint32_t i = 0; i < check->size; i++) {
        check->columns[i + 1] = oto_model_quantity(check->model, i)->name;
    }
    return oto_table_each(check->options->in, check->columns, check->size + 1, each_row, check, error);
}

static void report(const struct check *check)
{
    (void)printf("%" PRIu64 " rows\n", check->rows);
    if (check->infeasible > 0) {
        (void)printf("feasible: no, row %" PRIu64 ": %s\n", check->infeasible, check->why);
    } else {
        (void)printf("feasible: yes, within %g %%\n", 100.0 * check->tolerance);
    }
    if (check->target_count > 0 && check->astray > 0) {
        (void)printf("approaches the target: no, not in row %" PRIu64 "\n", check->astray);
    } else if (check->target_count > 0) {
        (void)printf("approaches the target: yes, to %.9g m\n", sqrt(check->last_distance_sq_m2));
    }
}

int model_check(int argc, char **argv)
{
    static const char doc[] =
        "Check a trajectory, a CSV with t_s and the model's states: each row against the prediction from the row before it, "
        "and, with --target, whether every row comes nearer to it and turns towards its heading. Exit code 1: it does not.";
    struct model_options options;
    struct check check = {.options = &options};
    struct oto_error error = {0};
    model_parse(argc, argv, "mPsigp", "", doc, &options);
    if (options.model == NULL || options.in == NULL) {
        (void)fprintf(stderr, "otolith: model check needs --model and --in\n");
        return CLI_USAGE;
    }
    cli_catch_signals();
    const enum oto_status status = run(&check, &error);
    oto_model_close(check.model);
    if (status != OTO_OK) {
        return cli_say(&error);
    }
    report(&check);
    return check.infeasible == 0 && check.astray == 0 ? CLI_OK : CLI_FAILED;
}
