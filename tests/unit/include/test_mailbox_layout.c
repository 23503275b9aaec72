/* The mailbox is shared between programs of different builds: its members stand where tests/golden/mailbox.csv says. */
#include "oto_test.h"

#include "otolith/mailbox.h"

struct place {
    const char *name;
    size_t offset, bytes;
};

#define AT(type, member) {#type "." #member, offsetof(struct oto_mailbox_##type, member), sizeof((struct oto_mailbox_##type *)0)->member}
static const struct place places[] = {
    AT(header, magic), AT(header, major), AT(header, minor), AT(header, header_bytes), AT(header, endian),
    AT(header, participant), AT(header, mailbox_bytes), AT(header, epoch), AT(header, rate_num), AT(header, rate_den),
    AT(header, vehicle_count), AT(header, record_bytes), AT(header, vehicle_offset), AT(header, output_offset),
    AT(header, role), AT(header, on_timeout), AT(header, step_n), AT(header, timeout_ns), AT(header, wait_limit_ns),
    AT(header, name), AT(header, controlled), AT(header, grant), AT(header, answer), AT(header, server_waits), AT(header, participant_waits),
    AT(header, notice), AT(header, controls), AT(grant, lock), AT(grant, futex), AT(grant, state), AT(grant, tick), AT(grant, until),
    AT(grant, t_ns), AT(grant, until_ns), AT(grant, completed), AT(answer, grant), AT(answer, futex), AT(answer, tick),
    AT(answer, bytes), AT(answer, run_until), AT(notice, refused), AT(notice, late), AT(notice, tick), AT(notice, text),
    AT(controls, lock), AT(controls, values), AT(vehicle, name), AT(vehicle, truth), AT(record, tick), AT(record, flags), AT(record, truth)};
enum { PLACES = sizeof places / sizeof *places };

static void members_stand_where_the_golden_file_says(void **state)
{
    char line[128], wanted[128];
    (void)state;
    FILE *file = fopen(OTO_GOLDEN_FILE, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, "member,offset,bytes\n");
    for (size_t i = 0; i < PLACES; i++) {
        assert_non_null(fgets(line, sizeof line, file));
        (void)snprintf(wanted, sizeof wanted, "%s,%zu,%zu\n", places[i].name, places[i].offset, places[i].bytes);
        assert_string_equal(line, wanted);
    }
    assert_null(fgets(line, sizeof line, file));
    assert_int_equal(fclose(file), 0);
}

static void buffers_alternate_with_the_grants(void **state)
{
    unsigned char memory[16];
    (void)state;
    const struct oto_mailbox_record *even = oto_mailbox_records(memory, 0, 3, 4), *odd = oto_mailbox_records(memory, 0, 3, 6);
    assert_ptr_equal(even, memory);
    assert_int_equal((const unsigned char *)odd - memory, 3 * sizeof(struct oto_mailbox_record));
    assert_int_equal(oto_mailbox_bytes(0), 4096);
    assert_int_equal(oto_mailbox_bytes(1), 8192);
    assert_int_equal(oto_mailbox_bytes(10000) % 4096, 0);
    assert_true(oto_mailbox_bytes(10000) >= 4096 + 10000 * 768);
}

static void names_of_roles_and_policies_are_in_range(void **state)
{
    (void)state;
    assert_string_equal(oto_timeout_policy_text(OTO_TIMEOUT_HOLD), "hold");
    assert_string_equal(oto_participant_role_text(OTO_ROLE_MASTER), "master");
    assert_string_equal(oto_timeout_policy_text(99), "");
    assert_string_equal(oto_participant_role_text(99), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_stand_where_the_golden_file_says),
        cmocka_unit_test(buffers_alternate_with_the_grants),
        cmocka_unit_test(names_of_roles_and_policies_are_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
