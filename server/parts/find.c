/* Where part files are searched. [loop] */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beside.h"
#include "private.h"

enum { MOST_PLACES = 16, MOST_PARTS = 4096, PATH_BYTES = 4096, MOST_NAME = 100 };

struct places {
    char *paths[MOST_PLACES];
    uint32_t count;
};

struct names {
    char **names;
    size_t count;
};

static void add_place(struct places *places, const char *path)
{
    for (uint32_t i = 0; path != NULL && i < places->count; i++) {
        if (strcmp(places->paths[i], path) == 0) {
            return;
        }
    }
    char *copy = path != NULL && path[0] != '\0' && places->count < MOST_PLACES ? strdup(path) : NULL;
    if (copy != NULL) {
        places->paths[places->count++] = copy;
    }
}

static void add_environment(struct places *places)
{
    const char *environment = getenv("OTOLITH_PARTS_PATH");
    char *copy = environment != NULL ? strdup(environment) : NULL, *rest = NULL;
    for (char *word = copy != NULL ? strtok_r(copy, ":", &rest) : NULL; word != NULL;
         word = strtok_r(NULL, ":", &rest)) {
        add_place(places, word);
    }
    free(copy);
}

/* Adds `parts` beside the file and one folder above: configs/worlds/city.yaml finds configs/parts. */
static void add_near(struct places *places, const char *near)
{
    char path[PATH_BYTES];
    const char *slash = near != NULL ? strrchr(near, '/') : NULL;
    const int length = slash != NULL ? (int)(slash - near) : 1;
    const char *folder = slash == near ? "/" : slash != NULL ? near : ".";
    if (near == NULL || strncmp(near, "--set", 5) == 0) {
        return;
    }
    (void)snprintf(path, sizeof path, "%.*s/parts", length, folder);
    add_place(places, path);
    (void)snprintf(path, sizeof path, "%.*s/../parts", length, folder);
    add_place(places, path);
}

/* Adds the installed folder: PREFIX/lib/libotolith-sim.so and PREFIX/bin/otolith find PREFIX/share/otolith/configs/parts. */
static void add_installed(struct places *places)
{
    char path[PATH_BYTES];
    if (srv_beside_library(OTO_PARTS_FROM_LIBRARY, path, sizeof path)) {
        add_place(places, path);
    }
    if (srv_beside_program("../share/otolith/configs/parts", path, sizeof path)) {
        add_place(places, path);
    }
}

static void places_init(struct places *places, const char *near)
{
    memset(places, 0, sizeof *places);
    add_environment(places);
    add_near(places, near);
    add_installed(places);
    add_place(places, OTO_SOURCE_PARTS_DIR);
    add_place(places, OTO_INSTALL_PARTS_DIR);
}

static void places_finish(struct places *places)
{
    for (uint32_t i = 0; i < places->count; i++) {
        free(places->paths[i]);
    }
}

/* ---- listing ---- */

static void add_name(struct names *names, const char *vendor, const char *file)
{
    const size_t length = strlen(file);
    if (length <= 5 || strcmp(file + length - 5, ".yaml") != 0 || names->count == MOST_PARTS) {
        return;
    }
    char *name = NULL;
    if (asprintf(&name, "%s/%.*s", vendor, (int)length - 5, file) >= 0) {
        names->names[names->count++] = name;
    }
}

static void collect_vendor(struct names *names, const char *place, const char *vendor)
{
    char path[PATH_BYTES];
    if (vendor[0] == '.' || (size_t)snprintf(path, sizeof path, "%s/%s", place, vendor) >= sizeof path) {
        return;
    }
    DIR *folder = opendir(path);
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL; entry = readdir(folder)) {
        add_name(names, vendor, entry->d_name);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool names_init(struct names *names, const struct places *places)
{
    names->count = 0;
    names->names = calloc(MOST_PARTS, sizeof *names->names);
    for (uint32_t i = 0; names->names != NULL && i < places->count; i++) {
        DIR *folder = opendir(places->paths[i]);
        for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL; entry = readdir(folder)) {
            collect_vendor(names, places->paths[i], entry->d_name);
        }
        if (folder != NULL) {
            (void)closedir(folder);
        }
    }
    if (names->names != NULL) {
        qsort(names->names, names->count, sizeof *names->names, by_name);
    }
    return names->names != NULL;
}

static void names_finish(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->names[i]);
    }
    free(names->names);
}

enum oto_status oto_parts_each(enum oto_status (*each)(void *context, const char *name, struct oto_error *error),
                               void *context, struct oto_error *error)
{
    struct places places;
    struct names names;
    enum oto_status status = OTO_OK;
    places_init(&places, NULL);
    if (!names_init(&names, &places)) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory to list the parts");
    }
    for (size_t i = 0; status == OTO_OK && i < names.count; i++) {
        if (i == 0 || strcmp(names.names[i], names.names[i - 1]) != 0) {
            status = each(context, names.names[i], error);
        }
    }
    names_finish(&names);
    places_finish(&places);
    return status;
}

/* ---- finding ---- */

static bool is_file_name(const char *name)
{
    static const char *const endings[] = {".yaml", ".yml", ".json"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

static enum oto_status find_file(const char *name, const char *near, char *path, size_t bytes, struct oto_error *error)
{
    const char *slash = near != NULL && strncmp(near, "--set", 5) != 0 && name[0] != '/' ? strrchr(near, '/') : NULL;
    const int length = slash != NULL ? (int)(slash - near) + 1 : 0;
    if ((size_t)snprintf(path, bytes, "%.*s%s", length, slash != NULL ? near : "", name) >= bytes) {
        return oto_fail(error, OTO_LIMIT, "the path of part '%.64s…' is too long", name);
    }
    return access(path, R_OK) == 0 ? OTO_OK : oto_fail(error, OTO_NOT_FOUND, "there is no part file '%.256s'", path);
}

/* A name is vendor/part in plain letters, so that it cannot lead out of its folder. */
static bool is_part_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t vendor = strspn(name, letters);
    const size_t part = name[vendor] == '/' ? strspn(name + vendor + 1, letters) : 0;
    return vendor > 0 && part > 0 && name[vendor + 1 + part] == '\0' && name[0] != '.' && name[vendor + 1] != '.' &&
           strlen(name) <= MOST_NAME;
}

/* Replaces a former name of a part by its present name. */
static const char *new_name(const char *name)
{
    static const struct {
        const char *from, *to;
    } renamed[] = {{"aceinna/openrtk330", "aceinna/openimu300za"}};
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        if (strcmp(renamed[i].from, name) == 0) {
            return renamed[i].to;
        }
    }
    return NULL;
}

static enum oto_status not_found(const struct places *places, const char *name, struct oto_error *error)
{
    const char *renamed = new_name(name);
    if (renamed != NULL) {
        return oto_fail(error, OTO_NOT_FOUND, "part '%s' has the name '%s'", name, renamed);
    }
    struct names names;
    char looked[300] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < places->count; i++) {
        const int written =
            snprintf(looked + used, sizeof looked - used, "%s%s", used > 0 ? ", " : "", places->paths[i]);
        used += written > 0 && (size_t)written < sizeof looked - used ? (size_t)written : 0;
        looked[used] = '\0';
    }
    const char *near =
        names_init(&names, places) ? oto_nearest_word(name, (const char *const *)names.names, names.count) : NULL;
    const enum oto_status status =
        oto_fail(error, OTO_NOT_FOUND, "there is no part '%.100s'%s%.100s%s; looked in %s", name,
                 near != NULL ? " (did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?)" : "", looked);
    names_finish(&names);
    return status;
}

enum oto_status oto_part_find(const char *name, const char *near, char *path, size_t path_bytes,
                              struct oto_error *error)
{
    struct places places;
    if (is_file_name(name)) {
        return find_file(name, near, path, path_bytes, error);
    }
    if (!is_part_name(name)) {
        return oto_fail(error, OTO_INVALID,
                        "'%.100s' is no part: expected vendor/part, as tdk/icm-42688-p, or a .yaml file", name);
    }
    places_init(&places, near);
    enum oto_status status = OTO_NOT_FOUND;
    for (uint32_t i = 0; i < places.count && status != OTO_OK; i++) {
        const int written = snprintf(path, path_bytes, "%s/%s.yaml", places.paths[i], name);
        status = written > 0 && (size_t)written < path_bytes && access(path, R_OK) == 0 ? OTO_OK : OTO_NOT_FOUND;
    }
    if (status != OTO_OK) {
        path[0] = '\0';
        status = not_found(&places, name, error);
    }
    places_finish(&places);
    return status;
}

enum oto_status oto_part_open(const char *name, const char *near, struct oto_part **part, struct oto_error *error)
{
    char path[PATH_BYTES];
    *part = NULL;
    enum oto_status status = oto_part_find(name, near, path, sizeof path, error);
    if (status == OTO_OK) {
        status = oto_part_read(path, part, error);
    }
    if (status == OTO_OK && !is_file_name(name) && strcmp((*part)->name, name) != 0) {
        status =
            oto_fail(error, OTO_CONFLICT, "%.200s:1:1: error: the file of part '%.100s' contains part '%.100s'",
                     path, name, (*part)->name);
        oto_part_close(*part);
        *part = NULL;
    }
    return status;
}
