/* JSON text: control characters are escaped, also those of 8 bits. */
#include "oto_test.h"

#include "json.h"

static void assert_json(const char *text, const char *expected)
{
    char *written = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&written, &bytes);
    assert_non_null(to);
    json_text(to, text);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(written, expected);
    free(written);
}

static void text_is_quoted_and_escaped(void **state)
{
    (void)state;
    assert_json("", "\"\"");
    assert_json("a\"b\\c m/s² \xc2\xa0", "\"a\\\"b\\\\c m/s² \xc2\xa0\"");
}

static void control_characters_are_escaped(void **state)
{
    (void)state;
    assert_json("\x1b[2J\n\x7f", "\"\\u001b[2J\\n\\u007f\"");
    assert_json("\xc2\x9b" "2J", "\"\\u009b2J\""); /* U+009B, the 8-bit form of ESC [ */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_quoted_and_escaped),
        cmocka_unit_test(control_characters_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
