/*
 * From a world's document to instances, by the keys that a grade knows; others are refused, so that what is graded is what
 * the world says. Names of nodes, seeds and units make the same noise as in the server.
 */
#include "grade/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/document.h"
#include "otolith/environment.h"
#include "parts/library.h"
#include "otolith/rng.h"

struct binding {
    struct grade_plugins *plugins;
    struct scene *scene;
    uint64_t seed;
    const char *vehicle;
    double latitude_rad, longitude_rad, altitude_m, temperature_degc, pressure_pa;
    oto_vec3 gravity_enu_m_s2;
    struct oto_error *error;
};

enum oto_status grade_plugin(struct grade_plugins *plugins, const char *name, struct oto_plugin **plugin,
                             struct oto_error *error)
{
    char path[4096];
    for (uint32_t i = 0; i < plugins->count; i++) {
        if (strcmp(plugins->rows[i].name, name) == 0) {
            *plugin = plugins->rows[i].plugin;
            return OTO_OK;
        }
    }
    if (plugins->closed) {
        return oto_fail(error, OTO_UNSUPPORTED, "plugin '%.64s' is not that of every drive; a grade draws parameters, not plugins", name);
    }
    if (plugins->count == GRADE_MOST_PLUGINS || strlen(name) >= sizeof plugins->rows[0].name) {
        return oto_fail(error, OTO_LIMIT, "plugin '%.64s': a grade uses at most %d plugins with short names", name,
                        GRADE_MOST_PLUGINS);
    }
    enum oto_status status = oto_plugin_find(name, path, sizeof path, error);
    if (status == OTO_OK) {
        status = oto_plugin_open(path, NULL, plugin, error);
    }
    if (status == OTO_OK) {
        const uint64_t content = oto_plugin_content_hash(*plugin);
        plugins->hash = oto_fnv1a64_more(plugins->count == 0 ? OTO_FNV1A64_START : plugins->hash, &content, sizeof content);
        (void)snprintf(plugins->rows[plugins->count].name, sizeof plugins->rows[0].name, "%s", name);
        plugins->rows[plugins->count++].plugin = *plugin;
    }
    return status;
}

void grade_plugins_close(struct grade_plugins *plugins)
{
    for (uint32_t i = 0; i < plugins->count; i++) {
        (void)oto_plugin_close(plugins->rows[i].plugin);
    }
    plugins->count = 0;
}

/* ---- pieces of the document ---- */

static enum oto_status check_keys(const struct oto_value *map, const char *known, struct oto_error *error)
{
    char word[96];
    for (uint32_t i = 0; map != NULL && map->kind == OTO_VALUE_MAP && i < map->count; i++) {
        (void)snprintf(word, sizeof word, " %s ", map->items[i]->key);
        if (strstr(known, word) == NULL) {
            return oto_value_fail_key(map->items[i], error, OTO_UNSUPPORTED, "a grade does not simulate '%s' here; it knows%s",
                                      map->items[i]->key, known);
        }
    }
    return OTO_OK;
}

static enum oto_status number_at(const struct oto_value *map, const char *key, double *number, struct oto_error *error)
{
    const struct oto_value *value = oto_value_get(map, key);
    return value != NULL ? oto_value_f64(value, number, error) : OTO_OK;
}

static enum oto_status triple_at(const struct oto_value *map, const char *key, double *numbers, struct oto_error *error)
{
    const struct oto_value *value = oto_value_get(map, key);
    enum oto_status status = OTO_OK;
    if (value == NULL) {
        return OTO_OK;
    }
    if (value->kind != OTO_VALUE_LIST || value->count != 3) {
        return oto_value_expected(value, error, "a list of three numbers");
    }
    for (uint32_t i = 0; status == OTO_OK && i < 3; i++) {
        status = oto_value_f64(value->items[i], &numbers[i], error);
    }
    return status;
}

static enum oto_status text_at(const struct oto_value *map, const char *key, const char **text, struct oto_error *error)
{
    const struct oto_value *value = oto_value_get(map, key);
    return value != NULL ? oto_value_text(value, text, error)
                         : oto_value_fail(map, error, OTO_INVALID, "`%s` is missing here", key);
}

static enum oto_status rate_at(const struct oto_value *map, uint64_t *num, uint64_t *den, struct oto_error *error)
{
    const struct oto_value *value = oto_value_get(map, "rate_hz");
    if (value == NULL) {
        return oto_value_fail(map, error, OTO_INVALID, "`rate_hz` is needed here for a grade");
    }
    const enum oto_status status = oto_value_rational(value, num, den, error);
    return status == OTO_OK && *num == 0 ? oto_value_fail(value, error, OTO_RANGE, "the rate is 0") : status;
}

/* ---- nodes ---- */

static enum oto_status apply_part(struct binding *binding, const struct oto_value *map, struct scene_node *node)
{
    const struct oto_value *name = oto_value_get(map, "part"), *mode_name = oto_value_get(map, "mode");
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(node->plugin);
    const struct oto_part_mode *mode;
    struct oto_part *part = NULL;
    double unit = 0.0;
    char text[200];
    enum oto_status status = number_at(map, "unit", &unit, binding->error);
    if (status == OTO_OK && name != NULL) {
        status = oto_part_open(name->text, NULL, &part, binding->error);
    }
    if (status == OTO_OK && part != NULL) {
        status = oto_part_mode_find(part, mode_name != NULL ? mode_name->text : NULL, &mode, binding->error);
    }
    if (status == OTO_OK && part != NULL) {
        status = oto_part_apply(part, mode, descriptor, &node->params, NULL, NULL, binding->error);
    }
    (void)snprintf(text, sizeof text, "%.80s/%.0f", part != NULL ? part->name : descriptor->id, unit);
    node->setup.unit_key = oto_rng_key_make(0, text);
    oto_part_close(part);
    return status;
}

static void fill_setup(const struct binding *binding, const char *name, struct oto_setup *setup)
{
    setup->size = sizeof *setup;
    (void)snprintf(setup->node, sizeof setup->node, "%.40s/%.40s", binding->vehicle, name);
    setup->base_rate_num = binding->scene->clock_num;
    setup->base_rate_den = binding->scene->clock_den;
    setup->rate_hz = (double)setup->rate_num / (double)setup->rate_den;
    setup->noise_key = oto_rng_key_make(binding->seed, setup->node);
    setup->origin_latitude_rad = binding->latitude_rad;
    setup->origin_longitude_rad = binding->longitude_rad;
    setup->origin_altitude_m = binding->altitude_m;
    setup->gravity_enu_m_s2 = binding->gravity_enu_m_s2;
    setup->temperature_degc = binding->temperature_degc;
    setup->pressure_pa = binding->pressure_pa;
}

static enum oto_status set_mount(const struct oto_value *map, struct scene_node *node, struct oto_error *error)
{
    double position_m[3] = {0};
    const struct oto_value *mount = oto_value_get(map, "mount");
    enum oto_status status = triple_at(mount, "position_m", position_m, error);
    if (status == OTO_OK) {
        status = triple_at(mount, "rpy_deg", node->rpy_deg, error);
    }
    node->setup.mount_position_body_m = oto_vec3_from_array(position_m);
    node->setup.q_body_from_sensor = oto_quat_normalize(oto_quat_from_rpy(
        node->rpy_deg[0] * (OTO_PI / 180), node->rpy_deg[1] * (OTO_PI / 180), node->rpy_deg[2] * (OTO_PI / 180)));
    return status;
}

static enum oto_status make_instance(struct scene_node *node, struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(node->plugin);
    const struct oto_plugin_ops *ops = oto_plugin_ops(node->plugin);
    const size_t bytes = (descriptor->state_bytes + 63) / 64 * 64 + 64;
    enum oto_status status = oto_prepare(node->plugin, &node->setup, &node->params, NULL, NULL, &node->prepared, error);
    if (status != OTO_OK) {
        return status;
    }
    node->state = aligned_alloc(64, bytes);
    node->payloads = calloc(OTO_PLUGIN_MAX_PORTS, OTO_RECORD_MAX_BYTES);
    if (node->state == NULL || node->payloads == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for an instance of '%s'", descriptor->id);
    }
    memset(node->state, 0, bytes);
    node->instance = (struct oto_instance){sizeof node->instance, 0, &node->setup, node->params.block, node->prepared.data,
                                           node->state};
    return ops->init != NULL ? ops->init(&node->instance, error) : OTO_OK;
}

static enum oto_status bind_node(struct binding *binding, const struct oto_value *map, const char *name, const char *kind,
                                 struct scene_node *node)
{
    const char *plugin;
    enum oto_status status = text_at(map, "plugin", &plugin, binding->error);
    if (status == OTO_OK) {
        status = grade_plugin(binding->plugins, plugin, &node->plugin, binding->error);
    }
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(node->plugin);
    const struct oto_value *params = oto_value_get(map, "params");
    if (strcmp(descriptor->kind, kind) != 0) {
        return oto_value_fail(map, binding->error, OTO_INVALID, "plugin '%s' is of kind %s, expected a %s here", plugin,
                              descriptor->kind, kind);
    }
    status = oto_params_default(descriptor, &node->params, binding->error);
    if (status == OTO_OK) {
        status = apply_part(binding, map, node);
    }
    if (status == OTO_OK && params != NULL) {
        status = oto_params_apply(descriptor, params, &node->params, NULL, NULL, binding->error);
    }
    if (status == OTO_OK) {
        status = set_mount(map, node, binding->error);
    }
    fill_setup(binding, name, &node->setup);
    return status == OTO_OK ? make_instance(node, binding->error) : status;
}

/* ---- the world ---- */

static enum oto_status bind_surroundings(struct binding *binding, const struct oto_value *root)
{
    const struct oto_value *origin = oto_value_get(root, "origin"), *environment = oto_value_get(root, "environment");
    const struct oto_value *gravity = oto_value_get(environment, "gravity");
    double degrees[2] = {0}, up[3] = {0.0, 0.0, -9.80665};
    const struct {
        const struct oto_value *map;
        const char *key;
        double *number;
    } rows[] = {{origin, "latitude_deg", &degrees[0]}, {origin, "longitude_deg", &degrees[1]},
                {origin, "altitude_m", &binding->altitude_m}, {environment, "temperature_degc", &binding->temperature_degc},
                {environment, "pressure_pa", &binding->pressure_pa}};
    enum oto_status status = check_keys(environment, " gravity temperature_degc pressure_pa ", binding->error);
    for (size_t i = 0; status == OTO_OK && i < sizeof rows / sizeof *rows; i++) {
        status = number_at(rows[i].map, rows[i].key, rows[i].number, binding->error);
    }
    binding->latitude_rad = degrees[0] * (OTO_PI / 180);
    binding->longitude_rad = degrees[1] * (OTO_PI / 180);
    if (status == OTO_OK && (gravity == NULL || gravity->kind == OTO_VALUE_SCALAR)) {
        up[2] = -oto_gravity_wgs84(binding->latitude_rad, binding->altitude_m);
    } else if (status == OTO_OK) {
        status = triple_at(environment, "gravity", up, binding->error);
    }
    binding->gravity_enu_m_s2 = oto_vec3_from_array(up);
    return status;
}

/* The node that an input of the calibration names, "imu" or "car/imu". */
static enum oto_status find_input(struct binding *binding, const struct oto_value *nodes, const char *input,
                                  const struct oto_value **node, const char **name)
{
    const size_t vehicle_length = strlen(binding->vehicle);
    const char *wanted;
    enum oto_status status =
        text_at(oto_value_get(binding->scene->calibration, "inputs"), input, &wanted, binding->error);
    if (status != OTO_OK) {
        return status;
    }
    if (strncmp(wanted, binding->vehicle, vehicle_length) == 0 && wanted[vehicle_length] == '/') {
        wanted += vehicle_length + 1;
    }
    for (uint32_t i = 0; i < nodes->count; i++) {
        status = text_at(nodes->items[i], "name", name, binding->error);
        if (status != OTO_OK || strcmp(*name, wanted) == 0) {
            *node = nodes->items[i];
            return status;
        }
    }
    return oto_value_fail(binding->scene->calibration, binding->error, OTO_NOT_FOUND, "input %s: there is no node '%s'", input,
                          wanted);
}

static enum oto_status find_calibration(struct binding *binding, const struct oto_value *vehicle)
{
    const struct oto_value *nodes = oto_value_get(vehicle, "nodes");
    for (uint32_t i = 0; nodes != NULL && i < nodes->count; i++) {
        const struct oto_value *plugin = oto_value_get(nodes->items[i], "plugin");
        if (plugin != NULL && plugin->text != NULL && strcmp(plugin->text, "mount_calibration") == 0) {
            binding->scene->calibration = nodes->items[i];
            return rate_at(nodes->items[i], &binding->scene->calibration_rate_num, &binding->scene->calibration_rate_den,
                           binding->error);
        }
    }
    return oto_value_fail(vehicle, binding->error, OTO_NOT_FOUND, "a grade needs a node with the plugin mount_calibration here");
}

static enum oto_status bind_sensor(struct binding *binding, const struct oto_value *nodes, const char *input,
                                   struct scene_node *node)
{
    const struct oto_value *map = NULL;
    const char *name = NULL;
    enum oto_status status = find_input(binding, nodes, input, &map, &name);
    if (status == OTO_OK) {
        status = check_keys(map, " name plugin rate_hz mount part mode unit params ", binding->error);
    }
    if (status == OTO_OK) {
        status = rate_at(map, &node->setup.rate_num, &node->setup.rate_den, binding->error);
    }
    return status == OTO_OK ? bind_node(binding, map, name, OTO_KIND_SENSOR, node) : status;
}

static enum oto_status bind_vehicle(struct binding *binding, const struct oto_value *vehicle)
{
    struct scene *scene = binding->scene;
    const struct oto_value *motion = oto_value_get(vehicle, "motion"), *nodes = oto_value_get(vehicle, "nodes");
    enum oto_status status = check_keys(vehicle, " name motion nodes ", binding->error);
    if (status == OTO_OK) {
        status = text_at(vehicle, "name", &binding->vehicle, binding->error);
    }
    if (status == OTO_OK) {
        status = find_calibration(binding, vehicle);
    }
    scene->motion.setup.rate_num = scene->clock_num;
    scene->motion.setup.rate_den = scene->clock_den;
    if (status == OTO_OK) {
        status = motion != NULL ? bind_node(binding, motion, "motion", OTO_KIND_MOTION, &scene->motion)
                                : oto_value_fail(vehicle, binding->error, OTO_INVALID, "`motion` is missing here");
    }
    if (status == OTO_OK && (oto_plugin_motion(scene->motion.plugin)->flags & OTO_MOTION_ANY_TIME) == 0) {
        status = oto_value_fail(motion, binding->error, OTO_UNSUPPORTED, "a grade needs a motion that knows any instant, as motion_script");
    }
    if (status == OTO_OK) {
        status = bind_sensor(binding, nodes, "imu", &scene->imu);
    }
    return status == OTO_OK ? bind_sensor(binding, nodes, "speed", &scene->speed) : status;
}

enum oto_status scene_bind(struct grade_plugins *plugins, const struct oto_document *document, struct scene *scene,
                           struct oto_error *error)
{
    struct binding binding = {.plugins = plugins, .scene = scene, .temperature_degc = 25.0, .pressure_pa = 101325.0, .error = error};
    const struct oto_value *root = oto_document_root(document), *vehicles = oto_value_get(root, "vehicles");
    const struct oto_value *clock = oto_value_get(root, "clock");
    memset(scene, 0, sizeof *scene);
    if (vehicles == NULL || vehicles->kind != OTO_VALUE_LIST || vehicles->count != 1 || clock == NULL) {
        return oto_value_fail(root, error, OTO_INVALID, "a grade's world has a clock and one vehicle");
    }
    enum oto_status status = oto_value_u64(oto_value_get(root, "seed"), &binding.seed, error);
    if (status == OTO_OK) {
        status = rate_at(clock, &scene->clock_num, &scene->clock_den, error);
    }
    if (status == OTO_OK) {
        status = bind_surroundings(&binding, root);
    }
    return status == OTO_OK ? bind_vehicle(&binding, vehicles->items[0]) : status;
}

static void node_finish(struct scene_node *node)
{
    free(node->state);
    free(node->payloads);
    oto_prepared_free(&node->prepared);
    oto_params_free(&node->params);
}

void scene_finish(struct scene *scene)
{
    node_finish(&scene->motion);
    node_finish(&scene->imu);
    node_finish(&scene->speed);
}
