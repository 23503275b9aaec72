/* A file that appears whole or not at all; "-" and NULL are stdout, and what is no regular file is written as it comes. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <limits.h>
#include <stdio.h>

#include "otolith/status.h"

struct cli_output {
    FILE *file;
    const char *path;
    char target[PATH_MAX];        /* what is replaced, links followed */
    char temporary[PATH_MAX + 8]; /* "" when written in place */
};

enum oto_status cli_output_open(struct cli_output *output, const char *path, struct oto_error *error);
/* Keeps the file only after OTO_OK; returns the status, or that of closing. Zeroed is allowed. */
enum oto_status cli_output_close(struct cli_output *output, enum oto_status status, struct oto_error *error);

#endif
