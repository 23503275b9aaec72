/* Paths that start at this code; here it is linked into the program. test_sim.py covers the library. */
#include "base/beside.h"
#include "oto_test.h"

static void a_path_starts_at_the_program(void **unused)
{
    char path[4096];
    (void)unused;
    assert_true(srv_beside_program("test_beside", path, sizeof path));
    assert_int_equal(access(path, X_OK), 0);
    assert_true(srv_beside_program("../bin", path, sizeof path));
    assert_null(strstr(path, ".."));
    assert_string_equal(path, OTO_BIN_DIR);
}

static void a_path_that_is_too_long_is_refused(void **unused)
{
    char path[8] = "before";
    (void)unused;
    assert_false(srv_beside_program("test_beside", path, sizeof path));
    assert_string_equal(path, "");
}

static void code_of_the_program_has_no_library(void **unused)
{
    char path[4096] = "before";
    (void)unused;
    assert_false(srv_beside_library("otolith/plugins", path, sizeof path));
    assert_string_equal(path, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_starts_at_the_program),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
        cmocka_unit_test(code_of_the_program_has_no_library),
    };
    return cmocka_run_group_tests_name("beside", tests, NULL, NULL);
}
