#include <oto_test.h>

#include "wire/control_message.h"

static struct oto_message message; /* 100 KiB */
static unsigned char buffer[OTO_MESSAGE_MAX_BYTES];

static size_t rich_message(void)
{
    const uint64_t numbers[] = {0, 127, 128, 65536, UINT64_MAX};
    const char *const texts[] = {"", "accelerometer.noise_density_m_s2_rthz", "\xc2\xb5T"};
    struct oto_message_writer writer;
    oto_message_begin(&writer, buffer, sizeof buffer, 77, "reply");
    oto_message_add_text(&writer, "text", "1.5");
    oto_message_add_u64(&writer, "tick", UINT64_MAX);
    oto_message_add_f64(&writer, "scale", -2.5);
    oto_message_add_bool(&writer, "on", true);
    oto_message_add_u64_list(&writer, "next", numbers, 5);
    oto_message_add_text_list(&writer, "keys", texts, 3);
    oto_message_add_u64_list(&writer, "none", NULL, 0);
    return oto_message_finish(&writer);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    struct oto_error error = {0};
    const char *text;
    uint64_t tick;
    double scale;
    bool on;
    assert_ok(oto_message_decode(buffer, rich_message(), &message, &error), error);
    assert_int_equal(message.id, 77);
    assert_string_equal(message.op, "reply");
    assert_int_equal(message.argument_count, 7);
    assert_ok(oto_message_text(&message, "text", &text, &error), error);
    assert_string_equal(text, "1.5");
    assert_ok(oto_message_u64(&message, "tick", &tick, &error), error);
    assert_true(tick == UINT64_MAX);
    assert_ok(oto_message_f64(&message, "scale", &scale, &error), error);
    assert_true(scale == -2.5);
    assert_ok(oto_message_bool(&message, "on", &on, &error), error);
    assert_true(on);
    const struct oto_argument *next = oto_message_find(&message, "next");
    assert_int_equal(next->kind, OTO_ARGUMENT_U64_LIST);
    assert_int_equal(next->count, 5);
    assert_true(next->u64_list[3] == 65536 && next->u64_list[4] == UINT64_MAX);
    const struct oto_argument *keys = oto_message_find(&message, "keys");
    assert_int_equal(keys->kind, OTO_ARGUMENT_TEXT_LIST);
    assert_string_equal(keys->text_list[1], "accelerometer.noise_density_m_s2_rthz");
    assert_string_equal(keys->text_list[2], "\xc2\xb5T");
    assert_int_equal(oto_message_find(&message, "none")->count, 0);
    assert_null(oto_message_find(&message, "absent"));
}

static void a_missing_or_wrong_argument_is_named(void **state)
{
    (void)state;
    struct oto_error error = {0};
    uint64_t number;
    double real;
    assert_ok(oto_message_decode(buffer, rich_message(), &message, &error), error);
    assert_int_equal(oto_message_u64(&message, "ticks", &number, &error), OTO_INVALID);
    assert_string_equal(error.text,
                        "'reply': the argument 'ticks' is missing; it must be a whole number that is not negative");
    assert_int_equal(oto_message_u64(&message, "scale", &number, &error), OTO_INVALID);
    assert_non_null(strstr(error.text, "'scale' is of another kind"));
    assert_ok(oto_message_f64(&message, "tick", &real, &error), error);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    const size_t bytes = rich_message();
    for (size_t i = 0; i < bytes; i++) {
        unsigned char *cut = malloc(i + 1); /* so that a sanitizer sees a read beyond */
        memcpy(cut, buffer, i);
        assert_int_not_equal(oto_message_decode(cut, i, &message, NULL), OTO_OK);
        free(cut);
    }
    buffer[bytes] = 0xc0;
    assert_int_equal(oto_message_decode(buffer, bytes + 1, &message, NULL), OTO_CORRUPT);
}

static void no_changed_byte_makes_a_text_run_on(void **state)
{
    (void)state;
    const size_t bytes = rich_message();
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char kept = buffer[i];
        for (unsigned value = 0; value < 256; value++) {
            buffer[i] = (unsigned char)value;
            if (oto_message_decode(buffer, bytes, &message, NULL) != OTO_OK) {
                continue;
            }
            for (uint32_t k = 0; k < message.argument_count; k++) {
                const struct oto_argument *argument = &message.arguments[k];
                if (argument->kind == OTO_ARGUMENT_TEXT) {
                    assert_true(strlen(argument->text) < bytes);
                }
                for (uint32_t j = 0; argument->kind == OTO_ARGUMENT_TEXT_LIST && j < argument->count; j++) {
                    assert_true(strlen(argument->text_list[j]) < bytes);
                }
            }
        }
        buffer[i] = kept;
    }
}

/* {v: 1, id: 1, op: "x", a: <tail>} */
static size_t with_argument(const void *tail, size_t tail_bytes)
{
    static const unsigned char start[] = {0x84, 0xa1, 'v', 1, 0xa2, 'i', 'd', 1, 0xa2, 'o', 'p', 0xa1, 'x', 0xa1, 'a'};
    memcpy(buffer, start, sizeof start);
    memcpy(buffer + sizeof start, tail, tail_bytes);
    return sizeof start + tail_bytes;
}

static enum oto_status decode_argument(const void *tail, size_t tail_bytes, struct oto_error *error)
{
    return oto_message_decode(buffer, with_argument(tail, tail_bytes), &message, error);
}

static void a_header_that_claims_gigabytes_costs_nothing(void **state)
{
    (void)state;
    static const unsigned char bombs[][5] = {{0xdd, 0x10, 0, 0, 0}, {0xdf, 0x10, 0, 0, 0}, {0xdb, 0x10, 0, 0, 0},
                                             {0xc6, 0x10, 0, 0, 0}, {0xc9, 0x10, 0, 0, 0}, {0xdd, 255, 255, 255, 255},
                                             {0xdf, 255, 255, 255, 255}};
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        assert_int_not_equal(oto_message_decode(bombs[i], 5, &message, NULL), OTO_OK);
        assert_int_not_equal(decode_argument(bombs[i], 5, NULL), OTO_OK);
    }
}

static void depth_is_refused(void **state)
{
    (void)state;
    static unsigned char deep[60000];
    memset(deep, 0x91, sizeof deep);
    deep[sizeof deep - 1] = 0xc0;
    assert_int_equal(oto_message_decode(deep, sizeof deep, &message, NULL), OTO_CORRUPT);
    assert_int_equal(decode_argument(deep + sizeof deep - 1000, 1000, NULL), OTO_CORRUPT);
    assert_int_equal(decode_argument("\x81\xa1k\x01", 4, NULL), OTO_CORRUPT);
    assert_int_equal(decode_argument("\x91\x91\x01", 3, NULL), OTO_CORRUPT);
}

static void limits_are_kept(void **state)
{
    (void)state;
    struct oto_error error = {0};
    static unsigned char list[3 + OTO_MESSAGE_MAX_LIST + 1] = {0xdc, 4, 1};
    assert_int_equal(decode_argument(list, sizeof list, &error), OTO_LIMIT);
    assert_non_null(strstr(error.text, "1025"));
    list[2] = 0;
    assert_ok(decode_argument(list, sizeof list - 1, &error), error);
    assert_int_equal(oto_message_find(&message, "a")->count, OTO_MESSAGE_MAX_LIST);
    static const unsigned char large[OTO_MESSAGE_MAX_BYTES + 1];
    assert_int_equal(oto_message_decode(large, sizeof large, &message, &error), OTO_LIMIT);
    static const unsigned char many[3 + 2 * 28] = {0xde, 0, 28};
    assert_int_equal(oto_message_decode(many, sizeof many, &message, &error), OTO_LIMIT);
}

static void a_full_message_of_texts_fits_the_storage(void **state)
{
    (void)state;
    struct oto_error error = {0};
    static unsigned char tail[OTO_MESSAGE_MAX_BYTES];
    size_t bytes = 3;
    memcpy(tail, "\xdc\x03\xff", 3);
    for (int i = 0; i < 1023; i++) {
        const size_t text = 31;
        tail[bytes] = (unsigned char)(0xa0 + text);
        memset(tail + bytes + 1, 'a' + i % 26, text);
        bytes += 1 + text;
    }
    assert_ok(decode_argument(tail, bytes, &error), error);
    assert_int_equal(strlen(oto_message_find(&message, "a")->text_list[1022]), 31);
}

static void wrong_envelopes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        enum oto_status status;
        const char *why;
    } cases[] = {
        {"", 0, OTO_CORRUPT, "map"},
        {"\xc0", 1, OTO_CORRUPT, "map"},
        {"\x80", 1, OTO_CORRUPT, "'v' is missing"},
        {"\x82\xa1v\x01\xa2id\x01", 8, OTO_CORRUPT, "'op' is missing"},
        {"\x83\xa1v\x02\xa2id\x01\xa2op\xa1x", 13, OTO_VERSION, "version 2"},
        {"\x83\xa1v\x01\xa2id\xff\xa2op\xa1x", 13, OTO_CORRUPT, "'id'"},
        {"\x83\xa1v\x01\xa2id\x01\xa2op\x01", 12, OTO_CORRUPT, "'op'"},
        {"\x83\xa1v\x01\xa2id\x01\xa2op\xa0", 12, OTO_CORRUPT, "'op'"},
        {"\x84\xa1v\x01\xa2id\x01\xa2op\xa1x\xa1v\x01", 16, OTO_CORRUPT, "'v'"},
        {"\x84\xa1v\x01\xa2id\x01\xa2op\xa1x\x01\x01", 15, OTO_CORRUPT, "key"},
        {"\x84\xa1v\x01\xa2id\x01\xa2op\xa1x\xa2k\x00\x01", 17, OTO_CORRUPT, "key"},
        {"\x85\xa1v\x01\xa2id\x01\xa2op\xa1x\xa1k\x01\xa1k\x01", 19, OTO_CORRUPT, "'k' stands twice"},
        {"\x84\xa1v\x01\xa2id\x01\xa2op\xa1x\xa1k\xa2q\x00", 18, OTO_CORRUPT, "NUL"},
        {"\x84\xa1v\x01\xa2id\x01\xa2op\xa1x\xa1k\xa2\xc3(", 18, OTO_CORRUPT, "UTF-8"},
        {"\x84\xa1v\x01\xa2id\x01\xa2op\xa1x\xa1k\xc0", 16, OTO_CORRUPT, "'k'"},
        {"\x84\xa1v\x01\xa2id\x01\xa2op\xa1x\xa1k\xc4\x00", 17, OTO_CORRUPT, "'k'"},
        {"\x84\xa1v\x01\xa2id\x01\xa2op\xa1x\xa1k\x92\x01\xa1y", 19, OTO_CORRUPT, "'k'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oto_error error = {0};
        assert_int_equal(oto_message_decode(cases[i].bytes, cases[i].count, &message, &error), cases[i].status);
        if (strstr(error.text, cases[i].why) == NULL) {
            fail_msg("case %zu: '%s' does not say '%s'", i, error.text, cases[i].why);
        }
    }
}

static void signed_numbers_are_taken_where_they_fit(void **state)
{
    (void)state;
    struct oto_error error = {0};
    uint64_t number = 0;
    double real = 0;
    assert_ok(decode_argument("\xd3\0\0\0\0\0\0\1\0", 9, &error), error);
    assert_ok(oto_message_u64(&message, "a", &number, &error), error);
    assert_int_equal(number, 256);
    assert_ok(decode_argument("\xd1\xff\xfe", 3, &error), error);
    assert_int_equal(oto_message_u64(&message, "a", &number, &error), OTO_INVALID);
    assert_ok(oto_message_f64(&message, "a", &real, &error), error);
    assert_true(real == -2.0);
    assert_ok(decode_argument("\xca\x3f\xc0\0\0", 5, &error), error);
    assert_ok(oto_message_f64(&message, "a", &real, &error), error);
    assert_true(real == 1.5);
}

static void a_message_too_long_is_not_sent_in_part(void **state)
{
    (void)state;
    static char text[70000];
    struct oto_message_writer writer;
    memset(text, 'x', sizeof text - 1);
    oto_message_begin(&writer, buffer, sizeof buffer, 1, "x");
    oto_message_add_text(&writer, "text", text);
    oto_message_add_u64(&writer, "tick", 1);
    assert_int_equal(oto_message_finish(&writer), 0);
    for (size_t room = 0; room < 24; room++) {
        unsigned char small[24];
        oto_message_begin(&writer, small, room, 1, "x");
        oto_message_add_text(&writer, "text", "abcdef");
        assert_int_equal(oto_message_finish(&writer), 0);
    }
    oto_message_begin(&writer, buffer, sizeof buffer, 1, "x");
    for (unsigned i = 0; i <= OTO_MESSAGE_MAX_ARGUMENTS; i++) {
        char key[8];
        (void)snprintf(key, sizeof key, "k%u", i);
        oto_message_add_u64(&writer, key, i);
    }
    assert_int_equal(oto_message_finish(&writer), 0);
}

static void a_text_cut_in_a_character_is_written_as_valid_text(void **state)
{
    (void)state;
    struct oto_error error = {0};
    const char *text;
    struct oto_message_writer writer;
    oto_message_begin(&writer, buffer, sizeof buffer, 1, "x");
    oto_message_add_text(&writer, "text", "10 \xc2\xb5\xff T\xe2\x82");
    assert_ok(oto_message_decode(buffer, oto_message_finish(&writer), &message, &error), error);
    assert_ok(oto_message_text(&message, "text", &text, &error), error);
    assert_string_equal(text, "10 \xc2\xb5? T??");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(a_missing_or_wrong_argument_is_named),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(no_changed_byte_makes_a_text_run_on),
        cmocka_unit_test(a_header_that_claims_gigabytes_costs_nothing),
        cmocka_unit_test(depth_is_refused),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(a_full_message_of_texts_fits_the_storage),
        cmocka_unit_test(wrong_envelopes_are_refused),
        cmocka_unit_test(signed_numbers_are_taken_where_they_fit),
        cmocka_unit_test(a_message_too_long_is_not_sent_in_part),
        cmocka_unit_test(a_text_cut_in_a_character_is_written_as_valid_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
