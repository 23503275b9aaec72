/*
 * Output files. A regular file is replaced only when the new one is complete: the bytes are written to a temporary file
 * beside it, which is renamed at the end. Symbolic links are followed. A device or a FIFO is written in place, and
 * never removed or renamed. A FIFO that nobody reads is refused. One thread at a time for each output.
 */
#ifndef OTO_BASE_OUTPUT_FILE_H
#define OTO_BASE_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "otolith/status.h"

enum {
    OTO_OUTPUT_IN_PLACE = 1u << 0, /* for logs: a regular file is truncated and grows under its own name */
    OTO_OUTPUT_PRIVATE = 1u << 1,  /* mode 0600; otherwise that of the file it replaces, or 0666 less the umask */
    OTO_OUTPUT_NO_WAIT = 1u << 2,  /* a full FIFO is a write error; otherwise writes wait for its reader */
    OTO_OUTPUT_DURABLE = 1u << 3,  /* file and directory are synchronised with the disk before the file is closed */
};

struct oto_output_file {
    FILE *file;                   /* NULL: closed */
    const char *path;             /* borrowed, for messages */
    char target[PATH_MAX];        /* the path with its symbolic links resolved */
    char temporary[PATH_MAX + 16]; /* "": written in place */
    uint32_t flags;
};

enum oto_status oto_output_file_open(struct oto_output_file *output, const char *path, uint32_t flags,
                                     struct oto_error *error);
/* Gives a temporary file its name before it is complete: for a recording, which is worth keeping from here on. It grows under that name. */
enum oto_status oto_output_file_take_name(struct oto_output_file *output, struct oto_error *error);
/*
 * After a `status` other than OTO_OK, or a write error, the temporary file is removed and the previous file stays as it
 * was. Returns `status`, or that of writing. A zeroed output is allowed.
 */
enum oto_status oto_output_file_close(struct oto_output_file *output, enum oto_status status, struct oto_error *error);
/*
 * True if two paths name the same file, FIFO or block device. Two outputs may share a character device such as
 * /dev/null.
 */
bool oto_output_file_is_same(const char *a, const char *b);

#endif
