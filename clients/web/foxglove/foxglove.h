/*
 * The sub-protocols `foxglove.websocket.v1` and `foxglove.sdk.v1`, which have the same messages: channels as CDR with ros2msg,
 * time, parameters, services, the connection graph and status, for Foxglove, Lichtblick and PlotJuggler. The tokens are in the
 * query of the address, because these programs have no other place for them: ws://127.0.0.1:8090/?token=… . [loop]
 */
#ifndef WEB_FOXGLOVE_H
#define WEB_FOXGLOVE_H

#include "http/http.h"
#include "source/world.h"

#define WEB_FOXGLOVE_PROTOCOLS 2u

struct web_foxglove;

struct web_foxglove_options {
    uv_loop_t *loop;
    struct web_world *world;
    const char *socket_path;  /* of the world, for parameters and services */
    const char *read_token;   /* NULL: none is needed */
    const char *control_token;
};

/* Options are copied; the world and the tokens must stay valid. */
enum oto_status web_foxglove_open(const struct web_foxglove_options *options, struct web_foxglove **foxglove,
                                  struct oto_error *error);
void web_foxglove_protocols(struct web_foxglove *foxglove, struct web_protocol protocols[WEB_FOXGLOVE_PROTOCOLS]);

#endif
