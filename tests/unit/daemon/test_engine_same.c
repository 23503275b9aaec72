/* One world, one seed: the same hash chain whatever paces it, watches it or changes nothing in it (A3, A19). */
#include "fixture.h"
#include "plain_swap.h"

#include <pthread.h>

#define TICKS 3000

static void begin(struct fixture *fixture)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    (void)fixture_sensor(fixture, "witness", "witness", 200, 1);
    fixture_set(fixture_sensor(fixture, "odd", "witness", 300, 1), "delay_ms", "12.5");
    fixture_vehicle(fixture, "van", "circle_tick_only");
    fixture_set(fixture_sensor(fixture, "late", "witness", 1000, 1), "delay_ms", "7.7");
    (void)fixture_sensor(fixture, "count", "counter", 60000, 1001);
    fixture->config.clock.until_ns = TICKS * INT64_C(1000000);
}

static uint64_t finish(struct fixture *fixture)
{
    fixture_wait_state(fixture, OTO_SERVER_ENDED);
    const struct oto_clock clock = fixture_clock(fixture);
    assert_int_equal(clock.tick, TICKS);
    fixture_end(fixture);
    return clock.state_hash;
}

static uint64_t run(enum oto_clock_mode mode, enum srv_driver driver, double scale)
{
    struct fixture fixture;
    begin(&fixture);
    fixture.config.clock.mode = mode;
    fixture.config.clock.driver = driver;
    fixture.config.clock.scale = scale;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    if (mode == OTO_MODE_STEP) {
        fixture_step(&fixture, 1);
        fixture_step(&fixture, 998);
        fixture_step(&fixture, TICKS - 999);
    }
    return finish(&fixture);
}

static uint64_t reference(void)
{
    return run(OTO_MODE_ASAP, SRV_DRIVER_UV, 1.0);
}

static void every_mode_and_driver_gives_the_same_hash_chain(void **unused)
{
    (void)unused;
    const uint64_t hash = reference();
    assert_int_not_equal(hash, 0);
    assert_int_equal(run(OTO_MODE_ASAP, SRV_DRIVER_UV, 1.0), hash);
    assert_int_equal(run(OTO_MODE_STEP, SRV_DRIVER_UV, 1.0), hash);
    assert_int_equal(run(OTO_MODE_REALTIME, SRV_DRIVER_UV, 20.0), hash);
    assert_int_equal(run(OTO_MODE_REALTIME, SRV_DRIVER_HYBRID, 3.0), hash);
    assert_int_equal(run(OTO_MODE_REALTIME, SRV_DRIVER_UV, 1000.0), hash);
}

/* Known once: whatever changes it (a compiler, a level of optimisation, a machine) has changed a result. */
#define KNOWN_CHAIN UINT64_C(0xa623706997e8bea8)

static void the_hash_chain_is_the_known_one_however_it_was_compiled(void **unused)
{
    (void)unused;
    const uint64_t hash = reference();
    if (hash != KNOWN_CHAIN) {
        fail_msg("the hash chain is %016llx, known is %016llx", (unsigned long long)hash,
                 (unsigned long long)KNOWN_CHAIN);
    }
}

static void another_seed_or_parameter_gives_another_chain(void **unused)
{
    (void)unused;
    struct fixture fixture;
    const uint64_t hash = reference();
    begin(&fixture);
    fixture.config.seed--;
    fixture.config.clock.mode = OTO_MODE_ASAP;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    assert_int_not_equal(finish(&fixture), hash);
    begin(&fixture);
    fixture_set(&fixture.nodes[1], "gain", "1.0000000000000002");
    fixture.config.clock.mode = OTO_MODE_ASAP;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    assert_int_not_equal(finish(&fixture), hash);
}

/* A world in which everything changes: vibration, air, the turning Earth, a field that follows the place. */
static uint64_t run_changing(enum oto_clock_mode mode, double scale)
{
    struct srv_table_row temperatures[] = {{0, 20, 10, 0}, {3, 50, 0, 105}}, speeds[] = {{0, 600, 800, 0}, {3, 3000, 0, 5400}};
    struct srv_vibration_line lines[] = {
        {37.5, {1, 2, 3}, {0.5, 0, -1}, {0.01, 0, 0}, {0, 0.02, 0}},
        {2, {0, 0, 1}, {0, 0, 0}, {0, 0, 0.003}, {0, 0, 0}},
    };
    struct srv_vibration_source sources[] = {
        {.turns = true, .first_line = 0, .line_count = 1},
        {.is_engine = true, .turns = true, .reference_rpm = 2000, .rpm_along_time = {0, 2, speeds}, .first_line = 1, .line_count = 1},
    };
    struct fixture fixture;
    begin(&fixture);
    struct srv_environment_config *environment = &fixture.config.environment;
    environment->gravity_wgs84 = true;
    environment->earth_rate = true;
    environment->air_follows_altitude = true;
    environment->field_follows_place = true;
    environment->mag_field_change.first_ut_m[1] = 1e-5;
    environment->mag_field_change.second_ut_m2[3] = oto_vec3_make(1e-9, -2e-9, 0);
    environment->temperature_along_time_degc = (struct srv_table){0, 2, temperatures};
    fixture.vehicles[0].vibration = (struct srv_vibration){.source_count = 2, .line_count = 2, .sources = sources, .lines = lines};
    fixture.vehicles[1].vibration = (struct srv_vibration){.source_count = 1, .line_count = 2, .sources = sources, .lines = lines};
    fixture.config.clock.mode = mode;
    fixture.config.clock.scale = scale;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    if (mode == OTO_MODE_STEP) {
        fixture_step(&fixture, 7);
        fixture_step(&fixture, TICKS - 7);
    }
    return finish(&fixture);
}

#define KNOWN_CHANGING_CHAIN UINT64_C(0x3494e760c12cb50b)

static void a_world_that_shakes_warms_and_turns_gives_the_known_chain_in_every_mode(void **unused)
{
    (void)unused;
    const uint64_t hash = run_changing(OTO_MODE_ASAP, 1.0);
    assert_int_equal(run_changing(OTO_MODE_STEP, 1.0), hash);
    assert_int_equal(run_changing(OTO_MODE_REALTIME, 100.0), hash);
    assert_int_not_equal(hash, reference());
    if (hash != KNOWN_CHANGING_CHAIN) {
        fail_msg("the hash chain is %016llx, known is %016llx", (unsigned long long)hash,
                 (unsigned long long)KNOWN_CHANGING_CHAIN);
    }
}

struct reading {
    const struct oto_segment_header *header;
    const struct oto_segment_channel *directory;
    uint32_t channel_count;
    uint32_t stop;
};

static void *read_everything(void *argument)
{
    struct reading *reading = argument;
    unsigned char payload[OTO_RECORD_MAX_BYTES];
    struct oto_sample_head head;
    struct oto_clock clock;
    while (__atomic_load_n(&reading->stop, __ATOMIC_ACQUIRE) == 0) {
        for (uint32_t i = 0; i < reading->channel_count; i++) {
            const struct oto_ring_view view = oto_ring_view_make(reading->header, &reading->directory[i]);
            (void)oto_ring_latest(&view, &head, payload);
        }
        (void)oto_segment_clock(reading->header, &clock);
    }
    return NULL;
}

static void readers_change_nothing(void **unused)
{
    (void)unused;
    const uint64_t hash = reference();
    struct fixture fixture;
    pthread_t threads[2];
    begin(&fixture);
    fixture.config.clock.mode = OTO_MODE_ASAP;
    fixture_start(&fixture);
    const struct oto_segment_header *header = srv_engine_segment(fixture.engine);
    struct reading reading = {header, (const void *)((const char *)header + header->directory_offset),
                              header->channel_count, 0};
    srv_engine_set_waiters(fixture.engine, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_everything, &reading), 0);
    }
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_OK);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    __atomic_store_n(&reading.stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(finish(&fixture), hash);
}

static void pauses_scales_and_changes_of_mode_change_nothing(void **unused)
{
    (void)unused;
    const uint64_t hash = reference();
    struct fixture fixture;
    begin(&fixture);
    fixture.config.clock.scale = 2.0; /* the run must not end before a command, also on a slow machine */
    fixture_start(&fixture);
    fixture_step(&fixture, 17);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_OK);
    fixture_wait_tick(&fixture, 100);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_PAUSE).status, OTO_OK);
    fixture_step(&fixture, 10);
    assert_int_equal(
        fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_SCALE, .scale = 1.0}).status, OTO_OK);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_OK);
    fixture_wait_tick(&fixture, 500);
    assert_int_equal(
        fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_MODE, .mode = OTO_MODE_ASAP}).status, OTO_OK);
    assert_int_equal(finish(&fixture), hash);
}

static void a_swap_to_identical_code_changes_nothing(void **unused)
{
    (void)unused;
    const uint64_t hash = reference();
    struct fixture fixture;
    struct witness_record record;
    begin(&fixture);
    fixture.config.clock.mode = OTO_MODE_STEP;
    fixture_start(&fixture);
    fixture_step(&fixture, 500);
    assert_int_equal(fixture_swap(&fixture, 1, "witness_again").status, OTO_OK);
    assert_int_equal(fixture_swap(&fixture, 2, "witness").status, OTO_OK);
    assert_int_equal(fixture_swap(&fixture, 0, "circle").status, OTO_OK);
    fixture_step(&fixture, 500);
    assert_int_equal(fixture_swap(&fixture, 1, "witness").status, OTO_OK);
    fixture_step(&fixture, TICKS - 1000);
    assert_int_equal(fixture_latest(&fixture, "demo/car/witness", &record).seq, TICKS / 5); /* no gap */
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_SWAPS), 4);
    assert_int_equal(finish(&fixture), hash);
}

static void a_change_that_is_refused_changes_nothing(void **unused)
{
    (void)unused;
    const uint64_t hash = reference();
    struct fixture fixture;
    struct oto_error error = {0};
    struct srv_node_change *change = NULL;
    char path[512];
    begin(&fixture);
    fixture.config.clock.mode = OTO_MODE_STEP;
    fixture_start(&fixture);
    fixture_step(&fixture, 500);
    assert_int_not_equal(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 1, "gain", "loud", &change, &error), OTO_OK);
    assert_int_not_equal(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 1, "gane", "1", &change, &error), OTO_OK);
    assert_int_not_equal(
        make_plain_swap(fixture.engine, 1, fixture_plugin(path, sizeof path, "counter"), &change, &error), OTO_OK);
    assert_null(change);
    fixture_step(&fixture, TICKS - 500);
    assert_int_equal(finish(&fixture), hash);
}

static void a_node_does_not_hear_its_neighbours(void **unused)
{
    (void)unused;
    struct witness_record with, without;
    struct fixture fixture;
    begin(&fixture);
    fixture_start(&fixture);
    fixture_step(&fixture, 400);
    (void)fixture_latest(&fixture, "demo/car/odd", &with);
    fixture_end(&fixture);
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    fixture_set(fixture_sensor(&fixture, "odd", "witness", 300, 1), "delay_ms", "12.5");
    fixture_start(&fixture);
    fixture_step(&fixture, 400);
    (void)fixture_latest(&fixture, "demo/car/odd", &without);
    fixture_end(&fixture);
    assert_memory_equal(&with, &without, sizeof with);
}

/* ---- the noise of one sensor is its own -------------------------------------------------------------------------- */

enum { COMPANY_ALONE, COMPANY_BEFORE, COMPANY_BEHIND, COMPANY_SLOWER, COMPANY_FASTER, COMPANIES };

static void company(struct fixture *fixture, int kind)
{
    struct srv_node_config *other = fixture_sensor(fixture, "other", "mems_imu", 1000, 1);
    fixture_set(other, "accelerometer.noise_density_m_s2_rthz", "0.02");
    fixture_set(other, "gyroscope.random_walk_rad_s_rthz", "0.02");
    other->rate_num = kind == COMPANY_SLOWER ? 130 : kind == COMPANY_FASTER ? 4000 : 1000;
}

/* The records of demo/car/imu, all of a second of them. */
static void record_imu(int kind, struct oto_imu_record *records)
{
    struct fixture fixture;
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    if (kind == COMPANY_BEFORE || kind == COMPANY_FASTER) {
        company(&fixture, kind);
    }
    struct srv_node_config *imu = fixture_sensor(&fixture, "imu", "mems_imu", 500, 1);
    fixture_set(imu, "accelerometer.noise_density_m_s2_rthz", "0.002");
    fixture_set(imu, "accelerometer.bias_instability_m_s2", "0.001");
    fixture_set(imu, "accelerometer.turn_on_bias_m_s2", "0.1");
    fixture_set(imu, "gyroscope.random_walk_rad_s_rthz", "0.0001");
    if (kind == COMPANY_BEHIND || kind == COMPANY_SLOWER) {
        company(&fixture, kind);
    }
    fixture.config.clock.mode = OTO_MODE_STEP;
    fixture_start(&fixture);
    fixture_step(&fixture, 1000);
    for (uint64_t seq = 1; seq <= 500; seq++) {
        (void)fixture_record(&fixture, "demo/car/imu", seq, &records[seq - 1]);
    }
    fixture_end(&fixture);
}

static void a_sensor_is_the_same_to_the_bit_with_another_added_removed_or_at_another_rate(void **unused)
{
    static struct oto_imu_record alone[500], here[500];
    (void)unused;
    record_imu(COMPANY_ALONE, alone);
    assert_memory_not_equal(&alone[0], &alone[1], sizeof alone[0]);
    for (int kind = COMPANY_BEFORE; kind < COMPANIES; kind++) {
        record_imu(kind, here);
        assert_memory_equal(here, alone, sizeof alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_and_driver_gives_the_same_hash_chain),
        cmocka_unit_test(a_sensor_is_the_same_to_the_bit_with_another_added_removed_or_at_another_rate),
        cmocka_unit_test(the_hash_chain_is_the_known_one_however_it_was_compiled),
        cmocka_unit_test(a_world_that_shakes_warms_and_turns_gives_the_known_chain_in_every_mode),
        cmocka_unit_test(another_seed_or_parameter_gives_another_chain),
        cmocka_unit_test(readers_change_nothing),
        cmocka_unit_test(pauses_scales_and_changes_of_mode_change_nothing),
        cmocka_unit_test(a_swap_to_identical_code_changes_nothing),
        cmocka_unit_test(a_change_that_is_refused_changes_nothing),
        cmocka_unit_test(a_node_does_not_hear_its_neighbours),
    };
    return cmocka_run_group_tests_name("engine is deterministic", tests, NULL, NULL);
}
