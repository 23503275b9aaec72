#include "source/world.h"

#include <stdlib.h>
#include <string.h>

#include "document/document.h"

#define CHECK_MS 100
#define REATTACH_MS 20 /* limit of one attempt; the pages wait for the world anyway */

struct web_world {
    struct oto_client *client;
    struct web_world_listener *listeners;
    struct web_recording recording;
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

static int64_t time_of(const struct oto_value *facts, const char *key)
{
    int64_t t_ns = 0;
    struct oto_error ignored;
    const struct oto_value *value = oto_value_get(facts, key);
    return value != NULL && oto_value_i64(value, &t_ns, &ignored) == OTO_OK ? t_ns : 0;
}

/* Requests from the server whether the world plays a recording, and its start and end. */
static void ask_recording(struct web_world *world)
{
    struct oto_reply reply;
    struct oto_error ignored;
    struct oto_document *document = NULL;
    world->recording = (struct web_recording){0};
    if (oto_control_info(world->client, &reply, &ignored) == OTO_OK &&
        oto_document_parse("info", reply.text, strlen(reply.text), NULL, &document, &ignored) == OTO_OK) {
        const struct oto_value *facts = oto_document_root(document);
        world->recording = (struct web_recording){.plays = oto_value_get(facts, "recording") != NULL,
                                                  .start_ns = time_of(facts, "start_ns"),
                                                  .end_ns = time_of(facts, "end_ns")};
    }
    oto_document_close(document);
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
        ask_recording(world);
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
    ask_recording(made);
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

const struct web_recording *web_world_recording(const struct web_world *world)
{
    return &world->recording;
}

uint32_t web_world_run(const struct web_world *world)
{
    return world->run;
}
