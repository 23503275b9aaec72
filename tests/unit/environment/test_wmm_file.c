/* Coefficient files: the shipped ones are what is compiled in, and bad ones are refused with their place. */
#include "oto_test.h"

#include "otolith/environment.h"

enum { TEXT_BYTES = 128 * 1024 };

struct fixture {
    char text[TEXT_BYTES];
    size_t bytes;
};

static const char *shipped(char *path, size_t bytes, const char *name)
{
    (void)snprintf(path, bytes, "%s/configs/magnetics/%s", OTO_SOURCE_DIR, name);
    return path;
}

static int setup(void **state)
{
    static struct fixture fixture;
    char path[512];
    FILE *file = fopen(shipped(path, sizeof path, "WMM_2025.COF"), "re");
    if (file == NULL) {
        return -1;
    }
    fixture.bytes = fread(fixture.text, 1, sizeof fixture.text - 1, file);
    fixture.text[fixture.bytes] = '\0';
    (void)fclose(file);
    *state = &fixture;
    return 0;
}

static void shipped_files_are_the_models_that_are_compiled_in(void **state)
{
    static const char *const names[][2] = {{"WMM_2020.COF", "wmm2020"}, {"WMM_2025.COF", "wmm2025"}};
    char path[512];
    struct oto_error error = {0};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct oto_wmm *model = NULL;
        struct oto_wmm read;
        assert_ok(oto_wmm_read(shipped(path, sizeof path, names[i][0]), &read, &error), error);
        assert_ok(oto_wmm_find(names[i][1], &model, &error), error);
        assert_memory_equal(&read, model, sizeof read);
    }
}

/* Replaces the first `old` by `fresh` and parses. */
static void refused(const struct fixture *original, const char *old, const char *fresh, enum oto_status status,
                    const char *expected)
{
    static struct fixture changed;
    struct oto_wmm model, untouched;
    struct oto_error error = {0};
    char *at = strstr(memcpy(changed.text, original->text, original->bytes + 1), old);
    assert_non_null(at);
    memmove(at + strlen(fresh), at + strlen(old), strlen(at + strlen(old)) + 1);
    memcpy(at, fresh, strlen(fresh));
    memset(&model, 0x5a, sizeof model);
    untouched = model;
    const enum oto_status got = oto_wmm_parse("bad.cof", changed.text, strlen(changed.text), &model, &error);
    if (got != status || strstr(error.text, expected) == NULL) {
        fail_msg("'%s' for '%s': status %d, '%s'; expected status %d and '%s'", fresh, old, (int)got, error.text,
                 (int)status, expected);
    }
    assert_memory_equal(&model, &untouched, sizeof model);
}

static void bad_numbers_are_refused_with_line_and_column(void **state)
{
    const struct fixture *f = *state;
    refused(f, "-29351.8", "-2935l.8", OTO_SYNTAX, "bad.cof:2:9: error: g: expected a number, got '-2935l.8'");
    refused(f, "-29351.8", "nan", OTO_SYNTAX, "bad.cof:2:9: error: g: expected a number, got 'nan'");
    refused(f, "-29351.8", "1e999", OTO_SYNTAX, "bad.cof:2:9");
    refused(f, "-29351.8", "-229351.8", OTO_RANGE, "g: expected a number from -100000 to 100000, got '-229351.8'");
    refused(f, "2025.0", "20x5.0", OTO_SYNTAX, "bad.cof:1:5: error: epoch: expected a number, got '20x5.0'");
    refused(f, "2025.0", "25.0", OTO_RANGE, "epoch: expected a number from 1900 to 2200");
}

static void bad_terms_are_refused(void **state)
{
    const struct fixture *f = *state;
    refused(f, "  2  1 ", "  2  0 ", OTO_EXISTS, "bad.cof:5:1: error: the term n = 2, m = 0 is listed twice");
    refused(f, "  2  1 ", "  2  3 ", OTO_RANGE, "order m: expected a number from 0 to 2, got '3'");
    refused(f, "  2  1 ", "  2 -1 ", OTO_RANGE, "order m");
    refused(f, "  2  1 ", "  0  0 ", OTO_RANGE, "degree n: expected a number from 1 to 12, got '0'");
    refused(f, "  2  1 ", " 13  1 ", OTO_RANGE, "degree n: expected a number from 1 to 12, got '13'");
    refused(f, "  2  1 ", "2.5  1 ", OTO_SYNTAX, "expected whole numbers n and m, got '2.5 1'");
    refused(f, "  2  1 ", "  2 ", OTO_SYNTAX, "bad.cof:5:1: error: expected n, m, g, h");
    refused(f, "  2  1 ", "  2  1  1 ", OTO_SYNTAX, "got 7 words");
    refused(f, "  2  1 ", "  2  1\n", OTO_SYNTAX, "got 2 words");
    refused(f, "  1  0 ", "99999999\n  1  0 ", OTO_SYNTAX, "the term n = 1, m = 0 is missing");
}

static void bad_files_are_refused(void **state)
{
    const struct fixture *f = *state;
    struct oto_wmm model;
    struct oto_error error = {0};
    refused(f, "WMM-2025", "---", OTO_SYNTAX, "expected a model name such as WMM-2025, got '---'");
    refused(f, "WMM-2025", "WMM-2025-high-resolution", OTO_SYNTAX, "at most 15 letters and digits");
    refused(f, "WMM-2025", "", OTO_SYNTAX, "expected epoch, model name and date");
    refused(f, "WMM-2025", "\x1b[2J", OTO_SYNTAX, "bad.cof:1:1: error: expected text");
    assert_int_equal(oto_wmm_parse("bad.cof", "", 0, &model, &error), OTO_SYNTAX);
    assert_int_equal(oto_wmm_parse("bad.cof", "\0\0\0", 3, &model, &error), OTO_SYNTAX);
    assert_int_equal(oto_wmm_read("absent.cof", &model, &error), OTO_IO);
    assert_non_null(strstr(error.text, "absent.cof: No such file"));
    assert_int_equal(oto_wmm_read("/", &model, &error), OTO_IO);
}

static void long_lines_and_long_files_are_refused(void **state)
{
    static char text[70000];
    struct oto_wmm model;
    struct oto_error error = {0};
    (void)state;
    memset(text, '1', sizeof text);
    assert_int_equal(oto_wmm_parse("long.cof", text, 60000, &model, &error), OTO_LIMIT);
    assert_string_equal(error.text, "long.cof:1:1: error: expected lines of at most 160 characters");
    assert_int_equal(oto_wmm_parse("long.cof", text, sizeof text, &model, &error), OTO_LIMIT);
    assert_non_null(strstr(error.text, "at most 65536 bytes"));
    memset(text, '\n', sizeof text);
    assert_int_equal(oto_wmm_parse("long.cof", text, 60000, &model, &error), OTO_SYNTAX);
    assert_int_equal(oto_wmm_read("/dev/zero", &model, &error), OTO_IO);
    assert_non_null(strstr(error.text, "not a regular file"));
}

static void a_file_that_is_cut_off_is_refused_wherever_it_ends(void **state)
{
    const struct fixture *f = *state;
    const size_t nines = (size_t)(strstr(f->text, "9999") - f->text);
    struct oto_wmm model;
    struct oto_error error = {0};
    for (size_t bytes = 0; bytes < nines + 4; bytes++) {
        assert_int_not_equal(oto_wmm_parse("cut.cof", f->text, bytes, &model, &error), OTO_OK);
    }
    assert_ok(oto_wmm_parse("cut.cof", f->text, nines + 4, &model, &error), error);
}

/* Any byte at any place: an answer, never a crash; sanitizer builds see more. */
static void a_changed_byte_never_does_harm(void **state)
{
    static const char bytes[] = {'\0', '\n', '9', '-', 'e', (char)0xff};
    const struct fixture *f = *state;
    static struct fixture changed;
    struct oto_wmm model;
    struct oto_error error = {0};
    memcpy(&changed, f, sizeof changed);
    for (size_t i = 0; i < f->bytes; i++) {
        changed.text[i] = bytes[i % sizeof bytes];
        if (oto_wmm_parse("changed.cof", changed.text, f->bytes, &model, &error) != OTO_OK) {
            assert_int_equal(strncmp(error.text, "changed.cof:", 12), 0);
        }
        changed.text[i] = f->text[i];
    }
}

static void line_ends_of_other_systems_are_read(void **state)
{
    const struct fixture *f = *state;
    static struct fixture dos;
    struct oto_wmm model;
    const struct oto_wmm *carried = NULL;
    struct oto_error error = {0};
    dos.bytes = 0;
    for (size_t i = 0; i < f->bytes; i++) {
        if (f->text[i] == '\n') {
            dos.text[dos.bytes++] = '\r';
        }
        dos.text[dos.bytes++] = f->text[i];
    }
    assert_ok(oto_wmm_parse("dos.cof", dos.text, dos.bytes, &model, &error), error);
    assert_ok(oto_wmm_find("wmm2025", &carried, &error), error);
    assert_memory_equal(&model, carried, sizeof model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_files_are_the_models_that_are_compiled_in),
        cmocka_unit_test(bad_numbers_are_refused_with_line_and_column),
        cmocka_unit_test(bad_terms_are_refused),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(long_lines_and_long_files_are_refused),
        cmocka_unit_test(a_file_that_is_cut_off_is_refused_wherever_it_ends),
        cmocka_unit_test(a_changed_byte_never_does_harm),
        cmocka_unit_test(line_ends_of_other_systems_are_read),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
