/* The journal of a paced run without a reader: nothing waits, and lost entries are counted and reported. */
#include "fixture.h"

#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/log/run_observer.h"
#include "sim/run_log.h"
#include "daemon/thread/journal.h"

enum { RECORDS_OF_A_TICK = 2, TOLD_COMMANDS = 2 }; /* the beginning of the hashes, and those of the nodes; RESUME and PAUSE */

static void begin(struct fixture *fixture)
{
    fixture_begin(fixture, 1000, 1);
    fixture->config.clock.scale = 20.0;
    fixture->options.journal_every = 1;
    fixture_vehicle(fixture, "car", "motion_script");
    (void)fixture_sensor(fixture, "sensor", "counter", 100, 1);
}

static void wait_until_full(const struct fixture *fixture)
{
    const struct timespec moment = {0, 1000000};
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while (srv_engine_records_lost(fixture->engine) == 0) {
        assert_true(fixture_now_ns() < deadline_ns);
        (void)nanosleep(&moment, NULL);
    }
}

static void a_paced_tick_does_not_wait_for_room_and_counts_what_it_could_not_tell(void **unused)
{
    struct fixture fixture;
    struct srv_journal_record record;
    struct oto_clock clock;
    uint64_t taken = 0;
    (void)unused;
    begin(&fixture);
    fixture_start(&fixture);
    (void)fixture_do(&fixture, SRV_COMMAND_RESUME);
    wait_until_full(&fixture);
    (void)fixture_do(&fixture, SRV_COMMAND_PAUSE);
    assert_int_equal(oto_segment_clock(srv_engine_segment(fixture.engine), &clock), OTO_OK);
    const uint64_t told = RECORDS_OF_A_TICK * (clock.tick + 1) + TOLD_COMMANDS;
    for (uint64_t tick = 0; srv_engine_take_record(fixture.engine, &record); taken++) {
        assert_true(record.tick >= tick);
        tick = record.tick;
    }
    assert_int_equal(taken, SRV_JOURNAL_RECORDS);
    assert_int_equal(srv_engine_records_lost(fixture.engine), told - taken);
    fixture_step(&fixture, 3);
    for (taken = 0; srv_engine_take_record(fixture.engine, &record); taken++) {
    }
    assert_int_equal(taken, 3 * RECORDS_OF_A_TICK + 1); /* there is room again; the STEP is reported too */
    assert_int_equal(srv_engine_records_lost(fixture.engine), told - SRV_JOURNAL_RECORDS);
    fixture_end(&fixture);
}

/* ---- the file ---- */

struct logged {
    struct fixture fixture;
    uv_loop_t loop;
    struct srv_command_queue *command_queue;
    struct srv_run_observer *run_observer;
    char path[64];
};

static void open_log(struct logged *logged)
{
    struct oto_error error = {0};
    struct srv_log_writer *log = NULL;
    (void)strcpy(logged->path, "/tmp/otolith-journal-XXXXXX");
    const int fd = mkstemp(logged->path);
    assert_true(fd >= 0);
    (void)close(fd);
    const struct srv_log_facts facts = {.path = logged->path, .world_path = "/proc/self/comm", .every = 1};
    assert_int_equal(uv_loop_init(&logged->loop), 0);
    assert_ok(srv_command_queue_create(&logged->loop, logged->fixture.engine, &logged->command_queue, &error), error);
    assert_ok(srv_log_writer_create(&facts, &logged->fixture.config, logged->fixture.engine, &log, &error), error);
    assert_ok(srv_run_observer_create(&logged->loop, logged->fixture.engine, logged->command_queue, log, NULL,
                                      &logged->run_observer, &error),
              error);
}

static void close_log(struct logged *logged, bool complete)
{
    assert_int_equal(srv_run_observer_stop(logged->run_observer), complete);
    srv_command_queue_stop(logged->command_queue);
    (void)uv_run(&logged->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&logged->loop), 0);
    srv_run_observer_destroy(logged->run_observer);
    srv_command_queue_destroy(logged->command_queue);
}

/* Records that the log says were lost; its other entries are whole, or this ends the test. */
static uint64_t read_lost(const char *path)
{
    struct oto_run_log_reader *reader = NULL;
    struct oto_run_log_line line;
    struct oto_error error = {0};
    uint64_t lost = 0, records = 0, hashes = 0, words[2];
    enum oto_status status = oto_run_log_open(path, &reader, &line, &error);
    for (; status == OTO_OK; status = oto_run_log_next(reader, &line, &error)) {
        if (strcmp(line.entry, "lost") == 0) {
            assert_true(oto_run_log_number(&line, "records", &records));
            lost += records;
        } else if (strcmp(line.entry, "hashes") == 0) {
            assert_true(oto_run_log_words(&line, "nodes", words, 2));
            hashes++;
        }
    }
    assert_int_equal(status, OTO_CLOSED);
    assert_string_equal(line.entry, "end");
    assert_true(hashes > SRV_JOURNAL_RECORDS / RECORDS_OF_A_TICK - 4);
    oto_run_log_close(reader);
    return lost;
}

static void the_log_says_what_found_no_room(void **unused)
{
    struct logged logged = {0};
    (void)unused;
    begin(&logged.fixture);
    logged.fixture.options.start_paused = false;
    fixture_create(&logged.fixture);
    open_log(&logged);
    fixture_start(&logged.fixture);
    wait_until_full(&logged.fixture); /* the event loop is not run */
    (void)fixture_do(&logged.fixture, SRV_COMMAND_PAUSE);
    const uint64_t lost = srv_engine_records_lost(logged.fixture.engine);
    close_log(&logged, false);
    assert_int_equal(read_lost(logged.path), lost);
    (void)unlink(logged.path);
    fixture_end(&logged.fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_paced_tick_does_not_wait_for_room_and_counts_what_it_could_not_tell),
        cmocka_unit_test(the_log_says_what_found_no_room),
    };
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
