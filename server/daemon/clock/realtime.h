/*
 * What the kernel grants a real-time process: SCHED_FIFO, locked memory, a CPU that does not sleep deeply. Everything
 * works without; what was refused is said in one sentence.
 */
#ifndef SRV_CLOCK_REALTIME_H
#define SRV_CLOCK_REALTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct srv_rights {
    int32_t priority;  /* wanted SCHED_FIFO priority; 0: no rights are asked for */
    int thread_cause;  /* errno of SCHED_FIFO for the tick thread, 0: granted */
    int memory_cause;  /* errno of mlockall, 0: locked */
    int latency_fd;    /* of /dev/cpu_dma_latency, -1: not held */
    bool real_time;    /* the tick thread is SCHED_FIFO now */
};

/* [loop] Memory and latency, for the process. */
void srv_rights_take(struct srv_rights *rights, int32_t priority, bool hold_latency);
void srv_rights_drop(struct srv_rights *rights); /* zeroed is allowed */
/* [loop] One sentence. Returns whether everything asked for was granted. */
bool srv_rights_text(const struct srv_rights *rights, char *text, size_t bytes);

/* First thing of the tick thread: timer slack and a touched stack. */
void srv_rights_prepare_thread(void);
/* [tick] SCHED_FIFO while ticks are paced, SCHED_OTHER while they are not: a thread that never sleeps must not be FIFO. */
void srv_rights_set_thread(struct srv_rights *rights, bool real_time);

#endif
