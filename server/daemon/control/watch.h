/*
 * Files of plugins that are watched (`watch: true`): one that is replaced by renaming another into its place is swapped
 * in, by the same road as a swap that somebody asked for. What fails becomes an event. [loop]
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
void srv_watch_stop(struct srv_watch *watch);    /* before the loader is stopped; NULL is allowed */
void srv_watch_destroy(struct srv_watch *watch); /* after the loop has run out; NULL is allowed */

#endif
