/* The pure parts of `otolith sweep`: statistics, rows, journals, shards, scripts. */
#include "oto_test.h"

#include <fcntl.h>
#include <ftw.h>

#include "sweep/sweep.h"

/* ---- statistics ---- */

static void percentiles_are_those_of_numpy(void **state)
{
    (void)state;
    double values[] = {9, 1, 7, 3, 5, 5, 2, 8};
    /* numpy.percentile([9, 1, 7, 3, 5, 5, 2, 8], [0, 5, 50, 62.5, 95, 100]) */
    assert_near(sweep_percentile(values, 8, 0.0), 1.0, 0.0);
    assert_near(sweep_percentile(values, 8, 5.0), 1.35, 1e-15);
    assert_near(sweep_percentile(values, 8, 50.0), 5.0, 0.0);
    assert_near(sweep_percentile(values, 8, 62.5), 5.75, 1e-15);
    assert_near(sweep_percentile(values, 8, 95.0), 8.65, 1e-14);
    assert_near(sweep_percentile(values, 8, 100.0), 9.0, 0.0);
    assert_true(isnan(sweep_percentile(values, 0, 50.0)));
}

static int by_size(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void percentiles_of_many_values_are_those_of_a_sorted_list(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    double values[COUNT], sorted[COUNT];
    uint64_t number = 1;
    for (int i = 0; i < COUNT; i++) {
        number = number * 6364136223846793005u + 1442695040888963407u;
        values[i] = sorted[i] = (double)(number >> 60); /* with many equal ones */
    }
    qsort(sorted, COUNT, sizeof *sorted, by_size);
    for (int i = 0; i < COUNT; i += 37) {
        assert_near(sweep_percentile(values, COUNT, 100.0 * i / (COUNT - 1)), sorted[i], 1e-9);
    }
}

static struct sweep_metric metric_of(const enum sweep_statistic *statistics, uint32_t count)
{
    struct sweep_metric metric = {.compute_count = count};
    for (uint32_t i = 0; i < count; i++) {
        metric.computes[i] = (struct sweep_compute){.statistic = statistics[i], .percent = 50.0};
    }
    return metric;
}

static void statistics_of_a_short_stream_are_exact(void **state)
{
    (void)state;
    static const enum sweep_statistic statistics[] = {SWEEP_COUNT, SWEEP_MEAN, SWEEP_STD, SWEEP_RMS, SWEEP_MIN, SWEEP_MAX, SWEEP_LAST,
                                                      SWEEP_PERCENTILE};
    const struct sweep_metric metric = metric_of(statistics, 8);
    struct sweep_sum sum;
    struct oto_error error = {0};
    double results[8];
    sweep_sum_init(&sum, &metric);
    for (int again = 0; again < 2; again++) { /* a reset forgets the previous stream */
        assert_ok(sweep_sum_reset(&sum, &error), error);
        for (int i = 0; i < 4; i++) {
            assert_ok(sweep_sum_add(&sum, (double[]){1, 2, 3, 6}[i], &error), error);
        }
        sweep_sum_results(&sum, 100.0, results);
        assert_near(results[0], 4.0, 0.0);
        assert_near(results[1], 3.0, 1e-15);
        assert_near(results[2], sqrt(14.0 / 3.0), 1e-15);
        assert_near(results[3], sqrt(12.5), 1e-15);
        assert_near(results[4], 1.0, 0.0);
        assert_near(results[5], 6.0, 0.0);
        assert_near(results[6], 6.0, 0.0);
        assert_near(results[7], 2.5, 0.0);
    }
    assert_ok(sweep_sum_reset(&sum, &error), error);
    sweep_sum_results(&sum, 100.0, results);
    assert_near(results[0], 0.0, 0.0);
    for (int i = 1; i < 8; i++) {
        assert_true(isnan(results[i]));
    }
    sweep_sum_finish(&sum);
}

/* ---- specs, rows and runs ---- */

static void write_file(const char *path, const char *text)
{
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
}

static const char spec_text[] = "sweep: test\nworld: world.yaml\nduration_s: 2\nseeds: [7, 18446744073709551615, 9]\n"
                                "set: {a.b: 'it''s'}\nvary: {c: [1, [2, 3]], d: [x, 'y, z']}\ndraw: {e: {uniform: [0, 1]}}\n"
                                "metrics: [{channel: car/imu, field: gyro, compute: [mean, p95]}]\n";

static void open_spec(struct sweep_spec *spec)
{
    struct oto_error error = {0};
    write_file("world.yaml", "world: test\n");
    write_file("spec.yaml", spec_text);
    assert_ok(sweep_spec_open("spec.yaml", spec, &error), error);
}

static void runs_go_through_seeds_then_combinations(void **state)
{
    (void)state;
    struct sweep_spec spec;
    struct sweep_case made, other;
    struct oto_error error = {0};
    open_spec(&spec);
    assert_int_equal(spec.runs, 12);
    assert_ok(sweep_case_make(&spec, 4, &made, &error), error); /* combination 1: the last list changes fastest */
    assert_true(made.seed == UINT64_MAX);
    assert_string_equal(made.overrides[0], "a.b='it''s'");
    assert_string_equal(made.overrides[1], "c=1");
    assert_string_equal(made.overrides[2], "d='y, z'");
    assert_ok(sweep_case_make(&spec, 10, &other, &error), error);
    assert_string_equal(other.overrides[1], "c=[2, 3]");
    assert_string_equal(other.overrides[3], made.overrides[3]); /* what is drawn follows the seed */
    sweep_case_finish(&other);
    assert_ok(sweep_case_make(&spec, 5, &other, &error), error);
    assert_string_not_equal(other.overrides[3], made.overrides[3]);
    sweep_case_finish(&other);
    sweep_case_finish(&made);
    sweep_spec_close(&spec);
}

static void shards_cover_every_run_once(void **state)
{
    (void)state;
    struct sweep_spec spec;
    open_spec(&spec);
    for (uint64_t of = 1; of <= spec.runs; of++) {
        uint64_t next = 0;
        for (uint64_t number = 1; number <= of; number++) {
            const struct sweep_shard shard = sweep_shard_make(&spec, number, of);
            assert_int_equal(shard.first, next);
            assert_true(shard.end > shard.first);
            next = shard.end;
        }
        assert_int_equal(next, spec.runs);
    }
    sweep_spec_close(&spec);
}

static char *row_of(const struct sweep_spec *spec, uint64_t run, const double *results, const char *failure)
{
    struct sweep_case made;
    struct oto_error error = {0};
    char *row = NULL;
    size_t length;
    FILE *to = open_memstream(&row, &length);
    assert_ok(sweep_case_make(spec, run, &made, &error), error);
    sweep_row_write(spec, &made, results, failure, to);
    assert_int_equal(fclose(to), 0);
    sweep_case_finish(&made);
    return row;
}

static void rows_are_taken_apart_into_the_cells_they_were_made_of(void **state)
{
    (void)state;
    struct sweep_spec spec;
    char *cells[16];
    open_spec(&spec);
    char *row = row_of(&spec, 10, (double[]){0.5, NAN}, NULL);
    assert_int_equal(sweep_row_split(row, cells, 16), sweep_row_columns(&spec));
    assert_string_equal(cells[0], "10");
    assert_string_equal(cells[1], "18446744073709551615");
    assert_string_equal(cells[2], "[2, 3]");
    assert_string_equal(cells[3], "'y, z'");
    assert_string_equal(cells[5], "0.5");
    assert_string_equal(cells[6], "");
    assert_string_equal(cells[7], "");
    free(row);
    row = row_of(&spec, 0, NULL, "broken: \"a\",\nb");
    assert_int_equal(sweep_row_split(row, cells, 16), sweep_row_columns(&spec));
    assert_string_equal(cells[5], "");
    assert_string_equal(cells[7], "broken: \"a\", b");
    free(row);
    sweep_spec_close(&spec);
}

static void errors_of_a_spec_name_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"sweep: s\nworld: world.yaml\nduration_s: -1\nmetrics: []\n", "spec.yaml:3:13: error: duration_s is more than 0"},
        {"sweep: s\nworld: none.yaml\nduration_s: 1\nmetrics: []\n", "spec.yaml:2:8: error: cannot read 'none.yaml'"},
        {"sweep: s\nworld: world.yaml\nduration_s: 1\nseds: 3\nmetrics: []\n", "spec.yaml:4:1: error: a sweep has no key 'seds'; did you mean 'seeds'?"},
        {"sweep: s\nworld: world.yaml\nduration_s: 1\nseeds: [1, 1]\nmetrics: []\n", "spec.yaml:4:12: error: seed 1 is listed twice"},
        {"sweep: s\nworld: world.yaml\nduration_s: 1\nvary: {a: 3}\nmetrics: []\n", "spec.yaml:4:11: error: expected a list of values"},
        {"sweep: s\nworld: world.yaml\nduration_s: 1\nset: {a: 3}\nvary: {a: [3]}\nmetrics: []\n", "spec.yaml:5:8: error: 'a' has a value under `set` already"},
        {"sweep: s\nworld: world.yaml\nduration_s: 1\ndraw: {a: {gauss: [0, 1]}}\nmetrics: []\n", "spec.yaml:4:11: error: expected {uniform: [low, high]}"},
        {"sweep: s\nworld: world.yaml\nduration_s: 1\ndraw: {a: {log_uniform: [0, 1]}}\nmetrics: []\n", "spec.yaml:4:25: error: log_uniform draws between two positive numbers"},
        {"sweep: s\nworld: world.yaml\nduration_s: 1\nmetrics: [{channel: c, field: f, compute: [median]}]\n", "spec.yaml:4:44: error: expected count, mean"},
        {"sweep: s\nworld: world.yaml\nduration_s: 1\nmetrics: [{channel: c, field: f, compute: [mean, mean]}]\n", "spec.yaml:4:11: error: a column 'c.f.mean' exists already"},
        {"sweep: s\nworld: world.yaml\nduration_s: 1\nmetrics: [{channel: c, field: f, compute: [mean], from_s: 2}]\n", "spec.yaml:4:59: error: from_s is from 0 to less than duration_s"},
        {"sweep: s\nworld: world.yaml\nduration_s: 1\nmetrics: [{channel: c, field: f, compute: [mean], against: [1]}]\n", "spec.yaml:4:60: error: expected truth, a number"},
        {"sweep: s\nworld: world.yaml\nduration_s: 1\nmetrics: [{python: no.py, function: f, channels: [c], columns: [a]}]\n", "spec.yaml:4:20: error: cannot read 'no.py'"},
    };
    write_file("world.yaml", "world: test\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep_spec spec;
        struct oto_error error = {0};
        write_file("spec.yaml", cases[i].text);
        assert_int_not_equal(sweep_spec_open("spec.yaml", &spec, &error), OTO_OK);
        if (strncmp(error.text, cases[i].expected, strlen(cases[i].expected)) != 0) {
            fail_msg("case %zu: %s", i, error.text);
        }
        sweep_spec_close(&spec);
    }
}

/* ---- journals ---- */

static void add(struct sweep_journal *journal, const char *row)
{
    struct oto_error error = {0};
    assert_ok(sweep_journal_add(journal, row, strlen(row), &error), error);
}

static void read_rows(struct sweep_rows *rows, const struct sweep_shard *shard, bool retry_failed)
{
    struct oto_error error = {0};
    assert_ok(sweep_rows_open(rows, shard, &error), error);
    assert_ok(sweep_rows_read(rows, ".", retry_failed, &error), error);
}

static void a_journal_that_is_cut_anywhere_keeps_its_complete_rows(void **state)
{
    (void)state;
    const struct sweep_shard shard = {.number = 1, .of = 1, .first = 0, .end = 3};
    static const char *const texts[] = {"0,5,1.5,", "1,6,2.5,", "2,7,,it failed"};
    struct sweep_journal journal;
    struct oto_error error = {0};
    assert_ok(sweep_journal_create(&journal, ".", &shard, &error), error);
    off_t ends[4] = {0};
    for (int i = 0; i < 3; i++) {
        add(&journal, texts[i]);
        ends[i + 1] = lseek(journal.file, 0, SEEK_END);
    }
    assert_ok(sweep_journal_close(&journal, &error), error);
    for (off_t length = ends[3]; length >= 0; length--) {
        struct sweep_rows rows;
        assert_int_equal(truncate(journal.path, length), 0);
        read_rows(&rows, &shard, false);
        uint64_t expected = 0;
        for (int i = 0; i < 3; i++) {
            const bool is_there = ends[i + 1] <= length;
            assert_int_equal(rows.rows[i].text != NULL, is_there);
            assert_true(!is_there || (rows.rows[i].length == strlen(texts[i]) && memcmp(rows.rows[i].text, texts[i], strlen(texts[i])) == 0));
            expected += is_there;
        }
        assert_int_equal(rows.known, expected);
        assert_int_equal(rows.failed, length == ends[3]);
        sweep_rows_close(&rows);
    }
}

static void a_row_whose_bytes_changed_does_not_count(void **state)
{
    (void)state;
    const struct sweep_shard shard = {.number = 1, .of = 1, .first = 0, .end = 1};
    struct sweep_journal journal;
    struct sweep_rows rows;
    struct oto_error error = {0};
    assert_ok(sweep_journal_create(&journal, ".", &shard, &error), error);
    add(&journal, "0,5,1.5,");
    assert_ok(sweep_journal_close(&journal, &error), error);
    const int file = open(journal.path, O_WRONLY);
    assert_int_equal(pwrite(file, "2", 1, 21), 1);
    (void)close(file);
    read_rows(&rows, &shard, false);
    assert_int_equal(rows.known, 0);
    sweep_rows_close(&rows);
}

static void a_success_replaces_a_failure_and_two_results_are_refused(void **state)
{
    (void)state;
    const struct sweep_shard shard = {.number = 1, .of = 1, .first = 0, .end = 2};
    struct sweep_journal first, second;
    struct sweep_rows rows;
    struct oto_error error = {0};
    assert_ok(sweep_journal_create(&first, ".", &shard, &error), error);
    assert_ok(sweep_journal_create(&second, ".", &shard, &error), error);
    assert_string_not_equal(first.path, second.path);
    add(&first, "0,5,,it failed");
    add(&first, "1,6,2.5,");
    add(&second, "0,5,1.5,");
    add(&second, "1,6,2.5,"); /* made twice: the same */
    read_rows(&rows, &shard, false);
    assert_int_equal(rows.known, 2);
    assert_int_equal(rows.failed, 0);
    assert_memory_equal(rows.rows[0].text, "0,5,1.5,", 8);
    sweep_rows_close(&rows);
    add(&second, "1,6,2.6,");
    assert_ok(sweep_rows_open(&rows, &shard, &error), error);
    assert_int_equal(sweep_rows_read(&rows, ".", false, &error), OTO_CONFLICT);
    assert_non_null(strstr(error.text, "run 1 has two different results"));
    sweep_rows_close(&rows);
    assert_ok(sweep_journal_close(&first, &error), error);
    assert_ok(sweep_journal_close(&second, &error), error);
}

static void failed_rows_are_left_out_for_another_attempt(void **state)
{
    (void)state;
    const struct sweep_shard shard = {.number = 2, .of = 2, .first = 4, .end = 6};
    struct sweep_journal journal;
    struct sweep_rows rows;
    struct oto_error error = {0};
    assert_ok(sweep_journal_create(&journal, ".", &shard, &error), error);
    add(&journal, "4,5,,it failed");
    add(&journal, "5,5,1,");
    add(&journal, "3,5,1,"); /* of another shard */
    assert_ok(sweep_journal_close(&journal, &error), error);
    read_rows(&rows, &shard, true);
    assert_int_equal(rows.known, 1);
    assert_null(rows.rows[0].text);
    sweep_rows_close(&rows);
}

/* ---- sizes ---- */

static void tasks_last_ten_seconds_and_are_at_most_five_hundred(void **state)
{
    (void)state;
    assert_int_equal(sweep_task_count(1000, 0.02), 2);
    assert_int_equal(sweep_task_count(10, 0.02), 1);
    assert_int_equal(sweep_task_count(100000, 0.02), 200);
    assert_int_equal(sweep_task_count(100000000, 0.02), 500);
    assert_int_equal(sweep_task_count(7, 1000.0), 7);
}

static void a_sweep_beyond_memory_or_disk_is_refused_with_both_figures(void **state)
{
    (void)state;
    struct sweep_spec spec;
    struct oto_error error = {0};
    const struct sweep_probe probe = {.worker_bytes = UINT64_C(1) << 50};
    open_spec(&spec);
    assert_int_equal(sweep_check_memory(&spec, &probe, 2, 12, &error), OTO_NO_MEMORY);
    assert_non_null(strstr(error.text, "2 workers of 1048576.000 GiB"));
    assert_int_equal(sweep_check_disk(&spec, "not/there", UINT64_C(1) << 50, &error), OTO_IO);
    assert_int_equal(sweep_check_disk(&spec, "not-there", UINT64_C(1) << 50, &error), OTO_LIMIT);
    assert_non_null(strstr(error.text, "GiB of disk"));
    assert_ok(sweep_check_disk(&spec, ".", 12, &error), error);
    sweep_spec_close(&spec);
}

/* ---- a folder for each test ---- */

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

static int enter_folder(void **state)
{
    char *folder = strdup("/tmp/otolith-test-XXXXXX");
    *state = folder;
    return mkdtemp(folder) == NULL ? -1 : chdir(folder);
}

static int leave_folder(void **state)
{
    (void)chdir("/");
    (void)nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_those_of_numpy),
        cmocka_unit_test(percentiles_of_many_values_are_those_of_a_sorted_list),
        cmocka_unit_test(statistics_of_a_short_stream_are_exact),
        IN_A_FOLDER(runs_go_through_seeds_then_combinations),
        IN_A_FOLDER(shards_cover_every_run_once),
        IN_A_FOLDER(rows_are_taken_apart_into_the_cells_they_were_made_of),
        IN_A_FOLDER(errors_of_a_spec_name_line_and_column),
        IN_A_FOLDER(a_journal_that_is_cut_anywhere_keeps_its_complete_rows),
        IN_A_FOLDER(a_row_whose_bytes_changed_does_not_count),
        IN_A_FOLDER(a_success_replaces_a_failure_and_two_results_are_refused),
        IN_A_FOLDER(failed_rows_are_left_out_for_another_attempt),
        cmocka_unit_test(tasks_last_ten_seconds_and_are_at_most_five_hundred),
        IN_A_FOLDER(a_sweep_beyond_memory_or_disk_is_refused_with_both_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
