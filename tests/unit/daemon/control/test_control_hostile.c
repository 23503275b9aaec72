/* Hostile clients of the control socket: refused, bounded, and the others are served. */
#include "control_rig.h"

/* ---- hostile clients --------------------------------------------------------------------------------------------- */

static void send_raw(struct fixture *f, int fd, const void *data, size_t bytes)
{
    ssize_t sent = -1;
    run_until(f, (sent = send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)) >= 0 || errno != EAGAIN);
    assert_int_equal(sent, bytes);
}

static void every_cut_of_a_message_is_refused_and_the_next_one_served(void **state)
{
    struct fixture *f = *state;
    const int fd = dial(f);
    unsigned char whole[256];
    struct oto_message_writer writer;
    oto_message_begin(&writer, whole, sizeof whole, 7, "step");
    oto_message_add_u64(&writer, "ticks", 3);
    const size_t bytes = oto_message_finish(&writer);
    for (size_t cut = 1; cut < bytes; cut++) {
        send_raw(f, fd, whole, cut);
        assert_int_not_equal(await_reply(f, fd), OTO_OK);
        assert_int_equal(f->reply.id, 0);
    }
    send_raw(f, fd, whole, bytes);
    assert_int_equal(await_reply(f, fd), OTO_OK);
    (void)close(fd);
}

static void garbage_of_every_length_is_refused(void **state)
{
    struct fixture *f = *state;
    const int fd = dial(f);
    uint64_t random = 88172645463325252u;
    for (size_t bytes = 1; bytes < 600; bytes += bytes < 64 ? 1 : 7) {
        for (size_t i = 0; i < bytes; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            f->data[i] = (unsigned char)random;
        }
        send_raw(f, fd, f->data, bytes);
        assert_int_not_equal(await_reply(f, fd), OTO_OK);
    }
    (void)close(fd);
}

static void deep_and_huge_messages_are_refused(void **state)
{
    struct fixture *f = *state;
    const int fd = dial(f);
    memset(f->data, 0x91, 60000); /* arrays in arrays */
    send_raw(f, fd, f->data, 60000);
    assert_int_not_equal(await_reply(f, fd), OTO_OK);
    static const unsigned char claim[] = {0xdf, 0xff, 0xff, 0xff, 0xff}; /* a map of 2^32 - 1 */
    send_raw(f, fd, claim, sizeof claim);
    assert_int_not_equal(await_reply(f, fd), OTO_OK);
    memset(f->data, 0xc0, sizeof f->data);
    send_raw(f, fd, f->data, OTO_MESSAGE_MAX_BYTES + 1);
    assert_int_equal(await_reply(f, fd), OTO_LIMIT);
    assert_non_null(strstr(reply_text(f), "65537"));
    ask(f, fd, 9, "info");
    assert_int_equal(await_reply(f, fd), OTO_OK);
    (void)close(fd);
}

static void an_empty_datagram_ends_the_connection(void **state)
{
    struct fixture *f = *state;
    const int fd = dial(f);
    ask(f, fd, 1, "info");
    assert_int_equal(await_reply(f, fd), OTO_OK);
    assert_int_equal(send(fd, "", 0, MSG_NOSIGNAL), 0);
    run_until(f, srv_control_connection_count(f->control) == 0);
    (void)close(fd);
}

static void the_seventeenth_request_under_way_is_refused(void **state)
{
    struct fixture *f = *state;
    fake_engine_set_automatic(f->engine, false);
    const int fd = dial(f);
    for (uint64_t id = 1; id <= 17; id++) {
        ask(f, fd, id, "pause");
    }
    assert_int_equal(await_reply(f, fd), OTO_LIMIT);
    assert_int_equal(f->reply.id, 17);
    uint32_t answered = 0;
    ssize_t got = -1;
    run_until(f, (fake_engine_apply(f->engine), answered += poll_reply(f, fd, &got), answered == 16));
    (void)close(fd);
}

static void clients_beyond_64_are_told_so(void **state)
{
    struct fixture *f = *state;
    int fds[SRV_MAX_CONNECTIONS];
    for (uint32_t i = 0; i < SRV_MAX_CONNECTIONS; i++) {
        fds[i] = dial(f);
        ask(f, fds[i], 1, "info"); /* a silent one would lose its place */
        assert_int_equal(await_reply(f, fds[i]), OTO_OK);
    }
    assert_int_equal(srv_control_connection_count(f->control), SRV_MAX_CONNECTIONS);
    for (uint32_t i = 0; i < 1000; i++) {
        const int fd = dial(f);
        /* Half of them send before the refusal arrives; they must still receive it. */
        if (i % 2 == 0) {
            struct oto_message_writer writer = begin(f, 5, "info");
            (void)send(fd, writer.data, oto_message_finish(&writer), MSG_NOSIGNAL);
        }
        assert_int_equal(await_reply(f, fd), OTO_LIMIT);
        assert_non_null(strstr(reply_text(f), "64 clients"));
        (void)close(fd);
    }
    ask(f, fds[0], 2, "info");
    assert_int_equal(await_reply(f, fds[0]), OTO_OK);
    for (uint32_t i = 0; i < SRV_MAX_CONNECTIONS; i++) {
        (void)close(fds[i]);
    }
}

static void a_client_that_never_reads_is_let_go_and_others_served(void **state)
{
    struct fixture *f = *state;
    const int good = dial(f), bad = dial(f);
    ask(f, good, 1, "info");
    assert_int_equal(await_reply(f, good), OTO_OK);
    assert_int_equal(srv_control_connection_count(f->control), 2);
    struct oto_message_writer writer = begin(f, 5, "get");
    oto_message_add_text(&writer, "node", "car/imu");
    const size_t bytes = oto_message_finish(&writer);
    run_until(f, ((void)send(bad, f->data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT),
                  srv_control_connection_count(f->control) == 1));
    ask(f, good, 2, "info");
    assert_int_equal(await_reply(f, good), OTO_OK);
    (void)close(good);
    (void)close(bad);
}

static void a_flood_does_not_starve_another_client(void **state)
{
    struct fixture *f = *state;
    const int good = dial(f), bad = dial(f);
    struct oto_message_writer writer = begin(f, 5, "info");
    const size_t bytes = oto_message_finish(&writer);
    ssize_t got;
    uint32_t turns = 0;
    for (int i = 0; i < 5000; i++) {
        (void)send(bad, f->data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    ask(f, good, 1, "info");
    run_until(f, (turns++, poll_reply(f, good, &got)));
    assert_true(turns < 10); /* turns of the loop: the flood is served 8 messages a turn */
    (void)close(good);
    (void)close(bad);
}

static void passed_descriptors_are_closed(void **state)
{
    struct fixture *f = *state;
    const int fd = dial(f);
    ask(f, fd, 1, "info");
    assert_int_equal(await_reply(f, fd), OTO_OK);
    const uint32_t before = open_descriptors();
    enum { PASSED = 253 };
    static union {
        struct cmsghdr align;
        unsigned char room[CMSG_SPACE(PASSED * sizeof(int))];
    } ancillary;
    for (int round = 0; round < 5; round++) {
        struct oto_message_writer writer = begin(f, 2, "info");
        struct iovec part = {f->data, oto_message_finish(&writer)};
        struct msghdr header = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(PASSED * sizeof(int));
        for (size_t i = 0; i < PASSED; i++) {
            memcpy(CMSG_DATA(rights) + i * sizeof(int), &(int){0}, sizeof(int));
        }
        assert_true(sendmsg(fd, &header, MSG_NOSIGNAL) > 0);
        assert_int_equal(await_reply(f, fd), OTO_OK);
    }
    assert_int_equal(open_descriptors(), before);
    (void)close(fd);
}

static void commands_wait_in_order_when_the_engine_is_full(void **state)
{
    struct fixture *f = *state;
    struct fake_facts *facts = fake_engine_facts(f->engine);
    fake_engine_set_automatic(f->engine, false);
    int fds[4];
    for (int i = 0; i < 4; i++) {
        fds[i] = dial(f);
        for (uint64_t id = 1; id <= 10; id++) {
            ask(f, fds[i], id, "pause");
        }
    }
    run_until(f, (fake_engine_apply(f->engine), facts->applied == 80)); /* and an event of each */
    for (int i = 0; i < 4; i++) {
        for (uint64_t id = 1; id <= 10; id++) {
            assert_int_equal(await_reply(f, fds[i]), OTO_OK);
            assert_int_equal(f->reply.id, id);
        }
        (void)close(fds[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_server(every_cut_of_a_message_is_refused_and_the_next_one_served),
        with_server(garbage_of_every_length_is_refused),
        with_server(deep_and_huge_messages_are_refused),
        with_server(an_empty_datagram_ends_the_connection),
        with_server(the_seventeenth_request_under_way_is_refused),
        with_server(clients_beyond_64_are_told_so),
        with_server(a_client_that_never_reads_is_let_go_and_others_served),
        with_server(a_flood_does_not_starve_another_client),
        with_server(passed_descriptors_are_closed),
        with_server(commands_wait_in_order_when_the_engine_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
