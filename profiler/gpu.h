/*
 * One GPU, used by kprof itself: the CUDA driver found at run time, a device, its primary context
 * and device code loaded into it.
 *
 * Nothing of CUDA is needed to build this. What goes wrong is said once, with the remedy where
 * there is one; then the call returns false. One thread.
 */
#ifndef KP_PROFILER_GPU_H
#define KP_PROFILER_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/image.h"
#include "trace/records.h"

/*
 * X(member, symbol, parameters): the functions of libcuda.so.1 that kprof calls. Results are
 * CUresult, 0 for success; handles are pointers, but for the device, which is a number.
 */
// clang-format off
#define KP_DRIVER_FUNCTIONS(X)                                                                     \
	X(init, "cuInit", (unsigned flags))                                                        \
	X(version, "cuDriverGetVersion", (int *version))                                           \
	X(error_name, "cuGetErrorName", (int result, const char **name))                           \
	X(error_text, "cuGetErrorString", (int result, const char **text))                         \
	X(device_count, "cuDeviceGetCount", (int *count))                                          \
	X(device_get, "cuDeviceGet", (int *device, int ordinal))                                   \
	X(device_name, "cuDeviceGetName", (char *name, int length, int device))                    \
	X(device_uuid, "cuDeviceGetUuid_v2", (unsigned char uuid[16], int device))                 \
	X(device_pci, "cuDeviceGetPCIBusId", (char *id, int length, int device))                   \
	X(device_memory, "cuDeviceTotalMem_v2", (size_t *bytes, int device))                       \
	X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))       \
	X(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                \
	X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                           \
	X(context_set, "cuCtxSetCurrent", (void *context))                                         \
	X(synchronize, "cuCtxSynchronize", (void))                                                 \
	X(memory_info, "cuMemGetInfo_v2", (size_t *free_bytes, size_t *total_bytes))               \
	X(memory_alloc, "cuMemAlloc_v2", (uint64_t *address, size_t bytes))                        \
	X(memory_free, "cuMemFree_v2", (uint64_t address))                                         \
	X(copy_to, "cuMemcpyHtoD_v2", (uint64_t to, const void *from, size_t bytes))               \
	X(copy_from, "cuMemcpyDtoH_v2", (void *to, uint64_t from, size_t bytes))                   \
	X(copy_within, "cuMemcpyDtoDAsync_v2",                                                     \
	  (uint64_t to, uint64_t from, size_t bytes, void *stream))                                \
	X(memory_set, "cuMemsetD32Async",                                                          \
	  (uint64_t to, unsigned value, size_t words, void *stream))                               \
	X(module_load, "cuModuleLoadData", (void **module, const void *image))                     \
	X(module_unload, "cuModuleUnload", (void *module))                                         \
	X(module_function, "cuModuleGetFunction",                                                  \
	  (void **function, void *module, const char *name))                                       \
	X(function_set, "cuFuncSetAttribute", (void *function, int attribute, int value))          \
	X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                \
	  (int *blocks, void *function, int threads, size_t shared_bytes))                         \
	X(launch, "cuLaunchKernel",                                                                \
	  (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,    \
	   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,                \
	   void **arguments, void **extra))                                                        \
	X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                        \
	X(stream_destroy, "cuStreamDestroy_v2", (void *stream))                                    \
	X(capture_begin, "cuStreamBeginCapture_v2", (void *stream, int mode))                      \
	X(capture_end, "cuStreamEndCapture", (void *stream, void **graph))                         \
	X(graph_instantiate, "cuGraphInstantiateWithFlags",                                        \
	  (void **exec, void *graph, unsigned long long flags))                                    \
	X(graph_launch, "cuGraphLaunch", (void *exec, void *stream))                               \
	X(graph_destroy, "cuGraphDestroy", (void *graph))                                          \
	X(exec_destroy, "cuGraphExecDestroy", (void *exec))                                        \
	X(event_create, "cuEventCreate", (void **event, unsigned flags))                           \
	X(event_destroy, "cuEventDestroy_v2", (void *event))                                       \
	X(event_record, "cuEventRecord", (void *event, void *stream))                              \
	X(event_query, "cuEventQuery", (void *event))                                              \
	X(event_elapsed, "cuEventElapsedTime", (float *ms, void *begin, void *end))
// clang-format on

/* Numbers of the driver's interface that are asked for by name here. */
enum { KP_CU_SUCCESS = 0, KP_CU_NOT_READY = 600, KP_CU_FUNCTION_MAX_DYNAMIC_SHARED = 8 };

struct kp_driver {
	void *library;
#define KP_DRIVER_MEMBER(member, symbol, parameters) int(*member) parameters;
	KP_DRIVER_FUNCTIONS(KP_DRIVER_MEMBER)
#undef KP_DRIVER_MEMBER
	int cuda_version; /* 1000 * major + 10 * minor */
	int devices;      /* how many are visible */
	char release[64]; /* of the NVIDIA kernel driver, as in 580.159.04; empty: unknown */
};

struct kp_gpu {
	const struct kp_driver *driver; /* borrowed */
	int ordinal, device;
	struct kp_device_info info; /* its texts are the buffers below */
	char name[256], uuid[64], pci[32];
	void *context, *module; /* NULL: not yet */
};

/* Loads and starts the driver, and counts its devices, of which there is one at least. */
bool kp_driver_open(struct kp_driver *driver);

/* What there is to know of a device; no context yet. */
bool kp_gpu_describe(struct kp_gpu *gpu, const struct kp_driver *driver, int ordinal);
/* A context on it, and `image` loaded. kp_gpu_close is due even if this fails. */
bool kp_gpu_open(struct kp_gpu *gpu, struct kp_kernel_image image);
void kp_gpu_close(struct kp_gpu *gpu);

/* Whether a call's result is success; says which call failed and how if not. */
bool kp_gpu_check(const struct kp_driver *driver, int result, const char *call);

/* A function of the loaded image; NULL, without a word, where it has none of that name. */
void *kp_gpu_function(const struct kp_gpu *gpu, const char *name);
/* Launches on the default stream, in one dimension, with room for dynamic shared memory. */
bool kp_gpu_launch(const struct kp_gpu *gpu, void *function, unsigned blocks, unsigned threads,
		   unsigned shared_bytes, void **arguments);

#endif
