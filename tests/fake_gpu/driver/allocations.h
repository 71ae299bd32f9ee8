/* Memory of every kind that the fake driver has given out. Threading: any, without the lock. */
#ifndef KP_FAKE_GPU_ALLOCATIONS_H
#define KP_FAKE_GPU_ALLOCATIONS_H

#include "tests/fake_gpu/driver/gpu.h"

enum kp_fake_memory {
	KP_FAKE_MEMORY_DEVICE,
	KP_FAKE_MEMORY_POOL,   /* the device's, given out in the order of a stream */
	KP_FAKE_MEMORY_MAPPED, /* the device's, where the program has put it */
	KP_FAKE_MEMORY_HOST,
	KP_FAKE_MEMORY_MANAGED
};

/* Zeroed; 0: there is none. */
CUdeviceptr kp_fake_allocate(size_t bytes, enum kp_fake_memory kind, CUdevice device);
/* What is there already is known from now on; it is no more: false: it was not. */
void kp_fake_put(CUdeviceptr at, size_t bytes, enum kp_fake_memory kind, CUdevice device);
bool kp_fake_take_out(CUdeviceptr at);
/* Whether cuMemFreeAsync takes it: the device's own. */
bool kp_fake_is_device(CUdeviceptr at);
/* What a stream has before it may still use it; NULL: the host has waited for all. False: unknown.
 */
bool kp_fake_free(CUdeviceptr at, struct CUstream_st *behind);

#endif
