/* Hostile peers of the publisher's listeners (nng 1.5.2 does not survive all of them by itself). Loopback, bounded. */
#include "oto_test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "otolith/records.h"
#include "world_process.h"

static int start(void **state, const char *const *arguments)
{
    struct world_attached *f = world_attached_set_up(state, NULL, arguments);
    world_endpoint(&f->world, f->client, 0, f->ipc, sizeof f->ipc);
    world_endpoint(&f->world, f->client, 1, f->tcp, sizeof f->tcp);
    return 0;
}

static int set_up(void **state)
{
    return start(state, NULL);
}

static int set_up_asap(void **state)
{
    static const char *const asap[] = {"--mode=asap", NULL};
    return start(state, asap);
}

static const unsigned char sub_handshake[8] = {0, 'S', 'P', 0, 0, 0x21, 0, 0};
static const unsigned char req_handshake[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};

static int dial_ipc(const struct world_attached *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", f->ipc + strlen("ipc://"));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    (void)connect(fd, (const struct sockaddr *)&address, sizeof address);
    return fd;
}

static int dial_tcp(const struct world_attached *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons((uint16_t)strtoul(strrchr(f->tcp, ':') + 1, NULL, 10));
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    (void)connect(fd, (const struct sockaddr *)&address, sizeof address);
    return fd;
}

typedef int dial_function(const struct world_attached *f);
static dial_function *const dials[] = {dial_ipc, dial_tcp};

/* -1: not connected. */
static int try_dial(const struct world_attached *f, size_t listener)
{
    struct sockaddr_storage peer;
    socklen_t bytes = sizeof peer;
    const int fd = dials[listener](f);
    if (getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0) {
        return fd;
    }
    (void)close(fd);
    return -1;
}

/* A listener that is reopened, or whose publisher is started again, refuses for a moment. */
static int dial_until_connected(const struct world_attached *f, size_t listener)
{
    int fd = -1;
    wait_for((fd = try_dial(f, listener)) >= 0);
    return fd;
}

/* -1: the connection has ended before the publisher's handshake. */
static int try_shake_hands(const struct world_attached *f, size_t listener)
{
    unsigned char answer[8];
    ssize_t got = -1;
    const int fd = dial_until_connected(f, listener);
    (void)send(fd, sub_handshake, sizeof sub_handshake, MSG_NOSIGNAL);
    wait_for((got = recv(fd, answer, sizeof answer, MSG_DONTWAIT | MSG_PEEK)) == 8 || got == 0 || (got < 0 && errno != EAGAIN));
    if (got == 8) {
        return fd;
    }
    (void)close(fd);
    return -1;
}

static bool take(struct oto_subscriber *subscriber, struct oto_wire_sample *sample)
{
    struct oto_error error = {0};
    return oto_subscriber_next(subscriber, 1, sample, &error) == OTO_OK && sample->payload != NULL;
}

static struct oto_subscriber *subscribe(const char *url)
{
    struct oto_subscriber *subscriber = NULL;
    struct oto_error error = {0};
    assert_ok(oto_subscriber_open(url, "w/car/imu", &subscriber, &error), error);
    return subscriber;
}

/* A new subscriber on each listener gets samples; the restart may take some seconds. */
static void assert_served(const struct world_attached *f)
{
    const char *const urls[] = {f->ipc, f->tcp};
    for (size_t i = 0; i < 2; i++) {
        struct oto_subscriber *subscriber = subscribe(urls[i]);
        struct oto_wire_sample sample;
        wait_for(take(subscriber, &sample));
        oto_subscriber_close(subscriber);
    }
}

static long publisher_pid(const struct world_attached *f)
{
    char text[32];
    world_info(f->client, "publisher_pid", text, sizeof text);
    return strtol(text, NULL, 10);
}

/* 0: the process has ended. */
static long status_kb(long pid, const char *key)
{
    char path[64], line[256];
    long kb = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            kb = strtol(line + strlen(key) + 1, NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kb;
}

/* Of the publisher that runs now: one may end between its pid and the reading, and another is started. */
static long publisher_kb(const struct world_attached *f, const char *key)
{
    long kb = 0;
    wait_for((kb = status_kb(publisher_pid(f), key)) > 0);
    return kb;
}

/* A sanitizer needs memory of its own and makes ticks slowly. */
#ifdef OTO_SANITIZED_BUILD
#define BOUND_KB (1 << 20)
#define ASAP_TICKS 200000
#else
#define BOUND_KB 65536
#define ASAP_TICKS 3000000
#endif

static void connect_and_close_a_thousand_times(void **state)
{
    struct world_attached *f = *state;
    for (int i = 0; i < 1000; i++) {
        (void)close(dials[i % 2](f));
    }
    assert_served(f);
    assert_true(publisher_kb(f, "VmRSS") < BOUND_KB);
}

static void half_a_handshake_a_thousand_times(void **state)
{
    struct world_attached *f = *state;
    for (int i = 0; i < 1000; i++) {
        const int fd = dials[i % 2](f);
        (void)send(fd, sub_handshake, 1 + (size_t)i % 7, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)close(fd);
    }
    assert_served(f);
}

static void silent_connections_take_no_place(void **state)
{
    struct world_attached *f = *state;
    enum { SILENT = 200 };
    int fds[SILENT];
    for (int i = 0; i < SILENT; i++) {
        fds[i] = dials[i % 2](f);
    }
    assert_served(f);
    for (int i = 0; i < SILENT; i++) {
        (void)close(fds[i]);
    }
}

static void wrong_protocols_are_closed(void **state)
{
    struct world_attached *f = *state;
    for (int i = 0; i < 20; i++) {
        const int fd = dial_until_connected(f, (size_t)i % 2);
        char byte[64];
        if (i < 10) {
            (void)send(fd, req_handshake, sizeof req_handshake, MSG_NOSIGNAL | MSG_DONTWAIT);
        } else {
            (void)send(fd, "GET /p% HTTP/1.1\r\n\r\n", 20, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        wait_for(recv(fd, byte, sizeof byte, MSG_DONTWAIT) == 0 || errno == ECONNRESET);
        (void)close(fd);
    }
    assert_served(f);
}

/* After a good handshake: a header that claims 4 GiB, and a small message, which a pub does not want either. */
static void lengths_and_messages_to_the_publisher_are_refused(void **state)
{
    struct world_attached *f = *state;
    static const unsigned char huge[2][9] = {{1, 0, 0, 0, 1, 0, 0, 0, 0}, {0, 0, 0, 1, 0, 0, 0, 0}};
    static const unsigned char small[2][13] = {{1, 0, 0, 0, 0, 0, 0, 0, 4, 'a', 'b', 'c', 'd'},
                                               {0, 0, 0, 0, 0, 0, 0, 4, 'a', 'b', 'c', 'd'}};
    const long before_kb = publisher_kb(f, "VmSize");
    for (size_t i = 0; i < 40; i++) {
        int fd = -1;
        wait_for((fd = try_shake_hands(f, i % 2)) >= 0);
        if (i < 20) {
            (void)send(fd, huge[i % 2], i % 2 == 0 ? 9 : 8, MSG_NOSIGNAL);
        } else {
            (void)send(fd, small[i % 2], i % 2 == 0 ? 13 : 12, MSG_NOSIGNAL);
        }
        unsigned char rest[65536];
        ssize_t got;
        wait_for(((got = recv(fd, rest, sizeof rest, MSG_DONTWAIT)) == 0) || (got < 0 && errno == ECONNRESET));
        (void)close(fd);
    }
    assert_served(f);
    assert_true(publisher_kb(f, "VmSize") < before_kb + (1 << 20));
    assert_true(publisher_kb(f, "VmRSS") < BOUND_KB);
}

static uint32_t open_descriptors_of(long pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    DIR *folder = opendir(path);
    uint32_t count = 0;
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return count > 0 ? count : UINT32_MAX;
}

/* A subscriber that connects and never reads: the others get their frames, and the publisher's memory is bounded. */
static void a_subscriber_that_never_reads_disturbs_nobody(void **state)
{
    struct world_attached *f = *state;
    int fds[4];
    for (size_t i = 0; i < 4; i++) {
        fds[i] = dials[i % 2](f);
        (void)send(fds[i], sub_handshake, sizeof sub_handshake, MSG_NOSIGNAL);
    }
    struct oto_subscriber *subscriber = subscribe(f->ipc);
    uint64_t last = 0;
    for (int count = 0; count < 400; count++) {
        struct oto_wire_sample sample;
        wait_for(take(subscriber, &sample));
        assert_true(last == 0 || sample.head.seq == last + 1 + sample.lost);
        last = sample.head.seq;
    }
    assert_true(publisher_kb(f, "VmRSS") < BOUND_KB);
    oto_subscriber_close(subscriber);
    for (size_t i = 0; i < 4; i++) {
        (void)close(fds[i]);
    }
}

/* In mode asap a frame has a hundred times the samples that it has in real time. */
static void many_that_never_read_take_no_more_memory_in_asap(void **state)
{
    const struct world_attached *f = *state;
    enum { SILENT = 60 };
    int fds[SILENT];
    for (size_t i = 0; i < SILENT; i++) {
        fds[i] = dials[i % 2](f);
        (void)send(fds[i], sub_handshake, sizeof sub_handshake, MSG_NOSIGNAL);
    }
    assert_served(f);
    world_advance(f->client, ASAP_TICKS);
    assert_true(publisher_kb(f, "VmRSS") < BOUND_KB);
    assert_served(f);
    for (size_t i = 0; i < SILENT; i++) {
        (void)close(fds[i]);
    }
}

static void more_subscribers_than_the_cap_are_turned_away_and_the_first_ones_kept(void **state)
{
    struct world_attached *f = *state;
    enum { MANY = 200 };
    int fds[MANY];
    struct oto_subscriber *first = subscribe(f->ipc);
    struct oto_wire_sample sample;
    wait_for(take(first, &sample));
    for (int i = 0; i < MANY; i++) {
        fds[i] = dial_tcp(f);
        (void)send(fds[i], sub_handshake, sizeof sub_handshake, MSG_NOSIGNAL);
    }
    /* More than two periods of the listener check: full connections are not a fault and must not cause a restart. */
    for (uint64_t last = 0; last < sample.head.seq + 600;) {
        struct oto_wire_sample next;
        wait_for(take(first, &next));
        assert_true(last == 0 || next.head.seq > last);
        last = next.head.seq;
    }
    for (int i = 0; i < MANY; i++) {
        (void)close(fds[i]);
    }
    assert_served(f);
    oto_subscriber_close(first);
}

/* nng 1.5.2 keeps data of each, which would stop the listener: the publisher restarts before that. */
static void short_subscribers_by_the_thousand_do_not_use_up_the_descriptors(void **state)
{
    const struct world_attached *f = *state;
    for (int i = 0; i < 3000; i++) {
        const int fd = dial_ipc(f);
        (void)send(fd, sub_handshake, sizeof sub_handshake, MSG_NOSIGNAL);
        (void)close(fd);
    }
    assert_served(f);
    wait_for(open_descriptors_of(publisher_pid(f)) < 300);
    assert_served(f);
}

static bool has_been_stopped_for_a_while(int64_t since_ms)
{
    return test_now_ms() - since_ms > 2500;
}

/* Whether the publisher and its listeners are the same after a pause of the publisher. */
static bool goes_on_after_a_pause(const struct world_attached *f, struct oto_subscriber *subscriber)
{
    struct oto_wire_sample sample;
    wait_for(take(subscriber, &sample));
    uint64_t seq = sample.head.seq;
    char *log = world_log(&f->world);
    const size_t seen = strlen(log);
    free(log);
    long pid = 0;
    wait_for((pid = publisher_pid(f)) != 0);
    const int64_t since_ms = test_now_ms();
    assert_int_equal(kill((pid_t)pid, SIGSTOP), 0);
    wait_for(has_been_stopped_for_a_while(since_ms));
    (void)kill((pid_t)pid, SIGCONT);
    for (int count = 0; count < 1000; count++) {
        wait_for(take(subscriber, &sample));
        if (sample.head.seq != seq + 1 + sample.lost) {
            print_error("sample %d: seq %llu after %llu with %llu lost, epoch %llx\n", count,
                        (unsigned long long)sample.head.seq, (unsigned long long)seq, (unsigned long long)sample.lost,
                        (unsigned long long)sample.epoch);
        }
        assert_int_equal(sample.head.seq, seq + 1 + sample.lost);
        seq = sample.head.seq;
    }
    log = world_log(&f->world);
    const bool same = publisher_pid(f) == pid && strstr(log + seen, "reopened") == NULL;
    if (!same) {
        print_error("the publisher or its listener is another one; the server said:\n%s", log);
    }
    free(log);
    return same;
}

/*
 * A pause of the publisher is not a fault of its listeners: no subscriber is dropped, and the loss is that of the
 * pause. On a busy machine its threads may starve by themselves, which is one: the pause is then made once more.
 */
static void a_publisher_that_was_stopped_goes_on(void **state)
{
    struct world_attached *f = *state;
    struct oto_subscriber *subscriber = subscribe(f->ipc);
    for (int round = 0; !goes_on_after_a_pause(f, subscriber); round++) {
        assert_true(round < 3);
    }
    oto_subscriber_close(subscriber);
}

static bool has_another_publisher(const struct world_attached *f, long than)
{
    const long pid = publisher_pid(f);
    return pid != 0 && pid != than;
}

/* As when nng holds its thread for good. */
static void a_publisher_that_hangs_is_replaced(void **state)
{
    struct world_attached *f = *state;
    long pid = 0;
    wait_for((pid = publisher_pid(f)) != 0);
    assert_int_equal(kill((pid_t)pid, SIGSTOP), 0);
    wait_for(has_another_publisher(f, pid));
    assert_served(f);
}

#define served(test) cmocka_unit_test_setup_teardown(test, set_up, world_attached_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        served(connect_and_close_a_thousand_times),
        served(half_a_handshake_a_thousand_times),
        served(silent_connections_take_no_place),
        served(wrong_protocols_are_closed),
        served(lengths_and_messages_to_the_publisher_are_refused),
        served(a_subscriber_that_never_reads_disturbs_nobody),
        cmocka_unit_test_setup_teardown(many_that_never_read_take_no_more_memory_in_asap, set_up_asap, world_attached_tear_down),
        served(more_subscribers_than_the_cap_are_turned_away_and_the_first_ones_kept),
        served(short_subscribers_by_the_thousand_do_not_use_up_the_descriptors),
        served(a_publisher_that_was_stopped_goes_on),
        served(a_publisher_that_hangs_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
