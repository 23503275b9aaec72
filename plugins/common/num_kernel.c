/* Chooses the kernel for this machine. It asks the processor directly, because a plugin imports only the C library. */
#include <stdbool.h>

#include "num_measure.h"

#ifdef NUM_WITH_AVX2
#include <cpuid.h>

extern const struct num_kernel num_kernel_avx2;

#define XMM_AND_YMM_STATE 6u

/* True if the processor has AVX2 and the operating system saves its registers. */
static bool has_avx2(void)
{
    unsigned a, b, c, d, low, high;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0 || (c & bit_AVX) == 0) {
        return false;
    }
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return (low & XMM_AND_YMM_STATE) == XMM_AND_YMM_STATE && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
           (b & bit_AVX2) != 0;
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
