/* result.csv: a row for each run, in the order of the runs. */
#include "sweep/sweep.h"

#include <inttypes.h>

#include "output.h"

enum oto_status sweep_write_result(const struct sweep_spec *spec, const struct sweep_rows *rows, const char *directory,
                                   struct oto_error *error)
{
    char path[4096];
    struct cli_output output = {0};
    (void)snprintf(path, sizeof path, "%.3000s/result.csv", directory);
    enum oto_status status = cli_output_open(&output, path, error);
    if (status == OTO_OK) {
        sweep_row_header(spec, output.file);
        (void)fputc('\n', output.file);
    }
    for (uint64_t run = 0; status == OTO_OK && run < spec->runs; run++) {
        const struct sweep_row_at *row = &rows->rows[run];
        if (row->text == NULL) {
            status = oto_fail(error, OTO_NOT_FOUND, "run %" PRIu64 " has no row", run);
        } else {
            (void)fwrite(row->text, 1, row->length, output.file);
            (void)fputc('\n', output.file);
        }
    }
    return cli_output_close(&output, status, error);
}
