#include "daemon/checkpoint/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"

static struct srv_running_node node_of(const void *context, uint32_t node)
{
    const struct srv_engine *engine = context;
    return (struct srv_running_node){.plugin = srv_engine_node_plugin(engine, node),
                                     .params = srv_engine_node_params(engine, node),
                                     .unit_key = srv_engine_node_unit(engine, node),
                                     .name = srv_engine_node_setup(engine, node)->node};
}

enum oto_status srv_checkpoint_describe_engine(const struct srv_engine *engine, const struct srv_world_config *config,
                                               struct srv_checkpoint *checkpoint, struct oto_error *error)
{
    return srv_checkpoint_describe(config, node_of, engine, checkpoint, error);
}

/* ---- writing ---- */

static enum oto_status write_content(const struct oto_output_file *output, const struct srv_checkpoint *checkpoint,
                                     struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    const uint64_t bytes = srv_checkpoint_bytes(checkpoint);
    void *packed = malloc(bytes);
    if (packed == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the %llu bytes of a checkpoint", (unsigned long long)bytes);
    }
    srv_checkpoint_pack(checkpoint, packed);
    if (fwrite(packed, 1, bytes, output->file) != bytes) {
        status = oto_fail(error, OTO_IO, "cannot write '%.256s': %s", output->path, strerror(errno));
    }
    free(packed);
    return status;
}

enum oto_status srv_checkpoint_write(const char *path, const struct srv_checkpoint *checkpoint, struct oto_error *error)
{
    struct oto_output_file output;
    const enum oto_status status =
        oto_output_file_open(&output, path, OTO_OUTPUT_PRIVATE | OTO_OUTPUT_NO_WAIT | OTO_OUTPUT_DURABLE, error);
    return status == OTO_OK ? oto_output_file_close(&output, write_content(&output, checkpoint, error), error) : status;
}

/* ---- reading ---- */

static bool read_all(int fd, void *data, uint64_t bytes)
{
    unsigned char *at = data;
    while (bytes > 0) {
        const ssize_t got = read(fd, at, bytes < (1u << 30) ? bytes : (1u << 30));
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        at += got > 0 ? got : 0;
        bytes -= got > 0 ? (uint64_t)got : 0;
    }
    return true;
}

static enum oto_status read_content(const char *path, int fd, struct srv_checkpoint *checkpoint, struct oto_error *error)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        return oto_fail(error, OTO_CORRUPT, "'%.200s' is no checkpoint: it is not a file", path);
    }
    const uint64_t bytes = (uint64_t)facts.st_size;
    void *content = bytes <= SRV_CHECKPOINT_MAX_BYTES ? malloc(bytes > 0 ? bytes : 1) : NULL;
    if (content == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the %llu bytes of '%.200s'", (unsigned long long)bytes, path);
    }
    const enum oto_status status =
        read_all(fd, content, bytes)
            ? srv_checkpoint_unpack(path, content, bytes, checkpoint, error)
            : oto_fail(error, OTO_IO, "the checkpoint '%.200s' cannot be read: %s", path, strerror(errno));
    free(content);
    return status;
}

enum oto_status srv_checkpoint_read(const char *path, struct srv_checkpoint *checkpoint, struct oto_error *error)
{
    memset(checkpoint, 0, sizeof *checkpoint);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return oto_fail(error, errno == ENOENT ? OTO_NOT_FOUND : OTO_IO, "the checkpoint '%.200s' cannot be read: %s",
                        path, strerror(errno));
    }
    const enum oto_status status = read_content(path, fd, checkpoint, error);
    (void)close(fd);
    if (status != OTO_OK) {
        srv_checkpoint_finish(checkpoint);
    }
    return status;
}
