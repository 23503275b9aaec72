/* What the files of the loader share while a world is bound. [loop] */
#ifndef SRV_CONFIG_BINDER_H
#define SRV_CONFIG_BINDER_H

#include "world/raw.h"
#include "parts/library.h"

struct srv_plugin_cache_entry;
struct srv_part_cache_entry;

/* Plugins by their path, so that ten thousand vehicles read each file once. */
struct srv_plugin_cache {
    struct srv_plugin_cache_entry *entries;
    uint32_t count;
};
/* A held handle of the plugin that `value` names. Of an isolated one no code runs here: only its tables are read. */
enum oto_status srv_plugin_cache_open(struct srv_plugin_cache *cache, const struct oto_value *value, srv_describe_function *describe,
                                      struct oto_plugin **plugin, struct oto_error *error);
void srv_plugin_cache_finish(struct srv_plugin_cache *cache);

/* Parts by their name, likewise. */
struct srv_part_cache {
    struct srv_part_cache_entry *entries;
    uint32_t count;
};
void srv_part_cache_finish(struct srv_part_cache *cache);

struct srv_binder {
    const struct srv_world_source *source;
    struct srv_world_config *config;
    struct srv_plugin_cache plugins;
    struct srv_part_cache parts;
    uint64_t vibration_lines; /* so far, of all vehicles */
    oto_warn_function warn;
    void *warn_context;
    struct oto_error *error;
};

/* "file:line:column: warning: <sentence>" */
void srv_binder_warn(const struct srv_binder *binder, const struct oto_value *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Who may control the world; NULL: nobody else. */
enum oto_status srv_load_roles(struct srv_binder *binder, const struct oto_value *list);
/* The participants that the world declares, and the clock's master. Before the vehicles. */
enum oto_status srv_load_participants(struct srv_binder *binder, const struct srv_raw_world *raw);
/* The number of the participant of that name, which a motion or the clock names: it is added if nothing declared it. */
enum oto_status srv_participant_named(struct srv_binder *binder, const struct oto_value *name,
                                      enum oto_participant_role role, uint32_t *number);
/* What is only known after the vehicles. */
enum oto_status srv_check_participants(struct srv_binder *binder, const struct srv_raw_world *raw);
/* Vehicles and their nodes, bound and checked. */
enum oto_status srv_load_vehicles(struct srv_binder *binder, const struct oto_value *vehicles);
/* What shakes the vehicle. On failure what was made is the vehicle's, and goes with it. */
enum oto_status srv_load_vibration(struct srv_binder *binder, const struct oto_value *list,
                                   struct srv_vehicle_config *vehicle);
void srv_vibration_finish(struct srv_vibration *vibration);
/* Plugin, parameters and rate of a node; `map` is where it stands. */
enum oto_status srv_bind_node(struct srv_binder *binder, const struct srv_raw_node *raw, const struct oto_value *map,
                              bool is_motion, struct srv_node_config *node);
/* What the estimators listen to, when all nodes are there: named, found, and with the fields that they need. */
enum oto_status srv_bind_inputs(struct srv_binder *binder);
/* The parameters of the node's part, and the name of its unit's stream of random numbers. */
enum oto_status srv_apply_part(struct srv_binder *binder, const struct srv_raw_node *raw, struct srv_node_config *node);
/* The node's timeline of faults; `list` may be NULL. */
enum oto_status srv_bind_faults(struct srv_binder *binder, const struct oto_value *list, struct srv_node_config *node);
/* Warns of parameters that are probably wrong. */
void srv_check_plausible(const struct srv_binder *binder, const struct oto_value *place,
                         const struct srv_node_config *node);
/* Warns of a magnetic field whose axes are probably not those of the world. */
void srv_check_field(const struct srv_binder *binder, const struct srv_raw_world *raw);
/* Topics: too long, twice, or one the beginning of another. */
enum oto_status srv_check_topics(struct srv_binder *binder);

/* A path as it is meant by the file that names it; NULL when out of memory. */
char *srv_resolve_path(const struct oto_value *value);

struct srv_named {
    const char *name;
    const struct oto_value *place;
};
/* Sorts the names; twice the same is an error at the later one: "two <what> are called 'x'". */
enum oto_status srv_check_unique(struct srv_named *names, uint32_t count, const char *what, struct oto_error *error);

#endif
