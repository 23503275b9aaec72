/* Deadly signals: records signal and place in shared memory for the server. */
#ifndef SRV_PLUGIN_HOST_CRASH_H
#define SRV_PLUGIN_HOST_CRASH_H

#include "host_mailbox.h"
#include "plugin/host.h"

/* The address ranges of the plugins' code. */
struct host_ranges {
    uint32_t count;
    struct host_range {
        uintptr_t start, end;
    } range[SRV_HOST_MAX_PLUGINS];
};

/* Installs the handlers, which write to *crash. Once a process, because a handler has no argument. */
enum oto_status host_crash_watch(struct srv_host_crash *crash, struct oto_error *error);
/* Registers the code of plugin `index`, found by the address of its step. */
void host_crash_know(uint32_t index, const struct oto_plugin *plugin);

#endif
