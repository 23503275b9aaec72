/*
 * Threads that advance ranges of vehicles beside the tick thread (sim/lanes.h). They meet at a barrier that spins briefly and
 * then sleeps on a futex; no lock is taken. Started and stopped by the main thread [loop]; srv_workers_run is the tick thread's.
 */
#ifndef SRV_DAEMON_WORKERS_H
#define SRV_DAEMON_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "otolith/status.h"
#include "world/world_config.h"

struct srv_workers;

/* Threads that a world wants, the tick thread included: its key `threads`, else all processors for a large world without a pace. */
uint32_t srv_workers_wanted(const struct srv_world_config *config);
/* `begin` is called first on each of the threads, with `context`. */
enum oto_status srv_workers_start(uint32_t count, void (*begin)(void *context), void *context, struct srv_workers **workers,
                                  struct oto_error *error);
void srv_workers_stop(struct srv_workers *workers); /* NULL is allowed */

/* Calls work(context, lane) for lanes 0 to before `lanes`, lane 0 here; returns when all are done. */
void srv_workers_run(struct srv_workers *workers, void (*work)(void *context, uint32_t lane), void *context, uint32_t lanes);
/* The lane of the calling thread; 0: it is no worker. Also in a handler of signals. */
uint32_t srv_worker_lane(void);

#endif
