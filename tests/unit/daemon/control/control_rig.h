/* A control server over a fake engine, and clients that speak to it by hand. */
#ifndef CONTROL_RIG_H
#define CONTROL_RIG_H

#include "oto_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "daemon/control/connection.h"
#include "daemon/control/control.h"
#include "daemon/control/runtime_dir.h"
#include "fake_engine.h"
#include "wire/control_message.h"

#define DEADLINE_MS 300000

struct fixture {
    char root[64];
    struct srv_runtime_dir dir;
    uv_loop_t loop;
    struct srv_engine *engine;
    struct srv_command_queue *command_queue;
    struct srv_control *control;
    struct srv_worker worker;
    struct srv_control_config access; /* no rules at first */
    uint32_t shutdowns;
    unsigned char data[2 * OTO_MESSAGE_MAX_BYTES];
    unsigned char received[OTO_MESSAGE_MAX_BYTES];
    int received_fd;
    struct oto_message reply;
};

static inline bool tell_info(void *context, char *text, size_t bytes)
{
    (void)context;
    return snprintf(text, bytes, "{\"world\": \"demo\"}") < (int)bytes;
}

static inline void on_shutdown(void *context, const char *who)
{
    struct fixture *f = context;
    (void)who;
    f->shutdowns++;
}

static inline int set_up(void **state)
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
    assert_ok(srv_command_queue_create(&f->loop, f->engine, &f->command_queue, &error), error);
    srv_worker_init(&f->worker, &f->loop);
    const struct srv_control_hooks hooks = {
        .context = f, .info = tell_info, .shutdown = on_shutdown, .worker = &f->worker, .access = &f->access};
    assert_ok(srv_control_create(&f->loop, f->engine, f->command_queue, &hooks, listen_fd, &f->control, &error), error);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    srv_control_stop(f->control);
    srv_command_queue_stop(f->command_queue);
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    srv_control_destroy(f->control);
    srv_command_queue_destroy(f->command_queue);
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

static inline int dial(struct fixture *f)
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
static inline bool poll_reply(struct fixture *f, int fd, ssize_t *got)
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

static inline enum oto_status await_reply(struct fixture *f, int fd)
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

static inline struct oto_message_writer begin(struct fixture *f, uint64_t id, const char *op)
{
    struct oto_message_writer writer;
    oto_message_begin(&writer, f->data, sizeof f->data, id, op);
    return writer;
}

static inline void send_message(int fd, struct oto_message_writer *writer)
{
    const size_t bytes = oto_message_finish(writer);
    assert_true(bytes > 0);
    assert_int_equal(send(fd, writer->data, bytes, MSG_NOSIGNAL), bytes);
}

static inline void ask(struct fixture *f, int fd, uint64_t id, const char *op)
{
    struct oto_message_writer writer = begin(f, id, op);
    send_message(fd, &writer);
}

static inline void ask_attach(struct fixture *f, int fd)
{
    struct oto_message_writer writer = begin(f, 1, "attach");
    oto_message_add_text(&writer, "name", "test one");
    send_message(fd, &writer);
}

static inline void ask_set_of(struct fixture *f, int fd, uint64_t id, const char *node, const char *key)
{
    struct oto_message_writer writer = begin(f, id, "set");
    oto_message_add_text(&writer, "node", node);
    oto_message_add_text(&writer, "param", key);
    oto_message_add_text(&writer, "value", "2");
    send_message(fd, &writer);
}

static inline void ask_set(struct fixture *f, int fd, uint64_t id, const char *key)
{
    ask_set_of(f, fd, id, "car/imu", key);
}

static inline uint32_t open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    uint32_t count = 0;
    while (readdir(directory) != NULL) {
        count++;
    }
    (void)closedir(directory);
    return count;
}

#define with_server(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
