/*
 * Commands: all that reaches a running world from outside, each applied at a tick boundary and answered with the boundary
 * from which it holds. The simulator applies those that change the world (srv_sim_apply); pace, participants and the run's
 * end are the server's (server/daemon/thread/commands.c).
 */
#ifndef SRV_SIM_COMMAND_H
#define SRV_SIM_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/records.h"
#include "otolith/segment.h"
#include "plugin/host.h"
#include "world/world_config.h"

enum srv_command_kind {
    /* of the simulator */
    SRV_COMMAND_PARAMS = 1, /* change: new block and prepared data, already checked */
    SRV_COMMAND_SWAP,       /* change: new plugin, block and prepared data, already checked */
    SRV_COMMAND_EVENT,      /* event: written to the event ring; with id 0 there is no reply */
    SRV_COMMAND_FAULT,      /* fault: begins at the next sample */
    SRV_COMMAND_CLEAR_FAULTS, /* node, fault_id (0: all of the node) */
    SRV_COMMAND_SNAPSHOT,   /* change: the live state is copied into it, for its probe */
    SRV_COMMAND_SETTLE,     /* change: answered when its probation is over; ownership returns with that reply */
    SRV_COMMAND_CANCEL,     /* node: ends a swap before it is live; the swap is answered CLOSED */
    SRV_COMMAND_UNDO,       /* node: ends a probation by rolling back */
    SRV_COMMAND_SAVE,       /* snapshot: the world's state; LIMIT where it has too little room: `bytes` is what it takes */
    /* of the server */
    SRV_COMMAND_PAUSE,
    SRV_COMMAND_RESUME,
    SRV_COMMAND_STEP,  /* ticks; answered when they are done; then paused */
    SRV_COMMAND_SCALE, /* scale */
    SRV_COMMAND_MODE,  /* mode */
    SRV_COMMAND_STOP,  /* the run ends at the next boundary */
    SRV_COMMAND_JOIN,  /* mailbox: its participant takes part from the next tick; a refusal gives it back */
    SRV_COMMAND_LEAVE, /* mailbox: its participant is gone; the reply gives it back */
    SRV_COMMAND_END_
};

static inline bool srv_command_is_of_sim(enum srv_command_kind kind)
{
    return kind >= SRV_COMMAND_PARAMS && kind <= SRV_COMMAND_SAVE;
}

/* What a change brings to a node; after its reply the same struct holds what was replaced, to be freed by the caller. */
struct srv_node_change {
    uint32_t node;
    bool swap;                 /* else a change of parameters */
    struct oto_plugin *plugin; /* SWAP: the candidate, the change's own until it is freed */
};

/* Room for the state of the world at a boundary; the caller's. */
struct srv_snapshot {
    void *data;
    uint64_t capacity, bytes;
    uint64_t tick, chain;
    int64_t stall_ns; /* real time that the tick thread gave for it */
};

struct srv_fault;
struct srv_mailbox; /* daemon/participants/mailbox.h */

struct srv_command {
    enum srv_command_kind kind;
    uint64_t id; /* the caller's, returned in the reply */
    uint64_t ticks;
    double scale;
    enum oto_clock_mode mode;
    struct srv_node_change *change; /* heap; ownership returns with the reply */
    struct srv_mailbox *mailbox;
    struct oto_event_record event;
    struct srv_fault *fault; /* made by srv_fault_make; ownership goes over, or returns with a refusal */
    uint32_t node; /* CLEAR_FAULTS, CANCEL, UNDO */
    uint64_t fault_id;
    struct srv_snapshot *snapshot; /* SAVE; lives until the reply */
    /* The request as text, for the log; borrowed until the command is sent. PARAMS: key and value; FAULT: the spec as YAML. */
    const char *key, *text;
};

struct srv_reply {
    uint64_t id;
    enum srv_command_kind kind;
    enum oto_status status;
    uint64_t tick; /* boundary at which it was applied */
    struct srv_node_change *change;
    struct srv_fault *faults; /* a list to be freed: those that are over, and one that was refused */
    struct srv_mailbox *mailbox; /* JOIN and LEAVE: as in the command */
    const char *reason; /* of a refusal, static text; or NULL */
    /*
     * SWAP: the simulator keeps the change, whose plugin is live, until its probation is over: ask by SETTLE. Its answer is
     * OK when the plugin stays, PLUGIN or CLOSED when the previous one is back.
     */
    bool settling;
    /* What the node runs from `tick` on, where that has changed. */
    struct oto_plugin *plugin;
    struct oto_params params; /* borrowed from the node */
    const struct oto_setup *own_setup;
    uint64_t revision;
};

#endif
