/*
 * A server that is killed in the middle of a tick, at instructions that its tick thread is stepped to: what stands in
 * its segment is that of an undisturbed run up to there, readers detect its death, and the next server starts a new run.
 */
#include "oto_test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "otolith/records.h"
#include "world_process.h"

#define KILLS 16
#define CHANNELS 2
#define TICKS 4000u /* of the undisturbed run */
#define MAX_STEPS 1000000u
#define RECORD_BYTES 512u

static const char *const yaml = "world: w\n"
                                "seed: 7\n"
                                "clock: {rate_hz: 1000}\n"
                                "vehicles:\n"
                                "  - name: car\n"
                                "    motion: {plugin: motion_script}\n"
                                "    nodes:\n"
                                "      - {name: imu, plugin: mems_imu, part: bosch/bmi270, rate_hz: 1000}\n";
static const char *const topics[CHANNELS] = {"car/imu", "car/motion"};

struct record {
    struct oto_sample_head head;
    uint64_t payload[RECORD_BYTES / 8];
};

/* The undisturbed run: record `seq` of channel c is undisturbed[c][seq]. */
static struct record *undisturbed[CHANNELS];

static const struct oto_channel *find(struct oto_client *client, int c)
{
    struct oto_error error = {0};
    const struct oto_channel *channel = oto_client_find(client, topics[c], &error);
    assert_ok(channel == NULL, error);
    assert_true(channel->type.bytes <= RECORD_BYTES);
    return channel;
}

/* ---- what an undisturbed run writes ---- */

static void record_undisturbed_run(struct world_process *world)
{
    static const char *const arguments[] = {"--no-publish", "--mode=asap", "--for=4s", "--start-paused", NULL};
    struct oto_reply reply;
    struct oto_error error = {0};
    world_start(world, arguments);
    struct oto_client *client = world_attach(world, "test");
    const struct oto_channel *channels[CHANNELS];
    struct oto_reader readers[CHANNELS];
    uint64_t next[CHANNELS];
    for (int c = 0; c < CHANNELS; c++) {
        channels[c] = find(client, c);
        readers[c] = oto_reader_make(channels[c], OTO_READ_FROM_OLDEST);
        undisturbed[c] = calloc(TICKS + 2, sizeof *undisturbed[c]);
    }
    assert_ok(oto_lossless_begin(client, channels, CHANNELS, &error), error);
    assert_ok(oto_control_resume(client, &reply, &error), error);
    const int64_t end_ms = test_now_ms() + TEST_DEADLINE_MS;
    while ((readers[0].cursor.next <= TICKS || readers[1].cursor.next <= TICKS) && test_now_ms() < end_ms) {
        for (int c = 0; c < CHANNELS; c++) {
            struct record *into = &undisturbed[c][readers[c].cursor.next];
            while (readers[c].cursor.next <= TICKS &&
                   oto_reader_next(&readers[c], &into->head, into->payload, RECORD_BYTES) == OTO_OK) {
                into = &undisturbed[c][readers[c].cursor.next];
            }
            next[c] = readers[c].cursor.next;
        }
        (void)oto_lossless_acknowledge(client, next, CHANNELS);
        test_yield();
    }
    assert_int_equal(readers[0].cursor.lost + readers[1].cursor.lost, 0);
    assert_int_equal(readers[0].cursor.next, TICKS + 1);
    assert_int_equal(readers[1].cursor.next, TICKS + 1);
    (void)oto_lossless_acknowledge(client, next, CHANNELS);
    assert_int_equal(world_wait(world), 0);
    oto_client_close(client);
}

/* ---- stepping the tick thread ---- */

static pid_t find_tick_thread(pid_t pid)
{
    char path[320], name[32];
    pid_t found = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    for (struct dirent *task = readdir(tasks); task != NULL && found == 0; task = readdir(tasks)) {
        (void)snprintf(path, sizeof path, "/proc/%d/task/%.32s/comm", (int)pid, task->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL) {
            found = fgets(name, sizeof name, file) != NULL && strcmp(name, "otolith-tick\n") == 0 ? atoi(task->d_name) : 0;
            (void)fclose(file);
        }
    }
    (void)closedir(tasks);
    assert_true(found > 0);
    return found;
}

static bool stands(pid_t thread)
{
    int how = 0;
    assert_int_equal(waitpid(thread, &how, __WALL), thread);
    return WIFSTOPPED(how);
}

static void step(pid_t thread)
{
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL), 0);
    assert_true(stands(thread));
}

/* Whether the writer is inside a record of the channel: the lock of the slot after the newest record's is odd. */
static bool is_being_written(const struct oto_channel *channel)
{
    const struct oto_ring_view *view = &channel->view;
    const uint64_t seq = oto_ring_newest(view) + 1;
    const void *slot = view->slots + ((seq - 1) & view->mask) * view->stride;
    return __atomic_load_n((const uint64_t *)slot, __ATOMIC_RELAXED) == 2 * seq + 1;
}

static uint32_t draw(uint32_t below)
{
    static uint32_t state = 2463534242u; /* Marsaglia 2003, xorshift32 */
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % below;
}

/* Kills the server where its tick thread is inside a record of the channel (NULL: anywhere), and some steps further. */
static void kill_within(struct world_process *world, const struct oto_channel *within, uint32_t further)
{
    const pid_t thread = find_tick_thread(world->pid);
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0) {
        print_message("skipped: processes may not be traced here (%s)\n", strerror(errno));
        skip();
    }
    assert_int_equal(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL), 0);
    assert_true(stands(thread));
    uint32_t steps = 0;
    for (; within != NULL && !is_being_written(within) && steps < MAX_STEPS; steps++) {
        step(thread);
    }
    assert_true(steps < MAX_STEPS);
    for (uint32_t i = 0; i < further; i++) {
        step(thread);
    }
    assert_int_equal(kill(world->pid, SIGKILL), 0);
    assert_false(stands(thread));
    assert_int_equal(world_wait(world), 128 + SIGKILL);
}

/* ---- what readers find ---- */

static void assert_as_undisturbed(struct oto_client *client, int c)
{
    struct record record;
    struct oto_reader reader = oto_reader_make(find(client, c), OTO_READ_FROM_OLDEST);
    const uint64_t newest = oto_ring_newest(&reader.channel->view);
    assert_true(newest > 0);
    while (oto_reader_next(&reader, &record.head, record.payload, sizeof record.payload) == OTO_OK) {
        if (record.head.seq > TICKS) {
            continue; /* a busy machine let it run that far */
        }
        const struct record *expected = &undisturbed[c][record.head.seq];
        assert_memory_equal(&record.head, &expected->head, sizeof record.head);
        assert_memory_equal(record.payload, expected->payload, reader.channel->type.bytes);
    }
    assert_int_equal(reader.cursor.next, newest + 1);
}

static uint64_t tick_of(const struct oto_client *client)
{
    struct oto_clock clock = {0};
    (void)oto_client_clock(client, &clock);
    return clock.tick;
}

/* Attaches to a server that has been started, and lets it run some ticks. */
static struct oto_client *run_on(struct world_process *world, uint64_t ticks)
{
    struct oto_reply reply;
    struct oto_error error = {0};
    struct oto_client *client = world_attach(world, "test");
    assert_ok(oto_control_resume(client, &reply, &error), error);
    wait_for(tick_of(client) >= ticks);
    return client;
}

static int set_up(void **state)
{
    return world_set_up(state, yaml);
}

static int tear_down(void **state)
{
    for (int c = 0; c < CHANNELS; c++) {
        free(undisturbed[c]);
    }
    return world_tear_down(state);
}

static void a_server_killed_at_any_instruction_leaves_whole_records(void **state)
{
    static const char *const arguments[] = {"--no-publish", "--start-paused", NULL};
    struct world_process *world = *state;
    struct oto_client *before = NULL;
#ifdef OTO_SANITIZED_BUILD
    print_message("skipped: instrumented code is not stepped through\n");
    skip();
#endif
    record_undisturbed_run(world);
    for (int i = 0; i < KILLS; i++) {
        world_start(world, arguments);
        struct oto_client *client = run_on(world, 2 + draw(50));
        if (before != NULL) { /* a client of the old segment can still read it, beside the new one */
            assert_true(oto_client_header(client)->epoch != oto_client_header(before)->epoch);
            assert_as_undisturbed(before, i % CHANNELS);
            oto_client_close(before);
        }
        const bool within = i % 4 != 0;
        kill_within(world, within ? find(client, i % CHANNELS) : NULL, within ? draw(600) : draw(20000));
        assert_int_equal(oto_client_wait_tick(client, UINT64_MAX, TEST_DEADLINE_MS), OTO_CLOSED);
        for (int c = 0; c < CHANNELS; c++) {
            assert_as_undisturbed(client, c);
        }
        before = client;
    }
    oto_client_close(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_server_killed_at_any_instruction_leaves_whole_records, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("writer_killed", tests, NULL, NULL);
}
