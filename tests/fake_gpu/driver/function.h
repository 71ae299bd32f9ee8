/* Handles of kernels. Threading: any; functions are immutable. */
#ifndef KP_FAKE_GPU_FUNCTION_H
#define KP_FAKE_GPU_FUNCTION_H

#include "tests/fake_gpu/driver/gpu.h"

/* The function that a CUfunction, or a CUkernel cast to one, means; NULL for an invalid handle. */
struct CUfunc_st *kp_fake_function(CUfunction handle);
/* Where a parameter lies in a buffer of all. */
size_t kp_fake_parameter_offset(const struct CUfunc_st *function, size_t index);

#endif
