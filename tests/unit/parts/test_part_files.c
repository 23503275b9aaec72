/* Part files that are wrong: what is refused, where, and how it is said. */
#include "oto_test.h"
#include "parts/library.h"

static char folder[] = "/tmp/otolith_parts_XXXXXX";
static char path[64];

#define HEAD "part: a/b\ntitle: t\nvendor: v\nkind: magnetometer\n"
#define DOCUMENTS "documents:\n  ds: {title: sheet}\n"
#define MISSING "missing: [magnetometer.noise_density, magnetometer.in_run_bias_stability]\n"
#define RANGE "      range: {value: 4, unit: gauss, is: typ, source: \"ds p.1\"}\n"
#define GOOD HEAD DOCUMENTS MISSING "modes:\n  one:\n    magnetometer:\n" RANGE
#define WITH(LINES) GOOD LINES
#define WHITE(VALUE, KNOWN) "      noise_density: {value: " VALUE ", unit: nT/√Hz, is: typ, " KNOWN "source: \"ds p.1\"}\n"
#define SETTINGS "part: a/b\ntitle: t\nvendor: v\nkind: pressure\n" DOCUMENTS
#define SETTING(VALUE, IS) "      a: {value: " VALUE ", unit: Pa, is: " IS ", source: \"ds p.1\"}\n"

static enum oto_status read_text(const char *text, struct oto_part **part, struct oto_error *error)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return oto_part_read(path, part, error);
}

static void a_good_file_is_read(void **state)
{
    (void)state;
    struct oto_part *part;
    struct oto_error error = {0};
    assert_ok(
        read_text(WITH("      resolution: {value: 0.58, unit: mgauss/LSB, is: max, source: \"ds p.2 Table 3\"}\n"),
                  &part, &error),
        error);
    assert_string_equal(part->name, "a/b");
    assert_false(part->is_imu);
    assert_int_equal(part->mode_count, 1);
    assert_int_equal(part->missing_count, 2);
    const struct oto_part_number *number = oto_part_number(&part->modes[0], OTO_PART_MAGNETOMETER, "resolution");
    assert_non_null(number);
    assert_true(number->is_max);
    assert_string_equal(number->source, "ds p.2 Table 3");
    assert_near(number->value_u[1], 0.058, 1e-17);
    oto_part_close(part);
}

static const struct bad_file {
    const char *text, *place, *words[2];
} bad_files[] = {
    {"", ":1:1:", {"got nothing"}},
    {"part: a/b\n", ":1:1:", {"'title' is missing"}},
    {"part: a/b\ntitle: t\nvendor: v\nkind: gyro\n", ":4:7:", {"imu, magnetometer, receiver or pressure", "'gyro'"}},
    {"parts: a/b\n", ":1:1:", {"no key 'parts'", "did you mean 'part'"}},
    {HEAD "modes: {}\n", ":1:1:", {"'documents' is missing"}},
    {HEAD DOCUMENTS "modes: {}\n", ":", {"at least one mode"}},
    {HEAD "documents: {ds: {number: 5}}\nmodes: {}\n", ":5:", {"'title' is missing"}},
    {HEAD DOCUMENTS "missing: [magnetometer.nois]\n", ":7:11:", {"a triad, a dot and a term"}},
    {HEAD DOCUMENTS "modes:\n  one:\n    magnetometer:\n" RANGE,
     ":",
     {"no magnetometer.noise_density", "`missing`"}},
    {HEAD DOCUMENTS MISSING "modes:\n  one: {}\n", ":", {"no magnetometer.range"}},
    {HEAD DOCUMENTS MISSING "default_mode: two\nmodes:\n  one:\n    magnetometer:\n" RANGE,
     ":8:15:",
     {"no mode 'two'", "it has one"}},
    {HEAD DOCUMENTS MISSING "modes:\n  one:\n    magnetometer:\n" RANGE "  two:\n    magnetometer:\n" RANGE,
     ":1:1:",
     {"'default_mode' is missing"}},
    {WITH("      nois: {value: 1}\n"), ":12:7:", {"no term 'nois'"}},
    {WITH("      scale_toleranc: {value: 1}\n"), ":12:7:", {"did you mean 'scale_tolerance'"}},
    {WITH("      resolution: {value: x, unit: mG/LSB, is: typ, source: \"ds p.1\"}\n"),
     ":12:27:",
     {"a number", "'x'"}},
    {WITH("      resolution: {value: [1, 2], unit: mG/LSB, is: typ, source: \"ds p.1\"}\n"),
     ":12:27:",
     {"three, one for each axis"}},
    {WITH("      resolution: {value: 0, unit: mG/LSB, is: typ, source: \"ds p.1\"}\n"), ":12:27:", {"more than 0"}},
    {WITH("      resolution: {value: .nan, unit: mG/LSB, is: typ, source: \"ds p.1\"}\n"), ":12:27:", {"number"}},
    {WITH("      zero_offset: {value: -1, unit: mG, is: typ, source: \"ds p.1\"}\n"),
     ":12:28:",
     {"zero_offset is -1", "0 or more"}},
    {WITH("      resolution: {value: 1, unit: mdps/LSB, is: typ, source: \"ds p.1\"}\n"),
     ":12:36:",
     {"not measured in 'mdps/LSB'", "LSB/gauss"}},
    {WITH("      g_sensitivity: {value: 1, unit: g, is: typ, source: \"ds p.1\"}\n"), ":12:39:", {"no such term"}},
    {WITH("      resolution: {value: 1, unit: mG/LSB, source: \"ds p.1\"}\n"),
     ":12:19:",
     {"'is' is missing of resolution"}},
    {WITH("      resolution: {value: 1, unit: mG/LSB, is: min, source: \"ds p.1\"}\n"), ":12:48:", {"typ, max or derived"}},
    {WITH("      resolution: {value: 1, unit: mG/LSB, is: typ}\n"), ":12:19:", {"'source' is missing"}},
    {WITH("      resolution: {value: 1, unit: mG/LSB, is: typ, source: ds}\n"), ":12:61:", {"has no place"}},
    {WITH("      resolution: {value: 1, unit: mG/LSB, is: typ, source: \"dt p.1\"}\n"),
     ":12:61:",
     {"names no document", "'dt'"}},
    {WITH("      resolution: {value: 1, unti: mG/LSB}\n"), ":12:30:", {"no key 'unti'", "did you mean 'unit'"}},
    {WITH("      zero_offset: {min: 5, max: -5, unit: mG, source: \"ds p.1\"}\n"),
     ":12:26:",
     {"min 5 is more than max -5"}},
    {WITH("      zero_offset: {min: 5, unit: mG, source: \"ds p.1\"}\n"), ":12:20:", {"`min` and `max`"}},
    {WITH("      zero_offset: {min: -5, max: 5, value: 3, unit: mG, source: \"ds p.1\"}\n"),
     ":12:20:",
     {"not a mixture"}},
    {WITH("      zero_offset: {min: -5, max: 5, unit: LSB, source: \"ds p.1\"}\n"),
     ":12:20:",
     {"in LSB", "no resolution"}},
    {WITH("      zero_offset_total: {value: 5, unit: mG, is: typ, source: \"ds p.1\"}\n"),
     ":12:26:",
     {"is a total", "over_degc"}},
    {WITH("      zero_offset_total: {value: 5, unit: mG, is: typ, over_degc: [85, -40], source: \"ds p.1\"}\n"),
     ":12:67:",
     {"[from, to]"}},
    {WITH("      zero_offset_slope: {value: 5, unit: mG/°C, is: typ, over_degc: [-40, 85], source: \"ds p.1\"}\n"),
     ":12:",
     {"no total"}},
    {WITH("      zero_offset_slope: {value: 5, unit: mG, is: typ, source: \"ds p.1\"}\n"),
     ":12:43:",
     {"not measured in 'mG'"}},
    {WITH("      noise_density: {value: 5, unit: nT/√Hz, is: typ, source: \"ds p.1\"}\n"),
     ":12:7:",
     {"listed in `missing`"}},
    {WITH("      resolution: {value: 500, unit: gauss, is: typ, source: \"ds p.1\"}\n"),
     ":12:19:",
     {"more than the range"}},
    {WITH("      zero_offset: {value: 5, unit: mG, is: typ, sigma: 9, source: \"ds p.1\"}\n"), ":12:57:", {"from 1 to 6"}},
    {WITH("      resolution: {value: 5, unit: mG, is: typ, sigma: 1, source: \"ds p.1\"}\n"), ":12:49:", {"is no spread"}},
    {WITH("      zero_offset: {value: 5, unit: mG, is: typ, known_s: [1, 9], source: \"ds p.1\"}\n"),
     ":12:50:",
     {"no averaging times"}},
    {WITH("      zero_offset_slope: {value: -5, unit: mG/°C, is: typ, source: \"ds p.1\"}\n"),
     ":12:34:",
     {"unknown sign", "constant_"}},
    {WITH("      gauss_markov: {tau_s: [1, 2], x: [1], y: [1, 2], z: [1, 2], unit: nT, source: \"ds p.1\"}\n"),
     ":12:",
     {"a list of 2 numbers"}},
    {WITH("      sine: {frequency_hz: [1], x: [1], y: [1], z: [1], unit: m/s², source: \"ds p.1\"}\n"),
     ":12:",
     {"expected µT"}},
    {HEAD DOCUMENTS "missing: [magnetometer.in_run_bias_stability]\nmodes:\n  one:\n    magnetometer:\n" RANGE WHITE("10", ""),
     ":10:",
     {"no known_s", "magnetometer.known_s"}},
    {HEAD DOCUMENTS "missing: [magnetometer.in_run_bias_stability, magnetometer.known_s]\nmodes:\n  one:\n    magnetometer:\n" RANGE
                    WHITE("10", "known_s: [1, 9], "),
     ":10:",
     {"known_s of the magnetometer is given and listed"}},
    {HEAD DOCUMENTS "missing: [magnetometer.in_run_bias_stability]\nmodes:\n  one:\n    output_rate: {value: 10, "
                    "unit: s, is: typ, source: \"ds p.1\"}\n",
     ":10:36:",
     {"Hz or kHz"}},
    {HEAD DOCUMENTS "missing: [magnetometer.in_run_bias_stability]\nmodes:\n  one:\n    output_rate: {value: 0, "
                    "unit: Hz, is: typ, source: \"ds p.1\"}\n",
     ":10:26:",
     {"more than 0"}},
    {HEAD DOCUMENTS "missing: [magnetometer.in_run_bias_stability]\nmodes:\n  one:\n    magnetometer:\n" RANGE
                    "      noise_density: {value: 5, unit: nT/√Hz, is: typ, source: \"ds p.1\"}\n"
                    "      allan_n: {value: 5, unit: nT/√Hz, is: typ, source: \"ds p.1\"}\n",
     ":13:7:",
     {"in a second way", "noise_density in line 12"}},
    {HEAD DOCUMENTS MISSING "common:\n  magnetometer:\n"
                            "    range: {value: 4, unit: gauss, is: typ, source: \"ds p.1\"}\n"
                            "modes:\n  one:\n    magnetometer:\n" RANGE,
     ":14:7:",
     {"given twice"}},
    {SETTINGS "modes:\n  one:\n    filter: f\n", ":", {"has no `parameters`"}},
    {SETTINGS "modes:\n  one:\n    parameters:\n" SETTING("1", "typical"), ":10:", {"typ, max or derived"}},
    {SETTINGS "modes:\n  one:\n    parameters:\n" SETTING("[1, 2, 3, 4, 5, 6, 7]", "typ"), ":10:", {"at most 6 numbers"}},
    {SETTINGS "modes:\n  one:\n    parameters:\n" SETTING("x", "typ"), ":10:", {"'x'"}},
    {SETTINGS "modes:\n  one:\n    parameters: [1]\n", ":9:", {"a map of parameters"}},
    {SETTINGS "common:\n  parameters:\n" SETTING("1", "typ") "modes:\n  one:\n    parameters:\n" SETTING("2", "max"), ":13:7:",
     {"given twice", "line 9"}},
    {GOOD "    parameters:\n" SETTING("1", "typical"), ":", {"typ, max or derived"}},
    {GOOD "    params: {resolution_pa: 1}\n", ":", {"params"}},
    {GOOD "---\npart: c/d\n", ":", {"document"}},
    {HEAD HEAD, ":8:1:", {"duplicate key"}},
};

static void bad_files_are_refused_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        const struct bad_file *bad = &bad_files[i];
        struct oto_part *part = NULL;
        struct oto_error error = {0};
        if (read_text(bad->text, &part, &error) == OTO_OK) {
            fail_msg("accepted:\n%s", bad->text);
        }
        assert_null(part);
        bool good = strncmp(error.text, path, strlen(path)) == 0 &&
                    strncmp(error.text + strlen(path), bad->place, strlen(bad->place)) == 0;
        for (size_t k = 0; k < 2 && bad->words[k] != NULL; k++) {
            good = good && strstr(error.text, bad->words[k]) != NULL;
        }
        if (!good) {
            fail_msg("case %zu: expected '%s' and '%s', got\n%s", i, bad->place, bad->words[0], error.text);
        }
    }
}

/* A fixed sequence of changed bytes: each file is read or refused with a sentence. */
static void change_bytes_of(const char *part_file)
{
    static const char letters[] = "{}[]:,\"#-&*!|> \n0x.aß";
    char text[4096];
    FILE *file = fopen(part_file, "re");
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[length] = '\0';
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 400; i++) {
        char changed[4096];
        memcpy(changed, text, length + 1);
        for (int k = 0; k < 1 + i % 3; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            changed[random % length] = letters[(random >> 32) % (sizeof letters - 1)];
        }
        struct oto_part *part = NULL;
        struct oto_error error = {0};
        const enum oto_status status = read_text(changed, &part, &error);
        assert_true(status == OTO_OK ? part != NULL : part == NULL && error.text[0] != '\0');
        oto_part_close(part);
    }
}

static void changed_bytes_are_read_or_refused(void **state)
{
    (void)state;
    change_bytes_of(OTO_SOURCE_DIR "/configs/parts/akm/ak09916.yaml");
    change_bytes_of(OTO_SOURCE_DIR "/configs/parts/bosch/bmp388.yaml");
}

static int make_folder(void **state)
{
    (void)state;
    const bool made = mkdtemp(folder) != NULL;
    (void)snprintf(path, sizeof path, "%s/p.yaml", folder);
    return made ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file_is_read),
        cmocka_unit_test(bad_files_are_refused_with_their_place),
        cmocka_unit_test(changed_bytes_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
