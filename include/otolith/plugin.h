/*
 * The plugin ABI: everything that a plugin and a host know about each other. A plugin is a shared object that exports
 * one symbol, `otolith_plugin`, a constant that is checked before any code of the plugin runs. The plugin owns nothing:
 * parameters, prepared data, state and output buffers are plain memory of the host. Swap, checkpoint, roll-back and
 * isolation are therefore copies. The smallest complete plugin is in `plugins/template/`.
 *
 * Threads. Every operation names its thread in brackets:
 *   [loop]  the host's main or loader thread; may allocate, read files through the host, and block briefly
 *   [tick]  the tick thread; no allocation, lock, system call, I/O, log, static or thread-local data, and of libm only
 *           exact functions: use otolith/detmath.h
 *   [any]   any thread, also several at once; no side effects
 * Only one thread at a time enters an instance. Debug hosts check this.
 *
 * Life cycle of an instance: bind parameters → prepare [loop] → init [loop] → (step | evaluate | set_params |
 * validate)* [tick] → the host frees the memory. There is no `finish`, because the plugin owns nothing.
 *
 * A host accepts only plugins of exactly its own ABI version. In a struct with a member `size`, it is the sizeof of
 * that struct.
 */
#ifndef OTOLITH_PLUGIN_H
#define OTOLITH_PLUGIN_H

#ifdef __FAST_MATH__
#error "otolith plugins are deterministic: compile without -ffast-math"
#endif

#include <stddef.h>
#include <stdint.h>

#include "otolith/channel.h"
#include "otolith/instant.h"
#include "otolith/records.h"
#include "otolith/rng.h"
#include "otolith/status.h"
#include "otolith/vecmath.h"
#include "otolith/version.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OTO_PLUGIN_EXPORT __attribute__((visibility("default")))
#define OTO_PLUGIN_SYMBOL "otolith_plugin"

/* The result of a step. */
enum oto_step_status {
    OTO_STEP_OK = 0,
    OTO_STEP_WARN = 1,    /* the sample is published; it is flagged and counted */
    OTO_STEP_DISCARD = 2, /* no sample this time; the state is unchanged or consistently advanced; no `seq` is used */
    OTO_STEP_ERROR = 3,   /* this instance has failed: it is quarantined, the others continue */
    OTO_STEP_FATAL = 4    /* this library has failed: all its instances are quarantined */
};

/* ---- parameters -------------------------------------------------------------------------------------------------- */

enum oto_param_type {
    OTO_PARAM_F64 = 1,     /* double[count] */
    OTO_PARAM_I64 = 2,     /* int64_t[count] */
    OTO_PARAM_BOOL = 3,    /* int64_t[count], 0 or 1 */
    OTO_PARAM_TEXT = 4,    /* char[count], NUL-terminated */
    OTO_PARAM_PATH = 5,    /* char[count]; a relative path starts at the directory of the file that contains it, and
                            * is stored absolute */
    OTO_PARAM_LIST = 6,    /* uint64_t length, then `count` items of `item_bytes` each, described by `items` */
    OTO_PARAM_IGNORED = 7  /* an alias only: a known key of a foreign file that has no meaning in otolith */
};

#define OTO_PARAM_RUNTIME (1u << 0)      /* may change while the world runs */
#define OTO_PARAM_SCALAR_FILLS (1u << 1) /* one number in place of count > 1 numbers sets every element */
#define OTO_PARAM_RATE (1u << 2)         /* the node's rate in Hz if the world sets none (0: none) */
#define OTO_PARAM_REQUIRED (1u << 3)     /* there is no default */
#define OTO_PARAM_OPEN_MIN (1u << 4)     /* the minimum itself is not allowed */

/* A word for a number, as `mems` in `law: mems`. */
struct oto_named_value {
    const char *name;
    double value;
};

struct oto_param {
    const char *key; /* dotted path, "accelerometer.noise_density_m_s2_rthz"; a map in a file nests along the dots */
    uint32_t type;   /* enum oto_param_type */
    uint32_t count;  /* elements; bytes for TEXT and PATH; capacity for LIST */
    uint32_t offset; /* offset in the parameter block, aligned to 8 */
    uint32_t flags;  /* OTO_PARAM_… */
    double minimum, maximum; /* limits, inclusive; both 0: any finite value */
    double default_value;    /* default of every element */
    const char *default_text;
    const char *unit;
    const char *text; /* one line: meaning and source */
    const struct oto_named_value *names; /* words accepted in place of a number; with I64 the only values accepted */
    uint32_t name_count;
    uint32_t item_count; /* LIST: entries of `items` */
    const struct oto_param *items;
    uint64_t item_bytes;
    const char *alias; /* the same parameter in a foreign file, path joined by '/': "Gyroscope/Noise Density"; or
                        * NULL */
};

/*
 * ---- services of the host -----------------------------------------------------------------------------------------
 */

/* A table of numbers from a CSV: row-major, rows × columns. An optional column that is absent is NaN. */
struct oto_table_view {
    uint64_t rows;
    uint64_t columns;
    const double *values;
};

/* Services during `prepare`. [loop] */
struct oto_host {
    uint32_t size;
    uint32_t reserved;
    void *context;
    /* Allocates zeroed memory that is freed with the prepared data; NULL when out of memory. */
    void *(*alloc)(void *context, size_t bytes);
    /*
     * Reads named columns of a CSV with a header line. A name that begins with '?' is optional. Errors name file, line
     * and column. The values are freed with the prepared data.
     */
    enum oto_status (*read_table)(void *context, const char *path, const char *const *columns, uint32_t column_count,
                                  struct oto_table_view *table, struct oto_error *error);
    /* Reports a warning: `otolith check` and the server's log show it. */
    void (*warn)(void *context, const char *sentence);
    /*
     * Returns a constant copy of `bytes` that lives as long as the prepared data. Instances that share equal bytes get the
     * same copy, so a tick of many units reads it once. NULL when out of memory. A host whose `size` ends before this
     * member does not have it: use oto_host_share.
     */
    const void *(*share)(void *context, const void *bytes, size_t count);
    /*
     * Declares that with these parameters `step` changes at most the first `bytes` of the state: the rest changes only in
     * `init`, `set_params`, `migrate`, `adopt` and by controls, and the host does not read it in each tick. Without this
     * call a step may change every byte. Use oto_host_limit_state.
     */
    void (*limit_state)(void *context, uint64_t bytes);
};

/* host->share; NULL if the host does not have it. */
static inline const void *oto_host_share(const struct oto_host *host, const void *bytes, size_t count)
{
    const bool has = host->size >= offsetof(struct oto_host, share) + sizeof host->share && host->share != NULL;
    return has ? host->share(host->context, bytes, count) : NULL;
}

/* host->limit_state, if the host has it. */
static inline void oto_host_limit_state(const struct oto_host *host, uint64_t bytes)
{
    if (host->size >= offsetof(struct oto_host, limit_state) + sizeof host->limit_state && host->limit_state != NULL) {
        host->limit_state(host->context, bytes);
    }
}

struct oto_input_binding; /* otolith/estimator.h */
struct oto_input_sample;

/* The setup of estimators; empty for other kinds. */
struct oto_estimator_setup {
    const struct oto_input_binding *inputs;
    uint32_t input_count;
    uint32_t reserved;
};

/* The place of an instance in its world. It is fixed for the life of the instance and the same after a swap. */
struct oto_setup {
    uint32_t size;
    uint32_t reserved;
    char node[96]; /* "vehicle/node" */
    uint64_t base_rate_num, base_rate_den; /* ticks per second */
    uint64_t rate_num, rate_den;           /* samples per second of this node */
    double rate_hz;                        /* rate_num / rate_den */
    struct oto_rng_key noise_key;          /* key of the node's noise: (world seed, FNV-1a-64 of "vehicle/node"); A18 */
    struct oto_rng_key unit_key;           /* key of the unit's errors, equal in every world: (0, FNV-1a-64 of "part/unit") */
    oto_vec3 mount_position_body_m;
    oto_quat q_body_from_sensor;
    double origin_latitude_rad, origin_longitude_rad, origin_altitude_m;
    oto_vec3 gravity_enu_m_s2;   /* at the origin */
    oto_vec3 mag_field_enu_ut;   /* at the origin */
    double temperature_degc, pressure_pa;
    int64_t date_days; /* days since 1970-01-01, of the world's origin */
    struct oto_estimator_setup estimator;
};

/* One instance in the host's memory. Every operation gets it. */
struct oto_instance {
    uint32_t size;
    uint32_t reserved;
    const struct oto_setup *setup;
    const void *params; /* parameter block of descriptor.params_bytes, checked against the table */
    const void *data;   /* prepared data, made by `prepare`; read-only; or NULL */
    void *state;        /* state of descriptor.state_bytes, zeroed before init */
};

/* A disturbance from outside: an active fault of one of the kinds of oto_fault_is_disturbance. */
struct oto_disturbance {
    uint32_t kind; /* enum oto_fault_kind */
    uint32_t id;   /* number of the fault, which keys the random numbers of this disturbance */
    double value;  /* present value, in the unit of the kind */
    double rate_s; /* derivative of the value, per second */
};
#define OTO_DISTURBANCES 4

/* What a sensor feels at one instant (its exposure). Vectors are in sensor axes unless their name says otherwise. */
struct oto_sensor_input {
    oto_vec3 specific_force_sensor_m_s2;
    oto_vec3 angular_rate_sensor_rad_s;
    oto_vec3 angular_accel_sensor_rad_s2;
    oto_vec3 mag_field_sensor_ut;
    double temperature_degc;
    double pressure_pa;
    oto_quat q_enu_from_sensor;
    oto_vec3 position_sensor_enu_m;
    oto_vec3 velocity_sensor_enu_m_s;
    struct oto_truth_record truth; /* truth of the vehicle's body origin */
    uint32_t disturbance_count;    /* 0 in an exposure at another instant than that of the step */
    uint32_t reserved;
    struct oto_disturbance disturbances[OTO_DISTURBANCES];
};

/*
 * One output of a step. Before the step the host fills payload (zeroed if the port is enabled), t_ns (of the step),
 * sensor_time_ns = t_ns, flags = 0 and emit.
 */
struct oto_output {
    void *payload; /* record of the port's type */
    int64_t t_ns;
    int64_t sensor_time_ns;
    uint32_t flags; /* OTO_SAMPLE_SATURATED and the like */
    uint32_t emit;  /* 1: publish this record; set for enabled ports */
};

/* The part of a step for sensors. */
struct oto_sensor_step {
    const struct oto_sensor_input *input; /* the exposure at the instant of the step */
    /*
     * The exposure at another instant, not after the step and at most one second before it. Before time zero it is the
     * exposure at zero. For band limits, boxcars and transport delay.
     */
    enum oto_step_status (*input_at)(void *input_context, struct oto_instant at, struct oto_sensor_input *input);
    void *input_context;
};

/* The part of a step for estimators. */
struct oto_estimator_step {
    const struct oto_input_sample *samples; /* samples that the inputs published since the previous step */
    uint32_t sample_count;
    uint32_t reserved;
};

/* One call of `step`. */
struct oto_step {
    uint32_t size;
    uint32_t reserved;
    uint64_t tick; /* k: this tick advances the truth from k/fb to (k+1)/fb */
    uint64_t n;    /* sensors: sample number, from 1, at instant n/fs; motion nodes: tick + 1 */
    struct oto_instant at;
    struct oto_output *outputs; /* one for each port of the descriptor */
    union {                     /* which member is valid depends on the kind of the plugin; motion nodes have none */
        struct oto_sensor_step sensor;
        struct oto_estimator_step estimator;
    };
};

/* ---- tables of the plugin ---------------------------------------------------------------------------------------- */

#define OTO_PORT_ALWAYS UINT32_MAX

struct oto_port {
    const char *name; /* "" for the first; topic = "world/vehicle/node.NAME" for others */
    const struct oto_record_type *type;
    uint32_t enable_offset; /* offset of the BOOL or I64 parameter that enables it, or OTO_PORT_ALWAYS */
    uint32_t reserved;
};

#define OTO_KIND_SENSOR "sensor"
#define OTO_KIND_MOTION "motion"
#define OTO_KIND_ESTIMATOR "estimator"

/* Sensors: a rate above the base rate is accepted; one tick then has several samples. */
#define OTO_PLUGIN_ANY_RATE (1u << 0)
/*
 * Any kind: the plugin runs code of others, such as an FMU, and is defined with OTO_PLUGIN_DEFINE_HOST_ONLY. Its instances run in a
 * plugin host only, whatever `isolation` its node has. Its operations may allocate, read files, write files in the directory TMPDIR
 * and call any library; the process ends with its instances. `validate` returns OTO_UNSUPPORTED for an instance whose state does not
 * hold everything: a checkpoint of its world is then refused.
 */
#define OTO_PLUGIN_HOST_ONLY (1u << 1)
/*
 * Sensors: the plugin computes the effect of disturbances of this kind. Nodes of other plugins refuse faults of the kind.
 */
#define OTO_PLUGIN_FEELS(kind) (1u << (kind))
#define OTO_PLUGIN_FEELS_ALL                                                                                           \
    (OTO_PLUGIN_FEELS(OTO_FAULT_OUTAGE) | OTO_PLUGIN_FEELS(OTO_FAULT_MULTIPATH) | OTO_PLUGIN_FEELS(OTO_FAULT_SPOOF) |  \
     OTO_PLUGIN_FEELS(OTO_FAULT_JAM) | OTO_PLUGIN_FEELS(OTO_FAULT_DRAUGHT))

struct oto_plugin_descriptor {
    uint32_t size;
    uint32_t flags;      /* OTO_PLUGIN_… */
    const char *id;      /* "mems_imu": the file is mems_imu.so */
    const char *kind;    /* OTO_KIND_… */
    const char *version; /* version of this plugin, "1.2.0" */
    const char *text;    /* one line */
    const struct oto_port *outputs;
    uint32_t output_count; /* at most OTO_PLUGIN_MAX_PORTS; 0 for motion nodes, whose channel is the truth */
    uint32_t param_count;
    const struct oto_param *params;
    uint64_t params_bytes;
    uint64_t state_bytes;
    uint32_t state_version;
    uint32_t migrates_from; /* oldest state_version that `migrate` accepts; equals state_version without migrate */
};

#define OTO_PLUGIN_MAX_PORTS 8

struct oto_plugin_ops {
    uint32_t size;
    uint32_t reserved;
    /*
     * [loop] Checks the parameters as a whole and derives constants from them and from files, in memory from
     * host->alloc. Called again for every change of parameters, while the instance runs with the previous data. May be
     * NULL.
     */
    enum oto_status (*prepare)(const struct oto_host *host, const struct oto_setup *setup, const void *params,
                               const void **data, struct oto_error *error);
    /* [loop] Makes the initial state. May be NULL: the initial state is zero bytes. */
    enum oto_status (*init)(const struct oto_instance *instance, struct oto_error *error);
    /* [tick] Adapts the state after a change of parameters; the instance has the new ones already. May be NULL. */
    void (*set_params)(const struct oto_instance *instance, const void *old_params);
    /* [tick] Makes one sample of a sensor or one tick of a motion node. */
    enum oto_step_status (*step)(const struct oto_instance *instance, const struct oto_step *step);
    /* [tick] Makes this version's state from an older version's. Pure. May be NULL. */
    enum oto_status (*migrate)(const struct oto_instance *instance, const void *old_state, uint64_t old_bytes,
                               uint32_t old_version);
    /* [tick] Checks that a run can continue from the state (finite, in range). May be NULL: no check. */
    enum oto_status (*validate)(const struct oto_instance *instance);
    /*
     * [tick] Makes one sample of each of `count` instances of this plugin. The result equals `step` for each in turn,
     * to the last bit, with the statuses in `statuses`. May be NULL.
     */
    void (*step_batch)(const struct oto_instance *const *instances, const struct oto_step *const *steps, uint32_t count,
                       enum oto_step_status *statuses);
};

/* The extension of motion nodes. */
#define OTO_EXTENSION_MOTION "otolith.motion/1"
#define OTO_MOTION_ANY_TIME (1u << 0) /* evaluate is valid at any t >= 0, not only within the current tick */

struct oto_motion_extension {
    uint32_t size;
    uint32_t flags;
    /*
     * [tick] The truth at an instant of the tick that `step` completed last, including its start (at t = 0 before the
     * first step). Pure on the state.
     */
    enum oto_step_status (*evaluate)(const struct oto_instance *instance, struct oto_instant at,
                                     struct oto_truth_record *truth);
    /*
     * [tick] Continues from this truth at this instant, the end of the last tick: keeps pose and velocity as far as the
     * motion can represent them. The state is that of `init`. May be NULL: a swap to this motion is then refused unless
     * the state itself can be copied.
     */
    enum oto_status (*adopt)(const struct oto_instance *instance, const struct oto_truth_record *truth,
                             struct oto_instant at);
};

/* The ABI block, which is compared byte by byte before any other part of the entry is read. */
struct oto_abi_block {
    uint32_t magic; /* OTO_PLUGIN_MAGIC */
    uint16_t major, minor;
    uint16_t pointer_bytes, descriptor_bytes, ops_bytes, step_bytes, input_bytes, param_bytes;
    uint32_t endian; /* 0x01020304 */
};

#define OTO_PLUGIN_MAGIC 0x4f544f50u /* "OTOP" */
#define OTO_ABI_BLOCK_INITIALIZER                                                                                      \
    {                                                                                                                  \
        OTO_PLUGIN_MAGIC, OTO_PLUGIN_ABI_MAJOR, OTO_PLUGIN_ABI_MINOR, sizeof(void *),                                  \
            sizeof(struct oto_plugin_descriptor), sizeof(struct oto_plugin_ops), sizeof(struct oto_step),              \
            sizeof(struct oto_sensor_input), sizeof(struct oto_param), 0x01020304u                                     \
    }

struct oto_plugin_entry {
    uint32_t size;
    uint32_t reserved;
    struct oto_abi_block abi;
    const struct oto_plugin_descriptor *descriptor;
    const struct oto_plugin_ops *ops;
    /* [any] Returns an extension by its versioned id, or NULL. May be NULL. */
    const void *(*extension)(const char *id);
};

extern OTO_PLUGIN_EXPORT const struct oto_plugin_entry otolith_plugin;

/*
 * A hash of the file's loaded bytes, which `otolith plugins --write-digest FILE` writes after linking (otolith_add_plugin of CMake
 * does it). A file that has changed since is not loaded. 0: not written, not checked.
 */
struct oto_plugin_digest {
    char mark[24]; /* OTO_PLUGIN_DIGEST_MARK */
    uint64_t value;
};

#define OTO_PLUGIN_DIGEST_MARK "otolith plugin digest 2"
#if defined(__has_attribute)
#if __has_attribute(retain)
#define OTO_PLUGIN_KEEP __attribute__((used, retain))
#endif
#endif
#ifndef OTO_PLUGIN_KEEP
#define OTO_PLUGIN_KEEP __attribute__((used))
#endif

/* Defines the exported entry: the last line of a plugin. */
#define OTO_PLUGIN_DEFINE(descriptor_, ops_, extension_)                                                               \
    OTO_PLUGIN_KEEP static const struct oto_plugin_digest oto_plugin_digest_ = {OTO_PLUGIN_DIGEST_MARK, 0};            \
    OTO_PLUGIN_EXPORT const struct oto_plugin_entry otolith_plugin = {                                                 \
        sizeof(struct oto_plugin_entry), 0, OTO_ABI_BLOCK_INITIALIZER, &(descriptor_), &(ops_), (extension_)}

/* The same for a plugin with the flag OTO_PLUGIN_HOST_ONLY; the symbol is read from the file before any code of it runs. */
#define OTO_PLUGIN_HOST_ONLY_SYMBOL "otolith_plugin_host_only"
#define OTO_PLUGIN_DEFINE_HOST_ONLY(descriptor_, ops_, extension_)                                                     \
    extern OTO_PLUGIN_EXPORT const uint32_t otolith_plugin_host_only;                                                  \
    OTO_PLUGIN_EXPORT const uint32_t otolith_plugin_host_only = 1;                                                     \
    OTO_PLUGIN_DEFINE(descriptor_, ops_, extension_)

/* Macros that help to write a parameter table. */
#define OTO_PARAM_AT(block, member) (uint32_t)offsetof(block, member)

#ifdef __cplusplus
}
#endif

#endif
