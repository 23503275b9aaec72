/*
 * Watches the files of plugins (`watch: true`). When another file is renamed to the place of a watched file, it is swapped
 * in as by a client's request for a swap. A failure is reported by an event. [loop]
 */
#ifndef SRV_WATCH_H
#define SRV_WATCH_H

#include "daemon/control/loader.h"

struct srv_watch;

/* NULL when out of memory. */
struct srv_watch *srv_watch_create(struct srv_engine *engine, struct srv_command_queue *command_queue,
                                   struct srv_loader *loader);
/* A file that cannot be watched is reported by an event. */
void srv_watch_start(struct srv_watch *watch, uv_loop_t *loop);
void srv_watch_stop(struct srv_watch *watch);    /* call it before the loader is stopped; NULL is allowed */
void srv_watch_destroy(struct srv_watch *watch); /* call it after the loop has ended; NULL is allowed */

#endif
