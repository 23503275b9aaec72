/* Bytes as a file with a path, for what reads files. */
#ifndef MEMORY_FILE_H
#define MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct memory_file {
    int fd;
    char path[32];
};

static inline struct memory_file memory_file_make(const void *data, size_t bytes)
{
    struct memory_file file = {.fd = memfd_create("fuzz", MFD_CLOEXEC)};
    if (file.fd < 0 || write(file.fd, data, bytes) != (ssize_t)bytes) {
        abort();
    }
    (void)snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
    return file;
}

static inline void memory_file_close(struct memory_file *file)
{
    (void)close(file->fd);
}

#endif
