/* Worlds made in memory, run, and waited for with a deadline. Failures end the test. */
#ifndef WORLD_FIXTURE_H
#define WORLD_FIXTURE_H

#include "oto_test.h"

#include "daemon/thread/engine.h"
#include "isolate/isolation.h"

#define FIXTURE_NODES 16
#ifndef FIXTURE_ISOLATED
#define FIXTURE_ISOLATED 0 /* 1: each sensor and estimator runs in a plugin host of its own */
#endif
#define FIXTURE_KEPT 16
#define FIXTURE_PATIENCE_NS INT64_C(300000000000)

struct fixture {
    struct srv_world_config config;
    struct srv_vehicle_config vehicles[4];
    struct srv_node_config nodes[FIXTURE_NODES];
    struct srv_engine_options options;
    struct srv_engine *engine;
    char privileges[256];
    uint64_t next_id;
    struct srv_reply kept[FIXTURE_KEPT]; /* that came before they were waited for */
    uint32_t kept_count;
};

/* What witness.c publishes. */
struct witness_record {
    oto_vec3 specific_force_m_s2, angular_rate_rad_s, mag_field_ut;
    oto_vec3 position_enu_m, velocity_enu_m_s;
    oto_vec3 past_position_enu_m;
    double past_status, sub_ns, walk, gain, second_gain;
    uint64_t n, tick;
};

/* What tests/support/plugins/trouble.c publishes. */
struct counter_record {
    double value;
    uint64_t n;
};

/* rate_num/1 Hz, realtime, slip, no real-time rights asked for, starts paused. */
void fixture_begin(struct fixture *fixture, uint64_t rate_num, uint64_t rate_den);
/* A vehicle with its motion node; sensors added next belong to it. */
void fixture_vehicle(struct fixture *fixture, const char *name, const char *motion);
struct srv_node_config *fixture_sensor(struct fixture *fixture, const char *name, const char *plugin, uint64_t rate_num,
                                       uint64_t rate_den);
/* Binds an input of the estimator that was added last to a channel of the world: node by its index. */
void fixture_input(struct fixture *fixture, const char *name, uint32_t node, uint32_t port);
/* Sets a parameter before the start. */
void fixture_set(struct srv_node_config *node, const char *key, const char *yaml);
/* Path of a plugin built for tests. */
const char *fixture_plugin(char *path, size_t bytes, const char *name);

void fixture_create(struct fixture *fixture);
void fixture_start(struct fixture *fixture); /* creates too if that was not done */
void fixture_end(struct fixture *fixture);   /* destroys engine and configuration */
/* The world is refused with these words; ends the fixture. */
void fixture_expect_refusal(struct fixture *fixture, const char *words);

/* Posts a command and waits for its reply; or one after the other. */
uint64_t fixture_post(struct fixture *fixture, struct srv_command command);
struct srv_reply fixture_await(struct fixture *fixture, uint64_t id);
struct srv_reply fixture_command(struct fixture *fixture, struct srv_command command);
struct srv_reply fixture_do(struct fixture *fixture, enum srv_command_kind kind);
void fixture_step(struct fixture *fixture, uint64_t ticks);
void fixture_wait_state(struct fixture *fixture, enum oto_server_state state);
void fixture_wait_counter(struct fixture *fixture, enum oto_counter counter, uint64_t value);
void fixture_wait_tick(struct fixture *fixture, uint64_t tick);
/* Changes a parameter, or swaps; fails unless the reply has the status. */
struct srv_reply fixture_change(struct fixture *fixture, uint32_t node, const char *key, const char *yaml);
struct srv_reply fixture_swap(struct fixture *fixture, uint32_t node, const char *plugin);

/* A swap as wished, ready to be posted; the plugin is one built for tests. Fails unless it came so far. */
struct srv_node_change *fixture_make_swap(struct fixture *fixture, uint32_t node, const char *plugin,
                                          struct srv_swap_options options);
/* Posts it; fails unless it is live at once. Then waits for the end of its probation, and frees it. */
struct srv_reply fixture_flip(struct fixture *fixture, struct srv_node_change *change);
struct srv_reply fixture_settle(struct fixture *fixture, struct srv_node_change *change, uint64_t ticks);
/* A file of parameters in a folder of the test's own; the text is a line of YAML or several. */
const char *fixture_params(char *path, size_t bytes, const char *yaml);

struct oto_clock fixture_clock(struct fixture *fixture);
uint64_t fixture_counter(struct fixture *fixture, enum oto_counter counter);
struct oto_ring_view fixture_ring(struct fixture *fixture, uint32_t channel);
uint32_t fixture_channel(struct fixture *fixture, const char *topic);
/* The newest record, and any by its seq. */
struct oto_sample_head fixture_latest(struct fixture *fixture, const char *topic, void *payload);
struct oto_sample_head fixture_record(struct fixture *fixture, const char *topic, uint64_t seq, void *payload);
/* Whether an event of the kind was written whose text holds the words ("" for any); the newest goes to *event. */
bool fixture_event(struct fixture *fixture, enum oto_event_kind kind, const char *words,
                   struct oto_event_record *event);
/* The plugin host of that name; fails where there is none. */
struct srv_group_facts fixture_host(struct fixture *fixture, const char *name);
/* Waits until a host runs there that is not `pid` (0: until any runs), and returns its pid: after a change it is known a moment later. */
int32_t fixture_other_host(struct fixture *fixture, const char *name, int32_t pid);
int64_t fixture_now_ns(void);

#endif
