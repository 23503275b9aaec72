/* Detects what a plugin must not do in a probe: threads, open files, signal handlers, allocations, exit handlers. */
#ifndef SRV_PLUGIN_HOST_WATCH_H
#define SRV_PLUGIN_HOST_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* From here on processes whose parent has ended are children of this one. */
bool host_watch_processes(void);
/* Kills the children of this process and waits for them. */
void host_end_children(void);

/* Facts of the process, read before and after the plugin's code ran. */
struct host_facts {
    uint32_t threads, files, timers;
    pid_t process; /* differs in a copy of the process that continues after fork */
    bool has_children;
    int64_t children_kib; /* the most memory that an ended child had; 0: none has ended */
    uint64_t handlers; /* FNV-1a-64 over the disposition of every signal */
};
void host_facts_take(struct host_facts *facts);
/* Returns NULL if nothing changed, else a sentence without subject: "started a thread". */
const char *host_facts_complaint(const struct host_facts *before, const struct host_facts *after);

/* Counts allocations and registered exit handlers while `on`. Not in sanitizer builds, which own malloc. */
void host_watch_calls(bool on);
uint64_t host_watch_allocations(void);
uint64_t host_watch_exit_handlers(void);

#endif
