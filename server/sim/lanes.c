#include "sim/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/fpu.h"
#include "sim/sim.h"

enum { EVENTS = 1024 }; /* slots of a lane's event ring; the world's own ring has no more */

struct lane {
    struct srv_sim sim; /* the lane's copy of the world's struct */
    struct oto_segment_header *header;
    struct oto_ring *events;
    uint32_t first_vehicle, end_vehicle;
    uint32_t first_estimator, end_estimator;
};

struct srv_lanes {
    uint32_t count;
    bool estimators; /* every estimator reads only channels of its own vehicle */
    /* the work that runs now */
    srv_lane_work *work;
    bool on_estimators;
    uint64_t tick;
    struct lane lanes[];
};

/* ---- making ---- */

/* Gives each lane a range of whole blocks of vehicles. */
static void share_vehicles(const struct srv_sim *sim, struct srv_lanes *lanes)
{
    const uint32_t blocks = (sim->vehicle_count + SRV_BLOCK - 1) / SRV_BLOCK;
    for (uint32_t i = 0; i < lanes->count; i++) {
        const uint32_t end = (uint32_t)((uint64_t)blocks * (i + 1) / lanes->count) * SRV_BLOCK;
        lanes->lanes[i].first_vehicle = i > 0 ? lanes->lanes[i - 1].end_vehicle : 0;
        lanes->lanes[i].end_vehicle = end < sim->vehicle_count ? end : sim->vehicle_count;
    }
}

/* Gives each lane the estimators of its vehicles. Estimators are sorted by vehicle. */
static void share_estimators(const struct srv_sim *sim, struct srv_lanes *lanes)
{
    uint32_t next = 0;
    lanes->estimators = true;
    for (uint32_t i = 0; i < lanes->count; i++) {
        lanes->lanes[i].first_estimator = next;
        while (next < sim->estimator_count && sim->estimators[next]->vehicle < lanes->lanes[i].end_vehicle) {
            next++;
        }
        lanes->lanes[i].end_estimator = next;
    }
    for (uint32_t e = 0; e < sim->estimator_count; e++) {
        const struct srv_node_config *config = sim->estimators[e]->config;
        for (uint32_t i = 0; i < config->input_count; i++) {
            lanes->estimators = lanes->estimators && sim->nodes[config->inputs[i].node].vehicle == config->vehicle;
        }
    }
}

static bool make_lane(const struct srv_sim *sim, struct lane *lane)
{
    lane->header = srv_state_alloc(sizeof *lane->header);
    lane->events = srv_state_alloc(sizeof *lane->events + (uint64_t)EVENTS * sim->events.stride);
    return lane->header != NULL && lane->events != NULL;
}

enum oto_status srv_lanes_make(struct srv_sim *sim, uint32_t wanted, struct srv_lanes **out, struct oto_error *error)
{
    const uint32_t blocks = (sim->vehicle_count + SRV_BLOCK - 1) / SRV_BLOCK, most = blocks < SRV_LANES_MAX ? blocks : SRV_LANES_MAX;
    const uint32_t count = wanted < most ? wanted : most;
    *out = NULL;
    if (count < 2 || sim->hooks.run_lanes == NULL) {
        return OTO_OK;
    }
    struct srv_lanes *lanes = srv_state_alloc(sizeof *lanes + count * sizeof lanes->lanes[0]);
    bool made = lanes != NULL;
    if (made) {
        lanes->count = count;
    }
    for (uint32_t i = 1; i < count && made; i++) {
        made = make_lane(sim, &lanes->lanes[i]);
    }
    if (!made) {
        srv_lanes_free(lanes);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u threads of world '%s'", count, sim->config->name);
    }
    share_vehicles(sim, lanes);
    share_estimators(sim, lanes);
    *out = lanes;
    return OTO_OK;
}

void srv_lanes_free(struct srv_lanes *lanes)
{
    for (uint32_t i = 0; lanes != NULL && i < lanes->count; i++) {
        free(lanes->lanes[i].header);
        free(lanes->lanes[i].events);
    }
    free(lanes);
}

uint32_t srv_lanes_count(const struct srv_lanes *lanes)
{
    return lanes != NULL ? lanes->count : 1;
}

uint32_t srv_lanes_stepping_node(const struct srv_lanes *lanes, uint32_t lane)
{
    return lane > 0 && lane < srv_lanes_count(lanes) ? __atomic_load_n(&lanes->lanes[lane].header->current_node, __ATOMIC_RELAXED) : 0;
}

/* ---- running ---- */

/* Updates a lane's copy of the world. Lane 0 is the world itself, in the tick thread. */
static struct srv_sim *open_lane(struct srv_sim *sim, struct lane *lane)
{
    const uint64_t seen = lane->sim.events.head;
    if (lane->header == NULL) {
        return sim;
    }
    lane->sim = *sim;
    lane->sim.hooks.may_tick = NULL;
    lane->sim.store.header = lane->header;
    lane->sim.retired_faults = NULL;
    lane->sim.events = (struct srv_ring){.ring = lane->events,
                                         .slots = (unsigned char *)(lane->events + 1),
                                         .mask = EVENTS - 1,
                                         .head = seen,
                                         .stride = sim->events.stride,
                                         .payload_bytes = sim->events.payload_bytes};
    return &lane->sim;
}

static void join_events(struct srv_sim *sim, struct lane *lane, uint64_t seen)
{
    const struct srv_ring *ring = &lane->sim.events;
    const uint64_t kept = ring->head - seen < EVENTS ? seen : ring->head - EVENTS;
    for (uint64_t seq = kept + 1; seq <= ring->head; seq++) {
        const unsigned char *slot = ring->slots + ((seq - 1) & ring->mask) * ring->stride;
        struct oto_sample_head head;
        memcpy(&head, slot + 8, sizeof head);
        srv_ring_push(&sim->events, &head, slot + sizeof(struct oto_ring_slot));
    }
}

static void join_faults(struct srv_sim *sim, struct srv_fault *retired)
{
    while (retired != NULL) {
        struct srv_fault *next = retired->next;
        retired->next = sim->retired_faults;
        sim->retired_faults = retired;
        retired = next;
    }
}

static void join_lane(struct srv_sim *sim, struct lane *lane, uint64_t seen)
{
    for (uint32_t i = 0; i < OTO_COUNTER_COUNT; i++) {
        if (lane->header->counter[i] != 0) {
            srv_count(sim, (enum oto_counter)i, lane->header->counter[i]);
            lane->header->counter[i] = 0;
        }
    }
    join_events(sim, lane, seen);
    join_faults(sim, lane->sim.retired_faults);
    sim->fatal = sim->fatal || lane->sim.fatal;
}

static void work_on(void *context, uint32_t index)
{
    struct srv_sim *sim = context;
    struct srv_lanes *lanes = sim->lanes;
    struct lane *lane = &lanes->lanes[index];
    struct srv_sim *seen = index > 0 ? &lane->sim : sim;
    srv_fpu_pin();
    if (lanes->on_estimators) {
        lanes->work(seen, lane->first_estimator, lane->end_estimator, lanes->tick);
    } else {
        lanes->work(seen, lane->first_vehicle, lane->end_vehicle, lanes->tick);
    }
}

static void run(struct srv_sim *sim, srv_lane_work *work, bool on_estimators, uint64_t tick)
{
    struct srv_lanes *lanes = sim->lanes;
    uint64_t seen[SRV_LANES_MAX];
    lanes->work = work;
    lanes->on_estimators = on_estimators;
    lanes->tick = tick;
    for (uint32_t i = 0; i < lanes->count; i++) {
        seen[i] = open_lane(sim, &lanes->lanes[i])->events.head;
    }
    sim->hooks.run_lanes(sim->hooks.context, work_on, sim, lanes->count);
    for (uint32_t i = 1; i < lanes->count; i++) {
        join_lane(sim, &lanes->lanes[i], seen[i]);
    }
}

/* A swap and a plugin host concern the whole world, so their ticks have one lane. */
bool srv_lanes_apply(const struct srv_sim *sim)
{
    return sim->lanes != NULL && sim->remote == NULL && sim->trials == NULL;
}

void srv_lanes_advance(struct srv_sim *sim, srv_lane_work *vehicles, srv_lane_work *estimators, uint64_t tick)
{
    run(sim, vehicles, false, tick);
    if (sim->estimator_count == 0) {
        return;
    }
    if (sim->lanes->estimators) {
        run(sim, estimators, true, tick);
    } else {
        estimators(sim, 0, sim->estimator_count, tick);
    }
}
