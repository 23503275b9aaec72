/*
 * The floating-point mode of a thread: round to nearest, no flush to zero, no traps. A plugin that changes it would change
 * the results of everything after it (A15), so the mode is set before a step and checked after it. [any]
 */
#ifndef SRV_BASE_FPU_H
#define SRV_BASE_FPU_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#define SRV_FPU_PINNED 0x1f80u /* all exceptions masked, round to nearest, no FTZ, no DAZ */
#define SRV_FPU_MODE_MASK 0xffc0u /* without bits 0…5, the flags of past exceptions */
static inline uint32_t srv_fpu_read(void)
{
    return __builtin_ia32_stmxcsr();
}
static inline void srv_fpu_write(uint32_t mode)
{
    __builtin_ia32_ldmxcsr(mode);
}
#elif defined(__aarch64__)
#define SRV_FPU_PINNED 0u
#define SRV_FPU_MODE_MASK 0x07ff9f00u
static inline uint32_t srv_fpu_read(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return (uint32_t)mode;
}
static inline void srv_fpu_write(uint32_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode));
}
#else
#define SRV_FPU_PINNED 0u
#define SRV_FPU_MODE_MASK 0u
static inline uint32_t srv_fpu_read(void)
{
    return 0;
}
static inline void srv_fpu_write(uint32_t mode)
{
    (void)mode;
}
#endif

/* The mode without the flags of past exceptions, which accumulate. */
static inline uint32_t srv_fpu_mode(void)
{
    return srv_fpu_read() & SRV_FPU_MODE_MASK;
}

static inline void srv_fpu_pin(void)
{
    srv_fpu_write(SRV_FPU_PINNED);
}

static inline bool srv_fpu_is_pinned(void)
{
    return srv_fpu_mode() == (SRV_FPU_PINNED & SRV_FPU_MODE_MASK);
}

#endif
