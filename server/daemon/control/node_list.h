/*
 * Requests for one node, or for all nodes whose names match a pattern (base/pattern.h). The nodes of a pattern are changed in the
 * order of the file, each at a tick boundary, up to 64 at once; the first alone, so that a wrong value changes none. The first
 * refusal ends the request. One reply and one event for all. [loop]
 */
#ifndef SRV_NODE_LIST_H
#define SRV_NODE_LIST_H

#include "daemon/control/request.h"

/* What is to be done with each node. The texts are borrowed while `begin` runs. */
struct srv_node_work {
    /* Begins it and finishes `pending`, at once or later. */
    void (*begin)(const struct srv_node_work *work, struct srv_pending_request *pending, uint32_t node);
    struct srv_control *control;
    struct srv_engine *engine;
    struct srv_command_queue *command_queue;
    const char *key, *text; /* may be NULL */
    uint64_t number;
};

/*
 * For the nodes that the argument `node` names; `what` is the request's text in the event ring. The request is answered, now
 * or later. The members `control`, `engine` and `command_queue` are filled here.
 */
void srv_nodes_do(struct srv_request *request, const struct srv_node_work *work, const char *what);

/* The end of a request for a node of a list; for srv_pending_request_finish. */
void srv_node_list_take(struct srv_node_list *list, uint32_t node, enum oto_status status, uint64_t tick, const char *text);

#endif
