/* `otolith sense` as a user runs it: the program on files, with no server. */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "oto_test.h"

extern char **environ;

static char directory[] = "/tmp/otolith-test-sense-XXXXXX";

/* A path in the directory; the last 16 stay valid. */
static const char *at(const char *name)
{
    static char paths[16][256];
    static unsigned next;
    char *path = paths[next++ % 16];
    (void)snprintf(path, sizeof *paths, "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(at(name), "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Up to 64 KiB of a file, for small ones. */
static const char *read_text(const char *name)
{
    static char text[1 << 16];
    FILE *file = fopen(at(name), "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

/* Runs `otolith sense` with these arguments, stdout and stderr into files; returns its exit code. */
static int sense(const char *const *arguments)
{
    const char *argv[32] = {OTO_BIN_DIR "/otolith", "sense"};
    for (int i = 0; arguments[i] != NULL; i++) {
        argv[i + 2] = arguments[i];
    }
    posix_spawn_file_actions_t actions;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    (void)posix_spawn_file_actions_addopen(&actions, 1, at("stdout"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)posix_spawn_file_actions_addopen(&actions, 2, at("stderr"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid = 0;
    int status = 0;
    assert_int_equal(posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
#define SENSE(...) sense((const char *const[]){__VA_ARGS__, NULL})

static void assert_said(const char *words)
{
    const char *text = read_text("stderr");
    if (strstr(text, words) == NULL) {
        print_error("stderr '%s' does not say \"%s\"\n", text, words);
        fail();
    }
}

/* ---- the golden rows of the MAVS law ---- */

enum {
    ID, SET, KIND, RANGE, RESOLUTION, CB, ND = CB + 3, BI = ND + 3, RW = BI + 3, MA = RW + 3, TB = MA + 3, TSF = TB + 3,
    TEMPERATURE = TSF + 3, RATE, W, IN, OUT = IN + 3, D = OUT + 3, Q = D + 3, COLUMNS = Q + 3
};

struct golden_row {
    char cells[COLUMNS][32];
    bool done;
};

struct sensor {
    const char *kind, *triad, *unit, *plugin, *input[3], *output;
    double scale; /* of the output */
};
static const struct sensor sensors[] = {
    {"accel", "accelerometer", "m_s2", "mems_imu",
     {"specific_force_x_m_s2", "specific_force_y_m_s2", "specific_force_z_m_s2"}, "linear_acceleration.x", 1},
    {"gyro", "gyroscope", "rad_s", "mems_imu", {"angular_rate_x_rad_s", "angular_rate_y_rad_s", "angular_rate_z_rad_s"},
     "angular_velocity.x", 1},
    {"mag", "magnetometer", "ut", "magnetometer", {"mag_field_x_ut", "mag_field_y_ut", "mag_field_z_ut"},
     "magnetic_field.x", 1e-6},
};

static size_t read_golden(const char *path, struct golden_row **rows)
{
    char line[4096];
    size_t count = 0;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    *rows = NULL;
    while (fgets(line, sizeof line, file) != NULL) {
        *rows = realloc(*rows, (count + 1) * sizeof **rows);
        struct golden_row *row = &(*rows)[count++];
        char *rest = line;
        row->done = false;
        for (int i = 0; i < COLUMNS; i++) {
            const char *cell = strsep(&rest, ",\n");
            assert_non_null(cell);
            (void)snprintf(row->cells[i], sizeof row->cells[i], "%s", cell);
        }
    }
    (void)fclose(file);
    return count;
}

static void put_vector(FILE *file, const char *key, const char *unit, const char *after, const struct golden_row *row,
                       int first)
{
    (void)fprintf(file, "  %s%s%s: [%s, %s, %s]\n", key, unit, after, row->cells[first], row->cells[first + 1],
                  row->cells[first + 2]);
}

static void write_params(const struct golden_row *row, const struct sensor *sensor)
{
    FILE *file = fopen(at("params.yaml"), "we");
    assert_non_null(file);
    (void)fprintf(file, "law: mavs\nw: %s\n%s:\n  measurement_range_%s: %s\n  resolution_%s: %s\n", row->cells[W],
                  sensor->triad, sensor->unit, row->cells[RANGE], sensor->unit, row->cells[RESOLUTION]);
    put_vector(file, "constant_bias_", sensor->unit, "", row, CB);
    put_vector(file, "noise_density_", sensor->unit, "_rthz", row, ND);
    put_vector(file, "bias_instability_", sensor->unit, "", row, BI);
    put_vector(file, "random_walk_", sensor->unit, "_rthz", row, RW);
    put_vector(file, "axis_misalignment_percent", "", "", row, MA);
    put_vector(file, "temperature_bias_", sensor->unit, "_degc", row, TB);
    put_vector(file, "temperature_scale_factor_percent_degc", "", "", row, TSF);
    assert_int_equal(fclose(file), 0);
}

static bool same_settings(const struct golden_row *a, const struct golden_row *b)
{
    return strcmp(a->cells[SET], b->cells[SET]) == 0 && strcmp(a->cells[RATE], b->cells[RATE]) == 0 &&
           strcmp(a->cells[W], b->cells[W]) == 0;
}

static void check_output(const struct golden_row *row, const struct sensor *sensor, char *line, int column)
{
    const double range = strtod(row->cells[RANGE], NULL);
    char *rest = line;
    for (int i = 0; i < column; i++) {
        (void)strsep(&rest, ",");
    }
    for (int axis = 0; axis < 3; axis++) {
        const double got = strtod(strsep(&rest, ",\n"), NULL);
        double wanted = strtod(row->cells[Q + axis], NULL);
        if (isnan(strtod(row->cells[D + axis], NULL))) { /* 2 Hz: the original's 0 · infinity; here F1(0) = 0 */
            assert_true(isfinite(got) && strcmp(row->cells[RATE], "2") == 0);
            continue;
        }
        if (strtod(row->cells[RESOLUTION], NULL) == 0) { /* the original divides by it; here it means no rounding */
            wanted = fmax(-range, fmin(range, strtod(row->cells[D + axis], NULL)));
        }
        /* Of tesla: one rounding of the product beside the original's microtesla. */
        assert_near(got, wanted * sensor->scale, sensor->scale == 1 ? 0 : fabs(wanted) * sensor->scale * 2.3e-16);
    }
}

/* All rows that share their settings with row `first`, as one run of the program. */
static void check_group(struct golden_row *rows, size_t first, size_t count)
{
    const struct sensor *sensor = sensors;
    size_t members[512], member_count = 0;
    while (strcmp(sensor->kind, rows[first].cells[KIND]) != 0) {
        sensor++;
    }
    write_params(&rows[first], sensor);
    FILE *truth = fopen(at("truth.csv"), "we");
    assert_non_null(truth);
    (void)fprintf(truth, "t_s,%s,%s,%s,temperature_degc\n", sensor->input[0], sensor->input[1], sensor->input[2]);
    for (size_t i = first; i < count && member_count < 512; i++) {
        if (!rows[i].done && same_settings(&rows[first], &rows[i])) {
            members[member_count++] = i;
            rows[i].done = true;
            (void)fprintf(truth, "%zu,%s,%s,%s,%s\n", member_count, rows[i].cells[IN], rows[i].cells[IN + 1],
                          rows[i].cells[IN + 2], rows[i].cells[TEMPERATURE]);
        }
    }
    assert_int_equal(fclose(truth), 0);
    if (SENSE("--plugin", sensor->plugin, "--params", at("params.yaml"), "--rate", rows[first].cells[RATE], "--in",
              at("truth.csv"), "--out", at("samples.csv")) != 0) {
        fail_msg("%s", read_text("stderr"));
    }
    char line[8192];
    FILE *samples = fopen(at("samples.csv"), "re");
    assert_non_null(samples);
    assert_non_null(fgets(line, sizeof line, samples));
    int column = 0;
    const char *found = strstr(line, sensor->output);
    assert_non_null(found);
    for (const char *c = line; c < found; c++) {
        column += *c == ',';
    }
    for (size_t i = 0; i < member_count; i++) {
        assert_non_null(fgets(line, sizeof line, samples));
        check_output(&rows[members[i]], sensor, line, column);
    }
    assert_null(fgets(line, sizeof line, samples));
    (void)fclose(samples);
}

static void check_golden(const char *name)
{
    char path[4096];
    struct golden_row *rows = NULL;
    const size_t count = read_golden(oto_shared_file(path, sizeof path, name), &rows);
    assert_true(count > 500);
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].done) {
            check_group(rows, i, count);
        }
    }
    free(rows);
}

static void the_deterministic_rows_of_mavs_are_met(void **state)
{
    (void)state;
    check_golden("data/golden_mavs/mems_deterministic.csv");
}

static void the_rows_of_mavs_with_w_given_are_met(void **state)
{
    (void)state;
    check_golden("data/golden_mavs/mems_w_injected.csv");
}

/* ---- behaviour ---- */

static void write_truth(void)
{
    write_file("truth.csv", "t_s,temperature_degc\n0.01,20\n0.02,21\n0.03,22\n0.04,23\n0.05,24\n0.06,25\n");
}

static unsigned lines_of(const char *text)
{
    unsigned lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static void columns_are_the_channels_fields_and_the_rate_is_said(void **state)
{
    (void)state;
    write_truth();
    assert_int_equal(SENSE("--plugin", "template", "--set", "noise_std_degc=0", "--set", "params.bias_degc=1", "--set",
                           "lag_s=0", "--in", at("truth.csv"), "--out", "-"), 0);
    assert_string_equal(read_text("stdout"), "t_ns,seq,temperature_degc,sensor_time_ns,flags\n"
                                             "10000000,1,21,10000000,0\n20000000,2,22,20000000,0\n"
                                             "30000000,3,23,30000000,0\n40000000,4,24,40000000,0\n"
                                             "50000000,5,25,50000000,0\n60000000,6,26,60000000,0\n");
    assert_said("fs = 100 Hz, from the median step of t_s");
    assert_int_equal(SENSE("--plugin", "template", "--rate", "60000/1001", "--in", at("truth.csv"), "--out", "-"), 0);
    assert_said("fs = 59.9400599401 Hz");
}

static void noise_is_the_seeds(void **state)
{
    (void)state;
    static char first[1 << 16];
    write_truth();
    assert_int_equal(SENSE("--plugin", "template", "--seed", "18446744073709551615", "--in", at("truth.csv"), "--out",
                           at("a.csv")), 0);
    (void)snprintf(first, sizeof first, "%s", read_text("a.csv"));
    assert_int_equal(lines_of(first), 7);
    assert_int_equal(SENSE("--plugin", "template", "--seed", "18446744073709551615", "--in", at("truth.csv"), "--out",
                           at("a.csv")), 0);
    assert_string_equal(first, read_text("a.csv"));
    assert_int_equal(SENSE("--plugin", "template", "--seed", "1", "--in", at("truth.csv"), "--out", at("a.csv")), 0);
    assert_string_not_equal(first, read_text("a.csv"));
}

static void units_and_parts_have_noise_of_their_own(void **state)
{
    (void)state;
    static char outputs[4][1 << 16];
    static const char *const units[] = {"0", "1", "1"};
    write_truth();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(SENSE("--plugin", "template", "--unit", units[i], "--in", at("truth.csv"), "--out", at("a.csv")), 0);
        (void)snprintf(outputs[i], sizeof outputs[i], "%s", read_text("a.csv"));
    }
    assert_string_not_equal(outputs[0], outputs[1]);
    assert_string_equal(outputs[1], outputs[2]);
}

static void a_column_that_a_parameter_replaces_is_named(void **state)
{
    (void)state;
    write_truth();
    assert_int_equal(SENSE("--plugin", "mems_imu", "--set", "temperature_degc=20", "--in", at("truth.csv"), "--out",
                           at("a.csv")), 0);
    assert_said("--set temperature_degc=world uses it");
    assert_int_equal(SENSE("--plugin", "mems_imu", "--in", at("truth.csv"), "--out", at("a.csv")), 0);
    assert_null(strstr(read_text("stderr"), "has no effect"));
}

static void a_discarded_sample_keeps_its_row_and_uses_no_seq(void **state)
{
    (void)state;
    write_truth();
    assert_int_equal(SENSE("--plugin", OTO_TEST_PLUGIN_DIR "/trouble_discard.so", "--set", "at=6", "--in", at("truth.csv"),
                           "--out", "-"), 0);
    assert_non_null(strstr(read_text("stdout"), "\n50000000,5,5,5,50000000,0\n60000000,,,,,\n"));
    assert_said("6 rows, 1 discarded");
}

static void what_is_wrong_is_named_and_leaves_no_file(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[8], *says;
        int code;
    } cases[] = {
        {{"--plugin", "templat"}, "did you mean 'template'?", 1},
        {{"--plugin", "motion_script"}, "of the kind 'motion'; sense runs sensors", 1},
        {{"--plugin", "template", "--set", "lag=1"}, "did you mean 'lag_s'?", 1},
        {{"--plugin", "template", "--set", "lag_s=-1"}, "'lag_s' is -1; from 0 to 1000 s is accepted", 1},
        {{"--plugin", "template", "--set", "lag_s"}, "--set takes KEY=VALUE", 2},
        {{"--plugin", "template", "--rate", "fast"}, "expected a rate such as 200, 0.5 or 60000/1001", 1},
        {{"--plugin", "template", "--rate", "0"}, "--rate is 0", 1},
        {{"--plugin", "template", "--seed", "-1"}, "--seed", 2},
        {{"--plugin", "template", "--params", "/nonexistent.yaml"}, "/nonexistent.yaml", 1},
        {{"--plugin", OTO_TEST_PLUGIN_DIR "/trouble_error.so"}, "row 5: the plugin's step failed", 1},
        {{"--plugin", OTO_TEST_PLUGIN_DIR "/trouble_prepare.so"}, "prepare was told to fail", 1},
        {{"--plugin", OTO_TEST_PLUGIN_DIR "/trouble_init.so"}, "init was told to fail", 1},
        {{NULL}, "--plugin, --in and --out are needed", 2},
    };
    write_truth();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *arguments[16] = {"--in", at("truth.csv"), "--out", at("none.csv")};
        for (int k = 0; k < 8 && cases[i].arguments[k] != NULL; k++) {
            arguments[4 + k] = cases[i].arguments[k];
        }
        assert_int_equal(sense(arguments), cases[i].code);
        assert_said(cases[i].says);
        assert_int_not_equal(access(at("none.csv"), F_OK), 0);
    }
}

static void wrong_rows_are_named_by_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"t_s\n1\n1\n", "truth.csv:3: error: row 2: t_s does not grow"},
        {"t_s\n2\n1\n3\n", "truth.csv:3"},
        {"time\n1\n", "t_s"},
        {"t_s,temperature_degc\n1,warm\n", "truth.csv:2"},
        {"t_s,temperature_degc\n1,nan\n", "truth.csv:2"},
        {"t_s\n1e10\n", "beyond 9e9 s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file("truth.csv", cases[i].text);
        assert_int_equal(SENSE("--plugin", "template", "--rate", "1", "--in", at("truth.csv"), "--out", at("none.csv")), 1);
        assert_said(cases[i].says);
        assert_int_not_equal(access(at("none.csv"), F_OK), 0);
    }
}

static void an_old_output_stays_when_the_run_fails_and_is_replaced_when_not(void **state)
{
    (void)state;
    write_truth();
    write_file("old.csv", "old\n");
    assert_int_equal(SENSE("--plugin", OTO_TEST_PLUGIN_DIR "/trouble_error.so", "--in", at("truth.csv"), "--out",
                           at("old.csv")), 1);
    assert_string_equal(read_text("old.csv"), "old\n");
    assert_int_equal(SENSE("--plugin", "template", "--in", at("truth.csv"), "--out", at("old.csv")), 0);
    assert_int_equal(lines_of(read_text("old.csv")), 7);
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    static const char *const names[] = {"stdout", "stderr", "params.yaml", "truth.csv", "samples.csv", "a.csv", "old.csv"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)unlink(at(names[i]));
    }
    return rmdir(directory); /* fails if a half-written file was left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_deterministic_rows_of_mavs_are_met),
        cmocka_unit_test(the_rows_of_mavs_with_w_given_are_met),
        cmocka_unit_test(columns_are_the_channels_fields_and_the_rate_is_said),
        cmocka_unit_test(noise_is_the_seeds),
        cmocka_unit_test(units_and_parts_have_noise_of_their_own),
        cmocka_unit_test(a_column_that_a_parameter_replaces_is_named),
        cmocka_unit_test(a_discarded_sample_keeps_its_row_and_uses_no_seq),
        cmocka_unit_test(what_is_wrong_is_named_and_leaves_no_file),
        cmocka_unit_test(wrong_rows_are_named_by_line),
        cmocka_unit_test(an_old_output_stays_when_the_run_fails_and_is_replaced_when_not),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
