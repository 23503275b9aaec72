/* otolith new plugin NAME, otolith new world NAME: writes files to start from, copies of configs/templates. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "installed.h"
#include "json.h"

enum { PATH_BYTES = 4096, MOST_FILES = 8, NAME_BYTES = 32 };

/* A template: in the texts and names of its files, `word` is replaced by the new name. */
struct template {
    const char *kind, *word;
    const char *files[MOST_FILES];
    bool has_folder; /* the files are put into a new folder that has the new name */
    const char *next; /* the commands that the user types next; %1$s: the new name */
};

static const struct template templates[] = {
    {"plugin", "my_plugin", {"CMakeLists.txt", "my_plugin.c", "README.md", "test.sh", "car.yaml"}, true,
     "Build and test it:\n"
     "  cd %1$s && cmake -B build && cmake --build build && ctest --test-dir build\n"
     "Swap it in, from a second terminal, while `otolith run car.yaml` runs:\n"
     "  otolith swap first/car/imu build/%1$s.so --wait\n"},
    {"world", "my_world", {"my_world.yaml"}, false, "Run it:\n  otolith run %1$s.yaml\n"},
};

static const struct template *find_template(const char *kind)
{
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        if (strcmp(templates[i].kind, kind) == 0) {
            return &templates[i];
        }
    }
    return NULL;
}

/* True if the text can be a C identifier, the name of a file, and the name of a world in topics. */
static bool is_name(const char *text)
{
    const size_t length = strlen(text);
    return length < NAME_BYTES && strspn(text, "abcdefghijklmnopqrstuvwxyz") > 0 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static void write_replaced(FILE *to, const char *text, const char *word, const char *name)
{
    const char *found;
    while ((found = strstr(text, word)) != NULL) {
        (void)fprintf(to, "%.*s%s", (int)(found - text), text, name);
        text = found + strlen(word);
    }
    (void)fputs(text, to);
}

static enum oto_status replaced(const char *text, const char *word, const char *name, char **made, struct oto_error *error)
{
    size_t bytes = 0;
    FILE *stream = open_memstream(made, &bytes);
    if (stream == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    write_replaced(stream, text, word, name);
    return fclose(stream) == 0 ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "out of memory");
}

/* Creates a file; never replaces an existing one. */
static enum oto_status write_file(const char *path, const char *text, struct oto_error *error)
{
    FILE *file = fopen(path, "wxe");
    if (file == NULL) {
        return errno == EEXIST ? oto_fail(error, OTO_EXISTS, "'%.256s' exists and is not replaced: choose another name", path)
                               : oto_fail(error, OTO_IO, "'%.256s' cannot be written: %s", path, strerror(errno));
    }
    const bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written ? OTO_OK : oto_fail(error, OTO_IO, "'%.256s' cannot be written: %s", path, strerror(errno));
}

static enum oto_status copy_file(const struct template *template, const char *from, const char *name, const char *to,
                                 struct oto_error *error)
{
    char *text = NULL, *made = NULL;
    size_t length = 0;
    enum oto_status status = cli_read_file(from, &text, &length, error);
    if (status == OTO_OK) {
        status = replaced(text, template->word, name, &made, error);
    }
    if (status == OTO_OK) {
        status = write_file(to, made, error);
    }
    free(text);
    free(made);
    return status;
}

static enum oto_status make_one(const struct template *template, uint32_t i, const char *folder, const char *name, char **path,
                                struct oto_error *error)
{
    char from[PATH_BYTES + 64], *file = NULL;
    (void)snprintf(from, sizeof from, "%s/%s", folder, template->files[i]);
    enum oto_status status = replaced(template->files[i], template->word, name, &file, error);
    if (status == OTO_OK && asprintf(path, "%s%s%s", template->has_folder ? name : "", template->has_folder ? "/" : "", file) < 0) {
        *path = NULL;
        status = oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    if (status == OTO_OK) {
        status = copy_file(template, from, name, *path, error);
    }
    free(file);
    return status;
}

static enum oto_status make_all(const struct template *template, const char *name, char **paths, struct oto_error *error)
{
    char folder[PATH_BYTES], relative[64];
    (void)snprintf(relative, sizeof relative, "templates/%s", template->kind);
    enum oto_status status = cli_installed_folder(relative, folder, sizeof folder, error);
    if (status == OTO_OK && template->has_folder && mkdir(name, 0777) != 0) {
        status = errno == EEXIST ? oto_fail(error, OTO_EXISTS, "'%s' exists and is not replaced: choose another name", name)
                                 : oto_fail(error, OTO_IO, "the folder '%s' cannot be made: %s", name, strerror(errno));
    }
    for (uint32_t i = 0; i < MOST_FILES && template->files[i] != NULL && status == OTO_OK; i++) {
        status = make_one(template, i, folder, name, &paths[i], error);
    }
    return status;
}

static void print_json(char *const *paths)
{
    struct oto_json json = {.to = stdout};
    oto_json_open(&json, NULL, '{');
    oto_json_open(&json, "files", '[');
    for (uint32_t i = 0; i < MOST_FILES && paths[i] != NULL; i++) {
        oto_json_text(&json, NULL, paths[i]);
    }
    oto_json_close(&json, ']');
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

static void print_made(const struct template *template, const char *name, char *const *paths)
{
    (void)fputs("Written:\n", stdout);
    for (uint32_t i = 0; i < MOST_FILES && paths[i] != NULL; i++) {
        cli_print_line(stdout, "  %s", paths[i]);
    }
    write_replaced(stdout, template->next, "%1$s", name);
}

int cli_new(int argc, char **argv)
{
    struct cli_simple simple;
    struct oto_error error = {0};
    char *paths[MOST_FILES] = {NULL};
    cli_parse_simple(argc, argv, "plugin|world NAME",
                     "Write files to start from: a plugin with its build and test in the folder NAME, or a world as NAME.yaml.", 2, 2,
                     &simple);
    const struct template *template = find_template(simple.arguments[0]);
    const char *name = simple.arguments[1];
    if (template == NULL) {
        (void)fprintf(stderr, "otolith new: expected plugin or world, got '%s'\n", simple.arguments[0]);
        return CLI_USAGE;
    }
    enum oto_status status = is_name(name)
                                 ? make_all(template, name, paths, &error)
                                 : oto_fail(&error, OTO_INVALID, "'%.64s' is no name of a %s: expected a letter a-z, then at most %d of a-z 0-9 _",
                                            name, template->kind, NAME_BYTES - 2);
    if (status == OTO_OK) {
        simple.common.json ? print_json(paths) : print_made(template, name, paths);
    }
    for (uint32_t i = 0; i < MOST_FILES; i++) {
        free(paths[i]);
    }
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
