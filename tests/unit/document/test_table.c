#include "oto_test.h"

#include "document/table.h"

#define FILE_NAME "test_table.csv"

static void write_file(const char *text, size_t bytes)
{
    FILE *file = fopen(FILE_NAME, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void columns_come_by_name_in_the_asked_order(void **state)
{
    (void)state;
    static const char text[] =
        "\xef\xbb\xbft_s, \"x\" ,note,y\r\n0,1.5,hi,-2\r\n\r\n0.01,2.5,\"a, \"\"b\"\"\nc\",4e-3\r\n";
    static const char *const columns[] = {"y", "?z", "t_s", "?x"};
    struct oto_table table;
    struct oto_error error = {0};
    write_file(text, sizeof text - 1);
    assert_ok(oto_table_read(FILE_NAME, columns, 4, &table, &error), error);
    assert_int_equal(table.rows, 2);
    assert_int_equal(table.columns, 4);
    assert_near(table.values[0], -2, 0);
    assert_true(isnan(table.values[1]));
    assert_near(table.values[4], 4e-3, 0);
    assert_near(table.values[6], 0.01, 0);
    assert_near(table.values[7], 2.5, 0);
    assert_int_equal(table.present[0] + table.present[2] + table.present[3], 3);
    assert_int_equal(table.present[1], 0);
    oto_table_free(&table);
    assert_null(table.values);
    oto_table_free(NULL);
}

static void every_column_is_read_where_none_is_named(void **state)
{
    (void)state;
    static const char text[] = "a,b\n1,2\n3,4"; /* the last line has no end */
    struct oto_table table;
    struct oto_error error = {0};
    write_file(text, sizeof text - 1);
    assert_ok(oto_table_read(FILE_NAME, NULL, 0, &table, &error), error);
    assert_int_equal(table.rows, 2);
    assert_int_equal(table.columns, 2);
    assert_near(table.values[3], 4, 0);
    oto_table_free(&table);
}

static void a_header_alone_is_a_table_without_rows(void **state)
{
    (void)state;
    struct oto_table table;
    struct oto_error error = {0};
    write_file("a,b\n", 4);
    assert_ok(oto_table_read(FILE_NAME, NULL, 0, &table, &error), error);
    assert_int_equal(table.rows, 0);
    oto_table_free(&table);
}

static void long_tables_are_whole(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    struct oto_table table;
    struct oto_error error = {0};
    FILE *file = fopen(FILE_NAME, "wb");
    assert_non_null(file);
    (void)fputs("n,sq\n", file);
    for (int i = 0; i < ROWS; i++)
        (void)fprintf(file, "%d,%ld\n", i, (long)i * i);
    assert_int_equal(fclose(file), 0);
    assert_ok(oto_table_read(FILE_NAME, NULL, 0, &table, &error), error);
    assert_int_equal(table.rows, ROWS);
    for (int i = 0; i < ROWS; i++)
        assert_near(table.values[2 * i + 1], (double)i * i, 0);
    oto_table_free(&table);
}

static void bad_tables_are_refused_with_file_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
        enum oto_status status;
    } cases[] = {
        {"", FILE_NAME ":1:1: error: expected a header", OTO_SYNTAX},
        {"t_s,y\n0,1\n", FILE_NAME ":1:1: error: there is no column 'x', there are: t_s, y", OTO_NOT_FOUND},
        {"t_s,X\n0,1\n", "did you mean 'X'", OTO_NOT_FOUND},
        {"t_s,x,x\n", FILE_NAME ":1:7: error: two columns are called 'x'", OTO_SYNTAX},
        {"t_s,x\n0,1\n1,abc\n", FILE_NAME ":3:3: error: expected a finite number in column 'x', got 'abc'",
         OTO_INVALID},
        {"t_s,x\n0,\n", FILE_NAME ":2:3: error: expected a number in column 'x', got an empty cell", OTO_INVALID},
        {"t_s,x\nnan,1\n", FILE_NAME ":2:1: error: expected a finite number in column 't_s', got 'nan'", OTO_INVALID},
        {"t_s,x\n0,inf\n", "got 'inf'", OTO_INVALID},
        {"t_s,x\n0,1e999\n", "got '1e999'", OTO_INVALID},
        {"t_s,x\n0\n", FILE_NAME ":2:1: error: the row has 1 cells, the header 2 columns", OTO_SYNTAX},
        {"t_s,x\n0,1,2\n", FILE_NAME ":2:5: error: more cells", OTO_SYNTAX},
        {"t_s,x\n0,\"1\n", "closing quote", OTO_SYNTAX},
        {"t_s,x\n0,1\"2\n", "quote", OTO_SYNTAX},
    };
    static const char *const columns[] = {"t_s", "x"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oto_table table;
        struct oto_error error = {0};
        write_file(cases[i].text, strlen(cases[i].text));
        assert_int_equal(oto_table_read(FILE_NAME, columns, 2, &table, &error), cases[i].status);
        assert_null(table.values);
        if (strstr(error.text, cases[i].word) == NULL)
            fail_msg("'%s' is not in: %s", cases[i].word, error.text);
    }
}

static void files_that_are_no_tables_are_refused(void **state)
{
    (void)state;
    struct oto_table table;
    struct oto_error error = {0};
    assert_int_equal(oto_table_read("pose.csv.gz", NULL, 0, &table, &error), OTO_UNSUPPORTED);
    assert_non_null(strstr(error.text, "gunzip"));
    assert_int_equal(oto_table_read("no_such.csv", NULL, 0, &table, &error), OTO_NOT_FOUND);
    assert_int_equal(oto_table_read("/", NULL, 0, &table, &error), OTO_IO);
    assert_int_equal(oto_table_read("/dev/zero", NULL, 0, &table, &error), OTO_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_come_by_name_in_the_asked_order),
        cmocka_unit_test(every_column_is_read_where_none_is_named),
        cmocka_unit_test(a_header_alone_is_a_table_without_rows),
        cmocka_unit_test(long_tables_are_whole),
        cmocka_unit_test(bad_tables_are_refused_with_file_line_and_column),
        cmocka_unit_test(files_that_are_no_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
