/* The publisher's socket: what its listeners may replace, and a queue that is shortened while a subscriber does not read. */
#include <endian.h>
#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "oto_test.h"
#include "publish/socket.h"

#include "base/monotonic.h"

#define PATIENCE_NS INT64_C(120000000000)

struct heard {
    char sentence[512];
};

static void on_endpoint(void *context, uint32_t index, const char *url)
{
    (void)context;
    (void)index;
    (void)url;
}

static void on_closed(void *context, uint32_t index)
{
    (void)context;
    assert_int_equal(index, 0);
}

static void on_event(void *context, const char *sentence)
{
    struct heard *heard = context;
    (void)snprintf(heard->sentence, sizeof heard->sentence, "%s", sentence);
}

static void a_listener_leaves_a_file_that_is_no_socket(void **unused)
{
    (void)unused;
    char root[] = "/tmp/oto-listen-XXXXXX", path[64], url[80], kept[8] = "";
    struct heard heard = {""};
    const struct srv_pub_options options = {
        .queue_depth = 16, .context = &heard, .endpoint = on_endpoint, .closed = on_closed, .event = on_event};
    struct srv_pub *pub = NULL;
    struct oto_error error = {0};
    assert_non_null(mkdtemp(root));
    (void)snprintf(path, sizeof path, "%s/notes", root);
    (void)snprintf(url, sizeof url, "ipc://%s", path);
    FILE *file = fopen(path, "w+");
    assert_true(fputs("notes", file) >= 0);
    assert_ok(srv_pub_open(&options, &pub, &error), error);
    assert_ok(srv_pub_listen(pub, url, &error), error); /* it retries every second */
    srv_pub_supervise(pub, INT64_C(10000000000));
    assert_non_null(strstr(heard.sentence, "is not a socket"));
    rewind(file);
    assert_non_null(fgets(kept, sizeof kept, file));
    assert_string_equal(kept, "notes");
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink(path), 0);
    srv_pub_supervise(pub, INT64_C(20000000000)); /* now there is room */
    assert_int_equal(access(path, F_OK), 0);
    srv_pub_close(pub);
    (void)unlink(path);
    assert_int_equal(rmdir(root), 0);
}

enum { SMALL_BYTES = 1000, LARGE_BYTES = 100000, SMALL_FRAMES = 10000, LARGE_FRAMES = 400, ROUNDS = 8 };

static void read_whole(int fd, void *to, size_t bytes)
{
    for (size_t got = 0; got < bytes;) {
        const ssize_t more = recv(fd, (unsigned char *)to + got, bytes - got, MSG_WAITALL);
        assert_true(more > 0 || (more < 0 && errno == EINTR)); /* as after a stop of the process */
        got += more > 0 ? (size_t)more : 0;
    }
}

/* A bare subscriber: nng's own always reads, so the publisher's queue for it is never full. */
static int subscribe_without_reading(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = 120};
    unsigned char greeting[8];
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(fd, "\0SP\0\0\x21\0\0", 8, 0), 8);
    read_whole(fd, greeting, sizeof greeting);
    return fd;
}

/* A frame has its number in each word. */
static void send_frame(struct srv_pub *pub, uint32_t number, size_t bytes)
{
    static uint32_t words[LARGE_BYTES / 4];
    for (size_t i = 0; i < bytes / 4; i++) {
        words[i] = number;
    }
    srv_pub_send(pub, words, bytes);
}

/* Returns the number of the next frame, after a check of each word. */
static uint32_t read_frame(int fd)
{
    static uint32_t words[LARGE_BYTES / 4];
    unsigned char head[9];
    uint64_t bytes;
    read_whole(fd, head, sizeof head);
    memcpy(&bytes, head + 1, sizeof bytes);
    bytes = be64toh(bytes);
    assert_true(head[0] == 1 && (bytes == SMALL_BYTES || bytes == LARGE_BYTES));
    read_whole(fd, words, bytes);
    for (size_t i = 1; i < bytes / 4; i++) {
        assert_int_equal(words[i], words[0]);
    }
    return words[0];
}

static void a_full_queue_that_is_shortened_keeps_whole_frames(void **unused)
{
    (void)unused;
    char root[] = "/tmp/oto-listen-XXXXXX", path[64], url[80];
    struct heard heard = {""};
    const struct srv_pub_options options = {
        .queue_depth = 8192, .context = &heard, .endpoint = on_endpoint, .closed = on_closed, .event = on_event};
    struct srv_pub *pub = NULL;
    struct oto_error error = {0};
    assert_non_null(mkdtemp(root));
    (void)snprintf(path, sizeof path, "%s/socket", root);
    (void)snprintf(url, sizeof url, "ipc://%s", path);
    assert_ok(srv_pub_open(&options, &pub, &error), error);
    assert_ok(srv_pub_listen(pub, url, &error), error);
    const int fd = subscribe_without_reading(path);
    uint32_t sent = 0, got = 0;
    for (const int64_t start_ns = srv_now_ns(); srv_pub_subscribers(pub) == 0;) {
        assert_true(srv_now_ns() - start_ns < PATIENCE_NS);
        (void)sched_yield();
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < SMALL_FRAMES; i++) {
            send_frame(pub, ++sent, SMALL_BYTES);
        }
        for (int i = 0; i < LARGE_FRAMES; i++) {
            send_frame(pub, ++sent, LARGE_BYTES);
            const uint32_t number = read_frame(fd);
            assert_in_range(number, got + 1, sent);
            got = number;
        }
    }
    (void)close(fd);
    srv_pub_close(pub);
    (void)unlink(path);
    assert_int_equal(rmdir(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listener_leaves_a_file_that_is_no_socket),
        cmocka_unit_test(a_full_queue_that_is_shortened_keeps_whole_frames),
    };
    return cmocka_run_group_tests_name("socket", tests, NULL, NULL);
}
