/*
 * Requests for one node, or for all nodes whose names match a pattern (base/pattern.h). The nodes of a pattern are changed in
 * the order of the world file, each at a tick boundary. The first node is changed alone, so that a wrong value changes no
 * node; then up to 64 are changed at the same time. The first refusal ends the request. All nodes share one reply and one
 * event. [loop]
 */
#ifndef SRV_NODE_LIST_H
#define SRV_NODE_LIST_H

#include "daemon/control/request.h"

/* The work for each node. The texts are borrowed while `begin` runs. */
struct srv_node_work {
    /* Begins the work for one node and finishes `pending`, at once or later. */
    void (*begin)(const struct srv_node_work *work, struct srv_pending_request *pending, uint32_t node);
    struct srv_control *control;
    struct srv_engine *engine;
    struct srv_command_queue *command_queue;
    const char *key, *text; /* may be NULL */
    uint64_t number;
};

/*
 * Does the work for the nodes that the request's argument `node` names, and replies to the request, at once or later. `what`
 * is the request's text in the event ring. The caller need not set the members `control`, `engine` and `command_queue`.
 */
void srv_nodes_do(struct srv_request *request, const struct srv_node_work *work, const char *what);

/* srv_pending_request_finish calls it when the work for one node of a list has ended. */
void srv_node_list_take(struct srv_node_list *list, uint32_t node, enum oto_status status, uint64_t tick, const char *text);

#endif
