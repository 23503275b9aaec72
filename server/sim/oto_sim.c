/* otolith/sim.h: opening, stepping, reading. */
#include "sim/oto_sim.h"

#include <stdlib.h>
#include <string.h>

#include "document/document.h"
#include "base/fpu.h"

/* ---- replies that come later ---- */

static void settle(struct srv_sim *sim, struct srv_node_change *change);

/*
 * Receives the later replies of swaps: of a swap that became live or was refused after its shadow, and of the end of a
 * probation.
 */
static void on_reply(void *context, const struct srv_reply *reply)
{
    struct srv_sim *sim = *(struct srv_sim **)context;
    if (reply->kind == SRV_COMMAND_SWAP && reply->status == OTO_OK && reply->settling) {
        settle(sim, reply->change);
    } else {
        (void)srv_change_free(reply->change);
    }
}

/* Requests the reply at the end of a probation, with which the change is freed. */
static void settle(struct srv_sim *sim, struct srv_node_change *change)
{
    const struct srv_command command = {.kind = SRV_COMMAND_SETTLE, .change = change};
    struct srv_reply reply = {.kind = SRV_COMMAND_SETTLE, .change = change, .tick = sim->tick};
    if (srv_sim_apply(sim, &command, &reply)) {
        (void)srv_change_free(reply.change);
    }
}

/* ---- making ---- */

enum oto_status oto_sim_make_(const struct oto_sim *owner, oto_warn_function warn, void *warn_context, struct srv_sim **sim,
                              struct oto_error *error)
{
    struct srv_sim **self = calloc(1, sizeof *self); /* the hooks find the simulator through it; oto_sim_drop_ frees it */
    if (self == NULL) {
        *sim = NULL;
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a world");
    }
    const struct srv_sim_options options = {.hooks = {.context = self, .reply = on_reply},
                                            .make_store = srv_store_make_heap,
                                            .no_state_hash = owner->no_state_hash};
    enum oto_status status = srv_sim_create(&owner->config, &options, warn, warn_context, sim, error);
    if (status != OTO_OK) {
        free(self);
        return status;
    }
    *self = *sim;
    status = srv_sim_begin(*sim, error);
    if (status != OTO_OK) {
        oto_sim_drop_(*sim);
        *sim = NULL;
    }
    return status;
}

void oto_sim_drop_(struct srv_sim *sim)
{
    if (sim != NULL) {
        struct srv_store store = sim->store;
        void *self = sim->hooks.context;
        srv_sim_destroy(sim);
        srv_store_free_heap(&store);
        free(self);
    }
}

static uint64_t newest(const struct srv_sim *sim, uint32_t channel)
{
    const struct oto_ring_view view = oto_ring_view_make(sim->store.header, &sim->store.directory[channel]);
    return oto_ring_newest(&view);
}

void oto_sim_take_(struct oto_sim *owner, struct srv_sim *sim)
{
    owner->sim = sim;
    for (uint32_t i = 0; i < sim->channel_count; i++) {
        owner->next[i] = newest(sim, i) + 1;
    }
    for (uint32_t v = 0; v < sim->vehicle_count; v++) {
        owner->given[v] = (struct given_truth){.fresh = true};
        if (owner->config.vehicles[v].participant != 0) {
            owner->given[v].reach = srv_external_reach(&sim->vehicles[v].motion->live.abi);
        }
    }
}

static void name_types(struct oto_sim *owner)
{
    const struct srv_sim *sim = owner->sim;
    for (uint32_t n = 0; n < sim->node_count; n++) {
        const struct srv_node *node = &sim->nodes[n];
        const struct oto_plugin_descriptor *made_with = oto_plugin_descriptor(node->config->plugin);
        const uint32_t first = sim->first_channels[n];
        if (node->live.evaluate != NULL) {
            owner->types[first] = &oto_truth_type;
            continue;
        }
        for (uint32_t i = 0; i < made_with->output_count; i++) {
            owner->types[first + i] = made_with->outputs[i].type;
        }
        if (node->labelled) {
            owner->types[first + made_with->output_count] = &oto_fault_label_type;
        }
    }
    owner->types[sim->event_channel] = &oto_event_type;
}

static enum oto_status load(const struct oto_sim_options *options, const struct srv_override *overrides,
                            const struct srv_world_config *loaded, struct srv_world_config *config, struct oto_error *error)
{
    const struct srv_world_source source = {.path = options->path,
                                            .text = options->text,
                                            .overrides = overrides,
                                            .override_count = options->override_count,
                                            .loaded = loaded,
                                            .given_motion = srv_external_entry()};
    const enum oto_status status = srv_world_config_load(&source, options->warn, options->warn_context, config, error);
    if (status == OTO_OK && options->has_seed) {
        srv_world_config_seed(config, options->seed);
    }
    return status;
}

/* Splits each override "path=value", in one block of memory. */
static enum oto_status split_overrides(const struct oto_sim_options *options, struct srv_override **overrides,
                                       struct oto_error *error)
{
    size_t bytes = options->override_count * sizeof **overrides + 1;
    for (uint32_t i = 0; i < options->override_count; i++) {
        if (strchr(options->overrides[i], '=') == NULL) {
            return oto_fail(error, OTO_INVALID, "override '%.200s' has no '='; path=value is accepted", options->overrides[i]);
        }
        bytes += strlen(options->overrides[i]) + 1;
    }
    *overrides = malloc(bytes);
    if (*overrides == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u overrides", options->override_count);
    }
    char *text = (char *)(*overrides + options->override_count);
    for (uint32_t i = 0; i < options->override_count; i++) {
        const size_t length = strlen(options->overrides[i]) + 1;
        memcpy(text, options->overrides[i], length);
        char *equals = strchr(text, '=');
        *equals = '\0';
        (*overrides)[i] = (struct srv_override){.path = text, .value = equals + 1};
        text += length;
    }
    return OTO_OK;
}

/* `loaded`: a world whose plugins are used again, or NULL. */
static enum oto_status open_world(struct oto_sim *owner, const struct oto_sim_options *options,
                                  const struct srv_world_config *loaded, struct oto_error *error)
{
    struct srv_override *overrides = NULL;
    struct srv_sim *sim = NULL;
    enum oto_status status = split_overrides(options, &overrides, error);
    if (status == OTO_OK) {
        status = load(options, overrides, loaded, &owner->config, error);
    }
    free(overrides);
    if (status == OTO_OK) {
        status = oto_sim_make_(owner, options->warn, options->warn_context, &sim, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    owner->sim = sim;
    owner->types = calloc(sim->channel_count, sizeof *owner->types);
    owner->next = calloc(sim->channel_count, sizeof *owner->next);
    owner->given = calloc(sim->vehicle_count, sizeof *owner->given);
    if (owner->types == NULL || owner->next == NULL || owner->given == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u channels", sim->channel_count);
    }
    const struct srv_clock_config *clock = &owner->config.clock;
    const int64_t until_ns = clock->until_ns > 0 ? clock->until_ns : SRV_TIME_MAX_NS;
    owner->last_tick = srv_events_until(until_ns, clock->rate_num, clock->rate_den);
    name_types(owner);
    oto_sim_take_(owner, sim);
    return OTO_OK;
}

static enum oto_status open_like(const struct oto_sim_options *options, const struct srv_world_config *loaded,
                                 struct oto_sim **sim, struct oto_error *error)
{
    *sim = NULL;
    if (options->size != sizeof *options || (options->path == NULL) == (options->text == NULL)) {
        return oto_fail(error, OTO_INVALID, "oto_sim_options needs its size and one of path and text");
    }
    struct oto_sim *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a world");
    }
    made->no_state_hash = options->no_state_hash;
    const enum oto_status status = open_world(made, options, loaded, error);
    if (status != OTO_OK) {
        oto_sim_close(made);
        return status;
    }
    *sim = made;
    return OTO_OK;
}

/* Frees the world except its configuration, which holds the plugins. */
static void drop(struct oto_sim *sim)
{
    oto_sim_drop_(sim->sim);
    free(sim->types);
    free(sim->next);
    free(sim->given);
}

enum oto_status oto_sim_open(const struct oto_sim_options *options, struct oto_sim **sim, struct oto_error *error)
{
    struct oto_error unused;
    return open_like(options, NULL, sim, error != NULL ? error : &unused);
}

enum oto_status oto_sim_reopen(const struct oto_sim_options *options, struct oto_sim **sim, struct oto_error *error)
{
    struct oto_error unused;
    struct oto_sim *previous = *sim;
    if (previous != NULL) {
        drop(previous);
    }
    const enum oto_status status = open_like(options, previous != NULL ? &previous->config : NULL, sim, error != NULL ? error : &unused);
    if (previous != NULL) {
        srv_world_config_finish(&previous->config);
        free(previous);
    }
    return status;
}

void oto_sim_close(struct oto_sim *sim)
{
    if (sim != NULL) {
        drop(sim);
        srv_world_config_finish(&sim->config);
        free(sim);
    }
}

/* ---- time ---- */

/* Applies the truths that the caller gave for the next tick. OTO_AGAIN: a vehicle has none. */
static enum oto_status apply_given(struct oto_sim *sim, struct oto_error *error)
{
    for (uint32_t v = 0; v < sim->sim->vehicle_count; v++) {
        struct given_truth *given = &sim->given[v];
        if (sim->config.vehicles[v].participant != 0 && !given->has_input && given->reach <= sim->sim->tick) {
            return oto_fail(error, OTO_AGAIN, "vehicle '%s' has no truth for tick %llu; give it by oto_sim_drive",
                            sim->config.vehicles[v].name, (unsigned long long)sim->sim->tick);
        }
    }
    for (uint32_t v = 0; v < sim->sim->vehicle_count; v++) {
        struct given_truth *given = &sim->given[v];
        if (given->has_input) {
            srv_sim_give_truth(sim->sim, v, given->held ? NULL : &given->input);
            given->has_input = false;
        }
    }
    return OTO_OK;
}

enum oto_status oto_sim_step(struct oto_sim *sim, uint64_t ticks, struct oto_error *error)
{
    const uint32_t mode = srv_fpu_read();
    enum oto_status status = OTO_OK;
    srv_fpu_pin();
    for (uint64_t i = 0; status == OTO_OK && i < ticks; i++) {
        if (sim->sim->tick >= sim->last_tick) {
            status = oto_fail(error, OTO_CLOSED, "the world reached its end at tick %llu (clock.until_s)",
                              (unsigned long long)sim->last_tick);
        } else {
            status = apply_given(sim, error);
        }
        if (status == OTO_OK) {
            srv_sim_tick(sim->sim);
        }
    }
    srv_fpu_write(mode);
    return status;
}

uint64_t oto_sim_tick(const struct oto_sim *sim)
{
    return sim->sim->tick;
}

int64_t oto_sim_time_ns(const struct oto_sim *sim)
{
    return sim->sim->schedule.t_ns;
}

uint64_t oto_sim_seed(const struct oto_sim *sim)
{
    return sim->config.seed;
}

uint64_t oto_sim_state_hash(const struct oto_sim *sim)
{
    return sim->sim->chain;
}

const char *oto_sim_world(const struct oto_sim *sim)
{
    return sim->config.name;
}

/* ---- channels ---- */

uint32_t oto_sim_channel_count(const struct oto_sim *sim)
{
    return sim->sim->channel_count;
}

enum oto_status oto_sim_channel_at(const struct oto_sim *sim, uint32_t index, struct oto_sim_channel *channel,
                                   struct oto_error *error)
{
    if (index >= sim->sim->channel_count) {
        return oto_fail(error, OTO_NOT_FOUND, "there is no channel %u; the world has %u", index, sim->sim->channel_count);
    }
    const struct oto_segment_channel *entry = &sim->sim->store.directory[index];
    *channel = (struct oto_sim_channel){.index = index,
                                        .flags = entry->flags,
                                        .topic = entry->topic,
                                        .node = entry->node,
                                        .frame_id = entry->frame_id,
                                        .type = sim->types[index],
                                        .rate_num = entry->rate_num,
                                        .rate_den = entry->rate_den,
                                        .capacity = entry->capacity};
    return OTO_OK;
}

/* True if `name` is the full name, or the full name without "world/". */
static bool is_called(const struct oto_sim *sim, const char *full, const char *name)
{
    const size_t world = strlen(sim->config.name);
    return strcmp(full, name) == 0 ||
           (strncmp(full, sim->config.name, world) == 0 && full[world] == '/' && strcmp(full + world + 1, name) == 0);
}

static enum oto_status no_channel(const struct oto_sim *sim, const char *topic, struct oto_error *error)
{
    const uint32_t count = sim->sim->channel_count;
    const char **topics = calloc(count, sizeof *topics);
    const size_t world = strlen(sim->config.name) + 1;
    const char *nearest = NULL;
    for (uint32_t i = 0; topics != NULL && i < count; i++) {
        const char *full = sim->sim->store.directory[i].topic;
        topics[i] = is_called(sim, full, full + (strlen(full) > world ? world : 0)) ? full + world : full;
    }
    if (topics != NULL) {
        nearest = oto_nearest_word(topic, topics, count);
    }
    const char *suggestion = nearest != NULL ? nearest : topics != NULL ? topics[0] : "";
    const enum oto_status status = oto_fail(error, OTO_NOT_FOUND, "there is no channel '%.96s' in world '%s'; %s '%s'%s", topic,
                                            sim->config.name, nearest != NULL ? "did you mean" : "one like", suggestion,
                                            nearest != NULL ? "?" : " is accepted");
    free(topics);
    return status;
}

enum oto_status oto_sim_channel(const struct oto_sim *sim, const char *topic, struct oto_sim_channel *channel,
                                struct oto_error *error)
{
    for (int by_node = 0; by_node < 2; by_node++) {
        for (uint32_t i = 0; i < sim->sim->channel_count; i++) {
            const struct oto_segment_channel *entry = &sim->sim->store.directory[i];
            if (is_called(sim, by_node != 0 ? entry->node : entry->topic, topic)) {
                return oto_sim_channel_at(sim, i, channel, error);
            }
        }
    }
    return no_channel(sim, topic, error);
}

/* The seq of the oldest record that the ring still holds. */
static uint64_t oldest_of(const struct oto_sim *sim, uint32_t channel, uint64_t head)
{
    const struct oto_ring_view view = oto_ring_view_make(sim->sim->store.header, &sim->sim->store.directory[channel]);
    return head > view.mask ? head - view.mask : 1;
}

/*
 * The memory for records that are read: head and payload of record i are `…_stride` bytes after those of record i - 1.
 * NULL: not wanted.
 */
struct target {
    unsigned char *heads, *payloads;
    size_t head_stride, payload_stride;
};

static size_t read_into(struct oto_sim *sim, uint32_t channel, const struct target *to, size_t count, uint64_t *lost)
{
    const struct oto_ring_view view = oto_ring_view_make(sim->sim->store.header, &sim->sim->store.directory[channel]);
    const uint64_t head = oto_ring_newest(&view), oldest = oldest_of(sim, channel, head);
    uint64_t next = sim->next[channel];
    const uint64_t gone = next < oldest ? oldest - next : 0;
    size_t read = 0;
    next += gone;
    for (; read < count && next <= head; read++, next++) {
        const unsigned char *slot = view.slots + ((next - 1) & view.mask) * view.stride;
        if (to->heads != NULL) {
            memcpy(to->heads + read * to->head_stride, slot + offsetof(struct oto_ring_slot, head),
                   sizeof(struct oto_sample_head));
        }
        if (to->payloads != NULL) {
            memcpy(to->payloads + read * to->payload_stride, slot + sizeof(struct oto_ring_slot), view.payload_bytes);
        }
    }
    sim->next[channel] = next;
    if (lost != NULL) {
        *lost = gone;
    }
    return read;
}

size_t oto_sim_read(struct oto_sim *sim, uint32_t channel, struct oto_sample_head *heads, void *payloads, size_t count,
                    uint64_t *lost)
{
    const struct target to = {.heads = (unsigned char *)heads,
                              .payloads = payloads,
                              .head_stride = sizeof *heads,
                              .payload_stride = sim->types[channel]->bytes};
    return read_into(sim, channel, &to, count, lost);
}

size_t oto_sim_read_samples(struct oto_sim *sim, uint32_t channel, void *samples, size_t count, uint64_t *lost)
{
    const size_t stride = sizeof(struct oto_sample_head) + sim->types[channel]->bytes;
    const struct target to = {.heads = samples,
                              .payloads = (unsigned char *)samples + sizeof(struct oto_sample_head),
                              .head_stride = stride,
                              .payload_stride = stride};
    return read_into(sim, channel, &to, count, lost);
}

uint64_t oto_sim_unread(const struct oto_sim *sim, uint32_t channel, uint64_t *lost)
{
    const uint64_t head = newest(sim->sim, channel), oldest = oldest_of(sim, channel, head);
    const uint64_t next = sim->next[channel];
    if (lost != NULL) {
        *lost = next < oldest ? oldest - next : 0;
    }
    return head + 1 - (next < oldest ? oldest : next);
}

enum oto_status oto_sim_latest(const struct oto_sim *sim, uint32_t channel, struct oto_sample_head *head, void *payload,
                               struct oto_error *error)
{
    const struct oto_ring_view view = oto_ring_view_make(sim->sim->store.header, &sim->sim->store.directory[channel]);
    const enum oto_status status = oto_ring_latest(&view, head, payload);
    return status == OTO_OK ? OTO_OK
                            : oto_fail(error, OTO_AGAIN, "'%s' has no record yet",
                                       sim->sim->store.directory[channel].topic);
}
