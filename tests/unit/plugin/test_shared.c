/* Constants that instances share. */
#include <stdlib.h>
#include <string.h>

#include "oto_test.h"

#include "plugin/shared.h"

static void equal_bytes_have_one_copy_while_someone_holds_it(void **unused)
{
    char bytes[200] = "constants of a part";
    (void)unused;
    struct plugin_shared *one = plugin_shared_hold(bytes, sizeof bytes), *same = plugin_shared_hold(bytes, sizeof bytes);
    assert_non_null(one);
    assert_ptr_equal(one, same);
    assert_ptr_not_equal(plugin_shared_bytes(one), bytes);
    plugin_shared_drop(one);
    memset(bytes, 'x', sizeof bytes);
    assert_string_equal(plugin_shared_bytes(same), "constants of a part");
    plugin_shared_drop(same);
}

static void other_bytes_or_another_length_are_other_constants(void **unused)
{
    char bytes[64] = "constants";
    (void)unused;
    struct plugin_shared *whole = plugin_shared_hold(bytes, sizeof bytes), *part = plugin_shared_hold(bytes, 9);
    bytes[63] = 1;
    struct plugin_shared *other = plugin_shared_hold(bytes, sizeof bytes);
    assert_ptr_not_equal(whole, part);
    assert_ptr_not_equal(whole, other);
    assert_int_equal(((const char *)plugin_shared_bytes(whole))[63], 0);
    assert_int_equal(((const char *)plugin_shared_bytes(other))[63], 1);
    plugin_shared_drop(whole);
    plugin_shared_drop(part);
    plugin_shared_drop(other);
}

/* More contents than lists, freed in another order than they were made. */
static void many_contents_are_found_again_and_freed_in_any_order(void **unused)
{
    enum { COUNT = 3000 };
    static struct plugin_shared *held[COUNT];
    (void)unused;
    for (uint32_t i = 0; i < COUNT; i++) {
        held[i] = plugin_shared_hold(&i, sizeof i);
        assert_non_null(held[i]);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        struct plugin_shared *again = plugin_shared_hold(&i, sizeof i);
        assert_ptr_equal(again, held[i]);
        plugin_shared_drop(again);
    }
    for (uint32_t k = 0; k < COUNT; k++) {
        plugin_shared_drop(held[k * 7 % COUNT]); /* 7 and COUNT have no common factor */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bytes_have_one_copy_while_someone_holds_it),
        cmocka_unit_test(other_bytes_or_another_length_are_other_constants),
        cmocka_unit_test(many_contents_are_found_again_and_freed_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
