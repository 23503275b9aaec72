/* Deadly signals: what a plugin did is left in shared memory for the server to tell. */
#ifndef SRV_PLUGIN_HOST_CRASH_H
#define SRV_PLUGIN_HOST_CRASH_H

#include "host_mailbox.h"
#include "plugin/host.h"

/* Where the code of each plugin is mapped. */
struct host_ranges {
    uint32_t count;
    struct host_range {
        uintptr_t start, end;
    } range[SRV_HOST_MAX_PLUGINS];
};

/* Signals are told in *crash from now on. One process, one place: the handler has no other way to it. */
enum oto_status host_crash_watch(struct srv_host_crash *crash, struct oto_error *error);
/* Plugin `index` is loaded: its code is known by its step. */
void host_crash_know(uint32_t index, const struct oto_plugin *plugin);

#endif
