/* Estimators over logs: what a log's CSV may be, the order and the steps that samples come in, and what is refused. */
#include "oto_test.h"

#include "offline/estimate.h"
#include "plugins/listener.h"

#define LISTENER OTO_TEST_PLUGIN_DIR "/listener.so"

enum { MOST_HEARD = 4096 };
struct ear {
    struct listener_record records[MOST_HEARD];
    struct oto_sample_head heads[MOST_HEARD];
    uint32_t count, loud;
};

static enum oto_status hear(void *context, uint32_t port, const struct oto_sample_head *head, const void *payload,
                            struct oto_error *error)
{
    struct ear *ear = context;
    (void)error;
    if (port != 0) {
        ear->loud++;
        return OTO_OK;
    }
    assert_true(ear->count < MOST_HEARD);
    memcpy(&ear->records[ear->count], payload, sizeof *ear->records);
    ear->heads[ear->count++] = *head;
    return OTO_OK;
}

static const char *write_text(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return name;
}

static struct oto_log *read_log(const char *text)
{
    struct oto_error error = {0};
    struct oto_log *log = NULL;
    assert_ok(oto_log_read(write_text("log.csv", text), &log, &error), error);
    return log;
}

static void assert_refused(const char *text, enum oto_status status, const char *sentence)
{
    struct oto_error error = {0};
    struct oto_log *log = NULL;
    assert_int_equal(oto_log_read(write_text("log.csv", text), &log, &error), status);
    assert_null(log);
    if (strstr(error.text, sentence) == NULL) {
        print_error("'%s' has no '%s'\n", error.text, sentence);
        fail();
    }
}

static double number(const struct oto_log *log, uint64_t index, const char *name, uint32_t element)
{
    const struct oto_field *field = oto_record_field(oto_log_type(log), name);
    assert_non_null(field);
    return oto_input_number(field, element, oto_log_sample(log, index).payload);
}

static const struct oto_field value_fields[] = {{"value", OTO_FIELD_F64, 1, 0, "", "", ""}};
static const struct oto_record_type value_type = {"value", 8, 1, value_fields};

/* Samples 1 … count at floor(n·1e9/rate). */
static struct oto_log *made_log(const char *name, uint64_t rate, uint32_t count)
{
    struct oto_error error = {0};
    struct oto_log *log = NULL;
    assert_ok(oto_log_create(name, &value_type, &log, &error), error);
    for (uint64_t n = 1; n <= count; n++) {
        const struct oto_sample_head head = {.t_ns = (int64_t)(n * 1000000000 / rate), .seq = n};
        const double value = (double)n;
        assert_ok(oto_log_add(log, &head, &value, &error), error);
    }
    return log;
}

static struct oto_estimate *open_listener(void)
{
    struct oto_error error = {0};
    struct oto_estimate *estimate = NULL;
    assert_ok(oto_estimate_open(LISTENER, &estimate, &error), error);
    return estimate;
}

static void bind(struct oto_estimate *estimate, const char *name, const struct oto_log *log)
{
    struct oto_error error = {0};
    assert_ok(oto_estimate_bind(estimate, name, log, &error), error);
}

static void set(struct oto_estimate *estimate, const char *key, const char *value)
{
    struct oto_error error = {0};
    assert_ok(oto_params_set(oto_plugin_descriptor(oto_estimate_plugin(estimate)), key, value, false,
                             oto_estimate_params(estimate), &error), error);
}

static void execute(struct oto_estimate *estimate, struct oto_estimate_run *run, struct ear *ear)
{
    struct oto_error error = {0};
    memset(ear, 0, sizeof *ear);
    run->size = sizeof *run;
    run->emit = hear;
    run->context = ear;
    assert_ok(oto_estimate_execute(estimate, run, &error), error);
}

/* ---- logs ---- */

static void columns_of_a_log_become_fields_under_the_names_of_our_records(void **state)
{
    struct oto_log *log = read_log("t_s,ax,ay,az,gx,gy,gz,v_m_s,note\n0.5,1,2,3,4,5,6,7,left\n0.75,1,2,3,4,5,6.5,8,out\n");
    (void)state;
    assert_int_equal(oto_log_count(log), 2);
    assert_int_equal(oto_log_sample(log, 0).t_ns, 500000000);
    assert_int_equal(oto_log_sample(log, 1).sensor_time_ns, 750000000);
    assert_int_equal(oto_log_sample(log, 1).seq, 2);
    assert_near(number(log, 0, "linear_acceleration.x", 0), 1, 0);
    assert_near(number(log, 1, "angular_velocity.z", 0), 6.5, 0);
    assert_near(number(log, 1, "speed_m_s", 0), 8, 0);
    assert_null(oto_record_field(oto_log_type(log), "note"));
    assert_near(oto_log_rate_hz(log), 4, 1e-12);
    oto_log_close(log);
}

static void a_recording_is_read_back_with_its_arrays_and_its_seq(void **state)
{
    struct oto_log *log = read_log("t_ns,seq,w.0,w.1,w.2,age_ns,x.1\n1477010443050000001,7,1,2,3,-5,9\n");
    (void)state;
    assert_int_equal(oto_log_sample(log, 0).t_ns, INT64_C(1477010443050000001));
    assert_int_equal(oto_log_sample(log, 0).seq, 7);
    assert_int_equal(oto_record_field(oto_log_type(log), "w")->count, 3);
    assert_near(number(log, 0, "w", 2), 3, 0);
    assert_near(number(log, 0, "age_ns", 0), -5, 0);
    assert_near(number(log, 0, "x.1", 0), 9, 0);
    oto_log_close(log);
}

static void seconds_since_1970_keep_their_nanoseconds(void **state)
{
    struct oto_log *log = read_log("t_s,v\n-0.25,0\n1477010443.123456789,1\n1477010443.1234567896,2\n");
    (void)state;
    assert_int_equal(oto_log_sample(log, 0).t_ns, -250000000);
    assert_int_equal(oto_log_sample(log, 1).t_ns, INT64_C(1477010443123456789));
    assert_int_equal(oto_log_sample(log, 2).t_ns, INT64_C(1477010443123456790));
    oto_log_close(log);
}

static void cells_without_a_number_are_nan_and_rows_without_any_are_left_out(void **state)
{
    struct oto_log *log = read_log("t_s,a,b\n1,nan,2\n2,,\n3,,-inf\n4,1,NaN\n");
    (void)state;
    assert_int_equal(oto_log_count(log), 3);
    assert_true(isnan(number(log, 0, "a", 0)) && isnan(number(log, 1, "a", 0)) && isnan(number(log, 2, "b", 0)));
    assert_true(isinf(number(log, 1, "b", 0)) && number(log, 1, "b", 0) < 0);
    oto_log_close(log);
}

static void a_log_that_cannot_be_one_is_refused_with_its_place(void **state)
{
    (void)state;
    assert_refused("t_s,ax\n1,2\n2,fast\n", OTO_INVALID, "log.csv:3: error: row 2, column 'ax': 'fast'");
    assert_refused("t_s,ax\n1,2\n0.5,2\n", OTO_INVALID, "log.csv:3: error: row 2: time decreases from 1.0");
    assert_refused("t_s,ax\nnan,2\n", OTO_INVALID, "column 't_s': 'nan'");
    assert_refused("t_s,ax\n1e300,2\n", OTO_INVALID, "column 't_s': '1e300'");
    assert_refused("t_ns,seq,ax\n1,-4,2\n", OTO_INVALID, "column 'seq': '-4'");
    assert_refused("time,ax\n1,2\n", OTO_NOT_FOUND, "no column of time");
    assert_refused("t_s,note\n1,hello\n", OTO_INVALID, "no column of numbers");
    assert_refused("t_s,ax,linear_acceleration.x\n1,2,3\n", OTO_CONFLICT, "the field 'linear_acceleration.x'");
    assert_refused("t_s,ax\n1,2\n2\n", OTO_SYNTAX, "log.csv:3:");
    assert_refused("t_s,ax\n", OTO_INVALID, "no sample below the header");
    assert_refused("", OTO_SYNTAX, "expected a header line");
}

/* ---- runs ---- */

static void each_distinct_time_is_a_step_where_no_rate_is_given(void **state)
{
    struct oto_log *fast = made_log("fast", 4, 8), *slow = made_log("slow", 2, 4);
    struct oto_estimate *estimate = open_listener();
    struct oto_estimate_run run = {0};
    static struct ear ear;
    (void)state;
    bind(estimate, "main", slow);
    bind(estimate, "other", fast);
    execute(estimate, &run, &ear);
    assert_int_equal(run.steps, 8);
    assert_int_equal(run.samples, 12);
    assert_int_equal(ear.records[0].samples, 1);
    assert_int_equal(ear.records[1].samples, 2);
    assert_int_equal(ear.heads[1].t_ns, 500000000);
    assert_int_equal(ear.records[7].disorder + ear.records[7].losses, 0);
    assert_int_equal(ear.records[7].total, 12);
    oto_estimate_close(estimate);
    oto_log_close(fast);
    oto_log_close(slow);
}

static void at_a_rate_a_step_has_the_samples_of_its_whole_tick(void **state)
{
    struct oto_log *log = made_log("fast", 1000, 20);
    struct oto_estimate *estimate = open_listener();
    struct oto_estimate_run run = {.rate_num = 300, .rate_den = 1, .clock_num = 1000, .clock_den = 1, .has_from = true};
    static struct ear ear;
    (void)state;
    bind(estimate, "main", log);
    execute(estimate, &run, &ear);
    /* Step 1 is at 3.33 ms, in the tick that ends at 4 ms; step 3 at 10 ms, the end of its tick. */
    assert_int_equal(ear.heads[0].t_ns, 3333333);
    assert_int_equal(ear.records[0].samples, 4);
    assert_int_equal(ear.records[0].last_t_ns, 4000000);
    assert_int_equal(ear.records[1].samples, 3);
    assert_int_equal(ear.records[2].samples, 3);
    assert_int_equal(ear.records[2].last_t_ns, 10000000);
    assert_int_equal(run.samples, 20);
    assert_int_equal(run.steps, 6);
    oto_estimate_close(estimate);
    oto_log_close(log);
}

static void the_rate_of_the_parameters_counts_where_the_run_gives_none(void **state)
{
    struct oto_log *log = made_log("fast", 100, 100);
    struct oto_estimate *estimate = open_listener();
    struct oto_estimate_run run = {0};
    static struct ear ear;
    (void)state;
    bind(estimate, "main", log);
    set(estimate, "rate_hz", "10");
    execute(estimate, &run, &ear);
    assert_int_equal(run.steps, 10);
    assert_int_equal(oto_estimate_setup(estimate)->rate_num, 10);
    assert_int_equal(ear.records[9].samples, 10);
    assert_int_equal(ear.loud, 0);
    set(estimate, "loud", "true");
    execute(estimate, &run, &ear);
    assert_int_equal(ear.loud, 10);
    oto_estimate_close(estimate);
    oto_log_close(log);
}

static void a_second_run_begins_anew_and_gives_the_same(void **state)
{
    struct oto_log *log = made_log("fast", 100, 50);
    struct oto_estimate *estimate = open_listener();
    struct oto_estimate_run run = {0};
    static struct ear first, second;
    (void)state;
    bind(estimate, "main", log);
    execute(estimate, &run, &first);
    execute(estimate, &run, &second);
    assert_memory_equal(&first, &second, sizeof first);
    oto_estimate_close(estimate);
    oto_log_close(log);
}

static void what_an_estimator_publishes_is_watched(void **state)
{
    struct oto_log *log = made_log("fast", 100, 10);
    struct oto_estimate *estimate = open_listener();
    struct oto_error error = {0};
    struct oto_estimate_run run = {0};
    static struct ear ear;
    (void)state;
    bind(estimate, "main", log);
    set(estimate, "nan_at", "3");
    execute(estimate, &run, &ear);
    assert_int_equal(run.not_finite, 1);
    assert_int_equal(ear.heads[2].flags, OTO_SAMPLE_NON_FINITE);
    set(estimate, "fail_at", "5");
    assert_int_equal(oto_estimate_execute(estimate, &run, &error), OTO_PLUGIN);
    assert_non_null(strstr(error.text, "'listener' failed at 0.05"));
    oto_estimate_close(estimate);
    oto_log_close(log);
}

static void a_jump_of_time_does_not_step_for_ever(void **state)
{
    struct oto_log *log = read_log("t_s,v\n0,1\n9000000000,2\n");
    struct oto_estimate *estimate = open_listener();
    struct oto_error error = {0};
    struct oto_estimate_run run = {.rate_num = 1000, .rate_den = 1};
    static struct ear ear;
    (void)state;
    bind(estimate, "main", log);
    run.size = sizeof run;
    assert_int_equal(oto_estimate_execute(estimate, &run, &error), OTO_RANGE);
    assert_non_null(strstr(error.text, "time jumps from"));
    run.rate_num = run.rate_den = 0;
    execute(estimate, &run, &ear);
    assert_int_equal(run.steps, 2);
    oto_estimate_close(estimate);
    oto_log_close(log);
}

static void inputs_that_do_not_fit_are_refused_by_name(void **state)
{
    struct oto_log *log = made_log("speed.csv", 100, 10);
    struct oto_estimate *estimate = open_listener();
    struct oto_error error = {0};
    struct oto_estimate_run run = {.size = sizeof run};
    (void)state;
    assert_int_equal(oto_estimate_bind(estimate, "imu", log, &error), OTO_INVALID);
    assert_non_null(strstr(error.text, "speed.csv: input 'imu' (a gyroscope) needs the field 'angular_velocity.x'"));
    assert_int_equal(oto_estimate_bind(estimate, NULL, log, &error), OTO_INVALID);
    assert_int_equal(oto_estimate_execute(estimate, &run, &error), OTO_INVALID);
    assert_non_null(strstr(error.text, "needs a log for its input 'main'"));
    assert_int_equal(oto_estimate_mount(estimate, "mian", (oto_vec3){0}, (oto_quat){1, 0, 0, 0}, &error), OTO_NOT_FOUND);
    assert_non_null(strstr(error.text, "did you mean 'main'?"));
    oto_estimate_close(estimate);
    assert_int_equal(oto_estimate_open(OTO_TEST_PLUGIN_DIR "/counter.so", &estimate, &error), OTO_INVALID);
    assert_non_null(strstr(error.text, "of the kind 'sensor'"));
    oto_log_close(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_a_log_become_fields_under_the_names_of_our_records),
        cmocka_unit_test(a_recording_is_read_back_with_its_arrays_and_its_seq),
        cmocka_unit_test(seconds_since_1970_keep_their_nanoseconds),
        cmocka_unit_test(cells_without_a_number_are_nan_and_rows_without_any_are_left_out),
        cmocka_unit_test(a_log_that_cannot_be_one_is_refused_with_its_place),
        cmocka_unit_test(each_distinct_time_is_a_step_where_no_rate_is_given),
        cmocka_unit_test(at_a_rate_a_step_has_the_samples_of_its_whole_tick),
        cmocka_unit_test(the_rate_of_the_parameters_counts_where_the_run_gives_none),
        cmocka_unit_test(a_second_run_begins_anew_and_gives_the_same),
        cmocka_unit_test(what_an_estimator_publishes_is_watched),
        cmocka_unit_test(a_jump_of_time_does_not_step_for_ever),
        cmocka_unit_test(inputs_that_do_not_fit_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
