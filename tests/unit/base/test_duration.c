#include "base/duration.h"
#include "oto_test.h"

static void durations_are_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"10s", 10000000000},    {"500ms", 500000000},  {"2min", 120000000000}, {"1h", 3600000000000},
                {"1.5s", 1500000000},    {"0.1s", 100000000},   {"250us", 250000},      {"7ns", 7},
                {"0.000000001s", 1},     {".5min", 30000000000}, {"10", 10000000000},   {"0s", 0},
                {"0.3333333333ms", 333333}, {"1.5ns", 2},       {"9223372036s", 9223372036000000000}};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t ns = -1;
        assert_true(srv_duration_parse(good[i].text, &ns));
        assert_int_equal(ns, good[i].ns);
    }
}

static void other_forms_are_refused(void **state)
{
    static const char *const bad[] = {"",      "s",     ".",     "10 s",  " 10s", "-1s",  "+1s", "1e3s", "10sec",
                                      "1.s2",  "1..5s", "nan s", "inf",   "0x1s", "99999999999999999999s", "300000000000s", "1.0000000000000000000s"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t ns;
        assert_false(srv_duration_parse(bad[i], &ns));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_exact),
        cmocka_unit_test(other_forms_are_refused),
    };
    return cmocka_run_group_tests_name("duration", tests, NULL, NULL);
}
