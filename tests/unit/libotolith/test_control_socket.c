/* A control socket on which there is always another datagram: recvmsg is ours here, and gives it. */
#include <oto_test.h>

#include <sys/socket.h>
#include <time.h>

#include "attach/control_socket.h"

#define PATIENCE_S 300

static unsigned char stale[256];
static size_t stale_bytes;
static time_t give_up_at_s;

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    struct timespec now;
    (void)fd;
    (void)flags;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > give_up_at_s) {
        fail_msg("the deadline of 30 ms has passed %d s ago", PATIENCE_S);
    }
    memcpy(message->msg_iov[0].iov_base, stale, stale_bytes);
    message->msg_controllen = 0;
    message->msg_flags = 0;
    return (ssize_t)stale_bytes;
}

static void replies_to_others_without_end_do_not_hold_a_client(void **state)
{
    (void)state;
    struct oto_control_socket *control = calloc(1, sizeof *control);
    struct oto_message_writer writer;
    struct oto_error error = {0};
    struct timespec now;
    int ends[2];
    assert_non_null(control);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    control->fd = ends[0];
    oto_message_begin(&writer, stale, sizeof stale, 77, "reply");
    stale_bytes = oto_message_finish(&writer);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    give_up_at_s = now.tv_sec + PATIENCE_S;
    writer = oto_control_request(control, OTO_VERB_PAUSE);
    assert_int_equal(oto_control_exchange(control, &writer, 30, NULL, &error), OTO_TIMEOUT);
    assert_non_null(strstr(error.text, "30 ms"));
    (void)close(ends[0]);
    (void)close(ends[1]);
    free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_to_others_without_end_do_not_hold_a_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
