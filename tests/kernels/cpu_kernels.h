/* The kernels of libkprof_kernels compiled for the CPU, for the fake driver. One thread. */
#ifndef KP_TESTS_KERNELS_CPU_KERNELS_H
#define KP_TESTS_KERNELS_CPU_KERNELS_H

#include <stdbool.h>

#include "tests/kernels/fibers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a launch to its end; `args` is the kernel's only argument. false: no kernel has that name.
 */
bool kp_cpu_kernel_run(const char *symbol, const unsigned grid[2], unsigned threads,
		       unsigned shared_bytes, const void *args, enum kp_fiber_order order);

#ifdef __cplusplus
}
#endif

#endif
