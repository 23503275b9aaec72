/*
 * Changes of a running node: made ready off the tick [loop], applied at a boundary [tick], and what was replaced goes
 * back to the main thread to be dropped (A16, first form).
 */
#ifndef SRV_HOST_CHANGE_H
#define SRV_HOST_CHANGE_H

#include "host/box.h"
#include "host/node.h"
#include "world/engine.h"

/* A change with what only its makers and appliers need. Heap; freed by srv_change_free. */
struct srv_change {
    struct srv_node_change open; /* first: what engine.h shows is this */
    uint64_t revision;           /* of the node, as it was when the change was made */
    char text[152];              /* of the event */
    struct oto_plugin *plugin_now; /* after it was applied: what the node runs */
    struct oto_params params_now;
    struct srv_box *box; /* isolated nodes: a host with the new parameters; or NULL */
};

/* What a node was when its change was begun: copies and held handles, so that any thread may read them. */
struct srv_change_base {
    uint32_t node;
    const char *topic;
    const struct oto_setup *setup;
    struct oto_plugin *plugin;
    struct oto_params params;
    uint64_t revision;
    bool isolated; /* its host prepares it */
};

enum oto_status srv_change_make_parameter(const struct srv_change_base *base, const char *key, const char *yaml,
                                          struct srv_node_change **change, struct oto_error *error);
enum oto_status srv_change_make_plugin(const struct srv_change_base *base, const char *path,
                                       struct srv_node_change **change, struct oto_error *error);

/*
 * [tick] Applies a change; on OTO_OK it holds what was replaced. Otherwise the node is as before and *reason says why.
 */
enum oto_status srv_change_apply(struct srv_node *node, struct srv_change *change, const char **reason);

#endif
