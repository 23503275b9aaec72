/* The simplest swap of a node: parameters carried over, no probe, no shadow, no probation. */
#ifndef TESTS_PLAIN_SWAP_H
#define TESTS_PLAIN_SWAP_H

#include "daemon/thread/engine.h"

static inline enum oto_status make_plain_swap(struct srv_engine *engine, uint32_t node, const char *path,
                                              struct srv_node_change **change, struct oto_error *error)
{
    const struct srv_swap_options options = {.plugin = path};
    enum oto_status status = srv_sim_swap_load(srv_engine_sim(engine), node, &options, change, error);
    if (status == OTO_OK) {
        status = srv_sim_swap_ready(srv_engine_sim(engine), *change, error);
        if (status != OTO_OK) {
            (void)srv_change_free(*change);
            *change = NULL;
        }
    }
    return status;
}

#endif
