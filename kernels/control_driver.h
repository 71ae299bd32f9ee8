/*
 * The driver for the null controls, found as a program that links none finds it: what kprof hooks,
 * it hooks here. Once, by kp_control_driver_open; private to kernels/control_*.c.
 */
#ifndef KP_KERNELS_CONTROL_DRIVER_H
#define KP_KERNELS_CONTROL_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/control.h"

/* X(symbol, member, parameters): handles are plain pointers, device pointers uint64_t. */
#define KP_CONTROL_DRIVER(X)                                                                       \
	X(cuInit, init, (unsigned))                                                                \
	X(cuDevicePrimaryCtxRetain, retain, (void **, int))                                        \
	X(cuCtxSetCurrent, use, (void *))                                                          \
	X(cuCtxSynchronize, wait_for_all, (void))                                                  \
	X(cuModuleLoadData, load, (void **, const void *))                                         \
	X(cuModuleGetFunction, function, (void **, void *, const char *))                          \
	X(cuStreamCreate, stream, (void **, unsigned))                                             \
	X(cuStreamSynchronize, wait, (void *))                                                     \
	X(cuMemAlloc_v2, memory, (uint64_t *, size_t))                                             \
	X(cuMemcpyDtoH_v2, fetch, (void *, uint64_t, size_t))                                      \
	X(cuLaunchKernel, launch,                                                                  \
	  (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,   \
	   void **, void **))

enum kp_control_kernel {
	KP_CONTROL_KERNEL_ORIGINAL,
	KP_CONTROL_KERNEL_REPLACEMENT,
	KP_CONTROL_KERNEL_LATE,
	KP_CONTROL_KERNEL_FILL,
	KP_CONTROL_KERNEL_COUNT
};

struct kp_control_driver {
#define KP_CONTROL_DRIVER_MEMBER(symbol, member, parameters) int(*member) parameters;
	KP_CONTROL_DRIVER(KP_CONTROL_DRIVER_MEMBER)
#undef KP_CONTROL_DRIVER_MEMBER
	void *kernels[KP_CONTROL_KERNEL_COUNT];
	void *side_stream; /* that nothing else waits for */
};

/* Opens the driver, its first GPU and the kernels. NULL: done; else what failed. */
const char *kp_control_driver_open(void);
/* NULL before that. */
const struct kp_control_driver *kp_control_driver(void);
/* A thread for each of `threads`. False: the driver refused. */
bool kp_control_launch(enum kp_control_kernel kernel, uint64_t threads, void *args, void *stream);
/* What the replacement of control `number` remembers: fp32, for its output; the program sets it. */
#define KP_CONTROL_NUMBERS 32U
void kp_control_remember(uint32_t number, void *kept);

#endif
