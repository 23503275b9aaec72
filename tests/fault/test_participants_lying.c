/* Participants that lie, and that write where and when they may not: nothing of it gets in unchecked. */
#include "hostile_player.h"

/* ---- lying ---- */

enum lie { WRONG_TICK_EARLY, WRONG_TICK_LATE, WRONG_BYTES, RECORD_OF_ANOTHER_TICK, NOT_A_NUMBER, INFINITE_RATE,
           LONG_QUATERNION, ZERO_QUATERNION, TOO_FAST, TOO_FAR, TELEPORT, UNKNOWN_FLAGS, BAD_ACCEL, BAD_SPEED, LIES };

static const char *const why[LIES] = {
    [WRONG_TICK_EARLY] = "not one of those that were granted", [WRONG_TICK_LATE] = "not one of those that were granted",
    [WRONG_BYTES] = "size is not that", [RECORD_OF_ANOTHER_TICK] = "of another tick than the answer",
    [NOT_A_NUMBER] = "position is not finite", [INFINITE_RATE] = "angular rate is not finite",
    [LONG_QUATERNION] = "norm is not 1", [ZERO_QUATERNION] = "norm is not 1", [TOO_FAST] = "velocity is not finite or above",
    [TOO_FAR] = "beyond 1e7 m", [TELEPORT] = "moved faster", [UNKNOWN_FLAGS] = "flags that this server does not know",
    [BAD_ACCEL] = "acceleration is not finite", [BAD_SPEED] = "longitudinal speed is not finite"};

static void tell_lie(struct oto_participant *physics, const struct oto_grant *grant, enum lie lie)
{
    struct oto_mailbox_header *mailbox = oto_participant_mailbox(physics);
    struct oto_truth_record truth = player_truth(grant->until_ns);
    uint32_t flags = PLAYER_ALL;
    const uint64_t lock = __atomic_load_n(&mailbox->grant.lock, __ATOMIC_ACQUIRE);
    struct oto_mailbox_record *record = oto_mailbox_records(mailbox, mailbox->output_offset, 1, lock);
    uint64_t bytes = sizeof *record, tick = grant->until, record_tick = grant->until;
    switch (lie) {
    case WRONG_TICK_EARLY: tick = grant->tick; break;
    case WRONG_TICK_LATE: tick = grant->until + 1; break;
    case WRONG_BYTES: bytes = UINT64_MAX; break;
    case RECORD_OF_ANOTHER_TICK: record_tick = 0; break;
    case NOT_A_NUMBER: truth.position_enu_m.y = NAN; break;
    case INFINITE_RATE: truth.angular_rate_body_rad_s.x = INFINITY; break;
    case LONG_QUATERNION: truth.q_enu_from_body.w = 1.01; break;
    case ZERO_QUATERNION: truth.q_enu_from_body.w = 0.0; break;
    case TOO_FAST: truth.velocity_enu_m_s.x = 2e4; break;
    case TOO_FAR: truth.position_enu_m.x = 2e7; break;
    case TELEPORT: truth.position_enu_m.x += 100.0; break;
    case UNKNOWN_FLAGS: flags = 0x80000000u; break;
    case BAD_ACCEL: truth.accel_enu_m_s2.z = NAN; break;
    case BAD_SPEED: truth.longitudinal_speed_m_s = -INFINITY; flags |= OTO_TRUTH_HAS_SPEED; break;
    default: break;
    }
    assert_int_equal(oto_participant_set(physics, 0, &truth, flags), OTO_OK);
    record->tick = record_tick;
    mailbox->answer.tick = tick;
    mailbox->answer.bytes = bytes;
    __atomic_store_n(&mailbox->answer.grant, lock, __ATOMIC_RELEASE);
    (void)__atomic_add_fetch(&mailbox->answer.futex, 1, __ATOMIC_SEQ_CST);
}

static void each_lie_is_refused_with_its_reason_and_another_try_is_granted(void **state)
{
    struct fixture *f = *state;
    struct oto_error error = {0};
    struct oto_grant grant;
    begin(f, WORLD("lockstep", "on_timeout: wait, timeout_ms: 600000, wait_limit_s: 3600"));
    struct oto_participant *physics = player_join("physics");
    (void)player_round(physics);
    for (int lie = 0; lie < LIES; lie++) {
        grant = player_wait(physics);
        tell_lie(physics, &grant, (enum lie)lie);
        assert_int_equal(oto_participant_wait(physics, TEST_DEADLINE_MS, &grant, &error), OTO_INVALID);
        if (strstr(error.text, why[lie]) == NULL) {
            print_error("lie %d: '%s' is not in: %s\n", lie, why[lie], error.text);
            fail();
        }
        const struct oto_grant again = player_round(physics); /* the same ticks */
        assert_int_equal(again.tick, lie + 1);
    }
    assert_int_equal(world_counter(f->client, OTO_COUNTER_PARTICIPANT_REFUSED), LIES);
    assert_true(told(f, "an answer was refused"));
    oto_participant_leave(physics);
    assert_int_equal(world_stop(&f->world), 0);
}

static void a_liar_never_gets_its_truth_in_and_the_vehicle_holds(void **state)
{
    struct fixture *f = *state;
    struct oto_error error = {0};
    begin(f, WORLD("lockstep", "on_timeout: hold, timeout_ms: 60000"));
    struct oto_truth_record truth;
    struct oto_sample_head head;
    struct oto_participant *physics = player_join("physics");
    const struct oto_channel *motion = oto_client_find(f->client, "car/motion", &error);
    for (int lie = 0; lie < LIES; lie++) {
        struct oto_grant grant;
        while (oto_participant_wait(physics, TEST_DEADLINE_MS, &grant, &error) == OTO_INVALID) {
        }
        player_set(physics, &grant);
        assert_int_equal(oto_participant_done(physics, grant.until), OTO_OK);
        while (oto_participant_wait(physics, TEST_DEADLINE_MS, &grant, &error) == OTO_INVALID) {
        }
        const uint64_t refused = world_counter(f->client, OTO_COUNTER_PARTICIPANT_REFUSED);
        tell_lie(physics, &grant, (enum lie)lie);
        wait_for(world_counter(f->client, OTO_COUNTER_PARTICIPANT_REFUSED) == refused + 1);
        struct oto_reader reader = oto_reader_make(motion, OTO_READ_FROM_OLDEST);
        reader.cursor.next = grant.until;
        wait_for(oto_reader_next(&reader, &head, &truth, sizeof truth) == OTO_OK);
        assert_int_equal(head.t_ns, grant.until_ns);
        assert_true((head.flags & OTO_SAMPLE_STALE) != 0);
        assert_near(truth.position_enu_m.x, 1e-8 * (double)grant.t_ns, 1e-9); /* the previous truth */
    }
    oto_participant_leave(physics);
    assert_int_equal(world_stop(&f->world), 0);
}

static void one_that_only_lies_cannot_keep_the_world_waiting(void **state)
{
    struct fixture *f = *state;
    struct oto_error error = {0};
    struct oto_grant grant;
    enum oto_status status = OTO_OK;
    begin(f, WORLD("lockstep", "on_timeout: wait, timeout_ms: 10, wait_limit_s: 0.3"));
    struct oto_participant *physics = player_join("physics");
    const int64_t end_ms = test_now_ms() + TEST_DEADLINE_MS;
    while (status != OTO_CLOSED && test_now_ms() < end_ms) {
        status = oto_participant_wait(physics, TEST_DEADLINE_MS, &grant, &error);
        if (status == OTO_OK) {
            tell_lie(physics, &grant, NOT_A_NUMBER);
        }
    }
    assert_int_equal(status, OTO_CLOSED);
    assert_int_equal(state_of(f), OTO_SERVER_FAULT);
    oto_participant_leave(physics);
    (void)world_stop(&f->world);
}

static void an_early_return_is_taken_for_what_it_covers(void **state)
{
    struct fixture *f = *state;
    begin(f, WORLD("lockstep", "on_timeout: wait"));
    struct oto_participant *physics =
        player_join_as(&(struct oto_participant_options){.name = "physics", .step_n = 10, .answer_ms = -1});
    uint64_t tick = 0;
    for (uint64_t early = 1; early <= 10; early++) {
        struct oto_grant grant = player_wait(physics);
        assert_int_equal(grant.tick, tick);
        assert_int_equal(grant.until, tick + 10);
        grant.until_ns = grant.t_ns + (int64_t)early * 1000000;
        player_set(physics, &grant);
        assert_int_equal(oto_participant_done(physics, grant.tick + early), OTO_OK);
        tick += early;
    }
    assert_int_equal(player_wait(physics).tick, 55);
    oto_participant_leave(physics);
    assert_int_equal(world_stop(&f->world), 0);
}

/* ---- writing where and when it may not ---- */

static void what_is_written_after_the_answer_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct oto_error error = {0};
    begin(f, "world: w\nseed: 7\npublish: false\nclock: {rate_hz: 1000, mode: lockstep}\nvehicles:\n"
             "  - {name: car, motion: {participant: a}}\n  - {name: van, motion: {participant: b}}\n");
    struct oto_participant *a = player_join("a"), *b = player_join("b");
    struct oto_mailbox_header *of_a = oto_participant_mailbox(a), *of_b = oto_participant_mailbox(b);
    for (uint32_t i = 0; i < 100; i++) {
        const struct oto_grant grant = player_round(a);
        wait_for(__atomic_load_n(&of_b->server_waits, __ATOMIC_ACQUIRE) != 0); /* so a's answer has been taken */
        memset((unsigned char *)of_a + of_a->output_offset, 0xff, 2 * sizeof(struct oto_mailbox_record));
        of_a->answer.tick = 12345;
        assert_int_equal(player_round(b).tick, grant.tick);
    }
    (void)player_wait(a);
    struct oto_truth_record truth;
    struct oto_sample_head head;
    struct oto_reader reader = oto_reader_make(oto_client_find(f->client, "car/motion", &error), OTO_READ_FROM_OLDEST);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(oto_reader_next(&reader, &head, &truth, sizeof truth), OTO_OK);
        assert_int_equal(head.flags, 0);
        assert_near(truth.position_enu_m.x, 1e-8 * (double)head.t_ns, 0.0);
    }
    assert_int_equal(world_counter(f->client, OTO_COUNTER_PARTICIPANT_REFUSED), 0);
    oto_participant_leave(a);
    oto_participant_leave(b);
    assert_int_equal(world_stop(&f->world), 0);
}

struct flipper {
    struct oto_mailbox_header *mailbox;
    uint32_t stop;
};

/* Turns one number of both buffers into a NaN and back, as fast as it can. */
static void *flip(void *context)
{
    struct flipper *flipper = context;
    struct oto_mailbox_record *records = oto_mailbox_records(flipper->mailbox, flipper->mailbox->output_offset, 1, 0);
    uint64_t *words[2] = {(uint64_t *)(void *)&records[0].truth.position_enu_m.z,
                          (uint64_t *)(void *)&records[1].truth.position_enu_m.z};
    for (uint64_t n = 0; __atomic_load_n(&flipper->stop, __ATOMIC_RELAXED) == 0; n++) {
        __atomic_store_n(words[n & 1], n % 3 == 0 ? UINT64_C(0x7ff8000000000000) : 0, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void numbers_that_flip_while_they_are_read_never_get_in_unchecked(void **state)
{
    struct fixture *f = *state;
    struct oto_error error = {0};
    struct oto_grant grant;
    pthread_t thread;
    begin(f, WORLD("lockstep", "on_timeout: wait, timeout_ms: 600000, wait_limit_s: 3600"));
    struct oto_participant *physics = player_join("physics");
    struct flipper flipper = {oto_participant_mailbox(physics), 0};
    assert_int_equal(pthread_create(&thread, NULL, flip, &flipper), 0);
    for (uint32_t rounds = 0; rounds < 4000; rounds++) {
        const enum oto_status status = oto_participant_wait(physics, TEST_DEADLINE_MS, &grant, &error);
        assert_true(status == OTO_OK || status == OTO_INVALID);
        if (status == OTO_OK) {
            player_set(physics, &grant);
            assert_int_equal(oto_participant_done(physics, grant.until), OTO_OK);
        }
    }
    __atomic_store_n(&flipper.stop, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(world_counter(f->client, OTO_COUNTER_NON_FINITE), 0);
    struct oto_truth_record truth;
    struct oto_sample_head head;
    struct oto_reader reader = oto_reader_make(oto_client_find(f->client, "car/motion", &error), OTO_READ_FROM_OLDEST);
    while (oto_reader_next(&reader, &head, &truth, sizeof truth) == OTO_OK) {
        assert_near(truth.position_enu_m.z, 0.0, 0.0);
    }
    oto_participant_leave(physics);
    assert_int_equal(world_stop(&f->world), 0);
}

static void a_mailbox_full_of_rubbish_harms_only_its_owner(void **state)
{
    struct fixture *f = *state;
    uint64_t noise = 88172645463325252u;
    begin(f, WORLD("realtime", "on_timeout: hold, timeout_ms: 1"));
    for (int round = 0; round < 40; round++) {
        struct oto_participant *physics = player_join("physics");
        uint64_t *words = (uint64_t *)(void *)oto_participant_mailbox(physics);
        const size_t count = oto_mailbox_bytes(1) / 8;
        for (size_t i = 0; i < count; i++) {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            __atomic_store_n(&words[i], round % 4 == 0 ? UINT64_MAX : noise, __ATOMIC_RELAXED);
        }
        world_advance(f->client, 2);
        oto_participant_leave(physics);
    }
    assert_answers(f);
    assert_int_equal(state_of(f), OTO_SERVER_RUNNING);
    struct oto_participant *physics = player_join("physics"); /* an honest one is served as before */
    for (int i = 0; i < 20 || (truth_flags(f) & OTO_SAMPLE_STALE) != 0; i++) {
        struct oto_grant grant = player_wait(physics);
        player_set(physics, &grant);
        (void)oto_participant_done(physics, grant.until);
    }
    oto_participant_leave(physics);
    assert_int_equal(world_stop(&f->world), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        fault_test(each_lie_is_refused_with_its_reason_and_another_try_is_granted),
        fault_test(a_liar_never_gets_its_truth_in_and_the_vehicle_holds),
        fault_test(one_that_only_lies_cannot_keep_the_world_waiting),
        fault_test(an_early_return_is_taken_for_what_it_covers),
        fault_test(what_is_written_after_the_answer_changes_nothing),
        fault_test(numbers_that_flip_while_they_are_read_never_get_in_unchecked),
        fault_test(a_mailbox_full_of_rubbish_harms_only_its_owner),
    };
    if (argc == 3 && strcmp(argv[1], "--play") == 0) {
        return player_main(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
