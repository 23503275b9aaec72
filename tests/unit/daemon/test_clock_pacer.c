#include "oto_test.h"

#include "daemon/clock/pacer.h"
#include "daemon/clock/spin_budget.h"

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)

/* A clock that the test moves, and the results of the ticks that it paced. */
struct bench {
    struct srv_pacer pacer;
    int64_t now_ns;
    uint64_t ticks, slips, catchups, late, overruns;
    int64_t slipped_ns;
    uint32_t row, longest_row; /* ticks without a wait between them */
    bool faulted;
};

static void begin(struct bench *bench, enum srv_overrun policy, uint64_t num, uint64_t den, double scale)
{
    const struct srv_clock_config config = {.rate_num = num,
                                            .rate_den = den,
                                            .scale = scale,
                                            .overrun = policy,
                                            .catchup_max_burst = 4,
                                            .catchup_max_lag_ns = 20 * MS,
                                            .fault_max_overruns = 10};
    memset(bench, 0, sizeof *bench);
    bench->now_ns = 5 * S;
    srv_pacer_init(&bench->pacer, &config);
    srv_pacer_anchor(&bench->pacer, bench->now_ns);
}

/* Up to the next tick that runs for work_ns. */
static void run_one(struct bench *bench, int64_t work_ns)
{
    for (;;) {
        const struct srv_pace pace = srv_pacer_plan(&bench->pacer, bench->now_ns);
        bench->slips += pace.slipped_ns != 0;
        bench->slipped_ns += pace.slipped_ns;
        if (pace.run) {
            bench->late += pace.lateness_ns > 0;
            bench->catchups += pace.catching_up;
            bench->row += pace.catching_up;
            bench->longest_row = bench->row > bench->longest_row ? bench->row : bench->longest_row;
            break;
        }
        assert_true(pace.until_ns > bench->now_ns);
        bench->now_ns = pace.until_ns;
        bench->row = 0;
    }
    bench->ticks++;
    bench->now_ns += work_ns;
    const enum srv_pacer_verdict verdict = srv_pacer_done(&bench->pacer, bench->now_ns);
    bench->overruns += verdict != SRV_PACER_OK;
    bench->faulted = bench->faulted || verdict == SRV_PACER_FAULT;
}

static void run(struct bench *bench, uint64_t ticks, int64_t work_ns)
{
    for (uint64_t i = 0; i < ticks && !bench->faulted; i++) {
        run_one(bench, work_ns);
    }
}

static void a_world_that_keeps_up_starts_every_tick_at_its_deadline(void **unused)
{
    (void)unused;
    static const uint64_t rates[][2] = {{1000, 1}, {1024, 1}, {60000, 1001}, {3, 1}};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        struct bench bench;
        begin(&bench, SRV_OVERRUN_SLIP, rates[r][0], rates[r][1], 1.0);
        for (uint64_t k = 0; k < 100000; k++) {
            assert_int_equal(srv_pacer_deadline_ns(&bench.pacer),
                             5 * S + srv_instant_ns(k, rates[r][0], rates[r][1], NULL));
            run_one(&bench, 1000);
        }
        assert_int_equal(bench.late + bench.slips + bench.overruns, 0);
    }
}

static void slip_gives_up_a_stop_of_two_seconds_once_and_exactly(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_SLIP, 1000, 1, 1.0);
    run(&bench, 100, 1000);
    bench.now_ns += 2 * S; /* stopped while it waited: the tick of 0.1 s begins 1.999 001 s late */
    run(&bench, 100, 1000);
    assert_int_equal(bench.ticks, 200);
    assert_int_equal(bench.slips, 1);
    assert_int_equal(bench.slipped_ns, 2 * S - MS + 1000);
    assert_int_equal(bench.late, 1);
    assert_int_equal(bench.overruns, 0);
    assert_int_equal(bench.catchups, 0);
}

static void slip_does_nothing_about_less_than_a_period(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_SLIP, 1000, 1, 1.0);
    run(&bench, 10, 1000);
    run_one(&bench, 1900000); /* over its own deadline, not over the next */
    run(&bench, 10, 1000);
    assert_int_equal(bench.slips, 0);
    assert_int_equal(bench.overruns, 1);
    assert_int_equal(bench.late, 1);
}

static void a_world_that_is_too_slow_slips_and_never_bursts(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_SLIP, 1000, 1, 1.0);
    const int64_t start_ns = bench.now_ns;
    run(&bench, 1000, 1500000);
    assert_int_equal(bench.now_ns - start_ns, 1000 * 1500000);
    assert_int_equal(bench.overruns, 1000);
    /* Each tick loses half a period. All of the lag is given up except the part below one period. */
    assert_true(bench.slipped_ns > 498 * MS && bench.slipped_ns <= 500 * MS);
}

static void catchup_makes_up_for_a_short_stop_and_slips_nothing(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_CATCHUP, 1000, 1, 1.0);
    run(&bench, 100, 1000);
    bench.now_ns += 4 * MS;
    run(&bench, 100, 1000);
    assert_int_equal(bench.slips, 0);
    assert_int_equal(bench.catchups, 3);
    assert_true(bench.longest_row <= 4);
    assert_int_equal(srv_pacer_deadline_ns(&bench.pacer), 5 * S + 200 * MS);
}

static void catchup_never_makes_more_than_its_burst(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_CATCHUP, 1000, 1, 1.0);
    run(&bench, 100, 1000);
    bench.now_ns += 15 * MS; /* less than max_lag, more than the burst can make up */
    const int64_t before_ns = bench.now_ns;
    run(&bench, 4, 1000);
    assert_int_equal(bench.catchups, 4);
    assert_int_equal(bench.now_ns, before_ns + 4000);
    run_one(&bench, 1000);
    assert_int_equal(bench.slips, 1);
    assert_int_equal(bench.now_ns, before_ns + 4000 + MS + 1000); /* a period of rest after the burst */
    assert_int_equal(bench.longest_row, 4);
}

static void catchup_gives_up_at_once_beyond_its_largest_lag(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_CATCHUP, 1000, 1, 1.0);
    run(&bench, 100, 1000);
    bench.now_ns += 2 * S;
    run(&bench, 100, 1000);
    assert_int_equal(bench.slips, 1);
    assert_int_equal(bench.slipped_ns, 2 * S - MS + 1000);
    assert_int_equal(bench.catchups, 0);
}

static void fault_stops_after_so_many_overruns_in_a_row(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_FAULT, 1000, 1, 1.0);
    run(&bench, 50, 1000);
    run(&bench, 1, 2 * S);
    run(&bench, 100, 1000);
    assert_true(bench.faulted);
    assert_int_equal(bench.overruns, 10);
    assert_int_equal(bench.ticks, 60);
    assert_int_equal(bench.slips, 0);
}

static void fault_forgives_what_is_not_in_a_row(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_FAULT, 1000, 1, 1.0);
    for (int i = 0; i < 20; i++) {
        run(&bench, 1, 1100000);
        run(&bench, 2, 1000);
    }
    assert_int_equal(bench.overruns, 20);
    assert_false(bench.faulted);
}

static void a_new_scale_takes_effect_after_the_next_deadline(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_SLIP, 1000, 1, 1.0);
    run(&bench, 100, 1000);
    assert_int_equal(srv_pacer_deadline_ns(&bench.pacer), 5 * S + 100 * MS);
    srv_pacer_set_scale(&bench.pacer, 0.5, bench.now_ns);
    assert_int_equal(srv_pacer_deadline_ns(&bench.pacer), 5 * S + 100 * MS);
    run(&bench, 100, 1000);
    assert_int_equal(srv_pacer_deadline_ns(&bench.pacer), 5 * S + 300 * MS);
    srv_pacer_set_scale(&bench.pacer, 4.0, bench.now_ns + 2 * MS - 1000);
    run(&bench, 400, 1000);
    assert_int_equal(srv_pacer_deadline_ns(&bench.pacer), 5 * S + 400 * MS);
    assert_int_equal(bench.slips + bench.late, 0);
}

static void a_world_that_crept_need_not_wait_out_its_long_period(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_SLIP, 1, 1, 0.001); /* one tick in a thousand seconds */
    run(&bench, 1, 1000);
    srv_pacer_set_scale(&bench.pacer, 1.0, bench.now_ns);
    assert_int_equal(srv_pacer_deadline_ns(&bench.pacer), bench.now_ns + S);
}

static void a_scale_that_is_no_fraction_drifts_less_than_a_billionth(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_SLIP, 1000, 1, 3.14159265358979);
    run(&bench, 1000000, 1);
    assert_near((double)(srv_pacer_deadline_ns(&bench.pacer) - 5 * S), 1e12 / 3.14159265358979, 1e3);
}

static void a_clock_that_steps_back_only_makes_it_wait(void **unused)
{
    (void)unused;
    struct bench bench;
    begin(&bench, SRV_OVERRUN_SLIP, 1000, 1, 1.0);
    run(&bench, 10, 1000);
    const int64_t deadline_ns = srv_pacer_deadline_ns(&bench.pacer);
    const struct srv_pace pace = srv_pacer_plan(&bench.pacer, 1);
    assert_false(pace.run);
    assert_int_equal(pace.until_ns, deadline_ns);
}

static void spinning_takes_at_most_a_tenth_of_a_core(void **unused)
{
    (void)unused;
    struct srv_spin_budget budget = {0};
    assert_int_equal(srv_spin_lead_ns(&budget, MS, 10 * S), SRV_SPIN_LEAD_NS);
    assert_int_equal(srv_spin_lead_ns(&budget, 100000, 10 * S), 10000);
    int64_t spun_ns = 0;
    for (int64_t now_ns = 10 * S; now_ns < 11 * S; now_ns += 100000) {
        const int64_t lead_ns = srv_spin_lead_ns(&budget, MS, now_ns);
        srv_spin_used(&budget, lead_ns);
        spun_ns += lead_ns;
    }
    assert_true(spun_ns > 99 * MS && spun_ns <= 100 * MS);
    assert_true(srv_spin_exhausted_now(&budget));
    assert_false(srv_spin_exhausted_now(&budget));
    assert_int_equal(srv_spin_lead_ns(&budget, MS, 11 * S), SRV_SPIN_LEAD_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_world_that_keeps_up_starts_every_tick_at_its_deadline),
        cmocka_unit_test(slip_gives_up_a_stop_of_two_seconds_once_and_exactly),
        cmocka_unit_test(slip_does_nothing_about_less_than_a_period),
        cmocka_unit_test(a_world_that_is_too_slow_slips_and_never_bursts),
        cmocka_unit_test(catchup_makes_up_for_a_short_stop_and_slips_nothing),
        cmocka_unit_test(catchup_never_makes_more_than_its_burst),
        cmocka_unit_test(catchup_gives_up_at_once_beyond_its_largest_lag),
        cmocka_unit_test(fault_stops_after_so_many_overruns_in_a_row),
        cmocka_unit_test(fault_forgives_what_is_not_in_a_row),
        cmocka_unit_test(a_new_scale_takes_effect_after_the_next_deadline),
        cmocka_unit_test(a_world_that_crept_need_not_wait_out_its_long_period),
        cmocka_unit_test(a_scale_that_is_no_fraction_drifts_less_than_a_billionth),
        cmocka_unit_test(a_clock_that_steps_back_only_makes_it_wait),
        cmocka_unit_test(spinning_takes_at_most_a_tenth_of_a_core),
    };
    return cmocka_run_group_tests_name("pacer", tests, NULL, NULL);
}
