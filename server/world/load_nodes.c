#include "world/binder.h"

#include <stdlib.h>

#include "world/section.h"

static int by_name_then_place(const void *a, const void *b)
{
    const struct srv_named *first = a, *second = b;
    int order = strcmp(first->name, second->name);
    if (order == 0)
        order = (first->place->line > second->place->line) - (first->place->line < second->place->line);
    return order != 0 ? order
                      : (first->place->column > second->place->column) - (first->place->column < second->place->column);
}

enum oto_status srv_check_unique(struct srv_named *names, uint32_t count, const char *what, struct oto_error *error)
{
    qsort(names, count, sizeof *names, by_name_then_place);
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(names[i - 1].name, names[i].name) == 0)
            return oto_value_fail(names[i].place, error, OTO_EXISTS, "two %s are called '%s', the first at %u:%u", what,
                                  names[i].name, names[i - 1].place->line, names[i - 1].place->column);
    return OTO_OK;
}

static enum oto_status no_memory(struct srv_binder *binder)
{
    return oto_fail(binder->error, OTO_NO_MEMORY, "out of memory while loading world '%s'", binder->config->name);
}

/* `names` are the `name` values of a list of maps. */
static enum oto_status check_names(struct srv_binder *binder, const struct oto_value *list, const char *what)
{
    struct srv_named *names = malloc(((size_t)list->count + 1) * sizeof *names);
    if (names == NULL)
        return no_memory(binder);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct oto_value *name = oto_value_get(list->items[i], "name");
        names[i] = (struct srv_named){name->text, name};
    }
    enum oto_status status = srv_check_unique(names, list->count, what, binder->error);
    free(names);
    return status;
}

/* A motion is either a plugin or a participant. */
static enum oto_status take_participant(struct srv_binder *binder, const struct srv_raw_node *raw,
                                        const struct oto_value *map, struct srv_vehicle_config *vehicle)
{
    if ((raw->plugin == NULL) == (raw->participant == NULL))
        return oto_value_fail(map, binder->error, OTO_INVALID,
                              raw->plugin == NULL ? "'plugin' or 'participant' is missing in motion"
                                                  : "a motion has a 'plugin' or a 'participant', not both");
    if (raw->participant == NULL)
        return OTO_OK;
    const enum oto_status status =
        srv_participant_named(binder, raw->participant, OTO_ROLE_PHYSICS, &vehicle->participant);
    if (status == OTO_OK)
        binder->config->participants[vehicle->participant - 1].vehicle_count++;
    return status;
}

static enum oto_status load_motion(struct srv_binder *binder, uint32_t vehicle, const struct oto_value *map,
                                   struct srv_node_config *node)
{
    struct srv_raw_node raw = {0};
    enum oto_status status = srv_section_read(&srv_section_motion, map, &raw, binder->error);
    if (status == OTO_OK)
        status = take_participant(binder, &raw, map, &binder->config->vehicles[vehicle]);
    node->vehicle = vehicle;
    (void)snprintf(node->name, sizeof node->name, "motion");
    (void)snprintf(node->frame_id, sizeof node->frame_id, "%s", binder->config->vehicles[vehicle].name);
    return status == OTO_OK ? srv_bind_node(binder, &raw, map, true, node) : status;
}

static enum oto_status load_node(struct srv_binder *binder, uint32_t vehicle, const struct oto_value *map,
                                 struct srv_node_config *node)
{
    struct srv_raw_node raw = {0};
    srv_section_defaults(&srv_section_node, &raw);
    enum oto_status status = srv_section_read(&srv_section_node, map, &raw, binder->error);
    if (status != OTO_OK)
        return status;
    if (strcmp(raw.name, "motion") == 0)
        return oto_value_fail(oto_value_get(map, "name"), binder->error, OTO_INVALID,
                              "the name 'motion' is that of the vehicle's motion, expected another");
    node->vehicle = vehicle;
    memcpy(node->name, raw.name, sizeof node->name);
    if (raw.frame_id[0] != '\0')
        memcpy(node->frame_id, raw.frame_id, sizeof node->frame_id);
    else
        (void)snprintf(node->frame_id, sizeof node->frame_id, "%.31s/%.31s", binder->config->vehicles[vehicle].name,
                       raw.name);
    return srv_bind_node(binder, &raw, map, false, node);
}

/* Loads the motion node first, then the others in their order. */
static enum oto_status load_vehicle(struct srv_binder *binder, uint32_t index, const struct srv_raw_vehicle *raw)
{
    struct srv_world_config *config = binder->config;
    struct srv_vehicle_config *vehicle = &config->vehicles[index];
    memcpy(vehicle->name, raw->name, sizeof vehicle->name);
    vehicle->motion = config->node_count;
    vehicle->first_node = config->node_count + 1;
    enum oto_status status = load_motion(binder, index, raw->motion, &config->nodes[config->node_count++]);
    if (status == OTO_OK && raw->vibration != NULL)
        status = srv_load_vibration(binder, raw->vibration, vehicle);
    for (uint32_t i = 0; status == OTO_OK && raw->nodes != NULL && i < raw->nodes->count; i++) {
        status = load_node(binder, index, raw->nodes->items[i], &config->nodes[config->node_count++]);
        vehicle->node_count++;
    }
    return status == OTO_OK && raw->nodes != NULL ? check_names(binder, raw->nodes, "nodes of a vehicle") : status;
}

static enum oto_status read_vehicles(struct srv_binder *binder, const struct oto_value *list,
                                     struct srv_raw_vehicle *raws, uint64_t *nodes)
{
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < list->count && status == OTO_OK; i++) {
        status = srv_section_read(&srv_section_vehicle, list->items[i], &raws[i], binder->error);
        *nodes += 1 + (raws[i].nodes != NULL ? raws[i].nodes->count : 0);
        if (status == OTO_OK && *nodes > SRV_MAX_NODES)
            status = oto_value_fail(list->items[i], binder->error, OTO_LIMIT,
                                    "more than %d nodes, the most that is accepted", SRV_MAX_NODES);
    }
    return status == OTO_OK ? check_names(binder, list, "vehicles") : status;
}

enum oto_status srv_load_vehicles(struct srv_binder *binder, const struct oto_value *list)
{
    struct srv_world_config *config = binder->config;
    uint64_t nodes = 0;
    if (list->count == 0)
        return oto_value_fail(list, binder->error, OTO_INVALID, "expected at least one vehicle, got an empty list");
    if (list->count > SRV_MAX_VEHICLES)
        return oto_value_fail(list, binder->error, OTO_LIMIT, "%u vehicles, at most %d are accepted", list->count,
                              SRV_MAX_VEHICLES);
    struct srv_raw_vehicle *raws = calloc(list->count, sizeof *raws);
    if (raws == NULL)
        return no_memory(binder);
    enum oto_status status = read_vehicles(binder, list, raws, &nodes);
    if (status == OTO_OK) {
        config->vehicles = calloc(list->count, sizeof *config->vehicles);
        config->nodes = calloc(nodes, sizeof *config->nodes);
        if (config->vehicles == NULL || config->nodes == NULL)
            status = no_memory(binder);
    }
    for (uint32_t i = 0; i < list->count && status == OTO_OK; i++) {
        config->vehicle_count++;
        status = load_vehicle(binder, i, &raws[i]);
    }
    free(raws);
    return status;
}
