#include "oto_test.h"

#include "base/step_time.h"

static void a_processor_that_others_had_does_not_count(void **state)
{
    (void)state;
    const struct srv_step_time before = {.now_ns = 1000, .cpu_ns = 50, .waits = 3};
    const struct srv_step_time after = {.now_ns = 901000, .cpu_ns = 2050, .waits = 3};
    assert_int_equal(srv_step_time_ns(&before, &after), 2000);
}

static void a_step_that_waits_itself_takes_real_time(void **state)
{
    (void)state;
    const struct timespec pause = {0, 3000000};
    const struct srv_step_time before = srv_step_time_read();
    assert_int_equal(nanosleep(&pause, NULL), 0);
    const struct srv_step_time after = srv_step_time_read();
    assert_true(srv_step_time_ns(&before, &after) >= 3000000);
}

static void a_step_that_works_takes_at_least_its_processor_time(void **state)
{
    (void)state;
    const struct srv_step_time before = srv_step_time_read();
    const int64_t end_ns = srv_thread_cpu_ns() + 2000000;
    while (srv_thread_cpu_ns() < end_ns) {
    }
    const struct srv_step_time after = srv_step_time_read();
    assert_true(srv_step_time_ns(&before, &after) >= 2000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_processor_that_others_had_does_not_count),
        cmocka_unit_test(a_step_that_waits_itself_takes_real_time),
        cmocka_unit_test(a_step_that_works_takes_at_least_its_processor_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
