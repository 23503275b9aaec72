/* Shared by the files that bind a world file. [loop] */
#ifndef SRV_CONFIG_BINDER_H
#define SRV_CONFIG_BINDER_H

#include "world/copies.h"
#include "world/raw.h"
#include "parts/library.h"

struct srv_plugin_cache_entry;
struct srv_part_cache_entry;

/* A cache of plugins by path, so that each file is read once, also for ten thousand vehicles. */
struct srv_plugin_cache {
    struct srv_plugin_cache_entry *entries;
    uint32_t count;
    const struct srv_world_config *loaded; /* srv_world_source.loaded */
};
/* Gets a reference to the plugin that `value` names. */
enum oto_status srv_plugin_cache_open(struct srv_plugin_cache *cache, const struct oto_value *value,
                                      srv_open_plugin_function *open, bool isolated, struct oto_plugin **plugin, struct oto_error *error);
void srv_plugin_cache_finish(struct srv_plugin_cache *cache);

/* A cache of parts by name, so that each file is read once. */
struct srv_part_cache {
    struct srv_part_cache_entry *entries;
    uint32_t count;
};
void srv_part_cache_finish(struct srv_part_cache *cache);

/* The entry of the file that a vehicle comes from. */
struct srv_vehicle_origin {
    uint32_t entry, index;
};

struct srv_binder {
    const struct srv_world_source *source;
    struct srv_world_config *config;
    struct srv_plugin_cache plugins;
    struct srv_part_cache parts;
    struct srv_copies *copies; /* one for each entry of `vehicles` */
    uint32_t copies_count;
    struct srv_vehicle_origin *origins; /* one for each vehicle that is loaded */
    uint64_t vibration_lines; /* sum over all vehicles so far */
    oto_warn_function warn;
    void *warn_context;
    struct oto_error *error;
    struct oto_problems problems; /* with `error`; the functions below report what they find, one after the other */
    bool is_world_sound;          /* clock and participants had no errors: nodes may be compared with them */
};

/* Reports the error of `status`. Returns whether loading continues. */
static inline bool srv_binder_goes_on(struct srv_binder *binder, enum oto_status status)
{
    return oto_problems_note(&binder->problems, status);
}
/* The result of steps that reported their errors: an error if there are more problems than `before`. */
static inline enum oto_status srv_binder_result(const struct srv_binder *binder, uint32_t before, enum oto_status status)
{
    return status == OTO_OK && binder->problems.count > before ? OTO_INVALID : status;
}
/* Whether the file has no error so far: checks that compare its parts would report the same error once more. */
static inline bool srv_binder_is_sound(const struct srv_binder *binder)
{
    return binder->problems.count == 0;
}

/* Warns: "file:line:column: warning: <sentence>". */
void srv_binder_warn(const struct srv_binder *binder, const struct oto_value *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Warns about defaults that no vehicle names. */
void srv_check_defaults(const struct srv_binder *binder, const struct srv_raw_world *raw);
/* Reads the roles of other users; `list` NULL: there are none. */
enum oto_status srv_load_roles(struct srv_binder *binder, const struct oto_value *list);
/* Reads the files of `tls`, and checks the addresses of `publish` and `control`. Call after srv_load_roles. */
enum oto_status srv_load_network(struct srv_binder *binder, const struct srv_raw_world *raw);
/* Reads the declared participants and the master of the clock. Call before srv_load_vehicles. */
enum oto_status srv_load_participants(struct srv_binder *binder, const struct srv_raw_world *raw);
/* Gets the number of the participant that a motion or the clock names; adds it if it was not declared. */
enum oto_status srv_participant_named(struct srv_binder *binder, const struct oto_value *name,
                                      enum oto_participant_role role, uint32_t *number);
/* Checks of the participants for which the vehicles must be loaded. */
enum oto_status srv_check_participants(struct srv_binder *binder, const struct srv_raw_world *raw);
/* Loads, binds and checks vehicles and their nodes. */
enum oto_status srv_load_vehicles(struct srv_binder *binder, const struct oto_value *vehicles);
/* Writes the values of a vehicle that depend on its index into the tree, to read them again. */
void srv_select_vehicle(const struct srv_binder *binder, uint32_t vehicle);
void srv_binder_finish(struct srv_binder *binder);
/* Reads the vibration of a vehicle. After a failure the allocated rows belong to the vehicle and are freed with it. */
enum oto_status srv_load_vibration(struct srv_binder *binder, const struct oto_value *list,
                                   struct srv_vehicle_config *vehicle);
/* Sets the key for this seed and draws the phases of the spectra's lines with it. */
void srv_vibration_seed(struct srv_vibration *vibration, const char *vehicle, uint64_t seed);
void srv_vibration_finish(struct srv_vibration *vibration);
/* Binds plugin, parameters and rate of a node; `map` is its place in the file. */
enum oto_status srv_bind_node(struct srv_binder *binder, const struct srv_raw_node *raw, const struct oto_value *map,
                              bool is_motion, struct srv_node_config *node);
/* Opens the plugin of a node that has errors, and binds its parameters, to report their errors. */
enum oto_status srv_check_node(struct srv_binder *binder, const struct srv_raw_node *raw, bool is_motion,
                               struct srv_node_config *node);
/* Binds the inputs of estimators after all nodes are known: finds the channels and checks their fields. */
enum oto_status srv_bind_inputs(struct srv_binder *binder);
/* Applies the parameters of the node's part, and sets the name of its unit for random numbers. */
enum oto_status srv_apply_part(struct srv_binder *binder, const struct srv_raw_node *raw, struct srv_node_config *node);
/* Reads the node's list of faults; `list` may be NULL. */
enum oto_status srv_bind_faults(struct srv_binder *binder, const struct oto_value *list, struct srv_node_config *node);
/* Warns about parameters that are probably wrong. */
void srv_check_plausible(const struct srv_binder *binder, const struct oto_value *place,
                         const struct srv_node_config *node);
/* Warns about a magnetic field whose axes are probably not ENU. */
void srv_check_field(const struct srv_binder *binder, const struct srv_raw_world *raw);
/* Checks topics: too long, duplicate, or one the beginning of another. */
enum oto_status srv_check_topics(struct srv_binder *binder);

/* Makes a path absolute, relative to the file that contains it; NULL when out of memory. */
char *srv_resolve_path(const struct oto_value *value);

struct srv_named {
    const char *name;
    const struct oto_value *place;
};
/* Sorts the names. A duplicate is an error at the later one: "two <what> are called 'x'". */
enum oto_status srv_check_unique(struct srv_named *names, uint32_t count, const char *what, struct oto_error *error);

#endif
