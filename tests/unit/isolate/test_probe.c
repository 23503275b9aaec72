/* Candidates of a swap are tried in another process: what they do wrong is said, and stays there. */
#include "fixture.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "isolate/probe.h"

#define STEPS 100

struct trial {
    struct oto_plugin *plugin;
    struct oto_params params;
    struct oto_setup setup;
    struct srv_probe_input inputs[STEPS];
    struct srv_probe_request request;
    struct srv_probe_result result;
    struct oto_error error;
    uint64_t state[1024];
};

static void begin(struct trial *trial, const char *plugin, enum srv_start start)
{
    char path[512];
    memset(trial, 0, sizeof *trial);
    assert_ok(oto_plugin_load(fixture_plugin(path, sizeof path, plugin), NULL, &trial->plugin, &trial->error),
              trial->error);
    assert_ok(oto_params_default(oto_plugin_descriptor(trial->plugin), &trial->params, &trial->error), trial->error);
    trial->setup = (struct oto_setup){.size = sizeof trial->setup, .node = "car/imu", .base_rate_num = 1000,
                                      .base_rate_den = 1, .rate_num = 200, .rate_den = 1, .rate_hz = 200.0,
                                      .q_body_from_sensor = oto_quat_identity()};
    for (uint64_t i = 0; i < STEPS; i++) {
        struct srv_probe_input *input = &trial->inputs[i];
        input->tick = 5 * i + 4;
        input->n = i + 1;
        input->at.t_ns = (int64_t)(i + 1) * 5000000;
        input->input.specific_force_sensor_m_s2 = oto_vec3_make(0.1, 0.0, 9.81);
        input->input.q_enu_from_sensor = oto_quat_identity();
        input->input.truth.q_enu_from_body = oto_quat_identity();
    }
    const uint64_t state_bytes = oto_plugin_descriptor(trial->plugin)->state_bytes;
    assert_true(state_bytes <= sizeof trial->state);
    trial->request = (struct srv_probe_request){.plugin_fd = oto_plugin_fd(trial->plugin),
                                                .plugin_path = oto_plugin_path(trial->plugin),
                                                .setup = &trial->setup,
                                                .params = &trial->params,
                                                .start = start,
                                                .state = trial->state,
                                                .state_bytes = state_bytes,
                                                .state_version = 1,
                                                .inputs = trial->inputs,
                                                .input_count = STEPS,
                                                .timeout_ns = INT64_C(300000000000)};
}

static enum oto_status end(struct trial *trial)
{
    const enum oto_status status = srv_probe_run(&trial->request, &trial->result, &trial->error);
    oto_params_free(&trial->params);
    (void)oto_plugin_close(trial->plugin);
    return status;
}

static void sound_plugins_pass_from_every_start(void **unused)
{
    (void)unused;
    static const char *const plugins[] = {"mems_imu", "sdf_imu", "magnetometer", "odometer", "counter", "witness",
                                          "hostile_step_nothing"};
    struct trial trial;
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++) {
        begin(&trial, plugins[i], SRV_START_COLD);
        assert_ok(end(&trial), trial.error);
        assert_int_equal(trial.result.steps, 2 * STEPS);
    }
    begin(&trial, "counter", SRV_START_COPY);
    assert_ok(end(&trial), trial.error);
    begin(&trial, "counter_state_2", SRV_START_MIGRATE);
    trial.request.state_bytes = 16;
    assert_ok(end(&trial), trial.error);
}

static void motions_pass_too(void **unused)
{
    (void)unused;
    struct trial trial;
    begin(&trial, "motion_script", SRV_START_COLD);
    assert_ok(end(&trial), trial.error);
}

/* Ten samples of one input; five for each of the first two steps. */
struct heard {
    struct oto_input_binding binding;
    double values[10];
    struct oto_input_sample samples[10];
};

static void begin_estimator(struct trial *trial, struct heard *heard, const char *plugin)
{
    static const struct oto_field field = {"x", OTO_FIELD_F64, 1, 0, "m", "", "a number"};
    static const struct oto_record_type type = {"number", sizeof(double), 1, &field};
    begin(trial, plugin, SRV_START_COLD);
    *heard = (struct heard){.binding = {.name = "speed", .type = &type, .topic = "car/odo", .frame_id = "", .rate_hz = 1000.0,
                                        .q_body_from_sensor = oto_quat_identity()}};
    for (uint32_t i = 0; i < 10; i++) {
        heard->values[i] = i + 1.0;
        heard->samples[i] = (struct oto_input_sample){.seq = i + 1, .t_ns = 1000000 * (int64_t)(i + 1), .payload = &heard->values[i]};
    }
    trial->inputs[0].sample_count = trial->inputs[1].sample_count = 5;
    trial->setup.estimator = (struct oto_estimator_setup){.inputs = &heard->binding, .input_count = 1};
    trial->request.samples = heard->samples;
    trial->request.sample_count = 10;
}

static void an_estimator_is_stepped_with_samples_of_its_inputs(void **unused)
{
    (void)unused;
    struct trial trial;
    struct heard heard;
    begin_estimator(&trial, &heard, "listener");
    assert_ok(end(&trial), trial.error);
    assert_int_equal(trial.result.steps, 2 * STEPS);
    begin_estimator(&trial, &heard, "listener_crashing");
    assert_int_equal(end(&trial), OTO_PLUGIN);
    if (strstr(trial.error.text, "SIGSEGV") == NULL || strstr(trial.error.text, "in step 2") == NULL) {
        fail_msg("%s", trial.error.text);
    }
}

static void without_inputs_only_the_first_state_is_tried(void **unused)
{
    (void)unused;
    struct trial trial;
    begin(&trial, "counter", SRV_START_COLD);
    trial.request.input_count = 0;
    assert_ok(end(&trial), trial.error);
    assert_int_equal(trial.result.steps, 0);
}

struct bad {
    const char *plugin;
    enum srv_start start;
    const char *words;
};

static void expect(const struct bad *bad, enum oto_status status)
{
    struct trial trial;
    begin(&trial, bad->plugin, bad->start);
    const enum oto_status got = end(&trial);
    if (got != status || strstr(trial.error.text, bad->words) == NULL) {
        fail_msg("%s: status %d, '%s' instead of %d with '%s'", bad->plugin, (int)got, trial.error.text, (int)status,
                 bad->words);
    }
}

static void what_a_candidate_does_wrong_is_said(void **unused)
{
    (void)unused;
    static const struct bad cases[] = {
        {"hostile_prepare_null", SRV_START_COLD, "SIGSEGV"},
        {"hostile_init_null", SRV_START_COLD, "in init"},
        {"hostile_migrate_null", SRV_START_MIGRATE, "in migrate"},
        {"hostile_validate_null", SRV_START_COPY, "in validate"},
        {"hostile_step_null", SRV_START_COLD, "in step 5"},
        {"hostile_step_abort", SRV_START_COLD, "SIGABRT"},
        {"hostile_init_exit", SRV_START_COLD, "exited with code 0, in init"},
        {"hostile_init_exit", SRV_START_COPY, "exited with code 0, in init"},
        {"hostile_step_float", SRV_START_COLD, "changed the floating-point mode"},
        {"hostile_prepare_fork", SRV_START_COLD, "started a process in prepare or init"},
        {"hostile_prepare_daemon", SRV_START_COLD, "started a process in prepare or init"},
        {"hostile_prepare_timer", SRV_START_COLD, "set a timer in prepare or init"},
        {"hostile_prepare_alarm", SRV_START_COLD, "set a timer in prepare or init"},
        {"hostile_prepare_thread", SRV_START_COLD, "started a thread"},
        {"hostile_prepare_signal", SRV_START_COLD, "changed how a signal is handled"},
        {"hostile_prepare_file", SRV_START_COLD, "left a file open"},
        {"trouble_nan", SRV_START_COLD, "its sample 5 has a NaN or an infinity in 'value'"},
        {"trouble_error", SRV_START_COLD, "its step 5 reported an error"},
        {"trouble_fatal", SRV_START_COLD, "a fatal error"},
        {"trouble_random", SRV_START_COLD, "two runs from the same state with the same inputs differ"},
        {"trouble_prepare", SRV_START_COLD, "prepare was told to fail"},
        {"trouble_init", SRV_START_COLD, "init was told to fail"},
        {"trouble_invalid", SRV_START_COLD, "validate of the first state refused"},
        {"counter_state_2_no_migrate", SRV_START_MIGRATE, "migrate refused"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect(&cases[i], OTO_PLUGIN);
    }
}

static void calls_that_a_tick_may_not_make_are_noticed(void **unused)
{
    (void)unused;
#ifdef OTO_SANITIZED_BUILD
    print_message("sanitizers own malloc and need more system calls than the filter lets through\n");
    skip();
#else
    static const struct bad cases[] = {
        {"hostile_step_malloc", SRV_START_COLD, "its step 5 allocated memory"},
        {"trouble_malloc", SRV_START_COLD, "allocated memory"},
        {"hostile_prepare_atexit", SRV_START_COLD, "atexit"},
        {"hostile_step_atexit", SRV_START_COLD, "atexit"},
        {"hostile_step_open", SRV_START_COLD, "system call openat is not allowed"},
        {"hostile_step_socket", SRV_START_COLD, "system call socket is not allowed"},
        {"hostile_step_fork", SRV_START_COLD, "system call clone is not allowed"},
        {"hostile_step_timer", SRV_START_COLD, "in step 5"},
        {"hostile_step_alarm", SRV_START_COLD, "in step 5"},
        {"hostile_step_thread", SRV_START_COLD, "in step 5"},
        {"hostile_step_signal", SRV_START_COLD, "system call rt_sigaction is not allowed"},
        {"hostile_step_file", SRV_START_COLD, "in step 5"},
        {"hostile_step_exit", SRV_START_COLD, "exited with code 0, in step 5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect(&cases[i], OTO_PLUGIN);
    }
#endif
}

static void a_crash_names_the_function(void **unused)
{
    (void)unused;
    struct trial trial;
    begin(&trial, "hostile_step_null", SRV_START_COLD);
    assert_int_equal(end(&trial), OTO_PLUGIN);
    assert_non_null(strstr(trial.error.text, "SIGSEGV"));
    assert_non_null(strstr(trial.error.text, "deed_null"));
}

/* The orphan becomes a child of this process. It would end by itself after a minute, and not by a signal. */
static void what_a_candidate_started_before_it_crashed_is_ended(void **unused)
{
    (void)unused;
    const struct bad crash = {"hostile_prepare_fork_and_crash", SRV_START_COLD, "SIGSEGV"};
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    expect(&crash, OTO_PLUGIN);
    int end = 0;
    assert_true(waitpid(-1, &end, 0) > 0);
    assert_true(WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

/* How long a candidate needs until it loops depends on the machine: more time is given until it does. */
static void one_without_end_is_ended_in_time(void **unused)
{
    (void)unused;
    static const struct bad cases[] = {{"hostile_step_loop", SRV_START_COLD, "in step 5"},
                                       {"hostile_init_loop", SRV_START_COLD, "in init"},
                                       {"hostile_migrate_loop", SRV_START_MIGRATE, "in migrate"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trial trial;
        int64_t timeout_ms = 300;
        do {
            char words[64];
            assert_true(timeout_ms < 300000);
            begin(&trial, cases[i].plugin, cases[i].start);
            trial.request.timeout_ns = timeout_ms * 1000000;
            assert_int_equal(end(&trial), OTO_TIMEOUT);
            (void)snprintf(words, sizeof words, "was ended after %lld ms, ", (long long)timeout_ms);
            assert_non_null(strstr(trial.error.text, words));
            timeout_ms *= 4;
        } while (strstr(trial.error.text, cases[i].words) == NULL);
    }
}

static void without_a_plugin_host_nothing_is_tried(void **unused)
{
    (void)unused;
    struct trial trial;
    char *known = strdup(getenv("OTOLITH_PLUGIN_HOST"));
    begin(&trial, "counter", SRV_START_COLD);
    assert_int_equal(setenv("OTOLITH_PLUGIN_HOST", "/nonexistent/host", 1), 0);
    assert_int_equal(end(&trial), OTO_UNSUPPORTED);
    assert_int_equal(setenv("OTOLITH_PLUGIN_HOST", known, 1), 0);
    free(known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_plugins_pass_from_every_start),
        cmocka_unit_test(motions_pass_too),
        cmocka_unit_test(an_estimator_is_stepped_with_samples_of_its_inputs),
        cmocka_unit_test(without_inputs_only_the_first_state_is_tried),
        cmocka_unit_test(what_a_candidate_does_wrong_is_said),
        cmocka_unit_test(calls_that_a_tick_may_not_make_are_noticed),
        cmocka_unit_test(a_crash_names_the_function),
        cmocka_unit_test(what_a_candidate_started_before_it_crashed_is_ended),
        cmocka_unit_test(one_without_end_is_ended_in_time),
        cmocka_unit_test(without_a_plugin_host_nothing_is_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
