/* Contexts as they come: when sampling of a GPU begins; and as they and code go; see hooks.h and
 * counters.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include "inject/ab.h"
#include "inject/ab_sequence.h"
#include "inject/counters.h"
#include "inject/hooks.h"
#include "inject/host.h"
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

/* Functions go by it, and their handles may be others' at once. */
#define ENDS(name, type, before, after)                                                            \
	static CUresult CUDAAPI hook_##name(type which)                                            \
	{                                                                                          \
		bool told = kp_ab_modules_leave();                                                 \
		CUresult result;                                                                   \
                                                                                                   \
		kp_parameters_modules_leave();                                                     \
		before;                                                                            \
		result = KP_REAL(name, CUresult(CUDAAPI *)(type))(which);                          \
		after;                                                                             \
		kp_parameters_modules_left();                                                      \
		kp_ab_modules_left(told);                                                          \
		return result;                                                                     \
	}                                                                                          \
	KP_WRAPPER(name)
ENDS(cuModuleUnload, CUmodule, (void)0, (void)0);
ENDS(cuLibraryUnload, void *, (void)0, (void)0);

#define ENDS_CONTEXT(name) ENDS(name, CUcontext, context_goes(which), (void)0)
#define ENDS_PRIMARY(name) ENDS(name, CUdevice, primary_goes(which), (void)0)
#define RELEASES(name) ENDS(name, CUdevice, primary_releases(which), kp_ab_primary_released(which))

/* Before: the handle may be another's at once. */
static void context_goes(CUcontext context)
{
	kp_host_streams_expire();
	kp_ab_context_goes(context);
}

static void primary_goes(CUdevice device)
{
	kp_host_streams_expire();
	kp_ab_primary_goes(device);
}

/* Of many that have retained it, the last one ends it. */
static void primary_releases(CUdevice device)
{
	kp_host_streams_expire();
	kp_ab_primary_releases(device);
}
ENDS_CONTEXT(cuCtxDestroy);
ENDS_CONTEXT(cuCtxDestroy_v2);
ENDS_PRIMARY(cuDevicePrimaryCtxReset);
ENDS_PRIMARY(cuDevicePrimaryCtxReset_v2);
RELEASES(cuDevicePrimaryCtxRelease);
RELEASES(cuDevicePrimaryCtxRelease_v2);
