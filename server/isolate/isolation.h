/*
 * Isolation of nodes in plugin hosts (A17), as a shell of the simulator uses it: after srv_sim_create and before
 * srv_sim_begin it starts the hosts of all nodes with `isolation: process` and becomes the simulator's remote runners.
 */
#ifndef SRV_ISOLATE_ISOLATION_H
#define SRV_ISOLATE_ISOLATION_H

#include "sim/sim.h"

struct srv_isolation_hooks {
    void *context;
    /* [any] Called when an event waits for srv_isolation_publish_events. */
    void (*wake)(void *context);
    int64_t candidate_timeout_ns; /* timeout of a swap's candidate in a world without a pace; 0: that of the other plugins */
};

/* [loop] A world without isolated nodes gets nothing. On failure srv_isolation_destroy drops what was made. */
enum oto_status srv_isolation_create(struct srv_sim *sim, const struct srv_isolation_hooks *hooks, oto_warn_function warn,
                                     void *warn_context, struct oto_error *error);
/* [loop] Call before srv_sim_destroy; NULL is allowed. */
void srv_isolation_destroy(struct srv_sim *sim);

/* [any] Ends every wait for a host. */
void srv_isolation_quit(struct srv_sim *sim);
/* [tick] Writes the events of hosts that died or started. */
void srv_isolation_publish_events(struct srv_sim *sim);

/* Facts about a plugin host for other parts of the server. */
struct srv_group_facts {
    const char *name;
    uint32_t nodes;
    bool async;
    int64_t budget_ns;
    int32_t pid; /* 0: not running */
    uint64_t restarts, stale;
    uint32_t landlock; /* ABI version of the kernel's Landlock that confines its hosts; 0: the kernel has none */
};

/* [any] Plugin host `index` of the world, false beyond the last; and the topic of its node `member`, NULL beyond. */
bool srv_isolation_group(const struct srv_sim *sim, uint32_t index, struct srv_group_facts *facts);
const char *srv_isolation_group_node(const struct srv_sim *sim, uint32_t index, uint32_t member);

#endif
