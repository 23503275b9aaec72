/* A control socket in a thread of its own that gives correct or wrong answers, as the test sets it. It hands out the small segment of sample_segment.h.
 */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "sample_segment.h"
#include "wire/control_message.h"

#define FAKE_PARAMS 5u

struct fake_server {
    /* how it answers */
    int pass_fds;         /* with the reply to attach */
    int64_t announce_off; /* added to the size announced */
    uint64_t epoch_off;
    bool garbage;      /* datagrams that are no messages */
    bool stale_first;  /* a reply to an earlier request before each right one */
    bool silent;       /* after attach */
    int slow_ms;       /* after attach: makes a tick each 400 ms, replies after this time */
    bool hang_up;      /* on the first request after attach */
    bool refuse;       /* after attach, with status DENIED and a sentence */
    /* what it is */
    char directory[64];
    int listener, memfd;
    unsigned char *segment; /* its own writable mapping */
    pthread_t thread;
    uint32_t acknowledged; /* count of the last ack */
    char name[32], role[16]; /* as the last attach gave them */
    struct oto_message request;
    unsigned char buffer[OTO_MESSAGE_MAX_BYTES];
};

static inline void fake_send(struct fake_server *server, int fd, size_t bytes, int fds)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec data = {server->buffer, bytes};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (fds > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE((size_t)fds * sizeof(int));
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);
        *part = (struct cmsghdr){CMSG_LEN((size_t)fds * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        for (int i = 0; i < fds; i++) {
            memcpy(CMSG_DATA(part) + (size_t)i * sizeof(int), &server->memfd, sizeof(int));
        }
    }
    (void)sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* Two parameters a reply, as the protocol allows. */
static inline void fake_add_params(struct fake_server *server, struct oto_message_writer *writer)
{
    static const char *const keys[FAKE_PARAMS] = {"a.x", "a.y", "b", "c", "law"};
    static const char *const values[FAKE_PARAMS] = {"1", "[2, 3]", "true", "0.5", "mems"};
    static const char *const units[FAKE_PARAMS] = {"m/s^2", "", "", "1", ""};
    static const uint64_t runtime[FAKE_PARAMS] = {1, 0, 1, 0, 1};
    uint64_t first = 0;
    (void)oto_message_u64(&server->request, "first", &first, NULL);
    const uint32_t count = first >= FAKE_PARAMS ? 0 : first + 2 <= FAKE_PARAMS ? 2 : 1;
    oto_message_add_text_list(writer, "keys", keys + first, count);
    oto_message_add_text_list(writer, "values", values + first, count);
    oto_message_add_text_list(writer, "units", units + first, count);
    oto_message_add_text_list(writer, "texts", units + first, count);
    oto_message_add_u64_list(writer, "runtime", runtime + first, count);
    oto_message_add_u64(writer, "total", FAKE_PARAMS);
}

static inline void fake_reply(struct fake_server *server, int fd, uint64_t id, bool stale)
{
    const bool attach = strcmp(server->request.op, "attach") == 0;
    struct oto_message_writer writer;
    oto_message_begin(&writer, server->buffer, sizeof server->buffer, id, "reply");
    oto_message_add_u64(&writer, "status", server->refuse && !attach ? OTO_DENIED : OTO_OK);
    oto_message_add_u64(&writer, "tick", 42);
    oto_message_add_text(&writer, "text", stale                      ? "stale"
                                          : server->refuse && !attach ? "only on Sundays"
                                                                      : server->request.op);
    if (attach) {
        oto_message_add_text(&writer, "world", "demo");
        oto_message_add_u64(&writer, "bytes", (uint64_t)(SAMPLE_SEGMENT_BYTES + server->announce_off));
        oto_message_add_u64(&writer, "epoch", 7 + server->epoch_off);
    }
    if (strcmp(server->request.op, "get") == 0) {
        fake_add_params(server, &writer);
    }
    fake_send(server, fd, oto_message_finish(&writer), attach && !stale ? server->pass_fds : 0);
}

/* As the tick thread leaves the clock, with its wake. */
static inline void fake_tick(struct fake_server *server, uint64_t tick)
{
    struct oto_segment_header *header = (struct oto_segment_header *)(void *)server->segment;
    struct oto_clock_slot *slot = &header->clock[(tick - 1) % OTO_CLOCK_SLOTS];
    const struct oto_clock clock = {.tick = tick, .sim_time_ns = (int64_t)tick * 1000000, .scale = 1.0};
    __atomic_store_n(&slot->lock, 2 * tick + 1, __ATOMIC_RELAXED);
    OTO_FENCE_(__ATOMIC_RELEASE);
    oto_words_store(&slot->clock, &clock, sizeof clock);
    __atomic_store_n(&slot->lock, 2 * tick + 2, __ATOMIC_RELEASE);
    __atomic_store_n(&header->clock_head, tick, __ATOMIC_RELEASE);
    __atomic_store_n(&header->tick_futex, (uint32_t)tick, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, &header->tick_futex, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* False: the connection ends. */
static inline bool fake_answer(struct fake_server *server, int fd)
{
    const ssize_t bytes = recv(fd, server->buffer, sizeof server->buffer, 0);
    if (bytes <= 0 || oto_message_decode(server->buffer, (size_t)bytes, &server->request, NULL) != OTO_OK) {
        return false;
    }
    const bool attach = strcmp(server->request.op, "attach") == 0;
    if (strcmp(server->request.op, "ack") == 0) {
        __atomic_store_n(&server->acknowledged, oto_message_find(&server->request, "next")->count, __ATOMIC_RELEASE);
        return true;
    }
    if (attach) {
        const char *name = "", *role = "";
        (void)oto_message_text(&server->request, "name", &name, NULL);
        (void)oto_message_text(&server->request, "role", &role, NULL);
        (void)snprintf(server->name, sizeof server->name, "%s", name);
        (void)snprintf(server->role, sizeof server->role, "%s", role);
    }
    if (server->hang_up && !attach) {
        return false;
    }
    if (server->slow_ms > 0 && !attach) {
        for (int ms = 0; ms < server->slow_ms; ms += 400) {
            fake_tick(server, (uint64_t)ms / 400 + 1);
            (void)poll(NULL, 0, 400);
        }
    }
    if (server->silent && !attach) {
        return true;
    }
    if (server->garbage) {
        memset(server->buffer, 0xdd, 100);
        fake_send(server, fd, 100, 0);
        return true;
    }
    if (server->stale_first) {
        fake_reply(server, fd, server->request.id - 1, true);
    }
    fake_reply(server, fd, server->request.id, false);
    return true;
}

static inline void *fake_run(void *context)
{
    struct fake_server *server = (struct fake_server *)context;
    int fd;
    while ((fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        while (fake_answer(server, fd)) {
        }
        (void)close(fd);
    }
    return NULL;
}

static inline void fake_make_segment(struct fake_server *server, int seals)
{
    server->memfd = memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(server->memfd >= 0 && ftruncate(server->memfd, SAMPLE_SEGMENT_BYTES) == 0);
    server->segment = mmap(NULL, SAMPLE_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, server->memfd, 0);
    assert_true(server->segment != MAP_FAILED);
    unsigned char *base = sample_segment_make();
    memcpy(server->segment, base, SAMPLE_SEGMENT_BYTES);
    free(base);
    assert_int_equal(fcntl(server->memfd, F_ADD_SEALS, seals), 0);
}

#define FAKE_RUNTIME_BYTES 32

/* A runtime directory of the test's own, empty again when it is removed. */
static inline void fake_runtime_make(char runtime[FAKE_RUNTIME_BYTES])
{
    (void)snprintf(runtime, FAKE_RUNTIME_BYTES, "/tmp/oto-test-XXXXXX");
    assert_non_null(mkdtemp(runtime));
    (void)setenv("XDG_RUNTIME_DIR", runtime, 1);
    (void)unsetenv("OTOLITH_WORLD");
}

static inline void fake_runtime_remove(const char *runtime)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/otolith", runtime);
    (void)rmdir(path);
    (void)rmdir(runtime);
}

#define FAKE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | 0x10 /* F_SEAL_FUTURE_WRITE */ | F_SEAL_SEAL)

/* Under $XDG_RUNTIME_DIR/otolith/<world>, which is made. */
static inline void fake_start(struct fake_server *server, const char *world, int seals)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char base[48];
    (void)snprintf(base, sizeof base, "%.30s/otolith", getenv("XDG_RUNTIME_DIR"));
    (void)mkdir(base, 0700);
    (void)snprintf(server->directory, sizeof server->directory, "%s/%.14s", base, world);
    assert_int_equal(mkdir(server->directory, 0700), 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/control.sock", server->directory);
    server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    fake_make_segment(server, seals);
    assert_int_equal(pthread_create(&server->thread, NULL, fake_run, server), 0);
}

/* The clients must have been closed before. */
static inline void fake_stop(struct fake_server *server)
{
    char path[96];
    (void)shutdown(server->listener, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->listener);
    (void)close(server->memfd);
    (void)munmap(server->segment, SAMPLE_SEGMENT_BYTES);
    (void)snprintf(path, sizeof path, "%s/control.sock", server->directory);
    (void)unlink(path);
    (void)rmdir(server->directory);
}

#endif
