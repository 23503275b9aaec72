/* An engine without a thread, for tests of the control socket: the test decides when commands are applied. */
#ifndef FAKE_ENGINE_H
#define FAKE_ENGINE_H

#include "daemon/thread/engine.h"

#define FAKE_QUEUE 8
#define FAKE_NODES 100 /* car/imu, car_0001/imu, car_0002/imu, … */
#define FAKE_EVENTS 4096

struct fake_facts {
    uint32_t waiters;
    uint32_t lossless_open;
    uint64_t acknowledged;
    int64_t counters[OTO_COUNTER_COUNT];
    uint32_t events;
    struct oto_event_record last_event;
    uint32_t applied;
    uint32_t pauses;
    uint32_t changes_alive; /* made and not yet freed; atomic */
    uint32_t loads_at_once, loads_at_once_max; /* of one node; atomic */
};

struct srv_engine *fake_engine_create(void);
void fake_engine_destroy(struct srv_engine *engine);
struct fake_facts *fake_engine_facts(struct srv_engine *engine);
/* On: a command is applied as soon as it is posted. Off: only by fake_engine_apply. */
void fake_engine_set_automatic(struct srv_engine *engine, bool on);
void fake_engine_apply(struct srv_engine *engine);
void fake_engine_push_sample(struct srv_engine *engine);

#endif
