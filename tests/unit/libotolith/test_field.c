#include <oto_test.h>

#include "sample_records.h"
#include "base/record_check.h"

static const struct oto_field *field_named(const struct oto_record_type *type, const char *name)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        if (strcmp(type->fields[i].name, name) == 0) {
            return &type->fields[i];
        }
    }
    fail_msg("no field '%s'", name);
    return NULL;
}

static void every_type_is_a_number(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t element;
        double number;
        const char *text;
    } cases[] = {{"status.small.u8", 0, 255, "255"},
                 {"status.small.i8", 0, -128, "-128"},
                 {"status.u16", 0, 65535, "65535"},
                 {"status.i16", 0, -32768, "-32768"},
                 {"status.i16", 2, 32767, "32767"},
                 {"u32", 0, 4294967295.0, "4294967295"},
                 {"i32", 0, -2147483648.0, "-2147483648"},
                 {"real.f32", 0, (double)0.1f, "0.100000001"},
                 {"real.f64", 0, -0.0, "-0"},
                 {"real.f64", 1, 1e-300, "1e-300"},
                 {"u64", 0, 18446744073709551615.0, "18446744073709551615"},
                 {"i64", 0, -9223372036854775808.0, "-9223372036854775808"},
                 {"bytes", 3, 255, "255"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct oto_field *field = field_named(&every_type, cases[i].name);
        char text[64];
        assert_true(oto_field_number(field, &every_value, cases[i].element) == cases[i].number);
        assert_int_equal(oto_field_format(field, &every_value, cases[i].element, text, sizeof text),
                         strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
}

static void a_text_is_no_number(void **state)
{
    (void)state;
    const struct oto_field *field = field_named(&every_type, "text");
    char text[64], small[3];
    assert_true(isnan(oto_field_number(field, &every_value, 0)));
    assert_int_equal(oto_field_format(field, &every_value, 0, text, sizeof text), 12);
    assert_string_equal(text, "zw\xc3\xb6lf bytes"); /* fills its 12 bytes, without a NUL */
    assert_int_equal(oto_field_format(field, &every_value, 0, small, sizeof small), 12);
    assert_string_equal(small, "zw");
    assert_true(isnan(oto_field_number(field_named(&every_type, "bytes"), &every_value, 4)));
}

static void columns_are_flattened_names(void **state)
{
    (void)state;
    char column[96];
    (void)oto_field_column(&oto_imu_fields[0], 0, column, sizeof column);
    assert_string_equal(column, "orientation.x");
    (void)oto_field_column(&oto_imu_fields[4], 8, column, sizeof column);
    assert_string_equal(column, "orientation_covariance.8");
    (void)oto_field_column(field_named(&every_type, "text"), 0, column, sizeof column);
    assert_string_equal(column, "text");
}

static void standard_records_are_sound(void **state)
{
    (void)state;
    static const struct oto_record_type *const types[] = {&oto_truth_type,    &oto_imu_type,   &oto_mag_type,
                                                          &oto_odometry_type, &oto_estimate_type, &oto_event_type, &every_type};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct oto_error error = {0};
        assert_ok(oto_wire_type_check(types[i], &error), error);
    }
}

static void refuse(const char *name_a, const char *name_b, const char *name_c, const char *why)
{
    struct oto_field fields[3] = {{name_a, OTO_FIELD_F64, 1, 0, "", "", ""},
                                  {name_b, OTO_FIELD_F64, 1, 8, "", "", ""},
                                  {name_c, OTO_FIELD_F64, 1, 16, "", "", ""}};
    const struct oto_record_type type = {"bad", 24, 3, fields};
    struct oto_error error = {0};
    assert_int_equal(oto_wire_type_check(&type, &error), OTO_INVALID);
    if (strstr(error.text, why) == NULL) {
        fail_msg("'%s' does not say '%s'", error.text, why);
    }
}

static void names_that_have_no_place_in_a_frame_are_refused(void **state)
{
    (void)state;
    refuse("a", "a", "b", "exclude");
    refuse("a", "a.x", "b", "exclude");
    refuse("a.x.y", "a.x", "b", "exclude");
    refuse("a.x", "b", "a.y", "adjacent");
    refuse("a.x.p", "a.y", "a.x.q", "adjacent");
    refuse("header", "b", "c", "reserved");
    refuse("otolith.x", "b", "c", "reserved");
    refuse("", "b", "c", "letters");
    refuse(".a", "b", "c", "letters");
    refuse("a.", "b", "c", "letters");
    refuse("a..b", "b", "c", "letters");
    refuse("a b", "b", "c", "letters");
    refuse("0123456789012345678901234567890123456789012345678", "b", "c", "letters");
}

static void fields_outside_their_record_are_refused(void **state)
{
    (void)state;
    static const struct oto_field bad[] = {{"a", OTO_FIELD_F64, 1, 8, "", "", ""},
                                           {"a", OTO_FIELD_F64, 2, 0, "", "", ""},
                                           {"a", OTO_FIELD_F64, 1, 4, "", "", ""},
                                           {"a", OTO_FIELD_F64, 0, 0, "", "", ""},
                                           {"a", OTO_FIELD_U8, UINT32_MAX, 0, "", "", ""},
                                           {"a", OTO_FIELD_U8, 1, UINT32_MAX, "", "", ""},
                                           {"a", 0, 1, 0, "", "", ""},
                                           {"a", 12, 1, 0, "", "", ""},
                                           {"a", OTO_FIELD_U8, 1, 0, NULL, "", ""},
                                           {"a", OTO_FIELD_U8, 1, 0, "0123456789abcdef", "", ""}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct oto_record_type type = {"bad", 8, 1, &bad[i]};
        assert_int_equal(oto_wire_type_check(&type, NULL), OTO_INVALID);
    }
    const struct oto_record_type sizes[] = {
        {"bad", 0, 1, bad}, {"bad", 12, 1, bad}, {"bad", 4104, 1, bad}, {"bad", 8, 0, bad}, {"bad", 8, 257, bad}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(oto_wire_type_check(&sizes[i], NULL), OTO_LIMIT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_a_number),
        cmocka_unit_test(a_text_is_no_number),
        cmocka_unit_test(columns_are_flattened_names),
        cmocka_unit_test(standard_records_are_sound),
        cmocka_unit_test(names_that_have_no_place_in_a_frame_are_refused),
        cmocka_unit_test(fields_outside_their_record_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
