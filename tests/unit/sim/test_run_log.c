/* The log of a run as a hostile file would have it. */
#include <oto_test.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/run_log.h"

#define HEADER "{\"entry\": \"header\", \"format\": \"otolith-log\", \"version\": 2}\n"

static enum oto_status parse(const char *text, struct oto_run_log_line *line, struct oto_error *error)
{
    static char buffer[65536];
    const size_t bytes = strlen(text);
    memcpy(buffer, text, bytes);
    memset(line, 0, sizeof *line);
    return oto_run_log_parse(buffer, bytes, line, error);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    struct oto_error error = {0};
    struct oto_run_log_line line = {0};
    const uint64_t words[] = {0, UINT64_MAX, UINT64_C(0x0123456789abcdef)};
    uint64_t back[3], number;
    struct oto_json json = {.layout = OTO_JSON_LINE}, *to = &json;
    oto_run_log_put_begin(to, "set");
    oto_json_u64(to, "tick", UINT64_MAX);
    oto_json_text(to, "value", "a \"b\" \\ \n\t\x01 \xc2\xb5T \x7f \xc2\x9b");
    oto_json_flag(to, "yes", true);
    oto_json_flag(to, "no", false);
    oto_run_log_put_words(to, "words", words, 3);
    oto_run_log_put_end(to);
    assert_false(json.failed);
    assert_ok(oto_run_log_parse(json.text, json.bytes - 1, &line, &error), error);
    assert_string_equal(line.entry, "set");
    assert_true(line.has_tick && line.tick == UINT64_MAX);
    assert_string_equal(oto_run_log_text(&line, "value"), "a \"b\" \\ \n\t\x01 \xc2\xb5T \x7f \xc2\x9b");
    assert_true(oto_run_log_truth(&line, "yes"));
    assert_false(oto_run_log_truth(&line, "no"));
    assert_false(oto_run_log_truth(&line, "value"));
    assert_true(oto_run_log_words(&line, "words", back, 3));
    assert_memory_equal(back, words, sizeof words);
    assert_false(oto_run_log_words(&line, "words", back, 2));
    assert_false(oto_run_log_number(&line, "value", &number));
    assert_null(oto_run_log_text(&line, "tick"));
    oto_json_free(&json);
}

static void a_line_that_is_none_is_refused_with_a_reason(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "{", "}", "null", "[]", "{}", "{\"entry\"}", "{\"entry\":}", "{\"entry\":\"x\"", "{\"entry\":\"x\"}}",
        "{\"entry\":\"x\"} {", "{\"entry\":\"x\",}", "{entry:\"x\"}", "{\"entry\":\"x\n\"}", "{\"entry\":1}",
        "{\"tick\":1}", "{\"entry\":\"x\",\"tick\":-1}", "{\"entry\":\"x\",\"tick\":1.5}", "{\"entry\":\"x\",\"tick\":1e3}",
        "{\"entry\":\"x\",\"tick\":18446744073709551616}", "{\"entry\":\"x\",\"tick\":01}", "{\"entry\":\"x\",\"tick\":}",
        "{\"entry\":\"x\",\"a\":{\"b\":1}}", "{\"entry\":\"x\",\"a\":[1]}", "{\"entry\":\"x\",\"a\":nul}",
        "{\"entry\":\"x\",\"entry\":\"y\"}", "{\"entry\":\"\\u0000\"}", "{\"entry\":\"\\u1234\"}", "{\"entry\":\"\\x\"}",
        "{\"entry\":\"\\", "{\"entry\":\"\xff\"}", "{\"entry\":\"\xc0\x80\"}", "{\"entry\":\"x\",\"a\":tru}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct oto_run_log_line line;
        struct oto_error error = {0};
        if (parse(bad[i], &line, &error) == OTO_OK) {
            fail_msg("accepted: %s", bad[i]);
        }
        assert_true(strlen(error.text) > 5);
    }
}

static void numbers_go_to_the_end_of_64_bits(void **state)
{
    (void)state;
    struct oto_run_log_line line;
    struct oto_error error = {0};
    uint64_t number = 0;
    assert_ok(parse("{\"entry\":\"x\",\"tick\":18446744073709551615,\"seq\":18446744073709551614}", &line, &error), error);
    assert_true(line.has_tick && line.tick == UINT64_MAX);
    assert_true(oto_run_log_number(&line, "seq", &number) && number == UINT64_MAX - 1);
    assert_int_not_equal(parse("{\"entry\":\"x\",\"seq\":18446744073709551616}", &line, &error), OTO_OK);
}

static void an_entry_with_too_many_members_is_refused(void **state)
{
    (void)state;
    char text[1024] = "{\"entry\": \"x\"";
    struct oto_run_log_line line;
    struct oto_error error = {0};
    for (unsigned i = 0; i < OTO_RUN_LOG_MEMBERS; i++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, ", \"m%u\": 1", i);
    }
    strcat(text, "}");
    assert_int_equal(parse(text, &line, &error), OTO_LIMIT);
}

/* ---- files ---- */

static char path[] = "/tmp/otolith-run-log-XXXXXX";

static void write_file(const char *text, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* Entries after the header, and how it ended. */
static enum oto_status read_all(unsigned *entries, bool *cut, struct oto_error *error)
{
    struct oto_run_log_reader *reader;
    struct oto_run_log_line line;
    memset(error, 0, sizeof *error);
    *entries = 0;
    enum oto_status status = oto_run_log_open(path, &reader, &line, error);
    while (status == OTO_OK) {
        status = oto_run_log_next(reader, &line, error);
        *entries += status == OTO_OK;
    }
    *cut = reader != NULL && oto_run_log_was_cut(reader);
    oto_run_log_close(reader);
    return status;
}

static void a_last_line_without_its_end_does_not_count(void **state)
{
    (void)state;
    static const char text[] = HEADER "{\"entry\": \"start\"}\n{\"entry\": \"end\", \"tick\": 12";
    struct oto_error error;
    unsigned entries;
    bool cut;
    write_file(text, sizeof text - 1);
    assert_int_equal(read_all(&entries, &cut, &error), OTO_CLOSED);
    assert_int_equal(entries, 1);
    assert_true(cut);
}

static void ticks_that_go_back_are_refused_by_line(void **state)
{
    (void)state;
    static const char text[] =
        HEADER "{\"entry\": \"a\", \"tick\": 5}\n{\"entry\": \"note\"}\n{\"entry\": \"b\", \"tick\": 4}\n";
    struct oto_error error;
    unsigned entries;
    bool cut;
    write_file(text, sizeof text - 1);
    assert_int_equal(read_all(&entries, &cut, &error), OTO_CORRUPT);
    assert_int_equal(entries, 2);
    assert_non_null(strstr(error.text, "line 4"));
    assert_non_null(strstr(error.text, "tick 4 comes after tick 5"));
}

static void a_line_without_end_takes_no_more_memory_than_a_line_may(void **state)
{
    (void)state;
    const size_t bytes = 3u * OTO_RUN_LOG_LINE_BYTES;
    char *text = malloc(bytes);
    struct oto_error error;
    unsigned entries;
    bool cut;
    memset(text, ' ', bytes);
    memcpy(text, HEADER, sizeof HEADER - 1);
    write_file(text, bytes);
    free(text);
    assert_int_equal(read_all(&entries, &cut, &error), OTO_LIMIT);
    assert_non_null(strstr(error.text, "line 2"));
}

static void a_file_that_is_no_log_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "\n", "world: demo\n", "{\"entry\": \"start\"}\n",
                                      "{\"entry\": \"header\", \"format\": \"otolith-log\"}\n",
                                      "{\"entry\": \"header\", \"format\": \"otolith-log\", \"version\": 3}\n",
                                      "{\"entry\": \"header\", \"format\": \"other\", \"version\": 1}\n"};
    struct oto_error error;
    unsigned entries;
    bool cut;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(bad[i], strlen(bad[i]));
        const enum oto_status status = read_all(&entries, &cut, &error);
        assert_true(status == OTO_CORRUPT || status == OTO_VERSION);
        assert_non_null(strstr(error.text, path));
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(read_all(&entries, &cut, &error), OTO_IO);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_all(&entries, &cut, &error), OTO_INVALID);
}

static int make_path(void **state)
{
    (void)state;
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(a_line_that_is_none_is_refused_with_a_reason),
        cmocka_unit_test(numbers_go_to_the_end_of_64_bits),
        cmocka_unit_test(an_entry_with_too_many_members_is_refused),
        cmocka_unit_test(a_last_line_without_its_end_does_not_count),
        cmocka_unit_test(ticks_that_go_back_are_refused_by_line),
        cmocka_unit_test(a_line_without_end_takes_no_more_memory_than_a_line_may),
        cmocka_unit_test(a_file_that_is_no_log_is_refused),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
