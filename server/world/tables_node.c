#include "world/copies.h"
#include "world/section.h"

/* clang-format off */
#define COUNT(table) (sizeof(table) / sizeof *(table))
#define KEYS(table) .keys = (table), .key_count = COUNT(table)
#define AT(type, member) .offset = (uint32_t)offsetof(struct type, member), \
                         .bytes = (uint32_t)sizeof(((struct type *)0)->member)
#define PLUGIN_KEYS(flags_) \
    {"plugin", SRV_FORM_VALUE, AT(srv_raw_node, plugin), .flags = (flags_), \
     .text = "name of a plugin, or the path of its .so"}, \
    {"params", SRV_FORM_MAP, AT(srv_raw_node, params), .flags = SRV_KEY_MAY_BE_NULL, \
     .text = "the plugin's parameters, nested or with dotted keys: see its README"}, \
    {"params_file", SRV_FORM_VALUE, AT(srv_raw_node, params_file), \
     .text = "a YAML or JSON file of parameters, relative to this file; `params` replace its values"}, \
    {"watch", SRV_FORM_BOOL, AT(srv_raw_node, watch), .default_text = "false", \
     .text = "automatic swap when the plugin's file is replaced"}

static const struct srv_key mount_keys[] = {
    {"position_m", SRV_FORM_VEC3, AT(srv_raw_node, position_m), .minimum = -1000, .maximum = 1000, .unit = "m",
     .default_text = "[0, 0, 0]", .text = "position of the sensor in body axes: x forward, y left, z up"},
    {"rpy_deg", SRV_FORM_VEC3, AT(srv_raw_node, rpy_deg), .minimum = -360, .maximum = 360, .unit = "deg",
     .default_text = "[0, 0, 0]", .text = "fixed-axis roll, pitch, yaw that rotate sensor vectors to body axes"},
};
static const struct srv_section mount = {"mount", "mount of the sensor on the body", KEYS(mount_keys)};

static const struct srv_word isolations[] = {{"none", 0, NULL}, {"process", 1, NULL}};
static const struct srv_word isolation_modes[] = {{"sync", 0, NULL}, {"async", 1, NULL}};
static const struct srv_key isolation_keys[] = {
    {"process", SRV_FORM_NAME, AT(srv_raw_node, isolation_group), .flags = SRV_KEY_REQUIRED,
     .text = "name of the plugin host: nodes of one kind with the same name share a process"},
    {"mode", SRV_FORM_WORD, AT(srv_raw_node, isolation_async), .words = isolation_modes,
     .word_count = COUNT(isolation_modes), .default_text = "sync",
     .text = "sync: a tick waits for the samples; async: the samples of a tick are published in the next one, not of motions"},
    {"budget_us", SRV_FORM_NS, AT(srv_raw_node, isolation_budget_ns), .minimum = 10, .maximum = 400000, .scale = 1e3,
     .unit = "us", .default_text = "20000",
     .text = "how long a paced tick waits; then the last samples or truth are repeated, flagged stale"},
};
static const struct srv_section isolation = {"isolation", "process in which the node's plugin runs", KEYS(isolation_keys)};
#define ISOLATION_KEY \
    {"isolation", SRV_FORM_WORD, AT(srv_raw_node, isolation), .words = isolations, .word_count = COUNT(isolations), \
     .section = &isolation, .default_text = "none", \
     .text = "process: the plugin runs in a plugin host; as a map, nodes can share one. Default: in the server's process"}

static const struct srv_key motion_keys[] = {
    PLUGIN_KEYS(0),
    ISOLATION_KEY,
    {"participant", SRV_FORM_VALUE, AT(srv_raw_node, participant),
     .text = "instead of a plugin: the participant that gives the truth; `params` are then the initial pose of the vehicle"},
    {"controls", SRV_FORM_VALUE, AT(srv_raw_node, controls),
     .text = "the participant that gives the vehicle's controls, for a plugin that takes some"},
};
const struct srv_section srv_section_motion = {"motion", "motion of the vehicle", KEYS(motion_keys)};

static const struct srv_key node_keys[] = {
    {"name", SRV_FORM_NAME, AT(srv_raw_node, name), .flags = SRV_KEY_REQUIRED,
     .text = "name of the node: its topic is world/vehicle/name"},
    PLUGIN_KEYS(SRV_KEY_REQUIRED | SRV_KEY_OF_DEFAULTS),
    {"rate_hz", SRV_FORM_RATE, AT(srv_raw_node, rate_num), .minimum = 1e-6, .maximum = 1e6, .unit = "Hz",
     .text = "samples per second, at most the clock's rate; default: the parameters' rate, else the clock's"},
    {"mount", SRV_FORM_SECTION, .section = &mount, .text = "mount of the sensor on the body"},
    {"topic", SRV_FORM_TOPIC, AT(srv_raw_node, topic), .text = "another name for the first channel's topic"},
    {"frame_id", SRV_FORM_TOPIC, AT(srv_raw_node, frame_id), .text = "frame_id of the messages; default: vehicle/name"},
    {"inputs", SRV_FORM_MAP, AT(srv_raw_node, inputs),
     .text = "of an estimator: a channel for each of its inputs, as imu, car/imu, imu.delta or an alias"},
    {"part", SRV_FORM_VALUE, AT(srv_raw_node, part),
     .text = "a real sensor, vendor/part of configs/parts or a file; params_file and params replace its values"},
    {"mode", SRV_FORM_VALUE, AT(srv_raw_node, mode), .text = "operating mode of the part; default: that of the part"},
    {"unit", SRV_FORM_U32, AT(srv_raw_node, unit), .maximum = 4294967295.0, .default_text = "0",
     .text = "serial number: the same unit has the same offsets and scale errors in every world"},
    {"fifo_samples", SRV_FORM_U32, AT(srv_raw_node, fifo_samples), .minimum = 1, .maximum = 256, .unit = "samples",
     .default_text = "1", .text = "number of samples that are published together, as from a part's FIFO; each keeps its own time"},
    ISOLATION_KEY,
    {"faults", SRV_FORM_LIST, AT(srv_raw_node, faults), .section = &srv_section_fault,
     .text = "faults of the node's samples, with their times; `otolith fault` adds others while the world runs"},
    {"labels", SRV_FORM_BOOL, AT(srv_raw_node, labels),
     .text = "reserves the channel NODE.label, the truth of injected faults; default: true with faults or at most 64 nodes"},
};
const struct srv_section srv_section_node = {"a node", "a sensor or estimator of the vehicle", KEYS(node_keys)};

static const struct srv_word roles[] = {
    {"physics", OTO_ROLE_PHYSICS, NULL}, {"controller", OTO_ROLE_CONTROLLER, NULL}, {"master", OTO_ROLE_MASTER, NULL}};
static const struct srv_word policies[] = {{"wait", OTO_TIMEOUT_WAIT, NULL}, {"hold", OTO_TIMEOUT_HOLD, NULL},
                                           {"drop", OTO_TIMEOUT_DROP, NULL}, {"fault", OTO_TIMEOUT_FAULT, NULL}};
static const struct srv_key participant_keys[] = {
    {"name", SRV_FORM_NAME, AT(srv_participant_config, name), .flags = SRV_KEY_REQUIRED,
     .text = "name with which a process joins"},
    {"role", SRV_FORM_WORD, AT(srv_participant_config, role), .words = roles, .word_count = COUNT(roles),
     .text = "physics: owns vehicles; controller: the ticks wait for it; master: its grants drive mode external; default: physics if a motion names it, else controller"},
    {"timeout_ms", SRV_FORM_NS, AT(srv_participant_config, timeout_ns), .maximum = 600000, .scale = 1e6, .unit = "ms",
     .default_text = "1000", .text = "real time that a tick waits for its answer before on_timeout"},
    {"on_timeout", SRV_FORM_WORD, AT(srv_participant_config, on_timeout), .words = policies,
     .word_count = COUNT(policies), .default_text = "wait",
     .text = "wait: go on waiting, up to wait_limit_s; hold: its vehicles keep their last truth, flagged stale, until it "
             "answers; drop: hold, and it must join again; fault: the run stops"},
    {"wait_limit_s", SRV_FORM_NS, AT(srv_participant_config, wait_limit_ns), .flags = SRV_KEY_OPEN_MIN,
     .maximum = 86400, .scale = 1e9, .unit = "s", .default_text = "60",
     .text = "policy wait: after this time without an answer the run stops"},
    {"max_step_n", SRV_FORM_U32, AT(srv_participant_config, max_step_n), .minimum = 1,
     .maximum = OTO_MAILBOX_MAX_STEP_N, .unit = "ticks", .default_text = "1000",
     .text = "maximum number of ticks of one answer; the truth between its ends is interpolated"},
};
const struct srv_section srv_section_participant = {"a participant", "another process that takes part in the ticks",
                                                    KEYS(participant_keys)};

static const struct srv_key spread_keys[] = {
    {"first", SRV_FORM_F64, AT(srv_spread_rule, first), .scale = 1, .default_text = "0", .text = "value of vehicle 0"},
    {"step", SRV_FORM_F64, AT(srv_spread_rule, step), .scale = 1, .default_text = "0", .text = "difference from one to the next"},
    {"every", SRV_FORM_U32, AT(srv_spread_rule, every), .minimum = 1, .maximum = SRV_MAX_VEHICLES, .default_text = "1",
     .text = "number of vehicles in a row that have the same value"},
    {"wrap", SRV_FORM_U32, AT(srv_spread_rule, wrap), .maximum = SRV_MAX_VEHICLES, .default_text = "0",
     .text = "number of different values, then the first again; 0: no limit"},
};
const struct srv_section srv_section_spread = {"a rule of spread", "a number for each vehicle: first + step * (i / every mod wrap)",
                                               KEYS(spread_keys)};

static const struct srv_key vehicle_keys[] = {
    {"name", SRV_FORM_NAME, AT(srv_raw_vehicle, name), .flags = SRV_KEY_REQUIRED,
     .text = "name of the vehicle in topics; with count: NAME_0000, NAME_0001, ..."},
    {"defaults", SRV_FORM_VALUE, AT(srv_raw_vehicle, defaults),
     .text = "name of the entry of `defaults` that gives every key that is missing here; nodes are completed by their names; null removes a key"},
    {"count", SRV_FORM_U32, AT(srv_raw_vehicle, count), .minimum = 1, .maximum = SRV_MAX_VEHICLES,
     .text = "number of such vehicles; in texts below motion, nodes and vibration {i} is the index, from 0"},
    {"spread", SRV_FORM_SPREAD, AT(srv_raw_vehicle, spread), .section = &srv_section_spread,
     .text = "numbers that differ: a path such as motion.params.position_enu_m or nodes.imu.unit, and its rule"},
    {"motion", SRV_FORM_MAP, AT(srv_raw_vehicle, motion), .flags = SRV_KEY_REQUIRED | SRV_KEY_OF_DEFAULTS, .section = &srv_section_motion,
     .text = "motion of the vehicle; its channel is the truth, world/vehicle/motion"},
    {"nodes", SRV_FORM_LIST, AT(srv_raw_vehicle, nodes), .section = &srv_section_node,
     .text = "sensors and estimators, stepped in this order"},
    {"vibration", SRV_FORM_LIST, AT(srv_raw_vehicle, vibration), .section = &srv_section_vibration,
     .text = "vibration of the body, as a sum of sources"},
};
const struct srv_section srv_section_vehicle = {"a vehicle", "a body that moves, with its sensors and estimators", KEYS(vehicle_keys)};
