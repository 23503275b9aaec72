/* Shared by the files of otolith-plugin-host, which has one thread. */
#ifndef SRV_PLUGIN_HOST_HOST_H
#define SRV_PLUGIN_HOST_HOST_H

#include <stdbool.h>
#include <sys/types.h>

#include "host_mailbox.h"
#include "plugin/host.h"
#include "sim/instance.h"

/* The start message of the server and what came with it. */
struct host_job {
    struct srv_host_start_message start;
    void *memory; /* the mapped memory of the first descriptor */
    int plugin_fds[SRV_HOST_MAX_PLUGINS];
    uint32_t landlock; /* ABI version of Landlock; 0: the kernel has none */
};

/* Sends a message to the server. False: the server has ended. */
bool host_send(const struct srv_host_message *message);
bool host_report(enum srv_host_message_kind kind, uint32_t slot, enum oto_status status, const char *text);

/* Records the operation on instance `slot`, counted from 1, for the report of a crash; 0: none. */
void host_mark_operation(struct srv_host_mailbox *mailbox, uint32_t slot, enum srv_host_operation operation);

/* Executes the steps of a motion's request, up to the first that fails, then evaluates the truths. Returns the status
 * of the last step. */
uint32_t host_move(struct srv_host_mailbox *mailbox, uint32_t index, const struct srv_instance *instance);
/* Evaluates the truths that a request asks for, without a step. */
void host_evaluate(struct srv_host_mailbox *mailbox, uint32_t index, const struct srv_instance *instance);

/* Executes a start message. Returns the exit code. */
int host_run(struct host_job *job);
int host_probe(struct host_job *job);
int host_describe(struct host_job *job);

#endif
