/* Foreign text for a terminal: valid UTF-8 without control characters. */
#include "oto_test.h"

#include "base/plain_text.h"

static void assert_plain(const char *text, const char *expected)
{
    char plain[256];
    assert_string_equal(oto_plain_text(text, plain, sizeof plain), expected);
    char *written = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&written, &bytes);
    assert_non_null(to);
    oto_plain_text_put(to, text);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(written, expected);
    free(written);
}

static void ordinary_text_is_unchanged(void **state)
{
    (void)state;
    assert_plain("", "");
    assert_plain("clitest/car/imu: 9.81 m/s² — µ, 重力, \xf0\x9f\x9a\x97", "clitest/car/imu: 9.81 m/s² — µ, 重力, \xf0\x9f\x9a\x97");
}

static void control_characters_are_escaped(void **state)
{
    (void)state;
    assert_plain("a\x1b[2Jb\r\n\t\x7f", "a\\x1b[2Jb\\x0d\\x0a\\x09\\x7f");
    assert_plain("\xc2\x9b" "2J", "\\xc2\\x9b2J"); /* U+009B, the 8-bit form of ESC [ */
}

static void line_separators_and_direction_marks_are_escaped(void **state)
{
    (void)state;
    assert_plain("a\xe2\x80\xa8" "b", "a\\xe2\\x80\\xa8b"); /* U+2028 */
    assert_plain("a\xe2\x80\xae" "b", "a\\xe2\\x80\\xaeb"); /* U+202E, right-to-left override */
    assert_plain("a\xe2\x81\xa6" "b", "a\\xe2\\x81\\xa6b"); /* U+2066 */
}

static void bytes_that_are_not_utf8_are_escaped(void **state)
{
    (void)state;
    assert_plain("\x9b" "2J", "\\x9b2J");
    assert_plain("\xc0\x9b", "\\xc0\\x9b");                 /* overlong form of ESC */
    assert_plain("\xe0\x80\x9b", "\\xe0\\x80\\x9b");
    assert_plain("\xed\xa0\x80", "\\xed\\xa0\\x80");         /* surrogate */
    assert_plain("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* over U+10FFFF */
    assert_plain("\xe2\x80", "\\xe2\\x80");                 /* cut */
}

static void text_is_cut_between_characters(void **state)
{
    (void)state;
    char plain[6];
    assert_string_equal(oto_plain_text("abcd²", plain, sizeof plain), "abcd");
    assert_string_equal(oto_plain_text("abc²", plain, sizeof plain), "abc²");
    assert_string_equal(oto_plain_text("ab\x1b", plain, sizeof plain), "ab");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_text_is_unchanged),
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(line_separators_and_direction_marks_are_escaped),
        cmocka_unit_test(bytes_that_are_not_utf8_are_escaped),
        cmocka_unit_test(text_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
