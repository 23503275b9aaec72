#include "output.h"

#include <errno.h>
#include <string.h>

static bool is_stdout(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0;
}

enum oto_status cli_output_open(struct cli_output *output, const char *path, struct oto_error *error)
{
    *output = (struct cli_output){.path = path};
    if (is_stdout(path)) {
        output->file = stdout;
        return OTO_OK;
    }
    const enum oto_status status = oto_output_file_open(&output->target, path, 0, error);
    output->file = output->target.file;
    return status;
}

enum oto_status cli_output_close(struct cli_output *output, enum oto_status status, struct oto_error *error)
{
    const bool to_stdout = output->file == stdout;
    output->file = NULL;
    if (!to_stdout) {
        return oto_output_file_close(&output->target, status, error);
    }
    const int reason = fflush(stdout) != 0 ? errno : ferror(stdout) != 0 ? EIO : 0;
    return status != OTO_OK || reason == 0
               ? status
               : oto_fail(error, OTO_IO, "cannot write '-' (standard output): %s", strerror(reason));
}

bool cli_output_is_same(const char *a, const char *b)
{
    return is_stdout(a) || is_stdout(b) ? is_stdout(a) && is_stdout(b) : oto_output_file_is_same(a, b);
}
