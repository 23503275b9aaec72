/* Server, publisher and plugin host without free descriptors: the world continues, and they recover when there are
 * some. */
#include "oto_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "otolith/records.h"
#include "world_process.h"

#define STORM 200
#define SILENT 30

static const char *const yaml = "world: w\n"
                                "seed: 7\n"
                                "clock: {rate_hz: 1000}\n"
                                "vehicles:\n"
                                "  - name: car\n"
                                "    motion: {plugin: motion_script}\n"
                                "    nodes:\n"
                                "      - {name: imu, plugin: mems_imu, rate_hz: 200}\n"
                                "      - {name: apart, plugin: mems_imu, rate_hz: 100, isolation: {process: lab}}\n"
                                "publish: {listen: [ipc], coalesce_ms: 5}\n";

static int set_up(void **state)
{
    struct world_attached *f = world_attached_set_up(state, yaml, NULL);
    world_endpoint(&f->world, f->client, 0, f->ipc, sizeof f->ipc);
    wait_for(world_counter(f->client, OTO_COUNTER_CLIENTS) == 2); /* this test and the publisher: no connection is about to be closed */
    return 0;
}

/* ---- descriptors ---- */

/* The number of the next descriptor of the process: the kernel gives the lowest free one. */
static rlim_t next_descriptor(pid_t pid)
{
    char path[64];
    rlim_t fd = 0;
    do {
        (void)snprintf(path, sizeof path, "/proc/%ld/fd/%lu", (long)pid, (unsigned long)fd++);
    } while (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    return fd - 1;
}

/* From now on the process may open about `spare` descriptors more, and none at 0; its old limit. */
static struct rlimit take_descriptors(pid_t pid, rlim_t spare)
{
    struct rlimit old;
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, NULL, &old), 0);
    const struct rlimit none = {.rlim_cur = next_descriptor(pid) + spare, .rlim_max = old.rlim_max};
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &none, NULL), 0);
    return old;
}

/* From now on the process opens nothing more, also not at the numbers that it frees. */
static struct rlimit take_all_descriptors(pid_t pid)
{
    struct rlimit old;
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, NULL, &old), 0);
    const struct rlimit none = {.rlim_cur = STDERR_FILENO + 1, .rlim_max = old.rlim_max};
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &none, NULL), 0);
    return old;
}

static void give_descriptors(pid_t pid, const struct rlimit *old)
{
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, old, NULL), 0);
}

/* ---- facts ---- */

static pid_t publisher_pid(const struct world_attached *f)
{
    char text[32];
    world_info(f->client, "publisher_pid", text, sizeof text);
    return (pid_t)strtol(text, NULL, 10);
}

static void assert_same_publisher(const struct world_attached *f, pid_t pid)
{
    if (publisher_pid(f) != pid) {
        char *log = world_log(&f->world);
        print_error("the publisher is another one; the server said:\n%s", log);
        free(log);
        fail();
    }
}

static pid_t host_pid(const struct world_attached *f)
{
    char text[32];
    world_host_info(f->client, "lab", "pid", text, sizeof text);
    return (pid_t)strtol(text, NULL, 10);
}

static void assert_ticking(const struct world_attached *f)
{
    world_advance(f->client, 10);
}

static bool take(struct oto_subscriber *subscriber)
{
    struct oto_error error = {0};
    struct oto_wire_sample sample = {0};
    return oto_subscriber_next(subscriber, 1, &sample, &error) == OTO_OK && sample.payload != NULL;
}

static struct oto_subscriber *subscribe(const struct world_attached *f)
{
    struct oto_subscriber *subscriber = NULL;
    struct oto_error error = {0};
    assert_ok(oto_subscriber_open(f->ipc, "w/car/imu", &subscriber, &error), error);
    return subscriber;
}

static void assert_new_subscriber_is_served(const struct world_attached *f)
{
    struct oto_subscriber *subscriber = subscribe(f);
    wait_for(take(subscriber));
    oto_subscriber_close(subscriber);
}

/* A sample of the isolated node that is made now, and not the last one once more. */
static bool is_fresh(struct oto_reader *reader)
{
    struct oto_sample_head head;
    struct oto_imu_record record;
    bool fresh = false;
    while (oto_reader_next(reader, &head, &record, sizeof record) == OTO_OK) {
        fresh = fresh || (head.flags & OTO_SAMPLE_STALE) == 0;
    }
    return fresh;
}

static void assert_isolated_node_samples(const struct world_attached *f)
{
    struct oto_error error = {0};
    struct oto_reader reader = oto_reader_make(oto_client_find(f->client, "car/apart", &error), OTO_READ_FROM_NOW);
    wait_for(is_fresh(&reader));
}

/* ---- cases ---- */

static void storm(const struct world_attached *f, int *fds, unsigned count)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", f->ipc + strlen("ipc://"));
    for (unsigned i = 0; i < count; i++) {
        fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(fds[i] >= 0);
        (void)connect(fds[i], (const struct sockaddr *)&address, sizeof address);
    }
}

static void a_publisher_without_descriptors_serves_those_it_has_and_later_others(void **state)
{
    struct world_attached *f = *state;
    static int fds[STORM];
    int silent[SILENT];
    for (rlim_t spare = 0; spare < 3; spare++) {
        wait_for(publisher_pid(f) != 0);
        struct oto_subscriber *early = subscribe(f);
        wait_for(take(early));
        const pid_t pid = publisher_pid(f);
        const rlim_t before = next_descriptor(pid);
        storm(f, silent, SILENT); /* connections without a handshake: they are not a leak, however low the limit */
        wait_for(next_descriptor(pid) >= before + SILENT);
        const struct rlimit old = take_descriptors(pid, spare);
        storm(f, fds, STORM);
        world_advance(f->client, 1500); /* after its listener check, which runs each second */
        for (int i = 0; i < 20; i++) {
            wait_for(take(early));
        }
        for (int i = 0; i < STORM; i++) {
            (void)close(fds[i]);
        }
        for (int i = 0; i < SILENT; i++) {
            (void)close(silent[i]);
        }
        assert_same_publisher(f, pid);
        give_descriptors(pid, &old);
        assert_new_subscriber_is_served(f);
        oto_subscriber_close(early);
    }
}

/* The server starts its processes when descriptors are free again. */
static void a_server_without_descriptors_starts_its_children_later(void **state)
{
    struct world_attached *f = *state;
    assert_isolated_node_samples(f);
    pid_t publisher = 0, host = 0;
    wait_for((publisher = publisher_pid(f)) != 0 && (host = host_pid(f)) != 0);
    const struct rlimit old = take_all_descriptors(f->world.pid);
    assert_int_equal(kill(publisher, SIGKILL), 0);
    assert_int_equal(kill(host, SIGKILL), 0);
    wait_for(publisher_pid(f) == 0);
    wait_for(host_pid(f) == 0);
    world_advance(f->client, 3000); /* it tries in vain */
    assert_int_equal(publisher_pid(f), 0);
    assert_int_equal(host_pid(f), 0);
    give_descriptors(f->world.pid, &old);
    wait_for(publisher_pid(f) != 0);
    wait_for(host_pid(f) != 0);
    assert_new_subscriber_is_served(f);
    assert_isolated_node_samples(f);
}

static void a_server_without_descriptors_refuses_and_says_why(void **state)
{
    struct world_attached *f = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    char path[96];
    (void)snprintf(path, sizeof path, "%s/no.ckpt", f->world.root);
    const struct rlimit old = take_descriptors(f->world.pid, 0);
    assert_int_not_equal(oto_control_checkpoint(f->client, path, &reply, &error), OTO_OK);
    assert_non_null(strstr(error.text, "Too many open files"));
    assert_int_not_equal(oto_control_swap(f->client, "car/imu", "mems_imu", &reply, &error), OTO_OK);
    assert_non_null(strstr(error.text, "Too many open files"));
    struct oto_client *late = NULL;
    const struct oto_client_options options = {.size = sizeof options, .world = WORLD_NAME, .name = "late"};
    assert_int_not_equal(oto_client_open(&options, &late, &error), OTO_OK);
    assert_non_null(strstr(error.text, "out of file descriptors"));
    assert_ticking(f);
    give_descriptors(f->world.pid, &old);
    assert_ok(oto_control_checkpoint(f->client, path, &reply, &error), error);
    assert_ok(oto_control_swap(f->client, "car/imu", "mems_imu", &reply, &error), error);
    oto_client_close(world_attach(&f->world, "late"));
    assert_new_subscriber_is_served(f);
}

/* Whether the host is the same; a busy machine may silence it for half a second, and another one is started. */
static bool samples_on_without_descriptors(const struct world_attached *f)
{
    pid_t host = 0;
    assert_isolated_node_samples(f);
    wait_for((host = host_pid(f)) != 0);
    const struct rlimit old = take_descriptors(host, 0);
    assert_isolated_node_samples(f);
    const bool same = host_pid(f) == host;
    if (same) {
        give_descriptors(host, &old);
    } else {
        world_assert_said(&f->world, "the plugin host did not answer and was ended");
    }
    return same;
}

static void a_plugin_host_without_descriptors_samples_on(void **state)
{
    struct world_attached *f = *state;
    for (int round = 0; !samples_on_without_descriptors(f); round++) {
        assert_true(round < 3);
    }
    assert_ticking(f);
}

/* Whether the server logged a message about descriptors after the first `*seen` bytes. */
static bool complains(const struct world_attached *f, size_t *seen)
{
    char *log = world_log(&f->world);
    const bool found = strstr(log + *seen, "oo many open files") != NULL;
    *seen = strlen(log);
    free(log);
    return found;
}

/* As `ulimit -n` before the start: too few descriptors end the start with a sentence, not with a library's abort(). */
static void a_server_with_too_few_descriptors_says_so_and_leaves_nothing(void **state)
{
    struct world_attached *f = *state;
    oto_client_close(f->client);
    f->client = NULL;
    assert_int_equal(world_stop(&f->world), 0);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    const rlim_t own = next_descriptor(getpid()); /* which the server inherits */
    size_t seen = 0;
    for (rlim_t few = own + 4; few <= own + 44; few += 4) {
        const struct rlimit limit = {.rlim_cur = few, .rlim_max = old.rlim_max};
        static const char *const arguments[] = {"--for=20ms", "--mode=asap", NULL};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        world_start(&f->world, arguments);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        const int code = world_wait(&f->world);
        const bool complained = complains(f, &seen);
        assert_true(code == 0 || (code == 1 && complained));
        assert_true(few > own + 12 || code == 1);
        assert_false(world_left_something(&f->world));
    }
}

#define with(test) cmocka_unit_test_setup_teardown(test, set_up, world_attached_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with(a_publisher_without_descriptors_serves_those_it_has_and_later_others),
        with(a_server_without_descriptors_starts_its_children_later),
        with(a_server_without_descriptors_refuses_and_says_why),
        with(a_plugin_host_without_descriptors_samples_on),
        with(a_server_with_too_few_descriptors_says_so_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
