/* Where plugins are searched. [loop] */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"
#include "plugin/host.h"

enum { PATH_BYTES = 4096, OWN_DIRECTORIES = 4, MAX_DIRECTORIES = 32 + OWN_DIRECTORIES, MAX_CANDIDATES = 256, LISTED_BYTES = 260 };

/*
 * The directories in order: those of OTOLITH_PLUGIN_PATH, beside the library, beside the program (in the build tree, and as
 * installed, where libraries may have a folder for the architecture), the installed one.
 */
struct places {
    char *environment; /* a copy, split at the colons */
    char library[PATH_BYTES], built[PATH_BYTES], moved[PATH_BYTES];
    uint32_t count;
    const char *directories[MAX_DIRECTORIES];
};

static void add_place(struct places *places, const char *directory)
{
    for (uint32_t i = 0; i < places->count; i++) {
        if (strcmp(places->directories[i], directory) == 0) {
            return;
        }
    }
    if (directory[0] != '\0' && places->count < MAX_DIRECTORIES) {
        places->directories[places->count++] = directory;
    }
}

/* Fails if there is no memory for a directory, because without it another plugin of the same name would be found. */
static enum oto_status places_init(struct places *places, struct oto_error *error)
{
    const char *environment = getenv("OTOLITH_PLUGIN_PATH");
    memset(places, 0, sizeof *places);
    places->environment = environment != NULL ? strdup(environment) : NULL;
    if (environment != NULL && places->environment == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the directories of OTOLITH_PLUGIN_PATH");
    }
    char *rest = NULL;
    for (char *word = places->environment != NULL ? strtok_r(places->environment, ":", &rest) : NULL; word != NULL;
         word = strtok_r(NULL, ":", &rest)) {
        if (places->count < MAX_DIRECTORIES - OWN_DIRECTORIES) {
            add_place(places, word);
        }
    }
    (void)srv_beside_library(OTO_PLUGIN_FOLDER, places->library, sizeof places->library);
    (void)srv_beside_program("../lib/" OTO_PLUGIN_FOLDER, places->built, sizeof places->built);
    (void)srv_beside_program(OTO_LIBRARIES_FROM_PROGRAM "/" OTO_PLUGIN_FOLDER, places->moved, sizeof places->moved);
    add_place(places, places->library);
    add_place(places, places->built);
    add_place(places, places->moved);
    add_place(places, OTO_INSTALL_PLUGIN_DIR);
    return OTO_OK;
}

static void places_finish(struct places *places)
{
    free(places->environment);
}

/* Collects the names of the plugins in a directory; returns 0, or the errno that made the list incomplete. */
static int collect(const char *directory, char **names, size_t *count)
{
    int reason = 0;
    DIR *stream = opendir(directory);
    if (stream == NULL) {
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? errno : 0; /* any other error means that the
                                                                                   * directory has no plugins */
    }
    for (struct dirent *entry = readdir(stream); entry != NULL && *count < MAX_CANDIDATES; entry = readdir(stream)) {
        const size_t length = strlen(entry->d_name);
        if (length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0) {
            char *name = strndup(entry->d_name, length - 3);
            if (name != NULL) {
                names[(*count)++] = name;
            } else {
                reason = ENOMEM;
            }
        }
    }
    (void)closedir(stream);
    return reason;
}

static enum oto_status not_found(const struct places *places, const char *name, struct oto_error *error)
{
    char *names[MAX_CANDIDATES];
    char looked[LISTED_BYTES] = "";
    size_t count = 0, length = 0;
    for (uint32_t i = 0; i < places->count; i++) {
        (void)collect(places->directories[i], names, &count); /* names for a suggestion */
        const int written = snprintf(looked + length, sizeof looked - length, "%s%s", length > 0 ? ", " : "",
                                     places->directories[i]);
        length += written > 0 ? (size_t)written : 0;
        length = length < sizeof looked ? length : sizeof looked - 1;
    }
    const char *nearest = oto_nearest_word(name, (const char *const *)names, count);
    const enum oto_status status =
        oto_fail(error, OTO_NOT_FOUND, "there is no plugin '%.64s'%s%.64s%s; looked for %.64s.so in %s", name,
                 nearest != NULL ? " (did you mean '" : "", nearest != NULL ? nearest : "", nearest != NULL ? "'?)" : "",
                 name, looked);
    for (size_t i = 0; i < count; i++) {
        free(names[i]);
    }
    return status;
}

static enum oto_status find_file(const char *name, char *path, size_t path_bytes, struct oto_error *error)
{
    struct stat info;
    if (stat(name, &info) != 0) {
        return oto_fail(error, OTO_NOT_FOUND, "there is no plugin file '%.256s': %s", name, strerror(errno));
    }
    if (strlen(name) >= path_bytes) {
        return oto_fail(error, OTO_LIMIT, "the path of plugin '%.128s…' is longer than %zu bytes", name, path_bytes - 1);
    }
    (void)snprintf(path, path_bytes, "%s", name);
    return OTO_OK;
}

enum oto_status oto_plugin_find(const char *name, char *path, size_t path_bytes, struct oto_error *error)
{
    const size_t length = strlen(name);
    if (length == 0) {
        return oto_fail(error, OTO_INVALID, "the plugin's name is empty; a name such as 'my_sensor' or a path is accepted");
    }
    if (strchr(name, '/') != NULL || (length > 3 && strcmp(name + length - 3, ".so") == 0)) {
        return find_file(name, path, path_bytes, error);
    }
    struct places places;
    enum oto_status status = places_init(&places, error);
    if (status != OTO_OK) {
        return status;
    }
    status = OTO_NOT_FOUND;
    for (uint32_t i = 0; i < places.count && status != OTO_OK; i++) {
        const int written = snprintf(path, path_bytes, "%s/%s.so", places.directories[i], name);
        if (written > 0 && (size_t)written < path_bytes && access(path, F_OK) == 0) {
            status = OTO_OK;
        }
    }
    if (status != OTO_OK) {
        path[0] = '\0';
        status = not_found(&places, name, error);
    }
    places_finish(&places);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum oto_status oto_plugin_each(oto_plugin_name_function each, void *context, struct oto_error *error)
{
    char *names[MAX_CANDIDATES];
    size_t count = 0;
    int reason = 0;
    struct places places;
    enum oto_status status = places_init(&places, error);
    if (status != OTO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < places.count && reason == 0; i++) {
        reason = collect(places.directories[i], names, &count);
    }
    places_finish(&places);
    if (reason != 0) {
        status = oto_fail(error, OTO_IO, "the plugins cannot be listed: %s", strerror(reason));
    } else if (count == 0) {
        status = oto_fail(error, OTO_NOT_FOUND, "there is no plugin in OTOLITH_PLUGIN_PATH, beside the library, beside the program or in "
                          OTO_INSTALL_PLUGIN_DIR);
    }
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count && status == OTO_OK; i++) {
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0) {
            each(context, names[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        free(names[i]);
    }
    return status;
}
