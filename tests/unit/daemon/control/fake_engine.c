#include "fake_engine.h"

#include "sim/fault.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/segment/segment.h"

static const struct oto_param fake_params[] = {
    {.key = "gain", .type = OTO_PARAM_F64, .count = 1, .unit = "1", .text = "a number", .flags = OTO_PARAM_RUNTIME},
    {.key = "label", .type = OTO_PARAM_TEXT, .count = 32, .unit = "", .text = "a text"},
};
static const struct oto_plugin_descriptor fake_descriptor = {
    .size = sizeof fake_descriptor, .id = "fake", .params = fake_params, .param_count = 2, .params_bytes = 40};

struct srv_engine {
    struct srv_segment segment;
    struct fake_facts facts;
    struct srv_command queue[FAKE_QUEUE];
    struct srv_reply replies[FAKE_QUEUE];
    uint32_t queued, replied;
    int notify_fd;
    bool automatic;
    uint64_t tick;
    struct srv_node_config node;
    struct oto_setup setups[FAKE_NODES];
    struct oto_params params;
};

struct srv_engine *fake_engine_create(void)
{
    struct srv_engine *engine = calloc(1, sizeof *engine);
    struct srv_channel_spec channel = {.topic = "demo/car/imu",
                                       .node = "demo/car/imu",
                                       .plugin = "fake",
                                       .plugin_version = "1.0.0",
                                       .frame_id = "car/imu",
                                       .type = &oto_imu_type,
                                       .rate_num = 100,
                                       .rate_den = 1,
                                       .capacity = 64};
    const struct srv_segment_plan plan = {
        .world = "demo", .rate_num = 1000, .rate_den = 1, .channels = &channel, .channel_count = 1};
    struct oto_error error;
    if (srv_segment_create(&plan, &(struct srv_segment_identity){.epoch = 42}, &engine->segment, &error) != OTO_OK) {
        free(engine);
        return NULL;
    }
    engine->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    engine->automatic = true;
    (void)snprintf(engine->node.name, sizeof engine->node.name, "imu");
    (void)snprintf(engine->setups[0].node, sizeof engine->setups[0].node, "car/imu");
    for (uint32_t i = 1; i < FAKE_NODES; i++) {
        (void)snprintf(engine->setups[i].node, sizeof engine->setups[i].node, "car_%04u/imu", i);
    }
    __atomic_store_n(&engine->segment.header->state, OTO_SERVER_RUNNING, __ATOMIC_RELEASE);
    return engine;
}

void fake_engine_destroy(struct srv_engine *engine)
{
    srv_segment_finish(&engine->segment);
    (void)close(engine->notify_fd);
    free(engine);
}

struct fake_facts *fake_engine_facts(struct srv_engine *engine)
{
    return &engine->facts;
}

void fake_engine_set_automatic(struct srv_engine *engine, bool on)
{
    engine->automatic = on;
}

static void apply(struct srv_engine *engine, const struct srv_command *command)
{
    engine->tick++;
    engine->facts.applied++;
    engine->facts.pauses += command->kind == SRV_COMMAND_PAUSE;
    if (command->kind == SRV_COMMAND_EVENT) {
        engine->facts.events++;
        engine->facts.last_event = command->event;
    }
    engine->replies[engine->replied++] = (struct srv_reply){
        .id = command->id, .kind = command->kind, .tick = engine->tick, .change = command->change};
    (void)eventfd_write(engine->notify_fd, 1);
}

void fake_engine_apply(struct srv_engine *engine)
{
    uint32_t done = 0;
    while (done < engine->queued && engine->replied < FAKE_QUEUE) {
        apply(engine, &engine->queue[done++]);
    }
    engine->queued -= done;
    memmove(engine->queue, engine->queue + done, engine->queued * sizeof *engine->queue);
}

void fake_engine_push_sample(struct srv_engine *engine)
{
    struct oto_ring *ring = (void *)((unsigned char *)engine->segment.header + engine->segment.directory->ring_offset);
    (void)__atomic_add_fetch(&ring->head, 1, __ATOMIC_RELEASE);
}

/* ---- the contract ------------------------------------------------------------------------------------------------ */

int srv_engine_segment_fd(const struct srv_engine *engine)
{
    return engine->segment.fd;
}

const struct oto_segment_header *srv_engine_segment(const struct srv_engine *engine)
{
    return engine->segment.header;
}

int srv_engine_notify_fd(const struct srv_engine *engine)
{
    return engine->notify_fd;
}

bool srv_engine_post(struct srv_engine *engine, const struct srv_command *command)
{
    if (engine->queued == FAKE_QUEUE || (engine->automatic && engine->replied == FAKE_QUEUE)) {
        return false;
    }
    if (engine->automatic) {
        apply(engine, command);
    } else {
        engine->queue[engine->queued++] = *command;
    }
    return true;
}

bool srv_engine_take_reply(struct srv_engine *engine, struct srv_reply *reply)
{
    if (engine->replied == 0) {
        eventfd_t count;
        (void)eventfd_read(engine->notify_fd, &count);
        return false;
    }
    *reply = engine->replies[0];
    engine->replied--;
    memmove(engine->replies, engine->replies + 1, engine->replied * sizeof *engine->replies);
    return true;
}

uint32_t srv_engine_node_count(const struct srv_engine *engine)
{
    (void)engine;
    return FAKE_NODES;
}

const struct srv_node_config *srv_engine_node_config(const struct srv_engine *engine, uint32_t node)
{
    (void)node;
    return &engine->node;
}

uint32_t srv_engine_node_find(const struct srv_engine *engine, const char *name, struct oto_error *error)
{
    (void)engine;
    if (strcmp(name, "car/imu") == 0) {
        return 0;
    }
    (void)oto_fail(error, OTO_NOT_FOUND, "there is no node '%s'", name);
    return UINT32_MAX;
}

struct oto_plugin *srv_engine_node_plugin(const struct srv_engine *engine, uint32_t node)
{
    (void)engine;
    (void)node;
    return NULL;
}

const char *srv_engine_node_plugin_path(const struct srv_engine *engine, uint32_t node)
{
    (void)engine;
    (void)node;
    return "";
}

const struct oto_params *srv_engine_node_params(const struct srv_engine *engine, uint32_t node)
{
    (void)node;
    return &engine->params;
}

const struct oto_setup *srv_engine_node_setup(const struct srv_engine *engine, uint32_t node)
{
    return &engine->setups[node];
}

struct fake_change {
    struct srv_node_change open; /* first */
    struct fake_facts *facts;
};

/* The fake engine is its own simulator. */
struct srv_sim *srv_engine_sim(struct srv_engine *engine)
{
    return (struct srv_sim *)(void *)engine;
}

/* [worker] Fails for the key "bad", and for "odd" from node 7 on; counts how many are at work at once. */
enum oto_status srv_sim_change_parameter(const struct srv_sim *sim, uint32_t node, const char *key, const char *yaml,
                                         struct srv_node_change **change, struct oto_error *error)
{
    struct fake_facts *facts = &((struct srv_engine *)(uintptr_t)sim)->facts;
    (void)yaml;
    const uint32_t now = __atomic_add_fetch(&facts->loads_at_once, 1, __ATOMIC_ACQ_REL);
    if (now > facts->loads_at_once_max) {
        facts->loads_at_once_max = now;
    }
    (void)__atomic_sub_fetch(&facts->loads_at_once, 1, __ATOMIC_ACQ_REL);
    if (strcmp(key, "bad") == 0 || (strcmp(key, "odd") == 0 && node >= 7)) {
        return oto_fail(error, OTO_NOT_FOUND, "there is no parameter 'bad'; did you mean 'gain'?");
    }
    struct fake_change *made = calloc(1, sizeof *made);
    made->open.node = node;
    made->facts = facts;
    (void)__atomic_add_fetch(&facts->changes_alive, 1, __ATOMIC_ACQ_REL);
    *change = &made->open;
    return OTO_OK;
}

enum oto_status srv_sim_swap_load(const struct srv_sim *sim, uint32_t node, const struct srv_swap_options *options,
                                  struct srv_node_change **change, struct oto_error *error)
{
    return srv_sim_change_parameter(sim, node, options->plugin, "", change, error);
}

bool srv_swap_wants_snapshot(const struct srv_node_change *change)
{
    (void)change;
    return true;
}

enum oto_status srv_sim_swap_ready(const struct srv_sim *sim, struct srv_node_change *change, struct oto_error *error)
{
    (void)sim;
    (void)change;
    (void)error;
    return OTO_OK;
}

void srv_swap_describe(const struct srv_node_change *change, char *text, size_t bytes)
{
    (void)change;
    (void)snprintf(text, bytes, "swapped");
}

void srv_swap_describe_end(const struct srv_node_change *change, char *text, size_t bytes)
{
    (void)change;
    (void)snprintf(text, bytes, "kept");
}

void srv_swap_describe_shadow(const struct srv_node_change *change, char *text, size_t bytes)
{
    (void)change;
    (void)bytes;
    text[0] = '\0';
}

void srv_swap_previous(const struct srv_node_change *change, struct srv_previous *previous)
{
    (void)change;
    memset(previous, 0, sizeof *previous);
}

void srv_previous_of_file(const struct srv_engine *engine, uint32_t node, struct srv_previous *previous)
{
    (void)engine;
    (void)node;
    memset(previous, 0, sizeof *previous);
}

void srv_previous_copy(const struct srv_previous *from, struct srv_previous *to)
{
    *to = *from;
}

void srv_previous_finish(struct srv_previous *previous)
{
    memset(previous, 0, sizeof *previous);
}

bool srv_change_free(struct srv_node_change *change)
{
    if (change != NULL) {
        struct fake_change *made = (struct fake_change *)(void *)change;
        (void)__atomic_sub_fetch(&made->facts->changes_alive, 1, __ATOMIC_ACQ_REL);
        free(made);
    }
    return true;
}

void srv_engine_set_waiters(struct srv_engine *engine, uint32_t waiters)
{
    engine->facts.waiters = waiters;
}

int srv_engine_lossless_begin(struct srv_engine *engine, const uint32_t *channels, uint32_t count)
{
    (void)channels;
    (void)count;
    return engine->facts.lossless_open < 2 ? (int)engine->facts.lossless_open++ : -1;
}

bool srv_engine_lossless_extend(struct srv_engine *engine, int slot, const uint32_t *channels, uint32_t count)
{
    (void)engine;
    (void)slot;
    (void)channels;
    return count > 0;
}

void srv_engine_lossless_acknowledge(struct srv_engine *engine, int slot, uint32_t first, const uint64_t *next, uint32_t count)
{
    (void)slot;
    (void)first;
    engine->facts.acknowledged = count > 0 ? next[0] : 0;
}

void srv_engine_lossless_end(struct srv_engine *engine, int slot)
{
    (void)slot;
    engine->facts.lossless_open--;
}

void srv_engine_count(struct srv_engine *engine, enum oto_counter counter, int64_t delta)
{
    engine->facts.counters[counter] += delta;
}

/* ---- of the plugin host: one plugin without a library ------------------------------------------------------------- */

const struct oto_plugin_descriptor *oto_plugin_descriptor(const struct oto_plugin *plugin)
{
    (void)plugin;
    return &fake_descriptor;
}

const struct oto_param *oto_param_find(const struct oto_plugin_descriptor *descriptor, const char *key)
{
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        if (strcmp(descriptor->params[i].key, key) == 0) {
            return &descriptor->params[i];
        }
    }
    return NULL;
}

enum oto_status oto_params_get(const struct oto_plugin_descriptor *descriptor, const char *key,
                               const struct oto_params *params, char *text, size_t text_bytes, struct oto_error *error)
{
    (void)params;
    if (oto_param_find(descriptor, key) == NULL) {
        return oto_fail(error, OTO_NOT_FOUND, "there is no parameter '%s'", key);
    }
    memset(text, '1', text_bytes - 1); /* long, so that answers are large */
    text[text_bytes - 1] = 0;
    return OTO_OK;
}

struct srv_fault *srv_engine_fault_make(struct srv_engine *engine, uint32_t node, const struct srv_fault_spec *spec)
{
    return srv_fault_make(spec, node, oto_plugin_descriptor(engine->node.plugin), 1000.0);
}

/* ---- participants: there are none ---- */

uint32_t srv_engine_participant_find(const struct srv_engine *engine, const char *name, struct oto_error *error)
{
    (void)engine;
    (void)oto_fail(error, OTO_NOT_FOUND, "there is no participant '%s'", name);
    return UINT32_MAX;
}

const struct srv_participant_config *srv_engine_participant_config(const struct srv_engine *engine,
                                                                   uint32_t participant)
{
    (void)engine;
    (void)participant;
    return NULL;
}

enum oto_status srv_engine_mailbox_create(const struct srv_engine *engine, const struct srv_join *join,
                                          struct srv_mailbox **mailbox, struct oto_error *error)
{
    (void)engine;
    (void)join;
    *mailbox = NULL;
    return oto_fail(error, OTO_NOT_FOUND, "there are no participants");
}

void srv_mailbox_close(struct srv_mailbox *mailbox)
{
    (void)mailbox;
}
