/*
 * How a test of kernels runs them, and where their data is: on the CPU (cpu_kernels.cu) or on a GPU
 * (on_gpu.c). One thread.
 */
#ifndef KP_TESTS_KERNELS_LAUNCH_H
#define KP_TESTS_KERNELS_LAUNCH_H

#include "kernels/kernels.h"
#include "tests/kernels/fibers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that host and kernels see at one address, at a multiple of 16; exits where there is none.
 */
void *kp_test_alloc(size_t bytes);
void kp_test_free(void *memory);

/* Runs a launch to its end. `args`: the kernel's only argument; `order`: on the CPU. Exits, saying
 * why, where it fails. */
void kp_test_launch(const struct kp_kernel_plan *plan, const void *args, enum kp_fiber_order order);

/* Of what the kernels run on (0: of no GPU), and the driver's encoder of tensor maps, or NULL. */
uint32_t kp_test_compute_capability(void);
kp_encode_map kp_test_encode_map(void);

/* How often kp_test_launch has run a version; and a check that all whose names begin so were run.
 */
void kp_test_expect_all(const char *prefix);

#ifdef __cplusplus
}
#endif

#endif
