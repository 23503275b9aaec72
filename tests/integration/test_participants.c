/* Participants that keep to the rules: the same truth gives the same samples, whoever gives it, and whenever. */
#include "player.h"

#define SENSORS                                                                                                        \
    "    nodes:\n"                                                                                                     \
    "      - {name: imu, plugin: mems_imu, rate_hz: 200}\n"                                                            \
    "      - {name: mag, plugin: magnetometer, rate_hz: 50}\n"
#define HEAD "world: w\nseed: 7\npublish: false\n"
#define BUILT_IN                                                                                                       \
    HEAD "clock: {rate_hz: 1000, mode: step}\nvehicles:\n  - name: car\n    motion: {plugin: motion_script}\n" SENSORS
#define PLAYED                                                                                                         \
    HEAD "clock: {rate_hz: 1000, mode: lockstep}\nvehicles:\n  - name: car\n    motion: {participant: physics}\n" SENSORS
#define TWO                                                                                                            \
    HEAD "clock: {rate_hz: 1000, mode: lockstep}\nvehicles:\n"                                                         \
         "  - name: first\n    motion: {participant: a}\n" SENSORS                                                      \
         "  - name: second\n    motion: {participant: b}\n" SENSORS
#define DRIVEN                                                                                                         \
    HEAD "clock: {rate_hz: 1000, mode: external, master: conductor}\nvehicles:\n"                                      \
         "  - name: car\n    motion: {plugin: motion_script}\n" SENSORS

#define CONTROLLED                                                                                                     \
    HEAD "clock: {rate_hz: 1000, mode: external, master: autopilot}\nvehicles:\n"                                      \
         "  - name: quad\n    motion: {plugin: motion_multirotor, controls: autopilot}\n" SENSORS

enum { TICKS = 1000 };

struct samples {
    struct oto_truth_record truth[TICKS];
    struct oto_imu_record imu[TICKS / 5];
    struct oto_mag_record mag[TICKS / 20];
};

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct world_process));
    return 0;
}

static uint64_t hash_of(const struct oto_client *client)
{
    struct oto_clock clock = {0};
    assert_int_equal(oto_client_clock(client, &clock), OTO_OK);
    return clock.state_hash;
}

/* The records of a channel, from the first on. */
static void take(const struct oto_client *client, const char *topic, void *records, size_t bytes, size_t count)
{
    struct oto_error error = {0};
    struct oto_sample_head head;
    const struct oto_channel *channel = oto_client_find(client, topic, &error);
    assert_ok(channel == NULL, error);
    struct oto_reader reader = oto_reader_make(channel, OTO_READ_FROM_OLDEST);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(oto_reader_next(&reader, &head, (unsigned char *)records + i * bytes, bytes), OTO_OK);
        assert_int_equal(head.seq, i + 1);
        assert_int_equal(head.flags, 0);
    }
    assert_int_equal(reader.cursor.lost, 0);
}

static void take_all(const struct oto_client *client, struct samples *samples)
{
    take(client, "car/motion", samples->truth, sizeof *samples->truth, TICKS);
    take(client, "car/imu", samples->imu, sizeof *samples->imu, TICKS / 5);
    take(client, "car/mag", samples->mag, sizeof *samples->mag, TICKS / 20);
}

static void a_process_that_plays_a_motion_gives_the_same_samples_to_the_bit(void **state)
{
    struct world_process *world = *state;
    struct oto_error error = {0};
    struct oto_reply reply;
    static struct samples built_in, played;
    world_make(world, BUILT_IN);
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    assert_ok(oto_control_step(client, TICKS, &reply, &error), error);
    take_all(client, &built_in);
    oto_client_close(client);
    assert_int_equal(world_stop(world), 0);
    world_remove(world);
    world_make(world, PLAYED);
    world_start(world, NULL);
    oto_client_close(world_attach(world, "test"));
    struct oto_participant *physics = player_join("physics");
    for (uint32_t i = 0; i < TICKS; i++) {
        const struct oto_grant grant = player_wait(physics);
        assert_int_equal(grant.tick, i);
        assert_int_equal(oto_participant_set(physics, 0, &built_in.truth[i], PLAYER_ALL | OTO_TRUTH_HAS_SPEED), OTO_OK);
        assert_int_equal(oto_participant_done(physics, grant.until), OTO_OK);
    }
    (void)player_wait(physics);
    take_all(oto_participant_client(physics), &played);
    assert_memory_equal(played.truth, built_in.truth, sizeof played.truth);
    assert_memory_equal(played.imu, built_in.imu, sizeof played.imu);
    assert_memory_equal(played.mag, built_in.mag, sizeof played.mag);
    oto_participant_leave(physics);
    assert_int_equal(world_stop(world), 0);
}

/* Every order in which two participants can set (1, 2) and finish (3, 4) their answers. */
static const char orders[][5] = {"1324", "1234", "1243", "2134", "2143", "2413"};
enum { ORDERS = sizeof orders / sizeof *orders };

static void act(char what, struct oto_participant *const players[2], const struct oto_grant grants[2])
{
    const int who = what == '1' || what == '3' ? 0 : 1;
    struct oto_truth_record truth = player_truth(grants[who].until_ns);
    truth.position_enu_m.y = 3.0 * who;
    if (what == '1' || what == '2') {
        assert_int_equal(oto_participant_set(players[who], 0, &truth, PLAYER_ALL), OTO_OK);
    } else {
        assert_int_equal(oto_participant_done(players[who], grants[who].until), OTO_OK);
    }
}

/* Order `order` in every tick; beyond the last: another one each tick. */
static uint64_t play_in_order(struct world_process *world, size_t order)
{
    world_make(world, TWO);
    world_start(world, NULL);
    oto_client_close(world_attach(world, "test"));
    const bool swapped = order % 2 == 1;
    struct oto_participant *last = swapped ? player_join("b") : NULL; /* in which order they join is the same, too */
    struct oto_participant *const players[2] = {player_join("a"), swapped ? last : player_join("b")};
    for (uint32_t i = 0; i < 300; i++) {
        const struct oto_grant grants[2] = {player_wait(players[0]), player_wait(players[1])};
        const char *acts = orders[order < ORDERS ? order : i * 7 % ORDERS];
        assert_int_equal(grants[0].tick, i);
        for (int k = 0; k < 4; k++) {
            act(acts[k], players, grants);
        }
    }
    (void)player_wait(players[0]);
    const uint64_t hash = hash_of(oto_participant_client(players[0]));
    oto_participant_leave(players[0]);
    oto_participant_leave(players[1]);
    assert_int_equal(world_stop(world), 0);
    world_remove(world);
    return hash;
}

static void two_participants_give_the_same_result_in_every_order(void **state)
{
    const uint64_t first = play_in_order(*state, 0);
    for (size_t order = 1; order <= ORDERS; order++) {
        const uint64_t hash = play_in_order(*state, order);
        if (hash != first) {
            print_error("order %zu gives another state\n", order);
            fail();
        }
    }
}

static void samples_of_a_tick_can_be_read_before_the_next_is_answered(void **state)
{
    struct world_process *world = *state;
    struct oto_error error = {0};
    world_make(world, HEAD "clock: {rate_hz: 1000, mode: lockstep}\nparticipants: [{name: driver, role: controller}]\n"
                           "vehicles:\n  - name: car\n    motion: {plugin: motion_script}\n" SENSORS);
    world_start(world, NULL);
    oto_client_close(world_attach(world, "test"));
    struct oto_participant *driver = player_join("driver");
    assert_int_equal(oto_participant_role_of(driver), OTO_ROLE_CONTROLLER);
    assert_int_equal(oto_participant_vehicle_count(driver), 0);
    const struct oto_channel *imu = oto_client_find(oto_participant_client(driver), "car/imu", &error);
    assert_non_null(imu);
    for (uint64_t i = 0; i < 500; i++) {
        const struct oto_grant grant = player_wait(driver);
        assert_int_equal(grant.tick, i);
        assert_int_equal(world_tick(oto_participant_client(driver)), i);
        assert_int_equal(oto_ring_newest(&imu->view), i / 5);
        assert_int_equal(oto_participant_done(driver, grant.until), OTO_OK);
    }
    oto_participant_leave(driver);
    assert_int_equal(world_stop(world), 0);
}

static void a_controller_may_set_parameters_before_it_answers(void **state)
{
    struct world_process *world = *state;
    struct oto_error error = {0};
    struct oto_reply reply;
    world_make(world, HEAD "clock: {rate_hz: 1000, mode: lockstep}\nparticipants: [{name: driver, role: controller}]\n"
                           "vehicles:\n  - name: car\n    motion: {plugin: motion_script}\n" SENSORS);
    world_start(world, NULL);
    oto_client_close(world_attach(world, "test"));
    struct oto_participant *driver = player_join("driver");
    for (uint64_t i = 0; i < 5; i++) {
        const struct oto_grant grant = player_wait(driver);
        assert_ok(oto_control_set(oto_participant_client(driver), "car/imu", "accelerometer.constant_bias_m_s2",
                                  "[0.1, 0, 0]", &reply, &error), error);
        assert_int_equal(reply.tick, grant.tick);
        assert_int_equal(oto_participant_done(driver, grant.until), OTO_OK);
    }
    oto_participant_leave(driver);
    assert_int_equal(world_stop(world), 0);
}

static uint64_t hash_after_asap(struct world_process *world, uint64_t ticks)
{
    struct oto_error error = {0};
    struct oto_reply reply;
    world_make(world, BUILT_IN);
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    assert_ok(oto_control_step(client, ticks, &reply, &error), error);
    const uint64_t hash = hash_of(client);
    oto_client_close(client);
    assert_int_equal(world_stop(world), 0);
    world_remove(world);
    return hash;
}

static void a_master_drives_the_clock_and_the_result_is_that_of_any_mode(void **state)
{
    struct world_process *world = *state;
    struct oto_error error = {0};
    const uint64_t hash = hash_after_asap(world, 1234);
    world_make(world, DRIVEN);
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    struct oto_participant *conductor = player_join("conductor");
    assert_int_equal(oto_participant_role_of(conductor), OTO_ROLE_MASTER);
    uint64_t until = 0;
    static const uint64_t grants[] = {1, 2, 997, 34, 200};
    for (size_t i = 0; i < sizeof grants / sizeof *grants; i++) {
        until += grants[i];
        assert_ok(oto_participant_run_until(conductor, until, &error), error);
        assert_ok(oto_participant_wait_completed(conductor, until, TEST_DEADLINE_MS, &error), error);
        assert_int_equal(oto_participant_completed(conductor), until);
        assert_int_equal(world_tick(client), until);
    }
    assert_int_equal(until, 1234);
    assert_int_equal(hash_of(client), hash);
    assert_int_equal(oto_participant_wait_completed(conductor, until + 1, 1, &error), OTO_TIMEOUT);
    assert_int_equal(oto_participant_run_until(conductor, UINT64_MAX, &error), OTO_RANGE);
    assert_ok(oto_participant_run_until(conductor, 3, &error), error); /* backwards: nothing to do */
    struct oto_reply reply;
    assert_ok(oto_control_step(client, 6, &reply, &error), error); /* commands are served meanwhile */
    assert_int_equal(world_tick(client), 1240);
    oto_participant_leave(conductor);
    assert_ok(oto_control_mode(client, "asap", &reply, &error), error);
    assert_ok(oto_control_resume(client, &reply, &error), error);
    world_advance(client, 2000);
    oto_client_close(client);
    assert_int_equal(world_stop(world), 0);
}

static void an_answer_for_several_ticks_is_interpolated_between_them(void **state)
{
    struct world_process *world = *state;
    static struct oto_truth_record truth[400];
    const double w = 0.5, r = 20.0; /* a circle: its records every 4 ms, quintic between, slerp for attitude */
    world_make(world, PLAYED);
    world_start(world, NULL);
    oto_client_close(world_attach(world, "test"));
    struct oto_participant *physics =
        player_join_as(&(struct oto_participant_options){.name = "physics", .step_n = 4, .answer_ms = -1});
    for (uint32_t i = 0; i < 100; i++) {
        const struct oto_grant grant = player_wait(physics);
        assert_int_equal(grant.until, grant.tick + 4);
        assert_near(grant.dt_s, 0.004, 1e-15);
        const double a = w * 1e-9 * (double)grant.until_ns;
        const struct oto_truth_record now = {.position_enu_m = {r * sin(a), -r * cos(a), 0},
                                             .velocity_enu_m_s = {r * w * cos(a), r * w * sin(a), 0},
                                             .accel_enu_m_s2 = {-r * w * w * sin(a), r * w * w * cos(a), 0},
                                             .q_enu_from_body = {cos(0.5 * a), 0, 0, sin(0.5 * a)},
                                             .angular_rate_body_rad_s = {0, 0, w}};
        assert_int_equal(oto_participant_set(physics, 0, &now, PLAYER_ALL), OTO_OK);
        assert_int_equal(oto_participant_done(physics, grant.until), OTO_OK);
    }
    (void)player_wait(physics);
    take(oto_participant_client(physics), "car/motion", truth, sizeof *truth, 400);
    for (uint32_t i = 4; i < 400; i++) {
        const double a = w * 1e-3 * (double)(i + 1);
        assert_near(truth[i].position_enu_m.x, r * sin(a), 1e-12);
        assert_near(truth[i].velocity_enu_m_s.y, r * w * sin(a), 1e-11);
        assert_near(truth[i].accel_enu_m_s2.x, -r * w * w * sin(a), 1e-8);
        assert_near(truth[i].q_enu_from_body.z, sin(0.5 * a), 1e-13);
        assert_near(truth[i].longitudinal_speed_m_s, r * w, 1e-9);
    }
    oto_participant_leave(physics);
    assert_int_equal(world_stop(world), 0);
}

static void accelerations_that_are_left_out_follow_from_the_velocities(void **state)
{
    struct world_process *world = *state;
    static struct oto_truth_record truth[50];
    world_make(world, PLAYED);
    world_start(world, NULL);
    oto_client_close(world_attach(world, "test"));
    struct oto_participant *physics = player_join("physics");
    for (uint32_t i = 0; i < 50; i++) {
        const struct oto_grant grant = player_wait(physics);
        const double t_s = 1e-9 * (double)grant.until_ns;
        const struct oto_truth_record now = {.position_enu_m = {1.5 * t_s * t_s, 0, 0},
                                             .velocity_enu_m_s = {3.0 * t_s, 0, 0},
                                             .accel_enu_m_s2 = {NAN, NAN, NAN}, /* not checked */
                                             .q_enu_from_body = {cos(t_s * t_s), 0, 0, sin(t_s * t_s)},
                                             .angular_rate_body_rad_s = {0, 0, 4.0 * t_s}};
        assert_int_equal(oto_participant_set(physics, 0, &now, OTO_TRUTH_CONTINUES), OTO_OK);
        assert_int_equal(oto_participant_done(physics, grant.until), OTO_OK);
    }
    (void)player_wait(physics);
    take(oto_participant_client(physics), "car/motion", truth, sizeof *truth, 50);
    for (uint32_t i = 0; i < 50; i++) {
        assert_near(truth[i].accel_enu_m_s2.x, 3.0, 1e-9);
        assert_near(truth[i].angular_accel_body_rad_s2.z, 4.0, 1e-9);
    }
    oto_participant_leave(physics);
    assert_int_equal(world_stop(world), 0);
}

static void an_answer_counts_also_if_its_giver_leaves_at_once(void **state)
{
    struct world_process *world = *state;
    world_make(world, PLAYED);
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    for (uint32_t i = 0; i < 30; i++) {
        struct oto_participant *physics = NULL;
        const struct oto_participant_options options = {
            .size = sizeof options, .world = WORLD_NAME, .name = "physics", .answer_ms = -1};
        wait_for(oto_participant_join(&options, &physics, NULL) == OTO_OK); /* the previous participant may still be leaving */
        assert_int_equal(player_round(physics).tick, i);
        oto_participant_leave(physics);
        wait_for(world_tick(client) == i + 1);
    }
    oto_client_close(client);
    assert_int_equal(world_stop(world), 0);
}

/* Answers `ticks` ticks, from that of the grant. A participant that rejoined reports that it continues. */
static void answer_and_step(struct oto_participant *physics, struct oto_client *client, uint64_t tick, uint64_t ticks)
{
    struct oto_error error = {0};
    struct oto_reply reply;
    const struct oto_grant grant = player_wait(physics);
    const struct oto_truth_record truth = player_truth(grant.until_ns);
    assert_int_equal(grant.tick, tick);
    assert_int_equal(oto_participant_set(physics, 0, &truth, PLAYER_ALL | OTO_TRUTH_CONTINUES), OTO_OK);
    assert_int_equal(oto_participant_done(physics, grant.until), OTO_OK);
    assert_ok(oto_control_step(client, ticks, &reply, &error), error);
}

static void a_restored_world_goes_on_within_an_answer_to_the_last_bit(void **state)
{
    struct world_process *world = *state;
    struct oto_error error = {0};
    struct oto_reply reply;
    char path[128];
    const struct oto_participant_options four = {.name = "physics", .step_n = 4, .answer_ms = -1};
    world_make(world, HEAD "clock: {rate_hz: 1000, mode: step}\nvehicles:\n  - name: car\n"
                           "    motion: {participant: physics}\n" SENSORS);
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    struct oto_participant *physics = player_join_as(&four);
    for (uint64_t tick = 0; tick < 40; tick += 4) {
        answer_and_step(physics, client, tick, 4);
    }
    answer_and_step(physics, client, 40, 2);
    (void)snprintf(path, sizeof path, "%s/checkpoint", world->root);
    assert_ok(oto_control_checkpoint(client, path, &reply, &error), error);
    assert_ok(oto_control_step(client, 2, &reply, &error), error);
    answer_and_step(physics, client, 44, 4);
    const uint64_t hash = hash_of(client), epoch = oto_client_header(client)->epoch;
    assert_ok(oto_control_restore(client, path, &reply, &error), error);
    oto_participant_leave(physics);
    oto_client_close(client);
    client = world_attach(world, "test");
    while (oto_client_header(client)->epoch == epoch) {
        oto_client_close(client);
        client = world_attach(world, "test");
    }
    physics = player_join_as(&four);
    assert_ok(oto_control_step(client, 2, &reply, &error), error); /* the answer for ticks 40 to 44 still holds */
    answer_and_step(physics, client, 44, 4);
    assert_int_equal(world_tick(client), 48);
    assert_int_equal(hash_of(client), hash);
    oto_participant_leave(physics);
    oto_client_close(client);
    assert_int_equal(world_stop(world), 0);
}

static void modes_that_follow_somebody_need_somebody(void **state)
{
    struct world_process *world = *state;
    struct oto_error error = {0};
    struct oto_reply reply;
    world_make(world, BUILT_IN);
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    assert_int_equal(oto_control_mode(client, "lockstep", &reply, &error), OTO_UNSUPPORTED);
    assert_non_null(strstr(error.text, "needs a participant"));
    assert_int_equal(oto_control_mode(client, "external", &reply, &error), OTO_UNSUPPORTED);
    assert_non_null(strstr(error.text, "clock.master"));
    oto_client_close(client);
    assert_int_equal(world_stop(world), 0);
}

static void the_tick_waits_in_every_mode_and_modes_change_under_way(void **state)
{
    struct world_process *world = *state;
    struct oto_error error = {0};
    struct oto_reply reply;
    static const char *const modes[] = {"realtime", "lockstep", "asap"};
    world_make(world, PLAYED);
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    struct oto_participant *physics = player_join("physics");
    for (uint32_t i = 0; i < 90; i++) {
        if (i % 10 == 0) {
            assert_ok(oto_control_mode(client, modes[i / 10 % 3], &reply, &error), error);
            assert_true(reply.tick == i || reply.tick + 1 == i); /* the last answer may still wait for its deadline */
        }
        assert_int_equal(player_round(physics).tick, i);
    }
    (void)player_wait(physics);
    assert_int_equal(world_tick(client), 90);
    assert_int_equal(world_counter(client, OTO_COUNTER_PARTICIPANT_HELD), 0);
    oto_participant_leave(physics);
    oto_client_close(client);
    assert_int_equal(world_stop(world), 0);
}

static void a_motion_of_a_participant_cannot_be_swapped(void **state)
{
    struct world_process *world = *state;
    struct oto_error error = {0};
    struct oto_reply reply;
    world_make(world, PLAYED);
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    assert_int_equal(oto_control_swap(client, "car/motion", "motion_script", &reply, &error), OTO_UNSUPPORTED);
    assert_non_null(strstr(error.text, "moved by a participant"));
    oto_client_close(client);
    assert_int_equal(world_stop(world), 0);
}

#define world_test(name) cmocka_unit_test_setup_teardown(name, set_up, world_tear_down)

/* Also in a restored world: ticks are counted from where the world is, not from 0. */
static void a_master_that_joins_late_knows_the_tick(void **state)
{
    struct world_process *world = *state;
    struct oto_error error = {0};
    world_make(world, DRIVEN);
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    struct oto_reply reply;
    assert_ok(oto_control_step(client, 50, &reply, &error), error);
    assert_ok(oto_control_resume(client, &reply, &error), error);
    struct oto_participant *conductor = player_join("conductor");
    assert_int_equal(oto_participant_completed(conductor), 50);
    assert_ok(oto_participant_run_until(conductor, 60, &error), error);
    assert_ok(oto_participant_wait_completed(conductor, 60, TEST_DEADLINE_MS, &error), error);
    oto_participant_leave(conductor);
    conductor = player_join("conductor");
    assert_int_equal(oto_participant_completed(conductor), 60);
    oto_participant_leave(conductor);
    oto_client_close(client);
    assert_int_equal(world_stop(world), 0);
}

/* Controls that change every 10 ticks; the master allows `grant` ticks at once. */
static uint64_t fly(struct world_process *world, uint64_t grant)
{
    struct oto_error error = {0};
    struct oto_truth_record truth[TICKS];
    world_make(world, CONTROLLED);
    world_start(world, NULL);
    oto_client_close(world_attach(world, "test"));
    struct oto_participant *autopilot = player_join("autopilot");
    assert_int_equal(oto_participant_role_of(autopilot), OTO_ROLE_MASTER);
    assert_string_equal(oto_participant_controlled(autopilot), "quad");
    for (uint64_t tick = 0; tick < TICKS; tick += grant) {
        const double thrust = tick < 500 ? 0.9 : 0.5, turn = tick / 10 % 2 == 0 ? 0.01 : -0.01;
        const double values[] = {thrust + turn, thrust + turn, thrust - turn, thrust - turn};
        assert_int_equal(oto_participant_control(autopilot, values, 4), OTO_OK);
        assert_ok(oto_participant_run_until(autopilot, tick + grant, &error), error);
        assert_ok(oto_participant_wait_completed(autopilot, tick + grant, TEST_DEADLINE_MS, &error), error);
    }
    const uint64_t hash = hash_of(oto_participant_client(autopilot));
    take(oto_participant_client(autopilot), "quad/motion", truth, sizeof *truth, TICKS);
    assert_true(truth[TICKS - 1].position_enu_m.z > 0.5);
    assert_true(truth[19].velocity_enu_m_s.z > truth[9].velocity_enu_m_s.z);
    oto_participant_leave(autopilot);
    assert_int_equal(world_stop(world), 0);
    world_remove(world);
    return hash;
}

static void controls_hold_from_the_tick_that_they_are_given_for(void **state)
{
    const uint64_t tick_by_tick = fly(*state, 1);
    assert_true(fly(*state, 10) == tick_by_tick);
    assert_true(fly(*state, 10) == tick_by_tick);
}

static void controls_that_cannot_be_are_refused(void **state)
{
    struct world_process *world = *state;
    const double values[OTO_CONTROLS + 1] = {0.0}, bad[] = {NAN};
    world_make(world, CONTROLLED);
    world_start(world, NULL);
    oto_client_close(world_attach(world, "test"));
    struct oto_participant *autopilot = player_join("autopilot");
    assert_int_equal(oto_participant_control(autopilot, values, OTO_CONTROLS), OTO_OK);
    assert_int_equal(oto_participant_control(autopilot, values, OTO_CONTROLS + 1), OTO_RANGE);
    assert_int_equal(oto_participant_control(autopilot, bad, 1), OTO_INVALID);
    oto_participant_leave(autopilot);
    assert_int_equal(world_stop(world), 0);
    world_remove(world);
    world_make(world, DRIVEN);
    world_start(world, NULL);
    oto_client_close(world_attach(world, "test"));
    struct oto_participant *conductor = player_join("conductor");
    assert_null(oto_participant_controlled(conductor));
    assert_int_equal(oto_participant_control(conductor, values, 4), OTO_UNSUPPORTED);
    oto_participant_leave(conductor);
    assert_int_equal(world_stop(world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(controls_hold_from_the_tick_that_they_are_given_for),
        world_test(controls_that_cannot_be_are_refused),
        world_test(a_process_that_plays_a_motion_gives_the_same_samples_to_the_bit),
        world_test(two_participants_give_the_same_result_in_every_order),
        world_test(samples_of_a_tick_can_be_read_before_the_next_is_answered),
        world_test(a_controller_may_set_parameters_before_it_answers),
        world_test(a_master_drives_the_clock_and_the_result_is_that_of_any_mode),
        world_test(a_master_that_joins_late_knows_the_tick),
        world_test(an_answer_for_several_ticks_is_interpolated_between_them),
        world_test(accelerations_that_are_left_out_follow_from_the_velocities),
        world_test(an_answer_counts_also_if_its_giver_leaves_at_once),
        world_test(a_restored_world_goes_on_within_an_answer_to_the_last_bit),
        world_test(modes_that_follow_somebody_need_somebody),
        world_test(the_tick_waits_in_every_mode_and_modes_change_under_way),
        world_test(a_motion_of_a_participant_cannot_be_swapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
