/* Swaps that fail at any step, many swaps, and new code under an old name: the run is the one that it would have been. */
#include "fixture.h"

#include <sched.h>

#include "base/monotonic.h"

#define WITNESS 1
#define COUNT 2
#define TICKS 2000
#define PATIENCE_NS INT64_C(120000000000)
/* Each brings a host there. */
#define SWAPS (FIXTURE_ISOLATED ? 60 : 1000)
#define REBUILDS (FIXTURE_ISOLATED ? 20 : 100)

static void begin(struct fixture *fixture)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    fixture_set(fixture_sensor(fixture, "witness", "witness", 1000, 1), "delay_ms", "7.7");
    (void)fixture_sensor(fixture, "count", "counter", 1000, 1);
    fixture->config.clock.mode = OTO_MODE_STEP;
    fixture_start(fixture);
}

static uint64_t undisturbed(uint64_t ticks)
{
    struct fixture fixture;
    begin(&fixture);
    fixture_step(&fixture, ticks);
    const uint64_t hash = fixture_clock(&fixture).state_hash;
    fixture_end(&fixture);
    return hash;
}

/* ---- a failure at each step ---- */

static enum oto_status probe_refuses(const struct srv_probe_request *request, struct srv_probe_result *result,
                                     struct oto_error *error)
{
    memset(result, 0, sizeof *result);
    assert_int_equal(request->input_count, SRV_PROBE_INPUTS);
    assert_int_equal(request->start, SRV_START_COPY);
    assert_int_equal(request->state_bytes, 2 * sizeof(double));
    double counted;
    memcpy(&counted, (const unsigned char *)request->state + sizeof(double), sizeof counted);
    assert_near(counted, 500.0, 0.0); /* the live state, at a boundary */
    assert_int_equal(request->inputs[SRV_PROBE_INPUTS - 1].at.t_ns, 500000000);
    return oto_fail(error, OTO_PLUGIN, "the probe says no");
}

struct failure {
    const char *plugin, *yaml;
    srv_probe_function *probe;
    bool resets;
    const char *why;
};

static enum oto_status try_swap(struct fixture *fixture, const struct failure *failure, struct oto_error *error)
{
    char path[512], params[512];
    struct srv_node_change *change = NULL;
    const struct srv_swap_options options = {
        .plugin = fixture_plugin(path, sizeof path, failure->plugin),
        .params_path = failure->yaml != NULL ? fixture_params(params, sizeof params, failure->yaml) : NULL,
        .probe = failure->probe,
        .reset_state = failure->resets};
    enum oto_status status = srv_sim_swap_load(srv_engine_sim(fixture->engine), COUNT, &options, &change, error);
    if (status == OTO_OK && srv_swap_wants_snapshot(change)) {
        const struct srv_command snapshot = {.kind = SRV_COMMAND_SNAPSHOT, .change = change};
        status = fixture_command(fixture, snapshot).status;
    }
    if (status == OTO_OK) {
        status = srv_sim_swap_ready(srv_engine_sim(fixture->engine), change, error);
    }
    if (status == OTO_OK) {
        const struct srv_reply reply =
            fixture_command(fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
        status = reply.status;
        if (status != OTO_OK) {
            (void)oto_fail(error, status, "%s", reply.reason);
        }
    }
    (void)srv_change_free(change);
    if (options.params_path != NULL) {
        (void)unlink(options.params_path);
    }
    return status;
}

static void a_failure_at_any_step_leaves_the_run_as_it_was(void **unused)
{
    (void)unused;
    static const struct failure failures[] = {
        {.plugin = "/nowhere/none.so", .why = "no plugin"},                       /* 1: stage */
        {.plugin = "broken_executable_stack", .why = "executable-stack"},         /* 2: rules for the file */
        {.plugin = "broken_abi_sizes", .why = "abi"},                             /* 2: its ABI block */
        {.plugin = "counter", .probe = probe_refuses, .why = "the probe says no"}, /* 3: probe */
        {.plugin = "counter", .yaml = "increment: loud", .why = "increment"},     /* 4: parameters */
        {.plugin = "counter", .yaml = "trouble: prepare", .why = "prepare was told"}, /* 4: prepare */
        {.plugin = "counter", .yaml = "trouble: init", .why = "init was told"},   /* 4: init */
        {.plugin = "counter_state_2_no_migrate", .why = "--reset-state"},         /* 4: version of the state */
        {.plugin = "witness", .why = "publishes records 'counter'"},                             /* 4: the record */
        {.plugin = "counter", .yaml = "trouble: invalid", .why = "validate"},     /* 5: at the boundary */
    };
    const uint64_t hash = undisturbed(TICKS);
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        struct fixture fixture;
        struct counter_record record;
        struct oto_error error = {0};
        begin(&fixture);
        fixture_step(&fixture, 500);
        assert_int_not_equal(try_swap(&fixture, &failures[i], &error), OTO_OK);
        if (strstr(error.text, failures[i].why) == NULL) {
            fail_msg("'%s' does not say '%s'", error.text, failures[i].why);
        }
        fixture_step(&fixture, TICKS - 500);
        assert_int_equal(fixture_latest(&fixture, "demo/car/count", &record).seq, TICKS);
        assert_int_equal(fixture_clock(&fixture).state_hash, hash);
        fixture_end(&fixture);
    }
}

static void an_older_state_begins_anew_when_that_is_asked_for(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    struct oto_error error = {0};
    const struct failure plain = {.plugin = "counter"}, anew = {.plugin = "counter", .resets = true};
    begin(&fixture);
    fixture_step(&fixture, 100);
    const struct failure newer = {.plugin = "counter_state_2"};
    assert_ok(try_swap(&fixture, &newer, &error), error);
    fixture_step(&fixture, 100);
    assert_int_equal(try_swap(&fixture, &plain, &error), OTO_VERSION);
    assert_non_null(strstr(error.text, "the older one"));
    error = (struct oto_error){0};
    assert_ok(try_swap(&fixture, &anew, &error), error);
    fixture_step(&fixture, 100);
    (void)fixture_latest(&fixture, "demo/car/count", &record);
    assert_near(record.value, 100.0, 0.0);
    assert_int_equal(record.n, 300);
    fixture_end(&fixture);
}

/* ---- many ---- */

static uint32_t mapped_plugins(void)
{
    char line[512];
    uint32_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        count += strstr(line, "memfd:") != NULL;
    }
    (void)fclose(maps);
    return count;
}

static uint32_t drawn(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

/* Identical code, and now and then code that fails in its shadow or on probation. */
static void random_swap(struct fixture *fixture, uint32_t *seed, const char *failing)
{
    static const char *const witnesses[] = {"witness", "witness_again"};
    const uint32_t kind = drawn(seed) % 4;
    struct srv_swap_options options = {.probation_ns = (int64_t)(drawn(seed) % 20) * 1000000,
                                       .shadow_ns = (int64_t)(drawn(seed) % 3) * 2000000};
    uint32_t node = WITNESS;
    const char *plugin = witnesses[drawn(seed) % 2];
    if (kind >= 2) {
        node = COUNT;
        plugin = "counter";
        options.params_path = kind == 3 ? failing : NULL;
        options.probation_ns += kind == 3 ? 50000000 : 0;
    }
    struct srv_node_change *change = fixture_make_swap(fixture, node, plugin, options);
    const uint64_t id = fixture_post(fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(fixture, 5);
    const struct srv_reply reply = fixture_await(fixture, id);
    if (reply.settling) {
        (void)fixture_settle(fixture, change, 80);
    } else {
        (void)srv_change_free(reply.change);
    }
}

static void many_random_swaps_change_nothing(void **unused)
{
    (void)unused;
    struct fixture fixture;
    char failing[512];
    uint32_t seed = 5, mapped = 0;
    uint64_t ticks = 0;
    begin(&fixture);
    (void)fixture_params(failing, sizeof failing, "{trouble: error, at: 0}");
    for (uint32_t i = 0; i < SWAPS; i++) {
        random_swap(&fixture, &seed, failing);
        if (i == SWAPS / 2) {
            mapped = mapped_plugins();
        }
    }
    (void)unlink(failing);
    for (int64_t start_ns = srv_now_ns(); mapped_plugins() > mapped;) { /* the last host is ended by another thread */
        assert_true(srv_now_ns() - start_ns < PATIENCE_NS);
        (void)sched_yield();
    }
    ticks = fixture_clock(&fixture).tick;
    const uint64_t hash = fixture_clock(&fixture).state_hash;
    struct counter_record record;
    assert_int_equal(fixture_latest(&fixture, "demo/car/count", &record).seq, ticks);
    assert_near(record.value, (double)ticks, 0.0);
    fixture_end(&fixture);
    assert_int_equal(hash, undisturbed(ticks));
}

/* ---- the same name, other code ---- */

static unsigned char *read_all(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*bytes);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    (void)fclose(file);
    return data;
}

static size_t find_number(const unsigned char *data, size_t bytes, double number)
{
    for (size_t at = 0; at + sizeof number <= bytes; at++) {
        if (memcmp(data + at, &number, sizeof number) == 0) {
            return at;
        }
    }
    fail_msg("%g does not stand in the file", number);
    return 0;
}

static void a_file_that_is_rebuilt_many_times_always_gives_its_new_code(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    char source[512], folder[256], path[300], next[300];
    size_t bytes;
    unsigned char *code = read_all(fixture_plugin(source, sizeof source, "stamped"), &bytes);
    const size_t at = find_number(code, bytes, 77777.125);
    (void)snprintf(folder, sizeof folder, "%s/otolith-swap-XXXXXX", P_tmpdir);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/counter.so", folder);
    (void)snprintf(next, sizeof next, "%s/next", folder);
    begin(&fixture);
    for (int i = 1; i <= REBUILDS; i++) {
        const double stamp = 1000000.0 * i;
        memcpy(code + at, &stamp, sizeof stamp);
        FILE *file = fopen(next, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(code, 1, bytes, file), bytes);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(rename(next, path), 0);
        const struct srv_swap_options options = {.plugin = path};
        struct srv_node_change *change = NULL;
        struct oto_error error = {0};
        assert_ok(srv_sim_swap_load(srv_engine_sim(fixture.engine), COUNT, &options, &change, &error), error);
        assert_ok(srv_sim_swap_ready(srv_engine_sim(fixture.engine), change, &error), error);
        (void)srv_change_free(fixture_flip(&fixture, change).change);
        fixture_step(&fixture, 1);
        (void)fixture_latest(&fixture, "demo/car/count", &record);
        assert_near(record.value, stamp + (double)i, 0.0);
    }
    (void)unlink(path);
    (void)rmdir(folder);
    free(code);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_at_any_step_leaves_the_run_as_it_was),
        cmocka_unit_test(an_older_state_begins_anew_when_that_is_asked_for),
        cmocka_unit_test(many_random_swaps_change_nothing),
        cmocka_unit_test(a_file_that_is_rebuilt_many_times_always_gives_its_new_code),
    };
    return cmocka_run_group_tests_name("engine swap trouble", tests, NULL, NULL);
}
