/* Writes the mount into a world file: changes three numbers or adds a key, and keeps all other text. */
#include "calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "document/document.h"
#include "output.h"

/* ---- finding the node ---- */

static const char *text_of(const struct oto_value *map, const char *key)
{
    const struct oto_value *value = oto_value_get(map, key);
    return value != NULL && value->kind == OTO_VALUE_SCALAR && value->text != NULL ? value->text : "";
}

typedef bool (*node_test)(const struct oto_value *vehicle, const struct oto_value *node, const char *wanted);

static bool is_called(const struct oto_value *vehicle, const struct oto_value *node, const char *wanted)
{
    char name[160];
    (void)snprintf(name, sizeof name, "%s/%s", text_of(vehicle, "name"), text_of(node, "name"));
    return strcmp(name, wanted) == 0 || strcmp(text_of(node, "name"), wanted) == 0;
}

static bool has_plugin(const struct oto_value *vehicle, const struct oto_value *node, const char *wanted)
{
    (void)vehicle;
    return strcmp(text_of(node, "plugin"), wanted) == 0;
}

static bool is_imu(const struct oto_value *vehicle, const struct oto_value *node, const char *wanted)
{
    return has_plugin(vehicle, node, "mems_imu") || has_plugin(vehicle, node, "sdf_imu") ||
           (wanted != NULL && has_plugin(vehicle, node, wanted));
}

/* Counts the nodes that pass the test, and stores the first one and its vehicle. */
static uint32_t find(const struct oto_value *root, node_test passes, const char *wanted, const struct oto_value **found,
                     const struct oto_value **of)
{
    const struct oto_value *vehicles = oto_value_get(root, "vehicles");
    uint32_t count = 0;
    for (uint32_t v = 0; vehicles != NULL && vehicles->kind == OTO_VALUE_LIST && v < vehicles->count; v++) {
        const struct oto_value *nodes = oto_value_get(vehicles->items[v], "nodes");
        for (uint32_t n = 0; nodes != NULL && nodes->kind == OTO_VALUE_LIST && n < nodes->count; n++) {
            if (passes(vehicles->items[v], nodes->items[n], wanted) && count++ == 0) {
                *of = vehicles->items[v];
                *found = nodes->items[n];
            }
        }
    }
    return count;
}

static enum oto_status find_node(struct calibrate_rig *rig, const char *wanted, struct oto_error *error)
{
    const struct oto_value *root = oto_document_root(rig->document), *calibration = NULL, *of = NULL;
    const char *given = wanted;
    if (given == NULL && find(root, has_plugin, "mount_calibration", &calibration, &of) == 1) {
        wanted = text_of(oto_value_get(calibration, "inputs"), "imu");
    }
    const uint32_t count = wanted != NULL && wanted[0] != '\0' ? find(root, is_called, wanted, &rig->value, &of)
                                                               : find(root, is_imu, NULL, &rig->value, &of);
    if (count != 1) {
        return oto_fail(error, count == 0 ? OTO_NOT_FOUND : OTO_CONFLICT,
                        "%.200s: %u nodes may be the IMU whose mount was calibrated%s%.100s; name one with --node VEHICLE/NODE",
                        rig->path, count, given != NULL ? " of the name " : "", given != NULL ? given : "");
    }
    (void)snprintf(rig->node, sizeof rig->node, "%s/%s", text_of(of, "name"), text_of(rig->value, "name"));
    return OTO_OK;
}

static enum oto_status read_mount(struct calibrate_rig *rig, struct oto_error *error)
{
    const struct oto_value *rpy = oto_value_get(oto_value_get(rig->value, "mount"), "rpy_deg");
    enum oto_status status = OTO_OK;
    if (rpy == NULL) {
        return OTO_OK;
    }
    if (rpy->kind != OTO_VALUE_LIST || rpy->count != 3) {
        return oto_value_expected(rpy, error, "a list of three angles in degrees");
    }
    rig->has_mount = true;
    for (uint32_t i = 0; status == OTO_OK && i < 3; i++) {
        status = oto_value_f64(rpy->items[i], &rig->rpy_deg[i], error);
    }
    return status;
}

enum oto_status calibrate_rig_open(const char *path, const char *node, struct calibrate_rig *rig, struct oto_error *error)
{
    *rig = (struct calibrate_rig){.path = path, .exists = access(path, F_OK) == 0};
    if (!rig->exists) {
        return OTO_OK;
    }
    enum oto_status status = oto_document_read(path, NULL, &rig->document, error);
    if (status == OTO_OK) {
        status = find_node(rig, node, error);
    }
    return status == OTO_OK ? read_mount(rig, error) : status;
}

void calibrate_rig_close(struct calibrate_rig *rig)
{
    oto_document_close(rig->document);
    rig->document = NULL;
}

/* ---- the text ---- */

struct text {
    char *bytes;
    size_t length;
};

/* The byte offset of a place in a document, whose lines and characters are counted from 1. */
static size_t offset_of(const struct text *text, uint32_t line, uint32_t column)
{
    size_t at = 0;
    while (at < text->length && line > 1) {
        line -= text->bytes[at++] == '\n';
    }
    while (at < text->length && column > 1) {
        at++;
        column -= at == text->length || ((unsigned char)text->bytes[at] & 0xc0u) != 0x80u;
    }
    return at;
}

static enum oto_status replace(struct text *text, size_t at, size_t removed, const char *put, struct oto_error *error)
{
    const size_t added = strlen(put);
    char *made = malloc(text->length - removed + added + 1);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu bytes of text", text->length + added);
    }
    memcpy(made, text->bytes, at);
    memcpy(made + at, put, added);
    memcpy(made + at + added, text->bytes + at + removed, text->length - at - removed + 1);
    free(text->bytes);
    *text = (struct text){made, text->length - removed + added};
    return OTO_OK;
}

/* Replaces the numbers from the last to the first, so that offsets stay valid. */
static enum oto_status put_numbers(const struct oto_value *rpy, const double *rpy_deg, struct text *text,
                                   struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (uint32_t i = 3; status == OTO_OK && i-- > 0;) {
        const struct oto_value *item = rpy->items[i];
        const size_t at = offset_of(text, item->line, item->column), length = strlen(item->text);
        char number[32];
        (void)snprintf(number, sizeof number, "%.4f", rpy_deg[i]);
        if (item->quoted || at + length > text->length || strncmp(text->bytes + at, item->text, length) != 0) {
            return oto_value_fail(item, error, OTO_UNSUPPORTED, "this number cannot be replaced where it stands; write it plainly");
        }
        status = replace(text, at, length, number, error);
    }
    return status;
}

/* Inserts the first member of a map, which is written in braces or in lines. */
static enum oto_status put_member(const struct oto_value *map, const char *member, struct text *text,
                                  struct oto_error *error)
{
    char put[256];
    const size_t at = offset_of(text, map->line, map->column);
    if (at < text->length && text->bytes[at] == '{') {
        (void)snprintf(put, sizeof put, "%s%s", member, map->count > 0 ? ", " : "");
        return replace(text, at + 1, 0, put, error);
    }
    if (map->kind != OTO_VALUE_MAP || map->count == 0) {
        return oto_value_fail(map, error, OTO_UNSUPPORTED, "the mount cannot be added here; write `mount: {rpy_deg: [0, 0, 0]}`");
    }
    const struct oto_value *first = map->items[0];
    (void)snprintf(put, sizeof put, "%s\n%*s", member, (int)first->key_column - 1, "");
    return replace(text, offset_of(text, first->key_line, first->key_column), 0, put, error);
}

static enum oto_status edit(const struct calibrate_rig *rig, const double *rpy_deg, struct text *text,
                            struct oto_error *error)
{
    const struct oto_value *mount = oto_value_get(rig->value, "mount");
    char member[160];
    if (rig->has_mount) {
        return put_numbers(oto_value_get(mount, "rpy_deg"), rpy_deg, text, error);
    }
    (void)snprintf(member, sizeof member, mount != NULL ? "rpy_deg: [%.4f, %.4f, %.4f]" : "mount: {rpy_deg: [%.4f, %.4f, %.4f]}",
                   rpy_deg[0], rpy_deg[1], rpy_deg[2]);
    return put_member(mount != NULL ? mount : rig->value, member, text, error);
}

/* Checks that the new text reads back as the intended mount of that node. */
static enum oto_status check(const struct calibrate_rig *rig, const double *rpy_deg, const struct text *text,
                             struct oto_error *error)
{
    struct calibrate_rig again = {.path = rig->path, .exists = true};
    enum oto_status status = oto_document_parse(rig->path, text->bytes, text->length, NULL, &again.document, error);
    if (status == OTO_OK) {
        status = find_node(&again, rig->node, error);
    }
    if (status == OTO_OK) {
        status = read_mount(&again, error);
    }
    for (int i = 0; status == OTO_OK && i < 3; i++) {
        if (!again.has_mount || !(fabs(again.rpy_deg[i] - rpy_deg[i]) < 1e-4)) {
            status = oto_fail(error, OTO_UNSUPPORTED, "%.200s: the mount of %s cannot be replaced as the file is written", rig->path,
                              rig->node);
        }
    }
    calibrate_rig_close(&again);
    return status;
}

/* Writes a new file with the mount and its bounds; used if there is no world file. */
static void put_new(FILE *to, const struct oto_mount_calibration_record *result)
{
    const double *rpy = result->rpy_deg, *bound = result->bound_3sigma_deg, *nominal = result->nominal_rpy_deg;
    (void)fprintf(to,
                  "# How the IMU is mounted, found by `otolith calibrate mount` in %.0f s and %.0f m of driving. Fixed-axis angles that "
                  "take\n# sensor vectors to the vehicle's frame (x forward, y left, z up); bounds are 3 sigma; planned: %.4f, %.4f, %.4f.\n"
                  "mount:\n  rpy_deg: [%.4f, %.4f, %.4f]\nbound_3sigma_deg: [%.4f, %.4f, %.4f]\n",
                  result->seconds, result->distance_m, nominal[0], nominal[1], nominal[2], rpy[0], rpy[1], rpy[2], bound[0],
                  bound[1], bound[2]);
}

enum oto_status calibrate_rig_write(const struct calibrate_rig *rig, const char *to,
                                    const struct oto_mount_calibration_record *result, struct oto_error *error)
{
    struct text text = {0};
    struct cli_output output = {0};
    enum oto_status status = rig->exists ? cli_read_file(rig->path, &text.bytes, &text.length, error) : OTO_OK;
    if (status == OTO_OK && rig->exists) {
        status = edit(rig, result->rpy_deg, &text, error);
    }
    if (status == OTO_OK && rig->exists) {
        status = check(rig, result->rpy_deg, &text, error);
    }
    if (status == OTO_OK) {
        status = cli_output_open(&output, to != NULL ? to : rig->path, error);
    }
    if (status == OTO_OK && rig->exists) {
        (void)fwrite(text.bytes, 1, text.length, output.file);
    } else if (status == OTO_OK) {
        put_new(output.file, result);
    }
    free(text.bytes);
    return cli_output_close(&output, status, error);
}
