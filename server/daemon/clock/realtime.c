#include "daemon/clock/realtime.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STACK_TOUCH_BYTES (128 * 1024)

static int hold_cpu_latency(void)
{
    const int32_t zero_us = 0;
    const int fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, &zero_us, sizeof zero_us) != (ssize_t)sizeof zero_us) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

void srv_rights_take(struct srv_rights *rights, int32_t priority, bool hold_latency)
{
    memset(rights, 0, sizeof *rights);
    rights->priority = priority;
    rights->latency_fd = -1;
    if (priority <= 0) {
        return;
    }
    /* MCL_ONFAULT locks pages when they are touched: the memory of ticks is touched early, other memory need not be resident. */
    rights->memory_cause = mlockall(MCL_CURRENT | MCL_ONFAULT) == 0 ? 0 : errno;
    if (hold_latency) {
        rights->latency_fd = hold_cpu_latency();
    }
}

void srv_rights_drop(struct srv_rights *rights)
{
    if (rights->priority > 0) {
        if (rights->memory_cause == 0) {
            (void)munlockall();
        }
        if (rights->latency_fd >= 0) {
            (void)close(rights->latency_fd);
        }
    }
    memset(rights, 0, sizeof *rights);
}

bool srv_rights_text(const struct srv_rights *rights, char *text, size_t bytes)
{
    const bool all = rights->thread_cause == 0 && rights->memory_cause == 0;
    if (rights->priority <= 0) {
        (void)snprintf(text, bytes, "runs without real-time rights, as configured");
        return true;
    }
    if (all && !rights->real_time) {
        (void)snprintf(text, bytes, "runs with locked memory; SCHED_FIFO is taken only while ticks are paced");
        return true;
    }
    if (all) {
        (void)snprintf(text, bytes, "runs with SCHED_FIFO priority %d and locked memory%s", rights->priority,
                       rights->latency_fd >= 0 ? ", the CPU's sleep latency held at 0" : "");
        return true;
    }
    (void)snprintf(text, bytes, "runs without real-time rights: SCHED_FIFO %d: %s; locked memory: %s", rights->priority,
                   rights->thread_cause == 0 ? "granted" : strerror(rights->thread_cause),
                   rights->memory_cause == 0 ? "granted" : strerror(rights->memory_cause));
    return false;
}

__attribute__((noinline)) static void touch_stack(void)
{
    volatile unsigned char page[STACK_TOUCH_BYTES];
    for (size_t i = 0; i < sizeof page; i += 1024) {
        page[i] = 0;
    }
}

void srv_rights_prepare_thread(void)
{
    (void)prctl(PR_SET_NAME, "otolith-tick", 0, 0, 0);
    (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    touch_stack();
}

void srv_rights_set_thread(struct srv_rights *rights, bool real_time)
{
    if (rights->priority <= 0 || rights->real_time == real_time) {
        return;
    }
    /* A system call for the calling thread, because pthread_setschedparam would take the thread's lock. */
    const struct sched_param parameter = {.sched_priority = real_time ? rights->priority : 0};
    const int result = sched_setscheduler(0, real_time ? SCHED_FIFO : SCHED_OTHER, &parameter);
    rights->thread_cause = result == 0 ? 0 : errno;
    rights->real_time = real_time && result == 0;
}
