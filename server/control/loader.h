/*
 * Loader work: parameter changes and swaps are made ready in one worker thread, one at a time, and never two for one
 * node before the first has been applied; then the tick applies them, and the worker frees what they replaced. [loop]
 */
#ifndef SRV_LOADER_H
#define SRV_LOADER_H

#include <stdbool.h>
#include <uv.h>

#include "control/request.h"

struct srv_loader *srv_loader_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_courier *courier);
/* Takes no more work, and answers what has not begun. */
void srv_loader_stop(struct srv_loader *loader);
void srv_loader_destroy(struct srv_loader *loader); /* after the loop has run out; NULL is allowed */

/* Sets one parameter (plugin NULL) or swaps the plugin; copies its texts, owns the ticket, answers by it. */
void srv_loader_set(struct srv_loader *loader, struct srv_ticket *ticket, uint32_t node, const char *key,
                    const char *yaml);
void srv_loader_swap(struct srv_loader *loader, struct srv_ticket *ticket, uint32_t node, const char *path);

#endif
