/* The kernel for x86-64 with AVX2; this file alone is compiled for it. No fused multiply-add: the bits are the plain ones. */
#ifdef __FMA__
#error "fused multiply-add changes bits"
#endif
#define NUM_WIDTH 4
#include "num_kernel_body.h"

extern const struct num_kernel num_kernel_avx2;
const struct num_kernel num_kernel_avx2 = {"avx2", num_kernel_measure, num_kernel_measure_extended};
