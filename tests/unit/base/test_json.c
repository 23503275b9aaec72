/* The writer of JSON: layouts, escapes, numbers, into a file and into memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "oto_test.h"

static void write_all(struct oto_json *json)
{
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "t", "a");
    oto_json_open(json, "list", '[');
    oto_json_i64(json, NULL, -1);
    oto_json_u64(json, NULL, UINT64_MAX);
    oto_json_open(json, NULL, '{');
    oto_json_close(json, '}');
    oto_json_close(json, ']');
    oto_json_flag(json, "yes", true);
    oto_json_format(json, "pair", "[%d, %d]", 1, 2);
    oto_json_number(json, "n", 0.1);
    oto_json_numbers(json, "ns", (double[]){0.5, NAN}, 2);
    oto_json_text(json, "none", NULL);
    oto_json_close(json, '}');
}

static void each_layout_has_its_separators(void **state)
{
    static const char *const wanted[] = {
        [OTO_JSON_LINE] = "{\"t\": \"a\", \"list\": [-1, 18446744073709551615, {}], \"yes\": true, \"pair\": [1, 2], \"n\": 0.1, \"ns\": [0.5, null], \"none\": null}",
        [OTO_JSON_COMPACT] = "{\"t\":\"a\",\"list\":[-1,18446744073709551615,{}],\"yes\":true,\"pair\":[1, 2],\"n\":0.1,\"ns\":[0.5,null],\"none\":null}",
        [OTO_JSON_INDENTED] = "{\n  \"t\": \"a\",\n  \"list\": [\n    -1,\n    18446744073709551615,\n    {\n    }\n  ],\n  \"yes\": true,\n"
                              "  \"pair\": [1, 2],\n  \"n\": 0.1,\n  \"ns\": [\n    0.5,\n    null\n  ],\n  \"none\": null\n}"};
    (void)state;
    for (int layout = OTO_JSON_LINE; layout <= OTO_JSON_INDENTED; layout++) {
        struct oto_json json = {.layout = (enum oto_json_layout)layout};
        char *text = NULL;
        size_t bytes = 0;
        write_all(&json);
        assert_string_equal(json.text, wanted[layout]);
        assert_int_equal(json.bytes, strlen(wanted[layout]));
        oto_json_clear(&json);
        write_all(&json); /* again, into the same room */
        assert_string_equal(json.text, wanted[layout]);
        oto_json_free(&json);
        json.to = open_memstream(&text, &bytes);
        assert_non_null(json.to);
        write_all(&json);
        assert_int_equal(fclose(json.to), 0);
        assert_string_equal(text, wanted[layout]);
        free(text);
    }
}

static void texts_are_escaped_and_messages_are_utf8(void **state)
{
    const char *text = "\" \\ \n \t \x7f \xc2\x9b" "2J \xc2\xa0 \xff";
    struct oto_json json = {.layout = OTO_JSON_LINE};
    (void)state;
    oto_json_text(&json, NULL, text);
    assert_string_equal(json.text, "\"\\\" \\\\ \\n \\u0009 \\u007f \\u009b2J \xc2\xa0 \xff\"");
    oto_json_clear(&json);
    oto_json_open(&json, NULL, '{');
    oto_json_flag(&json, "a \"b\"", false);
    oto_json_close(&json, '}');
    assert_string_equal(json.text, "{\"a \\\"b\\\"\": false}");
    json.layout = OTO_JSON_COMPACT;
    oto_json_clear(&json);
    oto_json_text(&json, NULL, text);
    assert_string_equal(json.text, "\"\\\" \\\\ \\n \\u0009 \\u007f \\u009b2J \xc2\xa0 ?\"");
    oto_json_free(&json);
}

static void numbers_have_the_shortest_form_that_reads_back(void **state)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0.1, "0.1"},   {1.0 / 3.0, "0.3333333333333333"}, {0.1 + 0.2, "0.30000000000000004"}, {1e300, "1e+300"},
                 {-0.0, "-0"},   {NAN, "null"},                     {INFINITY, "null"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oto_json json = {.layout = OTO_JSON_LINE};
        oto_json_number(&json, NULL, cases[i].number);
        assert_string_equal(json.text, cases[i].text);
        oto_json_free(&json);
    }
}

static void a_text_of_any_length_fits_into_memory(void **state)
{
    struct oto_json json = {.layout = OTO_JSON_COMPACT};
    (void)state;
    oto_json_open(&json, NULL, '[');
    for (int i = 0; i < 20000; i++) {
        oto_json_text(&json, NULL, "four");
    }
    oto_json_close(&json, ']');
    assert_false(json.failed);
    assert_int_equal(json.bytes, 20000 * 7 + 1);
    assert_int_equal(strlen(json.text), json.bytes);
    oto_json_free(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_layout_has_its_separators),
        cmocka_unit_test(texts_are_escaped_and_messages_are_utf8),
        cmocka_unit_test(numbers_have_the_shortest_form_that_reads_back),
        cmocka_unit_test(a_text_of_any_length_fits_into_memory),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
