/* Binds the inputs of estimators: names become nodes and channels after all nodes are known. */
#include <stdlib.h>

#include "world/binder.h"

enum { MOST_CANDIDATES = 512 };

/* The node and channel that a text of the world file names. */
struct found {
    uint32_t node, port;
};

static const char *port_name(const struct srv_world_config *config, uint32_t node, uint32_t port)
{
    const struct srv_node_config *at = &config->nodes[node];
    return config->vehicles[at->vehicle].motion == node ? "" : oto_plugin_descriptor(at->plugin)->outputs[port].name;
}

static uint32_t port_count(const struct srv_world_config *config, uint32_t node)
{
    const struct srv_node_config *at = &config->nodes[node];
    return config->vehicles[at->vehicle].motion == node ? 1 : oto_plugin_descriptor(at->plugin)->output_count;
}

/* ---- names ---- */

/* The nodes of a vehicle are contiguous and begin with its motion. */
static bool find_node(const struct srv_world_config *config, uint32_t vehicle, const char *name, size_t bytes,
                      uint32_t *node)
{
    const struct srv_vehicle_config *at = &config->vehicles[vehicle];
    for (uint32_t i = at->motion; i < at->first_node + at->node_count; i++) {
        if (strlen(config->nodes[i].name) == bytes && strncmp(config->nodes[i].name, name, bytes) == 0) {
            *node = i;
            return true;
        }
    }
    return false;
}

static bool find_vehicle(const struct srv_world_config *config, const char *name, size_t bytes, uint32_t *vehicle)
{
    for (uint32_t i = 0; i < config->vehicle_count; i++) {
        if (strlen(config->vehicles[i].name) == bytes && strncmp(config->vehicles[i].name, name, bytes) == 0) {
            *vehicle = i;
            return true;
        }
    }
    return false;
}

static bool find_alias(const struct srv_world_config *config, const char *text, struct found *found)
{
    for (uint32_t i = 0; i < config->node_count; i++) {
        if (config->nodes[i].alias[0] != '\0' && strcmp(config->nodes[i].alias, text) == 0) {
            *found = (struct found){i, 0};
            return true;
        }
    }
    return false;
}

/* The text after "world/"; NULL if it does not begin so. */
static const char *without_world(const struct srv_world_config *config, const char *text)
{
    const size_t bytes = strlen(config->name);
    return strncmp(text, config->name, bytes) == 0 && text[bytes] == '/' ? text + bytes + 1 : text;
}

/* Accepts "node" of the same vehicle, "vehicle/node" and "world/vehicle/node"; *rest is "" or ".port". */
static bool find_named(const struct srv_world_config *config, uint32_t vehicle, const char *text, uint32_t *node,
                       const char **rest)
{
    for (int pass = 0; pass < 2; pass++) {
        const char *at = pass == 0 ? text : without_world(config, text);
        const char *slash = strchr(at, '/');
        uint32_t where = vehicle;
        if (slash != NULL && !find_vehicle(config, at, (size_t)(slash - at), &where)) {
            continue;
        }
        const char *name = slash != NULL ? slash + 1 : at;
        const size_t bytes = strcspn(name, ".");
        if (find_node(config, where, name, bytes, node)) {
            *rest = name + bytes;
            return true;
        }
    }
    return false;
}

/* ---- suggestions for unknown names ---- */

struct candidates {
    char (*texts)[OTO_TOPIC_BYTES];
    const char **words;
    uint32_t count;
};

static void add_candidate(struct candidates *candidates, const char *vehicle, const char *node, const char *port)
{
    if (candidates->count == MOST_CANDIDATES)
        return;
    char *text = candidates->texts[candidates->count];
    (void)snprintf(text, OTO_TOPIC_BYTES, "%s%s%s%s%s", vehicle, vehicle[0] != '\0' ? "/" : "", node,
                   port[0] != '\0' ? "." : "", port);
    candidates->words[candidates->count++] = text;
}

/* Collects the vehicle's own channels; if the text has a slash, also channels of other vehicles. */
static void gather(const struct srv_world_config *config, uint32_t vehicle, bool qualified,
                   struct candidates *candidates)
{
    for (uint32_t i = 0; i < config->node_count; i++) {
        const uint32_t of = config->nodes[i].vehicle;
        for (uint32_t p = 0; (qualified || of == vehicle) && p < port_count(config, i); p++)
            add_candidate(candidates, qualified ? config->vehicles[of].name : "", config->nodes[i].name,
                          port_name(config, i, p));
    }
}

static enum oto_status not_found(struct srv_binder *binder, uint32_t vehicle, const struct oto_value *place,
                                 const char *text)
{
    struct candidates candidates = {calloc(MOST_CANDIDATES, OTO_TOPIC_BYTES), calloc(MOST_CANDIDATES, sizeof(char *)), 0};
    const char *near = NULL;
    if (candidates.texts != NULL && candidates.words != NULL) {
        gather(binder->config, vehicle, strchr(text, '/') != NULL, &candidates);
        near = oto_nearest_word(text, candidates.words, candidates.count);
    }
    const enum oto_status status =
        near != NULL ? oto_value_fail(place, binder->error, OTO_NOT_FOUND,
                                      "there is no channel '%.64s': did you mean '%s'?", text, near)
                     : oto_value_fail(place, binder->error, OTO_NOT_FOUND,
                                      "there is no channel '%.64s', expected NODE or NODE.CHANNEL of '%s', VEHICLE/NODE or a "
                                      "node's `topic`", text, binder->config->vehicles[vehicle].name);
    free(candidates.texts);
    free(candidates.words);
    return status;
}

static enum oto_status find_port(struct srv_binder *binder, const struct oto_value *place, uint32_t node,
                                 const char *rest, uint32_t *port)
{
    const struct srv_world_config *config = binder->config;
    const char *names[OTO_PLUGIN_MAX_PORTS];
    const char *wanted = rest[0] == '.' ? rest + 1 : rest;
    const uint32_t count = port_count(config, node);
    for (*port = 0; *port < count; (*port)++) {
        names[*port] = port_name(config, node, *port);
        if (strcmp(names[*port], wanted) == 0)
            return OTO_OK;
    }
    const char *near = oto_nearest_word(wanted, names, count);
    return oto_value_fail(place, binder->error, OTO_NOT_FOUND, "node '%s' has no channel '%.64s'%s%s%s",
                          config->nodes[node].name, wanted, near != NULL ? ": did you mean '" : "",
                          near != NULL ? near : "", near != NULL ? "'?" : "");
}

static enum oto_status find_channel(struct srv_binder *binder, uint32_t vehicle, const struct oto_value *place,
                                    struct found *found)
{
    const char *text = NULL, *rest = "";
    enum oto_status status = oto_value_text(place, &text, binder->error);
    if (status != OTO_OK)
        return status;
    if (find_named(binder->config, vehicle, text, &found->node, &rest))
        return find_port(binder, place, found->node, rest, &found->port);
    return find_alias(binder->config, text, found) ? OTO_OK : not_found(binder, vehicle, place, text);
}

/* ---- inputs ---- */

static enum oto_status unknown_input(struct srv_binder *binder, const struct oto_value *value,
                                     const struct srv_node_config *node)
{
    const struct oto_estimator_extension *estimator = oto_plugin_estimator(node->plugin);
    const char *names[OTO_ESTIMATOR_MAX_INPUTS];
    char list[256] = "none";
    size_t used = 0;
    for (uint32_t i = 0; i < estimator->input_count; i++) {
        names[i] = estimator->inputs[i].name;
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char *near = oto_nearest_word(value->key, names, estimator->input_count);
    return oto_value_fail_key(value, binder->error, OTO_NOT_FOUND, "plugin '%s' has no input '%.64s'%s%s%s; accepted: %s",
                              oto_plugin_descriptor(node->plugin)->id, value->key, near != NULL ? ": did you mean '" : "",
                              near != NULL ? near : "", near != NULL ? "'?" : "", list);
}

static bool is_known(const struct oto_estimator_extension *estimator, const char *name, uint32_t *rank)
{
    for (*rank = 0; *rank < estimator->input_count; (*rank)++)
        if (strcmp(estimator->inputs[*rank].name, name) == 0)
            return true;
    return false;
}

static enum oto_status bind_one(struct srv_binder *binder, uint32_t index, const struct oto_value *value,
                                const struct oto_input_port *port, struct srv_input_config *input)
{
    const struct srv_world_config *config = binder->config;
    const struct srv_node_config *node = &config->nodes[index];
    struct found found = {0};
    struct oto_error why = {0};
    enum oto_status status = find_channel(binder, node->vehicle, value, &found);
    if (status != OTO_OK)
        return status;
    if (found.node == index)
        return oto_value_fail(value, binder->error, OTO_INVALID, "'%s' would be its own input", node->name);
    (void)snprintf(input->name, sizeof input->name, "%s", value->key);
    input->node = found.node;
    input->port = found.port;
    const struct oto_plugin_descriptor *of = oto_plugin_descriptor(config->nodes[found.node].plugin);
    const struct oto_record_type *type = of->output_count > 0 ? of->outputs[found.port].type : &oto_truth_type;
    status = port != NULL ? oto_input_check_fields(port, type, &why) : OTO_OK;
    return status == OTO_OK ? OTO_OK : oto_value_fail(value, binder->error, status, "%s", why.text);
}

/* Binds the inputs of the plugin's table in its order; a required input must not be missing. */
static enum oto_status bind_known(struct srv_binder *binder, uint32_t index, const struct oto_value *map)
{
    struct srv_node_config *node = &binder->config->nodes[index];
    const struct oto_estimator_extension *estimator = oto_plugin_estimator(node->plugin);
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && i < estimator->input_count; i++) {
        const struct oto_input_port *port = &estimator->inputs[i];
        const struct oto_value *value = map != NULL ? oto_value_get(map, port->name) : NULL;
        if (value != NULL)
            status = bind_one(binder, index, value, port, &node->inputs[node->input_count++]);
        else if ((port->flags & OTO_INPUT_OPTIONAL) == 0)
            status = oto_value_fail(map != NULL ? map : node->place, binder->error, OTO_INVALID,
                                    "estimator '%s' needs the input '%s' (%s): `inputs: {%s: CHANNEL}`", node->name,
                                    port->name, port->text, port->name);
    }
    return status;
}

static enum oto_status bind_open(struct srv_binder *binder, uint32_t index, const struct oto_value *map)
{
    struct srv_node_config *node = &binder->config->nodes[index];
    const struct oto_estimator_extension *estimator = oto_plugin_estimator(node->plugin);
    enum oto_status status = OTO_OK;
    uint32_t rank;
    for (uint32_t i = 0; status == OTO_OK && map != NULL && i < map->count; i++) {
        const struct oto_value *value = map->items[i];
        if (is_known(estimator, value->key, &rank))
            continue;
        if ((estimator->flags & OTO_ESTIMATOR_OPEN_INPUTS) == 0)
            return unknown_input(binder, value, node);
        const size_t bytes = strlen(value->key);
        if (bytes == 0 || bytes >= SRV_NAME_BYTES)
            return oto_value_fail_key(value, binder->error, OTO_INVALID, "the input '%.64s' has a name of %zu bytes, expected "
                                      "1 to %d", value->key, bytes, SRV_NAME_BYTES - 1);
        status = bind_one(binder, index, value, NULL, &node->inputs[node->input_count++]);
    }
    return status;
}

static enum oto_status bind_node(struct srv_binder *binder, uint32_t index)
{
    struct srv_node_config *node = &binder->config->nodes[index];
    const struct oto_value *map = oto_value_get(node->place, "inputs");
    srv_select_vehicle(binder, node->vehicle);
    const uint32_t given = map != NULL ? map->count : 0;
    if (given > OTO_ESTIMATOR_MAX_INPUTS)
        return oto_value_fail(map, binder->error, OTO_LIMIT, "%u inputs, at most %d are accepted", given,
                              OTO_ESTIMATOR_MAX_INPUTS);
    node->inputs = calloc(given + 1, sizeof *node->inputs);
    if (node->inputs == NULL)
        return oto_fail(binder->error, OTO_NO_MEMORY, "out of memory while loading world '%s'", binder->config->name);
    const enum oto_status status = bind_known(binder, index, map);
    return status == OTO_OK ? bind_open(binder, index, map) : status;
}

enum oto_status srv_bind_inputs(struct srv_binder *binder)
{
    const uint32_t problems = binder->problems.count;
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; srv_binder_goes_on(binder, status) && i < binder->config->node_count; i++)
        if (strcmp(oto_plugin_descriptor(binder->config->nodes[i].plugin)->kind, OTO_KIND_ESTIMATOR) == 0)
            status = bind_node(binder, i);
    return srv_binder_result(binder, problems, status);
}
