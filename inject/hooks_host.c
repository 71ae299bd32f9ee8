/*
 * The driver's launches, timed: what stands in the place of the hooks of hooks_launch.c and
 * hooks_graph.c where the host's side is asked for (--host). Without it these are not reached, so
 * that it costs launches nothing. See host.h.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include <unistd.h>

#include "inject/ab.h"
#include "inject/hooks.h"
#include "inject/hooks_gates.h"
#include "inject/host.h"
#include "inject/library.h"
#include "inject/words.h"

bool kp_host_asked(void)
{
	static _Atomic int answer; /* 0: not looked up yet; 1: no; 2: yes */
	int known = atomic_load_explicit(&answer, memory_order_relaxed);

	if (!known && environ) {
		known = 1;
		for (char **at = environ; *at; at++)
			if (kp_word_equal(*at, "KPROF_HOST=1"))
				known = 2;
		atomic_store_explicit(&answer, known, memory_order_relaxed);
	}
	return known == 2;
}

/* ---- kernels ---- */

/* After the driver's function: counts the launch, and keeps the call. */
static CUresult kept(struct kp_host_open *open, CUresult result, CUstream stream, bool per_thread,
		     struct kp_host_call call)
{
	uint64_t issued;

	kp_host_leave(open);
	if (result != CUDA_SUCCESS || !kp_hooks_runs_now(stream, per_thread)) {
		if (kp_library_cares() && result == CUDA_SUCCESS)
			kp_library_captured();
		else if (kp_library_cares())
			kp_library_refused();
		kp_host_discard(open);
		return result;
	}
	issued = kp_hooks_issued(1);
	if (kp_library_cares())
		kp_library_launched(issued);
	call.kernels = 1;
	kp_host_keep(open, (struct kp_host_stream){stream, per_thread}, &call);
	return result;
}

#define CALL(of_kind, ...) ((struct kp_host_call){.kind = KP_HOST_##of_kind, __VA_ARGS__})
#define GRID_AND_BLOCK .grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}

typedef CUresult(CUDAAPI *launch_function)(CUfunction, unsigned, unsigned, unsigned, unsigned,
					   unsigned, unsigned, unsigned, CUstream, void **,
					   void **);
#define LAUNCH(name, per_thread)                                                                   \
	static CUresult CUDAAPI timed_##name(                                                      \
		CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,            \
		unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,       \
		CUstream stream, void **parameters, void **extra)                                  \
	{                                                                                          \
		struct kp_host_open open;                                                          \
		CUresult result;                                                                   \
                                                                                                   \
		KP_LIBRARY_BEGINS_WITH(function, parameters, extra, stream, per_thread, grid_x,    \
				       grid_y, grid_z, block_x, block_y, block_z);                 \
		kp_host_enter(&open);                                                              \
		result = KP_REAL(name, launch_function)(function, grid_x, grid_y, grid_z, block_x, \
							block_y, block_z, shared_bytes, stream,    \
							parameters, extra);                        \
		return kept(&open, result, stream, per_thread, CALL(LAUNCH, GRID_AND_BLOCK));      \
	}
LAUNCH(cuLaunchKernel, false)
LAUNCH(cuLaunchKernel_ptsz, true)

typedef CUresult(CUDAAPI *launch_ex_function)(const CUlaunchConfig *, CUfunction, void **, void **);
#define LAUNCH_EX(name, per_thread)                                                                \
	static CUresult CUDAAPI timed_##name(const CUlaunchConfig *config, CUfunction function,    \
					     void **parameters, void **extra)                      \
	{                                                                                          \
		struct kp_host_open open;                                                          \
		CUresult result;                                                                   \
                                                                                                   \
		if (config)                                                                        \
			KP_LIBRARY_BEGINS_WITH(function, parameters, extra, config->hStream,       \
					       per_thread, config->gridDimX, config->gridDimY,     \
					       config->gridDimZ, config->blockDimX,                \
					       config->blockDimY, config->blockDimZ);              \
		kp_host_enter(&open);                                                              \
		result = KP_REAL(name, launch_ex_function)(config, function, parameters, extra);   \
		if (!config) {                                                                     \
			kp_host_discard(&open);                                                    \
			return result;                                                             \
		}                                                                                  \
		return kept(                                                                       \
			&open, result, config->hStream, per_thread,                                \
			CALL(LAUNCH,                                                               \
			     .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},       \
			     .block = {config->blockDimX, config->blockDimY, config->blockDimZ})); \
	}
LAUNCH_EX(cuLaunchKernelEx, false)
LAUNCH_EX(cuLaunchKernelEx_ptsz, true)

typedef CUresult(CUDAAPI *launch_cooperative_function)(CUfunction, unsigned, unsigned, unsigned,
						       unsigned, unsigned, unsigned, unsigned,
						       CUstream, void **);
#define LAUNCH_COOPERATIVE(name, per_thread)                                                       \
	static CUresult CUDAAPI timed_##name(                                                      \
		CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,            \
		unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,       \
		CUstream stream, void **parameters)                                                \
	{                                                                                          \
		struct kp_host_open open;                                                          \
		CUresult result;                                                                   \
                                                                                                   \
		KP_LIBRARY_BEGINS_WITH(function, parameters, NULL, stream, per_thread, grid_x,     \
				       grid_y, grid_z, block_x, block_y, block_z);                 \
		kp_host_enter(&open);                                                              \
		result = KP_REAL(name, launch_cooperative_function)(                               \
			function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, \
			stream, parameters);                                                       \
		return kept(&open, result, stream, per_thread, CALL(COOPERATIVE, GRID_AND_BLOCK)); \
	}
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)

/* The forms of CUDA 3: the block is set by another call. */
typedef CUresult(CUDAAPI *launch_1_function)(CUfunction);
static CUresult CUDAAPI timed_cuLaunch(CUfunction function)
{
	struct kp_host_open open;
	CUresult result;

	KP_LIBRARY_BEGINS(NULL, false, 1, 1, 1, 0, 0, 0);
	kp_host_enter(&open);
	result = KP_REAL(cuLaunch, launch_1_function)(function);
	return kept(&open, result, NULL, false, CALL(LAUNCH, .grid = {1, 1, 1}));
}

typedef CUresult(CUDAAPI *launch_grid_function)(CUfunction, int, int);
static CUresult CUDAAPI timed_cuLaunchGrid(CUfunction function, int width, int height)
{
	struct kp_host_open open;
	CUresult result;

	KP_LIBRARY_BEGINS(NULL, false, (unsigned)width, (unsigned)height, 1, 0, 0, 0);
	kp_host_enter(&open);
	result = KP_REAL(cuLaunchGrid, launch_grid_function)(function, width, height);
	return kept(&open, result, NULL, false,
		    CALL(LAUNCH, .grid = {(unsigned)width, (unsigned)height, 1}));
}

typedef CUresult(CUDAAPI *launch_grid_async_function)(CUfunction, int, int, CUstream);
static CUresult CUDAAPI timed_cuLaunchGridAsync(CUfunction function, int width, int height,
						CUstream stream)
{
	struct kp_host_open open;
	CUresult result;

	KP_LIBRARY_BEGINS(stream, false, (unsigned)width, (unsigned)height, 1, 0, 0, 0);
	kp_host_enter(&open);
	result = KP_REAL(cuLaunchGridAsync, launch_grid_async_function)(function, width, height,
									stream);
	return kept(&open, result, stream, false,
		    CALL(LAUNCH, .grid = {(unsigned)width, (unsigned)height, 1}));
}

/* ---- graphs ---- */

/* A graph without kernels gives no record of a kernel, and there is nothing to tie. */
static CUresult kept_graph(struct kp_host_open *open, CUresult result, CUgraphExec graph,
			   CUstream stream, bool per_thread)
{
	struct kp_host_call call = CALL(GRAPH, .kernels = KP_HOST_UNKNOWN);
	uint64_t kernels;

	kp_host_leave(open);
	kernels = result == CUDA_SUCCESS ? kp_hooks_graph_launched(graph) : 0;
	if (kernels == 0) {
		kp_host_discard(open);
		return result;
	}
	if (kernels < KP_HOST_UNKNOWN)
		call.kernels = (uint32_t)kernels;
	kp_host_keep(open, (struct kp_host_stream){stream, per_thread}, &call);
	return result;
}

typedef CUresult(CUDAAPI *graph_launch_function)(CUgraphExec, CUstream);
#define GRAPH_LAUNCH(name, per_thread)                                                             \
	static CUresult CUDAAPI timed_##name(CUgraphExec graph, CUstream stream)                   \
	{                                                                                          \
		uint64_t begin_ns = kp_hooks_graph_launch_begins();                                \
		struct kp_host_open open;                                                          \
		CUresult result;                                                                   \
                                                                                                   \
		kp_host_enter(&open);                                                              \
		result = KP_REAL(name, graph_launch_function)(graph, stream);                      \
		result = kept_graph(&open, result, graph, stream, per_thread);                     \
		return kp_hooks_graph_launch_ends(result, begin_ns);                               \
	}
GRAPH_LAUNCH(cuGraphLaunch, false)
GRAPH_LAUNCH(cuGraphLaunch_ptsz, true)

/* ---- the end of streams ---- */

/* Before: the handle may be another's at once. */
#define EXPIRES_STREAM(name)                                                                       \
	static CUresult CUDAAPI hook_##name(CUstream stream)                                       \
	{                                                                                          \
		bool captured = kp_hooks_capture_leaves(stream);                                   \
		CUresult result;                                                                   \
                                                                                                   \
		kp_host_streams_expire();                                                          \
		kp_ab_stream_goes(stream, captured);                                               \
		result = KP_REAL(name, CUresult(CUDAAPI *)(CUstream))(stream);                     \
		if (captured)                                                                      \
			kp_hooks_capture_left(stream, result == CUDA_SUCCESS);                     \
		return result;                                                                     \
	}                                                                                          \
	KP_WRAPPER(name)
EXPIRES_STREAM(cuStreamDestroy);
EXPIRES_STREAM(cuStreamDestroy_v2);

void *kp_host_wrapper(size_t hook)
{
#define TIMED(name) [KP_HOOK_##name] = (void *)timed_##name
	static void *const wrappers[KP_HOOK_COUNT] = {
		TIMED(cuLaunchKernel),
		TIMED(cuLaunchKernel_ptsz),
		TIMED(cuLaunchKernelEx),
		TIMED(cuLaunchKernelEx_ptsz),
		TIMED(cuLaunchCooperativeKernel),
		TIMED(cuLaunchCooperativeKernel_ptsz),
		TIMED(cuLaunch),
		TIMED(cuLaunchGrid),
		TIMED(cuLaunchGridAsync),
		TIMED(cuGraphLaunch),
		TIMED(cuGraphLaunch_ptsz),
	};
#undef TIMED

	return wrappers[hook];
}
