/* A grade file: a world, and the values that are set and drawn in it. */
#include "grade/grade.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beside.h"


enum { PATH_BYTES = 4096 };

/* ---- reading ---- */

static enum oto_status check_keys(const struct oto_value *root, struct oto_error *error)
{
    static const char *const keys[] = {"grade", "world", "set", "draw", "kinds"};
    for (uint32_t i = 0; i < root->count; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            known = known || strcmp(root->items[i]->key, keys[k]) == 0;
        }
        if (!known) {
            return oto_value_fail_key(root->items[i], error, OTO_INVALID,
                                      "a grade has `grade`, `world`, `draw` and perhaps `set` and `kinds`, not '%s'", root->items[i]->key);
        }
    }
    return OTO_OK;
}

static enum oto_status read_world(struct grade_world *world, const struct oto_value *value, struct oto_error *error)
{
    const char *name, *slash = strrchr(world->path, '/');
    enum oto_status status = oto_value_text(value, &name, error);
    if (status != OTO_OK) {
        return status;
    }
    if (asprintf(&world->world_path, "%.*s%s", name[0] != '/' && slash != NULL ? (int)(slash - world->path + 1) : 0,
                 world->path, name) < 0) {
        world->world_path = NULL;
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the path of a world");
    }
    return cli_read_file(world->world_path, &world->world_text, &world->world_length, error);
}

static enum oto_status read_name(struct grade_world *world, const struct oto_value *root, struct oto_error *error)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    const struct oto_value *value = oto_value_get(root, "grade");
    const char *name;
    enum oto_status status = oto_value_text(value, &name, error);
    if (status == OTO_OK && (name[0] == '\0' || strlen(name) >= sizeof world->name || strspn(name, allowed) != strlen(name))) {
        status = oto_value_fail(value, error, OTO_INVALID, "a grade's name has 1 to %zu characters of a-z, 0-9, _ and -",
                                sizeof world->name - 1);
    }
    if (status == OTO_OK) {
        (void)snprintf(world->name, sizeof world->name, "%s", name);
    }
    return status;
}

static enum oto_status read_kinds(struct grade_world *world, const struct oto_value *root, struct oto_error *error)
{
    world->kinds = oto_value_get(root, "kinds");
    if (world->kinds != NULL && world->kinds->kind != OTO_VALUE_MAP) {
        return oto_value_expected(world->kinds, error, "a map from traffic to a map like `draw`");
    }
    for (uint32_t i = 0; world->kinds != NULL && i < world->kinds->count; i++) {
        if (world->kinds->items[i]->kind != OTO_VALUE_MAP) {
            return oto_value_expected(world->kinds->items[i], error, "a map of paths in the world and laws, like `draw`");
        }
    }
    return OTO_OK;
}

enum oto_status grade_world_open(const char *path, struct grade_world *world, struct oto_error *error)
{
    *world = (struct grade_world){.path = strdup(path)};
    if (world->path == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the path of a grade");
    }
    enum oto_status status = cli_read_file(path, &world->text, &world->length, error);
    if (status == OTO_OK) {
        status = oto_document_parse(path, world->text, world->length, NULL, &world->document, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_value *root = oto_document_root(world->document);
    world->draw = oto_value_get(root, "draw");
    if (oto_value_get(root, "grade") == NULL || oto_value_get(root, "world") == NULL || world->draw == NULL ||
        world->draw->kind != OTO_VALUE_MAP) {
        return oto_fail(error, OTO_INVALID, "%.200s is no grade: `grade: NAME`, `world: FILE` and a map `draw` are needed, as in "
                        "configs/grades/calibration_city.yaml", path);
    }
    status = check_keys(root, error);
    if (status == OTO_OK) {
        status = read_name(world, root, error);
    }
    world->set = oto_value_get(root, "set");
    if (status == OTO_OK && world->set != NULL && world->set->kind != OTO_VALUE_MAP) {
        status = oto_value_expected(world->set, error, "a map of paths in the world and values");
    }
    if (status == OTO_OK) {
        status = read_kinds(world, root, error);
    }
    return status == OTO_OK ? read_world(world, oto_value_get(root, "world"), error) : status;
}

void grade_world_close(struct grade_world *world)
{
    oto_document_close(world->document);
    free(world->path);
    free(world->text);
    free(world->world_path);
    free(world->world_text);
    *world = (struct grade_world){0};
}

/* Grades are installed beside this program, or are in the checkout from which the program was built. */
enum oto_status grade_world_find(const char *name, char *path, size_t bytes, struct oto_error *error)
{
    char folder[PATH_BYTES];
    const bool installed = srv_beside_program("../share/otolith/configs/grades", folder, sizeof folder) && access(folder, R_OK) == 0;
    (void)snprintf(path, bytes, "%.3000s/calibration_%.64s.yaml", installed ? folder : OTO_SOURCE_GRADES_DIR, name);
    return access(path, R_OK) == 0 ? OTO_OK
                                   : oto_fail(error, OTO_NOT_FOUND, "there is no grade '%.64s' in %.256s; give its file", name,
                                              installed ? folder : OTO_SOURCE_GRADES_DIR);
}
