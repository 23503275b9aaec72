/*
 * The world that is shown: an ordinary client with role `observe`, which reattaches when the world restarts. [loop]
 */
#ifndef WEB_WORLD_H
#define WEB_WORLD_H

#include <uv.h>

#include "otolith/client.h"

struct web_world;

/* A recording that `otolith play` serves: a page or viewer may seek in it. */
struct web_recording {
    bool plays; /* false: the world is live */
    int64_t start_ns, end_ns;
};

/* `changed` is called after the client has attached to another run, and when a run has ended. */
struct web_world_listener {
    void *context;
    void (*changed)(void *context);
    struct web_world_listener *next;
};

enum oto_status web_world_open(uv_loop_t *loop, const struct oto_client_options *options, struct web_world **world,
                               struct oto_error *error);
/* The listener must stay valid. */
void web_world_listen(struct web_world *world, struct web_world_listener *listener);

struct oto_client *web_world_client(struct web_world *world);
bool web_world_is_over(const struct web_world *world); /* true: the run has ended; another run may follow */
const struct web_recording *web_world_recording(const struct web_world *world);
uint32_t web_world_run(const struct web_world *world); /* the number of the current run, counted from 1 at each attach */

#endif
