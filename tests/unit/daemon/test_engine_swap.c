/* Swaps of sensors: continuity, replies and events, roll-backs. */
#include "fixture.h"

#define SECOND_NS INT64_C(1000000000)
#define WITNESS 1
#define COUNT 2
#define TICKS 600

/* A counter of 100 Hz beside a witness of 1 kHz. */
static void begin(struct fixture *fixture)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    fixture_set(fixture_sensor(fixture, "witness", "witness", 1000, 1), "extra", "true");
    (void)fixture_sensor(fixture, "count", "counter", 100, 1);
    fixture_start(fixture);
}

static uint64_t hash_of(struct fixture *fixture)
{
    return fixture_clock(fixture).state_hash;
}

static uint64_t undisturbed(uint64_t ticks)
{
    struct fixture fixture;
    begin(&fixture);
    fixture_step(&fixture, ticks);
    const uint64_t hash = hash_of(&fixture);
    fixture_end(&fixture);
    return hash;
}

static const struct oto_segment_channel *entry_of(struct fixture *fixture, const char *topic)
{
    const struct oto_segment_header *header = srv_engine_segment(fixture->engine);
    const struct oto_segment_channel *directory = (const void *)((const char *)header + header->directory_offset);
    return &directory[fixture_channel(fixture, topic)];
}

static struct srv_node_change *with_params(struct fixture *fixture, const char *plugin, const char *yaml,
                                           struct srv_swap_options options)
{
    char path[512];
    options.params_path = fixture_params(path, sizeof path, yaml);
    struct srv_node_change *change = fixture_make_swap(fixture, COUNT, plugin, options);
    (void)unlink(path);
    return change;
}

static void another_plugin_of_the_same_record_takes_the_place(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct witness_record record;
    struct oto_channel_identity identity;
    char text[600];
    double value;
    begin(&fixture);
    fixture_step(&fixture, 100);
    (void)fixture_latest(&fixture, "demo/car/witness", &record);
    const double walk = record.walk;
    struct srv_node_change *change = fixture_make_swap(&fixture, WITNESS, "watcher", (struct srv_swap_options){0});
    struct srv_reply reply = fixture_flip(&fixture, change);
    assert_false(reply.settling);
    srv_swap_describe(change, text, sizeof text);
    assert_non_null(strstr(text, "witness 1.0.0 to watcher 2.0.0"));
    assert_non_null(strstr(text, "new state"));
    assert_non_null(strstr(text, "silent now: extra"));
    assert_non_null(strstr(text, "having no channel: more"));
    (void)srv_change_free(reply.change);
    fixture_step(&fixture, 100);
    for (uint64_t seq = 1; seq <= 200; seq++) {
        assert_int_equal(fixture_record(&fixture, "demo/car/witness", seq, &record).seq, seq);
        assert_int_equal(record.n, seq);
    }
    assert_int_equal(fixture_latest(&fixture, "demo/car/witness.extra", &value).seq, 100);
    assert_near(value, walk, 0.0);
    assert_int_equal(entry_of(&fixture, "demo/car/witness.extra")->flags & OTO_CHANNEL_ENABLED, 0);
    assert_int_equal(oto_channel_identity_read(entry_of(&fixture, "demo/car/witness"), &identity), OTO_OK);
    assert_string_equal(identity.plugin, "watcher");
    assert_string_equal(identity.plugin_version, "2.0.0");
    assert_int_equal(identity.generation, 1);
    assert_int_equal(oto_channel_identity_read(entry_of(&fixture, "demo/car/count"), &identity), OTO_OK);
    assert_string_equal(identity.plugin, "counter");
    /* After the swap back the silent channel continues with its next seq. */
    change = fixture_make_swap(&fixture, WITNESS, "witness", (struct srv_swap_options){0});
    (void)srv_change_free(fixture_flip(&fixture, change).change);
    fixture_step(&fixture, 10);
    assert_int_equal(fixture_latest(&fixture, "demo/car/witness.extra", &value).seq, 110);
    assert_int_equal(fixture_latest(&fixture, "demo/car/witness", &record).seq, 210);
    fixture_end(&fixture);
}

static void noise_goes_on_across_plugins(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct witness_record before, after;
    begin(&fixture);
    fixture_step(&fixture, 100);
    (void)srv_change_free(fixture_flip(&fixture, fixture_make_swap(&fixture, WITNESS, "watcher",
                                                                   (struct srv_swap_options){0}))
                              .change);
    fixture_step(&fixture, 2);
    (void)fixture_record(&fixture, "demo/car/witness", 101, &before);
    (void)fixture_record(&fixture, "demo/car/witness", 102, &after);
    const double drawn_102 = after.walk - before.walk;
    fixture_end(&fixture);
    begin(&fixture);
    fixture_step(&fixture, 102);
    (void)fixture_record(&fixture, "demo/car/witness", 101, &before);
    (void)fixture_record(&fixture, "demo/car/witness", 102, &after);
    assert_near(after.walk - before.walk, drawn_102, 1e-12);
    fixture_end(&fixture);
}

static void a_swap_that_stands_its_probation_is_kept(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    struct oto_event_record event;
    const struct srv_swap_options options = {.probation_ns = SECOND_NS / 10};
    begin(&fixture);
    fixture_step(&fixture, 100);
    struct srv_node_change *change = with_params(&fixture, "counter_by_ten", "increment: 10", options);
    const struct srv_reply live = fixture_flip(&fixture, change);
    assert_true(live.settling);
    assert_int_equal(fixture_settle(&fixture, change, 150).status, OTO_OK);
    assert_true(fixture_event(&fixture, OTO_EVENT_SWAP_KEPT, "counter", &event));
    assert_int_equal(event.tick, 200);
    for (uint64_t seq = 1; seq <= 25; seq++) {
        const struct oto_sample_head head = fixture_record(&fixture, "demo/car/count", seq, &record);
        assert_near(record.value, seq <= 10 ? (double)seq : 10.0 + 10.0 * (double)(seq - 10), 0.0);
        assert_int_equal(head.flags & OTO_SAMPLE_PROBATION, seq > 10 && seq <= 20 ? OTO_SAMPLE_PROBATION : 0);
    }
    fixture_end(&fixture);
}

/* What goes wrong at sample 15, in a probation that began after sample 10. */
static void rolls_back(const char *yaml, const char *why, int64_t budget_ns, uint64_t last_of_candidate, uint64_t hash)
{
    struct fixture fixture;
    struct counter_record record;
    struct oto_event_record event;
    const struct srv_swap_options options = {.probation_ns = SECOND_NS, .budget_ns = budget_ns};
    begin(&fixture);
    fixture_step(&fixture, 100);
    struct srv_node_change *change = with_params(&fixture, "counter_by_ten", yaml, options);
    (void)fixture_flip(&fixture, change);
    const struct srv_reply end = fixture_settle(&fixture, change, TICKS - 100);
    assert_int_equal(end.status, OTO_PLUGIN);
    assert_non_null(strstr(end.reason, why));
    assert_true(fixture_event(&fixture, OTO_EVENT_SWAP_ROLLED_BACK, why, &event));
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_SWAPS_ROLLED_BACK), 1);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_QUARANTINED), 0);
    for (uint64_t seq = 1; seq <= TICKS / 10; seq++) {
        const struct oto_sample_head head = fixture_record(&fixture, "demo/car/count", seq, &record);
        const bool tried = seq > 10 && seq <= last_of_candidate;
        assert_int_equal(head.flags, tried ? OTO_SAMPLE_PROBATION : 0);
        assert_near(record.value, tried ? 10.0 + 10.0 * (double)(seq - 10) : (double)seq, 0.0);
    }
    assert_int_equal(hash_of(&fixture), hash);
    fixture_end(&fixture);
}

static void what_fails_on_probation_is_rolled_back_as_if_it_had_never_been(void **unused)
{
    (void)unused;
    const uint64_t hash = undisturbed(TICKS);
    rolls_back("{increment: 10, trouble: nan, at: 15}", "NaN", 0, 14, hash);
    rolls_back("{increment: 10, trouble: error, at: 15}", "an error", 0, 14, hash);
    rolls_back("{increment: 10, trouble: fatal, at: 15}", "fatal", 0, 14, hash);
    rolls_back("{increment: 10, trouble: error, at: 11}", "an error", 0, 10, hash);
    rolls_back("{increment: 10, trouble: slow, slow_ms: 3, at: 15}", "budget", 1000000, 17, hash);
    rolls_back("{increment: 10, trouble: slow, slow_ms: 110, at: 15}", "budget", 1000000, 15, hash); /* one is enough */
}

static void a_changed_floating_point_mode_rolls_back(void **unused)
{
    (void)unused;
#if defined(__x86_64__)
    struct fixture fixture;
    struct witness_record record;
    char path[512];
    struct srv_swap_options options = {.probation_ns = SECOND_NS};
    const uint64_t hash = undisturbed(300);
    begin(&fixture);
    fixture_step(&fixture, 100);
    options.params_path = fixture_params(path, sizeof path, "flip_float_mode_at: 150");
    struct srv_node_change *change = fixture_make_swap(&fixture, WITNESS, "witness_again", options);
    (void)unlink(path);
    (void)fixture_flip(&fixture, change);
    const struct srv_reply end = fixture_settle(&fixture, change, 200);
    assert_int_equal(end.status, OTO_PLUGIN);
    assert_non_null(strstr(end.reason, "floating-point"));
    assert_int_equal(fixture_latest(&fixture, "demo/car/witness", &record).seq, 300);
    assert_int_equal(hash_of(&fixture), hash);
    fixture_end(&fixture);
#endif
}

static void a_probation_may_be_taken_back_on_request(void **unused)
{
    (void)unused;
    struct fixture fixture;
    const uint64_t hash = undisturbed(TICKS);
    const struct srv_swap_options options = {.probation_ns = SECOND_NS};
    begin(&fixture);
    fixture_step(&fixture, 100);
    struct srv_node_change *change = with_params(&fixture, "counter_by_ten", "increment: 10", options);
    (void)fixture_flip(&fixture, change);
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_change(&fixture, COUNT, "increment", "5").status, OTO_CONFLICT);
    assert_int_equal(fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_CANCEL, .node = COUNT}).status,
                     OTO_CONFLICT);
    assert_int_equal(fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_UNDO, .node = COUNT}).status,
                     OTO_OK);
    assert_int_equal(fixture_settle(&fixture, change, TICKS - 200).status, OTO_CLOSED);
    assert_int_equal(hash_of(&fixture), hash);
    assert_int_equal(fixture_change(&fixture, COUNT, "increment", "5").status, OTO_OK);
    fixture_end(&fixture);
}

static void the_way_back_brings_plugin_and_parameters_of_before(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    struct srv_previous previous;
    begin(&fixture);
    assert_int_equal(fixture_change(&fixture, COUNT, "increment", "3").status, OTO_OK);
    fixture_step(&fixture, 100);
    struct srv_node_change *change = with_params(&fixture, "counter_by_ten", "increment: 10", (struct srv_swap_options){0});
    (void)fixture_flip(&fixture, change);
    srv_swap_previous(change, &previous);
    (void)srv_change_free(change);
    fixture_step(&fixture, 100);
    change = fixture_make_swap(&fixture, COUNT, NULL, (struct srv_swap_options){.previous = &previous});
    (void)srv_change_free(fixture_flip(&fixture, change).change);
    srv_previous_finish(&previous);
    fixture_step(&fixture, 100);
    (void)fixture_latest(&fixture, "demo/car/count", &record);
    assert_near(record.value, 30.0 + 100.0 + 30.0, 0.0);
    fixture_end(&fixture);
}

static void a_shadow_tells_the_differences_and_flips(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    char text[600];
    const struct srv_swap_options options = {.shadow_ns = SECOND_NS / 5};
    begin(&fixture);
    fixture_step(&fixture, 100);
    struct srv_node_change *change = with_params(&fixture, "counter_by_ten", "increment: 10", options);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, 250);
    const struct srv_reply reply = fixture_await(&fixture, id);
    assert_int_equal(reply.status, OTO_OK);
    assert_int_equal(reply.tick, 300);
    srv_swap_describe_shadow(change, text, sizeof text);
    assert_non_null(strstr(text, "value max 180 rms")); /* 20 samples, 9 more each */
    (void)srv_change_free(reply.change);
    (void)fixture_record(&fixture, "demo/car/count", 30, &record);
    assert_near(record.value, 30.0, 0.0);
    (void)fixture_record(&fixture, "demo/car/count", 31, &record);
    assert_near(record.value, 10.0 + 210.0, 0.0); /* it continues with the state that it reached in the shadow */
    fixture_end(&fixture);
}

static void ends_in_the_shadow(const char *yaml, double tolerance, enum oto_status wanted, const char *why, bool cancel,
                               uint64_t hash)
{
    struct fixture fixture;
    const struct srv_swap_options options = {
        .shadow_ns = SECOND_NS / 5, .shadow_tolerance = tolerance, .probation_ns = SECOND_NS};
    begin(&fixture);
    fixture_step(&fixture, 100);
    struct srv_node_change *change = with_params(&fixture, "counter_by_ten", yaml, options);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, 50);
    struct srv_node_change *second = fixture_make_swap(&fixture, COUNT, "counter", (struct srv_swap_options){0});
    struct srv_reply reply = fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = second});
    assert_int_equal(reply.status, wanted == OTO_PLUGIN ? OTO_OK : OTO_CONFLICT);
    (void)srv_change_free(reply.change);
    if (cancel) {
        const struct srv_command command = {.kind = SRV_COMMAND_CANCEL, .node = COUNT};
        assert_int_equal(fixture_command(&fixture, command).status, OTO_OK);
    }
    fixture_step(&fixture, TICKS - 150);
    reply = fixture_await(&fixture, id);
    assert_int_equal(reply.status, wanted);
    assert_non_null(strstr(reply.reason, why));
    (void)srv_change_free(reply.change);
    assert_int_equal(hash_of(&fixture), hash);
    fixture_end(&fixture);
}

static void a_shadow_that_ends_badly_leaves_no_trace(void **unused)
{
    (void)unused;
    const uint64_t hash = undisturbed(TICKS);
    ends_in_the_shadow("increment: 1.5", 0.75, OTO_RANGE, "tolerance", false, hash);
    ends_in_the_shadow("increment: 10", 0.0, OTO_CLOSED, "cancelled", true, hash);
    ends_in_the_shadow("{trouble: error, at: 12}", 0.0, OTO_PLUGIN, "an error", false, hash);
    ends_in_the_shadow("{trouble: nan, at: 12}", 0.0, OTO_PLUGIN, "NaN", false, hash);
}

static void the_next_swap_ends_the_probation_of_the_last(void **unused)
{
    (void)unused;
    struct fixture fixture;
    const struct srv_swap_options options = {.probation_ns = SECOND_NS};
    begin(&fixture);
    struct srv_node_change *first = fixture_make_swap(&fixture, COUNT, "counter", options);
    (void)fixture_flip(&fixture, first);
    struct srv_node_change *second = fixture_make_swap(&fixture, COUNT, "counter", options);
    (void)fixture_flip(&fixture, second);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SETTLE, .change = first});
    struct srv_reply reply = fixture_await(&fixture, id);
    assert_int_equal(reply.status, OTO_OK);
    (void)srv_change_free(reply.change);
    assert_int_equal(fixture_settle(&fixture, second, 1000).status, OTO_OK);
    fixture_end(&fixture);
}

/* On a busy machine the candidate of the second swap is ready only after the probation of the first. */
static void a_swap_that_was_made_during_a_probation_may_begin_after_it(void **unused)
{
    (void)unused;
    struct fixture fixture;
    const struct srv_swap_options options = {.probation_ns = SECOND_NS / 10};
    begin(&fixture);
    struct srv_node_change *first = fixture_make_swap(&fixture, COUNT, "counter", options);
    (void)fixture_flip(&fixture, first);
    struct srv_node_change *second = fixture_make_swap(&fixture, COUNT, "counter", options);
    assert_int_equal(fixture_settle(&fixture, first, 150).status, OTO_OK);
    (void)fixture_flip(&fixture, second);
    assert_int_equal(fixture_settle(&fixture, second, 150).status, OTO_OK);
    struct srv_node_change *third = fixture_make_swap(&fixture, COUNT, "counter", options);
    (void)fixture_flip(&fixture, third);
    assert_int_equal(fixture_settle(&fixture, third, 150).status, OTO_OK);
    fixture_end(&fixture);
}

static void a_probation_that_nobody_asked_about_is_not_leaked(void **unused)
{
    (void)unused;
    struct fixture fixture;
    const struct srv_swap_options options = {.probation_ns = SECOND_NS / 10};
    begin(&fixture);
    (void)fixture_flip(&fixture, fixture_make_swap(&fixture, COUNT, "counter", options));
    fixture_step(&fixture, 200);
    (void)fixture_flip(&fixture, fixture_make_swap(&fixture, COUNT, "counter", options));
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_plugin_of_the_same_record_takes_the_place),
        cmocka_unit_test(noise_goes_on_across_plugins),
        cmocka_unit_test(a_swap_that_stands_its_probation_is_kept),
        cmocka_unit_test(what_fails_on_probation_is_rolled_back_as_if_it_had_never_been),
        cmocka_unit_test(a_changed_floating_point_mode_rolls_back),
        cmocka_unit_test(a_probation_may_be_taken_back_on_request),
        cmocka_unit_test(the_way_back_brings_plugin_and_parameters_of_before),
        cmocka_unit_test(a_shadow_tells_the_differences_and_flips),
        cmocka_unit_test(a_shadow_that_ends_badly_leaves_no_trace),
        cmocka_unit_test(the_next_swap_ends_the_probation_of_the_last),
        cmocka_unit_test(a_swap_that_was_made_during_a_probation_may_begin_after_it),
        cmocka_unit_test(a_probation_that_nobody_asked_about_is_not_leaked),
    };
    return cmocka_run_group_tests_name("engine swap", tests, NULL, NULL);
}
