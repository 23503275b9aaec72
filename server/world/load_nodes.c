#include "world/binder.h"

#include <stdlib.h>

#include "base/pattern.h"
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
    if (raw->participant == NULL || !binder->is_world_sound)
        return OTO_OK;
    const enum oto_status status =
        srv_participant_named(binder, raw->participant, OTO_ROLE_PHYSICS, &vehicle->participant);
    if (status == OTO_OK)
        binder->config->participants[vehicle->participant - 1].vehicle_count++;
    return status;
}

/* Reports the errors of plugin and parameters too, for a node whose own keys have an error. */
static enum oto_status look_into(struct srv_binder *binder, const struct srv_raw_node *raw, bool is_motion,
                                 struct srv_node_config *node, enum oto_status status)
{
    if (srv_binder_goes_on(binder, status) && raw->plugin != NULL)
        (void)srv_binder_goes_on(binder, srv_check_node(binder, raw, is_motion, node));
    return status;
}

/* A participant controls one vehicle; its role follows from the clock, or is controller. */
static enum oto_status take_controls(struct srv_binder *binder, const struct srv_raw_node *raw, uint32_t vehicle,
                                     const struct srv_node_config *node)
{
    struct srv_vehicle_config *config = &binder->config->vehicles[vehicle];
    if (raw->controls == NULL)
        return OTO_OK;
    if (oto_plugin_control(node->plugin) == NULL)
        return oto_value_fail(raw->controls, binder->error, OTO_INVALID,
                              "motion '%s' takes no controls: its plugin has no extension for them",
                              oto_plugin_descriptor(node->plugin)->id);
    enum oto_status status = srv_participant_named(binder, raw->controls, 0, &config->controller);
    if (status != OTO_OK)
        return status;
    struct srv_participant_config *participant = &binder->config->participants[config->controller - 1];
    if (participant->controlled != 0)
        return oto_value_fail(raw->controls, binder->error, OTO_INVALID,
                              "participant '%s' controls vehicle '%s' already; each vehicle needs a participant of its own",
                              participant->name, binder->config->vehicles[participant->controlled - 1].name);
    participant->controlled = 1 + vehicle;
    return OTO_OK;
}

static enum oto_status load_motion(struct srv_binder *binder, uint32_t vehicle, const struct oto_value *map,
                                   struct srv_node_config *node)
{
    struct srv_raw_node raw = {0};
    enum oto_status status = srv_section_read_all(&srv_section_motion, map, &raw, &binder->problems);
    node->vehicle = vehicle;
    if (status != OTO_OK)
        return look_into(binder, &raw, true, node, status);
    status = take_participant(binder, &raw, map, &binder->config->vehicles[vehicle]);
    (void)snprintf(node->name, sizeof node->name, "motion");
    (void)snprintf(node->frame_id, sizeof node->frame_id, "%s", binder->config->vehicles[vehicle].name);
    if (status == OTO_OK)
        status = srv_bind_node(binder, &raw, map, true, node);
    return status == OTO_OK ? take_controls(binder, &raw, vehicle, node) : status;
}

static enum oto_status load_node(struct srv_binder *binder, uint32_t vehicle, const struct oto_value *map,
                                 struct srv_node_config *node)
{
    struct srv_raw_node raw = {0};
    srv_section_defaults(&srv_section_node, &raw);
    const enum oto_status status = srv_section_read_all(&srv_section_node, map, &raw, &binder->problems);
    if (status != OTO_OK)
        return look_into(binder, &raw, false, node, status);
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

/* ---- one vehicle ---- */

static enum oto_status copy_faults(struct srv_binder *binder, const struct srv_node_config *from, struct srv_node_config *to)
{
    if (from->fault_count == 0)
        return OTO_OK;
    to->faults = malloc(from->fault_count * sizeof *to->faults);
    if (to->faults == NULL)
        return no_memory(binder);
    memcpy(to->faults, from->faults, from->fault_count * sizeof *to->faults);
    return OTO_OK;
}

/* Copies a node that is equal in every vehicle of the entry: it was bound once, and its parameters are shared. */
static enum oto_status copy_node(struct srv_binder *binder, const struct srv_node_config *from, uint32_t vehicle,
                                 struct srv_node_config *to)
{
    const char *own_frame = binder->config->vehicles[from->vehicle].name;
    const size_t bytes = strlen(own_frame);
    *to = *from;
    to->vehicle = vehicle;
    to->plugin = oto_plugin_hold(from->plugin);
    to->params = oto_params_copy(&from->params);
    to->faults = NULL;
    if (strncmp(from->frame_id, own_frame, bytes) == 0 && (from->frame_id[bytes] == '/' || from->frame_id[bytes] == '\0'))
        (void)snprintf(to->frame_id, sizeof to->frame_id, "%.31s%.31s", binder->config->vehicles[vehicle].name,
                       from->frame_id + bytes);
    return copy_faults(binder, from, to);
}

/* The entry whose vehicles are being loaded. */
struct entry {
    const struct srv_raw_vehicle *raw;
    const struct srv_copies *copies;
    const struct srv_vehicle_config *first; /* its first vehicle that is loaded; NULL: this one */
};

/* Nodes that differ from vehicle to vehicle are bound for each, the others once. A participant counts its vehicles. */
static enum oto_status load_part(struct srv_binder *binder, const struct entry *entry, uint32_t vehicle,
                                 const struct oto_value *map, bool is_motion)
{
    struct srv_world_config *config = binder->config;
    const struct srv_vehicle_config *now = &config->vehicles[vehicle];
    struct srv_node_config *node = &config->nodes[config->node_count++];
    const bool again = entry->first == NULL || srv_copies_vary(entry->copies, map) || entry->first->participant != 0;
    if (!again)
        return copy_node(binder, &config->nodes[entry->first->motion + (uint32_t)(node - &config->nodes[now->motion])],
                         vehicle, node);
    return is_motion ? load_motion(binder, vehicle, map, node) : load_node(binder, vehicle, map, node);
}

/* Loads the motion node first, then the others in their order. */
static enum oto_status load_vehicle(struct srv_binder *binder, const struct entry *entry, uint32_t index)
{
    struct srv_world_config *config = binder->config;
    const struct srv_raw_vehicle *raw = entry->raw;
    struct srv_vehicle_config *vehicle = &config->vehicles[index];
    const uint32_t problems = binder->problems.count;
    vehicle->motion = config->node_count;
    vehicle->first_node = config->node_count + 1;
    enum oto_status status = raw->motion != NULL ? load_part(binder, entry, index, raw->motion, true) : OTO_OK;
    if (srv_binder_goes_on(binder, status) && raw->vibration != NULL)
        status = srv_load_vibration(binder, raw->vibration, vehicle);
    for (uint32_t i = 0; srv_binder_goes_on(binder, status) && raw->nodes != NULL && i < raw->nodes->count; i++) {
        status = load_part(binder, entry, index, raw->nodes->items[i], false);
        vehicle->node_count++;
    }
    status = srv_binder_result(binder, problems, status);
    return status == OTO_OK && raw->nodes != NULL && entry->first == NULL ? check_names(binder, raw->nodes, "nodes of a vehicle")
                                                                          : status;
}

/* ---- the list ---- */

/* The vehicles of the file as written, before any vehicle is made. */
struct list {
    const struct oto_value *list;
    struct srv_raw_vehicle *raws;
    uint64_t vehicles, nodes; /* of all entries, or of those that are loaded */
};

static bool is_wanted(const struct srv_binder *binder, const char *name)
{
    const char *only = binder->config->only;
    return only[0] == '\0' || srv_pattern_matches(only, name);
}

static enum oto_status count_entry(struct srv_binder *binder, struct list *list, uint32_t i)
{
    const struct srv_copies *copies = &binder->copies[i];
    const uint32_t each = 1 + (list->raws[i].nodes != NULL ? list->raws[i].nodes->count : 0);
    char name[SRV_NAME_BYTES];
    for (uint32_t k = 0; k < srv_copies_count(copies); k++) {
        srv_copies_name(copies, list->raws[i].name, k, name);
        if (is_wanted(binder, name)) {
            list->vehicles++;
            list->nodes += each;
        }
    }
    if (list->vehicles > SRV_MAX_VEHICLES)
        return oto_value_fail(list->list->items[i], binder->error, OTO_LIMIT, "more than %d vehicles, the most that is accepted",
                              SRV_MAX_VEHICLES);
    return list->nodes <= SRV_MAX_NODES ? OTO_OK
                                        : oto_value_fail(list->list->items[i], binder->error, OTO_LIMIT,
                                                         "more than %d nodes, the most that is accepted", SRV_MAX_NODES);
}

static bool is_too_much(const struct list *list)
{
    return list->vehicles > SRV_MAX_VEHICLES || list->nodes > SRV_MAX_NODES;
}

static enum oto_status read_vehicles(struct srv_binder *binder, struct list *list)
{
    const uint32_t problems = binder->problems.count;
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < list->list->count && srv_binder_goes_on(binder, status); i++) {
        status = srv_section_read_all(&srv_section_vehicle, list->list->items[i], &list->raws[i], &binder->problems);
        if (status == OTO_OK)
            status = srv_copies_make(binder->config->document, list->list->items[i], &list->raws[i], &binder->copies[i],
                                     binder->error);
        if (srv_binder_goes_on(binder, status))
            status = count_entry(binder, list, i);
        if (is_too_much(list))
            return status;
    }
    return srv_binder_result(binder, problems, status);
}

static enum oto_status make_room(struct srv_binder *binder, const struct list *list)
{
    struct srv_world_config *config = binder->config;
    if (list->vehicles == 0) {
        char name[SRV_NAME_BYTES];
        srv_copies_name(&binder->copies[0], list->raws[0].name, 0, name);
        return oto_value_fail(list->list, binder->error, OTO_NOT_FOUND,
                              "no vehicle matches '%.96s'; a pattern of names such as '%s' is accepted", config->only, name);
    }
    config->vehicles = calloc(list->vehicles, sizeof *config->vehicles);
    config->nodes = calloc(list->nodes, sizeof *config->nodes);
    binder->origins = calloc(list->vehicles, sizeof *binder->origins);
    return config->vehicles != NULL && config->nodes != NULL && binder->origins != NULL ? OTO_OK : no_memory(binder);
}

static enum oto_status load_entry(struct srv_binder *binder, const struct list *list, uint32_t i)
{
    struct srv_world_config *config = binder->config;
    struct entry entry = {&list->raws[i], &binder->copies[i], NULL};
    enum oto_status status = OTO_OK;
    for (uint32_t k = 0; k < srv_copies_count(entry.copies) && status == OTO_OK; k++) {
        struct srv_vehicle_config *vehicle = &config->vehicles[config->vehicle_count];
        char name[SRV_NAME_BYTES];
        srv_copies_name(entry.copies, entry.raw->name, k, name);
        if (!is_wanted(binder, name))
            continue;
        memcpy(vehicle->name, name, sizeof vehicle->name);
        binder->origins[config->vehicle_count] = (struct srv_vehicle_origin){i, k};
        srv_copies_select(entry.copies, k);
        status = load_vehicle(binder, &entry, config->vehicle_count++);
        entry.first = entry.first != NULL ? entry.first : vehicle;
    }
    return status;
}

static enum oto_status check_vehicle_names(struct srv_binder *binder, const struct oto_value *list)
{
    const struct srv_world_config *config = binder->config;
    struct srv_named *names = malloc((size_t)config->vehicle_count * sizeof *names);
    if (names == NULL)
        return no_memory(binder);
    for (uint32_t v = 0; v < config->vehicle_count; v++)
        names[v] = (struct srv_named){config->vehicles[v].name, oto_value_get(list->items[binder->origins[v].entry], "name")};
    const enum oto_status status = srv_check_unique(names, config->vehicle_count, "vehicles", binder->error);
    free(names);
    return status;
}

static enum oto_status load_list(struct srv_binder *binder, struct list *list)
{
    const uint32_t problems = binder->problems.count;
    enum oto_status status = read_vehicles(binder, list);
    if (!srv_binder_goes_on(binder, status) || is_too_much(list) || (status != OTO_OK && list->vehicles == 0))
        return status;
    status = make_room(binder, list);
    if (status != OTO_OK)
        return status;
    for (uint32_t i = 0; i < list->list->count && srv_binder_goes_on(binder, status); i++)
        status = load_entry(binder, list, i);
    status = srv_binder_result(binder, problems, status);
    return status == OTO_OK ? check_vehicle_names(binder, list->list) : status;
}

enum oto_status srv_load_vehicles(struct srv_binder *binder, const struct oto_value *list)
{
    if (list->count == 0)
        return oto_value_fail(list, binder->error, OTO_INVALID, "expected at least one vehicle, got an empty list");
    if (list->count > SRV_MAX_VEHICLES)
        return oto_value_fail(list, binder->error, OTO_LIMIT, "%u vehicles, at most %d are accepted", list->count,
                              SRV_MAX_VEHICLES);
    struct list read = {.list = list, .raws = calloc(list->count, sizeof *read.raws)};
    binder->copies = calloc(list->count, sizeof *binder->copies);
    binder->copies_count = list->count;
    const enum oto_status status = read.raws != NULL && binder->copies != NULL ? load_list(binder, &read) : no_memory(binder);
    free(read.raws);
    return status;
}

void srv_select_vehicle(const struct srv_binder *binder, uint32_t vehicle)
{
    const struct srv_vehicle_origin *origin = &binder->origins[vehicle];
    srv_copies_select(&binder->copies[origin->entry], origin->index);
}

void srv_binder_finish(struct srv_binder *binder)
{
    for (uint32_t i = 0; binder->copies != NULL && i < binder->copies_count; i++)
        srv_copies_finish(&binder->copies[i]);
    free(binder->copies);
    free(binder->origins);
    srv_plugin_cache_finish(&binder->plugins);
    srv_part_cache_finish(&binder->parts);
}
