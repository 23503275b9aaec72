#include "swap_world.h"

void swap_world_make(struct fixture *fixture, bool isolated, bool async)
{
    static const char *const groups[] = {"lab", "lab", "alone"};
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    (void)fixture_sensor(fixture, "count", "counter", 100, 1);
    fixture_set(fixture_sensor(fixture, "witness", "witness", 1000, 1), "delay_ms", "7.7");
    (void)fixture_sensor(fixture, "harm", "hostile_step_nothing", 200, 1);
    for (uint32_t i = 0; i < 3; i++) {
        struct srv_isolation_config *isolation = &fixture->nodes[COUNT + i].isolation;
        isolation->process = isolated;
        isolation->async = async;
        (void)snprintf(isolation->group, sizeof isolation->group, "%s", groups[i]);
    }
}

void swap_world_begin(struct fixture *fixture, bool isolated, bool async)
{
    swap_world_make(fixture, isolated, async);
    fixture_start(fixture);
}

uint64_t swap_world_hash(struct fixture *fixture)
{
    return fixture_clock(fixture).state_hash;
}

uint64_t swap_world_undisturbed(bool async)
{
    struct fixture fixture;
    swap_world_begin(&fixture, true, async);
    fixture_step(&fixture, TICKS);
    const uint64_t hash = swap_world_hash(&fixture);
    fixture_end(&fixture);
    return hash;
}

void swap_world_wait_told(struct fixture *fixture, const char *words)
{
    struct oto_event_record event;
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while (!fixture_event(fixture, OTO_EVENT_PLUGIN_HOST, words, &event)) {
        if (fixture_now_ns() > deadline_ns) {
            fail_msg("no event said '%s'", words);
        }
        fixture_step(fixture, 1);
    }
}

struct srv_node_change *swap_world_with_params(struct fixture *fixture, const char *yaml, struct srv_swap_options options)
{
    char path[512];
    options.params_path = fixture_params(path, sizeof path, yaml);
    struct srv_node_change *change = fixture_make_swap(fixture, COUNT, "counter_by_ten", options);
    (void)unlink(path);
    return change;
}

/* No sample is missing, none is stale, none carries another's number. */
static void assert_whole(struct fixture *fixture, const char *topic, uint64_t samples)
{
    struct witness_record largest; /* of the records here */
    assert_int_equal(fixture_latest(fixture, topic, &largest).seq, samples);
    for (uint64_t seq = samples > 50 ? samples - 50 : 1; seq <= samples; seq++) {
        const struct oto_sample_head head = fixture_record(fixture, topic, seq, &largest);
        assert_int_equal(head.flags & OTO_SAMPLE_STALE, 0);
        const struct oto_sample_head before = seq > 1 ? fixture_record(fixture, topic, seq - 1, &largest) : head;
        assert_true(seq == 1 || head.t_ns > before.t_ns);
    }
}

void swap_world_assert_whole(struct fixture *fixture)
{
    const bool async = fixture_host(fixture, "lab").async; /* the last samples are published in the next tick */
    assert_whole(fixture, "demo/car/count", TICKS / 10 - async);
    assert_whole(fixture, "demo/car/witness", TICKS - async);
    assert_whole(fixture, "demo/car/harm", TICKS / 5 - async);
    assert_int_equal(fixture_counter(fixture, OTO_COUNTER_STALE), 0);
    assert_int_equal(fixture_counter(fixture, OTO_COUNTER_QUARANTINED), 0);
}
