/*
 * Kernels that find out what a GPU can do at most; for kprof bench ceilings. Device code only:
 * built to a fatbin that the kprof command carries as data (kernels/image.h). ceilings.def says
 * what each is.
 */
#include <cuda_fp16.h>

#include "kernels/ceilings_memory.cuh"

#include "kernels/ceilings_arithmetic.cuh"

#include "kernels/ceilings_wgmma.cuh"
