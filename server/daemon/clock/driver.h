/*
 * The drivers that pace a world in real time (A2): `uv` sleeps to the deadline, `hybrid` sleeps to shortly before it
 * and spins the rest. A driver decides when a tick is made, never what it makes. [tick]
 */
#ifndef SRV_CLOCK_DRIVER_H
#define SRV_CLOCK_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/clock/spin_budget.h"
#include "daemon/clock/waiter.h"
#include "world/world_config.h"

struct srv_clock_driver;

struct srv_driver_ops {
    const char *name;
    /* Returns at the deadline, or earlier when another thread wakes the waiter. */
    void (*wait)(struct srv_clock_driver *driver, int64_t deadline_ns, int64_t period_ns);
};

struct srv_clock_driver {
    const struct srv_driver_ops *ops;
    struct srv_waiter *waiter;
    struct srv_spin_budget budget;
};

void srv_driver_init(struct srv_clock_driver *driver, enum srv_driver kind, struct srv_waiter *waiter);

#endif
