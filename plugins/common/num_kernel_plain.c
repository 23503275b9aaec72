/* The kernel for any machine. */
#include "num_kernel_body.h"

const struct num_kernel num_kernel_plain = {"plain", num_kernel_measure, num_kernel_measure_extended};
