#include "oto_test.h"

#include "base/wait_time.h"

#define MS INT64_C(1000000)

static void a_wait_is_as_long_as_its_looks_tell(void **state)
{
    (void)state;
    struct srv_wait_time wait = srv_wait_begin(7 * MS);
    assert_int_equal(srv_wait_look(&wait, 7 * MS), 0);
    assert_int_equal(srv_wait_look(&wait, 107 * MS), 100 * MS);
    assert_int_equal(srv_wait_look(&wait, 307 * MS), 300 * MS);
    assert_int_equal(wait.waited_ns, 300 * MS);
}

static void a_standstill_counts_as_one_look(void **state)
{
    (void)state;
    struct srv_wait_time wait = srv_wait_begin(0);
    (void)srv_wait_look(&wait, 100 * MS);
    assert_int_equal(srv_wait_look(&wait, 60000 * MS), 100 * MS + SRV_WAIT_LOOK_NS);
    assert_int_equal(srv_wait_look(&wait, 60010 * MS), 110 * MS + SRV_WAIT_LOOK_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_as_long_as_its_looks_tell),
        cmocka_unit_test(a_standstill_counts_as_one_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
