/* The simplest swap of a node: parameters carried over, no probe, no shadow, no probation. */
#ifndef TESTS_PLAIN_SWAP_H
#define TESTS_PLAIN_SWAP_H

#include "daemon/thread/engine.h"

static inline enum oto_status make_plain_swap(const struct srv_engine *engine, uint32_t node, const char *path,
                                              struct srv_node_change **change, struct oto_error *error)
{
    const struct srv_swap_options options = {.plugin = path};
    enum oto_status status = srv_swap_load(engine, node, &options, change, error);
    if (status == OTO_OK) {
        status = srv_swap_ready(engine, *change, error);
        if (status != OTO_OK) {
            (void)srv_change_free(*change);
            *change = NULL;
        }
    }
    return status;
}

#endif
