/* Verbs about a node: get its parameters, set one. */
#include "daemon/control/loader.h"
#include "daemon/control/node_list.h"

#include <stdio.h>
#include <string.h>

#include "otolith/client.h"

/* Most parameters in one reply to `get`; their texts fill about half of a message. */
#define PART 48

struct part {
    const char *keys[PART], *values[PART], *units[PART], *texts[PART];
    uint64_t runtime[PART];
    char value_room[PART][512];
    const char *ranges[PART];
    char range_room[PART][OTO_PARAM_RANGE_BYTES];
    uint32_t count;
};

static const struct oto_param *visible(const struct oto_plugin_descriptor *descriptor, uint64_t *index)
{
    for (; *index < descriptor->param_count; (*index)++) {
        if (descriptor->params[*index].type != OTO_PARAM_IGNORED) {
            return &descriptor->params[(*index)++];
        }
    }
    return NULL;
}

static enum oto_status add(struct part *part, const struct oto_plugin_descriptor *descriptor,
                           const struct oto_params *params, const struct oto_param *param, const char *key,
                           struct oto_error *error)
{
    const uint32_t i = part->count;
    const enum oto_status status =
        oto_params_get(descriptor, key, params, part->value_room[i], sizeof part->value_room[i], error);
    if (status != OTO_OK && status != OTO_LIMIT) {
        return status;
    }
    part->keys[i] = key;
    part->values[i] = status == OTO_OK ? part->value_room[i] : "(long)";
    part->units[i] = param != NULL && param->unit != NULL ? param->unit : "";
    part->texts[i] = param != NULL && param->text != NULL ? param->text : "";
    part->range_room[i][0] = '\0';
    if (param != NULL) {
        oto_param_describe_range(param, part->range_room[i], sizeof part->range_room[i]);
    }
    part->ranges[i] = part->range_room[i];
    part->runtime[i] = param != NULL && (param->flags & OTO_PARAM_RUNTIME) != 0;
    part->count++;
    return OTO_OK;
}

/* Adds the mount of a sensor, which is not a parameter of its plugin. False: `key` does not name a part of the mount. */
static bool add_mount(struct part *part, const struct oto_plugin_descriptor *descriptor, const struct oto_setup *setup, const char *key)
{
    const bool is_position = strcmp(key, "mount.position_m") == 0;
    if (strcmp(descriptor->kind, "sensor") != 0 || (!is_position && strcmp(key, "mount.rpy_deg") != 0)) {
        return false;
    }
    const oto_vec3 rpy = oto_rpy_from_quat(setup->q_body_from_sensor);
    const oto_vec3 v = is_position ? setup->mount_position_body_m : oto_vec3_scale(rpy, 1.0 / OTO_DEG);
    const uint32_t i = part->count++;
    (void)snprintf(part->value_room[i], sizeof part->value_room[i], "[%.17g, %.17g, %.17g]", v.x, v.y, v.z);
    part->keys[i] = key;
    part->values[i] = part->value_room[i];
    part->units[i] = is_position ? "m" : "deg";
    part->texts[i] = is_position ? "place of the sensor in body axes" : "roll, pitch, yaw of the sensor in body axes";
    part->ranges[i] = "";
    part->runtime[i] = 0;
    return true;
}

static void send_part(struct srv_request *request, const struct part *part, uint64_t total)
{
    struct oto_message_writer writer;
    srv_reply_begin(request, &writer, OTO_OK, "");
    oto_message_add_u64(&writer, "total", total);
    oto_message_add_text_list(&writer, "keys", part->keys, part->count);
    oto_message_add_text_list(&writer, "values", part->values, part->count);
    oto_message_add_text_list(&writer, "units", part->units, part->count);
    oto_message_add_text_list(&writer, "texts", part->texts, part->count);
    oto_message_add_text_list(&writer, "ranges", part->ranges, part->count);
    oto_message_add_u64_list(&writer, "runtime", part->runtime, part->count);
    srv_reply_send(request, &writer, -1);
}

static uint64_t count_visible(const struct oto_plugin_descriptor *descriptor)
{
    uint64_t total = 0;
    for (uint64_t index = 0; visible(descriptor, &index) != NULL;) {
        total++;
    }
    return total;
}

static enum oto_status fill_table(struct part *part, const struct oto_plugin_descriptor *descriptor,
                                  const struct oto_params *params, uint64_t first, struct oto_error *error)
{
    uint64_t position = 0;
    const struct oto_param *param;
    for (uint64_t index = 0; part->count < PART && (param = visible(descriptor, &index)) != NULL; position++) {
        if (position < first) {
            continue;
        }
        const enum oto_status status = add(part, descriptor, params, param, param->key, error);
        if (status != OTO_OK) {
            return status;
        }
    }
    return OTO_OK;
}

uint32_t srv_request_node(struct srv_request *request)
{
    struct oto_error error = {0};
    const char *name;
    uint32_t node = UINT32_MAX;
    if (oto_message_text(request->message, "node", &name, &error) == OTO_OK) {
        node = srv_engine_node_find(request->engine, name, &error);
    }
    if (node == UINT32_MAX) {
        srv_reply_error(request, &error);
    } else if (!srv_request_permits(request, node)) {
        node = UINT32_MAX;
    }
    return node;
}

void srv_verb_get(struct srv_request *request)
{
    struct oto_error error = {0};
    const uint32_t node = srv_request_node(request);
    if (node == UINT32_MAX) {
        return;
    }
    const struct oto_plugin_descriptor *descriptor =
        oto_plugin_descriptor(srv_engine_node_plugin(request->engine, node));
    const struct oto_params *params = srv_engine_node_params(request->engine, node);
    const char *key = oto_message_text_or(request->message, "param", NULL);
    struct part part;
    part.count = 0;
    uint64_t total = 1;
    enum oto_status status = OTO_OK;
    if (key != NULL && add_mount(&part, descriptor, srv_engine_node_setup(request->engine, node), key)) {
        total = part.count;
    } else if (key != NULL) {
        status = add(&part, descriptor, params, oto_param_find(descriptor, key), key, &error);
    } else {
        total = count_visible(descriptor);
        status = fill_table(&part, descriptor, params, oto_message_u64_or(request->message, "first", 0), &error);
    }
    if (status != OTO_OK) {
        srv_reply_error(request, &error);
        return;
    }
    send_part(request, &part, total);
}

static void begin_set(const struct srv_node_work *work, struct srv_pending_request *pending, uint32_t node)
{
    srv_loader_set(srv_control_loader(work->control), pending, node, work->key, work->text);
}

void srv_verb_set(struct srv_request *request)
{
    const struct srv_node_work work = {.begin = begin_set,
                                       .key = oto_message_text_or(request->message, "param", ""),
                                       .text = oto_message_text_or(request->message, "value", "")};
    char what[152];
    (void)snprintf(what, sizeof what, "set %s %s = %.64s", oto_message_text_or(request->message, "node", ""), work.key, work.text);
    srv_nodes_do(request, &work, what);
}
