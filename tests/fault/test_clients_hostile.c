/* Hostile and dying clients of the control socket and the segment: the world and the other clients are not disturbed. */
#include "oto_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "otolith/records.h"
#include "world_process.h"

#define SILENT_MS 5000 /* after which the server closes a connection that has said nothing */

static int set_up(void **state)
{
    static const char *const arguments[] = {"--no-publish", NULL};
    return world_attached_set_up(state, NULL, arguments) != NULL ? 0 : -1;
}

static int set_up_fast(void **state)
{
    static const char *const arguments[] = {"--no-publish", "--mode=asap", "--start-paused", NULL};
    return world_attached_set_up(state, NULL, arguments) != NULL ? 0 : -1;
}

/* The world still ticks, and the control socket answers. */
static void assert_well(const struct world_attached *f)
{
    struct oto_error error = {0};
    struct oto_reply reply;
    world_advance(f->client, 10);
    assert_ok(oto_control_info(f->client, &reply, &error), error);
}

static int dial(const struct world_attached *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/otolith/w/control.sock", f->world.root);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    wait_for(connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 || errno != EAGAIN);
    return fd;
}

static void a_thousand_clients_are_told_so_and_the_world_goes_on(void **state)
{
    struct world_attached *f = *state;
    enum { MANY = 950 };
    static int fds[MANY];
    uint32_t told = 0, served = 63; /* beside the client of the test */
    const int64_t begin_ms = test_now_ms();
    for (int i = 0; i < MANY; i++) {
        fds[i] = dial(f);
    }
    for (int i = 63; i < MANY; i++) {
        char text[1024];
        ssize_t got = -1;
        wait_for((got = recv(fds[i], text, sizeof text, MSG_DONTWAIT)) >= 0 || errno != EAGAIN);
        if (got > 0) {
            assert_non_null(memmem(text, (size_t)got, "64 clients", 10));
            told++;
        } else { /* dialled so late that it got the place of a silent one, and lost it in the same way */
            served++;
        }
    }
    assert_int_equal(told + served, MANY);
    assert_true(served <= 63 * (1 + (test_now_ms() - begin_ms) / SILENT_MS));
    assert_well(f);
    assert_true(world_counter(f->client, OTO_COUNTER_CLIENTS) <= 64);
    for (int i = 0; i < MANY; i++) {
        (void)close(fds[i]);
    }
    wait_for(world_counter(f->client, OTO_COUNTER_CLIENTS) == 1);
    oto_client_close(world_attach(&f->world, "late"));
}

static bool has_ended(int fd)
{
    char text[1024];
    return recv(fd, text, sizeof text, MSG_DONTWAIT) == 0;
}

static void silent_connections_lose_their_place(void **state)
{
    struct world_attached *f = *state;
    int fds[63];
    for (int i = 0; i < 63; i++) {
        fds[i] = dial(f);
    }
    wait_for(world_counter(f->client, OTO_COUNTER_CLIENTS) == 64 || has_ended(fds[0])); /* on a slow machine the first has lost it already */
    oto_client_close(world_attach(&f->world, "patient")); /* served when the silent ones have been let go */
    for (int i = 0; i < 63; i++) {
        (void)close(fds[i]);
    }
    assert_well(f);
}

/* This program again, as a reader: it attaches, writes a byte to `ready`, wakes on ticks, and reads until it is ended. */
static int read_for_ever(bool lossless, int ready)
{
    struct oto_error error = {0};
    struct oto_client *client = NULL;
    const struct oto_client_options options = {.size = sizeof options, .world = WORLD_NAME, .name = "reader"};
    if (oto_client_open(&options, &client, &error) != OTO_OK) {
        return 1;
    }
    const struct oto_channel *imu = oto_client_find(client, "car/imu", &error);
    if (lossless && oto_lossless_begin(client, &imu, 1, &error) != OTO_OK) {
        return 1;
    }
    struct oto_reader reader = oto_reader_make(imu, OTO_READ_FROM_NOW);
    if (write(ready, "r", 1) != 1) {
        return 1;
    }
    struct oto_sample_head head;
    struct oto_imu_record record;
    struct oto_clock clock = {0};
    for (;;) {
        while (oto_reader_next(&reader, &head, &record, sizeof record) == OTO_OK) {
        }
        if (lossless) {
            (void)oto_lossless_acknowledge(client, &reader.cursor.next, 1);
        }
        (void)oto_client_clock(client, &clock);
        if (oto_client_wait_tick(client, clock.tick, 1000) == OTO_CLOSED) {
            return 0;
        }
    }
}

/* Returns when the reader reads; a lossless one has been accepted as such. */
static pid_t spawn_reader(const char *how)
{
    int ready[2];
    char end[16], path[512] = "", said;
    assert_int_equal(pipe(ready), 0);
    (void)snprintf(end, sizeof end, "%d", ready[1]);
    char *argv[] = {(char[]){"/proc/self/exe"}, (char *)(uintptr_t)how, end, NULL};
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    pid_t pid = 0;
    assert_int_equal(posix_spawn(&pid, path, NULL, NULL, argv, environ), 0);
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &said, 1), 1);
    (void)close(ready[0]);
    return pid;
}

static void end_reader(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void readers_killed_and_stopped_in_the_middle_disturb_nobody(void **state)
{
    struct world_attached *f = *state;
    for (int round = 0; round < 5; round++) {
        pid_t pids[4];
        for (int i = 0; i < 4; i++) {
            pids[i] = spawn_reader("--read");
        }
        wait_for(world_counter(f->client, OTO_COUNTER_CLIENTS) == 5);
        world_advance(f->client, 20);
        assert_int_equal(kill(pids[0], SIGSTOP), 0);
        assert_int_equal(kill(pids[1], SIGSTOP), 0);
        end_reader(pids[2]);
        end_reader(pids[3]);
        wait_for(world_counter(f->client, OTO_COUNTER_CLIENTS) == 3);
        assert_well(f);
        end_reader(pids[0]);
        end_reader(pids[1]);
        wait_for(world_counter(f->client, OTO_COUNTER_CLIENTS) == 1);
    }
    assert_well(f); /* the tick that was under way may have woken them once more */
    const uint64_t wakes = world_counter(f->client, OTO_COUNTER_WAKES);
    assert_well(f);
    assert_int_equal(world_counter(f->client, OTO_COUNTER_WAKES),
                     wakes); /* no client is registered for wakes any more */
    assert_int_equal(world_counter(f->client, OTO_COUNTER_LOSSLESS_DEMOTED), 0);
}

static void a_lossless_reader_that_is_killed_releases_the_tick(void **state)
{
    struct world_attached *f = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    const pid_t pid = spawn_reader("--lossless");
    wait_for(world_counter(f->client, OTO_COUNTER_CLIENTS) == 2);
    assert_ok(oto_control_resume(f->client, &reply, &error), error);
    world_advance(f->client, 20000);
    end_reader(pid);
    assert_well(f);
    assert_int_equal(world_counter(f->client, OTO_COUNTER_LOSSLESS_DEMOTED), 0);
}

static void a_lossless_reader_that_is_stopped_is_demoted(void **state)
{
    struct world_attached *f = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    const pid_t pid = spawn_reader("--lossless");
    wait_for(world_counter(f->client, OTO_COUNTER_CLIENTS) == 2);
    assert_ok(oto_control_resume(f->client, &reply, &error), error);
    world_advance(f->client, 20000);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    wait_for(world_counter(f->client, OTO_COUNTER_LOSSLESS_DEMOTED) == 1);
    assert_well(f);
    end_reader(pid);
}

static void descriptors_of_the_server_come_back(void **state)
{
    struct world_attached *f = *state;
    for (int round = 0; round < 200; round++) {
        struct oto_client *client = world_attach(&f->world, "guest");
        oto_client_close(client);
    }
    wait_for(world_counter(f->client, OTO_COUNTER_CLIENTS) == 1);
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/fd/100", (long)f->world.pid);
    assert_int_equal(access(path, F_OK), -1);
    assert_well(f);
}

#define with(test, start) cmocka_unit_test_setup_teardown(test, start, world_attached_tear_down)

int main(int argc, char **argv)
{
    if (argc > 2) {
        return read_for_ever(strcmp(argv[1], "--lossless") == 0, atoi(argv[2]));
    }
    const struct CMUnitTest tests[] = {
        with(a_thousand_clients_are_told_so_and_the_world_goes_on, set_up),
        with(silent_connections_lose_their_place, set_up),
        with(readers_killed_and_stopped_in_the_middle_disturb_nobody, set_up),
        with(a_lossless_reader_that_is_killed_releases_the_tick, set_up_fast),
        with(a_lossless_reader_that_is_stopped_is_demoted, set_up_fast),
        with(descriptors_of_the_server_come_back, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
