/* Precision, recall, errors and coverage of chunks, as the document defines them. */
#include "grade/grade.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "output.h"

static const char *const angles[] = {"roll", "pitch", "yaw"};

static void count_axes(struct grade_score *score, const struct grade_point *point)
{
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        struct grade_axis_score *axis = &score->axes[i];
        const bool accepted = (point->axes >> i & 1u) != 0;
        const double error_deg = fabs(point->axis_error_deg[i]);
        axis->accepted += accepted;
        axis->wrong += accepted && error_deg > grade_axis_threshold_deg[i];
        axis->covered += error_deg <= point->axis_bound_deg[i];
        axis->mean_deg += error_deg;
    }
}

static void count(struct grade_score *score, const struct grade_chunk *chunk, int time)
{
    const struct grade_point *point = &chunk->points[time];
    const bool accepted = point->state == OTO_CALIBRATION_ACCEPTED;
    bool wrong = false;
    score->chunks++;
    score->accepted += accepted;
    for (int i = 0; i < 3; i++) {
        const double error_deg = fabs(grade_error_deg(chunk, time, i));
        const bool within = error_deg <= point->bound_deg[i];
        wrong = wrong || error_deg > GRADE_THRESHOLD_DEG;
        score->mean_all_deg[i] += error_deg;
        score->coverage_all[i] += within;
        score->mean_error_deg[i] += accepted ? error_deg : 0.0;
        score->coverage[i] += accepted && within;
    }
    score->wrong += accepted && wrong;
    score->within += !wrong;
    count_axes(score, point);
}

static void divide(struct grade_score *score)
{
    const double all = (double)score->chunks, accepted = (double)score->accepted;
    score->recall = all > 0.0 ? accepted / all : NAN;
    score->precision = accepted > 0.0 ? 1.0 - (double)score->wrong / accepted : NAN;
    for (int i = 0; i < 3; i++) {
        score->mean_all_deg[i] = all > 0.0 ? score->mean_all_deg[i] / all : NAN;
        score->coverage_all[i] = all > 0.0 ? score->coverage_all[i] / all : NAN;
        score->mean_error_deg[i] = accepted > 0.0 ? score->mean_error_deg[i] / accepted : NAN;
        score->coverage[i] = accepted > 0.0 ? score->coverage[i] / accepted : NAN;
    }
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        score->axes[i].mean_deg = all > 0.0 ? score->axes[i].mean_deg / all : NAN;
    }
}

/* The probability of at most `count` successes in `all` trials with the success probability p. */
static double binomial_tail(uint64_t count, uint64_t all, double p)
{
    double sum = 0.0;
    for (uint64_t k = 0; k <= count; k++) {
        sum += exp(lgamma((double)all + 1.0) - lgamma((double)k + 1.0) - lgamma((double)(all - k) + 1.0) +
                   (double)k * log(p) + (double)(all - k) * log1p(-p));
    }
    return sum;
}

double grade_share_below(uint64_t count, uint64_t all)
{
    double low = 0.0, high = 1.0;
    if (count >= all) {
        return 1.0;
    }
    for (int i = 0; i < 50; i++) { /* halvings */
        const double middle = 0.5 * (low + high);
        *(binomial_tail(count, all, middle) > 0.05 ? &low : &high) = middle;
    }
    return high;
}

/* Lower 95 % limit of a share of which `count` of `all` were seen. */
static double share_above(uint64_t count, uint64_t all)
{
    return 1.0 - grade_share_below(all - count, all);
}

/* The minutes at which the recall first reaches a share, linear between the points of the curve. */
static double reaches(const struct grade_summary *summary, double share)
{
    for (int i = 0; i < GRADE_TIMES; i++) {
        const double here = summary->scores[i].recall, before = i > 0 ? summary->scores[i - 1].recall : 0.0;
        if (here >= share) {
            return i == 0 ? grade_minutes(0) : grade_minutes(i) - 0.5 * (here - share) / (here - before);
        }
    }
    return NAN;
}

void grade_summarise(const struct grade_plan *plan, const struct grade_store *store, uint32_t world, uint32_t style,
                     uint32_t method, struct grade_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    for (uint64_t s = 0; s < plan->seeds; s++) {
        const uint64_t drive = grade_drive_index(plan, world, style, s);
        const struct grade_chunk *chunk = &store->chunks[drive * plan->method_count + method];
        if (!store->done[drive]) {
            continue;
        }
        summary->chunks++;
        summary->false_drives += chunk->worst_deg > GRADE_THRESHOLD_DEG;
        summary->worst_deg = fmax(summary->worst_deg, chunk->worst_deg);
        for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
            summary->false_axis_drives[i] += chunk->worst_axis_deg[i] > grade_axis_threshold_deg[i];
        }
        for (int i = 0; i < GRADE_TIMES; i++) {
            count(&summary->scores[i], chunk, i);
        }
    }
    for (int i = 0; i < GRADE_TIMES; i++) {
        divide(&summary->scores[i]);
    }
    summary->recall_50_min = reaches(summary, 0.50);
    summary->recall_75_min = reaches(summary, 0.75);
}

/* ---- text ---- */

static const int shown[] = {0, 4, 6, 10, 12, 18, 22, 26}; /* 2, 4, 5, 7, 8, 11, 13, 15 minutes */

/* Writes the text of a number; of NaN, where nothing was accepted, "-". Returns the text. */
static const char *text_of(double value, int digits, char text[24])
{
    (void)snprintf(text, 24, isnan(value) ? "-" : "%.*f", digits, value);
    return text;
}

static void print_axis(FILE *to, const struct grade_summary *summary, int axis)
{
    (void)fprintf(to, "  %s: accepted wrongly (> %.2f deg) at some time in %" PRIu64 " of %" PRIu64 " drives (95 %%: below %.2f %%)\n",
                  grade_axis_names[axis], grade_axis_threshold_deg[axis], summary->false_axis_drives[axis], summary->chunks,
                  100.0 * grade_share_below(summary->false_axis_drives[axis], summary->chunks));
    (void)fprintf(to, "  %6s %7s %8s %9s %8s %12s %9s\n", "min", "recall", "95 %: >", "precision", "95 %: >", "mean |error|", "in bound");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const struct grade_score *score = &summary->scores[shown[i]];
        const struct grade_axis_score *s = &score->axes[axis];
        const uint64_t right = s->accepted - s->wrong;
        char precision[24];
        (void)fprintf(to, "  %6.1f %7.3f %8.3f %9s %8.4f %12.3f %9.4f\n", grade_minutes(shown[i]),
                      (double)s->accepted / (double)score->chunks, share_above(s->accepted, score->chunks),
                      text_of((double)right / (double)s->accepted, 4, precision), share_above(right, s->accepted), s->mean_deg,
                      (double)s->covered / (double)score->chunks);
    }
}

void grade_print_summary(FILE *to, const char *title, const struct grade_summary *summary)
{
    (void)fprintf(to, "%s: %" PRIu64 " drives, %" PRIu64 " accepted wrongly at some time, worst error while accepted %.3f deg\n", title,
                  summary->chunks, summary->false_drives, summary->worst_deg);
    (void)fprintf(to, "  %6s %7s %9s %10s  %7s  %-23s  %s\n", "min", "recall", "precision", "accepted", "within",
                  "all: mean |error| r p y", "all: 3-sigma coverage r p y");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const struct grade_score *score = &summary->scores[shown[i]];
        char precision[24];
        (void)fprintf(to, "  %6.1f %7.3f %9s %5" PRIu64 "/%-5" PRIu64 " %6.3f   %6.3f %6.3f %6.3f     %7.4f %7.4f %7.4f\n",
                      grade_minutes(shown[i]), score->recall, text_of(score->precision, 4, precision), score->accepted, score->chunks,
                      (double)score->within / (double)score->chunks, score->mean_all_deg[0], score->mean_all_deg[1],
                      score->mean_all_deg[2], score->coverage_all[0], score->coverage_all[1], score->coverage_all[2]);
    }
    char half[24], three_quarters[24];
    (void)fprintf(to, "  recall reaches 0.50 at %s min and 0.75 at %s min (DriveWorks: 9.50 and 12.88)\n", text_of(summary->recall_50_min, 2, half),
                  text_of(summary->recall_75_min, 2, three_quarters));
    for (int axis = 0; axis < OTO_CALIBRATION_AXES; axis++) {
        print_axis(to, summary, axis);
    }
}

/* ---- files ---- */

typedef void (*each_summary)(void *to, const struct grade_plan *plan, uint32_t world, uint32_t style, uint32_t method,
                             const struct grade_summary *summary, bool first);

static void each(void *to, const struct grade_plan *plan, const struct grade_store *store, each_summary write)
{
    struct grade_summary summary;
    bool first = true;
    for (uint32_t w = 0; w < plan->world_count; w++) {
        for (uint32_t s = 0; s < plan->style_count; s++) {
            for (uint32_t m = 0; m < plan->method_count; m++) {
                grade_summarise(plan, store, w, s, m, &summary);
                write(to, plan, w, s, m, &summary, first);
                first = false;
            }
        }
    }
}

static const char *style_name(const struct grade_plan *plan, uint32_t style)
{
    return plan->styles[style][0] != '\0' ? plan->styles[style] : "own";
}

static void csv_rows(void *context, const struct grade_plan *plan, uint32_t world, uint32_t style, uint32_t method,
                     const struct grade_summary *summary, bool first)
{
    FILE *to = context;
    if (first) {
        (void)fputs("world,traffic,method,minute,chunks,accepted,wrong,within,recall,precision,mean_abs_err_roll_deg,mean_abs_err_pitch_deg,"
                    "mean_abs_err_yaw_deg,coverage_roll,coverage_pitch,coverage_yaw,all_mean_abs_err_roll_deg,"
                    "all_mean_abs_err_pitch_deg,all_mean_abs_err_yaw_deg,all_coverage_roll,all_coverage_pitch,all_coverage_yaw", to);
        for (int a = 0; a < OTO_CALIBRATION_AXES; a++) {
            (void)fprintf(to, ",%1$s_accepted,%1$s_wrong,%1$s_in_bound,%1$s_mean_abs_err_deg", grade_axis_names[a]);
        }
        (void)fputc('\n', to);
    }
    for (int i = 0; i < GRADE_TIMES; i++) {
        const struct grade_score *s = &summary->scores[i];
        (void)fprintf(to, "%s,%s,%s,%.1f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6g,%.6g", plan->worlds[world].name,
                      style_name(plan, style), plan->methods[method], grade_minutes(i), s->chunks, s->accepted, s->wrong, s->within, s->recall,
                      s->precision);
        const double *groups[] = {s->mean_error_deg, s->coverage, s->mean_all_deg, s->coverage_all};
        for (int g = 0; g < 4; g++) {
            (void)fprintf(to, ",%.6g,%.6g,%.6g", groups[g][0], groups[g][1], groups[g][2]);
        }
        for (int a = 0; a < OTO_CALIBRATION_AXES; a++) {
            const struct grade_axis_score *axis = &s->axes[a];
            (void)fprintf(to, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6g", axis->accepted, axis->wrong, axis->covered, axis->mean_deg);
        }
        (void)fputc('\n', to);
    }
}

static void json_angles(struct oto_json *json, const char *key, const double *numbers)
{
    oto_json_open(json, key, '{');
    for (int i = 0; i < 3; i++) {
        oto_json_number(json, angles[i], numbers[i]);
    }
    oto_json_close(json, '}');
}

static void json_axes(struct oto_json *json, const struct grade_score *score)
{
    oto_json_open(json, "axes", '{');
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        const struct grade_axis_score *axis = &score->axes[i];
        oto_json_open(json, grade_axis_names[i], '{');
        oto_json_u64(json, "accepted", axis->accepted);
        oto_json_u64(json, "wrong", axis->wrong);
        oto_json_u64(json, "in_bound", axis->covered);
        oto_json_number(json, "mean_abs_error_deg", axis->mean_deg);
        oto_json_number(json, "recall_above", share_above(axis->accepted, score->chunks));
        oto_json_number(json, "precision_above",
                        axis->accepted > 0 ? share_above(axis->accepted - axis->wrong, axis->accepted) : NAN);
        oto_json_close(json, '}');
    }
    oto_json_close(json, '}');
}

static void json_time(struct oto_json *json, int time, const struct grade_score *score)
{
    oto_json_open(json, NULL, '{');
    oto_json_format(json, "minute", "%.1f", grade_minutes(time));
    oto_json_u64(json, "chunks", score->chunks);
    oto_json_u64(json, "accepted", score->accepted);
    oto_json_u64(json, "wrong", score->wrong);
    oto_json_u64(json, "within", score->within);
    oto_json_number(json, "recall", score->recall);
    oto_json_number(json, "precision", score->precision);
    json_angles(json, "mean_abs_error_deg", score->mean_error_deg);
    json_angles(json, "coverage_3sigma", score->coverage);
    json_angles(json, "all_mean_abs_error_deg", score->mean_all_deg);
    json_angles(json, "all_coverage_3sigma", score->coverage_all);
    json_axes(json, score);
    oto_json_close(json, '}');
}

/* Rule of three: if none of n results is wrong, the rate of wrong results is below 3/n with 95 % confidence. */
static double false_rate_below(const struct grade_summary *summary)
{
    const double accepted = (double)summary->scores[GRADE_TIMES - 1].accepted;
    return summary->false_drives == 0 && accepted > 0.0 ? 3.0 / accepted : NAN;
}

static void json_summary(void *context, const struct grade_plan *plan, uint32_t world, uint32_t style, uint32_t method,
                         const struct grade_summary *summary, bool first)
{
    struct oto_json *json = context;
    char key[80];
    (void)first;
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "world", plan->worlds[world].name);
    oto_json_text(json, "traffic", style_name(plan, style));
    oto_json_text(json, "method", plan->methods[method]);
    oto_json_u64(json, "drives", summary->chunks);
    oto_json_u64(json, "drives_accepted_wrongly_at_any_time", summary->false_drives);
    oto_json_number(json, "worst_error_while_accepted_deg", summary->worst_deg);
    oto_json_number(json, "false_acceptance_rate_below_with_95_percent_confidence", false_rate_below(summary));
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        (void)snprintf(key, sizeof key, "drives_with_%s_accepted_wrongly_at_any_time", grade_axis_names[i]);
        oto_json_u64(json, key, summary->false_axis_drives[i]);
    }
    oto_json_number(json, "recall_50_min", summary->recall_50_min);
    oto_json_number(json, "recall_75_min", summary->recall_75_min);
    oto_json_open(json, "times", '[');
    for (int i = 0; i < GRADE_TIMES; i++) {
        json_time(json, i, &summary->scores[i]);
    }
    oto_json_close(json, ']');
    oto_json_close(json, '}');
}

static void json_grades(FILE *to, enum oto_json_layout layout, const struct grade_plan *plan,
                        const struct grade_store *store)
{
    struct oto_json json = {.to = to, .layout = layout};
    oto_json_open(&json, NULL, '{');
    oto_json_format(&json, "hash", "\"%016" PRIx64 "\"", plan->hash);
    oto_json_format(&json, "threshold_deg", "%.2f", GRADE_THRESHOLD_DEG);
    oto_json_u64(&json, "first_seed", plan->first_seed);
    oto_json_u64(&json, "seeds", plan->seeds);
    oto_json_open(&json, "grades", '[');
    each(&json, plan, store, json_summary);
    oto_json_close(&json, ']');
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

void grade_print_json(const struct grade_plan *plan, const struct grade_store *store)
{
    json_grades(stdout, OTO_JSON_LINE, plan, store);
}

enum oto_status grade_write_summaries(const struct grade_plan *plan, const struct grade_store *store,
                                      struct oto_error *error)
{
    char path[4096];
    struct cli_output output = {0};
    (void)snprintf(path, sizeof path, "%.3000s/summary.csv", plan->directory);
    enum oto_status status = cli_output_open(&output, path, error);
    if (status == OTO_OK) {
        each(output.file, plan, store, csv_rows);
    }
    status = cli_output_close(&output, status, error);
    if (status != OTO_OK) {
        return status;
    }
    (void)snprintf(path, sizeof path, "%.3000s/summary.json", plan->directory);
    status = cli_output_open(&output, path, error);
    if (status == OTO_OK) {
        json_grades(output.file, OTO_JSON_INDENTED, plan, store);
    }
    return cli_output_close(&output, status, error);
}
