/* Contexts as they come: when sampling of a GPU begins; and code as it goes; see hooks.h and
 * counters.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include "inject/ab.h"
#include "inject/ab_sequence.h"
#include "inject/counters.h"
#include "inject/hooks.h"
#include "inject/parameters.h"

static CUresult created(CUresult result, CUdevice device)
{
	if (result != CUDA_SUCCESS)
		return result;
	kp_counters_context_created(device);
	kp_ab_sequence_device(device);
	return result;
}

typedef CUresult(CUDAAPI *create_function)(CUcontext *, unsigned, CUdevice);
#define CREATE(name)                                                                               \
	static CUresult CUDAAPI hook_##name(CUcontext *context, unsigned flags, CUdevice device)   \
	{                                                                                          \
		return created(KP_REAL(name, create_function)(context, flags, device), device);    \
	}                                                                                          \
	KP_WRAPPER(name)
CREATE(cuCtxCreate);
CREATE(cuCtxCreate_v2);

typedef CUresult(CUDAAPI *create_v3_function)(CUcontext *, void *, int, unsigned, CUdevice);
static CUresult CUDAAPI hook_cuCtxCreate_v3(CUcontext *context, void *affinities, int count,
					    unsigned flags, CUdevice device)
{
	return created(KP_REAL(cuCtxCreate_v3, create_v3_function)(context, affinities, count,
								   flags, device),
		       device);
}
KP_WRAPPER(cuCtxCreate_v3);

typedef CUresult(CUDAAPI *create_v4_function)(CUcontext *, void *, unsigned, CUdevice);
static CUresult CUDAAPI hook_cuCtxCreate_v4(CUcontext *context, void *parameters, unsigned flags,
					    CUdevice device)
{
	return created(
		KP_REAL(cuCtxCreate_v4, create_v4_function)(context, parameters, flags, device),
		device);
}
KP_WRAPPER(cuCtxCreate_v4);

typedef CUresult(CUDAAPI *retain_function)(CUcontext *, CUdevice);
static CUresult CUDAAPI hook_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	return created(KP_REAL(cuDevicePrimaryCtxRetain, retain_function)(context, device), device);
}
KP_WRAPPER(cuDevicePrimaryCtxRetain);

/* After: while the module is there, a launch may still find out anew what was known of it. */
#define UNLOAD(name)                                                                               \
	static CUresult CUDAAPI hook_##name(void *which)                                           \
	{                                                                                          \
		CUresult result = KP_REAL(name, CUresult(CUDAAPI *)(void *))(which);               \
                                                                                                   \
		kp_ab_modules_changed();                                                           \
		kp_parameters_modules_changed();                                                   \
		return result;                                                                     \
	}                                                                                          \
	KP_WRAPPER(name)
UNLOAD(cuModuleUnload);
UNLOAD(cuLibraryUnload);
