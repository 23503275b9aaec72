/* A control socket on which there is always another datagram: recvmsg is ours here, and gives it, also after an error. */
#include <oto_test.h>

#include <errno.h>
#include <sys/socket.h>
#include <time.h>

#include "attach/control_socket.h"

#define PATIENCE_S 300

static unsigned char stale[256];
static size_t stale_bytes;
static time_t give_up_at_s;
static int reset_count; /* first this often ECONNRESET */

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    struct timespec now;
    (void)fd;
    (void)flags;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > give_up_at_s) {
        fail_msg("the deadline of 30 ms has passed %d s ago", PATIENCE_S);
    }
    if (reset_count > 0) {
        reset_count--;
        errno = ECONNRESET;
        return -1;
    }
    memcpy(message->msg_iov[0].iov_base, stale, stale_bytes);
    message->msg_controllen = 0;
    message->msg_flags = 0;
    return (ssize_t)stale_bytes;
}

static struct oto_control_socket *open_pair(int ends[2], uint64_t reply_id)
{
    struct oto_control_socket *control = calloc(1, sizeof *control);
    struct oto_message_writer writer;
    struct timespec now;
    assert_non_null(control);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    control->fd = ends[0];
    oto_message_begin(&writer, stale, sizeof stale, reply_id, "reply");
    oto_message_add_u64(&writer, "status", OTO_OK);
    stale_bytes = oto_message_finish(&writer);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    give_up_at_s = now.tv_sec + PATIENCE_S;
    return control;
}

static void close_pair(struct oto_control_socket *control, const int ends[2])
{
    (void)close(ends[0]);
    (void)close(ends[1]);
    free(control);
}

static void replies_to_others_without_end_do_not_hold_a_client(void **state)
{
    (void)state;
    int ends[2];
    struct oto_control_socket *control = open_pair(ends, 77);
    struct oto_error error = {0};
    struct oto_message_writer writer = oto_control_request(control, OTO_VERB_PAUSE);
    assert_int_equal(oto_control_exchange(control, &writer, 30, NULL, &error), OTO_TIMEOUT);
    assert_non_null(strstr(error.text, "30 ms"));
    close_pair(control, ends);
}

/* The kernel reports first that the peer closed with a request unread, then it gives what the peer sent before. */
static void a_reply_before_a_reset_is_read(void **state)
{
    (void)state;
    int ends[2];
    struct oto_control_socket *control = open_pair(ends, 1);
    struct oto_error error = {0};
    struct oto_message_writer writer = oto_control_request(control, OTO_VERB_PAUSE);
    reset_count = 1;
    assert_ok(oto_control_exchange(control, &writer, PATIENCE_S * 1000, NULL, &error), error);
    writer = oto_control_request(control, OTO_VERB_PAUSE);
    reset_count = 2;
    assert_int_equal(oto_control_exchange(control, &writer, PATIENCE_S * 1000, NULL, &error), OTO_CLOSED);
    reset_count = 0;
    close_pair(control, ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_to_others_without_end_do_not_hold_a_client),
        cmocka_unit_test(a_reply_before_a_reset_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
