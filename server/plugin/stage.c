#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_kind.h"
#include "base/output_file.h"
#include "base/sealed_memory.h"
#include "descriptor_check.h"
#include "elf_check.h"
#include "plugin/host.h"

#ifdef OTO_SANITIZED_BUILD
#define RELAXED true
#else
#define RELAXED false
#endif

static enum oto_status open_source(const char *path, int *fd, struct oto_error *error)
{
    const char *why = NULL;
    *fd = srv_regular_open(path, O_NOFOLLOW, &why);
    if (*fd >= 0) {
        return OTO_OK;
    }
    if (errno == EINVAL) {
        return oto_fail(error, OTO_INVALID, "plugin '%.256s' is not a regular file", path);
    }
    return oto_fail(error, errno == ENOENT ? OTO_NOT_FOUND : OTO_IO, "cannot open plugin '%.256s': %s", path,
                    errno == ELOOP ? "it is a symbolic link; give the file itself" : why);
}

static bool write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* Copies `from` up to its end, or until one byte more than a plugin may have. */
static bool copy(int from, int to, struct oto_stage *stage)
{
    char buffer[1 << 14];
    stage->content_hash = OTO_FNV1A64_START;
    stage->bytes = 0;
    while (stage->bytes <= OTO_PLUGIN_FILE_MAX_BYTES) {
        const ssize_t got = read(from, buffer, sizeof buffer);
        if (got == 0) {
            return true;
        }
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 || !write_all(to, buffer, (size_t)got)) {
            return false;
        }
        stage->content_hash = oto_fnv1a64_more(stage->content_hash, buffer, (size_t)got);
        stage->bytes += (size_t)got;
    }
    return true;
}

static enum oto_status refuse(const char *path, const struct oto_elf_result *result, struct oto_error *error)
{
    return oto_fail(error, OTO_PLUGIN, "plugin '%.128s' is refused: %s; %s (rule '%s')", path, result->found,
                    oto_elf_rule_accepted(result->rule), oto_elf_rule_name(result->rule));
}

static enum oto_status check_bytes(const char *path, const uint8_t *bytes, size_t count, struct oto_stage *stage,
                                   struct oto_error *error)
{
    struct oto_elf_result result;
    struct oto_abi_block abi;
    if (!oto_elf_check(bytes, count, RELAXED, &result)) {
        return refuse(path, &result, error);
    }
    stage->host_only = result.host_only;
    memcpy(&abi, bytes + result.entry_offset + offsetof(struct oto_plugin_entry, abi), sizeof abi);
    struct oto_error inner;
    const enum oto_status status = oto_abi_check(&abi, &inner);
    return status == OTO_OK ? OTO_OK : oto_fail(error, status, "plugin '%.128s' is refused: %s (rule 'abi')", path,
                                                inner.text);
}

static enum oto_status check_imports(const char *path, const uint8_t *bytes, size_t count, struct oto_stage *stage,
                                     struct oto_error *error)
{
    (void)stage;
    struct oto_elf_result result;
    return oto_elf_check_imports(bytes, count, RELAXED, &result) ? OTO_OK : refuse(path, &result, error);
}

static enum oto_status put_digest(const char *path, const uint8_t *bytes, size_t count, struct oto_stage *stage,
                                  struct oto_error *error)
{
    (void)stage;
    struct oto_elf_result result;
    struct oto_output_file output;
    if (!oto_elf_check(bytes, count, RELAXED, &result) && result.rule != OTO_ELF_DIGEST) {
        return refuse(path, &result, error);
    }
    if (result.digest_offset == 0) {
        return oto_fail(error, OTO_INVALID, "plugin '%.256s' has no place for a digest: build it against this version's headers", path);
    }
    const size_t rest = result.digest_offset + sizeof result.digest;
    enum oto_status status = oto_output_file_open(&output, path, 0, error);
    if (status == OTO_OK) {
        (void)fwrite(bytes, 1, result.digest_offset, output.file);
        (void)fwrite(&result.digest, 1, sizeof result.digest, output.file);
        (void)fwrite(bytes + rest, 1, count - rest, output.file);
        status = oto_output_file_close(&output, OTO_OK, error);
    }
    return status;
}

typedef enum oto_status check_function(const char *path, const uint8_t *bytes, size_t count, struct oto_stage *stage,
                                       struct oto_error *error);

static enum oto_status check_mapped(const char *path, struct oto_stage *stage, check_function *check,
                                    struct oto_error *error)
{
    void *map = mmap(NULL, stage->bytes, PROT_READ, MAP_PRIVATE, stage->fd, 0);
    if (map == MAP_FAILED) {
        return oto_fail(error, OTO_NO_MEMORY, "cannot map the copy of plugin '%.256s': %s", path, strerror(errno));
    }
    const enum oto_status status = check(path, map, stage->bytes, stage, error);
    (void)munmap(map, stage->bytes);
    return status;
}

static enum oto_status check_size(const char *path, const struct oto_stage *stage, struct oto_error *error)
{
    if (stage->bytes == 0 || stage->bytes > OTO_PLUGIN_FILE_MAX_BYTES) {
        return oto_fail(error, OTO_PLUGIN, "plugin '%.128s' is refused: it %s; %s (rule '%s')", path,
                        stage->bytes == 0 ? "is empty" : "is larger", oto_elf_rule_accepted(OTO_ELF_SIZE),
                        oto_elf_rule_name(OTO_ELF_SIZE));
    }
    return OTO_OK;
}

static enum oto_status check_copy(const char *path, struct oto_stage *stage, struct oto_error *error)
{
    const enum oto_status status = check_size(path, stage, error);
    return status == OTO_OK ? check_mapped(path, stage, check_bytes, error) : status;
}

enum oto_status oto_stage_check_isolated(struct oto_stage *stage, const char *path, struct oto_error *error)
{
    return check_mapped(path, stage, check_imports, error);
}

/* Copies the file into sealed memory. */
static enum oto_status stage_copy(const char *path, struct oto_stage *stage, struct oto_error *error)
{
    int source = -1;
    *stage = (struct oto_stage){.fd = -1};
    enum oto_status status = open_source(path, &source, error);
    if (status != OTO_OK) {
        return status;
    }
    const char *slash = strrchr(path, '/');
    char name[64];
    (void)snprintf(name, sizeof name, "otolith-%.40s", slash != NULL ? slash + 1 : path);
    stage->fd = srv_memory_create(name, 0);
    if (stage->fd < 0 || !copy(source, stage->fd, stage) || !srv_memory_seal(stage->fd, SRV_SEAL_CONTENT)) {
        status = oto_fail(error, OTO_IO, "cannot copy plugin '%.256s' into memory: %s", path, strerror(errno));
        oto_stage_close(stage);
    }
    (void)close(source);
    return status;
}

enum oto_status oto_stage_open(const char *path, struct oto_stage *stage, struct oto_error *error)
{
    enum oto_status status = stage_copy(path, stage, error);
    if (status == OTO_OK) {
        status = check_copy(path, stage, error);
    }
    if (status != OTO_OK) {
        oto_stage_close(stage);
    }
    return status;
}

enum oto_status oto_stage_adopt(int fd, const char *path, struct oto_stage *stage, struct oto_error *error)
{
    struct stat info;
    *stage = (struct oto_stage){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    enum oto_status status = OTO_OK;
    if (stage->fd < 0 || fstat(stage->fd, &info) != 0) {
        status = oto_fail(error, OTO_IO, "the copy of plugin '%.256s' cannot be inspected: %s", path, strerror(errno));
    } else if (!srv_memory_is_sealed(stage->fd, SRV_SEAL_CONTENT)) {
        status = oto_fail(error, OTO_INVALID, "the copy of plugin '%.256s' is not sealed", path);
    } else {
        stage->bytes = (size_t)info.st_size;
        status = check_copy(path, stage, error);
    }
    if (status != OTO_OK) {
        oto_stage_close(stage);
    }
    return status;
}

enum oto_status oto_plugin_write_digest(const char *path, struct oto_error *error)
{
    struct oto_stage stage;
    enum oto_status status = stage_copy(path, &stage, error);
    if (status == OTO_OK) {
        status = check_size(path, &stage, error);
    }
    if (status == OTO_OK) {
        status = check_mapped(path, &stage, put_digest, error);
    }
    oto_stage_close(&stage);
    return status;
}

void oto_stage_hash(struct oto_stage *stage)
{
    void *map = mmap(NULL, stage->bytes, PROT_READ, MAP_PRIVATE, stage->fd, 0);
    if (map != MAP_FAILED) {
        stage->content_hash = oto_fnv1a64_more(OTO_FNV1A64_START, map, stage->bytes);
        (void)munmap(map, stage->bytes);
    }
}

void oto_stage_close(struct oto_stage *stage)
{
    if (stage->fd >= 0) {
        (void)close(stage->fd);
        stage->fd = -1;
    }
}

static enum oto_status keep_copy(const struct oto_stage *stage, const char *path, const char *directory,
                                 struct oto_error *error)
{
    char target[4096], temporary[4096 + 16];
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(name);
    const int stem = (int)(length > 3 && strcmp(name + length - 3, ".so") == 0 ? length - 3 : length);
    const int written = snprintf(target, sizeof target, "%s/%.*s-%016llx.so", directory, stem, name,
                                 (unsigned long long)stage->content_hash);
    if (written < 0 || (size_t)written >= sizeof target) {
        return oto_fail(error, OTO_LIMIT, "the path of the plugin copy in '%.128s…' is too long", directory);
    }
    (void)snprintf(temporary, sizeof temporary, "%s.XXXXXX", target);
    const int fd = mkostemp(temporary, O_CLOEXEC);
    struct oto_stage copied;
    bool good = fd >= 0 && lseek(stage->fd, 0, SEEK_SET) == 0 && copy(stage->fd, fd, &copied) && fchmod(fd, 0644) == 0;
    good = good && rename(temporary, target) == 0;
    const int reason = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (!good && fd >= 0) {
        (void)unlink(temporary);
    }
    return good ? OTO_OK : oto_fail(error, OTO_IO, "cannot keep a copy of the plugin as '%.256s': %s", target,
                                    strerror(reason));
}

enum oto_status oto_stage_keep(const struct oto_stage *stage, const char *path, const char *directory,
                               struct oto_error *error)
{
    const char *wanted = directory != NULL ? directory : getenv("OTOLITH_KEEP_PLUGINS");
    return wanted == NULL || wanted[0] == '\0' ? OTO_OK : keep_copy(stage, path, wanted, error);
}
