/* The files of an exported FMU and their zip file. */
#include "export/fmu.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "base/file_kind.h"
#include "base/temporary_directory.h"
#include "fmu/fmu_model.h"
#include "otolith/hash.h"
#include "plugin/host.h"

#if defined(__x86_64__)
#define PLATFORM "x86_64-linux"
#else
#define PLATFORM "aarch64-linux"
#endif
#define BINARY "otolith-fmu.so"
#define MOST_FILE_BYTES (64 << 20)

struct bytes {
    char *data;
    size_t count;
};

/* All that is made on the way to the zip file. */
struct making {
    struct zip *archive;
    char folder[PATH_MAX]; /* with resources/ as the FMU will have it */
    char token[64], identifier[128];
    struct fmu_files files;
    struct oto_sim *sim;
    struct oto_sim_channel sensor;
};

static enum oto_status read_file(const char *path, struct bytes *bytes, struct oto_error *error)
{
    const char *why = NULL;
    enum oto_status status = srv_regular_read(path, MOST_FILE_BYTES, &bytes->data, &bytes->count, &why);
    if (status == OTO_OK && bytes->count > MOST_FILE_BYTES) {
        free(bytes->data);
        status = OTO_LIMIT;
        why = "it is longer than 64 MiB, the most that an FMU takes";
    }
    return status == OTO_OK ? OTO_OK : oto_fail(error, status, "'%.200s' cannot be read: %s", path, why);
}

static enum oto_status write_file(const struct making *making, const char *name, const struct bytes *bytes, struct oto_error *error)
{
    char path[PATH_MAX + 128];
    (void)snprintf(path, sizeof path, "%s/%s", making->folder, name);
    FILE *file = fopen(path, "wbe");
    const bool written = file != NULL && fwrite(bytes->data, 1, bytes->count, file) == bytes->count;
    return (file == NULL || fclose(file) == 0) && written ? OTO_OK : oto_fail(error, OTO_IO, "'%.200s' cannot be written: %s", path, strerror(errno));
}

/* ---- zip ---- */

/* Adds a file; the bytes become the archive's. The time of each file is the same, so that equal worlds give equal FMUs. */
static enum oto_status add(struct making *making, const char *name, struct bytes *bytes, struct oto_error *error)
{
    zip_source_t *source = zip_source_buffer(making->archive, bytes->data, bytes->count, 1);
    if (source == NULL) {
        free(bytes->data);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for '%.100s' of the FMU", name);
    }
    const zip_int64_t index = zip_file_add(making->archive, name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        return oto_fail(error, OTO_IO, "'%.100s' cannot be added to the FMU: %s", name, zip_strerror(making->archive));
    }
    return zip_file_set_dostime(making->archive, (zip_uint64_t)index, 0, 0x21, 0) == 0
               ? OTO_OK
               : oto_fail(error, OTO_IO, "'%.100s' of the FMU gets no time: %s", name, zip_strerror(making->archive));
}

static enum oto_status add_path(struct making *making, const char *name, const char *path, struct oto_error *error)
{
    struct bytes bytes;
    const enum oto_status status = read_file(path, &bytes, error);
    return status == OTO_OK ? add(making, name, &bytes, error) : status;
}

/* ---- resources ---- */

static enum oto_status make_world(struct making *making, const char *world, const char *node, uint64_t *hash, struct oto_error *error)
{
    struct bytes text = {NULL, 0};
    FILE *to = open_memstream(&text.data, &text.count);
    if (to == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a world file");
    }
    enum oto_status status = fmu_world_write(world, node, to, &making->files, error);
    (void)fclose(to);
    if (status == OTO_OK) {
        *hash = oto_fnv1a64_more(*hash, text.data, text.count);
        status = write_file(making, FMU_WORLD_FILE, &text, error);
    }
    free(text.data);
    return status;
}

static enum oto_status copy_files(struct making *making, uint64_t *hash, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (unsigned i = 0; status == OTO_OK && i < making->files.count; i++) {
        struct bytes bytes;
        status = read_file(making->files.files[i].path, &bytes, error);
        if (status == OTO_OK) {
            *hash = oto_fnv1a64_more(*hash, bytes.data, bytes.count);
            status = write_file(making, making->files.files[i].name, &bytes, error);
            free(bytes.data);
        }
    }
    return status;
}

/* Opens the world as the FMU will do, which checks it and gives the record of the sensor. */
static enum oto_status open_world(struct making *making, const char *node, struct oto_error *error)
{
    char world[PATH_MAX + 32], plugin[PATH_MAX + 64];
    const char *const overrides[] = {plugin};
    (void)snprintf(world, sizeof world, "%s/%s", making->folder, FMU_WORLD_FILE);
    (void)snprintf(plugin, sizeof plugin, "vehicles.0.nodes.0.plugin=%s/%s", making->folder, FMU_PLUGIN_FILE);
    const struct oto_sim_options options = {.size = sizeof options, .path = world, .overrides = overrides, .override_count = 1};
    enum oto_status status = oto_sim_open(&options, &making->sim, error);
    return status == OTO_OK ? oto_sim_channel(making->sim, node, &making->sensor, error) : status;
}

/* A file that a parameter names would have to be in the FMU too. */
static enum oto_status check_paths(const struct making *making, const char *node, struct oto_error *error)
{
    char path[PATH_MAX + 32], text[PATH_MAX];
    struct oto_plugin *plugin = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", making->folder, FMU_PLUGIN_FILE);
    enum oto_status status = oto_plugin_open(path, NULL, &plugin, error);
    const struct oto_plugin_descriptor *descriptor = status == OTO_OK ? oto_plugin_descriptor(plugin) : NULL;
    for (uint32_t i = 0; descriptor != NULL && status == OTO_OK && i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        if (param->type == OTO_PARAM_PATH && oto_sim_get(making->sim, node, param->key, text, sizeof text, NULL) == OTO_OK &&
            strcmp(text, "\"\"") != 0 && strcmp(text, "''") != 0 && text[0] != '\0') {
            status = oto_fail(error, OTO_UNSUPPORTED, "node '%.100s': its parameter '%.100s' names a file, and an exported FMU contains no such file", node, param->key);
        }
    }
    (void)oto_plugin_close(plugin);
    return status;
}

static enum oto_status make_resources(struct making *making, const char *world, const char *node, struct oto_error *error)
{
    uint64_t hash = OTO_FNV1A64_START;
    enum oto_status status = make_world(making, world, node, &hash, error);
    if (status == OTO_OK) {
        status = copy_files(making, &hash, error);
    }
    if (status == OTO_OK) {
        status = open_world(making, node, error);
    }
    if (status == OTO_OK) {
        status = check_paths(making, node, error);
    }
    (void)snprintf(making->token, sizeof making->token, "{otolith-%016llx}", (unsigned long long)hash);
    const struct bytes token = {making->token, strlen(making->token)};
    return status == OTO_OK ? write_file(making, "token", &token, error) : status;
}

/* ---- the FMU ---- */

/* The binary is in lib/otolith beside this program's folder, or in the installed library folder. */
static enum oto_status find_binary(char *path, size_t bytes, struct oto_error *error)
{
    static const char *const places[] = {"../lib/otolith/" BINARY, OTO_LIBRARIES_FROM_PROGRAM "/otolith/" BINARY};
    char self[PATH_MAX] = "";
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = length > 0 ? strrchr(self, '/') : NULL;
    for (size_t i = 0; slash != NULL && i < sizeof places / sizeof *places; i++) {
        if ((size_t)snprintf(path, bytes, "%.*s/%s", (int)(slash - self), self, places[i]) < bytes && access(path, R_OK) == 0) {
            return OTO_OK;
        }
    }
    return oto_fail(error, OTO_NOT_FOUND, "'" BINARY "', which an FMU is made of, is not in %s of this program", places[0]);
}

struct library {
    struct making *making;
    enum oto_status status;
    struct oto_error *error;
};

/* Puts the libraries that the binary needs beside it; this program has them loaded. */
static int add_library(struct dl_phdr_info *info, size_t bytes, void *context)
{
    static const char *const wanted[] = {"libfyaml.so.", "libcsv.so."};
    struct library *library = context;
    const char *slash = strrchr(info->dlpi_name, '/');
    char name[PATH_MAX];
    (void)bytes;
    for (size_t i = 0; slash != NULL && i < sizeof wanted / sizeof *wanted; i++) {
        if (strncmp(slash + 1, wanted[i], strlen(wanted[i])) == 0) {
            (void)snprintf(name, sizeof name, "binaries/" PLATFORM "/%s", slash + 1);
            library->status = add_path(library->making, name, info->dlpi_name, library->error);
        }
    }
    return library->status != OTO_OK;
}

static enum oto_status add_binary(struct making *making, struct oto_error *error)
{
    char path[PATH_MAX], name[256];
    struct library library = {making, OTO_OK, error};
    enum oto_status status = find_binary(path, sizeof path, error);
    (void)snprintf(name, sizeof name, "binaries/" PLATFORM "/%s.so", making->identifier);
    if (status == OTO_OK) {
        status = add_path(making, name, path, error);
    }
    if (status == OTO_OK) {
        (void)dl_iterate_phdr(add_library, &library);
        status = library.status;
    }
    return status;
}

static enum oto_status add_description(struct making *making, struct oto_error *error)
{
    struct bytes xml = {NULL, 0};
    struct oto_sim_channel motion;
    double tick_s = 0.001;
    FILE *to = open_memstream(&xml.data, &xml.count);
    if (to == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the description of the FMU");
    }
    if (oto_sim_channel_at(making->sim, 0, &motion, error) == OTO_OK && motion.rate_num > 0) {
        tick_s = (double)motion.rate_den / (double)motion.rate_num;
    }
    fmu_description_write(to, &making->sensor, making->identifier, making->token, tick_s);
    (void)fclose(to);
    return add(making, "modelDescription.xml", &xml, error);
}

static enum oto_status add_all(struct making *making, struct oto_error *error)
{
    char path[PATH_MAX + 128], name[128];
    enum oto_status status = add_description(making, error);
    if (status == OTO_OK) {
        status = add_binary(making, error);
    }
    for (unsigned i = 0; status == OTO_OK && i < making->files.count + 2; i++) {
        const char *file = i == 0 ? FMU_WORLD_FILE : i == 1 ? "token" : making->files.files[i - 2].name;
        (void)snprintf(path, sizeof path, "%s/%s", making->folder, file);
        (void)snprintf(name, sizeof name, "resources/%s", file);
        status = add_path(making, name, path, error);
    }
    return status;
}

static enum oto_status write_archive(struct making *making, const char *file, struct oto_error *error)
{
    int code = 0;
    making->archive = zip_open(file, ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (making->archive == NULL) {
        return oto_fail(error, OTO_IO, "'%.200s' cannot be written (libzip error %d)", file, code);
    }
    const enum oto_status status = add_all(making, error);
    if (status != OTO_OK) {
        zip_discard(making->archive);
        return status;
    }
    if (zip_close(making->archive) != 0) {
        (void)oto_fail(error, OTO_IO, "'%.200s' cannot be written: %s", file, zip_strerror(making->archive));
        zip_discard(making->archive);
        return OTO_IO;
    }
    return OTO_OK;
}

/* A name of C: VEHICLE_NODE with '_' for what C does not allow. */
static void name_binary(const char *node, char *identifier, size_t bytes)
{
    (void)snprintf(identifier, bytes, "%s%s", node[0] >= '0' && node[0] <= '9' ? "_" : "", node);
    for (char *c = identifier; *c != '\0'; c++) {
        const bool allowed = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        *c = allowed ? *c : '_';
    }
}

enum oto_status export_fmu(const char *world, const char *node, const char *file, char *made, size_t made_bytes, struct oto_error *error)
{
    struct making *making = calloc(1, sizeof *making);
    if (making == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for an FMU");
    }
    name_binary(node, making->identifier, sizeof making->identifier);
    if (file != NULL) {
        (void)snprintf(made, made_bytes, "%s", file);
    } else {
        (void)snprintf(made, made_bytes, "%s.fmu", making->identifier);
    }
    enum oto_status status = srv_temporary_directory_make("otolith-export", making->folder, sizeof making->folder, error);
    if (status == OTO_OK) {
        status = make_resources(making, world, node, error);
    }
    if (status == OTO_OK) {
        status = write_archive(making, made, error);
    }
    srv_temporary_directory_remove(making->folder);
    oto_sim_close(making->sim);
    free(making);
    return status;
}
