#include "oto_test.h"

#include "base/schedule.h"

#define BILLION UINT64_C(1000000000)

static const uint64_t rates[][2] = {{1000, 1}, {1024, 1}, {60000, 1001}, {3, 1}, {1, 3}, {1000000, 7}};

/* floor(n·1e9·den/num) from two 64-bit divisions, another way than the code under test. */
static int64_t expected_ns(uint64_t n, uint64_t num, uint64_t den)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t whole = (uint64_t)((wide)n * den / num), rest = (uint64_t)((wide)n * den % num);
    return (int64_t)(whole * BILLION + (uint64_t)((wide)rest * BILLION / num));
}

static void instants_do_not_drift_over_a_billion_ticks(void **unused)
{
    (void)unused;
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        const uint64_t num = rates[r][0], den = rates[r][1];
        for (uint64_t n = 999999990; n <= BILLION + 10; n++) {
            assert_int_equal(srv_instant_ns(n, num, den, NULL), expected_ns(n, num, den));
        }
    }
    assert_int_equal(srv_instant_ns(BILLION, 1024, 1, NULL), INT64_C(976562500000000));
    assert_int_equal(srv_instant_ns(60000, 60000, 1001, NULL), INT64_C(1001000000000));
    assert_int_equal(srv_instant_ns(1, 3, 1, NULL), 333333333);
}

static void a_beat_of_additions_equals_the_division(void **unused)
{
    (void)unused;
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        struct srv_schedule schedule;
        srv_schedule_init(&schedule, rates[r][0], rates[r][1]);
        for (uint64_t n = 0; n <= 1000000; n++) {
            uint64_t rest;
            if (schedule.t_ns != srv_instant_ns(n, rates[r][0], rates[r][1], &rest) || schedule.rest != rest ||
                schedule.n != n) {
                fail_msg("rate %llu/%llu differs at %llu", (unsigned long long)rates[r][0],
                         (unsigned long long)rates[r][1], (unsigned long long)n);
            }
            srv_schedule_advance(&schedule);
        }
    }
}

static void a_beat_far_on_has_no_drift(void **unused)
{
    (void)unused;
    struct srv_schedule schedule;
    srv_schedule_init(&schedule, 60000, 1001);
    /* 1e9 ticks as the accumulator makes them: n·step and the carries of n·rest. */
    const uint64_t n = BILLION;
    const uint64_t carries = n * schedule.step_rest / schedule.num;
    assert_int_equal((uint64_t)schedule.step_ns * n + carries, (uint64_t)srv_instant_ns(n, 60000, 1001, NULL));
}

static void the_rest_below_a_nanosecond_is_kept(void **unused)
{
    (void)unused;
    struct srv_schedule schedule;
    srv_schedule_init(&schedule, 3, 1);
    srv_schedule_advance(&schedule);
    assert_int_equal(schedule.t_ns, 333333333);
    assert_near(srv_schedule_at(&schedule).sub_ns, 1.0 / 3.0, 1e-16);
    srv_schedule_advance(&schedule);
    assert_near(srv_schedule_at(&schedule).sub_ns, 2.0 / 3.0, 1e-16);
    srv_schedule_advance(&schedule);
    assert_int_equal(schedule.t_ns, 1000000000);
    assert_near(srv_schedule_at(&schedule).sub_ns, 0.0, 0.0);
}

/* Sample n/fs lies in (k/fb, (k+1)/fb]: checked by cross-multiplication for every sample. */
static void check_due(uint64_t sn, uint64_t sd, uint64_t bn, uint64_t bd, uint64_t samples)
{
    __extension__ typedef unsigned __int128 wide;
    struct oto_error error = {0};
    struct srv_due due;
    assert_ok(srv_due_init(&due, sn, sd, bn, bd, &error), error);
    for (uint64_t n = 1; n <= samples; n++) {
        const uint64_t k = srv_due_tick(&due);
        const wide sample = (wide)n * sd * bn, start = (wide)k * bd * sn, end = (wide)(k + 1) * bd * sn;
        if (!(start < sample && sample <= end) || srv_due_at_end(&due) != (sample == end)) {
            fail_msg("sample %llu of %llu/%llu Hz is put into tick %llu", (unsigned long long)n,
                     (unsigned long long)sn, (unsigned long long)sd, (unsigned long long)k);
        }
        srv_due_advance(&due);
    }
}

static void every_sample_is_in_the_tick_whose_interval_holds_it(void **unused)
{
    (void)unused;
    check_due(200, 1, 1000, 1, 100000);
    check_due(300, 1, 1000, 1, 1000000);
    check_due(1000, 1, 1000, 1, 100000);
    check_due(60000, 1001, 1000, 1, 1000000);
    check_due(1, 3, 1024, 1, 1000);
    check_due(2500, 1, 1000, 1, 100000);
    check_due(833, 7, 60000, 1001, 1000000);
}

static void samples_in_a_million_ticks_are_counted_exactly(void **unused)
{
    (void)unused;
    struct oto_error error = {0};
    struct srv_due due;
    uint64_t samples = 0;
    assert_ok(srv_due_init(&due, 300, 1, 1000, 1, &error), error);
    for (uint64_t tick = 0; tick < 1000000; tick++) {
        for (; srv_due_tick(&due) == tick; srv_due_advance(&due)) {
            samples++;
        }
    }
    assert_int_equal(samples, 300000);
}

static void the_end_of_a_run_is_the_first_tick_at_or_after_it(void **unused)
{
    (void)unused;
    assert_int_equal(srv_events_until(10 * (int64_t)BILLION, 1000, 1), 10000);
    assert_int_equal(srv_events_until(1, 1000, 1), 1);
    assert_int_equal(srv_events_until(1000001, 1000, 1), 2);
    assert_int_equal(srv_events_until(1001 * (int64_t)BILLION, 60000, 1001), 60000);
    assert_int_equal(srv_events_until(0, 1000, 1), 0);
}

static void rates_that_cannot_be_scheduled_are_refused(void **unused)
{
    (void)unused;
    struct oto_error error = {0};
    assert_int_equal(srv_rate_check("x", 0, 1, &error), OTO_RANGE);
    assert_int_equal(srv_rate_check("x", 1, 0, &error), OTO_RANGE);
    assert_int_equal(srv_rate_check("x", UINT64_MAX, 1, &error), OTO_RANGE);
    assert_int_equal(srv_rate_check("x", 1, 10000000, &error), OTO_RANGE);
    assert_int_equal(srv_rate_check("x", UINT64_C(2000000000), 1, &error), OTO_RANGE);
    assert_int_equal(srv_rate_check("x", 1000, 1, &error), OTO_OK);
    struct srv_due due;
    const uint64_t big = (UINT64_C(1) << 40) - 1;
    assert_int_equal(srv_due_init(&due, big, big - 2, big - 4, big - 6, &error), OTO_RANGE);
    assert_non_null(strstr(error.text, "common grid"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instants_do_not_drift_over_a_billion_ticks),
        cmocka_unit_test(a_beat_of_additions_equals_the_division),
        cmocka_unit_test(a_beat_far_on_has_no_drift),
        cmocka_unit_test(the_rest_below_a_nanosecond_is_kept),
        cmocka_unit_test(every_sample_is_in_the_tick_whose_interval_holds_it),
        cmocka_unit_test(samples_in_a_million_ticks_are_counted_exactly),
        cmocka_unit_test(the_end_of_a_run_is_the_first_tick_at_or_after_it),
        cmocka_unit_test(rates_that_cannot_be_scheduled_are_refused),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
