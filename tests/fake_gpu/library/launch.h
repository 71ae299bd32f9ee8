/*
 * How the fake libraries launch: kernels whose names say what they were launched for, all with one
 * grid and block, so that only the right tie gives the right name; or, with KP_FAKE_GRIDS in the
 * environment, a grid for each kind of kernel.
 */
#ifndef KP_FAKE_GPU_LIBRARY_LAUNCH_H
#define KP_FAKE_GPU_LIBRARY_LAUNCH_H

#include <stdint.h>

#include <cuda.h>

/* Of cublasStatus_t. */
enum { FAKE_SUCCESS = 0, FAKE_INVALID_VALUE = 7, FAKE_EXECUTION_FAILED = 13 };

/* «gemm_m64_n32_k16_b1_p0»; where k is 4096 or more, a second one, «…_p1», adds up. */
int kp_fake_gemm(CUstream stream, int64_t m, int64_t n, int64_t k, int64_t batch);
/* One kernel of any name. */
int kp_fake_kernel(CUstream stream, const char *name);

/* Loads a module, also in the midst of a capture, which is not to be broken by that. */
CUresult kp_fake_load(CUmodule *out, const void *image);

#endif
