/* otolith/sim.h: worlds in this process. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oto_test.h"

#include "otolith/mailbox.h"
#include "otolith/sim.h"

#define FLEET OTO_SOURCE_DIR "/configs/worlds/fleet.yaml"
#define CITY OTO_SOURCE_DIR "/configs/worlds/city_drive.yaml"

static struct oto_sim *open_world(const char *path, const char *const *overrides, uint32_t count)
{
    const struct oto_sim_options options = {
        .size = sizeof options, .path = path, .overrides = overrides, .override_count = count};
    struct oto_error error = {0};
    struct oto_sim *sim = NULL;
    assert_ok(oto_sim_open(&options, &sim, &error), error);
    return sim;
}

static void step(struct oto_sim *sim, uint64_t ticks)
{
    struct oto_error error = {0};
    assert_ok(oto_sim_step(sim, ticks, &error), error);
}

static uint32_t channel_of(const struct oto_sim *sim, const char *topic)
{
    struct oto_sim_channel channel;
    struct oto_error error = {0};
    assert_ok(oto_sim_channel(sim, topic, &channel, &error), error);
    return channel.index;
}

static void two_worlds_side_by_side_are_equal_and_independent(void **unused)
{
    struct oto_sim *a = open_world(CITY, NULL, 0), *b = open_world(CITY, NULL, 0);
    (void)unused;
    step(a, 500);
    for (int i = 0; i < 50; i++) {
        step(b, 10);
    }
    assert_int_equal(oto_sim_tick(b), 500);
    assert_int_equal(oto_sim_time_ns(b), 500000000);
    assert_int_equal(oto_sim_state_hash(a), oto_sim_state_hash(b));
    oto_sim_close(a);
    step(b, 1);
    oto_sim_close(b);
}

/* Every record of a vehicle in a part of a world is that of the whole. */
static void a_part_of_a_fleet_has_the_bits_of_the_whole(void **unused)
{
    static const char *const fleet[] = {"vehicles.car.count=6", "clock.rate_hz=200", "vehicles.car.nodes.imu.rate_hz=200"};
    static const char *const shards[][4] = {
        {"vehicles.car.count=6", "clock.rate_hz=200", "vehicles.car.nodes.imu.rate_hz=200", "only=car_000[0-3]"},
        {"vehicles.car.count=6", "clock.rate_hz=200", "vehicles.car.nodes.imu.rate_hz=200", "only=car_0004,car_0005"}};
    struct oto_sim *whole = open_world(FLEET, fleet, 3);
    uint32_t compared = 0;
    (void)unused;
    step(whole, 300);
    for (int i = 0; i < 2; i++) {
        struct oto_sim *part = open_world(FLEET, shards[i], 4);
        step(part, 300);
        for (uint32_t c = 0; c < oto_sim_channel_count(part); c++) {
            static unsigned char a[300][4096], b[300][4096];
            struct oto_sim_channel channel;
            struct oto_error error = {0};
            assert_ok(oto_sim_channel_at(part, c, &channel, &error), error);
            const size_t count = oto_sim_read_samples(part, c, a, 300, NULL);
            if ((channel.flags & OTO_CHANNEL_EVENTS) == 0) {
                assert_int_equal(oto_sim_read_samples(whole, channel_of(whole, channel.topic), b, 300, NULL), count);
                assert_memory_equal(a, b, count * (sizeof(struct oto_sample_head) + channel.type->bytes));
                compared += count == 300;
            }
        }
        oto_sim_close(part);
    }
    assert_int_equal(compared, 12); /* truth and IMU of six cars */
    oto_sim_close(whole);
}

static void records_are_read_once_and_lost_ones_are_counted_exactly(void **unused)
{
    struct oto_sim *sim = open_world(CITY, NULL, 0);
    struct oto_sim_channel imu;
    struct oto_error error = {0};
    struct oto_sample_head heads[8];
    struct oto_imu_record records[8];
    uint64_t lost = 9;
    (void)unused;
    assert_ok(oto_sim_channel(sim, "car/imu", &imu, &error), error);
    assert_string_equal(imu.topic, "demo/car/imu");
    assert_int_equal(imu.type->bytes, sizeof records[0]);
    step(sim, 30); /* 200 Hz of 1000 */
    assert_int_equal(oto_sim_unread(sim, imu.index, &lost), 6);
    assert_int_equal(oto_sim_read(sim, imu.index, heads, records, 4, &lost), 4);
    assert_int_equal(lost, 0);
    assert_int_equal(heads[0].seq, 1);
    assert_int_equal(heads[3].t_ns, 20000000);
    assert_int_equal(oto_sim_read(sim, imu.index, heads, records, 8, &lost), 2);
    assert_int_equal(heads[1].seq, 6);
    assert_int_equal(oto_sim_read(sim, imu.index, heads, records, 8, &lost), 0);
    step(sim, 5 * (uint64_t)imu.capacity + 50);
    assert_int_equal(oto_sim_unread(sim, imu.index, &lost), imu.capacity);
    assert_int_equal(lost, 10);
    assert_int_equal(oto_sim_read(sim, imu.index, heads, NULL, 1, &lost), 1);
    assert_int_equal(lost, 10);
    assert_int_equal(heads[0].seq, 17);
    oto_sim_close(sim);
}

static void samples_are_heads_and_records_side_by_side(void **unused)
{
    struct oto_sim *sim = open_world(CITY, NULL, 0), *other = open_world(CITY, NULL, 0);
    struct oto_sample_head heads[6];
    struct oto_imu_record records[6];
    struct {
        struct oto_sample_head head;
        struct oto_imu_record record;
    } samples[6];
    uint64_t lost = 9;
    (void)unused;
    const uint32_t imu = channel_of(sim, "car/imu");
    step(sim, 30);
    step(other, 30);
    assert_int_equal(oto_sim_read(sim, imu, heads, records, 6, NULL), 6);
    assert_int_equal(oto_sim_read_samples(other, imu, samples, 4, &lost), 4);
    assert_int_equal(oto_sim_read_samples(other, imu, &samples[4], 4, &lost), 2);
    assert_int_equal(lost, 0);
    for (int i = 0; i < 6; i++) {
        assert_memory_equal(&samples[i].head, &heads[i], sizeof heads[i]);
        assert_memory_equal(&samples[i].record, &records[i], sizeof records[i]);
    }
    oto_sim_close(sim);
    oto_sim_close(other);
}

static void a_reset_world_is_one_that_was_opened_with_that_seed(void **unused)
{
    static const char *const seven[] = {"seed=7"};
    struct oto_sim *reset = open_world(CITY, NULL, 0), *opened = open_world(CITY, seven, 1);
    struct oto_error error = {0};
    (void)unused;
    step(reset, 777);
    assert_ok(oto_sim_reset(reset, 7, &error), error);
    assert_int_equal(oto_sim_tick(reset), 0);
    assert_int_equal(oto_sim_unread(reset, channel_of(reset, "car/imu"), NULL), 0);
    assert_int_equal(oto_sim_state_hash(reset), oto_sim_state_hash(opened));
    step(reset, 1234);
    step(opened, 1234);
    assert_int_equal(oto_sim_state_hash(reset), oto_sim_state_hash(opened));
    assert_int_equal(oto_sim_unread(reset, channel_of(reset, "car/mag"), NULL),
                     oto_sim_unread(opened, channel_of(opened, "car/mag"), NULL));
    /* also after a change of parameters and a swap */
    assert_ok(oto_sim_set(reset, "car/imu", "gyroscope.constant_bias_rad_s", "[0, 0, 0.01]", &error), error);
    const struct oto_swap swap = {.size = sizeof swap, .plugin = "sdf_imu"};
    assert_ok(oto_sim_swap(reset, "car/imu", &swap, &error), error);
    step(reset, 10);
    assert_ok(oto_sim_reset(reset, 7, &error), error);
    assert_ok(oto_sim_reset(opened, 7, &error), error);
    step(reset, 300);
    step(opened, 300);
    assert_int_equal(oto_sim_state_hash(reset), oto_sim_state_hash(opened));
    oto_sim_close(reset);
    oto_sim_close(opened);
}

/* A sensor feels what shakes its vehicle, and a seed is the whole seed however it came. */
static void copy_odometer(int to)
{
    char part[4096];
    FILE *from = fopen(OTO_TEST_ODOMETER, "rb");
    assert_non_null(from);
    for (size_t bytes = 1; bytes > 0;) {
        bytes = fread(part, 1, sizeof part, from);
        assert_int_equal(write(to, part, bytes), bytes);
    }
    (void)fclose(from);
}

/* The plugin's file is emptied before the world is opened again: a program that reads it fails. */
static void a_world_that_is_opened_again_keeps_its_plugins_and_takes_the_new_parameters(void **unused)
{
    char path[] = "/tmp/otolith-test-XXXXXX.so", plugin[128];
    (void)unused;
    const int file = mkstemps(path, 3);
    assert_true(file >= 0);
    copy_odometer(file);
    (void)snprintf(plugin, sizeof plugin, "vehicles.car.nodes.odo.plugin=%s", path);
    const char *const first[] = {plugin}, *const second[] = {plugin, "vehicles.car.nodes.odo.params.scale_error_percent=3"};
    const char *const refused[] = {"vehicles.car.nodes.odo.params.no_such_key=3"};
    struct oto_sim_options options = {.size = sizeof options, .path = CITY, .overrides = first, .override_count = 1};
    struct oto_error error = {0};
    struct oto_sim *fresh = open_world(CITY, second, 2), *sim = NULL;
    assert_ok(oto_sim_reopen(&options, &sim, &error), error); /* NULL: as oto_sim_open */
    step(sim, 300);
    assert_int_equal(ftruncate(file, 0), 0);
    options.overrides = second;
    options.override_count = 2;
    assert_ok(oto_sim_reopen(&options, &sim, &error), error);
    step(sim, 300);
    step(fresh, 300);
    assert_int_equal(oto_sim_state_hash(sim), oto_sim_state_hash(fresh));
    options.overrides = refused;
    options.override_count = 1;
    assert_int_not_equal(oto_sim_reopen(&options, &sim, &error), OTO_OK);
    assert_null(sim);
    assert_non_null(strstr(error.text, "no_such_key"));
    oto_sim_close(fresh);
    (void)close(file);
    (void)unlink(path);
}

static void vibration_is_felt_and_follows_the_seed(void **unused)
{
    static const char *const calm[] = {"seed=7"};
    static const char *const shaken[] = {
        "seed=7", "vehicles.car.vibration=[{noise: {accel_body_m_s2: [0, 0, 1], rate_hz: 200}}, "
                  "{psd: {level_m2_s4_hz: [[10, 1], [50, 1]]}}]"};
    const struct oto_sim_options options = {
        .size = sizeof options, .path = CITY, .overrides = &shaken[1], .override_count = 1, .has_seed = true, .seed = 7};
    struct oto_sim *still = open_world(CITY, calm, 1), *opened = open_world(CITY, shaken, 2), *seeded = NULL;
    struct oto_sim *reset = open_world(CITY, &shaken[1], 1);
    struct oto_error error = {0};
    (void)unused;
    assert_ok(oto_sim_open(&options, &seeded, &error), error);
    step(reset, 100);
    assert_ok(oto_sim_reset(reset, 7, &error), error);
    step(still, 500);
    step(opened, 500);
    step(seeded, 500);
    step(reset, 500);
    assert_true(oto_sim_state_hash(still) != oto_sim_state_hash(opened));
    assert_int_equal(oto_sim_state_hash(seeded), oto_sim_state_hash(opened));
    assert_int_equal(oto_sim_state_hash(reset), oto_sim_state_hash(opened));
    oto_sim_close(still);
    oto_sim_close(opened);
    oto_sim_close(seeded);
    oto_sim_close(reset);
}

static void without_a_state_hash_the_samples_are_the_same(void **unused)
{
    const struct oto_sim_options options = {.size = sizeof options, .path = CITY, .no_state_hash = true};
    struct oto_sim *hashed = open_world(CITY, NULL, 0), *plain = NULL;
    struct oto_error error = {0};
    struct oto_sample_head heads[2];
    struct oto_imu_record records[2];
    (void)unused;
    assert_ok(oto_sim_open(&options, &plain, &error), error);
    step(hashed, 700);
    step(plain, 700);
    assert_ok(oto_sim_latest(hashed, channel_of(hashed, "car/imu"), &heads[0], &records[0], &error), error);
    assert_ok(oto_sim_latest(plain, channel_of(plain, "car/imu"), &heads[1], &records[1], &error), error);
    assert_memory_equal(&records[0], &records[1], sizeof records[0]);
    assert_memory_equal(&heads[0], &heads[1], sizeof heads[0]);
    oto_sim_close(hashed);
    oto_sim_close(plain);
}

static void a_saved_world_continues_to_the_last_bit(void **unused)
{
    struct oto_sim *sim = open_world(OTO_SOURCE_DIR "/configs/worlds/estimator.yaml", NULL, 0);
    struct oto_sim *other = open_world(OTO_SOURCE_DIR "/configs/worlds/estimator.yaml", NULL, 0);
    struct oto_error error = {0};
    void *bytes = NULL;
    size_t count = 0;
    (void)unused;
    step(sim, 1500);
    assert_ok(oto_sim_save(sim, &bytes, &count, &error), error);
    step(sim, 1500);
    step(other, 10);
    assert_ok(oto_sim_restore(other, bytes, count, &error), error);
    assert_int_equal(oto_sim_tick(other), 1500);
    step(other, 1500);
    assert_int_equal(oto_sim_state_hash(other), oto_sim_state_hash(sim));
    ((unsigned char *)bytes)[count / 2] ^= 1;
    assert_int_equal(oto_sim_restore(other, bytes, count, &error), OTO_CORRUPT);
    assert_int_equal(oto_sim_tick(other), 3000);
    step(other, 1);
    free(bytes);
    oto_sim_close(sim);
    oto_sim_close(other);
}

static void a_world_whose_motion_was_swapped_is_saved_and_restored(void **unused)
{
    struct oto_sim *sim = open_world(CITY, NULL, 0), *other = open_world(CITY, NULL, 0);
    struct oto_error error = {0};
    void *bytes = NULL;
    size_t count = 0;
    (void)unused;
    step(sim, 500);
    const struct oto_swap swap = {.size = sizeof swap, .plugin = "motion_ctrv"};
    assert_ok(oto_sim_swap(sim, "car/motion", &swap, &error), error);
    step(sim, 300);
    assert_ok(oto_sim_save(sim, &bytes, &count, &error), error);
    assert_ok(oto_sim_restore(other, bytes, count, &error), error);
    step(sim, 1500);
    step(other, 1500);
    assert_int_equal(oto_sim_state_hash(other), oto_sim_state_hash(sim));
    free(bytes);
    /* and back: the truth before the swap is that of the previous motion, also in the restored world */
    const struct oto_swap back = {.size = sizeof back, .plugin = "motion_script", .reset_state = true};
    (void)oto_sim_swap(sim, "car/motion", &back, &error);
    assert_ok(oto_sim_save(sim, &bytes, &count, &error), error);
    assert_ok(oto_sim_restore(other, bytes, count, &error), error);
    step(sim, 500);
    step(other, 500);
    assert_int_equal(oto_sim_state_hash(other), oto_sim_state_hash(sim));
    free(bytes);
    oto_sim_close(sim);
    oto_sim_close(other);
}

static void a_swap_to_the_same_plugin_leaves_the_hash_as_it_was(void **unused)
{
    struct oto_sim *sim = open_world(CITY, NULL, 0), *plain = open_world(CITY, NULL, 0);
    struct oto_swap swap = OTO_SWAP_DEFAULTS;
    struct oto_error error = {0};
    (void)unused;
    swap.plugin = "mems_imu";
    step(sim, 400);
    assert_ok(oto_sim_swap(sim, "car/imu", &swap, &error), error);
    step(sim, 1600);
    step(plain, 2000);
    assert_int_equal(oto_sim_state_hash(sim), oto_sim_state_hash(plain));
    swap.plugin = "no_such_plugin";
    assert_int_equal(oto_sim_swap(sim, "car/imu", &swap, &error), OTO_NOT_FOUND);
    swap.plugin = "sdf_imu";
    swap.shadow_ns = 100000000;
    assert_ok(oto_sim_swap(sim, "car/imu", &swap, &error), error);
    step(sim, 500);
    const struct oto_swap undo = {.size = sizeof undo, .undo = true};
    assert_ok(oto_sim_swap(sim, "car/imu", &undo, &error), error);
    assert_int_equal(oto_sim_swap(sim, "car/imu", &undo, &error), OTO_NOT_FOUND);
    oto_sim_close(sim);
    oto_sim_close(plain);
}

static void faults_begin_and_end(void **unused)
{
    struct oto_sim *sim = open_world(CITY, NULL, 0);
    struct oto_error error = {0};
    struct oto_sample_head head;
    struct oto_imu_record record;
    uint64_t id = 0;
    (void)unused;
    const uint32_t imu = channel_of(sim, "car/imu");
    assert_ok(oto_sim_fault(sim, "car/imu", "{kind: bias, value: 5, fields: angular_velocity.x}", &id, &error), error);
    step(sim, 10);
    assert_ok(oto_sim_latest(sim, imu, &head, &record, &error), error);
    assert_true((head.flags & OTO_SAMPLE_FAULT) != 0);
    assert_true(record.angular_velocity_rad_s.x > 4.0);
    assert_ok(oto_sim_clear_faults(sim, "car/imu", id, &error), error);
    step(sim, 10);
    assert_ok(oto_sim_latest(sim, imu, &head, &record, &error), error);
    assert_false((head.flags & OTO_SAMPLE_FAULT) != 0);
    assert_int_not_equal(oto_sim_fault(sim, "car/imu", "{kind: nothing}", &id, &error), OTO_OK);
    oto_sim_close(sim);
}

static void a_caller_drives_a_vehicle(void **unused)
{
    struct oto_sim *sim = open_world(OTO_SOURCE_DIR "/configs/worlds/external_truth.yaml", NULL, 0);
    struct oto_error error = {0};
    struct oto_truth_record truth = {.q_enu_from_body = {1, 0, 0, 0}}, seen;
    struct oto_sample_head head;
    (void)unused;
    const uint32_t motion = channel_of(sim, "car/motion");
    assert_int_equal(oto_sim_step(sim, 1, &error), OTO_AGAIN);
    for (int i = 1; i <= 20; i++) {
        truth.position_enu_m.x = 0.01 * i;
        truth.velocity_enu_m_s.x = 10.0;
        truth.longitudinal_speed_m_s = 10.0;
        assert_ok(oto_sim_drive(sim, "car", &truth, OTO_TRUTH_HAS_ACCEL | OTO_TRUTH_HAS_ANGULAR_ACCEL, 1, &error), error);
        step(sim, 1);
    }
    assert_ok(oto_sim_latest(sim, motion, &head, &seen, &error), error);
    assert_true(seen.position_enu_m.x == 0.2);
    assert_int_equal(oto_sim_drive(sim, "truck", &truth, 0, 1, &error), OTO_NOT_FOUND);
    oto_sim_close(sim);
}

static void wrong_names_and_worlds_have_a_sentence(void **unused)
{
    struct oto_sim *sim = NULL;
    struct oto_sim_channel channel;
    struct oto_error error = {0};
    const struct oto_sim_options text = {.size = sizeof text, .text = "world: x\nvehicles: []\n"};
    const struct oto_sim_options missing = {.size = sizeof missing, .path = "no_such_world.yaml"};
    const struct oto_sim_options nothing = {.size = sizeof nothing};
    (void)unused;
    assert_int_not_equal(oto_sim_open(&text, &sim, &error), OTO_OK);
    assert_null(sim);
    assert_int_equal(oto_sim_open(&missing, &sim, &error), OTO_NOT_FOUND);
    assert_int_equal(oto_sim_open(&nothing, &sim, &error), OTO_INVALID);
    sim = open_world(CITY, NULL, 0);
    assert_int_equal(oto_sim_channel(sim, "car/imo", &channel, &error), OTO_NOT_FOUND);
    assert_non_null(strstr(error.text, "car/imu"));
    oto_sim_close(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_worlds_side_by_side_are_equal_and_independent),
        cmocka_unit_test(a_part_of_a_fleet_has_the_bits_of_the_whole),
        cmocka_unit_test(records_are_read_once_and_lost_ones_are_counted_exactly),
        cmocka_unit_test(samples_are_heads_and_records_side_by_side),
        cmocka_unit_test(a_reset_world_is_one_that_was_opened_with_that_seed),
        cmocka_unit_test(a_world_that_is_opened_again_keeps_its_plugins_and_takes_the_new_parameters),
        cmocka_unit_test(vibration_is_felt_and_follows_the_seed),
        cmocka_unit_test(without_a_state_hash_the_samples_are_the_same),
        cmocka_unit_test(a_saved_world_continues_to_the_last_bit),
        cmocka_unit_test(a_world_whose_motion_was_swapped_is_saved_and_restored),
        cmocka_unit_test(a_swap_to_the_same_plugin_leaves_the_hash_as_it_was),
        cmocka_unit_test(faults_begin_and_end),
        cmocka_unit_test(a_caller_drives_a_vehicle),
        cmocka_unit_test(wrong_names_and_worlds_have_a_sentence),
    };
    return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
