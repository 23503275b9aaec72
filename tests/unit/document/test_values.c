/* Scalars of a document as numbers, rates, flags and texts. */
#include "oto_test.h"

#include "document/document.h"

#include <inttypes.h>

enum wanted { AS_F64, AS_I64, AS_U64, AS_BOOL, AS_RATE, AS_TEXT };

/* Reads the value of `yaml` and prints it in one canonical way, or gives the error's text. */
static enum oto_status convert(enum wanted wanted, const char *yaml, char *out, size_t bytes)
{
    struct oto_document *document = NULL;
    struct oto_error error = {0};
    char text[512];
    (void)snprintf(text, sizeof text, "k: %s\n", yaml);
    assert_ok(oto_document_parse("f.yaml", text, strlen(text), NULL, &document, &error), error);
    const struct oto_value *value = oto_value_get(oto_document_root(document), "k");
    enum oto_status status = OTO_OK;
    double f64 = 0;
    int64_t i64 = 0;
    uint64_t num = 0, den = 0;
    bool flag = false;
    const char *word = "";
    switch (wanted) {
    case AS_F64:
        status = oto_value_f64(value, &f64, &error);
        (void)snprintf(out, bytes, "%.17g", f64);
        break;
    case AS_I64:
        status = oto_value_i64(value, &i64, &error);
        (void)snprintf(out, bytes, "%" PRId64, i64);
        break;
    case AS_U64:
        status = oto_value_u64(value, &num, &error);
        (void)snprintf(out, bytes, "%" PRIu64, num);
        break;
    case AS_BOOL:
        status = oto_value_bool(value, &flag, &error);
        (void)snprintf(out, bytes, "%d", flag);
        break;
    case AS_RATE:
        status = oto_value_rational(value, &num, &den, &error);
        (void)snprintf(out, bytes, "%" PRIu64 "/%" PRIu64, num, den);
        break;
    case AS_TEXT:
        status = oto_value_text(value, &word, &error);
        (void)snprintf(out, bytes, "%s", word);
        break;
    }
    if (status != OTO_OK)
        (void)snprintf(out, bytes, "%s", error.text);
    oto_document_close(document);
    return status;
}

struct conversion {
    enum wanted wanted;
    const char *yaml, *result;
};

static void numbers_are_read_exactly(void **state)
{
    (void)state;
    static const struct conversion cases[] = {
        {AS_U64, "0", "0"},
        {AS_U64, "18446744073709551615", "18446744073709551615"},
        {AS_U64, "9223372036854775808", "9223372036854775808"},
        {AS_U64, "0xffffffffffffffff", "18446744073709551615"},
        {AS_U64, "0o17", "15"},
        {AS_I64, "-9223372036854775808", "-9223372036854775808"},
        {AS_I64, "+12", "12"},
        {AS_F64, "1", "1"},
        {AS_F64, "-.5", "-0.5"},
        {AS_F64, "1.332E-4", "0.00013320000000000001"},
        {AS_F64, "5e-324", "4.9406564584124654e-324"},
        {AS_F64, "-0", "-0"},
        {AS_BOOL, "true", "1"},
        {AS_BOOL, "false", "0"},
        {AS_RATE, "1000", "1000/1"},
        {AS_RATE, "60000/1001", "60000/1001"},
        {AS_RATE, "\"60000/1001\"", "60000/1001"},
        {AS_RATE, "0.5", "1/2"},
        {AS_RATE, "59.94", "2997/50"},
        {AS_RATE, "1e3", "1000/1"},
        {AS_RATE, "200.000", "200/1"},
        {AS_RATE, "0", "0/1"},
        {AS_TEXT, "mems", "mems"},
        {AS_TEXT, "\"null\"", "null"},
        {AS_TEXT, "12", "12"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[600];
        assert_int_equal(convert(cases[i].wanted, cases[i].yaml, out, sizeof out), OTO_OK);
        assert_string_equal(out, cases[i].result);
    }
}

static void what_is_no_such_value_is_refused_with_what_would_be_accepted(void **state)
{
    (void)state;
    static const struct conversion cases[] = {
        {AS_U64, "-1", "from 0 to 18446744073709551615, got '-1'"},
        {AS_U64, "1e3", "got '1e3'"},
        {AS_U64, "1.5", "got '1.5'"},
        {AS_U64, "18446744073709551616", "from 0 to 18446744073709551615, got '18446744073709551616'"},
        {AS_U64, "\"1\"", "got the text \"1\""},
        {AS_U64, "0x", "got '0x'"},
        {AS_I64, "9223372036854775808", "from -9223372036854775808"},
        {AS_I64, "--1", "got '--1'"},
        {AS_F64, ".nan", "finite number, got '.nan'"},
        {AS_F64, "NaN", "finite number, got 'NaN'"},
        {AS_F64, "-.inf", "finite number, got '-.inf'"},
        {AS_F64, "Infinity", "finite number"},
        {AS_F64, "1e999", "fits a double"},
        {AS_F64, "abc", "f.yaml:1:4: error: expected a number, got 'abc'"},
        {AS_F64, "", "expected a number, got nothing"},
        {AS_F64, "~", "expected a number, got nothing: ~"},
        {AS_F64, "null", "expected a number, got nothing: null"},
        {AS_F64, "\"1\"", "got the text \"1\""},
        {AS_F64, "[1]", "expected a number, got a list"},
        {AS_F64, "{a: 1}", "expected a number, got a map"},
        {AS_F64, "1,5", "got '1,5'"},
        {AS_F64, "1_000", "got '1_000'"},
        {AS_F64, "0x1p3", "got '0x1p3'"},
        {AS_F64, ".", "got '.'"},
        {AS_F64, "1e", "got '1e'"},
        {AS_BOOL, "yes", "true or false, got 'yes'"},
        {AS_BOOL, "1", "true or false, got '1'"},
        {AS_BOOL, "\"true\"", "true or false, got the text"},
        {AS_RATE, "-5", "a rate such as 200, 0.5 or 60000/1001, got '-5'"},
        {AS_RATE, "1/0", "a rate"},
        {AS_RATE, "/3", "a rate"},
        {AS_RATE, "1/2/3", "a rate"},
        {AS_RATE, ".inf", "finite"},
        {AS_RATE, "99999999999999999999", "64 bits"},
        {AS_RATE, "1e-9999999999", "64 bits"},
        {AS_TEXT, "~", "expected a text"},
        {AS_TEXT, "[a]", "expected a text, got a list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[600];
        assert_int_not_equal(convert(cases[i].wanted, cases[i].yaml, out, sizeof out), OTO_OK);
        if (strstr(out, cases[i].result) == NULL || strncmp(out, "f.yaml:1:", 9) != 0)
            fail_msg("%s: '%s' is not in: %s", cases[i].yaml, cases[i].result, out);
    }
}

static void the_place_of_a_deep_path_keeps_the_sentence_whole(void **state)
{
    (void)state;
    struct oto_value value = {.kind = OTO_VALUE_SCALAR, .line = 1, .column = 2};
    struct oto_error error = {0};
    char path[1000];
    memset(path, 'p', sizeof path);
    path[sizeof path - 1] = '\0';
    value.file = path;
    assert_int_equal(oto_value_fail(&value, &error, OTO_INVALID, "the sentence"), OTO_INVALID);
    assert_non_null(strstr(error.text, "pp:1:2: error: the sentence"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_exactly),
        cmocka_unit_test(what_is_no_such_value_is_refused_with_what_would_be_accepted),
        cmocka_unit_test(the_place_of_a_deep_path_keeps_the_sentence_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
