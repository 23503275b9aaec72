#include "installed.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beside.h"
#include "cli.h"

#define DEFAULT_WORLD "city_drive.yaml"
enum { MOST_WORLDS = 256 };

/* Names of the world files in the folder, sorted. */
struct world_files {
    char folder[4096];
    char *names[MOST_WORLDS];
    uint32_t count;
};

enum oto_status cli_installed_folder(const char *name, char *path, size_t bytes, struct oto_error *error)
{
    char relative[128];
    (void)snprintf(relative, sizeof relative, "../share/otolith/configs/%.64s", name);
    if (srv_beside_program(relative, path, bytes) && access(path, R_OK | X_OK) == 0) {
        return OTO_OK;
    }
    (void)snprintf(path, bytes, "%s/%s", OTO_SOURCE_CONFIGS_DIR, name);
    return access(path, R_OK | X_OK) == 0
               ? OTO_OK
               : oto_fail(error, OTO_NOT_FOUND, "there is no folder %s beside this program and no %s: install otolith", relative, path);
}

static int is_world(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

static enum oto_status list_worlds(struct world_files *files, struct oto_error *error)
{
    struct dirent **entries = NULL;
    *files = (struct world_files){.count = 0};
    const enum oto_status status = cli_installed_folder("worlds", files->folder, sizeof files->folder, error);
    if (status != OTO_OK) {
        return status;
    }
    const int found = scandir(files->folder, &entries, is_world, alphasort);
    if (found < 0) {
        return oto_fail(error, OTO_IO, "%.256s cannot be read: %s", files->folder, strerror(errno));
    }
    for (int i = 0; i < found; i++) {
        if (files->count < MOST_WORLDS && (files->names[files->count] = strdup(entries[i]->d_name)) != NULL) {
            files->count++;
        }
        free(entries[i]);
    }
    free(entries);
    return files->count > 0 ? OTO_OK : oto_fail(error, OTO_NOT_FOUND, "%.256s has no world", files->folder);
}

static void free_worlds(struct world_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        free(files->names[i]);
    }
    files->count = 0;
}

/* Reads a line with the number of a world. Returns its name, or NULL if the line is something else. */
static const char *read_choice(const struct world_files *files)
{
    char line[32], *end = NULL;
    if (fgets(line, sizeof line, stdin) == NULL) {
        return NULL;
    }
    if (line[0] == '\n') {
        return DEFAULT_WORLD;
    }
    const unsigned long number = strtoul(line, &end, 10);
    return end != line && (*end == '\n' || *end == '\0') && number >= 1 && number <= files->count ? files->names[number - 1] : NULL;
}

static const char *ask(const struct world_files *files)
{
    (void)fprintf(stderr, "Worlds in %s:\n", files->folder);
    for (uint32_t i = 0; i < files->count; i++) {
        cli_print_line(stderr, "%4u  %s", i + 1, files->names[i]);
    }
    (void)fprintf(stderr, "Number of the world to run (Enter: " DEFAULT_WORLD "): ");
    return read_choice(files);
}

char *cli_world_choose(struct oto_error *error)
{
    struct world_files files;
    char *path = NULL;
    if (list_worlds(&files, error) != OTO_OK) {
        return NULL;
    }
    const bool asks = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
    const char *name = asks ? ask(&files) : DEFAULT_WORLD;
    if (name == NULL) {
        (void)oto_fail(error, OTO_INVALID, "expected a number from 1 to %u; `otolith run FILE` runs any world file", files.count);
    } else if (asprintf(&path, "%s/%s", files.folder, name) < 0) {
        path = NULL;
        (void)oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    if (path != NULL && !asks) {
        cli_print_line(stderr, "otolith: no world file was named: runs %s", path);
    }
    free_worlds(&files);
    return path;
}
