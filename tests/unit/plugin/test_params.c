/* Binding parameters: what is accepted, what is refused and how it is said, and that nothing is half-applied. */
#include <math.h>

#include "oto_test.h"
#include "plugin/host.h"

struct segment {
    double duration_s;
    double turn_rad_s;
    int64_t kind;
};

struct block {
    double noise[3];
    double range;
    double rate_hz;
    int64_t law;
    double w;
    int64_t taps;
    int64_t lsb;
    double temperature;
    char label[16];
    char file[256];
    double need;
    uint64_t segment_count;
    struct segment segments[4];
};
#define AT(member) OTO_PARAM_AT(struct block, member)

static const struct oto_named_value laws[] = {{"mems", 0}, {"mavs", 1}};
static const struct oto_named_value ws[] = {{"document", -1}, {"code", -2}};
static const struct oto_named_value kinds[] = {{"straight", 0}, {"turn", 1}};
static const struct oto_param items[] = {
    {.key = "duration_s", .type = OTO_PARAM_F64, .count = 1, .offset = offsetof(struct segment, duration_s),
     .flags = OTO_PARAM_REQUIRED | OTO_PARAM_OPEN_MIN, .minimum = 0, .maximum = 100, .unit = "s", .text = "how long"},
    {.key = "turn_rad_s", .type = OTO_PARAM_F64, .count = 1, .offset = offsetof(struct segment, turn_rad_s),
     .default_value = 0.5, .unit = "rad/s", .text = "yaw rate"},
    {.key = "kind", .type = OTO_PARAM_I64, .count = 1, .offset = offsetof(struct segment, kind), .unit = "",
     .text = "manoeuvre", .names = kinds, .name_count = 2},
};
static const struct oto_param params[] = {
    {.key = "gyroscope.noise_rad_s_rthz", .type = OTO_PARAM_F64, .count = 3, .offset = AT(noise),
     .flags = OTO_PARAM_RUNTIME | OTO_PARAM_SCALAR_FILLS, .minimum = 0, .maximum = 1, .default_value = 0.25,
     .unit = "rad/s/sqrt(Hz)", .text = "noise density", .alias = "Gyroscope/Noise Density"},
    {.key = "gyroscope.range_rad_s", .type = OTO_PARAM_F64, .count = 1, .offset = AT(range),
     .flags = OTO_PARAM_RUNTIME | OTO_PARAM_OPEN_MIN, .minimum = 0, .maximum = 100, .default_value = 4, .unit = "rad/s",
     .text = "range", .alias = "Gyroscope/Measurement Range"},
    {.key = "rate_hz", .type = OTO_PARAM_F64, .count = 1, .offset = AT(rate_hz), .flags = OTO_PARAM_RATE, .minimum = 0,
     .maximum = 1e6, .unit = "Hz", .text = "rate", .alias = "Sample Rate"},
    {.key = "law", .type = OTO_PARAM_I64, .count = 1, .offset = AT(law), .unit = "", .text = "law", .names = laws,
     .name_count = 2},
    {.key = "w", .type = OTO_PARAM_F64, .count = 1, .offset = AT(w), .flags = OTO_PARAM_RUNTIME, .minimum = 0,
     .maximum = 1, .default_value = -1, .unit = "1", .text = "w", .names = ws, .name_count = 2},
    {.key = "taps", .type = OTO_PARAM_BOOL, .count = 1, .offset = AT(taps), .unit = "", .text = "taps"},
    {.key = "lsb", .type = OTO_PARAM_I64, .count = 1, .offset = AT(lsb), .minimum = 1, .maximum = 16, .default_value = 8,
     .unit = "", .text = "bits"},
    {.key = "temperature_degc", .type = OTO_PARAM_F64, .count = 1, .offset = AT(temperature), .default_value = 25,
     .unit = "degC", .text = "temperature", .alias = "Temperature"},
    {.key = "label", .type = OTO_PARAM_TEXT, .count = 16, .offset = AT(label), .flags = OTO_PARAM_RUNTIME,
     .default_text = "none", .unit = "", .text = "label"},
    {.key = "file", .type = OTO_PARAM_PATH, .count = 256, .offset = AT(file), .unit = "", .text = "a file"},
    {.key = "segments", .type = OTO_PARAM_LIST, .count = 4, .offset = AT(segment_count), .flags = OTO_PARAM_RUNTIME,
     .unit = "", .text = "manoeuvres", .items = items, .item_count = 3, .item_bytes = sizeof(struct segment)},
    {.type = OTO_PARAM_IGNORED, .alias = "Accelerometer"},
    {.key = "need", .type = OTO_PARAM_F64, .count = 1, .offset = AT(need), .flags = OTO_PARAM_REQUIRED, .unit = "1",
     .text = "has no default"},
};
static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "thing", .kind = "sensor", .version = "1", .text = "", .params = params,
    .param_count = sizeof params / sizeof *params, .params_bytes = sizeof(struct block)};

struct fixture {
    struct oto_params params;
    const struct block *block;
    struct oto_error error;
};

static void start(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    assert_ok(oto_params_default(&descriptor, &f->params, &f->error), f->error);
    f->block = f->params.block;
}

static enum oto_status apply_as(struct fixture *f, const char *name, const char *yaml)
{
    struct oto_document *document = NULL;
    assert_ok(oto_document_parse(name, yaml, strlen(yaml), NULL, &document, &f->error), f->error);
    const enum oto_status status =
        oto_params_apply(&descriptor, oto_document_root(document), &f->params, &f->error);
    oto_document_close(document);
    return status;
}

static enum oto_status apply(struct fixture *f, const char *yaml)
{
    return apply_as(f, "world.yaml", yaml);
}

static void assert_says(const struct fixture *f, const char *words)
{
    if (strstr(f->error.text, words) == NULL) {
        print_error("'%s' does not say \"%s\"\n", f->error.text, words);
        fail();
    }
}

static void defaults_are_what_the_table_says(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    assert_near(f.block->noise[2], 0.25, 0);
    assert_near(f.block->w, -1, 0);
    assert_int_equal(f.block->lsb, 8);
    assert_string_equal(f.block->label, "none");
    assert_int_equal(f.block->segment_count, 0);
    assert_true(isnan(f.block->need));
    assert_near(f.params.rate_hz, 0, 0);
    oto_params_free(&f.params);
}

static void maps_nest_along_the_dots_or_use_them(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    assert_ok(apply(&f, "gyroscope: {range_rad_s: 2}\ngyroscope.noise_rad_s_rthz: [0.1, 0.2, 0.3]\nlaw: mavs\nw: code\n"
                        "taps: true\nlsb: 16\nlabel: 'a b'\nrate_hz: 100\n"), f.error);
    assert_near(f.block->range, 2, 0);
    assert_near(f.block->noise[1], 0.2, 0);
    assert_int_equal(f.block->law, 1);
    assert_near(f.block->w, -2, 0);
    assert_int_equal(f.block->taps, 1);
    assert_int_equal(f.block->lsb, 16);
    assert_string_equal(f.block->label, "a b");
    assert_near(f.params.rate_hz, 100, 0);
    assert_ok(apply(&f, "gyroscope: {noise_rad_s_rthz: 0.5}\nw: 0.5\n"), f.error);
    assert_near(f.block->noise[0] + f.block->noise[1] + f.block->noise[2], 1.5, 0);
    assert_near(f.block->w, 0.5, 0);
    assert_ok(apply(&f, "gyroscope:\n"), f.error); /* all lines of a section commented out */
    assert_ok(apply(&f, "gyroscope: {noise_rad_s_rthz: {1: 0.75}}"), f.error);
    assert_near(f.block->noise[1], 0.75, 0);
    oto_params_free(&f.params);
}

static void foreign_keys_bind_by_their_exact_path(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    assert_ok(apply(&f, "{\"Sample Rate\": 50, \"Temperature\": 20.5, \"Gyroscope\": {\"Measurement Range\": 9, "
                        "\"Noise Density\": [0.1, 0.1, 0.1]}, \"Accelerometer\": {\"Anything\": [1, {\"at\": \"all\"}]}}"),
              f.error);
    assert_near(f.params.rate_hz, 50, 0);
    assert_near(f.block->temperature, 20.5, 0);
    assert_near(f.block->range, 9, 0);
    assert_near(f.block->noise[2], 0.1, 0);
    assert_int_equal(apply(&f, "Gyroscope: {NoiseDensity: 1}"), OTO_NOT_FOUND);
    assert_says(&f, "did you mean 'Gyroscope/Noise Density'?");
    assert_int_equal(apply(&f, "Gyroscope: {Measurement  Range: 1}"), OTO_NOT_FOUND);
    oto_params_free(&f.params);
}

static void wrong_maps_are_refused_with_place_and_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *says;
    } cases[] = {
        {"gyroscope: {range_rads: 2}", "world.yaml:1:13: error: plugin 'thing' has no parameter 'gyroscope.range_rads'; did "
                                       "you mean 'gyroscope.range_rad_s'?"},
        {"range_rad_s: 2", "did you mean 'gyroscope.range_rad_s'?"},
        {"zzzzzzzzzzzz: 2", "; accepted here: gyroscope, rate_hz, law, w, taps"},
        {"gyroscope: {zzzzzzzzzz: 2}", "; accepted here: noise_rad_s_rthz, range_rad_s"},
        {"gyroscope: 3", "expected a map for 'gyroscope', got '3'"},
        {"[1, 2]", "expected a map of parameters"},
        {"law: mem", "expected one of mems, mavs for 'law', got 'mem'"},
        {"law: 1", "expected one of mems, mavs for 'law'"},
        {"w: many", "expected a finite number or one of document, code for 'w' (1), got 'many'"},
        {"w: 1.5", "'w' is 1.5; from 0 to 1 1 is accepted"},
        {"gyroscope: {range_rad_s: 0}", "world.yaml:1:26: error: 'gyroscope.range_rad_s' is 0; more than 0 to 100 rad/s"},
        {"gyroscope: {range_rad_s: .inf}", "expected a finite number"},
        {"gyroscope: {range_rad_s: .nan}", "expected a finite number"},
        {"gyroscope: {range_rad_s: '3'}", "expected a finite number for 'gyroscope.range_rad_s' (rad/s)"},
        {"gyroscope: {range_rad_s: [3]}", "got a list"},
        {"gyroscope: {noise_rad_s_rthz: [1, 2]}", "expected one value or a list of 3, not 2, numbers"},
        {"gyroscope: {noise_rad_s_rthz: [0.1, 2, 0]}", "world.yaml:1:37: error: 'gyroscope.noise_rad_s_rthz' is 2"},
        {"gyroscope.range_rad_s: 1\ngyroscope: {range_rad_s: 2}", "given twice, first in line 1"},
        {"Gyroscope: {Measurement Range: 1}\ngyroscope: {range_rad_s: 2}", "given twice"},
        {"taps: 1", "expected true or false for 'taps'"},
        {"lsb: 1.5", "expected a whole number for 'lsb'"},
        {"lsb: 17", "'lsb' is 17; from 1 to 16"},
        {"lsb: 99999999999999999999", "expected a whole number"},
        {"label: [a]", "expected a text for 'label'"},
        {"label: 0123456789abcdef", "'label' has 16 bytes; at most 15"},
        {"segments: 3", "expected a list of maps for 'segments'"},
        {"segments: [3]", "expected a map in the list for 'segments'"},
        {"segments: [{kind: turn}]", "an item of 'segments' needs 'duration_s'"},
        {"segments: [{duration_s: 1, kin: turn}]", "did you mean 'kind'?"},
        {"segments: [{duration_s: 1},{duration_s: 1},{duration_s: 1},{duration_s: 1},{duration_s: 1}]", "at most 4"},
        {"lsb.0: 3", "'lsb.0' does not exist"},
        {"gyroscope.noise_rad_s_rthz.3: 0.5", "fewer elements"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        start(&f);
        struct block before = *f.block;
        if (apply(&f, cases[i].yaml) == OTO_OK) {
            print_error("accepted: %s\n", cases[i].yaml);
            fail();
        }
        assert_says(&f, cases[i].says);
        assert_memory_equal(&before, f.block, sizeof before);
        oto_params_free(&f.params);
    }
}

static void nothing_of_a_map_with_one_error_is_applied(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    const struct block before = *f.block;
    assert_int_equal(apply(&f, "lsb: 2\nrate_hz: 10\nlabel: new\nsegments: [{duration_s: 2}]\nw: 9\n"), OTO_RANGE);
    assert_memory_equal(&before, f.block, sizeof before);
    assert_near(f.params.rate_hz, 0, 0);
    oto_params_free(&f.params);
}

static void a_list_replaces_the_list_and_its_items_have_defaults(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    assert_ok(apply(&f, "segments:\n  - {duration_s: 2, kind: turn}\n  - {duration_s: 3, turn_rad_s: 0}\n"), f.error);
    assert_int_equal(f.block->segment_count, 2);
    assert_near(f.block->segments[0].turn_rad_s, 0.5, 0);
    assert_int_equal(f.block->segments[0].kind, 1);
    assert_near(f.block->segments[1].duration_s, 3, 0);
    assert_ok(apply(&f, "segments: [{duration_s: 5}]"), f.error);
    assert_int_equal(f.block->segment_count, 1);
    assert_near(f.block->segments[1].duration_s, 0, 0);
    oto_params_free(&f.params);
}

static void relative_paths_start_at_the_file_that_names_them(void **state)
{
    (void)state;
    char cwd[4096], expected[5000];
    struct fixture f;
    assert_non_null(getcwd(cwd, sizeof cwd));
    start(&f);
    assert_ok(apply_as(&f, "/etc/worlds/a.yaml", "file: ./sub/x.csv"), f.error);
    assert_string_equal(f.block->file, "/etc/worlds/sub/x.csv");
    assert_ok(apply_as(&f, "worlds/a.yaml", "file: x.csv"), f.error);
    (void)snprintf(expected, sizeof expected, "%s/worlds/x.csv", cwd);
    assert_string_equal(f.block->file, expected);
    assert_ok(apply_as(&f, "/etc/worlds/a.yaml", "file: /x.csv"), f.error);
    assert_string_equal(f.block->file, "/x.csv");
    assert_ok(apply_as(&f, "--set a/b.file", "file: x.csv"), f.error);
    (void)snprintf(expected, sizeof expected, "%s/x.csv", cwd);
    assert_string_equal(f.block->file, expected);
    assert_ok(oto_params_set(&descriptor, "file", "y/z.csv", false, &f.params, &f.error), f.error);
    (void)snprintf(expected, sizeof expected, "%s/y/z.csv", cwd);
    assert_string_equal(f.block->file, expected);
    oto_params_free(&f.params);
}

static void one_key_is_set_from_text_also_one_element(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    assert_ok(oto_params_set(&descriptor, "gyroscope.noise_rad_s_rthz", "[1,0,0.5]", true, &f.params, &f.error), f.error);
    assert_ok(oto_params_set(&descriptor, "gyroscope.noise_rad_s_rthz.1", "0.125", true, &f.params, &f.error), f.error);
    assert_near(f.block->noise[0], 1, 0);
    assert_near(f.block->noise[1], 0.125, 0);
    assert_near(f.block->noise[2], 0.5, 0);
    assert_ok(oto_params_set(&descriptor, "gyroscope", "{range_rad_s: 7}", true, &f.params, &f.error), f.error);
    assert_near(f.block->range, 7, 0);
    assert_int_equal(oto_params_set(&descriptor, "law", "mavs", true, &f.params, &f.error), OTO_DENIED);
    assert_says(&f, "'law' of plugin 'thing' cannot change while the world runs");
    assert_ok(oto_params_set(&descriptor, "law", "mavs", false, &f.params, &f.error), f.error);
    assert_int_equal(oto_params_set(&descriptor, "gyroscope.noise_rad_s_rthz.3", "1", true, &f.params, &f.error), OTO_RANGE);
    assert_int_equal(oto_params_set(&descriptor, "lbel", "x", true, &f.params, &f.error), OTO_NOT_FOUND);
    assert_says(&f, "did you mean 'label'?");
    assert_int_equal(oto_params_set(&descriptor, "gyroscope", "3", true, &f.params, &f.error), OTO_NOT_FOUND);
    assert_says(&f, "accepted here: noise_rad_s_rthz, range_rad_s");
    assert_int_not_equal(oto_params_set(&descriptor, "w", "[", true, &f.params, &f.error), OTO_OK);
    oto_params_free(&f.params);
}

static void text_of_a_value_binds_to_the_same_bits(void **state)
{
    (void)state;
    static const double hard[] = {0.1, 1.0 / 3.0, 5e-324, 0.30000000000000004, 1, 1e-7, 0};
    struct fixture f, g;
    char text[1024];
    start(&f);
    assert_ok(apply(&f, "law: mavs\nw: document\ntaps: true\nlabel: \"a\\\"b\\\\\"\nfile: /a b.csv\n"
                        "segments: [{duration_s: 0.1, kind: turn}, {duration_s: 2}]\n"), f.error);
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        start(&g);
        ((struct block *)f.params.block)->noise[0] = hard[i];
        ((struct block *)f.params.block)->need = hard[i];
        for (uint32_t k = 0; k < descriptor.param_count; k++) {
            if (params[k].type == OTO_PARAM_IGNORED) {
                continue;
            }
            assert_ok(oto_params_get(&descriptor, params[k].key, &f.params, text, sizeof text, &f.error), f.error);
            assert_ok(oto_params_set(&descriptor, params[k].key, text, false, &g.params, &g.error), g.error);
        }
        assert_memory_equal(f.params.block, g.params.block, sizeof(struct block));
        oto_params_free(&g.params);
    }
    assert_ok(oto_params_get(&descriptor, "law", &f.params, text, sizeof text, &f.error), f.error);
    assert_string_equal(text, "mavs");
    assert_ok(oto_params_get(&descriptor, "gyroscope.noise_rad_s_rthz", &f.params, text, sizeof text, &f.error), f.error);
    assert_string_equal(text, "[0, 0.25, 0.25]");
    assert_ok(oto_params_get(&descriptor, "gyroscope.noise_rad_s_rthz.1", &f.params, text, sizeof text, &f.error), f.error);
    assert_string_equal(text, "0.25");
    assert_ok(oto_params_get(&descriptor, "segments", &f.params, text, sizeof text, &f.error), f.error);
    assert_string_equal(text, "[{duration_s: 0.1, turn_rad_s: 0.5, kind: turn}, {duration_s: 2, turn_rad_s: 0.5, kind: "
                              "straight}]");
    assert_int_equal(oto_params_get(&descriptor, "segments", &f.params, text, 16, &f.error), OTO_LIMIT);
    assert_string_equal(text, "[{duration_s...");
    assert_int_equal(oto_params_get(&descriptor, "law.1", &f.params, text, 16, &f.error), OTO_NOT_FOUND);
    assert_int_equal(oto_params_get(&descriptor, "lav", &f.params, text, 16, &f.error), OTO_NOT_FOUND);
    assert_says(&f, "did you mean 'law'?");
    oto_params_free(&f.params);
}

static void a_copy_is_independent(void **state)
{
    (void)state;
    struct fixture f;
    struct oto_params copy;
    start(&f);
    copy = oto_params_copy(&f.params);
    assert_ok(apply(&f, "lsb: 3"), f.error);
    assert_int_equal(((const struct block *)copy.block)->lsb, 8);
    oto_params_free(&copy);
    oto_params_free(&copy);
    oto_params_free(NULL);
    assert_non_null(oto_param_find(&descriptor, "lsb"));
    assert_null(oto_param_find(&descriptor, "Accelerometer"));
    oto_params_free(&f.params);
}

/* ---- a block of many pages ---- */

enum { PLACES = 2000, LAST = 1499 }; /* 16 bytes each: item LAST is in the sixth page */

struct point {
    double x_m, y_m;
};
struct long_block {
    double speed_m_s;
    uint64_t point_count;
    struct point points[PLACES];
};
static const struct oto_param point_params[] = {
    {.key = "x_m", .type = OTO_PARAM_F64, .count = 1, .offset = offsetof(struct point, x_m), .default_value = 7, .unit = "m", .text = "x"},
    {.key = "y_m", .type = OTO_PARAM_F64, .count = 1, .offset = offsetof(struct point, y_m), .unit = "m", .text = "y"},
};
static const struct oto_param long_params[] = {
    {.key = "speed_m_s", .type = OTO_PARAM_F64, .count = 1, .offset = offsetof(struct long_block, speed_m_s), .default_value = 3,
     .unit = "m/s", .text = "speed"},
    {.key = "points", .type = OTO_PARAM_LIST, .count = PLACES, .offset = offsetof(struct long_block, point_count), .unit = "",
     .text = "points", .items = point_params, .item_count = 2, .item_bytes = sizeof(struct point)},
};
static const struct oto_plugin_descriptor long_descriptor = {
    .size = sizeof long_descriptor, .id = "way", .kind = "motion", .version = "1", .text = "", .params = long_params,
    .param_count = 2, .params_bytes = sizeof(struct long_block)};

/* "[{y_m: 0}, {y_m: 1}, …]" */
static char *points_text(uint32_t count)
{
    char *text = malloc(32 * (size_t)count + 16);
    assert_non_null(text);
    size_t length = (size_t)sprintf(text, "[");
    for (uint32_t i = 0; i < count; i++) {
        length += (size_t)sprintf(text + length, "%s{y_m: %u}", i > 0 ? ", " : "", i);
    }
    (void)sprintf(text + length, "]");
    return text;
}

static void a_long_block_keeps_its_values_through_copies_and_changes(void **state)
{
    (void)state;
    struct oto_params way, copy;
    struct oto_error error = {0};
    char *text = points_text(LAST + 1);
    assert_ok(oto_params_default(&long_descriptor, &way, &error), error);
    const struct long_block *block = way.block;
    assert_int_equal(block->point_count, 0);
    assert_ok(oto_params_set(&long_descriptor, "points", text, false, &way, &error), error);
    assert_ptr_equal(way.block, block); /* a block that nobody shares stays where it is */
    assert_int_equal(block->point_count, LAST + 1);
    assert_true(block->speed_m_s == 3.0 && block->points[LAST].x_m == 7.0 && block->points[LAST].y_m == LAST);
    copy = oto_params_copy(&way);
    assert_ok(oto_params_set(&long_descriptor, "points", "[{y_m: 5}]", false, &way, &error), error);
    assert_ok(oto_params_set(&long_descriptor, "speed_m_s", "4", false, &way, &error), error);
    const struct long_block *changed = way.block, *kept = copy.block;
    assert_true(changed->speed_m_s == 4.0 && changed->point_count == 1 && changed->points[0].y_m == 5.0);
    assert_true(changed->points[LAST].x_m == 0.0 && changed->points[LAST].y_m == 0.0);
    assert_true(kept->speed_m_s == 3.0 && kept->point_count == LAST + 1 && kept->points[LAST].y_m == LAST);
    oto_params_free(&way);
    oto_params_free(&copy);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_what_the_table_says),
        cmocka_unit_test(maps_nest_along_the_dots_or_use_them),
        cmocka_unit_test(foreign_keys_bind_by_their_exact_path),
        cmocka_unit_test(wrong_maps_are_refused_with_place_and_remedy),
        cmocka_unit_test(nothing_of_a_map_with_one_error_is_applied),
        cmocka_unit_test(a_list_replaces_the_list_and_its_items_have_defaults),
        cmocka_unit_test(relative_paths_start_at_the_file_that_names_them),
        cmocka_unit_test(one_key_is_set_from_text_also_one_element),
        cmocka_unit_test(text_of_a_value_binds_to_the_same_bits),
        cmocka_unit_test(a_copy_is_independent),
        cmocka_unit_test(a_long_block_keeps_its_values_through_copies_and_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
