#include "record/named_files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "document/document.h"
#include "parts/library.h"

#define INDEX "{i}" /* stands for the index of a vehicle in a path */
enum { MOST_FILES = 16384, MOST_VEHICLES = 10000, PLACE_BYTES = 512 };

struct search {
    struct named_files *found;
    char directory[PATH_MAX]; /* working directory of this process: paths in overrides are relative to it */
    bool in_world;            /* true: the scalar is in the world file; false: in a file that the world file names */
    enum oto_status status;
};

/* ---- paths ---- */

/* Makes a path without ".", ".." and repeated slashes. Symbolic links are not resolved: the world file's author wrote them. */
static bool normalise(const char *path, char *to, size_t bytes)
{
    size_t used = 0;
    while (*path != '\0') {
        path += strspn(path, "/");
        const size_t length = strcspn(path, "/");
        if (length == 2 && path[0] == '.' && path[1] == '.') {
            while (used > 0 && to[--used] != '/') {
            }
        } else if (length > 0 && !(length == 1 && path[0] == '.')) {
            if (used + 1 + length >= bytes) {
                return false;
            }
            to[used++] = '/';
            memcpy(to + used, path, length);
            used += length;
        }
        path += length;
    }
    to[used] = '\0';
    return used > 0;
}

static bool is_from_file(const struct oto_value *value)
{
    return strncmp(value->file, "--set ", 6) != 0;
}

/* The path that a scalar names; the file need not exist. */
static bool path_of(const struct search *search, const struct oto_value *value, char *path, size_t bytes)
{
    char joined[2 * PATH_MAX];
    const char *slash = strrchr(value->file, '/');
    if (value->text[0] == '/') {
        (void)snprintf(joined, sizeof joined, "%s", value->text);
    } else if (is_from_file(value) && slash != NULL) {
        (void)snprintf(joined, sizeof joined, "%.*s/%s", (int)(slash - value->file), value->file, value->text);
    } else {
        (void)snprintf(joined, sizeof joined, "%s/%s", search->directory, value->text);
    }
    return normalise(joined, path, bytes);
}

static bool is_part(const struct oto_value *value)
{
    return value->key != NULL && strcmp(value->key, "part") == 0;
}

/* True if a scalar names a regular file. A part is named by its path or as vendor/part (*by_name). */
static bool find_file(const struct search *search, const struct oto_value *value, char *path, size_t bytes, bool *by_name)
{
    char part[PATH_MAX];
    struct stat facts;
    struct oto_error ignored;
    *by_name = false;
    if (strpbrk(value->text, "./") == NULL || strlen(value->text) >= PATH_MAX) {
        return false;
    }
    if (path_of(search, value, path, bytes) && stat(path, &facts) == 0) {
        return S_ISREG(facts.st_mode) && access(path, R_OK) == 0;
    }
    *by_name = is_part(value) && oto_part_find(value->text, value->file, part, sizeof part, &ignored) == OTO_OK;
    return *by_name && part[0] == '/' && normalise(part, path, bytes);
}

static bool ends_in(const char *path, const char *end)
{
    const size_t length = strlen(path), end_length = strlen(end);
    return length > end_length && strcmp(path + length - end_length, end) == 0;
}

/* ---- the place of a value in its document ---- */

static uint32_t index_of(const struct oto_value *value)
{
    uint32_t i = 0;
    while (value->parent->items[i] != value) {
        i++;
    }
    return i;
}

/* Writes the place of a value in the form of oto_document_set: "vehicles.0.motion.params.file". */
static bool put_place(const struct oto_value *value, char *place, size_t bytes, size_t *used)
{
    if (value->parent == NULL) {
        return true;
    }
    if (!put_place(value->parent, place, bytes, used)) {
        return false;
    }
    const char *dot = *used > 0 ? "." : "";
    const int length = value->key != NULL ? snprintf(place + *used, bytes - *used, "%s%s", dot, value->key)
                                          : snprintf(place + *used, bytes - *used, "%s%u", dot, index_of(value));
    *used += length > 0 ? (size_t)length : 0;
    return length > 0 && *used < bytes;
}

/* ---- the search ---- */

static void search_file(struct search *search, const char *path);

/* True if the list has the path with this place; with any place if `place` is NULL. */
static bool is_known(const struct named_files *found, const char *path, const char *place)
{
    for (uint32_t i = 0; i < found->count; i++) {
        const struct named_file *file = &found->files[i];
        if (strcmp(file->path, path) == 0 && (place == NULL || (file->place != NULL && strcmp(file->place, place) == 0))) {
            return true;
        }
    }
    return false;
}

static void add(struct search *search, const char *path, const char *place)
{
    struct named_files *found = search->found;
    if (is_known(found, path, place)) {
        return;
    }
    struct named_file *more =
        found->count < MOST_FILES ? realloc(found->files, (found->count + 1) * sizeof *more) : NULL;
    if (more == NULL) {
        search->status = found->count < MOST_FILES ? OTO_NO_MEMORY : OTO_LIMIT;
        return;
    }
    found->files = more;
    more[found->count] = (struct named_file){
        .path = strdup(path), .place = place != NULL ? strdup(place) : NULL, .is_plugin = ends_in(path, ".so"), .is_pattern = strstr(path, INDEX) != NULL};
    if (more[found->count].path == NULL || (place != NULL && more[found->count].place == NULL)) {
        search->status = OTO_NO_MEMORY;
    }
    found->count++;
}

static bool needs_place(const struct search *search, const struct oto_value *value, const char *path, bool by_name)
{
    return search->in_world && (by_name || value->text[0] == '/' || !is_from_file(value) || ends_in(path, ".so"));
}

/* Adds the files of a pattern such as "drives/{i}.csv", which names one file for each vehicle. */
static void take_files_of_vehicles(struct search *search, const struct oto_value *value)
{
    char pattern[PATH_MAX], path[PATH_MAX], place[PLACE_BYTES];
    size_t used = 0;
    struct stat facts;
    if (!path_of(search, value, pattern, sizeof pattern)) {
        return;
    }
    const char *index = strstr(pattern, INDEX);
    const uint32_t before = search->found->count;
    for (uint32_t i = 0; index != NULL && i < MOST_VEHICLES && search->status == OTO_OK; i++) {
        const int length = snprintf(path, sizeof path, "%.*s%u%s", (int)(index - pattern), pattern, i, index + sizeof INDEX - 1);
        if (length > 0 && (size_t)length < sizeof path && stat(path, &facts) == 0 && S_ISREG(facts.st_mode)) {
            add(search, path, NULL);
        }
    }
    if (search->found->count > before && needs_place(search, value, pattern, false) &&
        put_place(value, place, sizeof place, &used)) {
        add(search, pattern, place);
    }
}

static void take_scalar(struct search *search, const struct oto_value *value)
{
    char path[PATH_MAX], place[PLACE_BYTES];
    size_t used = 0;
    bool by_name = false;
    if (strstr(value->text, INDEX) != NULL && strlen(value->text) < PATH_MAX) {
        take_files_of_vehicles(search, value);
        return;
    }
    if (!find_file(search, value, path, sizeof path, &by_name)) {
        return;
    }
    const bool first = !is_known(search->found, path, NULL);
    if (!needs_place(search, value, path, by_name)) {
        add(search, path, NULL);
    } else if (put_place(value, place, sizeof place, &used)) {
        add(search, path, place);
    }
    if (first && search->status == OTO_OK && (ends_in(path, ".yaml") || ends_in(path, ".yml") || ends_in(path, ".json"))) {
        search_file(search, path);
    }
}

static void search_value(struct search *search, const struct oto_value *value)
{
    if (value->kind == OTO_VALUE_SCALAR) {
        take_scalar(search, value);
        return;
    }
    for (uint32_t i = 0; i < value->count && search->status == OTO_OK; i++) {
        search_value(search, value->items[i]);
    }
}

/* Searches a file for names of further files if it is a YAML or JSON document. */
static void search_file(struct search *search, const char *path)
{
    struct oto_document *document = NULL;
    struct oto_error ignored;
    const bool in_world = search->in_world;
    if (oto_document_read(path, NULL, &document, &ignored) == OTO_OK) {
        search->in_world = false;
        search_value(search, oto_document_root(document));
        search->in_world = in_world;
    }
    oto_document_close(document);
}

static enum oto_status open_world(const char *path, const char *const *overrides, uint32_t count, struct oto_document **document,
                                  struct oto_error *error)
{
    enum oto_status status = oto_document_read(path, NULL, document, error);
    for (uint32_t i = 0; i < count && status == OTO_OK; i++) {
        char *copy = strdup(overrides[i]), *equals = copy != NULL ? strchr(copy, '=') : NULL;
        if (equals != NULL) {
            *equals = '\0';
            status = oto_document_set(*document, copy, equals + 1, error);
        }
        free(copy);
    }
    return status;
}

enum oto_status named_files_find(const char *world_path, const char *const *overrides, uint32_t override_count,
                                 struct named_files *files, struct oto_error *error)
{
    struct oto_document *document = NULL;
    struct search search = {.found = files, .in_world = true, .status = OTO_OK};
    if (getcwd(search.directory, sizeof search.directory) == NULL) {
        search.directory[0] = '\0';
    }
    enum oto_status status = open_world(world_path, overrides, override_count, &document, error);
    if (status == OTO_OK) {
        search_value(&search, oto_document_root(document));
        status = search.status == OTO_OK
                     ? OTO_OK
                     : oto_fail(error, search.status, "the files that '%.256s' names cannot be recorded: %s", world_path,
                                search.status == OTO_LIMIT ? "they are more than 16384" : "out of memory");
    }
    oto_document_close(document);
    return status;
}

void named_files_free(struct named_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        free(files->files[i].path);
        free(files->files[i].place);
    }
    free(files->files);
    *files = (struct named_files){0};
}
