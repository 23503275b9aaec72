#include "sim/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "sim/fifo.h"
#include "sim/sim.h"

/*
 * One walk over the engine saves or loads. Saving continues to count bytes when the buffer is full, so that one call tells
 * the needed size. Loading copies into the same places; each value that could be wrong is checked where it is used.
 */
struct walk {
    bool loading;
    unsigned char *to;         /* saving */
    const unsigned char *from; /* loading */
    uint64_t capacity, used;
    struct oto_error *error; /* loading: the first value that does not fit */
};

static bool has_failed(const struct walk *walk)
{
    return walk->error != NULL && walk->error->status != OTO_OK;
}

static void cut_short(struct walk *walk)
{
    if (!has_failed(walk)) {
        (void)oto_fail(walk->error, OTO_CORRUPT, "the state is cut off after %llu bytes",
                       (unsigned long long)walk->capacity);
    }
}

static void carry(struct walk *walk, void *data, uint64_t bytes)
{
    const bool fits = walk->used <= walk->capacity && bytes <= walk->capacity - walk->used;
    if (walk->loading && (!fits || has_failed(walk))) {
        memset(data, 0, bytes);
        cut_short(walk);
        return;
    }
    if (walk->loading) {
        memcpy(data, walk->from + walk->used, bytes);
    } else if (fits) {
        memcpy(walk->to + walk->used, data, bytes);
    }
    walk->used += bytes;
}

static void carry_u64(struct walk *walk, uint64_t *number)
{
    carry(walk, number, sizeof *number);
}

static void carry_bool(struct walk *walk, bool *flag)
{
    uint64_t number = *flag;
    carry_u64(walk, &number);
    *flag = number != 0;
}

static void carry_u32(struct walk *walk, uint32_t *number)
{
    uint64_t wide = *number;
    carry_u64(walk, &wide);
    *number = (uint32_t)wide;
}

/* Loads a number that must equal the engine's own number, `ours`. */
static bool expect(struct walk *walk, const char *what, const char *of, uint64_t ours)
{
    uint64_t theirs = ours;
    carry_u64(walk, &theirs);
    if (walk->loading && !has_failed(walk) && theirs != ours) {
        (void)oto_fail(walk->error, OTO_INVALID, "%s of %s is %llu in the checkpoint and %llu in this world", what, of,
                       (unsigned long long)theirs, (unsigned long long)ours);
    }
    return !has_failed(walk);
}

/* ---- vehicles ---- */

/* Makes the history that a vehicle has in the checkpoint: its motion needed none until it was swapped. */
static void load_history(struct walk *walk, const struct srv_sim *sim, struct srv_vehicle *vehicle, uint64_t records)
{
    const char *name = sim->config->vehicles[vehicle - sim->vehicles].name;
    const struct srv_clock_config *clock = &sim->config->clock;
    const uint64_t capacity = srv_history_capacity(clock->rate_num, clock->rate_den);
    if (records != capacity && (records != 0 || vehicle->history.records != NULL)) {
        (void)oto_fail(walk->error, OTO_CORRUPT, "the history of '%s' has %llu truths in the checkpoint; %llu are accepted", name,
                       (unsigned long long)records, (unsigned long long)capacity);
    } else if (records != 0 && vehicle->history.records == NULL) {
        (void)srv_history_make(&vehicle->history, clock->rate_num, clock->rate_den, walk->error);
    }
}

static void carry_history(struct walk *walk, const struct srv_sim *sim, struct srv_vehicle *vehicle)
{
    uint64_t records = vehicle->history.records != NULL ? vehicle->history.mask + 1 : 0;
    carry_u64(walk, &records);
    if (walk->loading && !has_failed(walk)) {
        load_history(walk, sim, vehicle, records);
    }
    if (!has_failed(walk) && records > 0) {
        carry(walk, vehicle->history.records, records * sizeof *vehicle->history.records);
    }
}

static void carry_vehicle(struct walk *walk, struct srv_sim *sim, struct srv_vehicle *vehicle)
{
    carry(walk, &vehicle->truth, sizeof vehicle->truth);
    carry(walk, &vehicle->truth_zero, sizeof vehicle->truth_zero);
    carry_bool(walk, &vehicle->stale);
    carry_bool(walk, &vehicle->truth_was_finite);
    carry_u32(walk, &vehicle->truth_flags);
    carry(walk, &vehicle->any_from_ns, sizeof vehicle->any_from_ns);
    carry_history(walk, sim, vehicle);
}

/* ---- faults ---- */

/* Makes a fault from its specification in the checkpoint, after checking every value on which memory accesses depend. */
static struct srv_fault *load_fault(struct walk *walk, const struct srv_node *node, const struct srv_fault_spec *spec)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(node->config->plugin);
    struct srv_fault *fault = NULL;
    if (spec->kind > 0 && spec->kind < OTO_FAULT_MAX_ && spec->port < descriptor->output_count && spec->count > 0 &&
        spec->period_ns > 0 && spec->axis[0] < 3 && spec->axis[1] < 3 && spec->axis[2] < 3 &&
        memchr(spec->fields, '\0', sizeof spec->fields) != NULL &&
        (spec->kind != OTO_FAULT_DELAY || (spec->value >= 0.0 && spec->value <= SRV_FAULT_MAX_DELAY_S))) {
        fault = srv_fault_make(spec, node->index, descriptor, node->setup->rate_hz);
    }
    if (fault == NULL) {
        (void)oto_fail(walk->error, OTO_CORRUPT, "a fault of '%s' in the checkpoint has values that no fault can have", node->topic);
    }
    return fault;
}

static void carry_fault(struct walk *walk, const struct srv_node *node, struct srv_fault **link)
{
    struct srv_fault_spec spec = {0};
    if (!walk->loading) {
        spec = (*link)->spec;
    }
    carry(walk, &spec, sizeof spec);
    if (walk->loading) {
        *link = has_failed(walk) ? NULL : load_fault(walk, node, &spec);
        if (*link == NULL) {
            return;
        }
    }
    struct srv_fault *fault = *link;
    carry(walk, &fault->from_ns, sizeof fault->from_ns);
    carry(walk, &fault->until_ns, sizeof fault->until_ns);
    carry_bool(walk, &fault->begun);
    carry_u64(walk, &fault->samples);
    if (expect(walk, "the memory of a fault", node->topic, fault->slot_count * fault->slot_bytes) &&
        fault->memory != NULL) {
        carry(walk, fault->memory, fault->slot_count * fault->slot_bytes);
    }
}

static void carry_faults(struct walk *walk, struct srv_node *node)
{
    uint64_t count = 0;
    for (const struct srv_fault *fault = node->faults; fault != NULL; fault = fault->next) {
        count++;
    }
    carry_u64(walk, &count);
    if (walk->loading) {
        srv_fault_free(node->faults); /* the checkpoint contains the faults of the world file too, in their present state */
        node->faults = NULL;
    }
    struct srv_fault **link = &node->faults;
    for (uint64_t i = 0; i < count && i < SRV_FAULTS_OF_A_NODE && !has_failed(walk); i++) {
        carry_fault(walk, node, link);
        link = *link != NULL ? &(*link)->next : link;
    }
}

/* ---- nodes ---- */

/* Loads the number of a node's next sample. This sample must be due in the next tick or later. */
static void load_schedule(struct walk *walk, const struct srv_sim *sim, struct srv_node *node, uint64_t n)
{
    struct srv_due before;
    if (has_failed(walk)) {
        return;
    }
    before = node->due;
    srv_schedule_jump(&node->schedule, n);
    srv_due_jump(&node->due, n);
    srv_due_jump(&before, n > 1 ? n - 1 : 1);
    if (n == 0 || srv_due_tick(&node->due) < sim->tick || (n > 1 && srv_due_tick(&before) >= sim->tick)) {
        (void)oto_fail(walk->error, OTO_CORRUPT, "the next sample of '%s' is number %llu in the checkpoint, which is not due "
                       "after tick %llu", node->topic, (unsigned long long)n, (unsigned long long)sim->tick);
    }
}

/*
 * Loads the number of an isolated motion's next step. It may be earlier than the next tick, if its plugin host was
 * restarting.
 */
static void load_steps(struct walk *walk, const struct srv_sim *sim, struct srv_node *motion, uint64_t n)
{
    if (has_failed(walk)) {
        return;
    }
    if (n == 0 || n > sim->tick + 1) {
        (void)oto_fail(walk->error, OTO_CORRUPT, "the next step of '%s' is number %llu in the checkpoint of tick %llu",
                       motion->topic, (unsigned long long)n, (unsigned long long)sim->tick);
        return;
    }
    srv_schedule_jump(&motion->schedule, n);
    srv_due_jump(&motion->due, sim->tick + 1);
}

static void migrate(struct walk *walk, struct srv_node *node, uint32_t version, uint64_t bytes)
{
    const struct oto_plugin_descriptor *now = node->live.descriptor;
    void *old = bytes <= walk->capacity - walk->used ? malloc(bytes > 0 ? bytes : 1) : NULL;
    if (old == NULL) {
        cut_short(walk);
        return;
    }
    carry(walk, old, bytes);
    if (node->live.ops->migrate == NULL || version < now->migrates_from || version >= now->state_version ||
        node->live.ops->migrate(&node->live.abi, old, bytes, version) != OTO_OK) {
        (void)oto_fail(walk->error, OTO_VERSION,
                       "'%s' has a state of version %u (%llu bytes) in the checkpoint; plugin %s %s has version %u (%llu "
                       "bytes) and cannot take it over", node->topic, version, (unsigned long long)bytes, now->id,
                       now->version, now->state_version, (unsigned long long)now->state_bytes);
    }
    free(old);
}

static void carry_state(struct walk *walk, struct srv_node *node)
{
    uint32_t version = node->live.descriptor->state_version;
    uint64_t bytes = node->live.state_bytes;
    carry_u32(walk, &version);
    carry_u64(walk, &bytes);
    if (has_failed(walk)) {
        return;
    }
    if (version != node->live.descriptor->state_version || bytes != node->live.state_bytes) {
        migrate(walk, node, version, bytes);
    } else {
        carry(walk, node->live.abi.state, bytes);
    }
    if (walk->loading && !has_failed(walk)) {
        srv_instance_settle(&node->live);
    }
    if (walk->loading && !has_failed(walk) && node->live.ops->validate != NULL &&
        node->live.ops->validate(&node->live.abi) != OTO_OK) {
        (void)oto_fail(walk->error, OTO_CORRUPT, "plugin %s refuses the state of '%s' in the checkpoint",
                       node->live.descriptor->id, node->topic);
    }
}

static void carry_node(struct walk *walk, struct srv_sim *sim, struct srv_node *node)
{
    const bool steps_each_tick = node->live.evaluate != NULL && node->runner != &srv_runner_remote;
    uint64_t n = steps_each_tick ? sim->tick + 1 : node->schedule.n;
    carry_u64(walk, &n);
    if (walk->loading && node->live.evaluate == NULL) {
        load_schedule(walk, sim, node, n);
    } else if (walk->loading && !steps_each_tick) {
        load_steps(walk, sim, node, n);
    }
    carry_bool(walk, &node->live.quarantined);
    carry_u64(walk, &node->revision);
    carry_u32(walk, &node->generation);
    carry_state(walk, node);
    if (expect(walk, "the number of inputs", node->topic, node->inputs.count) && node->inputs.count > 0) {
        carry(walk, node->inputs.cursors, node->inputs.count * sizeof *node->inputs.cursors);
        carry_u64(walk, &node->inputs.lost);
    }
    carry_faults(walk, node);
}

/* ---- channels ---- */

/* Sets `unread` of each ring to the oldest record that an estimator has not taken yet. */
static void find_unread(const struct srv_sim *sim)
{
    for (uint32_t i = 0; i < sim->estimator_count; i++) {
        const struct srv_inputs *inputs = &sim->estimators[i]->inputs;
        for (uint32_t k = 0; k < inputs->count; k++) {
            inputs->rings[k]->unread = UINT64_MAX;
        }
    }
    for (uint32_t i = 0; i < sim->estimator_count; i++) {
        const struct srv_inputs *inputs = &sim->estimators[i]->inputs;
        for (uint32_t k = 0; k < inputs->count; k++) {
            struct srv_ring *ring = inputs->rings[k];
            ring->unread = inputs->cursors[k] + 1 < ring->unread ? inputs->cursors[k] + 1 : ring->unread;
        }
    }
}

/* The oldest record that is read after the boundary: the first that an estimator has not taken, else the newest. */
static uint64_t first_needed(const struct srv_ring *ring)
{
    const uint64_t first = ring->unread != 0 && ring->unread < ring->head ? ring->unread : ring->head;
    const uint64_t oldest = ring->head > ring->mask ? ring->head - ring->mask : 1;
    return first > oldest ? first : oldest;
}

static void save_records(struct walk *walk, struct srv_ring *ring)
{
    uint64_t first = ring->head > 0 ? first_needed(ring) : 1;
    carry_u64(walk, &ring->head);
    carry_u64(walk, &first);
    for (uint64_t seq = first; seq <= ring->head; seq++) {
        unsigned char *slot = ring->slots + ((seq - 1) & ring->mask) * ring->stride;
        carry(walk, slot + 8, sizeof(struct oto_sample_head));
        carry(walk, slot + sizeof(struct oto_ring_slot), ring->payload_bytes);
    }
}

static void load_records(struct walk *walk, struct srv_sim *sim, struct srv_ring *ring, uint32_t channel)
{
    const char *topic = sim->store.directory[channel].topic;
    uint64_t head = 0, first = 0;
    unsigned char payload[OTO_RECORD_MAX_BYTES];
    carry_u64(walk, &head);
    carry_u64(walk, &first);
    if (!has_failed(walk) && (first == 0 || first > head + 1 || head + 1 - first > ring->mask + 1 || head > OTO_SEQ_MAX / 2)) {
        (void)oto_fail(walk->error, OTO_CORRUPT, "the records of '%s' in the checkpoint are numbered %llu to %llu", topic,
                       (unsigned long long)first, (unsigned long long)head);
    }
    if (has_failed(walk) || (head > 0 && srv_store_reserve(&sim->store, channel, walk->error) != OTO_OK)) {
        return;
    }
    ring->head = first - 1;
    ring->ring->first = first; /* no client has the segment yet */
    __atomic_store_n(&ring->ring->head, ring->head, __ATOMIC_RELEASE);
    for (uint64_t seq = first; seq <= head && !has_failed(walk); seq++) {
        struct oto_sample_head sample;
        carry(walk, &sample, sizeof sample);
        carry(walk, payload, ring->payload_bytes);
        srv_ring_push(ring, &sample, payload);
    }
}

static void carry_ring(struct walk *walk, struct srv_sim *sim, struct srv_ring *ring, uint32_t channel)
{
    const char *topic = sim->store.directory[channel].topic;
    if (!expect(walk, "the size of a record", topic, ring->payload_bytes)) {
        return;
    }
    if (walk->loading) {
        load_records(walk, sim, ring, channel);
    } else {
        save_records(walk, ring);
    }
}

static struct srv_port *port_of(struct srv_node *node, uint32_t channel)
{
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        if (node->live.ports[i].channel == channel) {
            return &node->live.ports[i];
        }
    }
    return NULL;
}

/* A channel that no port fills keeps its records and its seq, because a later plugin may fill it. */
static void carry_channel(struct walk *walk, struct srv_sim *sim, struct srv_node *node, uint32_t i)
{
    const uint32_t channel = node->first_channel + i;
    struct srv_port *port = port_of(node, channel);
    if (port != NULL) {
        carry_ring(walk, sim, &port->ring, channel);
        return;
    }
    const uint64_t unread = node->silent[i].unread;
    node->silent[i] = srv_ring_make(sim->store.header, &sim->store.directory[channel]);
    node->silent[i].unread = unread;
    carry_ring(walk, sim, &node->silent[i], channel);
}

/* Records that wait in a FIFO. They already have their seq, after that of the newest published record. */
static void carry_fifo(struct walk *walk, struct srv_node *node)
{
    struct srv_fifo *fifo = node->fifo;
    carry_u32(walk, &fifo->taken);
    for (uint32_t i = 0; i < fifo->lane_count; i++) {
        struct srv_fifo_lane *lane = &fifo->lanes[i];
        carry_u32(walk, &lane->held);
        if (fifo->taken >= fifo->samples || lane->held > fifo->taken) {
            fifo->taken = lane->held = 0;
            (void)oto_fail(walk->error, OTO_CORRUPT, "the FIFO of '%s' in the checkpoint has counts that no FIFO can have", node->topic);
            return;
        }
        carry(walk, lane->heads, lane->held * sizeof *lane->heads);
        carry(walk, lane->payloads, (uint64_t)lane->held * lane->payload_bytes);
    }
}

static void carry_channels(struct walk *walk, struct srv_sim *sim, struct srv_node *node)
{
    if (node->live.evaluate != NULL) {
        carry_ring(walk, sim, &sim->vehicles[node->config->vehicle].ring, node->first_channel);
        return;
    }
    if (!expect(walk, "the number of channels", node->topic, node->channel_count) ||
        !expect(walk, "the number of outputs", node->topic, node->live.port_count)) {
        return;
    }
    for (uint32_t i = 0; i < node->channel_count && !has_failed(walk); i++) {
        carry_channel(walk, sim, node, i);
    }
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        carry_bool(walk, &node->live.ports[i].was_finite);
    }
    if (expect(walk, "the channel of labels", node->topic, node->labelled) && node->labelled) {
        carry_ring(walk, sim, &node->label_ring, node->label_channel);
    }
    if (expect(walk, "fifo_samples", node->topic, node->fifo != NULL ? node->fifo->samples : 0) && node->fifo != NULL) {
        carry_fifo(walk, node);
    }
}

/* ---- samples that wait for the next tick (plugin hosts of mode async) ---- */

/* A sample whose answer has arrived: its records are in the node's outputs, and its number is the next number less 1. */
static void carry_srv_runner_waiting(struct walk *walk, struct srv_node *node, struct srv_sample *sample)
{
    carry_bool(walk, &sample->asked);
    if (!sample->asked) {
        return;
    }
    carry_u32(walk, &sample->status);
    carry_u32(walk, &sample->flags);
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        struct oto_output *output = &node->live.outputs[i];
        carry(walk, &output->t_ns, sizeof output->t_ns);
        carry(walk, &output->sensor_time_ns, sizeof output->sensor_time_ns);
        carry_u32(walk, &output->flags);
        carry_u32(walk, &output->emit);
        carry(walk, output->payload, node->live.ports[i].payload_bytes);
    }
    if (walk->loading) {
        sample->answered = true;
        sample->schedule = node->schedule;
        srv_schedule_jump(&sample->schedule, node->schedule.n > 1 ? node->schedule.n - 1 : 1);
    }
}

/* A checkpoint of a world without hosts of mode async ends before this part. */
static void carry_waiting(struct walk *walk, struct srv_sim *sim)
{
    static const char *const what = "the number of nodes in plugin hosts of mode async";
    uint64_t ours = 0;
    for (uint32_t i = 0; i < sim->node_count; i++) {
        ours += srv_runner_waiting(sim, &sim->nodes[i]) != NULL;
    }
    const bool theirs = walk->loading ? walk->used < walk->capacity : ours > 0;
    if (ours > 0 && !theirs) {
        (void)oto_fail(walk->error, OTO_INVALID, "%s is 0 in the checkpoint and %llu in this world", what,
                       (unsigned long long)ours);
    }
    if (!theirs || !expect(walk, what, "the world", ours)) {
        return;
    }
    for (uint32_t i = 0; i < sim->node_count && !has_failed(walk); i++) {
        struct srv_sample *sample = srv_runner_waiting(sim, &sim->nodes[i]);
        if (sample != NULL) {
            carry_srv_runner_waiting(walk, &sim->nodes[i], sample);
        }
    }
}

/* ---- the whole ---- */

static void carry_clock(struct walk *walk, struct srv_sim *sim)
{
    carry_u64(walk, &sim->tick);
    carry_u64(walk, &sim->chain);
    carry_u64(walk, &sim->newest_fault);
    if (walk->loading && !has_failed(walk)) {
        const struct srv_clock_config *clock = &sim->config->clock;
        const uint64_t end = srv_events_until(SRV_TIME_MAX_NS, clock->rate_num, clock->rate_den);
        if (sim->tick > end) {
            (void)oto_fail(walk->error, OTO_CORRUPT, "the checkpoint is of tick %llu, and time ends with tick %llu",
                           (unsigned long long)sim->tick, (unsigned long long)end);
            return;
        }
        srv_schedule_jump(&sim->schedule, sim->tick);
    }
}

static void walk_sim(struct walk *walk, struct srv_sim *sim)
{
    const char *world = "the world";
    if (!expect(walk, "the number of vehicles", world, sim->vehicle_count) ||
        !expect(walk, "the number of nodes", world, sim->node_count) ||
        !expect(walk, "the seed", world, sim->config->seed) ||
        !expect(walk, "the clock's rate", world, sim->config->clock.rate_num) ||
        !expect(walk, "the clock's rate (its denominator)", world, sim->config->clock.rate_den)) {
        return;
    }
    carry_clock(walk, sim);
    for (uint32_t v = 0; v < sim->vehicle_count && !has_failed(walk); v++) {
        carry_vehicle(walk, sim, &sim->vehicles[v]);
    }
    for (uint32_t i = 0; i < sim->node_count && !has_failed(walk); i++) {
        carry_node(walk, sim, &sim->nodes[i]);
    }
    for (uint32_t i = 0; i < sim->node_count && !has_failed(walk); i++) {
        carry_channels(walk, sim, &sim->nodes[i]);
    }
    if (!has_failed(walk)) {
        carry_ring(walk, sim, &sim->events, sim->event_channel);
    }
    if (!has_failed(walk)) {
        carry_waiting(walk, sim);
    }
}

uint64_t srv_checkpoint_save(struct srv_sim *sim, void *data, uint64_t capacity)
{
    struct walk walk = {.to = data, .capacity = capacity};
    find_unread(sim);
    walk_sim(&walk, sim);
    return walk.used;
}

enum oto_status srv_checkpoint_refusal(const struct srv_sim *sim, const char **reason)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        const struct srv_node *node = &sim->nodes[i];
        if (srv_node_is_swapped(node)) {
            *reason = "a swap is in shadow or on probation; ask again when it is over";
            return OTO_CONFLICT;
        }
        if (node->unsaved != NULL) {
            *reason = node->unsaved;
            return OTO_UNSUPPORTED;
        }
        const struct srv_sample *sample = srv_runner_waiting(sim, node);
        if (sample != NULL && sample->asked && !sample->answered && !node->live.quarantined) {
            *reason = "a plugin host of mode async has not answered; ask again";
            return OTO_TIMEOUT;
        }
    }
    return OTO_OK;
}

enum oto_status srv_checkpoint_load(struct srv_sim *sim, const void *data, uint64_t bytes,
                                    struct oto_error *error)
{
    struct walk walk = {.loading = true, .from = data, .capacity = bytes, .error = error};
    walk_sim(&walk, sim);
    if (!has_failed(&walk) && walk.used != bytes) {
        return oto_fail(error, OTO_CORRUPT, "the state has %llu bytes more than this world",
                        (unsigned long long)(bytes - walk.used));
    }
    if (has_failed(&walk)) {
        return error->status;
    }
    if (sim->remote != NULL) {
        sim->remote->give_states(sim);
    }
    srv_event_write(sim, OTO_EVENT_STARTED, 0, (int64_t)sim->tick, "clock", "goes on from a checkpoint");
    return OTO_OK;
}
