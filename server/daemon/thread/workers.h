/*
 * Threads that advance ranges of vehicles beside the tick thread (sim/lanes.h). They meet at a barrier that spins briefly and
 * then sleeps on a futex; no lock is taken. The main thread starts and stops them [loop]; the tick thread runs them.
 */
#ifndef SRV_DAEMON_WORKERS_H
#define SRV_DAEMON_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "otolith/status.h"
#include "world/world_config.h"

struct srv_workers;

/* Number of threads for a world, the tick thread included: its key `threads`, else all processors for a large world (asap). */
uint32_t srv_workers_wanted(const struct srv_world_config *config);
/* Starts `count` worker threads. Each of them first calls `begin` with `context`. */
enum oto_status srv_workers_start(uint32_t count, void (*begin)(void *context), void *context, struct srv_workers **workers,
                                  struct oto_error *error);
void srv_workers_stop(struct srv_workers *workers); /* NULL is allowed */

/* Calls work(context, lane) for each lane below `lanes`, lane 0 in the calling thread; returns when all calls have ended. */
void srv_workers_run(struct srv_workers *workers, void (*work)(void *context, uint32_t lane), void *context, uint32_t lanes);
/* The lane of the calling worker; 0: the thread is not a worker. May be called in a signal handler. */
uint32_t srv_worker_lane(void);

#endif
