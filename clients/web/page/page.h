/*
 * The sub-protocol `otolith.v1` of the page (README.md of this folder's parent): subscriptions to fields, clock, events,
 * parameters, and control with a token. [loop]
 */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include "http/http.h"
#include "source/world.h"

struct web_page;

struct web_page_options {
    uv_loop_t *loop;
    struct web_world *world;
    const char *socket_path;   /* of the world, for control */
    const char *read_token;    /* NULL: none is needed */
    const char *control_token;
};

/* Options are copied; the world and the tokens must stay valid. */
enum oto_status web_page_open(const struct web_page_options *options, struct web_page **page, struct oto_error *error);
struct web_protocol web_page_protocol(struct web_page *page);

#endif
