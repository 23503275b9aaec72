/* Chooses the kernel for this machine. It asks the processor directly, because a plugin imports only the C library. */
#include <stdbool.h>

#include "num_measure.h"

#ifdef NUM_WITH_AVX2
#include <cpuid.h>

extern const struct num_kernel num_kernel_avx2;

#define XMM_AND_YMM_STATE 6u

#define NEEDED_OF_LEAF_1 ((unsigned)(bit_OSXSAVE | bit_AVX | bit_FMA))

/*
 * True if the processor has AVX2 and the operating system saves its registers. CPUID leaf 1 exists on every x86-64, and
 * leaf 7 on every processor with FMA. The highest leaf is therefore not queried: in a virtual machine each query takes some
 * microseconds.
 */
static bool has_avx2(void)
{
    unsigned a, b, c, d, low, high;
    __cpuid(1, a, b, c, d);
    if ((c & NEEDED_OF_LEAF_1) != NEEDED_OF_LEAF_1) {
        return false;
    }
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    __cpuid_count(7, 0, a, b, c, d);
    return (low & XMM_AND_YMM_STATE) == XMM_AND_YMM_STATE && (b & bit_AVX2) != 0;
}

const struct num_kernel *num_kernel_wide(void)
{
    return has_avx2() ? &num_kernel_avx2 : NULL;
}
#else
const struct num_kernel *num_kernel_wide(void)
{
    return NULL;
}
#endif

const struct num_kernel *num_kernel_best(void)
{
    const struct num_kernel *wide = num_kernel_wide();
    return wide != NULL ? wide : &num_kernel_plain;
}
