/*
 * Parameter changes and swaps. The worker thread prepares one change at a time, and the next change of a node only after the
 * previous change of that node was applied. The tick thread applies changes; the worker frees the replaced objects. [loop]
 */
#ifndef SRV_LOADER_H
#define SRV_LOADER_H

#include <stdbool.h>
#include <uv.h>

#include "daemon/control/request.h"

/* `probe` is called before each swap unless the swap disables it; NULL: no probe. */
struct srv_loader *srv_loader_create(struct srv_worker *worker, struct srv_engine *engine,
                                     struct srv_command_queue *command_queue, srv_probe_function *probe);
/* The worker is stuck in a job: replies to its request. If the job returns later, it changes nothing. */
void srv_loader_give_up_running(struct srv_loader *loader, enum oto_status status, const char *why);
/* Refuses requests whose jobs have not started. */
void srv_loader_refuse_waiting(struct srv_loader *loader, enum oto_status status, const char *why);
/* Accepts no more requests, and refuses requests whose jobs have not started. */
void srv_loader_stop(struct srv_loader *loader);
void srv_loader_destroy(struct srv_loader *loader); /* call it after the loop has ended; NULL is allowed */

/* These functions copy their texts, own the pending request and reply through it; `pending` NULL: there is no reply. */
void srv_loader_set(struct srv_loader *loader, struct srv_pending_request *pending, uint32_t node, const char *key,
                    const char *yaml);
#define SRV_SWAP_PROBATION_NS INT64_C(1000000000) /* default */

/*
 * A second swap of a node is refused with CONFLICT until the first swap is live; then it ends the probation of the first.
 * `options->probe` is ignored: the loader has its own. With `wait` the reply is sent when the probation is over.
 */
void srv_loader_swap(struct srv_loader *loader, struct srv_pending_request *pending, uint32_t node,
                     const struct srv_swap_options *options, bool wait);
/* Whether a swap of the node is under way and not live yet. */
bool srv_loader_is_swapping(const struct srv_loader *loader, uint32_t node);

#endif
