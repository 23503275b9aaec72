/* Descriptions from world files, and from the parameters of running nodes. */

#include "document/document.h"
#include "sdf/sdf_value.h"
#include "world/world_config.h"

enum { VALUE_BYTES = 4096 };

static enum oto_status set_value(const struct sdf_param *param, const struct oto_value *value, struct oto_sdf_imu *imu,
                                 struct oto_error *error)
{
    const struct sdf_form form = {param->key, param->kind, param->count, param->stride, -1e300, 1e300, param->words};
    const bool is_list = value->kind == OTO_VALUE_LIST;
    if (value->kind == OTO_VALUE_MAP || (is_list && value->count != param->count)) {
        return oto_value_fail(value, error, OTO_INVALID, "'%s' is not a list of %u", param->key, param->count);
    }
    for (uint32_t i = 0; i < param->count; i++) {
        const struct oto_value *scalar = is_list ? value->items[i] : value;
        if (scalar->kind != OTO_VALUE_SCALAR) {
            return oto_value_fail(scalar, error, OTO_INVALID, "'%s' holds a list or a map, expected values",
                                  param->key);
        }
        const enum oto_status status = sdf_scalar_read(&form, scalar, i, (char *)imu + param->offset, error);
        if (status != OTO_OK) {
            return status;
        }
    }
    return OTO_OK;
}

enum oto_status oto_sdf_set_param(struct oto_sdf_imu *imu, const char *key, const char *value, struct oto_error *error)
{
    for (uint32_t i = 0; i < sdf_param_count; i++) {
        if (strcmp(sdf_params[i].key, key) == 0) {
            struct oto_document *document = NULL;
            enum oto_status status = oto_document_parse(key, value, strlen(value), NULL, &document, error);
            if (status == OTO_OK) {
                status = set_value(&sdf_params[i], oto_document_root(document), imu, error);
            }
            oto_document_close(document);
            return status;
        }
    }
    return oto_fail(error, OTO_NOT_FOUND, "SDF has no word for the parameter '%.96s'", key);
}

/* ---- a world file ---- */

struct loader {
    const struct oto_plugin_descriptor *descriptor;
    struct oto_sdf_world *world;
    struct oto_error *error;
};

static enum oto_status read_name(const struct oto_value *map, const char *key, char *text, size_t bytes,
                                 struct oto_error *error)
{
    const struct oto_value *value = oto_value_get(map, key);
    const char *given = NULL;
    if (value == NULL) {
        return OTO_OK;
    }
    const enum oto_status status = oto_value_text(value, &given, error);
    if (status == OTO_OK && strlen(given) >= bytes) {
        return oto_value_fail(value, error, OTO_LIMIT, "'%s' has %zu characters; up to %zu are accepted", key,
                              strlen(given), bytes - 1);
    }
    for (const char *letter = given; status == OTO_OK && *letter != '\0'; letter++) {
        if (*letter <= ' ' || *letter >= 0x7f) {
            return oto_value_fail(value, error, OTO_INVALID, "'%s' is '%.96s', expected printable ASCII without spaces",
                                  key, given);
        }
    }
    if (status == OTO_OK) {
        (void)snprintf(text, bytes, "%s", given);
    }
    return status;
}

static enum oto_status read_vector(const struct oto_value *map, const char *key, double v[3], struct oto_error *error)
{
    const struct oto_value *list = oto_value_get(map, key);
    enum oto_status status = OTO_OK;
    if (list == NULL) {
        return OTO_OK;
    }
    if (list->kind != OTO_VALUE_LIST || list->count != 3) {
        return oto_value_expected(list, error, "a list of 3 numbers");
    }
    for (uint32_t i = 0; i < 3 && status == OTO_OK; i++) {
        status = oto_value_f64(list->items[i], &v[i], error);
    }
    return status;
}

/* `params_file` is relative to the directory of the world file. */
static enum oto_status apply_file(const struct loader *loader, const struct oto_value *value, struct oto_params *params)
{
    char path[4096];
    const char *name = NULL, *slash = strrchr(value->file, '/');
    struct oto_document *document = NULL;
    enum oto_status status = oto_value_text(value, &name, loader->error);
    if (status != OTO_OK) {
        return status;
    }
    const int folder = name[0] == '/' || slash == NULL ? 0 : (int)(slash - value->file) + 1;
    if (snprintf(path, sizeof path, "%.*s%s", folder, value->file, name) >= (int)sizeof path) {
        return oto_value_fail(value, loader->error, OTO_LIMIT, "the path is longer than 4095 characters");
    }
    status = oto_document_read(path, NULL, &document, loader->error);
    if (status == OTO_OK) {
        status = oto_params_apply(loader->descriptor, oto_document_root(document), params, loader->error);
    }
    oto_document_close(document);
    return status;
}

static enum oto_status read_params(const struct loader *loader, const struct oto_value *node, struct oto_params *params,
                                   struct oto_sdf_imu *imu)
{
    const struct oto_value *file = oto_value_get(node, "params_file"), *own = oto_value_get(node, "params");
    char text[VALUE_BYTES];
    enum oto_status status = oto_params_default(loader->descriptor, params, loader->error);
    if (status == OTO_OK && file != NULL) {
        status = apply_file(loader, file, params);
    }
    if (status == OTO_OK && own != NULL && !oto_value_is_null(own)) {
        status = oto_params_apply(loader->descriptor, own, params, loader->error);
    }
    for (uint32_t i = 0; i < sdf_param_count && status == OTO_OK; i++) {
        status = oto_params_get(loader->descriptor, sdf_params[i].key, params, text, sizeof text, loader->error);
        if (status == OTO_OK) {
            status = oto_sdf_set_param(imu, sdf_params[i].key, text, loader->error);
        }
    }
    return status;
}

static enum oto_status read_rate(const struct oto_value *node, struct oto_sdf_imu *imu, struct oto_error *error)
{
    const struct oto_value *rate = oto_value_get(node, "rate_hz");
    uint64_t num = 0, den = 1;
    const enum oto_status status = rate != NULL ? oto_value_rational(rate, &num, &den, error) : OTO_OK;
    if (status == OTO_OK && rate != NULL) {
        imu->update_rate_hz = (double)num / (double)den;
    }
    return status;
}

static enum oto_status read_node(const struct loader *loader, const struct oto_value *node, const char *vehicle)
{
    struct oto_sdf_imu imu = oto_sdf_imu_default;
    struct oto_params params = {0};
    const struct oto_value *mount = oto_value_get(node, "mount");
    (void)snprintf(imu.vehicle, sizeof imu.vehicle, "%s", vehicle);
    enum oto_status status = read_name(node, "name", imu.name, sizeof imu.name, loader->error);
    if (status == OTO_OK) {
        status = read_name(node, "topic", imu.topic, sizeof imu.topic, loader->error);
    }
    if (status == OTO_OK) {
        status = read_name(node, "frame_id", imu.frame_id, sizeof imu.frame_id, loader->error);
    }
    if (status == OTO_OK && mount != NULL) {
        status = read_vector(mount, "position_m", imu.position_m, loader->error);
    }
    if (status == OTO_OK && mount != NULL) {
        status = read_vector(mount, "rpy_deg", imu.rpy_deg, loader->error);
    }
    if (status == OTO_OK) {
        status = read_params(loader, node, &params, &imu);
    }
    oto_params_free(&params);
    if (status == OTO_OK) {
        status = read_rate(node, &imu, loader->error);
    }
    if (status == OTO_OK && loader->world->count == OTO_SDF_MAX_IMUS) {
        return oto_value_fail(node, loader->error, OTO_LIMIT, "more than %d sensors, the most that is accepted",
                              OTO_SDF_MAX_IMUS);
    }
    if (status == OTO_OK && oto_sdf_world_add(loader->world, &imu) == NULL) {
        return oto_fail(loader->error, OTO_NO_MEMORY, "out of memory");
    }
    return status;
}

static bool is_sdf_imu(const struct oto_value *node)
{
    const struct oto_value *plugin = oto_value_get(node, "plugin");
    const char *name = plugin != NULL && plugin->kind == OTO_VALUE_SCALAR ? plugin->text : "";
    const char *slash = strrchr(name, '/');
    return strcmp(name, "sdf_imu") == 0 || strcmp(slash != NULL ? slash + 1 : name, "sdf_imu.so") == 0;
}

static enum oto_status read_vehicle(const struct loader *loader, const struct oto_value *vehicle)
{
    const struct oto_value *nodes = oto_value_get(vehicle, "nodes");
    char name[OTO_SDF_NAME_BYTES] = "car";
    enum oto_status status = read_name(vehicle, "name", name, sizeof name, loader->error);
    const uint32_t count = nodes != NULL && nodes->kind == OTO_VALUE_LIST ? nodes->count : 0;
    for (uint32_t i = 0; i < count && status == OTO_OK; i++) {
        if (is_sdf_imu(nodes->items[i])) {
            status = read_node(loader, nodes->items[i], name);
        } else {
            loader->world->other_nodes++;
        }
    }
    return status;
}

enum oto_status oto_sdf_from_yaml(const char *path, const struct oto_plugin_descriptor *descriptor,
                                  struct oto_sdf_world *world, struct oto_error *error)
{
    const struct loader loader = {descriptor, world, error};
    struct oto_document *document = NULL;
    *world = (struct oto_sdf_world){.name = "world"};
    enum oto_status status = oto_document_read(path, NULL, &document, error);
    if (status != OTO_OK) {
        return status;
    }
    status = srv_defaults_apply(document, error);
    const struct oto_value *root = oto_document_root(document), *vehicles = oto_value_get(root, "vehicles");
    if (status == OTO_OK && (vehicles == NULL || vehicles->kind != OTO_VALUE_LIST)) {
        status = oto_value_fail(vehicles != NULL ? vehicles : root, error, OTO_INVALID,
                                "expected a world file with a list of vehicles");
    }
    if (status == OTO_OK) {
        status = read_name(root, "world", world->name, sizeof world->name, error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < vehicles->count; i++) {
        status = read_vehicle(&loader, vehicles->items[i]);
    }
    if (status == OTO_OK && world->count == 0) {
        status = oto_value_fail(vehicles, error, OTO_INVALID, "no vehicle has a node of plugin sdf_imu");
    }
    oto_document_close(document);
    if (status != OTO_OK) {
        oto_sdf_world_finish(world);
    }
    return status;
}
