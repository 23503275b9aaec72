#include "source/world.h"

#include <stdlib.h>

#define CHECK_MS 100
#define REATTACH_MS 20 /* limit of one attempt; the pages wait for the world anyway */

struct web_world {
    struct oto_client *client;
    struct web_world_listener *listeners;
    uv_timer_t check;
    uint32_t run;
    bool over;
};

static void announce(struct web_world *world)
{
    for (struct web_world_listener *listener = world->listeners; listener != NULL; listener = listener->next) {
        listener->changed(listener->context);
    }
}

static void on_check(uv_timer_t *timer)
{
    struct web_world *world = timer->data;
    struct oto_error error = {0};
    if (!world->over) {
        if (oto_client_run_is_over(world->client)) {
            world->over = true;
            announce(world);
        }
    } else if (oto_client_reattach(world->client, REATTACH_MS, &error) == OTO_OK) {
        world->over = false;
        world->run++;
        announce(world);
    }
}

enum oto_status web_world_open(uv_loop_t *loop, const struct oto_client_options *options, struct web_world **world,
                               struct oto_error *error)
{
    struct web_world *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for the world");
    }
    const enum oto_status status = oto_client_open(options, &made->client, error);
    if (status != OTO_OK) {
        free(made);
        return status;
    }
    made->run = 1;
    (void)uv_timer_init(loop, &made->check);
    made->check.data = made;
    (void)uv_timer_start(&made->check, on_check, CHECK_MS, CHECK_MS);
    *world = made;
    return OTO_OK;
}

void web_world_listen(struct web_world *world, struct web_world_listener *listener)
{
    listener->next = world->listeners;
    world->listeners = listener;
}

struct oto_client *web_world_client(struct web_world *world)
{
    return world->client;
}

bool web_world_is_over(const struct web_world *world)
{
    return world->over;
}

uint32_t web_world_run(const struct web_world *world)
{
    return world->run;
}
