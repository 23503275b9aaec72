#include "daemon/checkpoint/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"
#include "sim/state_hash.h"

#define VERSION 2u
static const char magic[8] = {'O', 'T', 'O', 'C', 'K', 'P', 'T', '1'};

struct header {
    char magic[8];
    uint64_t version, tick, chain, hash;
    uint64_t text_bytes, state_bytes, text_hash, state_hash;
    uint64_t spare;
};
_Static_assert(sizeof(struct header) == 80, "the header's layout");

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* Of bytes that are followed by zeros up to a multiple of 8. */
static uint64_t hash_of(const void *data, uint64_t bytes)
{
    struct srv_state_hash hash;
    srv_state_hash_begin(&hash, bytes);
    srv_state_hash_absorb(&hash, data, padded(bytes));
    return srv_state_hash_end(&hash);
}

static uint64_t hash_of_header(const struct header *header)
{
    struct header copy = *header;
    copy.hash = 0;
    return hash_of(&copy, sizeof copy);
}

void srv_checkpoint_finish(struct srv_checkpoint *checkpoint)
{
    oto_document_close(checkpoint->document);
    free(checkpoint->text);
    free(checkpoint->state);
    memset(checkpoint, 0, sizeof *checkpoint);
}

/* ---- writing ---- */

static void write_content(FILE *file, const struct srv_checkpoint *checkpoint)
{
    struct header header = {.version = VERSION,
                            .tick = checkpoint->tick,
                            .chain = checkpoint->chain,
                            .text_bytes = checkpoint->text_bytes,
                            .state_bytes = checkpoint->state_bytes,
                            .text_hash = hash_of(checkpoint->text, checkpoint->text_bytes),
                            .state_hash = hash_of(checkpoint->state, checkpoint->state_bytes)};
    memcpy(header.magic, magic, sizeof magic);
    header.hash = hash_of_header(&header);
    (void)fwrite(&header, sizeof header, 1, file);
    (void)fwrite(checkpoint->text, 1, padded(checkpoint->text_bytes), file);
    (void)fwrite(checkpoint->state, 1, padded(checkpoint->state_bytes), file);
}

enum oto_status srv_checkpoint_write(const char *path, const struct srv_checkpoint *checkpoint, struct oto_error *error)
{
    struct oto_output_file output;
    const enum oto_status status =
        oto_output_file_open(&output, path, OTO_OUTPUT_PRIVATE | OTO_OUTPUT_NO_WAIT | OTO_OUTPUT_DURABLE, error);
    if (status != OTO_OK) {
        return status;
    }
    write_content(output.file, checkpoint);
    return oto_output_file_close(&output, OTO_OK, error);
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

static enum oto_status check_header(const char *path, const struct header *header, uint64_t file_bytes,
                                    struct oto_error *error)
{
    if (memcmp(header->magic, magic, sizeof magic) != 0) {
        return oto_fail(error, OTO_CORRUPT, "'%.200s' is no checkpoint: it begins otherwise", path);
    }
    if (header->version != VERSION) {
        return oto_fail(error, OTO_VERSION, "'%.200s' is a checkpoint of version %llu; version %u is accepted", path,
                        (unsigned long long)header->version, VERSION);
    }
    if (header->hash != hash_of_header(header) || header->text_bytes > SRV_CHECKPOINT_MAX_BYTES ||
        header->state_bytes > SRV_CHECKPOINT_MAX_BYTES ||
        sizeof *header + padded(header->text_bytes) + padded(header->state_bytes) != file_bytes) {
        return oto_fail(error, OTO_CORRUPT, "'%.200s' is damaged: its header does not fit its %llu bytes", path,
                        (unsigned long long)file_bytes);
    }
    return OTO_OK;
}

static enum oto_status read_section(const char *path, int fd, const char *what, uint64_t bytes, uint64_t hash,
                                    void **section, struct oto_error *error)
{
    *section = calloc(1, padded(bytes) + 8);
    if (*section == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the %llu bytes of the %s in '%.200s'",
                        (unsigned long long)bytes, what, path);
    }
    if (!read_all(fd, *section, padded(bytes)) || hash_of(*section, bytes) != hash) {
        return oto_fail(error, OTO_CORRUPT, "'%.200s' is damaged: its %s has another hash than it says", path, what);
    }
    return OTO_OK;
}

static enum oto_status read_content(const char *path, int fd, struct srv_checkpoint *checkpoint, struct oto_error *error)
{
    struct header header;
    struct stat facts;
    void *text = NULL;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || (uint64_t)facts.st_size < sizeof header ||
        !read_all(fd, &header, sizeof header)) {
        return oto_fail(error, OTO_CORRUPT, "'%.200s' is no checkpoint: it is not a file of at least %zu bytes", path,
                        sizeof header);
    }
    enum oto_status status = check_header(path, &header, (uint64_t)facts.st_size, error);
    if (status == OTO_OK) {
        status = read_section(path, fd, "description", header.text_bytes, header.text_hash, &text, error);
        checkpoint->text = text;
    }
    if (status == OTO_OK) {
        status = read_section(path, fd, "state", header.state_bytes, header.state_hash, &checkpoint->state, error);
    }
    checkpoint->tick = header.tick;
    checkpoint->chain = header.chain;
    checkpoint->text_bytes = header.text_bytes;
    checkpoint->state_bytes = header.state_bytes;
    return status == OTO_OK ? oto_document_parse(path, checkpoint->text, checkpoint->text_bytes, NULL,
                                                 &checkpoint->document, error)
                            : status;
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
