/* Tables of plugins as bytes: whole on the way there and back, and never believed. */
#include "oto_test.h"

#include "otolith/plugin_host.h"
#include "plugin/described.h"
#include "plugin/descriptor_check.h"
#include "plugin/elf_check.h"
#include "plugin/elf_imports.h"

#define ROOM (1u << 20)

static const char *const names[] = {"mems_imu", "sdf_imu", "magnetometer", "odometer", "motion_script"};
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

static size_t pack(const struct oto_plugin *plugin, unsigned char *room)
{
    struct oto_error error = {0};
    size_t used = 0;
    assert_ok(oto_descriptor_pack(oto_plugin_descriptor(plugin), room, ROOM, &used, &error), error);
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

static void what_was_packed_comes_out_the_same(void **unused)
{
    (void)unused;
    unsigned char *room = malloc(ROOM);
    for (size_t i = 0; i < NAMES; i++) {
        struct oto_plugin *plugin = open_plugin(names[i]);
        const struct oto_plugin_descriptor *before = oto_plugin_descriptor(plugin), *after = NULL;
        struct oto_error error = {0};
        const size_t used = pack(plugin, room);
        assert_ok(oto_descriptor_unpack(room, used, &after, &error), error);
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

static void no_changed_byte_leads_out_of_the_bytes(void **unused)
{
    (void)unused;
    static const unsigned char changes[] = {0x01, 0x80, 0xff};
    unsigned char *room = malloc(ROOM);
    struct oto_plugin *plugin = open_plugin("odometer");
    const size_t used = pack(plugin, room);
    for (size_t at = 0; at < used; at++) {
        for (size_t i = 0; i < sizeof changes; i++) {
            const struct oto_plugin_descriptor *descriptor = NULL;
            struct oto_error error = {0};
            unsigned char *copy = malloc(used); /* exactly so many: a sanitizer sees what goes beyond */
            memcpy(copy, room, used);
            copy[at] ^= changes[i];
            if (oto_descriptor_unpack(copy, used, &descriptor, &error) == OTO_OK) {
                (void)oto_descriptor_check(descriptor, oto_plugin_ops(plugin), &error);
            }
            free(copy);
        }
    }
    (void)oto_plugin_close(plugin);
    free(room);
}

static void cut_bytes_are_refused_wherever_they_are_cut(void **unused)
{
    (void)unused;
    unsigned char *room = malloc(ROOM);
    struct oto_plugin *plugin = open_plugin("odometer");
    const size_t used = pack(plugin, room);
    for (size_t length = 0; length < used; length++) {
        const struct oto_plugin_descriptor *descriptor = NULL;
        struct oto_error error = {0};
        unsigned char *copy = malloc(length + 1);
        memcpy(copy, room, length);
        assert_int_equal(oto_descriptor_unpack(copy, length, &descriptor, &error), OTO_CORRUPT);
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
    assert_int_equal(oto_descriptor_pack(oto_plugin_descriptor(plugin), room, sizeof room, &used, &error), OTO_LIMIT);
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
        cmocka_unit_test(cut_bytes_are_refused_wherever_they_are_cut),
        cmocka_unit_test(tables_that_do_not_fit_are_refused),
        cmocka_unit_test(imports_are_found_at_both_ends_of_the_list_and_not_beside_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
