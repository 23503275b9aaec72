/* Loading: what is refused, what is loaded, and that it is gone afterwards. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "oto_test.h"
#include "plugin/host.h"

static char directory[] = "/tmp/otolith-test-loader-XXXXXX";

static const char *in_directory(const char *name)
{
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static const char *built(const char *name)
{
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.so", OTO_TEST_PLUGIN_DIR, name);
    return path;
}

static void copy_file(const char *from, const char *to)
{
    char buffer[1 << 16];
    FILE *in = fopen(from, "rbe"), *out = fopen(to, "wbe");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t got = fread(buffer, 1, sizeof buffer, in); got > 0; got = fread(buffer, 1, sizeof buffer, in)) {
        assert_int_equal(fwrite(buffer, 1, got, out), got);
    }
    (void)fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* One step of the counter from a zero state: its increment. */
static double first_value(const struct oto_plugin *plugin)
{
    struct oto_params params = {0};
    struct oto_error error;
    assert_ok(oto_params_default(oto_plugin_descriptor(plugin), &params, &error), error);
    struct {
        double value;
        uint64_t n;
    } record = {0};
    struct oto_output output = {.payload = &record, .emit = 1};
    const struct oto_setup setup = {.size = sizeof setup, .rate_hz = 100};
    void *state = calloc(1, oto_plugin_descriptor(plugin)->state_bytes + 8);
    const struct oto_instance instance = {sizeof instance, 0, &setup, params.block, NULL, state};
    const struct oto_step step = {.size = sizeof step, .n = 1, .outputs = &output};
    assert_int_equal(oto_plugin_ops(plugin)->step(&instance, &step), OTO_STEP_OK);
    free(state);
    oto_params_free(&params);
    return record.value;
}

static bool process_maps(const char *word)
{
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps) != NULL) {
        found = strstr(line, word) != NULL;
    }
    (void)fclose(maps);
    return found;
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *stream = opendir("/proc/self/fd");
    assert_non_null(stream);
    while (readdir(stream) != NULL) {
        count++;
    }
    (void)closedir(stream);
    return count;
}

static void a_plugin_loads_and_says_what_it_is(void **state)
{
    (void)state;
    struct oto_plugin *plugin = NULL;
    struct oto_error error;
    assert_ok(oto_plugin_open(built("counter"), NULL, &plugin, &error), error);
    assert_string_equal(oto_plugin_descriptor(plugin)->id, "counter");
    assert_string_equal(oto_plugin_path(plugin), built("counter"));
    assert_true(oto_plugin_content_hash(plugin) != 0);
    assert_null(oto_plugin_motion(plugin));
    assert_true(process_maps("otolith-counter.so"));
    assert_true(oto_plugin_hold(plugin) == plugin);
    assert_true(oto_plugin_close(plugin));
    assert_true(process_maps("otolith-counter.so"));
    assert_true(oto_plugin_close(plugin));
    assert_false(process_maps("otolith-counter.so"));
    assert_true(oto_plugin_close(NULL));
}

static void a_rebuild_under_the_same_path_is_the_new_code_each_time(void **state)
{
    (void)state;
    const char *path = in_directory("rebuilt.so");
    struct oto_plugin *old = NULL, *plugin = NULL;
    struct oto_error error;
    for (int round = 0; round < 100; round++) {
        const bool tens = round % 2 == 1;
        copy_file(built(tens ? "counter_by_ten" : "counter"), path);
        assert_ok(oto_plugin_open(path, NULL, &plugin, &error), error);
        assert_near(first_value(plugin), tens ? 10.0 : 1.0, 0.0);
        if (old != NULL) {
            assert_near(first_value(old), tens ? 1.0 : 10.0, 0.0);
        }
        assert_true(oto_plugin_close(old)); /* the previous plugin is loaded while the new one loads, as in a swap */
        old = plugin;
    }
    assert_true(oto_plugin_close(old));
    assert_false(process_maps("rebuilt.so"));
}

static void truncating_or_removing_the_file_does_not_touch_the_loaded_code(void **state)
{
    (void)state;
    const char *path = in_directory("victim.so");
    struct oto_plugin *plugin = NULL;
    struct oto_error error;
    copy_file(built("counter"), path);
    assert_ok(oto_plugin_open(path, NULL, &plugin, &error), error);
    assert_int_equal(truncate(path, 0), 0);
    assert_near(first_value(plugin), 1.0, 0.0);
    assert_int_equal(unlink(path), 0);
    assert_near(first_value(plugin), 1.0, 0.0);
    assert_true(oto_plugin_close(plugin));
}

static void opening_and_closing_leaves_no_file_and_no_mapping(void **state)
{
    (void)state;
    struct oto_plugin *plugin = NULL;
    struct oto_error error;
    const size_t before = open_files();
    for (int round = 0; round < 20; round++) {
        assert_ok(oto_plugin_open(built("other"), NULL, &plugin, &error), error);
        assert_true(oto_plugin_close(plugin));
        assert_int_not_equal(oto_plugin_open(built("broken_no_ops"), NULL, &plugin, &error), OTO_OK);
        assert_null(plugin);
    }
    assert_int_equal(open_files(), before);
    assert_false(process_maps("otolith-"));
}

static void a_library_that_stays_mapped_is_told_and_disturbs_no_later_one(void **state)
{
    (void)state;
    struct oto_plugin *plugin = NULL;
    struct oto_params params;
    struct oto_prepared prepared;
    struct oto_error error;
    const struct oto_setup setup = {.size = sizeof setup};
    const size_t before = open_files();
    assert_ok(oto_plugin_open(built("clinging"), NULL, &plugin, &error), error);
    assert_ok(oto_params_default(oto_plugin_descriptor(plugin), &params, &error), error);
    assert_ok(oto_prepare(plugin, &setup, &params, NULL, NULL, &prepared, &error), error);
    oto_prepared_free(&prepared);
    oto_params_free(&params);
    assert_false(oto_plugin_close(plugin));
    assert_true(process_maps("otolith-clinging"));
    assert_int_equal(open_files(), before + 1); /* its name must not be given to another copy */
    assert_ok(oto_plugin_open(built("counter"), NULL, &plugin, &error), error);
    assert_near(first_value(plugin), 1.0, 0.0);
    assert_true(oto_plugin_close(plugin));
}

static void hostile_files_are_refused_with_the_rule_and_what_is_accepted(void **state)
{
    (void)state;
    static const struct {
        const char *name, *said;
        bool strict_only;
    } cases[] = {
        {"broken_no_entry", "rule 'entry'", false},
        {"broken_thread_local", "rule 'thread-local'", true},
        {"broken_constructors", "rule 'constructors'", true},
        {"broken_unique_symbol", "rule 'unique-symbol'", false},
        {"broken_indirect_function", "rule 'indirect-function'", false},
        {"broken_text_relocation", "rule 'text-relocation'", false},
        {"broken_writable_code", "rule 'writable-code'", false},
        {"broken_needs", "rule 'needs'", true},
        {"broken_executable_stack", "rule 'executable-stack'", false},
        {"broken_no_delete", "rule 'no-delete'", false},
        {"abi_1_1", "it has plugin ABI 1.1, and this host accepts 2.1", false},
        {"broken_abi_major", "it has plugin ABI 3.0, and this host accepts 2.1", false},
        {"broken_abi_minor", "it has plugin ABI 2.2, and this host accepts 2.1", false},
        {"broken_abi_magic", "it is no otolith plugin", false},
        {"broken_abi_sizes", "structures have other sizes", false},
        {"broken_entry_size", "its entry has size 8", false},
        {"broken_no_ops", "no descriptor or operations", false},
        {"broken_undefined", "undefined symbol: nowhere", false},
        {"broken_float_mode", "rule 'float-mode'", false},
        {"huge_state", "its state has 1099511627776 bytes", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oto_plugin *plugin = NULL;
        struct oto_error error = {0};
        if (cases[i].strict_only && OTO_TEST_RELAXED) {
            continue;
        }
        assert_int_not_equal(oto_plugin_open(built(cases[i].name), NULL, &plugin, &error), OTO_OK);
        assert_null(plugin);
        if (strstr(error.text, cases[i].said) == NULL || strstr(error.text, cases[i].name) == NULL) {
            print_error("%s: '%s' does not say \"%s\"\n", cases[i].name, error.text, cases[i].said);
            fail();
        }
    }
}

/* Kept out of line, so that the division happens at run time. */
static double __attribute__((noinline)) halve(volatile double *value)
{
    return *value / 2;
}

static void a_refused_float_mode_does_not_stay(void **state)
{
    (void)state;
    struct oto_plugin *plugin = NULL;
    struct oto_error error;
    assert_int_equal(oto_plugin_open(built("broken_float_mode"), NULL, &plugin, &error), OTO_PLUGIN);
    volatile double smallest = 4.9406564584124654e-324 * 2;
    assert_true(halve(&smallest) > 0);
}

static void what_is_no_regular_file_is_refused(void **state)
{
    (void)state;
    struct oto_plugin *plugin = NULL;
    struct oto_error error;
    char link_path[4096], fifo_path[4096];
    (void)snprintf(link_path, sizeof link_path, "%s", in_directory("link.so"));
    (void)snprintf(fifo_path, sizeof fifo_path, "%s", in_directory("fifo.so"));
    assert_int_equal(symlink(built("counter"), link_path), 0);
    assert_int_equal(mkfifo(fifo_path, 0600), 0);
    assert_int_equal(oto_plugin_open(link_path, NULL, &plugin, &error), OTO_IO);
    assert_non_null(strstr(error.text, "symbolic link"));
    assert_int_equal(oto_plugin_open(fifo_path, NULL, &plugin, &error), OTO_INVALID);
    assert_int_equal(oto_plugin_open(directory, NULL, &plugin, &error), OTO_INVALID);
    assert_int_equal(oto_plugin_open(in_directory("absent.so"), NULL, &plugin, &error), OTO_NOT_FOUND);
    assert_non_null(strstr(error.text, "absent.so"));
    const int big = open(in_directory("big.so"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(big, (64 << 20) + 1), 0);
    (void)close(big);
    assert_int_equal(oto_plugin_open(in_directory("big.so"), NULL, &plugin, &error), OTO_PLUGIN);
    assert_non_null(strstr(error.text, "rule 'size'"));
    const int empty = open(in_directory("empty.so"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    (void)close(empty);
    assert_int_equal(oto_plugin_open(in_directory("empty.so"), NULL, &plugin, &error), OTO_PLUGIN);
}

static void a_copy_is_kept_where_asked(void **state)
{
    (void)state;
    struct oto_plugin *plugin = NULL;
    struct oto_error error;
    char name[64];
    assert_int_equal(mkdir(in_directory("kept"), 0700), 0);
    assert_ok(oto_plugin_open(built("counter"), in_directory("kept"), &plugin, &error), error);
    (void)snprintf(name, sizeof name, "kept/counter-%016llx.so", (unsigned long long)oto_plugin_content_hash(plugin));
    assert_int_equal(access(in_directory(name), R_OK), 0);
    assert_true(oto_plugin_close(plugin));
    assert_int_equal(oto_plugin_open(built("counter"), in_directory("no/such"), &plugin, &error), OTO_IO);
    assert_non_null(strstr(error.text, "no/such"));
}

static void plugins_are_found_by_name_and_near_names_are_suggested(void **state)
{
    (void)state;
    char path[4096];
    struct oto_error error;
    assert_int_equal(setenv("OTOLITH_PLUGIN_PATH", "/nonexistent:" OTO_TEST_PLUGIN_DIR, 1), 0);
    assert_ok(oto_plugin_find("counter", path, sizeof path, &error), error);
    assert_string_equal(path, built("counter"));
    assert_ok(oto_plugin_find("template", path, sizeof path, &error), error); /* beside the program */
    assert_ok(oto_plugin_find(built("other"), path, sizeof path, &error), error);
    assert_int_equal(oto_plugin_find("conter", path, sizeof path, &error), OTO_NOT_FOUND);
    assert_non_null(strstr(error.text, "did you mean 'counter'"));
    assert_non_null(strstr(error.text, "/nonexistent"));
    assert_int_equal(oto_plugin_find("./nowhere.so", path, sizeof path, &error), OTO_NOT_FOUND);
    assert_int_equal(oto_plugin_find("", path, sizeof path, &error), OTO_INVALID);
    assert_int_equal(unsetenv("OTOLITH_PLUGIN_PATH"), 0);
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    char command[4096];
    (void)snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_loads_and_says_what_it_is),
        cmocka_unit_test(a_rebuild_under_the_same_path_is_the_new_code_each_time),
        cmocka_unit_test(truncating_or_removing_the_file_does_not_touch_the_loaded_code),
        cmocka_unit_test(opening_and_closing_leaves_no_file_and_no_mapping),
        cmocka_unit_test(hostile_files_are_refused_with_the_rule_and_what_is_accepted),
        cmocka_unit_test(a_refused_float_mode_does_not_stay),
        cmocka_unit_test(what_is_no_regular_file_is_refused),
        cmocka_unit_test(a_copy_is_kept_where_asked),
        cmocka_unit_test(a_library_that_stays_mapped_is_told_and_disturbs_no_later_one),
        cmocka_unit_test(plugins_are_found_by_name_and_near_names_are_suggested),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
