/* The verbs of the control socket: answers, refusals, what ends with a client. */
#include "control_rig.h"

/* ---- the verbs --------------------------------------------------------------------------------------------------- */

static void attach_gives_the_segment_read_only_once(void **state)
{
    struct fixture *f = *state;
    const int fd = dial(f);
    uint64_t number = 0;
    ask_attach(f, fd);
    assert_int_equal(await_reply(f, fd), OTO_OK);
    assert_int_equal(f->reply.id, 1);
    assert_int_equal(oto_message_u64(&f->reply, "epoch", &number, NULL), OTO_OK);
    assert_int_equal(number, 42);
    assert_int_equal(oto_message_u64(&f->reply, "bytes", &number, NULL), OTO_OK);
    assert_true(f->received_fd >= 0);
    struct stat facts;
    assert_int_equal(fstat(f->received_fd, &facts), 0);
    assert_int_equal((uint64_t)facts.st_size, number);
    assert_ptr_equal(mmap(NULL, number, PROT_READ | PROT_WRITE, MAP_SHARED, f->received_fd, 0), MAP_FAILED);
    (void)close(f->received_fd);
    ask_attach(f, fd);
    assert_int_equal(await_reply(f, fd), OTO_EXISTS);
    (void)close(fd);
}

static void commands_are_answered_with_their_tick_and_recorded(void **state)
{
    struct fixture *f = *state;
    static const char *const ops[] = {"pause", "resume"};
    struct fake_facts *facts = fake_engine_facts(f->engine);
    const int fd = dial(f);
    char who[64];
    ask_attach(f, fd);
    assert_int_equal(await_reply(f, fd), OTO_OK);
    (void)close(f->received_fd);
    for (size_t i = 0; i < 2; i++) {
        uint64_t tick = 0;
        ask(f, fd, 10 + i, ops[i]);
        assert_int_equal(await_reply(f, fd), OTO_OK);
        assert_int_equal(f->reply.id, 10 + i);
        assert_int_equal(oto_message_u64(&f->reply, "tick", &tick, NULL), OTO_OK);
        assert_true(tick > 0);
        run_until(f, facts->events == i + 1);
        assert_int_equal(facts->last_event.kind, OTO_EVENT_CLIENT);
        assert_string_equal(facts->last_event.text, ops[i]);
        (void)snprintf(who, sizeof who, "test_one (pid %ld)", (long)getpid());
        assert_string_equal(facts->last_event.source, who);
    }
    (void)close(fd);
}

static void bad_arguments_are_named(void **state)
{
    struct fixture *f = *state;
    const int fd = dial(f);
    struct oto_message_writer writer = begin(f, 1, "scale");
    oto_message_add_f64(&writer, "scale", -2.0);
    send_message(fd, &writer);
    assert_int_equal(await_reply(f, fd), OTO_RANGE);
    assert_non_null(strstr(reply_text(f), "-2"));
    writer = begin(f, 2, "mode");
    oto_message_add_text(&writer, "mode", "fast");
    send_message(fd, &writer);
    assert_int_equal(await_reply(f, fd), OTO_INVALID);
    assert_non_null(strstr(reply_text(f), "realtime, asap, step, lockstep or external"));
    ask(f, fd, 3, "dance");
    assert_int_equal(await_reply(f, fd), OTO_UNSUPPORTED);
    writer = begin(f, 4, "swap");
    oto_message_add_text(&writer, "node", "car/imu");
    oto_message_add_text(&writer, "plugin", "build/imu.so");
    send_message(fd, &writer);
    assert_int_equal(await_reply(f, fd), OTO_INVALID);
    assert_non_null(strstr(reply_text(f), "absolute"));
    writer = begin(f, 6, "swap");
    oto_message_add_text(&writer, "node", "car/imu");
    oto_message_add_text(&writer, "plugin", "mems_imu");
    oto_message_add_u64(&writer, "unit", UINT64_C(1) << 32);
    send_message(fd, &writer);
    assert_int_equal(await_reply(f, fd), OTO_RANGE);
    assert_non_null(strstr(reply_text(f), "unit 4294967296"));
    static const double tolerances[] = {-1.0, NAN};
    for (uint64_t i = 0; i < 2; i++) {
        writer = begin(f, 7 + i, "swap");
        oto_message_add_text(&writer, "node", "car/imu");
        oto_message_add_text(&writer, "plugin", "mems_imu");
        oto_message_add_f64(&writer, "shadow_tolerance", tolerances[i]);
        send_message(fd, &writer);
        assert_int_equal(await_reply(f, fd), OTO_RANGE);
        assert_non_null(strstr(reply_text(f), "shadow_tolerance"));
    }
    writer = begin(f, 5, "get");
    oto_message_add_text(&writer, "node", "car/mag");
    send_message(fd, &writer);
    assert_int_equal(await_reply(f, fd), OTO_NOT_FOUND);
    assert_int_equal(fake_engine_facts(f->engine)->applied, 0);
    (void)close(fd);
}

static void get_lists_the_table_in_parts(void **state)
{
    struct fixture *f = *state;
    const int fd = dial(f);
    struct oto_message_writer writer = begin(f, 1, "get");
    oto_message_add_text(&writer, "node", "car/imu");
    oto_message_add_u64(&writer, "first", 1);
    send_message(fd, &writer);
    assert_int_equal(await_reply(f, fd), OTO_OK);
    uint64_t total = 0;
    assert_int_equal(oto_message_u64(&f->reply, "total", &total, NULL), OTO_OK);
    assert_int_equal(total, 2);
    const struct oto_argument *keys = oto_message_find(&f->reply, "keys");
    assert_int_equal(keys->count, 1);
    assert_string_equal(keys->text_list[0], "label");
    (void)close(fd);
}

static void changes_of_one_node_come_one_after_another(void **state)
{
    struct fixture *f = *state;
    struct fake_facts *facts = fake_engine_facts(f->engine);
    const int fd = dial(f);
    for (uint64_t id = 1; id <= 12; id++) {
        ask_set(f, fd, id, "gain");
    }
    for (uint64_t id = 1; id <= 12; id++) {
        assert_int_equal(await_reply(f, fd), OTO_OK);
        assert_int_equal(f->reply.id, id);
    }
    assert_int_equal(facts->loads_at_once_max, 1);
    ask_set(f, fd, 20, "bad");
    assert_int_equal(await_reply(f, fd), OTO_NOT_FOUND);
    run_until(f, __atomic_load_n(&facts->changes_alive, __ATOMIC_ACQUIRE) == 0);
    (void)close(fd);
}

static void a_pattern_changes_its_nodes_with_one_reply_and_one_event(void **state)
{
    struct fixture *f = *state;
    struct fake_facts *facts = fake_engine_facts(f->engine);
    const int fd = dial(f);
    ask_set_of(f, fd, 1, "car_00[0-4]?/imu", "gain");
    assert_int_equal(await_reply(f, fd), OTO_OK);
    assert_int_equal(f->reply.id, 1);
    assert_string_equal(reply_text(f), "49 nodes");
    run_until(f, facts->events == 1);
    assert_string_equal(facts->last_event.text, "set car_00[0-4]?/imu gain = 2");
    assert_int_equal(facts->applied, 49 + 1);
    ask_set_of(f, fd, 2, "demo/*/imu", "gain");
    assert_int_equal(await_reply(f, fd), OTO_OK);
    assert_string_equal(reply_text(f), "100 nodes");
    run_until(f, __atomic_load_n(&facts->changes_alive, __ATOMIC_ACQUIRE) == 0);
    (void)close(fd);
}

static void ask_attach_as(struct fixture *f, int fd, const char *certificate)
{
    struct oto_message_writer writer = begin(f, 1, "attach");
    oto_message_add_text(&writer, "name", "far");
    oto_message_add_text(&writer, "remote", certificate);
    send_message(fd, &writer);
}

static void a_rule_for_nodes_gives_its_role_for_these_nodes_only(void **state)
{
    struct fixture *f = *state;
    struct fake_facts *facts = fake_engine_facts(f->engine);
    f->access = (struct srv_control_config){.rule_count = 2,
                                            .rules = {{.certificate = "tuner", .nodes = "car_000?/imu", .role = SRV_ROLE_OPERATE},
                                                      {.certificate = "tuner", .nodes = "demo/car_0010/*,x", .role = SRV_ROLE_ADMIN}}};
    const int fd = dial(f), other = dial(f);
    ask_attach_as(f, other, "nobody");
    assert_int_equal(await_reply(f, other), OTO_DENIED);
    ask_attach_as(f, fd, "tuner");
    assert_int_equal(await_reply(f, fd), OTO_OK);
    ask_set_of(f, fd, 2, "car_000*/imu", "gain");
    assert_int_equal(await_reply(f, fd), OTO_OK);
    ask_set_of(f, fd, 3, "car_00[0-2]*/imu", "gain");
    assert_int_equal(await_reply(f, fd), OTO_DENIED);
    assert_string_equal(reply_text(f), "'set' needs the role operate, and this client has the role observe for 'demo/car_0011/imu'");
    ask(f, fd, 4, "pause");
    assert_int_equal(await_reply(f, fd), OTO_DENIED);
    assert_string_equal(reply_text(f), "'pause' needs the role operate, and this client has the role observe for the whole world");
    ask_set_of(f, fd, 5, "car_001[0]/imu", "gain");
    assert_int_equal(await_reply(f, fd), OTO_OK);
    assert_string_equal(reply_text(f), "1 nodes");
    run_until(f, __atomic_load_n(&facts->changes_alive, __ATOMIC_ACQUIRE) == 0);
    (void)close(fd);
    (void)close(other);
}

static void the_first_refusal_ends_the_change_of_a_pattern(void **state)
{
    struct fixture *f = *state;
    struct fake_facts *facts = fake_engine_facts(f->engine);
    const int fd = dial(f);
    ask_set_of(f, fd, 1, "car_*/imu", "bad");
    assert_int_equal(await_reply(f, fd), OTO_NOT_FOUND);
    assert_non_null(strstr(reply_text(f), "node 'car_0001/imu': there is no parameter 'bad'"));
    assert_non_null(strstr(reply_text(f), "; 0 of 99 nodes were changed"));
    ask_set_of(f, fd, 2, "car_*/imu", "odd");
    assert_int_equal(await_reply(f, fd), OTO_NOT_FOUND);
    assert_non_null(strstr(reply_text(f), "node 'car_0007/imu': "));
    assert_non_null(strstr(reply_text(f), "; 6 of 99 nodes were changed"));
    ask_set_of(f, fd, 3, "truck*/imu", "gain");
    assert_int_equal(await_reply(f, fd), OTO_NOT_FOUND);
    assert_string_equal(reply_text(f), "no node matches 'truck*/imu'");
    run_until(f, __atomic_load_n(&facts->changes_alive, __ATOMIC_ACQUIRE) == 0);
    (void)close(fd);
}

static void the_change_of_a_pattern_goes_on_without_its_client(void **state)
{
    struct fixture *f = *state;
    struct fake_facts *facts = fake_engine_facts(f->engine);
    fake_engine_set_automatic(f->engine, false);
    const int fd = dial(f);
    ask_set_of(f, fd, 1, "car_*/imu", "gain");
    run_until(f, __atomic_load_n(&facts->changes_alive, __ATOMIC_ACQUIRE) == 1);
    (void)close(fd);
    run_until(f, srv_control_connection_count(f->control) == 0);
    run_until(f, (fake_engine_apply(f->engine), facts->events == 1));
    assert_int_equal(facts->applied, 99 + 1);
    run_until(f, __atomic_load_n(&facts->changes_alive, __ATOMIC_ACQUIRE) == 0);
}

static void a_change_whose_client_has_gone_is_applied_and_freed(void **state)
{
    struct fixture *f = *state;
    struct fake_facts *facts = fake_engine_facts(f->engine);
    fake_engine_set_automatic(f->engine, false);
    const int fd = dial(f);
    ask_set(f, fd, 1, "gain");
    run_until(f, __atomic_load_n(&facts->changes_alive, __ATOMIC_ACQUIRE) == 1);
    (void)close(fd);
    run_until(f, srv_control_connection_count(f->control) == 0);
    fake_engine_set_automatic(f->engine, true);
    run_until(f, (fake_engine_apply(f->engine), facts->applied >= 1));
    run_until(f, __atomic_load_n(&facts->changes_alive, __ATOMIC_ACQUIRE) == 0);
}

static void lossless_and_wake_end_with_their_client(void **state)
{
    struct fixture *f = *state;
    struct fake_facts *facts = fake_engine_facts(f->engine);
    const uint64_t channels[] = {0}, wrong[] = {7};
    const int fd = dial(f);
    struct oto_message_writer writer = begin(f, 1, "lossless");
    oto_message_add_u64_list(&writer, "channels", wrong, 1);
    send_message(fd, &writer);
    assert_int_equal(await_reply(f, fd), OTO_RANGE);
    writer = begin(f, 2, "lossless");
    oto_message_add_u64_list(&writer, "channels", channels, 1);
    send_message(fd, &writer);
    assert_int_equal(await_reply(f, fd), OTO_OK);
    assert_false(srv_control_lossless_pending(f->control));
    fake_engine_push_sample(f->engine);
    assert_true(srv_control_lossless_pending(f->control));
    const uint64_t next[] = {2};
    writer = begin(f, 3, "ack");
    oto_message_add_u64_list(&writer, "next", next, 1);
    send_message(fd, &writer);
    run_until(f, facts->acknowledged == 2);
    assert_false(srv_control_lossless_pending(f->control));
    writer = begin(f, 4, "wake");
    oto_message_add_bool(&writer, "on", true);
    send_message(fd, &writer);
    assert_int_equal(await_reply(f, fd), OTO_OK);
    assert_int_equal(facts->waiters, 1);
    (void)close(fd);
    run_until(f, facts->waiters == 0 && facts->lossless_open == 0);
}

static void ask_step(struct fixture *f, int fd, uint64_t id, uint64_t ticks)
{
    struct oto_message_writer writer = begin(f, id, "step");
    oto_message_add_u64(&writer, "ticks", ticks);
    send_message(fd, &writer);
}

static void a_step_of_no_or_too_many_ticks_is_refused(void **state)
{
    struct fixture *f = *state;
    static const uint64_t ticks[] = {0, OTO_SEQ_MAX + 1, UINT64_MAX};
    const int fd = dial(f);
    for (uint64_t i = 0; i < 3; i++) {
        ask_step(f, fd, 1 + i, ticks[i]);
        assert_int_equal(await_reply(f, fd), OTO_RANGE);
        assert_non_null(strstr(reply_text(f), "are accepted"));
    }
    ask_step(f, fd, 9, OTO_SEQ_MAX);
    assert_int_equal(await_reply(f, fd), OTO_OK);
    (void)close(fd);
}

static void a_step_ends_with_its_client(void **state)
{
    struct fixture *f = *state;
    const struct fake_facts *facts = fake_engine_facts(f->engine);
    const int done = dial(f), waiting = dial(f);
    ask_step(f, done, 1, 5);
    assert_int_equal(await_reply(f, done), OTO_OK);
    (void)close(done);
    run_until(f, srv_control_connection_count(f->control) == 1);
    assert_int_equal(facts->pauses, 0); /* its step was over */
    fake_engine_set_automatic(f->engine, false);
    ask_step(f, waiting, 2, 5);
    ask(f, waiting, 3, "info");
    assert_int_equal(await_reply(f, waiting), OTO_OK); /* so the step is under way */
    (void)close(waiting);
    run_until(f, srv_control_connection_count(f->control) == 0);
    fake_engine_set_automatic(f->engine, true);
    run_until(f, (fake_engine_apply(f->engine), facts->pauses == 1));
}

static void shutdown_is_answered_before_the_end(void **state)
{
    struct fixture *f = *state;
    const int fd = dial(f);
    ask(f, fd, 1, "shutdown");
    assert_int_equal(await_reply(f, fd), OTO_OK);
    assert_int_equal(f->shutdowns, 1);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_server(attach_gives_the_segment_read_only_once),
        with_server(commands_are_answered_with_their_tick_and_recorded),
        with_server(bad_arguments_are_named),
        with_server(get_lists_the_table_in_parts),
        with_server(changes_of_one_node_come_one_after_another),
        with_server(a_pattern_changes_its_nodes_with_one_reply_and_one_event),
        with_server(a_rule_for_nodes_gives_its_role_for_these_nodes_only),
        with_server(the_first_refusal_ends_the_change_of_a_pattern),
        with_server(the_change_of_a_pattern_goes_on_without_its_client),
        with_server(a_change_whose_client_has_gone_is_applied_and_freed),
        with_server(lossless_and_wake_end_with_their_client),
        with_server(a_step_of_no_or_too_many_ticks_is_refused),
        with_server(a_step_ends_with_its_client),
        with_server(shutdown_is_answered_before_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
