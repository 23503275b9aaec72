#include "archive.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

#define MOST_ENTRIES 20000
#define MOST_DESCRIPTION_BYTES (64u << 20)
#define MOST_BYTES (UINT64_C(1) << 30) /* of all unpacked files */
#define PATH_BYTES 1024

enum oto_status fmu_archive_open(const char *path, struct zip **archive, struct oto_error *error)
{
    int code = 0;
    *archive = zip_open(path, ZIP_RDONLY, &code);
    if (*archive == NULL) {
        zip_error_t reason;
        zip_error_init_with_code(&reason, code);
        const enum oto_status status = oto_fail(error, code == ZIP_ER_NOENT ? OTO_NOT_FOUND : OTO_INVALID,
                                                "the FMU '%.200s' cannot be opened: %s", path, zip_error_strerror(&reason));
        zip_error_fini(&reason);
        return status;
    }
    return OTO_OK;
}

void fmu_archive_close(struct zip *archive)
{
    if (archive != NULL) {
        zip_discard(archive);
    }
}

static enum oto_status read_all(struct zip *archive, zip_uint64_t index, char *room, zip_uint64_t bytes, const char *path,
                                struct oto_error *error)
{
    zip_file_t *file = zip_fopen_index(archive, index, 0);
    zip_uint64_t got = 0;
    zip_int64_t more = 1;
    while (file != NULL && got < bytes && (more = zip_fread(file, room + got, bytes - got)) > 0) {
        got += (zip_uint64_t)more;
    }
    const bool complete = file != NULL && got == bytes && zip_fread(file, &(char){0}, 1) == 0;
    if (file != NULL) {
        (void)zip_fclose(file);
    }
    return complete ? OTO_OK
                    : oto_fail(error, OTO_CORRUPT, "%.200s: '%.100s' in it cannot be read, or has another size than its directory says",
                               path, zip_get_name(archive, index, 0));
}

enum oto_status fmu_archive_description(struct zip *archive, const char *path, char **text, size_t *bytes, struct oto_error *error)
{
    zip_stat_t facts;
    *text = NULL;
    if (zip_stat(archive, "modelDescription.xml", 0, &facts) != 0 || (facts.valid & ZIP_STAT_SIZE) == 0) {
        return oto_fail(error, OTO_INVALID, "'%.200s' is no FMU: it contains no modelDescription.xml", path);
    }
    if (facts.size > MOST_DESCRIPTION_BYTES) {
        return oto_fail(error, OTO_LIMIT, "%.200s: modelDescription.xml has %llu bytes; at most %u are accepted", path,
                        (unsigned long long)facts.size, MOST_DESCRIPTION_BYTES);
    }
    *text = malloc(facts.size + 1);
    if (*text == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the description of '%.200s'", path);
    }
    *bytes = facts.size;
    return read_all(archive, facts.index, *text, facts.size, path, error);
}

/* Whether a name stays below the directory into which it is unpacked. */
static bool is_safe(const char *name)
{
    if (name[0] == '/' || name[0] == '\0' || strchr(name, '\\') != NULL || strchr(name, ':') != NULL) {
        return false;
    }
    for (const char *part = name; part != NULL; part = strchr(part, '/') != NULL ? strchr(part, '/') + 1 : NULL) {
        const size_t length = strcspn(part, "/");
        if ((length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.')) {
            return false;
        }
    }
    return true;
}

/* Makes the directories of a file's path below `path[base]`. */
static bool make_parents(char *path, size_t base)
{
    for (char *slash = strchr(path + base, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made) {
            return false;
        }
    }
    return true;
}

static bool write_file(const char *path, const char *bytes, size_t count)
{
    FILE *file = fopen(path, "wbxe");
    if (file == NULL) {
        return false;
    }
    const bool written = fwrite(bytes, 1, count, file) == count;
    return fclose(file) == 0 && written;
}

static enum oto_status unpack_entry(struct zip *archive, const zip_stat_t *facts, const char *path, const char *directory,
                                    struct oto_error *error)
{
    char target[PATH_BYTES];
    const int length = snprintf(target, sizeof target, "%s/%s", directory, facts->name);
    if (length < 0 || (size_t)length >= sizeof target) {
        return oto_fail(error, OTO_LIMIT, "%.200s: the path of '%.100s' in it is too long", path, facts->name);
    }
    if (!make_parents(target, strlen(directory) + 1)) {
        return oto_fail(error, OTO_IO, "%.200s: '%.200s' cannot be made: %s", path, target, strerror(errno));
    }
    if (target[length - 1] == '/') {
        return OTO_OK;
    }
    char *bytes = malloc(facts->size + 1);
    if (bytes == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "%.200s: no memory for '%.100s' in it", path, facts->name);
    }
    enum oto_status status = read_all(archive, facts->index, bytes, facts->size, path, error);
    if (status == OTO_OK && !write_file(target, bytes, facts->size)) {
        status = oto_fail(error, OTO_IO, "%.200s: '%.200s' cannot be written: %s", path, target, strerror(errno));
    }
    free(bytes);
    return status;
}

static bool begins_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* Unpacks entry `index` if it is needed; adds its size to *total, whether or not. */
static enum oto_status unpack_one(struct zip *archive, zip_uint64_t index, const char *path, const char *wanted,
                                  const char *directory, uint64_t *total, struct oto_error *error)
{
    zip_stat_t facts;
    if (zip_stat_index(archive, index, 0, &facts) != 0 || (facts.valid & (ZIP_STAT_SIZE | ZIP_STAT_NAME)) != (ZIP_STAT_SIZE | ZIP_STAT_NAME)) {
        return oto_fail(error, OTO_CORRUPT, "%.200s: entry %llu of the zip file has no name or size", path, (unsigned long long)index);
    }
    if (!is_safe(facts.name)) {
        return oto_fail(error, OTO_INVALID, "%.200s: '%.100s' in it would be unpacked elsewhere; relative paths without '..' are accepted", path,
                        facts.name);
    }
    if (facts.size > MOST_BYTES - *total) {
        return oto_fail(error, OTO_LIMIT, "%.200s: its files have more than %llu bytes, which is the most that is accepted", path,
                        (unsigned long long)MOST_BYTES);
    }
    *total += facts.size;
    return begins_with(facts.name, wanted) || begins_with(facts.name, "resources/")
               ? unpack_entry(archive, &facts, path, directory, error)
               : OTO_OK;
}

enum oto_status fmu_archive_unpack(struct zip *archive, const char *path, const char *platform, const char *binary,
                                   const char *directory, struct oto_error *error)
{
    const zip_int64_t count = zip_get_num_entries(archive, 0);
    char wanted[64];
    uint64_t total = 0;
    enum oto_status status = OTO_OK;
    if (count < 0 || count > MOST_ENTRIES) {
        return oto_fail(error, OTO_LIMIT, "%.200s: it has %lld files; at most %d are accepted", path, (long long)count, MOST_ENTRIES);
    }
    if (zip_name_locate(archive, binary, 0) < 0) {
        return oto_fail(error, OTO_UNSUPPORTED, "%.200s: it has no binary for this platform: '%.150s' is not in it", path, binary);
    }
    (void)snprintf(wanted, sizeof wanted, "binaries/%s/", platform);
    for (zip_int64_t i = 0; status == OTO_OK && i < count; i++) {
        status = unpack_one(archive, (zip_uint64_t)i, path, wanted, directory, &total, error);
    }
    return status;
}
