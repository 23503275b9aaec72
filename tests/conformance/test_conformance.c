/*
 * What every plugin must hold, whatever it models. Each test runs over each .so in the plugin directory; a last one
 * proves on the deliberately bad plugins that the suite would notice.
 */
#include <dirent.h>
#include <math.h>

#include "subject.h"

enum { STEPS = 600 };

/* ---- the suite ---- */

typedef void (*check_function)(const char *path, const char *id);

/* A plugin that runs in a plugin host only has tests of its own. */
static bool runs_here(const char *path)
{
    struct oto_error error;
    struct oto_plugin *plugin;
    assert_ok(oto_plugin_open(path, NULL, &plugin, &error), error);
    const bool here = (oto_plugin_descriptor(plugin)->flags & OTO_PLUGIN_HOST_ONLY) == 0;
    (void)oto_plugin_close(plugin);
    return here;
}

static void for_each_plugin(check_function check)
{
    unsigned count = 0;
    DIR *stream = opendir(OTO_PLUGIN_DIR);
    assert_non_null(stream);
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        const size_t length = strlen(entry->d_name);
        if (length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0) {
            char path[4096], id[256];
            (void)snprintf(path, sizeof path, "%s/%s", OTO_PLUGIN_DIR, entry->d_name);
            (void)snprintf(id, sizeof id, "%.*s", (int)length - 3, entry->d_name);
            if (runs_here(path)) {
                print_message("    %s\n", id);
                check(path, id);
                count++;
            }
        }
    }
    (void)closedir(stream);
    assert_true(count > 0);
}

static void assert_unbroken(const struct subject *s)
{
    if (s->broken != NULL) {
        print_error("plugin '%s': %s\n", s->now.descriptor->id, s->broken);
        fail();
    }
}

static void check_description(const char *path, const char *id)
{
    struct subject s;
    subject_open(&s, path);
    assert_string_equal(s.now.descriptor->id, id);
    assert_true(s.now.descriptor->text[0] != '\0');
    for (uint32_t i = 0; i < s.now.descriptor->param_count; i++) {
        const struct oto_param *param = &s.now.descriptor->params[i];
        if (param->type != OTO_PARAM_IGNORED && param->text[0] == '\0') {
            print_error("parameter '%s' has no text\n", param->key);
            fail();
        }
    }
    subject_close(&s);
}

static void each_plugin_describes_itself(void **state)
{
    (void)state;
    for_each_plugin(check_description);
}

static void check_round_trip(const char *path, const char *id)
{
    struct subject s;
    struct oto_params copy;
    struct oto_error error;
    static char text[1 << 20];
    (void)id;
    subject_open(&s, path);
    assert_ok(oto_params_default(s.now.descriptor, &copy, &error), error);
    for (uint32_t i = 0; i < s.now.descriptor->param_count; i++) {
        const struct oto_param *param = &s.now.descriptor->params[i];
        if (param->type != OTO_PARAM_IGNORED) {
            assert_ok(oto_params_get(s.now.descriptor, param->key, &s.now.params, text, sizeof text, &error), error);
            assert_ok(oto_params_set(s.now.descriptor, param->key, text, false, &copy, &error), error);
        }
    }
    assert_memory_equal(copy.block, s.now.params.block, s.now.params.bytes);
    oto_params_free(&copy);
    subject_close(&s);
}

static void each_parameter_reads_back_to_the_same_bits(void **state)
{
    (void)state;
    for_each_plugin(check_round_trip);
}

static void check_init(const char *path, const char *id)
{
    struct subject a, b;
    (void)id;
    subject_open(&a, path);
    subject_open(&b, path);
    assert_true(subject_state_hash(&a) == subject_state_hash(&b));
    assert_true(subject_guards_hold(&a) && subject_guards_hold(&b));
    assert_true(a.now.ops->validate == NULL || a.now.ops->validate(&a.now.abi) == OTO_OK);
    subject_close(&a);
    subject_close(&b);
}

static void init_twice_gives_equal_bytes_that_validate(void **state)
{
    (void)state;
    for_each_plugin(check_init);
}

static void check_steps(const char *path, const char *id)
{
    struct subject a, b;
    (void)id;
    subject_open(&a, path);
    subject_open(&b, path);
    const uint64_t params = oto_fnv1a64_more(OTO_FNV1A64_START, a.now.params.block, a.now.params.bytes);
    subject_run(&a, 1, STEPS);
    subject_run(&b, 1, STEPS);
    assert_unbroken(&a);
    assert_unbroken(&b);
    assert_true(a.hash == b.hash && subject_state_hash(&a) == subject_state_hash(&b));
    assert_true(a.now.descriptor->output_count == 0 || a.emitted > 0);
    assert_true(oto_fnv1a64_more(OTO_FNV1A64_START, a.now.params.block, a.now.params.bytes) == params);
    subject_close(&a);
    subject_close(&b);
}

static void steps_are_finite_allocate_nothing_and_repeat_bit_for_bit(void **state)
{
    (void)state;
    for_each_plugin(check_steps);
}

/* As a checkpoint or a swap to the same code does: another library, another address, the state's bytes alone. */
static void check_copy(const char *path, const char *id)
{
    struct subject a, b;
    (void)id;
    subject_open(&a, path);
    subject_open(&b, path);
    subject_run(&a, 1, STEPS / 2);
    memcpy(b.now.abi.state, a.now.abi.state, a.now.descriptor->state_bytes);
    a.hash = b.hash = OTO_FNV1A64_START;
    subject_run(&a, STEPS / 2 + 1, STEPS);
    subject_run(&b, STEPS / 2 + 1, STEPS);
    assert_unbroken(&b);
    assert_true(a.hash == b.hash && subject_state_hash(&a) == subject_state_hash(&b));
    subject_close(&a);
    subject_close(&b);
}

static void the_bytes_of_a_state_are_all_of_it(void **state)
{
    (void)state;
    for_each_plugin(check_copy);
}

static void check_same_params(const char *path, const char *id)
{
    struct subject a, b;
    (void)id;
    subject_open(&a, path);
    subject_open(&b, path);
    subject_run(&a, 1, STEPS);
    subject_run(&b, 1, STEPS / 2);
    if (b.now.ops->set_params != NULL) {
        b.now.ops->set_params(&b.now.abi, b.now.params.block);
    }
    subject_run(&b, STEPS / 2 + 1, STEPS);
    assert_true(a.hash == b.hash);
    subject_close(&a);
    subject_close(&b);
}

static void setting_the_same_parameters_changes_nothing(void **state)
{
    (void)state;
    for_each_plugin(check_same_params);
}

static void check_extremes(const char *path, const char *id)
{
    (void)id;
    struct subject s;
    subject_open(&s, path);
    for (uint32_t i = 0; i < s.now.descriptor->param_count; i++) {
        const struct oto_param *param = &s.now.descriptor->params[i];
        const struct srv_instance_place place = {.setup = &s.setup};
        struct oto_params changed;
        struct oto_error error;
        char text[64];
        if (param->type != OTO_PARAM_F64 || param->count != 1 || (param->minimum == 0 && param->maximum == 0)) {
            continue;
        }
        for (int end = 0; end < 2; end++) {
            struct srv_instance tried = {.plugin = NULL};
            if (end == 0 && (param->flags & OTO_PARAM_OPEN_MIN) != 0) {
                continue;
            }
            (void)snprintf(text, sizeof text, "%.17g", end == 0 ? param->minimum : param->maximum);
            changed = oto_params_copy(&s.now.params);
            assert_ok(oto_params_set(s.now.descriptor, param->key, text, false, &changed, &error), error);
            error.text[0] = '\0';
            /* A plugin may refuse a combination, but must say why. */
            srv_instance_bind(&tried, oto_plugin_hold(s.now.plugin));
            tried.params = changed;
            if (srv_instance_make(&tried, &place, &error) != OTO_OK) {
                assert_true(error.text[0] != '\0');
            }
            (void)srv_instance_finish(&tried);
        }
    }
    subject_close(&s);
}

static void the_ends_of_every_range_are_prepared_or_refused_with_a_sentence(void **state)
{
    (void)state;
    for_each_plugin(check_extremes);
}

/* ---- motion models ---- */

enum { MOST = OTO_MODEL_MAX_STATES };

/* Numbers with a guard behind them. */
static void guard_numbers(double *numbers, size_t count, size_t capacity)
{
    memset(numbers, 0, count * sizeof *numbers);
    memset(numbers + count, GUARD, (capacity - count) * sizeof *numbers);
}

static bool is_guarded(const double *numbers, size_t count, size_t capacity)
{
    const unsigned char *bytes = (const unsigned char *)(numbers + count);
    for (size_t i = 0; i < (capacity - count) * sizeof *numbers; i++) {
        if (bytes[i] != GUARD) {
            return false;
        }
    }
    return true;
}

static void check_model_calls(const struct oto_model_extension *model, const struct oto_instance *instance,
                              const double *start, int64_t dt_ns)
{
    static double jacobian[MOST * MOST + 8], both[MOST * MOST + 8];
    const size_t n = oto_model_extension_size(model, instance);
    double state[MOST + 8], next[MOST + 8], rolled[2 * MOST + 8];
    guard_numbers(state, n, MOST + 8);
    guard_numbers(next, n, MOST + 8);
    guard_numbers(jacobian, n * n, MOST * MOST + 8);
    guard_numbers(both, n * n, MOST * MOST + 8);
    memcpy(state, start, n * sizeof *state);
    subject_allocations = 0;
    COUNTED(model->predict(instance, state, dt_ns, next));
    COUNTED(model->jacobian(instance, state, dt_ns, jacobian));
    assert_memory_equal(state, start, n * sizeof *state); /* not mutated */
    COUNTED(model->jacobian_and_predict(instance, state, dt_ns, both, state));
    assert_int_equal(subject_allocations, 0);
    assert_memory_equal(state, next, n * sizeof *state);
    assert_memory_equal(jacobian, both, n * n * sizeof *both);
    assert_true(is_guarded(state, n, MOST + 8) && is_guarded(next, n, MOST + 8));
    assert_true(is_guarded(jacobian, n * n, MOST * MOST + 8) && is_guarded(both, n * n, MOST * MOST + 8));
    for (size_t i = 0; i < n * n; i++) {
        assert_true(isfinite(jacobian[i]));
        assert_true(dt_ns != 0 || jacobian[i] == (i % (n + 1) == 0 ? 1.0 : 0.0));
    }
    assert_true(dt_ns != 0 || memcmp(next, start, n * sizeof *next) == 0);
    assert_int_equal(oto_model_extension_roll_out(model, instance, start, dt_ns, 2, rolled), OTO_OK);
    assert_memory_equal(rolled, next, n * sizeof *next);
    assert_int_equal(model->predict(instance, next, dt_ns, next), OTO_OK);
    assert_memory_equal(rolled + n, next, n * sizeof *next);
}

static void check_model(const char *path, const char *id)
{
    struct subject s;
    subject_open(&s, path);
    (void)id;
    const struct oto_model_extension *model = oto_plugin_model(s.now.plugin);
    if (model != NULL) {
        const struct oto_instance instance = {sizeof instance, 0, &s.setup, s.now.params.block, s.now.prepared.data, NULL};
        const struct oto_truth_record drive = {.position_enu_m = {3, 4, 0}, .velocity_enu_m_s = {6, 8, 0},
                                               .q_enu_from_body = {0.894427190999916, 0, 0, 0.447213595499958},
                                               .angular_rate_body_rad_s = {0, 0, 0.1}, .longitudinal_speed_m_s = 10};
        double state[MOST], values[MOST];
        struct oto_error error = {0};
        struct oto_truth_record truth;
        model->from_truth(&instance, &drive, values);
        assert_ok(model->reset(&instance, values, state, &error), error);
        static const int64_t steps_ns[] = {0, 1000000, 100000000, -100000000};
        for (size_t i = 0; i < sizeof steps_ns / sizeof *steps_ns; i++) {
            check_model_calls(model, &instance, state, steps_ns[i]);
        }
        model->to_truth(&instance, state, &truth);
        assert_true(oto_vec3_is_finite(truth.position_enu_m) && oto_quat_is_unit(truth.q_enu_from_body, 1e-12));
        values[0] = NAN;
        error.text[0] = '\0';
        assert_int_not_equal(model->reset(&instance, values, state, &error), OTO_OK);
        assert_true(error.text[0] != '\0');
    }
    subject_close(&s);
}

static void b1_b12_to_b17_each_motion_model_keeps_its_contract(void **state)
{
    (void)state;
    for_each_plugin(check_model);
}

static void the_suite_notices_bad_plugins(void **state)
{
    (void)state;
    static const struct {
        const char *name, *broken;
    } cases[] = {
        {"trouble_nan", "an output is not finite"},
#ifndef OTO_SANITIZED_BUILD
        {"trouble_malloc", "step allocates or frees"},
#endif
        {"trouble_error", "step fails on its own defaults"},
        {"trouble_fatal", "step fails on its own defaults"},
        {"trouble_invalid", "validate refuses a state that init and step made"},
        {"trouble_warn", NULL},
        {"trouble_discard", NULL},
        {"counter", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[4096];
        struct subject s;
        (void)snprintf(path, sizeof path, "%s/%s.so", OTO_TEST_PLUGIN_DIR, cases[i].name);
        subject_open(&s, path);
        subject_run(&s, 1, 20);
        if (cases[i].broken == NULL) {
            assert_unbroken(&s);
        } else {
            assert_non_null(s.broken);
            assert_string_equal(s.broken, cases[i].broken);
        }
        assert_int_equal(s.discarded, strcmp(cases[i].name, "trouble_discard") == 0 ? 16 : 0);
        subject_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_plugin_describes_itself),
        cmocka_unit_test(each_parameter_reads_back_to_the_same_bits),
        cmocka_unit_test(init_twice_gives_equal_bytes_that_validate),
        cmocka_unit_test(steps_are_finite_allocate_nothing_and_repeat_bit_for_bit),
        cmocka_unit_test(the_bytes_of_a_state_are_all_of_it),
        cmocka_unit_test(setting_the_same_parameters_changes_nothing),
        cmocka_unit_test(the_ends_of_every_range_are_prepared_or_refused_with_a_sentence),
        cmocka_unit_test(b1_b12_to_b17_each_motion_model_keeps_its_contract),
        cmocka_unit_test(the_suite_notices_bad_plugins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
