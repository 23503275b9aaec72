/* The table of verbs: its arguments are checked, written and read, and server/README.md lists it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "wire/control_verbs.h"

static unsigned char buffer[OTO_MESSAGE_MAX_BYTES];
static struct oto_message message;

static void begin(struct oto_message_writer *writer, enum oto_verb_id verb)
{
    oto_message_begin(writer, buffer, sizeof buffer, 1, oto_verbs[verb].op);
}

static enum oto_status check(struct oto_message_writer *writer, enum oto_verb_id verb, struct oto_error *error)
{
    const size_t bytes = oto_message_finish(writer);
    assert_int_equal(oto_message_decode(buffer, bytes, &message, error), OTO_OK);
    return oto_verb_check(&oto_verbs[verb], &message, error);
}

static void written_values_pass_the_check_and_come_back(void **state)
{
    const struct oto_verb_value values[] = {
        {.text = "driver"}, {.text = NULL}, {.text = "hold"}, {.u64 = 3}, {.f64 = 0.5, .absent = true}};
    struct oto_message_writer writer;
    struct oto_error error = {0};
    (void)state;
    begin(&writer, OTO_VERB_JOIN);
    oto_verb_write(&oto_verbs[OTO_VERB_JOIN], values, &writer);
    assert_int_equal(check(&writer, OTO_VERB_JOIN, &error), OTO_OK);
    assert_int_equal(message.argument_count, 3);
    assert_string_equal(oto_message_text_or(&message, "name", ""), "driver");
    assert_null(oto_message_text_or(&message, "role", NULL));
    assert_int_equal(oto_message_u64_or(&message, "step_n", 0), 3);
    assert_true(oto_message_f64_or(&message, "timeout_ms", -1.0) == -1.0);
}

static void arguments_that_are_unknown_missing_or_of_another_kind_are_refused(void **state)
{
    struct oto_message_writer writer;
    struct oto_error error = {0};
    (void)state;
    begin(&writer, OTO_VERB_CLEAR_FAULTS);
    oto_message_add_text(&writer, "node", "car/imu");
    oto_message_add_u64(&writer, "number", 2);
    assert_int_equal(check(&writer, OTO_VERB_CLEAR_FAULTS, &error), OTO_INVALID);
    assert_string_equal(error.text, "'clear_faults' has no argument 'number'; its arguments: node, fault");
    begin(&writer, OTO_VERB_CLEAR_FAULTS);
    oto_message_add_u64(&writer, "fault", 2);
    assert_int_equal(check(&writer, OTO_VERB_CLEAR_FAULTS, &error), OTO_INVALID);
    assert_non_null(strstr(error.text, "'node' is missing"));
    begin(&writer, OTO_VERB_CLEAR_FAULTS);
    oto_message_add_text(&writer, "node", "car/imu");
    oto_message_add_text(&writer, "fault", "2");
    assert_int_equal(check(&writer, OTO_VERB_CLEAR_FAULTS, &error), OTO_INVALID);
    assert_non_null(strstr(error.text, "'fault' is of another kind"));
}

static void texts_are_read_as_the_kinds_of_the_arguments(void **state)
{
    struct oto_verb_value values[OTO_VERB_ARGUMENTS];
    struct oto_error error = {0};
    const char *const swap[] = {"car/imu", "mems_imu", "", "", "", "7", "", "", "0.25", "", "true"};
    (void)state;
    assert_int_equal(oto_verb_read(&oto_verbs[OTO_VERB_SWAP], swap, 11, values, &error), OTO_OK);
    assert_true(values[2].absent && values[14].absent && values[10].flag);
    assert_int_equal(values[5].u64, 7);
    assert_true(values[8].f64 == 0.25);
    const struct {
        enum oto_verb_id verb;
        const char *texts[4];
        uint32_t count;
        const char *sentence;
    } refused[] = {{OTO_VERB_STEP, {"-1"}, 1, "'step': ticks '-1' is not a whole number"},
                   {OTO_VERB_STEP, {""}, 1, "'step': the argument 'ticks' is missing; its arguments: ticks"},
                   {OTO_VERB_SCALE, {"inf"}, 1, "'scale': scale 'inf' is not a finite number"},
                   {OTO_VERB_WAKE, {"yes"}, 1, "'wake': on 'yes' is not true or false"},
                   {OTO_VERB_PAUSE, {"1"}, 1, "'pause' got 1 arguments; its arguments: none"},
                   {OTO_VERB_ACK, {"1"}, 1, "'ack': next '1' is not a list"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(oto_verb_read(&oto_verbs[refused[i].verb], refused[i].texts, refused[i].count, values, &error), OTO_INVALID);
        assert_string_equal(error.text, refused[i].sentence);
    }
    assert_int_equal(oto_verb_find("swap"), OTO_VERB_SWAP);
    assert_int_equal(oto_verb_find("nothing"), OTO_VERB_COUNT);
}

/* The first line of `text` that has `marker`, NUL-terminated in `line`. */
static void find_line(const char *text, const char *marker, char *line, size_t bytes)
{
    const char *at = strstr(text, marker);
    line[0] = '\0';
    if (at != NULL) {
        while (at > text && at[-1] != '\n') {
            at--;
        }
        (void)snprintf(line, bytes, "%.*s", (int)strcspn(at, "\n"), at);
    }
}

static void the_readme_of_the_server_lists_every_verb_with_its_arguments_and_role(void **state)
{
    static char text[200000];
    char line[1000], marker[40];
    FILE *file = fopen(OTO_SOURCE_DIR "/server/README.md", "r");
    (void)state;
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    for (int i = 0; i < OTO_VERB_COUNT; i++) {
        const struct oto_verb *verb = &oto_verbs[i];
        (void)snprintf(marker, sizeof marker, "| `%s` |", verb->op);
        find_line(text, marker, line, sizeof line);
        if (line[0] == '\0') {
            fail_msg("server/README.md has no row of the verb %s", verb->op);
        }
        for (uint32_t k = 0; k < oto_verb_argument_count(verb); k++) {
            (void)snprintf(marker, sizeof marker, "`%s`", verb->arguments[k].key);
            if (strstr(line, marker) == NULL) {
                fail_msg("server/README.md: the row of %s lacks the argument %s", verb->op, verb->arguments[k].key);
            }
        }
        (void)snprintf(marker, sizeof marker, "| `%s` | ", srv_role_text(verb->role));
        find_line(text, marker, line, sizeof line);
        (void)snprintf(marker, sizeof marker, "`%s`", verb->op);
        if (strstr(line, marker) == NULL) {
            fail_msg("server/README.md: the row of the role %s lacks %s", srv_role_text(verb->role), verb->op);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_values_pass_the_check_and_come_back),
        cmocka_unit_test(arguments_that_are_unknown_missing_or_of_another_kind_are_refused),
        cmocka_unit_test(texts_are_read_as_the_kinds_of_the_arguments),
        cmocka_unit_test(the_readme_of_the_server_lists_every_verb_with_its_arguments_and_role),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
