#include "oto_test.h"

#include "document/document.h"

static struct oto_document *parse(const char *text)
{
    struct oto_document *document = NULL;
    struct oto_error error = {0};
    assert_ok(oto_document_parse("f.yaml", text, strlen(text), NULL, &document, &error), error);
    return document;
}

static void assert_refused(const char *text, size_t bytes, enum oto_status status, const char *const *words,
                           size_t count)
{
    struct oto_document *document = NULL;
    struct oto_error error = {0};
    assert_int_equal(oto_document_parse("f.yaml", text, bytes, NULL, &document, &error), status);
    assert_null(document);
    for (size_t i = 0; i < count; i++) {
        if (words[i] != NULL && strstr(error.text, words[i]) == NULL) {
            print_error("'%s' is not in: %s\n", words[i], error.text);
            fail();
        }
    }
    assert_null(strchr(error.text, '\n'));
}

static void values_know_where_they_and_their_keys_stand(void **state)
{
    (void)state;
    struct oto_document *document = parse("a: 1\nb:\n  c: [x, \"y\"]\n  d:\n");
    const struct oto_value *root = oto_document_root(document), *b = oto_value_get(root, "b");
    const struct oto_value *c = oto_value_get(b, "c"), *d = oto_value_get(b, "d");
    assert_int_equal(root->kind, OTO_VALUE_MAP);
    assert_string_equal(root->file, "f.yaml");
    assert_int_equal(b->key_line, 2);
    assert_int_equal(b->line, 3);
    assert_ptr_equal(c->parent, b);
    assert_int_equal(c->line, 3);
    assert_int_equal(c->column, 6);
    assert_int_equal(c->key_column, 3);
    assert_false(c->items[0]->quoted);
    assert_true(c->items[1]->quoted);
    assert_string_equal(c->items[1]->text, "y");
    assert_int_equal(c->items[1]->column, 10);
    assert_true(oto_value_is_null(d));
    assert_int_equal(d->line, 4);
    assert_null(oto_value_get(c, "x"));
    oto_document_close(document);
}

static void json_with_tabs_and_escapes_is_read(void **state)
{
    (void)state;
    struct oto_document *document =
        parse("{\n\t\"Noise Density\": [8.727E-4, -1],\n\t\"t\": \"a\\/\\u00e9\\ud83d\\ude00\"\n}\n");
    const struct oto_value *root = oto_document_root(document);
    const struct oto_value *list = oto_value_get(root, "Noise Density");
    double number = 0;
    assert_int_equal(oto_value_f64(list->items[0], &number, NULL), OTO_OK);
    assert_near(number, 8.727e-4, 0);
    assert_string_equal(oto_value_get(root, "t")->text, "a/\xc3\xa9\xf0\x9f\x98\x80");
    oto_document_close(document);
}

struct bad_text {
    const char *text;
    enum oto_status status;
    const char *words[2];
};

static void broken_or_unsafe_text_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct bad_text cases[] = {
        {"", OTO_SYNTAX, {"f.yaml:1:1: error:", "got nothing"}},
        {"# only this\n", OTO_SYNTAX, {"f.yaml:1:1: error:", "got nothing"}},
        {"a: [1, 2\nb: 3\n", OTO_SYNTAX, {"f.yaml:3:1: error:", "begins at 1:4"}},
        {"a: b: c\n", OTO_SYNTAX, {"f.yaml:1:5: error:", "quotes"}},
        {"a: \"x\n", OTO_SYNTAX, {"f.yaml:1:5: error:", "closing \""}},
        {"\ta: 1\n", OTO_SYNTAX, {"f.yaml:1:1: error:", "spaces"}},
        {"a: 1\n b: 2\n", OTO_SYNTAX, {"f.yaml:1:4: error:", "key: value"}},
        {"a: @x\n", OTO_SYNTAX, {"f.yaml:1:4: error:", "@"}},
        {"{\"a\": 1,, \"b\": 2}", OTO_SYNTAX, {"f.yaml:1:9: error:", "expected a value"}},
        {"{\"a\": 1", OTO_SYNTAX, {"error:", "'}' is missing"}},
        {"a: 1\n---\nb: 2\n", OTO_SYNTAX, {"f.yaml:2:1: error:", "second document"}},
        {"a: 1\n...\n%YAML 1.2\n---\nb: 2\n", OTO_SYNTAX, {"f.yaml:3:1: error:", "directives"}},
        {"%TAG !a! b\n---\na: 1\n", OTO_SYNTAX, {"f.yaml:1:1: error:", "directives"}},
        {"a: &x [1]\nb: 2\n", OTO_SYNTAX, {"f.yaml:1:4: error:", "anchors"}},
        {"a: 1\nb: *x\n", OTO_SYNTAX, {"f.yaml:2:4: error:", "aliases"}},
        {"a: !!str 1\n", OTO_SYNTAX, {"f.yaml:1:4: error:", "tags"}},
        {"a: {<<: {b: 1}}\n", OTO_SYNTAX, {"f.yaml:1:5: error:", "merge"}},
        {"? [a]\n: 1\n", OTO_SYNTAX, {"f.yaml:1:3: error:", "as key"}},
        {": 1\n", OTO_SYNTAX, {"f.yaml:1:1: error:", "key is missing"}},
        {"a: 1\nb: 2\na: 3\n", OTO_SYNTAX, {"f.yaml:3:1: error:", "duplicate key 'a', first at 1:1"}},
        {"{\"x\": {\"k\": 1, \"k\": 2}}", OTO_SYNTAX, {"f.yaml:1:16: error:", "duplicate key 'k'"}},
        {"a: \"x\\0y\"\n", OTO_SYNTAX, {"f.yaml:1:4: error:", "\\0"}},
        {"a: \xff\n", OTO_SYNTAX, {"f.yaml:1:4: error:", "UTF-8"}},
        {"a: \xed\xa0\x80\n", OTO_SYNTAX, {"f.yaml:1:4: error:", "UTF-8"}},
        {"a: \xc3", OTO_SYNTAX, {"f.yaml:1:4: error:", "UTF-8"}},
        {"a: \x1b[0m\n", OTO_SYNTAX, {"f.yaml:1:4: error:", "control character 0x1b"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].status, cases[i].words, 2);
    assert_refused("a: x\0y\n", 7, OTO_SYNTAX, (const char *[]){"f.yaml:1:5: error:", "0x00"}, 2);
}

/* `before`, then `unit` over and over, then `after`. */
static char *repeated(const char *before, const char *unit, size_t times, const char *after, size_t *bytes)
{
    size_t head = strlen(before), one = strlen(unit), tail = strlen(after);
    char *text = malloc(head + one * times + tail + 1);
    assert_non_null(text);
    memcpy(text, before, head);
    for (size_t i = 0; i < times; i++)
        memcpy(text + head + i * one, unit, one);
    memcpy(text + head + one * times, after, tail + 1);
    *bytes = head + one * times + tail;
    return text;
}

static void huge_documents_are_refused_by_a_limit(void **state)
{
    (void)state;
    static const struct {
        const char *before, *unit;
        size_t times;
        const char *after;
    } cases[] = {
        {"[", "1,", 1000000, "1]"},      {"", "- 1\n", 1000000, ""},
        {"[", "\n1,", 1000000, "1]"},    {"{", "\"k\": {", 100, "\"k\": 1"},
        {"", "[", 1000000, ""},          {"", "[\n", 1000000, ""},
        {"", "- ", 100000, ""},          {"a: ", "x", 100000, ""},
        {"a: \"", "\\n", 5000000, "\""}, {"", "#", (size_t)17 << 20, ""},
        {"a: |\n", "  x\n", 100000, ""}, {"[", "[1],", 1000000, "1]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes = 0;
        char *text = repeated(cases[i].before, cases[i].unit, cases[i].times, cases[i].after, &bytes);
        assert_refused(text, bytes, OTO_LIMIT, (const char *[]){"most that is accepted"}, 1);
        free(text);
    }
}

static void a_map_of_many_keys_is_checked_for_duplicates_in_passing(void **state)
{
    (void)state;
    enum { KEYS = 90000 };
    char *text = malloc(KEYS * 16);
    struct oto_document *document = NULL;
    struct oto_error error = {0};
    size_t used = 0;
    assert_non_null(text);
    for (int i = 0; i < KEYS; i++)
        used += (size_t)sprintf(text + used, "k%d: 1\n", i);
    assert_ok(oto_document_parse("f.yaml", text, used, NULL, &document, &error), error);
    assert_int_equal(oto_document_root(document)->count, KEYS);
    oto_document_close(document);
    used += (size_t)sprintf(text + used, "k777: 1\n");
    assert_refused(text, used, OTO_SYNTAX, (const char *[]){"f.yaml:90001:1: error: duplicate key 'k777'", "778:1"}, 2);
    free(text);
}

/* xorshift64*: the same mutations in every run. */
static uint64_t next_random(uint64_t *random)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return *random * UINT64_C(2685821657736338717);
}

static void mutated_documents_are_read_or_refused_with_a_sentence(void **state)
{
    (void)state;
    static const char seed_text[] =
        "world: demo\nclock: {rate_hz: 60000/1001, scale: 1.0}\nvehicles:\n  - name: car\n"
        "    nodes:\n      - {name: \"imu\", p: [0.2, 0, 'x']}\n      - a: |\n          text\n";
    static const char spice[] = "{}[],:-?&*!|>'\"%@#\n\t \\~.<\xc3\xa9";
    uint64_t random = 1;
    for (int i = 0; i < 3000; i++) {
        char text[sizeof seed_text];
        struct oto_document *document = NULL;
        struct oto_error error = {0};
        memcpy(text, seed_text, sizeof text);
        for (uint64_t k = 1 + next_random(&random) % 6; k > 0; k--)
            text[next_random(&random) % (sizeof text - 1)] = spice[next_random(&random) % (sizeof spice - 1)];
        size_t bytes = next_random(&random) % sizeof text;
        if (oto_document_parse("f", text, bytes, NULL, &document, &error) != OTO_OK)
            assert_true(strncmp(error.text, "f:", 2) == 0 && strstr(error.text, "error: ") != NULL);
        oto_document_close(document);
    }
}

static void files_that_cannot_be_read_are_named(void **state)
{
    (void)state;
    struct oto_document *document = NULL;
    struct oto_error error = {0};
    assert_int_equal(oto_document_read("no_such_file.yaml", NULL, &document, &error), OTO_NOT_FOUND);
    assert_non_null(strstr(error.text, "no_such_file.yaml: cannot be read"));
    assert_int_equal(oto_document_read("/", NULL, &document, &error), OTO_IO);
    assert_int_equal(oto_document_read("/dev/zero", NULL, &document, &error), OTO_IO);
    assert_non_null(strstr(error.text, "not a regular file"));
}

static void settings_reach_members_by_name_index_and_dotted_key(void **state)
{
    (void)state;
    static const char world[] = "seed: 1\n"
                                "vehicles:\n"
                                "  - name: car\n"
                                "    nodes:\n"
                                "      - {name: imu, params: {law: mems}}\n"
                                "      - {name: mag, params: {magnetometer.noise: 3}}\n"
                                "      - {name: odo, params: }\n";
    struct oto_document *document = parse(world);
    struct oto_error error = {0};
    static const struct {
        const char *path, *value;
    } settings[] = {
        {"seed", "18446744073709551615"},
        {"vehicles.car.nodes.imu.params.law", "mavs"},
        {"vehicles.0.nodes.0.params.accelerometer.constant_bias_m_s2", "[1, 0, 0]"},
        {"vehicles.car.nodes.imu.params.accelerometer.constant_bias_m_s2.2", "7"},
        {"vehicles.car.nodes.mag.params.magnetometer.noise", "5"},
        {"vehicles.car.nodes.odo.params.scale", "1.5"},
        {"clock.rate_hz", "60000/1001"},
        {"vehicles.car.nodes.+", "{name: gnss, rate_hz: 5}"},
        {"vehicles.car.nodes.gnss.rate_hz", "10"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        assert_ok(oto_document_set(document, settings[i].path, settings[i].value, &error), error);
    const struct oto_value *root = oto_document_root(document);
    const struct oto_value *nodes = oto_value_get(oto_value_get(root, "vehicles")->items[0], "nodes");
    const struct oto_value *imu = oto_value_get(nodes->items[0], "params");
    const struct oto_value *bias = oto_value_get(oto_value_get(imu, "accelerometer"), "constant_bias_m_s2");
    assert_string_equal(oto_value_get(root, "seed")->text, "18446744073709551615");
    assert_string_equal(oto_value_get(imu, "law")->text, "mavs");
    assert_string_equal(bias->items[2]->text, "7");
    assert_string_equal(oto_value_get(oto_value_get(nodes->items[1], "params"), "magnetometer.noise")->text, "5");
    assert_string_equal(oto_value_get(oto_value_get(nodes->items[2], "params"), "scale")->text, "1.5");
    assert_string_equal(oto_value_get(oto_value_get(root, "clock"), "rate_hz")->text, "60000/1001");
    assert_int_equal(nodes->count, 4);
    assert_string_equal(oto_value_get(nodes->items[3], "rate_hz")->text, "10");
    assert_int_equal(oto_value_fail(oto_value_get(imu, "law"), &error, OTO_RANGE, "no"), OTO_RANGE);
    assert_string_equal(error.text, "--set vehicles.car.nodes.imu.params.law: error: no");
    oto_document_close(document);
}

static void settings_that_lead_nowhere_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *value, *word;
    } cases[] = {
        {"list.c.x", "1", "no item 'c', accepted: a, b"},
        {"list.2", "1", "no item '2'"},
        {"seed.x", "1", "inside the value '1'"},
        {"a..b", "1", "one dot"},
        {"", "1", "one dot"},
        {"seed", "[1", "']'"},
        {"seed", "", "got nothing"},
        {"seed", "*x", "aliases"},
        {"list.-1", "1", "no item '-1'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oto_document *document = parse("seed: 1\nlist: [{name: a}, {name: b}]\n");
        struct oto_error error = {0};
        assert_int_not_equal(oto_document_set(document, cases[i].path, cases[i].value, &error), OTO_OK);
        if (strstr(error.text, cases[i].word) == NULL || strncmp(error.text, "--set ", 6) != 0)
            fail_msg("'%s' is not in: %s", cases[i].word, error.text);
        oto_document_close(document);
    }
}

static void the_nearest_word_is_found_or_none(void **state)
{
    (void)state;
    static const char *const words[] = {"rate_hz", "params", "params_file", "plugin"};
    assert_string_equal(oto_nearest_word("rate", words, 4), "rate_hz");
    assert_string_equal(oto_nearest_word("rate_hs", words, 4), "rate_hz");
    assert_string_equal(oto_nearest_word("prams", words, 4), "params");
    assert_string_equal(oto_nearest_word("Plugni", words, 4), "plugin");
    assert_string_equal(oto_nearest_word("rate-hz", words, 4), "rate_hz");
    assert_null(oto_nearest_word("colour", words, 4));
    assert_null(oto_nearest_word("", words, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_know_where_they_and_their_keys_stand),
        cmocka_unit_test(json_with_tabs_and_escapes_is_read),
        cmocka_unit_test(broken_or_unsafe_text_is_refused_with_its_place),
        cmocka_unit_test(huge_documents_are_refused_by_a_limit),
        cmocka_unit_test(a_map_of_many_keys_is_checked_for_duplicates_in_passing),
        cmocka_unit_test(mutated_documents_are_read_or_refused_with_a_sentence),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
        cmocka_unit_test(settings_reach_members_by_name_index_and_dotted_key),
        cmocka_unit_test(settings_that_lead_nowhere_are_refused),
        cmocka_unit_test(the_nearest_word_is_found_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
