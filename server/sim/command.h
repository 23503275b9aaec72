/*
 * Commands: every change that reaches a running world from outside. Each is applied at a tick boundary, and its reply names
 * this boundary. The simulator applies the commands that change the world (srv_sim_apply); the server applies those about
 * pace, participants and the end of the run (server/daemon/thread/commands.c).
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
    /* commands of the simulator */
    SRV_COMMAND_PARAMS = 1, /* uses `change`: new block and prepared data, already checked */
    SRV_COMMAND_SWAP,       /* uses `change`: new plugin, block and prepared data, already checked */
    SRV_COMMAND_EVENT,      /* uses `event`: written to the event ring; with id 0 there is no reply */
    SRV_COMMAND_FAULT,      /* uses `fault`: begins at the next sample */
    SRV_COMMAND_CLEAR_FAULTS, /* uses `node` and `fault_id` (0: all faults of the node) */
    SRV_COMMAND_SNAPSHOT,   /* uses `change`: the live state is copied into it, for its probe */
    SRV_COMMAND_SETTLE,     /* uses `change`: the reply follows at the end of its probation and returns the ownership */
    SRV_COMMAND_CANCEL,     /* uses `node`: ends a swap before its flip; the swap's own reply is CLOSED */
    SRV_COMMAND_UNDO,       /* uses `node`: ends a probation by a roll-back */
    SRV_COMMAND_SAVE,       /* uses `snapshot`: saves the world's state; LIMIT: the room is too small, `bytes` is the needed size */
    /* commands of the server */
    SRV_COMMAND_PAUSE,
    SRV_COMMAND_RESUME,
    SRV_COMMAND_STEP,  /* uses `ticks`; the reply follows after these ticks; then the world is paused */
    SRV_COMMAND_SCALE, /* scale */
    SRV_COMMAND_MODE,  /* mode */
    SRV_COMMAND_STOP,  /* the run ends at the next boundary */
    SRV_COMMAND_JOIN,  /* uses `mailbox`: its participant joins from the next tick; a refusal returns the mailbox */
    SRV_COMMAND_LEAVE, /* uses `mailbox`: its participant has left; the reply returns the mailbox */
    SRV_COMMAND_END_
};

static inline bool srv_command_is_of_sim(enum srv_command_kind kind)
{
    return kind >= SRV_COMMAND_PARAMS && kind <= SRV_COMMAND_SAVE;
}

/* A change of a node. After the reply the same struct holds the replaced instance or parameters, and the caller frees it. */
struct srv_node_change {
    uint32_t node;
    bool swap;                 /* false: a change of parameters */
    struct oto_plugin *plugin; /* SWAP: the candidate; belongs to the change until the change is freed */
};

/* The caller's memory for the state of the world at a boundary. */
struct srv_snapshot {
    void *data;
    uint64_t capacity, bytes;
    uint64_t tick, chain;
    int64_t stall_ns; /* real time that saving took in the tick thread */
};

struct srv_fault;
struct srv_mailbox; /* daemon/participants/mailbox.h */

struct srv_command {
    enum srv_command_kind kind;
    uint64_t id; /* chosen by the sender; the reply has the same */
    uint64_t ticks;
    double scale;
    enum oto_clock_mode mode;
    struct srv_node_change *change; /* heap; ownership returns with the reply */
    struct srv_mailbox *mailbox;
    struct oto_event_record event;
    struct srv_fault *fault; /* made by srv_fault_make; the simulator owns it, unless it refuses the command */
    uint32_t node; /* for CLEAR_FAULTS, CANCEL, UNDO */
    uint64_t fault_id;
    struct srv_snapshot *snapshot; /* for SAVE; must live until the reply */
    /* The request as text, for the log; borrowed until the command is sent. PARAMS: key and value; FAULT: the spec as YAML. */
    const char *key, *text;
};

struct srv_reply {
    uint64_t id;
    enum srv_command_kind kind;
    enum oto_status status;
    uint64_t tick; /* boundary at which the command was applied */
    struct srv_node_change *change;
    struct srv_fault *faults; /* a list that the receiver frees: faults that have ended, and a refused one */
    struct srv_mailbox *mailbox; /* for JOIN and LEAVE: as in the command */
    const char *reason; /* reason of a refusal, static text; or NULL */
    /*
     * SWAP: the flip is done and the probation has begun; the simulator keeps the change until it ends. The command SETTLE
     * asks for the end; its reply is OK if the candidate is accepted, PLUGIN or CLOSED after a roll-back.
     */
    bool settling;
    /* If the command changed what the node runs: what it runs from `tick` on. */
    struct oto_plugin *plugin;
    struct oto_params params; /* borrowed from the node */
    const struct oto_setup *own_setup;
    uint64_t revision;
};

/* The reason of a refusal; without one the text of the status. */
static inline const char *srv_reply_reason(const struct srv_reply *reply)
{
    return reply->reason != NULL ? reply->reason : oto_status_text(reply->status);
}

/* Refuses a command. Returns true: the reply can be sent. */
static inline bool srv_reply_refuse(struct srv_reply *reply, enum oto_status status, const char *reason)
{
    reply->status = status;
    reply->reason = reason;
    return true;
}

#endif
