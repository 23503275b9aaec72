/*
 * A bound and checked world file: plugins are opened, parameters are in their blocks, units are SI, names are unique.
 * The loader (server/world) makes it, the simulator (server/sim) uses it. [loop]
 */
#ifndef SRV_WORLD_CONFIG_H
#define SRV_WORLD_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/origin.h"
#include "base/role.h"
#include "world/fault_spec.h"
#include "world/table.h"
#include "otolith/mailbox.h"
#include "plugin/host.h"
#include "otolith/rng.h"
#include "otolith/segment.h"

#define SRV_MAX_VEHICLES 10000
#define SRV_MAX_NODES 65000
#define SRV_MAX_LISTEN 8
#define SRV_MAX_PARTICIPANTS 64
#define SRV_MAX_ROLE_RULES 32
#define SRV_NAME_BYTES 32 /* name of a vehicle or node: [A-Za-z0-9_-]+ */

enum srv_driver { SRV_DRIVER_UV = 0, SRV_DRIVER_HYBRID = 1 };
enum srv_overrun { SRV_OVERRUN_SLIP = 0, SRV_OVERRUN_CATCHUP = 1, SRV_OVERRUN_FAULT = 2 };

struct srv_clock_config {
    uint64_t rate_num, rate_den; /* ticks per second */
    enum oto_clock_mode mode;
    uint32_t master;             /* 1 + the participant whose grants drive mode external; 0: none */
    bool paced;                  /* mode lockstep runs at the scale, not faster */
    double scale;                /* simulated seconds per real second */
    enum srv_driver driver;
    enum srv_overrun overrun;
    uint32_t catchup_max_burst; /* ticks, default 4 */
    int64_t catchup_max_lag_ns; /* default 20 ms */
    uint32_t fault_max_overruns; /* consecutive overruns, default 10 */
    int64_t until_ns;           /* simulated time; 0: no end */
    int32_t fifo_priority;      /* requested SCHED_FIFO priority, default 70; 0: none */
};

/*
 * The difference of a magnetic field between a place p and the origin, both in the origin's ENU axes: row i of (first +
 * second·p) p. Both are symmetric, because the field has neither curl nor sources.
 */
struct srv_field_change {
    double first_ut_m[6];     /* xx xy xz yy yz zz */
    oto_vec3 second_ut_m2[6]; /* half the second derivatives: of each first derivative along x, y, z */
};

/* A process that the ticks wait for. Its mailbox is made when it joins. */
struct srv_participant_config {
    char name[OTO_PARTICIPANT_NAME_BYTES];
    enum oto_participant_role role;
    enum oto_timeout_policy on_timeout;
    int64_t timeout_ns;    /* timeout of an answer */
    int64_t wait_limit_ns; /* policy wait: after this time the run stops */
    uint32_t max_step_n;   /* ticks that one answer may cover */
    uint32_t vehicle_count;
    uint32_t controlled;   /* 1 + number of the vehicle that it controls; 0: none */
    const struct oto_value *place; /* place in the document; NULL in worlds without a file */
};

/* Whether ticks wait for the participant's answers. False for a master without vehicles, which only grants ticks. */
static inline bool srv_participant_is_waited_for(const struct srv_participant_config *participant)
{
    return participant->role != OTO_ROLE_MASTER || participant->vehicle_count > 0;
}

struct srv_environment_config {
    bool gravity_wgs84;
    bool earth_rate; /* sensors measure the rotation of the Earth */
    bool field_follows_place; /* the field changes with the place by mag_field_change */
    bool air_follows_altitude; /* temperature and pressure change with altitude as in the standard atmosphere */
    oto_vec3 gravity_enu_m_s2; /* at the origin, from a vector or a model */
    oto_vec3 mag_field_enu_ut; /* at the origin, from a vector or a model */
    struct srv_field_change mag_field_change;
    double temperature_degc; /* at the origin and time zero */
    double pressure_pa;
    struct srv_table temperature_along_time_degc; /* rows over time in s, at the origin; without rows the number
                                                   * above */
    struct srv_table pressure_along_time_pa;
};

/*
 * At the angle 2π · factor · base the acceleration is sine · accel_sin + cosine · accel_cos, in body axes; rates
 * accordingly.
 */
struct srv_vibration_line {
    double factor;
    oto_vec3 accel_sin_m_s2, accel_cos_m_s2;
    oto_vec3 rate_sin_rad_s, rate_cos_rad_s;
};

/*
 * The base of a source is the time in s with factors in Hz, or the revolutions of an engine with orders as factors. A source
 * with a noise rate has no lines: its values are independent.
 */
struct srv_vibration_source {
    bool is_engine, turns; /* turns: it has angular rates */
    bool is_spectrum;      /* the phases of its lines depend on the seed */
    bool is_differenced;
    double noise_rate_hz; /* 0: no noise */
    oto_vec3 noise_rms_m_s2;
    double reference_rpm;  /* if above 0, amplitudes are multiplied by (rpm / this)² */
    struct srv_table rpm_along_time;
    uint32_t first_line, line_count;
};

struct srv_vibration {
    uint32_t source_count, line_count;
    struct srv_vibration_source *sources;
    struct srv_vibration_line *lines;
    oto_vec3 *amplitudes_m_s2; /* amplitudes of the lines of spectra */
    struct oto_rng_key key;
};

/* An input of an estimator: the channel that it reads. */
struct srv_input_config {
    char name[SRV_NAME_BYTES]; /* name of the input */
    uint32_t node;             /* index of the node that publishes the channel */
    uint32_t port;             /* index of the port; 0 of a motion node is the truth */
};

/* Whether a node has a channel of fault labels. AUTO: if it has faults, or the world has few nodes. */
enum srv_labels { SRV_LABELS_OFF = 0, SRV_LABELS_ON = 1, SRV_LABELS_AUTO = 2 };
#define SRV_LABELS_AUTO_NODES 64

/* The process in which a node runs. */
struct srv_isolation_config {
    bool process;    /* true: the node runs in a plugin host */
    bool async;      /* samples of tick k are published in tick k+1 */
    int64_t budget_ns; /* 0: the default */
    char group[SRV_NAME_BYTES]; /* nodes of one group share a host; "": a host for this node only */
};

/*
 * The plugin and parameters that a checkpoint has for a node, if they differ from those of the file. The channels
 * remain those of the file's plugin, as after the swap or the change in the saved run.
 */
struct srv_replacement {
    struct oto_plugin *plugin; /* a reference; NULL: the file's plugin */
    struct oto_params params;
    struct oto_rng_key unit_key; /* as in struct oto_setup */
};

struct srv_node_config {
    char name[SRV_NAME_BYTES];  /* "motion" for the motion node */
    char alias[OTO_TOPIC_BYTES]; /* topic of the first channel, "" for world/vehicle/node */
    char frame_id[OTO_WORLD_NAME_BYTES]; /* default "vehicle/node" */
    char part_unit[OTO_TOPIC_BYTES]; /* "part/unit" of the unit stream; default "plugin/0" */
    uint32_t vehicle;           /* index */
    struct oto_plugin *plugin;  /* a reference */
    struct oto_params params;
    uint64_t rate_num, rate_den; /* samples per second; default: the base rate */
    struct srv_isolation_config isolation;
    bool watch; /* automatic swap when the plugin's file is replaced */
    oto_vec3 mount_position_body_m;
    oto_quat q_body_from_sensor;
    struct srv_fault_spec *faults; /* faults of the world file: owned, in the file's order */
    uint32_t fault_count;
    enum srv_labels labels;
    uint32_t fifo_samples; /* number of samples that are published together; below 2: each at once */
    const struct oto_value *place; /* place in the document, for messages; NULL in worlds without a file */
    /* estimators only: in the order of the plugin's table, then the open inputs; owned */
    struct srv_input_config *inputs;
    uint32_t input_count;
    struct srv_replacement replacement;
};

struct srv_vehicle_config {
    char name[SRV_NAME_BYTES];
    uint32_t motion;                 /* index into nodes */
    uint32_t participant;            /* 1 + number of the participant that gives its truth; 0: the motion node
                                      * computes it */
    uint32_t controller;             /* 1 + number of the participant that gives its controls; 0: none */
    uint32_t first_node, node_count; /* sensors and estimators, in order */
    struct srv_vibration vibration;  /* measured by its sensors; owned */
};

struct srv_publish_config {
    bool enabled;
    uint32_t listen_count;
    char listen[SRV_MAX_LISTEN][256]; /* URLs; "ipc" is pub.ipc in the runtime directory */
    int64_t coalesce_ns;
    bool packed;
    char only[512]; /* the topics that match these patterns (base/pattern.h); "": all */
    bool insecure; /* tcp:// beyond loopback is accepted */
};

#define SRV_PATH_BYTES 4096

/* PEM files of tls+tcp:// addresses; "" if not given. */
struct srv_tls_config {
    char cert[SRV_PATH_BYTES], key[SRV_PATH_BYTES];
    char client_ca[SRV_PATH_BYTES]; /* an authority that must have signed every client's certificate */
    char crl[SRV_PATH_BYTES];
};

enum srv_read_token { SRV_READ_TOKEN_AUTO = 0, SRV_READ_TOKEN_NONE };

/* The page in the browser. */
struct srv_web_config {
    bool enabled;
    char listen[72];    /* ADDRESS:PORT */
    int32_t read_token; /* enum srv_read_token */
    char origins[SRV_ORIGINS_MAX][SRV_ORIGIN_BYTES]; /* further origins whose pages may connect; "" after the last */
};

struct srv_role_rule {
    uint32_t uid, gid;    /* 0: not set */
    char certificate[96]; /* common name of a client's certificate, for remote control; one of the three is set */
    char nodes[OTO_TOPIC_BYTES]; /* patterns of the nodes for which the role holds (base/pattern.h); "": the whole world */
    int32_t role;         /* enum srv_role */
};

/* Roles of other users. The server's own user and root have all rights. */
struct srv_control_config {
    char listen[256]; /* tls+tcp://HOST:PORT for remote control; "": none */
    uint32_t rule_count, user_rule_count; /* all; those of users and groups, who reach the control socket */
    struct srv_role_rule rules[SRV_MAX_ROLE_RULES];
};

/* Periodic checkpoints. */
struct srv_checkpoint_config {
    int64_t every_ns; /* simulated period; 0: none */
    uint32_t keep;    /* number of newest files that are kept */
    char directory[4096];
};

struct srv_world_config {
    char name[OTO_WORLD_NAME_BYTES];
    uint64_t seed;
    double origin_latitude_rad, origin_longitude_rad, origin_altitude_m;
    int64_t date_days; /* since 1970-01-01 */
    struct srv_clock_config clock;
    struct srv_environment_config environment;
    char only[OTO_TOPIC_BYTES]; /* the vehicles whose names match this pattern (base/pattern.h) are loaded; "": all */
    uint32_t threads;  /* threads of the server that make ticks; 0: not given */
    uint32_t vehicle_count, node_count;
    struct srv_vehicle_config *vehicles;
    struct srv_node_config *nodes; /* includes motion nodes; the motion node of a vehicle precedes its others */
    uint32_t participant_count;
    struct srv_participant_config *participants; /* inputs are applied in this order */
    struct srv_publish_config publish;
    struct srv_web_config web;
    struct srv_checkpoint_config checkpoint;
    struct srv_control_config control;
    struct srv_tls_config tls;
    uint32_t ring_capacity;          /* least slots of a channel's ring, beside those of one second; 0: not given */
    int64_t history_ns;              /* time that a ring holds; 0: not given */
    srv_open_plugin_function *open_plugin; /* also for swaps and checkpoints; never NULL */
    struct oto_document *document;   /* owned */
};

/* One `--set PATH=VALUE` of the command line. It is applied to the document before binding. */
struct srv_override {
    const char *path;
    const char *value;
};

/* Where a world comes from, and what the shell that will run it can do. Borrowed during the call. */
struct srv_world_source {
    const char *path; /* a world file; NULL: `text` is it, and relative paths start at the working directory */
    const char *text;
    const struct srv_override *overrides;
    uint32_t override_count;
    srv_open_plugin_function *open_plugin; /* NULL: oto_plugin_open, and `isolation` has no effect */
    const struct srv_world_config *loaded; /* plugins of this world are used again, without reading their files; NULL: none */
    const struct oto_plugin_entry *given_motion; /* the motion of vehicles that a participant moves */
    oto_problem_function *report; /* gets up to OTO_MOST_PROBLEMS errors of the file; NULL: loading ends at the first */
    void *report_context;
};

/*
 * Reads, binds and checks a world. Every error is file:line:column and a sentence. Warnings (implausible values, topics
 * that begin one another) go to `warn`. Nothing is half-made: on failure *config is zeroed.
 */
enum oto_status srv_world_config_load(const struct srv_world_source *source, oto_warn_function warn, void *warn_context,
                                      struct srv_world_config *config, struct oto_error *error);
/*
 * Completes the vehicles of a world file that name one of its `defaults`, as the load does: for programs that read the
 * document themselves.
 */
enum oto_status srv_defaults_apply(struct oto_document *document, struct oto_error *error);
/* Sets another seed and everything in the configuration that depends on it. */
void srv_world_config_seed(struct srv_world_config *config, uint64_t seed);
void srv_world_config_finish(struct srv_world_config *config); /* NULL and zeroed are allowed */

/* Writes the JSON Schema of world files from the parser's tables. The text is malloc'ed. */
char *srv_world_config_schema(void);

#endif
