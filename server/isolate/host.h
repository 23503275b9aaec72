/* What the files of otolith-plugin-host share. One thread. */
#ifndef SRV_PLUGIN_HOST_HOST_H
#define SRV_PLUGIN_HOST_HOST_H

#include <stdbool.h>
#include <sys/types.h>

#include "host_mailbox.h"
#include "plugin/host.h"

/* What the server sent at the start. */
struct host_job {
    struct srv_host_start_message start;
    void *memory; /* the first descriptor, mapped */
    int plugin_fds[SRV_HOST_MAX_PLUGINS];
    uint32_t landlock; /* its ABI, 0: the kernel offers none */
};

/* One message to the server; false when it is gone. */
bool host_send(const struct srv_host_message *message);
bool host_report(enum srv_host_message_kind kind, uint32_t slot, enum oto_status status, const char *text);

/* Says what is done with the instance of `slot`, counted from 1; 0: of none. */
void host_mark_operation(struct srv_host_mailbox *mailbox, uint32_t slot, enum srv_host_operation operation);

/* A motion's request: its steps, until one is not good, then the truths; returns what the last step said. */
uint32_t host_move(struct srv_host_mailbox *mailbox, uint32_t index, const struct oto_plugin *plugin,
                   const struct oto_instance *instance);
/* Truths alone. */
void host_evaluate(struct srv_host_mailbox *mailbox, uint32_t index, const struct oto_plugin *plugin,
                   const struct oto_instance *instance);

/* The work of a start message; returns the exit code. */
int host_run(struct host_job *job);
int host_probe(struct host_job *job);
int host_describe(struct host_job *job);

#endif
