/*
 * A plugin host: the process otolith-plugin-host with the mailbox that it shares with the server. Threads that may
 * block start, check and end it; the tick thread only reads and writes the mailbox. The server has its own copies of
 * offsets and sizes, and copies and checks everything that it reads from the mailbox. [loop]
 */
#ifndef SRV_ISOLATE_PLUGIN_HOST_H
#define SRV_ISOLATE_PLUGIN_HOST_H

#include <stdbool.h>
#include <sys/types.h>

#include "sim/inputs.h"
#include "plugin/host.h"
#include "isolate/host_mailbox.h"

#define SRV_HOST_START_TIMEOUT_NS INT64_C(60000000000) /* for all plugins together to load, prepare and init, also on a busy machine */

/* The description of an instance that a host will run. */
struct srv_host_instance_spec {
    const char *topic; /* for messages */
    struct oto_setup setup;
    struct oto_plugin *plugin; /* only its sealed copy is used */
    struct oto_params params;  /* borrowed */
    const struct oto_params *old_params; /* of a change: the old parameters for set_params; or NULL */
    const struct srv_inputs *inputs;     /* inputs of an estimator, else NULL */
    uint64_t old_state_bytes;            /* in a swap: size of the old state for `migrate` */
    uint32_t old_state_version;
    uint32_t flags; /* SRV_SLOT_… */
};

/* Where the parts of an instance are in the mailbox. */
struct srv_host_layout {
    const char *topic;
    struct oto_setup setup;
    struct oto_plugin *plugin; /* held */
    struct oto_params params;  /* a copy, from which the next host is started */
    uint64_t params_offset, old_params_offset, state_offset, state_bytes, old_state_offset, old_state_bytes;
    uint64_t payload_offset[OTO_PLUGIN_MAX_PORTS];
    uint32_t payload_bytes[OTO_PLUGIN_MAX_PORTS];
    uint32_t port_count, plugin_index, flags, old_state_version;
    /* of estimators */
    uint64_t bindings_offset, bindings_bytes, samples_offset, payloads_offset;
    uint32_t sample_capacity, payload_stride;
    uint64_t instants_offset; /* of motions; else 0 */
    uint64_t controls_offset; /* of motions that take controls; else 0 */
};

struct srv_host {
    struct srv_host_mailbox *memory;
    uint64_t bytes;
    uint32_t slot_count;
    struct srv_host_layout *layouts;
    pid_t pid;
    int pid_fd, control_fd;
    uint32_t landlock; /* ABI of Landlock in force, 0: none */
    uint64_t revision; /* revision of the parameters of its instances */
    uint32_t dead;     /* release: the process has ended */
    char own_directory[SRV_HOST_DIRECTORY_BYTES]; /* of plugins that run code of others; "": none */
    bool was_stuck;    /* it was killed because it did not answer */
    int end_code, end_status; /* CLD_… and the exit code or signal */
};

/*
 * Starts a host and waits until its instances are ready. `fifo_priority` is wanted, not needed; 0: none. On failure
 * nothing is left; *culprit is the index of the instance that failed.
 */
enum oto_status srv_host_start(const struct srv_host_instance_spec *specs, uint32_t spec_count, int32_t fifo_priority,
                               oto_warn_function warn, void *warn_context, struct srv_host **host, uint32_t *culprit,
                               struct oto_error *error);
/* Reaps the process without waiting. False: it runs. Wakes the thread that waits for an answer. */
bool srv_host_reap(struct srv_host *host);
/* Kills the process if it lives, and frees all. NULL is allowed. */
void srv_host_end(struct srv_host *host);

/* Writes the samples for the next step of an estimator: at most the capacity of its inputs. */
void srv_host_put_samples(const struct srv_host *host, uint32_t slot, const struct srv_inputs *inputs, uint32_t count);

/* The instance that the process was executing when it ended; UINT32_MAX: none. */
uint32_t srv_host_culprit(const struct srv_host *host);
/* Whether a plugin caused the end, not another process. */
bool srv_host_was_ended_by_plugin(const struct srv_host *host);
/* How and where an ended host ended: "was ended by SIGSEGV (touched 0x0) in step, at make_trouble+0x12". */
void srv_host_describe_end(const struct srv_host *host, char *text, size_t bytes);

static inline struct srv_host_slot *srv_host_slot(const struct srv_host *host, uint32_t index)
{
    return srv_host_slot_at(host->memory, index);
}

static inline void *srv_host_at(const struct srv_host *host, uint64_t offset)
{
    return (unsigned char *)host->memory + offset;
}

/* ---- the process alone, also for the probe ---- */

struct srv_host_process {
    pid_t pid;
    int pid_fd, control_fd;
};

/* Spawns otolith-plugin-host (OTOLITH_PLUGIN_HOST, else beside this program) and sends the start message. */
struct srv_host_spawn_options {
    enum srv_host_work work;
    int memory_fd;
    uint64_t bytes; /* of it */
    const int *plugin_fds;
    uint32_t plugin_count;
    int32_t fifo_priority;
    const char *own_directory; /* where the process may write files; NULL: nowhere */
};
enum oto_status srv_host_spawn(const struct srv_host_spawn_options *order, struct srv_host_process *process,
                               struct oto_error *error);
/*
 * Receives the process's next message, until the deadline (CLOCK_MONOTONIC). OTO_TIMEOUT; OTO_CLOSED: the process has
 * ended.
 */
enum oto_status srv_host_receive(struct srv_host_process *process, int64_t deadline_ns, struct srv_host_message *message);
/* Describes, after OTO_CLOSED, how a process ended by itself: "exited with code 127". */
void srv_host_end_text(const struct srv_host_process *process, char *text, size_t bytes);
/* Kills and reaps the process and closes its descriptors. */
void srv_host_process_end(struct srv_host_process *process);
/* Makes sealed memory of a fixed size and maps it. On failure NULL, and the error is set. */
void *srv_host_memory(const char *name, uint64_t bytes, int *fd, struct oto_error *error);

/* Text of a crash: signal, what was touched, and the plugin's function. `fd` is the plugin's copy, -1: unknown. */
void srv_crash_describe(const struct srv_host_crash *crash, int fd, char *text, size_t bytes);
const char *srv_host_operation_text(uint32_t operation);

#endif
