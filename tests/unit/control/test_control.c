#include "oto_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "control/connection.h"
#include "control/control.h"
#include "control/runtime_dir.h"
#include "fake_engine.h"
#include "wire/control_message.h"

#define DEADLINE_MS 20000

struct fixture {
    char root[64];
    struct srv_runtime_dir dir;
    uv_loop_t loop;
    struct srv_engine *engine;
    struct srv_courier *courier;
    struct srv_control *control;
    uint32_t shutdowns;
    unsigned char data[2 * OTO_MESSAGE_MAX_BYTES];
    unsigned char received[OTO_MESSAGE_MAX_BYTES];
    int received_fd;
    struct oto_message reply;
};

static bool tell_info(void *context, char *text, size_t bytes)
{
    (void)context;
    return snprintf(text, bytes, "{\"world\": \"demo\"}") < (int)bytes;
}

static void on_shutdown(void *context, const char *who)
{
    struct fixture *f = context;
    (void)who;
    f->shutdowns++;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct oto_error error = {0};
    (void)snprintf(f->root, sizeof f->root, "/tmp/oto-control-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    assert_int_equal(setenv("XDG_RUNTIME_DIR", f->root, 1), 0);
    assert_ok(srv_runtime_dir_claim("demo", &f->dir, &error), error);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    f->engine = fake_engine_create();
    assert_non_null(f->engine);
    const int listen_fd = srv_runtime_dir_listen(&f->dir, &error);
    assert_true(listen_fd >= 0);
    assert_ok(srv_courier_create(&f->loop, f->engine, &f->courier, &error), error);
    const struct srv_control_hooks hooks = {.context = f, .info = tell_info, .shutdown = on_shutdown};
    assert_ok(srv_control_create(&f->loop, f->engine, f->courier, &hooks, listen_fd, &f->control, &error), error);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    srv_control_stop(f->control);
    srv_courier_stop(f->courier);
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    srv_control_destroy(f->control);
    srv_courier_destroy(f->courier);
    assert_int_equal(fake_engine_facts(f->engine)->changes_alive, 0);
    assert_int_equal(fake_engine_facts(f->engine)->counters[OTO_COUNTER_CLIENTS], 0);
    fake_engine_destroy(f->engine);
    srv_runtime_dir_release(&f->dir);
    assert_int_equal(rmdir(f->root), 0);
    free(f);
    return 0;
}

/* Turns the loop until the condition holds; fails at the deadline. */
#define run_until(f, condition)                                                                                        \
    do {                                                                                                               \
        const uint64_t end_ns_ = uv_hrtime() + DEADLINE_MS * UINT64_C(1000000);                                        \
        while (!(condition)) {                                                                                         \
            assert_true(uv_hrtime() < end_ns_);                                                                        \
            (void)uv_run(&(f)->loop, UV_RUN_NOWAIT);                                                                   \
        }                                                                                                              \
    } while (0)

static int dial(struct fixture *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_true(srv_runtime_dir_path(&f->dir, "control.sock", address.sun_path, sizeof address.sun_path));
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    int connected = -1;
    run_until(f, (connected = connect(fd, (const struct sockaddr *)&address, sizeof address)) == 0);
    return fd;
}

/* Whether something can be read; it is then in f->received, *got its length, 0 for the end. */
static bool poll_reply(struct fixture *f, int fd, ssize_t *got)
{
    union {
        struct cmsghdr align;
        unsigned char room[CMSG_SPACE(sizeof(int))];
    } ancillary;
    struct iovec part = {f->received, sizeof f->received};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
    *got = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (*got < 0) {
        assert_true(errno == EAGAIN || errno == ECONNRESET);
        *got = errno == ECONNRESET ? 0 : -1;
        return *got == 0;
    }
    const struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    f->received_fd = -1;
    if (rights != NULL && rights->cmsg_type == SCM_RIGHTS) {
        memcpy(&f->received_fd, CMSG_DATA(rights), sizeof f->received_fd);
    }
    return true;
}

static enum oto_status await_reply(struct fixture *f, int fd)
{
    ssize_t got = -1;
    struct oto_error error = {0};
    uint64_t status = 0;
    run_until(f, poll_reply(f, fd, &got));
    if (got == 0) {
        return OTO_CLOSED;
    }
    assert_ok(oto_message_decode(f->received, (size_t)got, &f->reply, &error), error);
    assert_string_equal(f->reply.op, "reply");
    assert_ok(oto_message_u64(&f->reply, "status", &status, &error), error);
    return (enum oto_status)status;
}

static const char *reply_text(struct fixture *f)
{
    const struct oto_argument *text = oto_message_find(&f->reply, "text");
    return text != NULL ? text->text : "";
}

static struct oto_message_writer begin(struct fixture *f, uint64_t id, const char *op)
{
    struct oto_message_writer writer;
    oto_message_begin(&writer, f->data, sizeof f->data, id, op);
    return writer;
}

static void send_message(int fd, struct oto_message_writer *writer)
{
    const size_t bytes = oto_message_finish(writer);
    assert_true(bytes > 0);
    assert_int_equal(send(fd, writer->data, bytes, MSG_NOSIGNAL), bytes);
}

static void ask(struct fixture *f, int fd, uint64_t id, const char *op)
{
    struct oto_message_writer writer = begin(f, id, op);
    send_message(fd, &writer);
}

static void ask_attach(struct fixture *f, int fd)
{
    struct oto_message_writer writer = begin(f, 1, "attach");
    oto_message_add_text(&writer, "name", "test one");
    send_message(fd, &writer);
}

static void ask_set(struct fixture *f, int fd, uint64_t id, const char *key)
{
    struct oto_message_writer writer = begin(f, id, "set");
    oto_message_add_text(&writer, "node", "car/imu");
    oto_message_add_text(&writer, "param", key);
    oto_message_add_text(&writer, "value", "2");
    send_message(fd, &writer);
}

static uint32_t open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    uint32_t count = 0;
    while (readdir(directory) != NULL) {
        count++;
    }
    (void)closedir(directory);
    return count;
}

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

static void shutdown_is_answered_before_the_end(void **state)
{
    struct fixture *f = *state;
    const int fd = dial(f);
    ask(f, fd, 1, "shutdown");
    assert_int_equal(await_reply(f, fd), OTO_OK);
    assert_int_equal(f->shutdowns, 1);
    (void)close(fd);
}

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
    }
    run_until(f, srv_control_connection_count(f->control) == SRV_MAX_CONNECTIONS);
    for (uint32_t i = 0; i < 1000; i++) {
        const int fd = dial(f);
        /* Half of them speak before they are told, which must not cost them the sentence. */
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

#define with_server(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_server(attach_gives_the_segment_read_only_once),
        with_server(commands_are_answered_with_their_tick_and_recorded),
        with_server(bad_arguments_are_named),
        with_server(get_lists_the_table_in_parts),
        with_server(changes_of_one_node_come_one_after_another),
        with_server(a_change_whose_client_has_gone_is_applied_and_freed),
        with_server(lossless_and_wake_end_with_their_client),
        with_server(shutdown_is_answered_before_the_end),
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
