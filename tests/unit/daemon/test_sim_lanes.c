/* A world whose vehicles are advanced in lanes has the samples, events, counters and chain of one lane. */
#include "oto_test.h"

#include "daemon/thread/workers.h"
#include "sim/sim.h"

#define TICKS 400u

/* Faults begin and end in all vehicles at once, estimators read their own vehicle, the last car is another's. */
static const char world[] =
    "world: w\nseed: 3\nclock: {rate_hz: 1000, mode: asap}\nhistory_s: 1\nvehicles:\n"
    "- name: car\n  count: 129\n  motion: {plugin: motion_script, params: {generate: city}}\n  nodes:\n"
    "  - {name: imu, plugin: mems_imu, rate_hz: 500, part: tdk/icm-42688-p, unit: '{i}',\n"
    "     faults: [{kind: dropout, at_s: 0.1, for_s: 0.05}, {kind: bias, value: 0.1, at_s: 0.2, for_s: 0.1}]}\n"
    "  - {name: odo, plugin: odometer, rate_hz: 100}\n"
    "  - {name: cal, plugin: mount_calibration, rate_hz: 50, inputs: {imu: imu, speed: odo}}\n"
    "- {name: solo, motion: {plugin: motion_script}, nodes: [{name: imu, plugin: mems_imu, rate_hz: 1000%s}]}\n";

struct outcome {
    uint64_t chain, records, events;
    uint32_t lanes;
};

typedef void run_lanes_function(void *context, void (*work)(void *work_context, uint32_t lane), void *work_context, uint32_t lanes);

static void run_backwards(void *context, void (*work)(void *work_context, uint32_t lane), void *work_context, uint32_t lanes)
{
    (void)context;
    while (lanes > 0) {
        work(work_context, --lanes);
    }
}

static void run_on_workers(void *context, void (*work)(void *work_context, uint32_t lane), void *work_context, uint32_t lanes)
{
    srv_workers_run(context, work, work_context, lanes);
}

static void nothing(void *context)
{
    (void)context;
}

/* What every ring holds. */
static uint64_t hash_of_records(const struct srv_sim *sim, uint64_t *events)
{
    uint64_t hash = 1;
    for (uint32_t c = 0; c < sim->channel_count; c++) {
        const struct oto_segment_channel *channel = &sim->store.directory[c];
        const struct oto_ring_view view = oto_ring_view_make(sim->store.header, channel);
        struct oto_cursor cursor = {.next = 1, .lost = 0};
        struct oto_sample_head head;
        uint64_t record[OTO_RECORD_MAX_BYTES / 8];
        while (oto_ring_next(&view, &cursor, &head, record) == OTO_OK) {
            struct srv_state_hash one;
            srv_state_hash_begin(&one, hash);
            srv_state_hash_absorb(&one, &head, sizeof head);
            srv_state_hash_absorb(&one, record, channel->payload_bytes);
            hash = srv_state_hash_end(&one);
            *events += c == sim->event_channel;
        }
    }
    return hash;
}

static struct outcome run(const char *more, uint32_t lanes, run_lanes_function *run_lanes, void *context)
{
    char text[2048];
    struct srv_world_config config;
    struct srv_sim *sim = NULL;
    struct oto_error error = {0};
    const struct srv_world_source source = {.text = text};
    const struct srv_sim_options options = {
        .hooks = {.context = context, .run_lanes = run_lanes}, .lanes = lanes, .make_store = srv_store_make_heap};
    (void)snprintf(text, sizeof text, world, more);
    assert_ok(srv_world_config_load(&source, NULL, NULL, &config, &error), error);
    assert_ok(srv_sim_create(&config, &options, NULL, NULL, &sim, &error), error);
    assert_ok(srv_sim_begin(sim, &error), error);
    for (uint32_t i = 0; i < TICKS; i++) {
        srv_sim_tick(sim);
    }
    struct outcome outcome = {.chain = sim->chain, .lanes = srv_lanes_count(sim->lanes)};
    outcome.records = hash_of_records(sim, &outcome.events);
    struct srv_store store = sim->store;
    srv_sim_destroy(sim);
    srv_store_free_heap(&store);
    srv_world_config_finish(&config);
    return outcome;
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
    assert_int_equal(a->chain, b->chain);
    assert_int_equal(a->records, b->records);
    assert_int_equal(a->events, b->events);
}

static void lanes_in_any_order_give_the_bits_of_one(void **unused)
{
    (void)unused;
    const struct outcome one = run("", 1, run_backwards, NULL);
    assert_int_equal(one.lanes, 1);
    assert_true(one.events >= 4 * 129);
    for (uint32_t lanes = 2; lanes <= 5; lanes++) {
        const struct outcome many = run("", lanes, run_backwards, NULL);
        assert_int_equal(many.lanes, lanes);
        assert_same(&many, &one);
    }
}

static void workers_give_the_bits_of_one(void **unused)
{
    (void)unused;
    const struct outcome one = run("", 1, NULL, NULL);
    for (uint32_t threads = 2; threads <= 4; threads++) {
        struct srv_workers *workers = NULL;
        struct oto_error error = {0};
        assert_ok(srv_workers_start(threads - 1, nothing, NULL, &workers, &error), error);
        const struct outcome many = run("", threads, run_on_workers, workers);
        srv_workers_stop(workers);
        assert_same(&many, &one);
    }
}

static void an_estimator_of_another_vehicle_gets_its_samples_too(void **unused)
{
    static const char across[] = "}, {name: cal, plugin: mount_calibration, rate_hz: 50, inputs: {imu: car_0000/imu, speed: car_0128/odo}";
    (void)unused;
    const struct outcome one = run(across, 1, NULL, NULL), many = run(across, 3, run_backwards, NULL);
    assert_same(&many, &one);
}

static void a_small_world_has_one_lane(void **unused)
{
    struct srv_world_config config = {.vehicle_count = 1};
    (void)unused;
    assert_int_equal(srv_workers_wanted(&config), 1);
    config.vehicle_count = 1000;
    config.clock.mode = OTO_MODE_REALTIME;
    assert_int_equal(srv_workers_wanted(&config), 1);
    config.threads = 3;
    assert_int_equal(srv_workers_wanted(&config), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_in_any_order_give_the_bits_of_one),
        cmocka_unit_test(workers_give_the_bits_of_one),
        cmocka_unit_test(an_estimator_of_another_vehicle_gets_its_samples_too),
        cmocka_unit_test(a_small_world_has_one_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
