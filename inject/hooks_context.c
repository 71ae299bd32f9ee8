/* Contexts as they come: when sampling of a GPU begins; and as they and code go; see hooks.h and
 * counters.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include <stdatomic.h>

#include "inject/ab.h"
#include "inject/ab_sequence.h"
#include "inject/counters.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"
#include "inject/host.h"
#include "inject/parameters.h"
#include "inject/passages.h"

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

/* The primary context of each GPU, as the program was told it last; NULL: it was not. */
#define DEVICES_MOST 64
static _Atomic(CUcontext) primaries[DEVICES_MOST];

static CUcontext primary_of(CUdevice device)
{
	return device >= 0 && device < DEVICES_MOST ? atomic_load(&primaries[device]) : NULL;
}

/* Whether a GPU has none now. */
static bool is_without_primary(CUdevice device)
{
	unsigned flags = 0;
	int active = 1;
	CUresult(CUDAAPI * ask)(CUdevice, unsigned *, int *);

	*(void **)&ask = kp_hooks_driver_symbol("cuDevicePrimaryCtxGetState");
	return ask && ask(device, &flags, &active) == CUDA_SUCCESS && !active;
}

typedef CUresult(CUDAAPI *retain_function)(CUcontext *, CUdevice);
static CUresult CUDAAPI hook_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUresult result = KP_REAL(cuDevicePrimaryCtxRetain, retain_function)(context, device);

	if (result == CUDA_SUCCESS && context && device >= 0 && device < DEVICES_MOST)
		atomic_store(&primaries[device], *context);
	return created(result, device);
}
KP_WRAPPER(cuDevicePrimaryCtxRetain);

/* Functions go by it, and their handles may be others' at once. A thread may be cancelled in it, or
 * jump out of it: who is inside is known of threads, not counted. */
#define ENDS(name, type, before, after)                                                            \
	static CUresult CUDAAPI hook_##name(type which)                                            \
	{                                                                                          \
		CUresult result;                                                                   \
		bool told;                                                                         \
                                                                                                   \
		kp_passages_begin(KP_PASSAGE_LEAVING);                                             \
		told = kp_ab_modules_leave();                                                      \
		kp_parameters_modules_leave();                                                     \
		before;                                                                            \
		result = KP_REAL(name, CUresult(CUDAAPI *)(type))(which);                          \
		after;                                                                             \
		kp_ab_modules_left(told);                                                          \
		kp_passages_end(KP_PASSAGE_LEAVING);                                               \
		return result;                                                                     \
	}                                                                                          \
	KP_WRAPPER(name)
ENDS(cuModuleUnload, CUmodule, (void)0, (void)0);
ENDS(cuLibraryUnload, void *, (void)0, (void)0);

#define ENDS_CONTEXT(name) ENDS(name, CUcontext, context_goes(which), context_gone(which, result))
#define ENDS_PRIMARY(name) ENDS(name, CUdevice, primary_goes(which), primary_gone(which, result))
#define RELEASES(name) ENDS(name, CUdevice, primary_releases(which), primary_released(which))

/* Before: the handle may be another's at once. */
static void context_goes(CUcontext context)
{
	kp_host_streams_expire();
	kp_ab_context_goes(context);
	kp_hooks_captures_leave(context);
}

static void context_gone(CUcontext context, CUresult result)
{
	kp_hooks_captures_left(context, result == CUDA_SUCCESS);
}

static void primary_goes(CUdevice device)
{
	kp_host_streams_expire();
	kp_ab_primary_goes(device);
	kp_hooks_captures_leave(primary_of(device));
}

static void primary_gone(CUdevice device, CUresult result)
{
	kp_ab_primary_released(device);
	kp_hooks_captures_left(primary_of(device), result == CUDA_SUCCESS);
}

/* Of many that have retained it, the last one ends it. */
static void primary_releases(CUdevice device)
{
	kp_host_streams_expire();
	kp_ab_primary_releases(device);
	kp_hooks_captures_leave(primary_of(device));
}

static void primary_released(CUdevice device)
{
	kp_ab_primary_released(device);
	if (atomic_load(&kp_hooks_captures) > 0)
		kp_hooks_captures_left(primary_of(device), is_without_primary(device));
}
ENDS_CONTEXT(cuCtxDestroy);
ENDS_CONTEXT(cuCtxDestroy_v2);
ENDS_PRIMARY(cuDevicePrimaryCtxReset);
ENDS_PRIMARY(cuDevicePrimaryCtxReset_v2);
RELEASES(cuDevicePrimaryCtxRelease);
RELEASES(cuDevicePrimaryCtxRelease_v2);
