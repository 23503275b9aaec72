/*
 * Loader work: parameter changes and swaps are made ready in one worker thread, one at a time, and never two for one
 * node before the first has been applied; then the tick applies them, and the worker frees what they replaced. [loop]
 */
#ifndef SRV_LOADER_H
#define SRV_LOADER_H

#include <stdbool.h>
#include <uv.h>

#include "daemon/control/request.h"

/* `probe` is asked before each swap that does not go without; NULL: there is none. */
struct srv_loader *srv_loader_create(struct srv_worker *worker, struct srv_engine *engine, struct srv_courier *courier,
                                     srv_probe_function *probe);
/* Answers what has not begun. */
void srv_loader_refuse_waiting(struct srv_loader *loader, enum oto_status status, const char *why);
/* Takes no more work, and answers what has not begun. */
void srv_loader_stop(struct srv_loader *loader);
void srv_loader_destroy(struct srv_loader *loader); /* after the loop has run out; NULL is allowed */

/* Each copies its texts, owns the ticket and answers by it; without a ticket (NULL) nobody is answered. */
void srv_loader_set(struct srv_loader *loader, struct srv_ticket *ticket, uint32_t node, const char *key,
                    const char *yaml);
#define SRV_SWAP_PROBATION_NS INT64_C(1000000000) /* where nobody says otherwise */

/*
 * A second swap of a node is refused with CONFLICT until the first is live; then it ends the first one's probation. `options->probe` is not looked at: the
 * loader has its own. With `wait` the answer comes when the probation is over.
 */
void srv_loader_swap(struct srv_loader *loader, struct srv_ticket *ticket, uint32_t node,
                     const struct srv_swap_options *options, bool wait);
/* Whether a swap of the node is under way and not live yet. */
bool srv_loader_is_swapping(const struct srv_loader *loader, uint32_t node);
/* Takes a swap back: one on probation at once, else by a swap to what was before, as `options` wish it. */
void srv_loader_undo(struct srv_loader *loader, struct srv_ticket *ticket, uint32_t node,
                     const struct srv_swap_options *options, bool wait);
/* Ends a swap that is not live yet. */
void srv_loader_cancel(struct srv_loader *loader, struct srv_ticket *ticket, uint32_t node);

#endif
