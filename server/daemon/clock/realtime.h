/*
 * Rights of a real-time process: SCHED_FIFO, locked memory, a CPU that does not enter deep sleep states. The server works
 * without them; one sentence reports which of them the kernel refused.
 */
#ifndef SRV_CLOCK_REALTIME_H
#define SRV_CLOCK_REALTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct srv_rights {
    int32_t priority;  /* requested SCHED_FIFO priority; 0: no rights are requested */
    int thread_cause;  /* errno of SCHED_FIFO for the tick thread, 0: granted */
    int memory_cause;  /* errno of mlockall, 0: locked */
    int latency_fd;    /* open descriptor of /dev/cpu_dma_latency; -1: not open */
    bool real_time;    /* the tick thread is SCHED_FIFO now */
};

/* [loop] Requests locked memory and, with `hold_latency`, a CPU without deep sleep, for the whole process. */
void srv_rights_take(struct srv_rights *rights, int32_t priority, bool hold_latency);
void srv_rights_drop(struct srv_rights *rights); /* zeroed is allowed */
/* [loop] Writes one sentence about the rights. Returns whether all requested rights were granted. */
bool srv_rights_text(const struct srv_rights *rights, char *text, size_t bytes);

/* The tick thread calls this first: it sets the timer slack and touches the stack, so that later use causes no page fault. */
void srv_rights_prepare_thread(void);
/* [tick] Selects SCHED_FIFO while ticks are paced, else SCHED_OTHER: a SCHED_FIFO thread that never sleeps blocks its CPU. */
void srv_rights_set_thread(struct srv_rights *rights, bool real_time);

#endif
