/*
 * Requests memory before its use. A tick of many vehicles goes through more memory than the caches hold, in a known order:
 * while the tick computes one block of vehicles, it requests the memory of the next block. No effect on any result. [tick]
 */
#ifndef SRV_SIM_FETCH_H
#define SRV_SIM_FETCH_H

#include "sim/sim.h"

#define SRV_FETCH_FROM_VEHICLES 64u /* smaller worlds fit the caches */
/* Prepared data can have any length: only the first bytes are requested. A plugin may request the rest itself. */
#define SRV_FETCH_SENSOR_DATA_BYTES 576u
#define SRV_FETCH_MOTION_DATA_BYTES 256u
#define SRV_FETCH_LINE 64u

static inline void srv_fetch(const void *memory, size_t bytes)
{
    const size_t before = (uintptr_t)memory % SRV_FETCH_LINE; /* most memory begins in the middle of a cache line */
    const unsigned char *first = (const unsigned char *)memory - before;
    for (size_t at = 0; bytes > 0 && at < before + bytes; at += SRV_FETCH_LINE) {
        __builtin_prefetch(first + at, 0, 2);
    }
}

static inline void srv_fetch_ring(const struct srv_ring *ring)
{
    const unsigned char *slot = ring->slots + (ring->head & ring->mask) * ring->stride;
    __builtin_prefetch(ring->ring, 1, 2);
    for (size_t at = 0; at < ring->stride; at += SRV_FETCH_LINE) {
        __builtin_prefetch(slot + at, 1, 2);
    }
}

/* Requests the structs in which the other addresses are found. */
static inline void srv_fetch_vehicle(const struct srv_vehicle *vehicle)
{
    srv_fetch(vehicle, offsetof(struct srv_vehicle, any_from_ns));
    srv_fetch(vehicle->motion, offsetof(struct srv_node, live.outputs));
    for (uint32_t i = 0; i < vehicle->sensor_count; i++) {
        const struct srv_node *node = &vehicle->first_sensor[i];
        srv_fetch(node, offsetof(struct srv_node, live.outputs[1]));
        srv_fetch(&node->live.ports[0], sizeof(struct srv_port));
    }
}

static inline void srv_fetch_instance(const struct srv_instance *instance, size_t data_bytes)
{
    srv_fetch(instance->abi.state, instance->read_bytes > 0 ? instance->read_bytes : SRV_FETCH_LINE);
    srv_fetch(instance->abi.data, instance->abi.data != NULL ? data_bytes : 0);
}

static inline void srv_fetch_motion(const struct srv_vehicle *vehicle)
{
    srv_fetch_instance(&vehicle->motion->live, SRV_FETCH_MOTION_DATA_BYTES);
}

static inline void srv_fetch_sensors(const struct srv_vehicle *vehicle)
{
    srv_fetch_ring(&vehicle->ring);
    for (uint32_t i = 0; i < vehicle->sensor_count; i++) {
        const struct srv_node *node = &vehicle->first_sensor[i];
        const struct srv_port *port = &node->live.ports[0];
        srv_fetch_instance(&node->live, SRV_FETCH_SENSOR_DATA_BYTES);
        srv_fetch(&node->setup->mount_position_body_m, sizeof node->setup->mount_position_body_m + sizeof node->setup->q_body_from_sensor);
        srv_fetch(node->live.outputs[0].payload, port->payload_bytes);
        srv_fetch(port->runs, 1);
        if (port->enabled) {
            srv_fetch_ring(&port->ring);
        }
    }
}

#endif
