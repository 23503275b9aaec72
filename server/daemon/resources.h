/*
 * Checks that the process can get descriptors and a thread before it begins. libuv 1.44 aborts the process if its first loop
 * gets no descriptor for the pipe of signals, or its first job gets no worker thread. The check fails with an error sentence
 * instead. [loop]
 */
#ifndef SRV_RESOURCES_H
#define SRV_RESOURCES_H

#include <uv.h>

#include "otolith/status.h"

/* LIMIT: the descriptors or the thread that the start needs are not available. */
enum oto_status srv_resources_check(struct oto_error *error);

/* Starts libuv's worker thread now, so that no later request has to start it. `job` must stay valid until the loop has run. */
void srv_resources_start_worker(uv_loop_t *loop, uv_work_t *job);

#endif
