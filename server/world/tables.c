#include "world/raw.h"
#include "world/section.h"

#include "otolith/detmath.h"

/* clang-format off */
#define COUNT(table) (sizeof(table) / sizeof *(table))
#define KEYS(table) .keys = (table), .key_count = COUNT(table)
#define WORDS(table) .words = (table), .word_count = COUNT(table)
#define AT(member) .offset = (uint32_t)offsetof(struct srv_raw_world, member), \
                   .bytes = (uint32_t)sizeof(((struct srv_raw_world *)0)->member)
#define RANGE(low, high) .minimum = (low), .maximum = (high)

static const struct srv_key origin_keys[] = {
    {"latitude_deg", SRV_FORM_F64, AT(config.origin_latitude_rad), RANGE(-90, 90), .scale = OTO_PI / 180, .unit = "deg",
     .default_text = "45", .text = "geodetic latitude of the world's origin, WGS-84"},
    {"longitude_deg", SRV_FORM_F64, AT(config.origin_longitude_rad), RANGE(-180, 180), .scale = OTO_PI / 180,
     .unit = "deg", .default_text = "0", .text = "longitude of the world's origin"},
    {"altitude_m", SRV_FORM_F64, AT(config.origin_altitude_m), RANGE(-12000, 100000), .unit = "m", .default_text = "0",
     .text = "height of the origin over the WGS-84 ellipsoid"},
    {"date", SRV_FORM_DATE, AT(config.date_days), .default_text = "2026-07-01",
     .text = "day of the run, YYYY-MM-DD, for models that change over the years"},
};
static const struct srv_section origin = {"origin", "place and date of the world: the origin of the ENU axes", KEYS(origin_keys)};

static const struct srv_word modes[] = {
    {"realtime", OTO_MODE_REALTIME, NULL}, {"asap", OTO_MODE_ASAP, NULL}, {"step", OTO_MODE_STEP, NULL},
    {"lockstep", OTO_MODE_LOCKSTEP, NULL}, {"external", OTO_MODE_EXTERNAL, NULL},
};
static const struct srv_word drivers[] = {{"uv", SRV_DRIVER_UV, NULL}, {"hybrid", SRV_DRIVER_HYBRID, NULL}};
static const struct srv_word overruns[] = {
    {"slip", SRV_OVERRUN_SLIP, NULL}, {"catchup", SRV_OVERRUN_CATCHUP, NULL}, {"fault", SRV_OVERRUN_FAULT, NULL}};

static const struct srv_key overrun_keys[] = {
    {"policy", SRV_FORM_WORD, AT(config.clock.overrun), WORDS(overruns), .flags = SRV_KEY_REQUIRED,
     .text = "slip: move later deadlines; catchup: run late ticks back to back; fault: stop the run"},
    {"max_burst", SRV_FORM_U32, AT(config.clock.catchup_max_burst), RANGE(1, 1000000), .unit = "ticks",
     .default_text = "4", .text = "catchup: at most this many ticks back to back"},
    {"max_lag_ms", SRV_FORM_NS, AT(config.clock.catchup_max_lag_ns), RANGE(0, 60000), .scale = 1e6, .unit = "ms",
     .default_text = "20", .text = "catchup: lateness beyond this is given up"},
    {"max_overruns", SRV_FORM_U32, AT(config.clock.fault_max_overruns), RANGE(1, 1000000), .unit = "ticks",
     .default_text = "10", .text = "fault: this many consecutive late ticks stop the run"},
};
static const struct srv_section overrun = {"overrun", "policy for late ticks", KEYS(overrun_keys)};

static const struct srv_key clock_keys[] = {
    {"rate_hz", SRV_FORM_RATE, AT(config.clock.rate_num), RANGE(1e-6, 1e6), .unit = "Hz", .default_text = "1000",
     .text = "ticks per second: a number, or a fraction such as 60000/1001"},
    {"mode", SRV_FORM_WORD, AT(config.clock.mode), WORDS(modes), .default_text = "realtime",
     .text = "realtime: real time multiplied by scale; asap: as fast as possible; step: on command; lockstep: as fast as the participants; external: as the master grants"},
    {"scale", SRV_FORM_F64, AT(config.clock.scale), RANGE(0, 1e6), .flags = SRV_KEY_OPEN_MIN, .default_text = "1",
     .text = "realtime, and lockstep if paced: simulated seconds per second"},
    {"paced", SRV_FORM_BOOL, AT(config.clock.paced), .default_text = "false", .text = "lockstep: at most as fast as scale"},
    {"master", SRV_FORM_VALUE, AT(master), .text = "external: the participant whose grants drive the clock"},
    {"driver", SRV_FORM_WORD, AT(config.clock.driver), WORDS(drivers), .default_text = "uv",
     .text = "uv: a timer; hybrid: a timer, then spinning for the last 60 microseconds"},
    {"overrun", SRV_FORM_WORD, AT(config.clock.overrun), WORDS(overruns), .section = &overrun, .default_text = "slip",
     .text = "policy for late ticks; as a map, with its limits"},
    {"until_s", SRV_FORM_NS, AT(config.clock.until_ns), RANGE(0, 1e9), .scale = 1e9, .unit = "s", .default_text = "0",
     .text = "simulated time at which the run ends; 0: no end"},
    {"priority", SRV_FORM_I32, AT(config.clock.fifo_priority), RANGE(0, 99), .default_text = "70",
     .text = "requested SCHED_FIFO priority of the tick thread; 0: none"},
};
static const struct srv_section clock_section = {"clock", "how time passes", KEYS(clock_keys)};

static const struct srv_word gravities[] = {{"wgs84", SRV_GRAVITY_WGS84, NULL}};
static const struct srv_word fields[] = {
    {"wmm2025", SRV_FIELD_WMM2025, NULL},
    {"wmm2020", SRV_FIELD_WMM2020, NULL},
};
static const struct srv_word atmospheres[] = {{"constant", SRV_ATMOSPHERE_CONSTANT, NULL},
                                              {"isa", SRV_ATMOSPHERE_ISA, NULL}};
static const struct srv_key environment_keys[] = {
    {"gravity", SRV_FORM_VEC3, AT(config.environment.gravity_enu_m_s2), RANGE(-1000, 1000), WORDS(gravities),
     .word_offset = (uint32_t)offsetof(struct srv_raw_world, gravity), .unit = "m/s^2", .default_text = "wgs84",
     .text = "wgs84: normal gravity at the origin; or a vector [east, north, up]"},
    {"magnetic_field", SRV_FORM_VEC3, AT(config.environment.mag_field_enu_ut), RANGE(-1000, 1000), WORDS(fields),
     .word_offset = (uint32_t)offsetof(struct srv_raw_world, magnetic_field), .unit = "ut",
     .default_text = "[-2.4169, 27.5550, 16.0849]",
     .text = "wmm2025, wmm2020: World Magnetic Model at place and date; or a vector [east, north, up]"},
    {"atmosphere", SRV_FORM_WORD, AT(atmosphere), WORDS(atmospheres), .default_text = "constant",
     .text = "isa: air changes with altitude as in the standard atmosphere; values that are not given are those of the standard atmosphere"},
    {"earth_rate", SRV_FORM_BOOL, AT(config.environment.earth_rate), .default_text = "false",
     .text = "true: gyroscopes measure the rotation of the Earth, accelerometers the Coriolis acceleration"},
    {"temperature_degc", SRV_FORM_TABLE, AT(config.environment.temperature_along_time_degc), RANGE(-100, 200),
     .unit = "degC", .row_text = "time in s", .default_text = "25",
     .text = "temperature of air and parts at the origin: a number, or rows [time in s, temperature]"},
    {"pressure_pa", SRV_FORM_TABLE, AT(config.environment.pressure_along_time_pa), RANGE(0, 200000), .unit = "Pa",
     .row_text = "time in s", .default_text = "101325",
     .text = "air pressure at the origin: a number, or rows [time in s, pressure]"},
};
static const struct srv_section environment = {"environment", "environment of the vehicles", KEYS(environment_keys)};

static const struct srv_word formats[] = {{"map", 0, NULL}, {"packed", 1, NULL}, {"plotjuggler", 2, NULL}};
static const struct srv_key publish_keys[] = {
    {"listen", SRV_FORM_LISTEN, AT(config.publish), .default_text = "ipc",
     .text = "listen addresses for subscribers: ipc (pub.ipc in the runtime directory), ipc://PATH, tcp://HOST:PORT, tls+tcp://HOST:PORT; with the format plotjuggler addresses to send to: udp://HOST:PORT"},
    {"coalesce_ms", SRV_FORM_NS, AT(config.publish.coalesce_ns), RANGE(0, 1000), .scale = 1e6, .unit = "ms",
     .default_text = "5", .text = "time whose samples share a frame; 0: a frame for each tick"},
    {"format", SRV_FORM_WORD, AT(packed), WORDS(formats), .default_text = "map",
     .text = "map: msgpack with named fields; packed: raw records with a schema frame; plotjuggler: msgpack over UDP as PlotJuggler reads it"},
    {"only", SRV_FORM_PATTERNS, AT(config.publish.only),
     .text = "patterns of the topics that are published, such as car_00*/imu; default: all"},
    {"insecure", SRV_FORM_BOOL, AT(config.publish.insecure), .default_text = "false",
     .text = "accept tcp://HOST:PORT beyond this machine: everybody who reaches the port may read, and nothing is encrypted"},
};
static const struct srv_section publish = {"publish", "publishing over the network", KEYS(publish_keys)};

static const struct srv_key tls_keys[] = {
    {"cert", SRV_FORM_VALUE, AT(tls_cert), .flags = SRV_KEY_REQUIRED,
     .text = "PEM file with the certificate of the server, followed by those up to its authority; relative to this file"},
    {"key", SRV_FORM_VALUE, AT(tls_key), .flags = SRV_KEY_REQUIRED, .text = "PEM file with its key, which only the server's user may read"},
    {"client_ca", SRV_FORM_VALUE, AT(tls_client_ca),
     .text = "PEM file with the authorities of clients: every client needs a certificate; default: subscribers need none"},
    {"crl", SRV_FORM_VALUE, AT(tls_crl), .text = "PEM file with a revocation list of every authority in client_ca"},
};
static const struct srv_section tls = {"tls", "certificates of tls+tcp:// addresses; a changed file is read again", KEYS(tls_keys)};

static const struct srv_word read_tokens[] = {{"auto", SRV_READ_TOKEN_AUTO, NULL}, {"none", SRV_READ_TOKEN_NONE, NULL}};
static const struct srv_key web_keys[] = {
    {"listen", SRV_FORM_ADDRESS, AT(config.web.listen), .default_text = "127.0.0.1:8090",
     .text = "address and port of the page; if the port is taken, one of the next 15 is used; port 0: any port"},
    {"read_token", SRV_FORM_WORD, AT(config.web.read_token), WORDS(read_tokens), .default_text = "auto",
     .text = "auto: reading needs the token of the printed link; none: everybody who reaches the port may read, on loopback only"},
    {"origins", SRV_FORM_ORIGINS, AT(config.web.origins),
     .text = "origins of other pages that may connect, such as [https://app.foxglove.dev], and of reverse proxies before this one, whose Host is accepted"},
};
static const struct srv_section web = {"web", "the page in the browser", KEYS(web_keys)};

static const struct srv_key checkpoint_keys[] = {
    {"every_s", SRV_FORM_NS, AT(config.checkpoint.every_ns), RANGE(0.1, 1e7), .scale = 1e9, .unit = "s",
     .flags = SRV_KEY_REQUIRED, .text = "simulated time between two checkpoints"},
    {"keep", SRV_FORM_U32, AT(config.checkpoint.keep), RANGE(1, 1000), .default_text = "3",
     .text = "number of newest checkpoints that are kept"},
    {"directory", SRV_FORM_VALUE, AT(checkpoint_directory),
     .text = "directory, relative to this file; default: checkpoints"},
};
static const struct srv_section checkpoint = {"checkpoint", "periodic checkpoints of the world's state",
                                              KEYS(checkpoint_keys)};

static const struct srv_word roles[] = {
    {"observe", SRV_ROLE_OBSERVE, NULL}, {"operate", SRV_ROLE_OPERATE, NULL}, {"admin", SRV_ROLE_ADMIN, NULL}};
#define IN_RULE(member) .offset = (uint32_t)offsetof(struct srv_role_rule, member), .bytes = sizeof(uint32_t)
static const struct srv_key role_keys[] = {
    {"uid", SRV_FORM_U32, IN_RULE(uid), RANGE(1, 4294967294.0), .text = "number of a user"},
    {"gid", SRV_FORM_U32, IN_RULE(gid), RANGE(1, 4294967294.0), .text = "number of a group, of which the user may be a member"},
    {"certificate", SRV_FORM_TOPIC, .offset = (uint32_t)offsetof(struct srv_role_rule, certificate),
     .bytes = sizeof((struct srv_role_rule *)0)->certificate, .text = "common name of the certificate of a client of remote control"},
    {"nodes", SRV_FORM_PATTERNS, .offset = (uint32_t)offsetof(struct srv_role_rule, nodes), .bytes = sizeof((struct srv_role_rule *)0)->nodes,
     .text = "patterns of the nodes for which the role holds, such as car_00*/imu, with observe for the rest; default: the whole world"},
    {"role", SRV_FORM_WORD, IN_RULE(role), WORDS(roles), .flags = SRV_KEY_REQUIRED,
     .text = "observe: read; operate: also the clock, parameters, faults; admin: also swap, restore, checkpoint, shutdown"},
};
const struct srv_section srv_section_role = {"role", "role of another user or of a remote client", KEYS(role_keys)};

static const struct srv_key control_keys[] = {
    {"roles", SRV_FORM_LIST, AT(roles), .section = &srv_section_role,
     .text = "other users, groups and certificates with a role; default: only the server's own user and root"},
    {"listen", SRV_FORM_VALUE, AT(control_listen),
     .text = "tls+tcp://HOST:PORT for control from other machines by clients whose certificate has a role; default: none"},
};
static const struct srv_section control = {"control", "users that may control the world", KEYS(control_keys)};

static const struct srv_key world_keys[] = {
    {"world", SRV_FORM_NAME, AT(config.name), .flags = SRV_KEY_REQUIRED,
     .text = "name of the world, its topics, runtime directory and segment"},
    {"seed", SRV_FORM_U64, AT(config.seed), .default_text = "1",
     .text = "seed of all noise: the same seed gives the same samples, 0 to 18446744073709551615"},
    {"origin", SRV_FORM_SECTION, .section = &origin, .text = "place and date of the world"},
    {"clock", SRV_FORM_SECTION, .section = &clock_section, .text = "how time passes"},
    {"environment", SRV_FORM_SECTION, .section = &environment, .text = "environment of the vehicles"},
    {"defaults", SRV_FORM_NAMED, AT(defaults), .section = &srv_section_vehicle,
     .text = "what vehicles share: a map of names to the keys of a vehicle, which a vehicle with `defaults: NAME` completes or replaces"},
    {"vehicles", SRV_FORM_LIST, AT(vehicles), .flags = SRV_KEY_REQUIRED, .section = &srv_section_vehicle,
     .text = "vehicles with their motions, sensors and estimators"},
    {"only", SRV_FORM_TOPIC, AT(config.only),
     .text = "pattern of the vehicles that are simulated, such as car_0[0-4]*; they have the samples that they have in the whole world"},
    {"threads", SRV_FORM_U32, AT(config.threads), RANGE(1, 64),
     .text = "threads of the server that share the vehicles; samples do not depend on it; default: 1, or all processors in mode asap with 200 vehicles or more"},
    {"publish", SRV_FORM_BOOL, AT(config.publish.enabled), .section = &publish, .default_text = "true",
     .text = "publishing over the network; false: none"},
    {"web", SRV_FORM_BOOL, AT(config.web.enabled), .section = &web, .default_text = "false",
     .text = "a page in the browser with live plots, on loopback unless `listen` says otherwise; control needs a second token"},
    {"checkpoint", SRV_FORM_SECTION, .section = &checkpoint, .text = "periodic checkpoints of the world's state"},
    {"control", SRV_FORM_SECTION, .section = &control, .text = "users that may control the world"},
    {"tls", SRV_FORM_SECTION, .section = &tls, .text = "certificates of tls+tcp:// addresses"},
    {"history_s", SRV_FORM_NS, AT(config.history_ns), RANGE(0.001, 10000), .scale = 1e9, .unit = "s",
     .text = "time that is kept of each channel in shared memory; default: 1 s, less where the rings of all vehicles would take more than 64 MiB and 40 KiB a vehicle; estimators' inputs: at least 1 s"},
    {"ring_capacity", SRV_FORM_U32, AT(config.ring_capacity), RANGE(2, 1048576), .unit = "samples",
     .text = "at least one second and this many samples of each channel are kept; default: 1024 in a world below 64 MiB"},
    {"recorder", SRV_FORM_LATER, .text = "record with `otolith run --csv` or from a client"},
    {"participants", SRV_FORM_LIST, AT(participants), .section = &srv_section_participant,
     .text = "other processes that give truth to vehicles, or run in step with the ticks"},
};
const struct srv_section srv_section_world = {"the world", "an otolith world", KEYS(world_keys)};
