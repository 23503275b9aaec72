/* Swaps of estimators, and of what they listen to. */
#include "fixture.h"

#include "plugins/listener.h"

#define SECOND_NS INT64_C(1000000000)
#define WITNESS 1
#define LISTENER 2

/* A listener to both channels of a witness, and to the truth. */
static void begin(struct fixture *fixture)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    fixture_set(fixture_sensor(fixture, "witness", "witness", 200, 1), "extra", "true");
    (void)fixture_sensor(fixture, "ears", "listener", 50, 1);
    fixture_input(fixture, "main", 0, 0);
    fixture_input(fixture, "first", WITNESS, 0);
    fixture_input(fixture, "second", WITNESS, 1);
    fixture_start(fixture);
}

static uint64_t hash_after(uint64_t ticks)
{
    struct fixture fixture;
    begin(&fixture);
    fixture_step(&fixture, ticks);
    const uint64_t hash = fixture_clock(&fixture).state_hash;
    fixture_end(&fixture);
    return hash;
}

static void an_estimator_goes_through_shadow_and_probation_without_losing_a_sample(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record record;
    const struct srv_swap_options options = {.shadow_ns = SECOND_NS / 5, .probation_ns = SECOND_NS / 5};
    const uint64_t hash = hash_after(1000);
    begin(&fixture);
    fixture_step(&fixture, 200);
    struct srv_node_change *change = fixture_make_swap(&fixture, LISTENER, "listener", options);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, 300);
    assert_int_equal(fixture_await(&fixture, id).status, OTO_OK);
    assert_int_equal(fixture_settle(&fixture, change, 500).status, OTO_OK);
    assert_int_equal(fixture_latest(&fixture, "demo/car/ears", &record).seq, 50);
    assert_int_equal(record.disorder + record.losses, 0);
    assert_int_equal(record.total, 1000 + 200 + 200);
    assert_int_equal(fixture_clock(&fixture).state_hash, hash);
    fixture_end(&fixture);
}

static void an_estimator_hears_on_when_what_it_listens_to_is_swapped(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record record;
    begin(&fixture);
    fixture_step(&fixture, 200); /* 200 truths, 40 of each channel */
    (void)srv_change_free(
        fixture_flip(&fixture, fixture_make_swap(&fixture, WITNESS, "watcher", (struct srv_swap_options){0})).change);
    fixture_step(&fixture, 200); /* the second channel is silent */
    (void)fixture_latest(&fixture, "demo/car/ears", &record);
    assert_int_equal(record.total, 400 + 80 + 40);
    struct srv_node_change *back =
        fixture_make_swap(&fixture, WITNESS, "witness", (struct srv_swap_options){.probation_ns = SECOND_NS / 10});
    (void)fixture_flip(&fixture, back);
    assert_int_equal(fixture_settle(&fixture, back, 200).status, OTO_OK);
    (void)fixture_latest(&fixture, "demo/car/ears", &record);
    assert_int_equal(record.total, 600 + 120 + 80);
    assert_int_equal(record.disorder + record.losses, 0);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_estimator_goes_through_shadow_and_probation_without_losing_a_sample),
        cmocka_unit_test(an_estimator_hears_on_when_what_it_listens_to_is_swapped),
    };
    return cmocka_run_group_tests_name("engine swap estimator", tests, NULL, NULL);
}
