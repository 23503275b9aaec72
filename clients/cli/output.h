/* The output of a command: a file (base/output_file.h), or standard output for "-" and NULL. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/output_file.h"

struct cli_output {
    FILE *file; /* NULL: closed */
    const char *path;
    struct oto_output_file target;
};

enum oto_status cli_output_open(struct cli_output *output, const char *path, struct oto_error *error);
/* Keeps the file only if `status` is OTO_OK. Returns `status`, or the error of writing. A zeroed output is allowed. */
enum oto_status cli_output_close(struct cli_output *output, enum oto_status status, struct oto_error *error);
/* Whether two paths, of which each may be "-", name the same output. */
bool cli_output_is_same(const char *a, const char *b);

#endif
