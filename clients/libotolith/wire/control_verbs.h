/*
 * The requests of the control socket: one row for each verb. The server and the player dispatch by this table, the client
 * library writes its requests from it, and the page, Foxglove, command line and Python pass names and texts that it checks.
 * What a reply holds: server/README.md. Pure: any thread.
 */
#ifndef OTO_CONTROL_VERBS_H
#define OTO_CONTROL_VERBS_H

#include "base/role.h"
#include "wire/control_message.h"

#define OTO_VERB_ARGUMENTS 16

enum oto_verb_id {
    OTO_VERB_ATTACH,
    OTO_VERB_WAKE,
    OTO_VERB_INFO,
    OTO_VERB_PAUSE,
    OTO_VERB_RESUME,
    OTO_VERB_STEP,
    OTO_VERB_SCALE,
    OTO_VERB_MODE,
    OTO_VERB_SEEK,
    OTO_VERB_GET,
    OTO_VERB_SET,
    OTO_VERB_SWAP,
    OTO_VERB_FAULT,
    OTO_VERB_CLEAR_FAULTS,
    OTO_VERB_CHECKPOINT,
    OTO_VERB_RESTORE,
    OTO_VERB_LOSSLESS,
    OTO_VERB_ACK,
    OTO_VERB_JOIN,
    OTO_VERB_SHUTDOWN,
    OTO_VERB_COUNT
};

/* How long a client waits for the reply. */
enum oto_verb_wait {
    OTO_WAIT_REPLY, /* the client's timeout */
    OTO_WAIT_NODES, /* longer for a pattern, which may name 10 000 nodes */
    OTO_WAIT_DISK,  /* longer: a file is written or read */
    OTO_WAIT_TICKS, /* while ticks are made */
    OTO_WAIT_NONE   /* there is no reply */
};

enum {
    OTO_VERB_CHANGES = 1 << 0, /* changes the state of the run: refused in a replay */
    OTO_VERB_LOCAL = 1 << 1,   /* refused to remote clients: the verb shares memory, or makes ticks wait for the client */
    OTO_VERB_OF_NODE = 1 << 2, /* changes only nodes: the role is checked for each */
    OTO_VERB_PAGE = 1 << 3     /* the page and Foxglove offer it */
};

struct oto_verb_argument {
    const char *key;
    enum oto_argument_kind kind;
    bool required;
};

struct oto_verb {
    const char *op;
    enum srv_role role; /* the lowest role that may send it; with OBSERVE it changes nothing */
    uint32_t flags;     /* OTO_VERB_… */
    enum oto_verb_wait wait;
    struct oto_verb_argument arguments[OTO_VERB_ARGUMENTS]; /* key NULL after the last */
};

extern const struct oto_verb oto_verbs[OTO_VERB_COUNT];

/* Returns OTO_VERB_COUNT if there is no verb of this name. */
enum oto_verb_id oto_verb_find(const char *op);
uint32_t oto_verb_argument_count(const struct oto_verb *verb);
/* Refuses arguments that the verb does not have, that are of another kind, or that are missing. */
enum oto_status oto_verb_check(const struct oto_verb *verb, const struct oto_message *message, struct oto_error *error);

/* The value of an argument: the member of its kind, and `text` also for texts. */
struct oto_verb_value {
    const char *text; /* NULL: without this argument */
    uint64_t u64;
    double f64;
    bool flag;
    bool absent; /* for kinds other than text */
};
/* Writes the arguments: one value for each, in the order of the table. Lists are left to the caller. */
void oto_verb_write(const struct oto_verb *verb, const struct oto_verb_value *values, struct oto_message_writer *writer);
/*
 * Reads values from texts, in the order of the table. An empty text, or one that is missing at the end, means: without this
 * argument. Refuses texts that are not of the argument's kind, and too many or too few of them.
 */
enum oto_status oto_verb_read(const struct oto_verb *verb, const char *const *texts, uint32_t count, struct oto_verb_value *values,
                              struct oto_error *error);

#endif
