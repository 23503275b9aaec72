/* A world file with one sensor alone, made from a whole world. */
#include "export/fmu.h"

#include <string.h>

#include "document/document.h"
#include "draw_value.h"
#include "fmu/fmu_model.h"
#include "json.h"
#include "parts/library.h"
#include "plugin/host.h"

/* Writes `key: value` for each of the keys that the map has. */
static void put_keys(FILE *to, const struct oto_value *map, const char *const *keys, size_t count, const char *indent)
{
    for (size_t i = 0; i < count; i++) {
        const struct oto_value *value = oto_value_get(map, keys[i]);
        if (value != NULL) {
            (void)fprintf(to, "%s%s: ", indent, keys[i]);
            cli_value_yaml(to, value);
            (void)fputc('\n', to);
        }
    }
}

static const struct oto_value *find_named(const struct oto_value *list, const char *name, size_t length)
{
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        const struct oto_value *found = oto_value_get(list->items[i], "name");
        if (found != NULL && found->text != NULL && strlen(found->text) == length && strncmp(found->text, name, length) == 0) {
            return list->items[i];
        }
    }
    return NULL;
}

static enum oto_status find_node(const struct oto_value *root, const char *node, const struct oto_value **vehicle,
                                 const struct oto_value **sensor, struct oto_error *error)
{
    const char *slash = strchr(node, '/');
    const size_t length = slash != NULL ? (size_t)(slash - node) : strlen(node);
    *vehicle = find_named(oto_value_get(root, "vehicles"), node, length);
    *sensor = *vehicle != NULL && slash != NULL ? find_named(oto_value_get(*vehicle, "nodes"), slash + 1, strlen(slash + 1)) : NULL;
    if (*sensor == NULL) {
        return oto_fail(error, OTO_NOT_FOUND, "the world file names no sensor '%.100s'; VEHICLE/NODE of a vehicle without `count` is accepted", node);
    }
    static const char *const refused[] = {"count", "spread", "defaults"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const struct oto_value *value = oto_value_get(*vehicle, refused[i]);
        if (value != NULL) {
            return oto_value_fail_key(value, error, OTO_UNSUPPORTED, "a sensor of a vehicle with `%s` is not exported", refused[i]);
        }
    }
    const struct oto_value *inputs = oto_value_get(*sensor, "inputs");
    return inputs == NULL ? OTO_OK : oto_value_fail_key(inputs, error, OTO_UNSUPPORTED, "an estimator is not exported; a sensor is accepted");
}

static enum oto_status add_file(struct fmu_files *files, const char *name, const char *path, struct oto_error *error)
{
    struct fmu_file *file = &files->files[files->count];
    if ((size_t)snprintf(file->name, sizeof file->name, "%s", name) >= sizeof file->name ||
        (size_t)snprintf(file->path, sizeof file->path, "%s", path) >= sizeof file->path) {
        return oto_fail(error, OTO_LIMIT, "the path '%.200s' is too long", path);
    }
    files->count++;
    return OTO_OK;
}

/* Adds the file that a key of the node names, and writes the key with the name that the file has in the FMU. */
static enum oto_status put_file(FILE *to, const struct oto_value *value, struct fmu_files *files, struct oto_error *error)
{
    char path[PATH_MAX], name[64];
    enum oto_status status = OTO_OK;
    if (strcmp(value->key, "part") == 0) {
        status = oto_part_find(value->text, value->file, path, sizeof path, error);
    } else {
        const char *slash = strrchr(value->file, '/');
        (void)snprintf(path, sizeof path, "%.*s%s", value->text[0] != '/' && slash != NULL ? (int)(slash - value->file + 1) : 0, value->file,
                       value->text);
    }
    const char *dot = strrchr(path, '.');
    (void)snprintf(name, sizeof name, "%s%.20s", value->key, dot != NULL ? dot : "");
    (void)fprintf(to, "        %s: ./%s\n", value->key, name);
    return status == OTO_OK ? add_file(files, name, path, error) : status;
}

static enum oto_status put_sensor(FILE *to, const struct oto_value *sensor, struct fmu_files *files, struct oto_error *error)
{
    static const char *const keys[] = {"rate_hz", "mount", "mode", "unit", "frame_id", "fifo_samples", "faults", "params"};
    static const char *const file_keys[] = {"part", "params_file"};
    char plugin[PATH_MAX];
    const struct oto_value *name = oto_value_get(sensor, "plugin");
    if (name == NULL || name->text == NULL) {
        return oto_value_fail(sensor, error, OTO_INVALID, "the node has no plugin");
    }
    enum oto_status status = oto_plugin_find(name->text, plugin, sizeof plugin, error);
    if (status == OTO_OK) {
        status = add_file(files, FMU_PLUGIN_FILE, plugin, error);
    }
    (void)fprintf(to, "      - name: %s\n        plugin: ./%s\n", oto_value_get(sensor, "name")->text, FMU_PLUGIN_FILE);
    put_keys(to, sensor, keys, sizeof keys / sizeof *keys, "        ");
    for (size_t i = 0; status == OTO_OK && i < sizeof file_keys / sizeof *file_keys; i++) {
        const struct oto_value *value = oto_value_get(sensor, file_keys[i]);
        status = value != NULL && value->text != NULL ? put_file(to, value, files, error) : OTO_OK;
    }
    return status;
}

static enum oto_status put_world(const struct oto_value *root, const char *node, FILE *to, struct fmu_files *files, struct oto_error *error)
{
    static const char *const world_keys[] = {"world", "seed", "origin", "environment", "history_s"};
    static const char *const clock_keys[] = {"rate_hz"};
    static const char *const vehicle_keys[] = {"name", "vibration"};
    const struct oto_value *vehicle, *sensor, *clock = oto_value_get(root, "clock");
    const enum oto_status status = find_node(root, node, &vehicle, &sensor, error);
    if (status != OTO_OK) {
        return status;
    }
    put_keys(to, root, world_keys, sizeof world_keys / sizeof *world_keys, "");
    if (clock != NULL && oto_value_get(clock, "rate_hz") != NULL) {
        (void)fputs("clock:\n", to);
        put_keys(to, clock, clock_keys, 1, "  ");
    }
    (void)fputs("publish: false\nparticipants: [{name: " FMU_PARTICIPANT "}]\nvehicles:\n  - motion: {participant: " FMU_PARTICIPANT "}\n", to);
    put_keys(to, vehicle, vehicle_keys, sizeof vehicle_keys / sizeof *vehicle_keys, "    ");
    (void)fputs("    nodes:\n", to);
    return put_sensor(to, sensor, files, error);
}

enum oto_status fmu_world_write(const char *world, const char *node, FILE *to, struct fmu_files *files, struct oto_error *error)
{
    struct oto_document *document = NULL;
    files->count = 0;
    enum oto_status status = oto_document_read(world, NULL, &document, error);
    if (status == OTO_OK) {
        status = put_world(oto_document_root(document), node, to, files, error);
    }
    oto_document_close(document);
    return status;
}
