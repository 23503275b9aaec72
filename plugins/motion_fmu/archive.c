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

static enum oto_status fail_to_read(const char *name, const char *path, struct oto_error *error)
{
    return oto_fail(error, OTO_CORRUPT, "%.200s: '%.100s' in it cannot be read, or has another size than its directory says", path, name);
}

static enum oto_status read_all(struct zip *archive, const zip_stat_t *facts, char *room, const char *path, struct oto_error *error)
{
    zip_file_t *file = zip_fopen_index(archive, facts->index, 0);
    zip_uint64_t got = 0;
    zip_int64_t more = 1;
    while (file != NULL && got < facts->size && (more = zip_fread(file, room + got, facts->size - got)) > 0) {
        got += (zip_uint64_t)more;
    }
    const bool complete = file != NULL && got == facts->size && zip_fread(file, &(char){0}, 1) == 0;
    if (file != NULL) {
        (void)zip_fclose(file);
    }
    return complete ? OTO_OK : fail_to_read(facts->name, path, error);
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
    return read_all(archive, &facts, *text, path, error);
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

/* Copies an entry in parts, so that an FMU of many megabytes takes no more memory than a small one. */
static enum oto_status copy_entry(struct zip *archive, const zip_stat_t *facts, FILE *to, const char *path, struct oto_error *error)
{
    char part[1 << 16];
    zip_file_t *file = zip_fopen_index(archive, facts->index, 0);
    zip_uint64_t got = 0;
    zip_int64_t more = 1;
    bool written = true;
    while (file != NULL && written && got <= facts->size && (more = zip_fread(file, part, sizeof part)) > 0) {
        got += (zip_uint64_t)more;
        written = fwrite(part, 1, (size_t)more, to) == (size_t)more;
    }
    if (file != NULL) {
        (void)zip_fclose(file);
    }
    if (!written) {
        return oto_fail(error, OTO_IO, "%.200s: '%.200s' cannot be written: %s", path, facts->name, strerror(errno));
    }
    return file != NULL && more == 0 && got == facts->size ? OTO_OK : fail_to_read(facts->name, path, error);
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
    FILE *to = fopen(target, "wbxe");
    enum oto_status status = to != NULL ? copy_entry(archive, facts, to, path, error) : OTO_IO;
    if (to == NULL || (fclose(to) != 0 && status == OTO_OK)) {
        status = oto_fail(error, OTO_IO, "%.200s: '%.200s' cannot be written: %s", path, target, strerror(errno));
    }
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
