/* Tables of plugins as bytes: whole on the way there and back, and never believed. */
#include "oto_test.h"

#include "plugin/host.h"
#include "plugin/described.h"
#include "plugin/descriptor_check.h"
#include "plugin/elf_imports.h"

#define ROOM (1u << 20)

static const char *const names[] = {"mems_imu", "sdf_imu", "magnetometer", "odometer", "motion_script", "ekf",
                                    "ins_ekf", "mount_calibration"};
#define NAMES (sizeof names / sizeof *names)

static struct oto_plugin *open_plugin(const char *name)
{
    char path[512];
    struct oto_plugin *plugin = NULL;
    struct oto_error error = {0};
    (void)snprintf(path, sizeof path, "%s/%s.so", OTO_PLUGIN_DIR, name);
    assert_ok(oto_plugin_open(path, NULL, &plugin, &error), error);
    return plugin;
}

static struct oto_description describe(const struct oto_plugin *plugin)
{
    const struct oto_estimator_extension *estimator = oto_plugin_estimator(plugin);
    return (struct oto_description){.descriptor = oto_plugin_descriptor(plugin), .estimator = estimator,
                                    .estimators = estimator != NULL, .facts = OTO_DESCRIBED_ADOPT, .motion_flags = 7};
}

static size_t pack(const struct oto_plugin *plugin, unsigned char *room)
{
    struct oto_error error = {0};
    size_t used = 0;
    const struct oto_description description = describe(plugin);
    assert_ok(oto_description_pack(&description, room, ROOM, &used, &error), error);
    return used;
}

static void assert_params(const struct oto_param *a, const struct oto_param *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(a[i].text, b[i].text);
        assert_true((a[i].key == NULL) == (b[i].key == NULL));
        assert_true(a[i].key == NULL || strcmp(a[i].key, b[i].key) == 0);
        assert_true(a[i].alias == NULL || strcmp(a[i].alias, b[i].alias) == 0);
        assert_int_equal(a[i].offset, b[i].offset);
        for (uint32_t n = 0; n < a[i].name_count; n++) {
            assert_string_equal(a[i].names[n].name, b[i].names[n].name);
        }
        assert_params(a[i].items, b[i].items, a[i].item_count);
    }
}

static void assert_inputs(const struct oto_estimator_extension *a, const struct oto_estimator_extension *b)
{
    assert_true((a == NULL) == (b == NULL));
    for (uint32_t i = 0; a != NULL && i < a->input_count; i++) {
        const char *const *before = a->inputs[i].fields, *const *after = b->inputs[i].fields;
        assert_string_equal(a->inputs[i].name, b->inputs[i].name);
        assert_string_equal(a->inputs[i].text, b->inputs[i].text);
        assert_int_equal(a->inputs[i].flags, b->inputs[i].flags);
        assert_true((before == NULL) == (after == NULL));
        for (; before != NULL && *before != NULL; before++, after++) {
            assert_non_null(*after);
            assert_string_equal(*before, *after);
        }
        assert_true(after == NULL || *after == NULL);
    }
}

static void what_was_packed_comes_out_the_same(void **unused)
{
    (void)unused;
    unsigned char *room = malloc(ROOM);
    for (size_t i = 0; i < NAMES; i++) {
        struct oto_plugin *plugin = open_plugin(names[i]);
        const struct oto_plugin_descriptor *before = oto_plugin_descriptor(plugin);
        const struct oto_description *found = NULL;
        struct oto_error error = {0};
        const size_t used = pack(plugin, room);
        assert_ok(oto_description_unpack(room, used, &found, &error), error);
        const struct oto_plugin_descriptor *after = found->descriptor;
        assert_inputs(oto_plugin_estimator(plugin), found->estimator);
        assert_int_equal(found->facts, OTO_DESCRIBED_ADOPT);
        assert_int_equal(found->motion_flags, 7);
        assert_ok(oto_descriptor_check(after, oto_plugin_ops(plugin), &error), error);
        assert_string_equal(before->id, after->id);
        assert_string_equal(before->version, after->version);
        assert_int_equal(before->state_bytes, after->state_bytes);
        assert_int_equal(before->param_count, after->param_count);
        assert_params(before->params, after->params, before->param_count);
        for (uint32_t k = 0; k < before->output_count; k++) {
            assert_string_equal(before->outputs[k].name, after->outputs[k].name);
            assert_int_equal(oto_record_type_hash(before->outputs[k].type), oto_record_type_hash(after->outputs[k].type));
        }
        (void)oto_plugin_close(plugin);
    }
    free(room);
}

/* Everything that a reader of the tables would touch. */
static void read_all(const struct oto_description *found, const struct oto_plugin *plugin)
{
    struct oto_error error = {0};
    if (oto_descriptor_check(found->descriptor, oto_plugin_ops(plugin), &error) == OTO_OK && found->estimators == 1 &&
        oto_estimator_check(found->descriptor, found->estimator, &error) == OTO_OK) {
        for (uint32_t i = 0; i < found->estimator->input_count; i++) {
            (void)oto_input_check_fields(&found->estimator->inputs[i], &oto_truth_type, &error);
        }
    }
}

static void change_each_byte(const char *name)
{
    static const unsigned char changes[] = {0x01, 0x80, 0xff};
    unsigned char *room = malloc(ROOM);
    struct oto_plugin *plugin = open_plugin(name);
    const size_t used = pack(plugin, room);
    for (size_t at = 0; at < used; at++) {
        for (size_t i = 0; i < sizeof changes; i++) {
            const struct oto_description *found = NULL;
            struct oto_error error = {0};
            unsigned char *copy = malloc(used); /* exactly so many: a sanitizer sees what goes beyond */
            memcpy(copy, room, used);
            copy[at] ^= changes[i];
            if (oto_description_unpack(copy, used, &found, &error) == OTO_OK) {
                read_all(found, plugin);
            }
            free(copy);
        }
    }
    (void)oto_plugin_close(plugin);
    free(room);
}

static void no_changed_byte_leads_out_of_the_bytes(void **unused)
{
    (void)unused;
    change_each_byte("odometer");
    change_each_byte("ekf");
}

static void what_an_estimator_listens_to_comes_out_the_same(void **unused)
{
    (void)unused;
    struct oto_plugin *plugin = open_plugin("mems_imu");
    const struct oto_record_type *imu = oto_plugin_descriptor(plugin)->outputs[0].type;
    const struct oto_input_binding before[] = {
        {.name = "imu", .type = imu, .topic = "car/imu", .frame_id = "imu", .rate_hz = 200.0,
         .mount_position_body_m = {1.0, 2.0, 3.0}, .q_body_from_sensor = {0.6, 0.0, 0.8, 0.0}},
        {.name = "truth", .type = &oto_truth_type, .topic = "car/motion", .rate_hz = 1000.0}};
    const size_t bytes = oto_bindings_pack(before, 2, NULL);
    void *room = malloc(bytes);
    assert_int_equal(oto_bindings_pack(before, 2, room), bytes);
    const struct oto_input_binding *after = oto_bindings_unpack(room, bytes, 2);
    assert_non_null(after);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(after[i].name, before[i].name);
        assert_string_equal(after[i].topic, before[i].topic);
        assert_int_equal(oto_record_type_hash(after[i].type), oto_record_type_hash(before[i].type));
        assert_true(after[i].rate_hz == before[i].rate_hz);
        assert_memory_equal(&after[i].mount_position_body_m, &before[i].mount_position_body_m, sizeof(oto_vec3));
        assert_memory_equal(&after[i].q_body_from_sensor, &before[i].q_body_from_sensor, sizeof(oto_quat));
    }
    assert_string_equal(after[0].frame_id, "imu");
    assert_null(after[1].frame_id);
    (void)oto_bindings_pack(before, 2, room);
    assert_null(oto_bindings_unpack(room, bytes - 8, 2));
    free(room);
    (void)oto_plugin_close(plugin);
}

static void cut_bytes_are_refused_wherever_they_are_cut(void **unused)
{
    (void)unused;
    unsigned char *room = malloc(ROOM);
    struct oto_plugin *plugin = open_plugin("ekf");
    const size_t used = pack(plugin, room);
    for (size_t length = 0; length < used; length++) {
        const struct oto_description *found = NULL;
        struct oto_error error = {0};
        unsigned char *copy = malloc(length + 1);
        memcpy(copy, room, length);
        assert_int_equal(oto_description_unpack(copy, length, &found, &error), OTO_CORRUPT);
        free(copy);
    }
    (void)oto_plugin_close(plugin);
    free(room);
}

static void tables_that_do_not_fit_are_refused(void **unused)
{
    (void)unused;
    unsigned char room[4096];
    struct oto_plugin *plugin = open_plugin("mems_imu");
    struct oto_error error = {0};
    size_t used = 0;
    const struct oto_description description = describe(plugin);
    assert_int_equal(oto_description_pack(&description, room, sizeof room, &used, &error), OTO_LIMIT);
    (void)oto_plugin_close(plugin);
}

static void imports_are_found_at_both_ends_of_the_list_and_not_beside_it(void **unused)
{
    (void)unused;
    static const char *const allowed[] = {"_ITM_deregisterTMCloneTable", "memcpy", "snprintf", "vsnprintf", "abort"};
    static const char *const refused[] = {"", "fopen", "open", "socket", "pthread_create", "system", "signal", "memcpyx", "zz"};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        assert_true(oto_elf_import_is_allowed(allowed[i]));
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_false(oto_elf_import_is_allowed(refused[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_packed_comes_out_the_same),
        cmocka_unit_test(no_changed_byte_leads_out_of_the_bytes),
        cmocka_unit_test(what_an_estimator_listens_to_comes_out_the_same),
        cmocka_unit_test(cut_bytes_are_refused_wherever_they_are_cut),
        cmocka_unit_test(tables_that_do_not_fit_are_refused),
        cmocka_unit_test(imports_are_found_at_both_ends_of_the_list_and_not_beside_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
