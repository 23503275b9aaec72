/*
 * The kernel for x86-64 with AVX2; only this file is compiled for it. It uses no fused multiply-add, so its bits equal
 * those of the plain kernel.
 */
#ifdef __FMA__
#error "fused multiply-add changes bits"
#endif
#define NUM_WIDTH 4
#include "num_kernel_body.h"

extern const struct num_kernel num_kernel_avx2;
const struct num_kernel num_kernel_avx2 = {"avx2", num_kernel_measure, num_kernel_measure_extended};
