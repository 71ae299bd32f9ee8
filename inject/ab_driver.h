/*
 * The driver's own functions, past all hooks, for the A/B engine. Found once; what this driver
 * lacks makes A/B impossible, and is said.
 */
#ifndef KP_INJECT_AB_DRIVER_H
#define KP_INJECT_AB_DRIVER_H

#include "inject/cuda_api.h"

#include "kernels/kernels.h"

/* X(name in the library, member, parameters) */
#define KP_AB_DRIVER(X)                                                                            \
	X(cuFuncGetName, function_name, (const char **, CUfunction))                               \
	X(cuFuncGetAttribute, function_limit, (int *, CUfunction_attribute, CUfunction))           \
	X(cuPointerGetAttribute, pointer, (void *, CUpointer_attribute, CUdeviceptr))              \
	X(cuCtxPushCurrent_v2, push, (CUcontext))                                                  \
	X(cuCtxPopCurrent_v2, pop, (CUcontext *))                                                  \
	X(cuStreamGetCtx, stream_context, (CUstream, CUcontext *))                                 \
	X(cuFuncSetAttribute, function_attribute, (CUfunction, CUfunction_attribute, int))         \
	X(cuKernelGetFunction, kernel_function, (CUfunction *, void *))                            \
	X(cuFuncGetParamInfo, parameter_info, (CUfunction, size_t, size_t *, size_t *))            \
	X(cuCtxGetCurrent, context, (CUcontext *))                                                 \
	X(cuCtxGetDevice, device, (CUdevice *))                                                    \
	X(cuCtxGetId, context_id, (CUcontext, unsigned long long *))                               \
	X(cuDevicePrimaryCtxGetState, primary_state, (CUdevice, unsigned *, int *))                \
	X(cuDeviceGetAttribute, device_attribute, (int *, CUdevice_attribute, CUdevice))           \
	X(cuLaunchKernelEx, launch, (const CUlaunchConfig *, CUfunction, void **, void **))        \
	X(cuLibraryLoadData, library_load,                                                         \
	  (void **, const void *, void *, void **, unsigned, void *, void **, unsigned))           \
	X(cuLibraryUnload, library_unload, (void *))                                               \
	X(cuLibraryGetKernel, library_kernel, (void **, void *, const char *))                     \
	X(cuMemAlloc_v2, memory, (CUdeviceptr *, size_t))                                          \
	X(cuMemsetD32Async, fill, (CUdeviceptr, unsigned, size_t, CUstream))                       \
	X(cuMemcpyDtoHAsync_v2, fetch, (void *, CUdeviceptr, size_t, CUstream))                    \
	X(cuMemHostRegister_v2, pin, (void *, size_t, unsigned))                                   \
	X(cuMemGetAddressRange_v2, range, (CUdeviceptr *, size_t *, CUdeviceptr))                  \
	X(cuThreadExchangeStreamCaptureMode, exchange_capture_mode, (CUstreamCaptureMode *))       \
	X(cuEventCreate, event, (CUevent *, unsigned))                                             \
	X(cuEventDestroy_v2, destroy_event, (CUevent))                                             \
	X(cuEventRecord, record, (CUevent, CUstream))                                              \
	X(cuEventQuery, query, (CUevent))                                                          \
	X(cuEventElapsedTime, elapsed, (float *, CUevent, CUevent))

struct kp_ab_driver {
#define KP_AB_DRIVER_MEMBER(symbol, member, parameters) CUresult(CUDAAPI *member) parameters;
	KP_AB_DRIVER(KP_AB_DRIVER_MEMBER)
#undef KP_AB_DRIVER_MEMBER
};

/*
 * What must not be done while a stream is being captured, of whatever thread, is done in the
 * driver's relaxed mode, in which it does not concern the capture. False: it cannot be had.
 * Restoring gives back what was there before.
 */
static inline bool kp_ab_driver_relax(const struct kp_ab_driver *driver, CUstreamCaptureMode *mode)
{
	*mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	return driver->exchange_capture_mode(mode) == CUDA_SUCCESS;
}
static inline void kp_ab_driver_restore(const struct kp_ab_driver *driver,
					CUstreamCaptureMode *mode)
{
	driver->exchange_capture_mode(mode);
}

/* NULL: all are there. Else the name of one that is not. */
const char *kp_ab_driver_find(struct kp_ab_driver *driver);
/* A launch that is counted as issued. */
int kp_ab_driver_launch(const void *config, void *function, void **arguments, void **extra);
/* The driver for libkprof_candidates, whose launches are counted as issued. */
struct kp_kernels_driver kp_ab_driver_for_kernels(const struct kp_ab_driver *driver);

#endif
