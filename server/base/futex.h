/* Futexes in memory that two processes share; a wait also works on a read-only mapping. [any] */
#ifndef SRV_BASE_FUTEX_H
#define SRV_BASE_FUTEX_H

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while *word equals `seen`, at most timeout_ns (negative: no timeout). May return early. */
static inline void srv_futex_wait(const uint32_t *word, uint32_t seen, int64_t timeout_ns)
{
    const struct timespec limit = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    (void)syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout_ns >= 0 ? &limit : NULL, NULL, 0);
}

static inline void srv_futex_wake(const uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Pauses the processor briefly in a spinning loop. */
static inline void srv_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
