/* The world of one drive, as overrides of the world file: the values that the grade sets and draws, and the methods. */
#include "grade/grade.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw_value.h"
#include "world/world_config.h"

#define GRAVITY_M_S2 9.80665

/* ---- overrides ---- */

struct making {
    struct grade_draw *draw;
    struct oto_document *document; /* the world with the overrides so far */
    struct oto_error *error;
};

static enum oto_status override(struct making *making, const char *path, const char *yaml)
{
    struct grade_draw *draw = making->draw;
    char **overrides = realloc(draw->overrides, (draw->count + 1) * sizeof *overrides);
    char *text = NULL;
    if (overrides != NULL) {
        draw->overrides = overrides;
    }
    if (overrides == NULL || asprintf(&text, "%s=%s", path, yaml) < 0) {
        return oto_fail(making->error, OTO_NO_MEMORY, "no memory for the values of a drive");
    }
    draw->overrides[draw->count++] = text;
    return oto_document_set(making->document, path, yaml, making->error);
}

static enum oto_status override_value(struct making *making, const char *path, const struct oto_value *value)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (to == NULL) {
        return oto_fail(making->error, OTO_NO_MEMORY, "no memory for the values of a drive");
    }
    cli_value_yaml(to, value);
    const bool written = fclose(to) == 0;
    const enum oto_status status = written ? override(making, path, text)
                                           : oto_fail(making->error, OTO_NO_MEMORY, "no memory for the values of a drive");
    free(text);
    return status;
}

static enum oto_status draw_values(struct making *making, const struct oto_value *laws, uint64_t seed)
{
    char drawn[CLI_DRAWN_BYTES];
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && i < laws->count; i++) {
        status = cli_draw_value(laws->items[i], seed, drawn, sizeof drawn, making->error);
        if (status == OTO_OK) {
            status = override(making, laws->items[i]->key, drawn);
        }
    }
    return status;
}

static enum oto_status apply_grade(struct making *making, const struct grade_world *world, const char *style, uint64_t seed)
{
    enum oto_status status = OTO_OK;
    if (style[0] != '\0') {
        status = override(making, "vehicles.0.motion.params.generate", style);
    }
    for (uint32_t i = 0; status == OTO_OK && world->set != NULL && i < world->set->count; i++) {
        status = override_value(making, world->set->items[i]->key, world->set->items[i]);
    }
    if (status == OTO_OK) {
        status = draw_values(making, world->draw, seed);
    }
    const struct oto_value *kind = world->kinds != NULL && style[0] != '\0' ? oto_value_get(world->kinds, style) : NULL;
    return status == OTO_OK && kind != NULL ? draw_values(making, kind, seed) : status;
}

/* ---- the calibration ---- */

static bool is_text(const struct oto_value *value, const char *text)
{
    return value != NULL && value->kind == OTO_VALUE_SCALAR && strcmp(value->text, text) == 0;
}

static const struct oto_value *find_node(const struct oto_value *vehicle, const char *key, const char *text)
{
    const struct oto_value *nodes = oto_value_get(vehicle, "nodes");
    for (uint32_t i = 0; nodes != NULL && nodes->kind == OTO_VALUE_LIST && i < nodes->count; i++) {
        if (is_text(oto_value_get(nodes->items[i], key), text)) {
            return nodes->items[i];
        }
    }
    return NULL;
}

/* Reads the mount of the IMU that is the calibration's input; the input is named "imu" or "car/imu". */
static enum oto_status read_mount(const struct oto_value *vehicle, const struct oto_value *calibration, double *rpy_deg,
                                  struct oto_error *error)
{
    const char *name;
    const struct oto_value *input = oto_value_get(oto_value_get(calibration, "inputs"), "imu");
    enum oto_status status = input != NULL ? oto_value_text(input, &name, error)
                                           : oto_value_fail(calibration, error, OTO_INVALID, "`inputs: {imu: NODE}` is missing here");
    if (status != OTO_OK) {
        return status;
    }
    const char *slash = strrchr(name, '/');
    const struct oto_value *imu = find_node(vehicle, "name", slash != NULL ? slash + 1 : name);
    const struct oto_value *rpy = oto_value_get(oto_value_get(imu, "mount"), "rpy_deg");
    if (imu == NULL) {
        return oto_value_fail(input, error, OTO_NOT_FOUND, "there is no node '%s'", name);
    }
    for (uint32_t i = 0; status == OTO_OK && rpy != NULL && i < rpy->count && i < 3; i++) {
        status = oto_value_f64(rpy->items[i], &rpy_deg[i], error);
    }
    return status;
}

static enum oto_status number_of(const struct oto_value *map, const char *key, double *number, struct oto_error *error)
{
    const struct oto_value *value = oto_value_get(map, key);
    *number = 0.0;
    return value != NULL ? oto_value_f64(value, number, error) : OTO_OK;
}

/*
 * Reads the mean roll of the body on the road: bank plus the crown on the side of the traffic, and what the springs add to
 * them where the path follows the road. With the parameter `path: level` a calibration does not use the mean road as level, and the roll is 0.
 */
static enum oto_status read_road(const struct oto_value *vehicle, const struct oto_value *calibration, double *roll_deg,
                                 struct oto_error *error)
{
    double bank_deg, crown_deg, compliance_deg_s2_m;
    if (is_text(oto_value_get(oto_value_get(calibration, "params"), "path"), "level")) {
        *roll_deg = 0.0;
        return OTO_OK;
    }
    const struct oto_value *motion = oto_value_get(oto_value_get(vehicle, "motion"), "params");
    const struct oto_value *road = oto_value_get(motion, "road");
    enum oto_status status =
        number_of(oto_value_get(motion, "suspension"), "roll_compliance_deg_s2_m", &compliance_deg_s2_m, error);
    if (status == OTO_OK) {
        status = number_of(road, "bank_deg", &bank_deg, error);
    }
    if (status == OTO_OK) {
        status = number_of(road, "crown_deg", &crown_deg, error);
    }
    if (status == OTO_OK) {
        const double road_deg = bank_deg + (is_text(oto_value_get(road, "traffic_side"), "left") ? -crown_deg : crown_deg);
        const bool springs = !is_text(oto_value_get(motion, "path"), "level");
        *roll_deg = road_deg + (springs ? compliance_deg_s2_m * GRAVITY_M_S2 * sin(road_deg * OTO_DEG) : 0.0);
    }
    return status;
}

static enum oto_status set_method(struct making *making, uint32_t index, const char *vehicle, const char *node,
                                  const char *method, bool histogram)
{
    const struct {
        const char *key, *value;
    } params[] = {{"method", method}, {"diagnostics", "false"}, {"histogram_channel", histogram ? "true" : "false"}};
    char path[256];
    enum oto_status status = OTO_OK;
    (void)snprintf(making->draw->calibrations[index], sizeof making->draw->calibrations[index], "%.48s/%.64s", vehicle, node);
    for (size_t i = 0; status == OTO_OK && i < sizeof params / sizeof *params; i++) {
        (void)snprintf(path, sizeof path, "vehicles.0.nodes.%.64s.params.%s", node, params[i].key);
        status = override(making, path, params[i].value);
    }
    return status;
}

static enum oto_status add_methods(struct making *making, const char *const *methods, uint32_t count, bool histogram)
{
    const struct oto_value *vehicles = oto_value_get(oto_document_root(making->document), "vehicles");
    const struct oto_value *vehicle = vehicles != NULL && vehicles->kind == OTO_VALUE_LIST && vehicles->count == 1 ? vehicles->items[0] : NULL;
    const struct oto_value *calibration = find_node(vehicle, "plugin", "mount_calibration");
    const char *name, *vehicle_name;
    char path[64];
    if (calibration == NULL) {
        return oto_fail(making->error, OTO_NOT_FOUND, "a grade's world has one vehicle, with a node of the plugin mount_calibration");
    }
    enum oto_status status = read_mount(vehicle, calibration, making->draw->true_rpy_deg, making->error);
    if (status == OTO_OK) {
        status = read_road(vehicle, calibration, &making->draw->road_roll_deg, making->error);
    }
    if (status == OTO_OK) {
        status = oto_value_text(oto_value_get(calibration, "name"), &name, making->error);
    }
    if (status == OTO_OK) {
        status = oto_value_text(oto_value_get(vehicle, "name"), &vehicle_name, making->error);
    }
    for (uint32_t m = 1; status == OTO_OK && m < count; m++) {
        status = override_value(making, "vehicles.0.nodes.+", calibration);
        (void)snprintf(path, sizeof path, "vehicles.0.nodes.%u.name", oto_value_get(vehicle, "nodes")->count - 1);
        if (status == OTO_OK) {
            status = override(making, path, methods[m]);
        }
        if (status == OTO_OK) {
            status = set_method(making, m, vehicle_name, methods[m], methods[m], histogram);
        }
    }
    return status == OTO_OK ? set_method(making, 0, vehicle_name, name, methods[0], histogram) : status;
}

enum oto_status grade_draw_make(const struct grade_world *world, const char *style, uint64_t seed, const char *const *methods,
                                uint32_t method_count, bool histogram, struct grade_draw *draw, struct oto_error *error)
{
    struct making making = {.draw = draw, .error = error};
    *draw = (struct grade_draw){.count = 0};
    enum oto_status status =
        oto_document_parse(world->world_path, world->world_text, world->world_length, NULL, &making.document, error);
    if (status == OTO_OK) {
        status = srv_defaults_apply(making.document, error);
    }
    if (status == OTO_OK) {
        status = apply_grade(&making, world, style, seed);
    }
    if (status == OTO_OK) {
        status = add_methods(&making, methods, method_count, histogram);
    }
    oto_document_close(making.document);
    return status;
}

void grade_draw_finish(struct grade_draw *draw)
{
    for (uint32_t i = 0; i < draw->count; i++) {
        free(draw->overrides[i]);
    }
    free(draw->overrides);
    *draw = (struct grade_draw){.count = 0};
}
