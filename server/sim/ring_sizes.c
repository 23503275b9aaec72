/*
 * The sizes of the rings. In a small world a ring holds a second and at least `least` records. In a large world all rings
 * together must fit a budget, so each holds less: one second, half a second, a quarter, and so on, down to the fewest slots
 * that a ring can have.
 */
#include "sim/store.h"
#include "world/world_config.h"

#define WORLD_BUDGET_BYTES (UINT64_C(64) << 20)
#define VEHICLE_BUDGET_BYTES (UINT64_C(24) << 10)
#define SHORTEST_PART 64u /* the shortest ring holds 1/64 second */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The slots of a ring. part 0: one second, and at least spec->least; otherwise 1/part of a second. */
static uint32_t slots_of(const struct srv_channel_spec *spec, uint32_t part)
{
    const uint32_t slots = part == 0 ? larger(spec->capacity, spec->least) : spec->capacity / part + 1;
    return larger(slots, spec->kept ? spec->capacity : spec->burst);
}

static uint64_t bytes_of(const struct srv_channel_spec *specs, uint32_t count, uint32_t part)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += specs[i].asleep ? OTO_SEGMENT_PAGE : srv_ring_bytes(slots_of(&specs[i], part), specs[i].type->bytes);
    }
    return bytes;
}

static uint32_t part_that_fits(const struct srv_channel_spec *specs, uint32_t count, uint64_t budget)
{
    uint32_t part = 0;
    while (part < SHORTEST_PART && bytes_of(specs, count, part) > budget) {
        part = part == 0 ? 1 : 2 * part;
    }
    return part;
}

static uint32_t slots_for_history(const struct srv_channel_spec *spec, int64_t history_ns)
{
    const double slots = (double)spec->rate_num / (double)spec->rate_den * (double)history_ns * 1e-9 + 1.0;
    return larger(slots < 1e9 ? (uint32_t)slots : 1000000000u, spec->kept ? spec->capacity : spec->burst);
}

void srv_rings_size(const struct srv_world_config *config, struct srv_channel_spec *specs, uint32_t count)
{
    const uint64_t vehicles = VEHICLE_BUDGET_BYTES * config->vehicle_count;
    const uint64_t budget = vehicles > WORLD_BUDGET_BYTES ? vehicles : WORLD_BUDGET_BYTES;
    const uint32_t part = config->ring_capacity > 0 ? 0 : part_that_fits(specs, count, budget);
    for (uint32_t i = 0; i < count; i++) {
        specs[i].capacity = config->history_ns > 0 ? slots_for_history(&specs[i], config->history_ns) : slots_of(&specs[i], part);
    }
}
