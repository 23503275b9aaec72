/*
 * What the process must be able to get before it begins: libuv 1.44 ends a process (abort) whose first loop finds no
 * descriptor for its signals' pipe, and one whose first job for a worker finds no thread. Both are tried here, where a
 * sentence can still be said. [loop]
 */
#ifndef SRV_RESOURCES_H
#define SRV_RESOURCES_H

#include <uv.h>

#include "otolith/status.h"

/* LIMIT: the descriptors or the thread that the start needs are not available. */
enum oto_status srv_resources_check(struct oto_error *error);

/* Starts libuv's worker thread now, so that no request of a running server has to. `job` stays until the loop has run. */
void srv_resources_start_worker(uv_loop_t *loop, uv_work_t *job);

#endif
